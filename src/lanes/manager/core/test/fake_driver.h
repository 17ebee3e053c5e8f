/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An interconnect for tests. Two pools, "vni" and "ctx"; settings `vni`, `ctx`
 * (id sets), `fatal` (yes, no), `twin` (no: no pool "ctx"), `loss` (fatal: of an
 * external reservation) and `broken` (any value is an error). Options of a job, with commas:
 *
 *	vnis=N ctxs=N      identifiers; default one VNI
 *	off                no lane
 *	refuse             -EINVAL
 *	trees=N [must]     an external reservation, without which it fails
 */
#pragma once

#include "fairlead_driver.h"

#define FAKE_OUTSIDE_WAIT_MS 2000

extern const struct fairlead_driver fake_driver;
/* The same under the name "twin". */
extern const struct fairlead_driver twin_driver;
/* No pools at all, no optional operations: "bare". */
extern const struct fairlead_driver bare_driver;
/*
 * "lined": pools "prg" (1-9, one of them a job) and "ctx" of runs (8-23) on the
 * positions 0 to 9, of n0 to n9. A job's options: `len=N` (default 2), `plain`
 * (no secrets), `unpacked` (its secrets cannot be made). Of its secrets it
 * makes "GRANT: CTX-CTX NODE=TASKS .. SECRET" with the secret in hex.
 */
extern const struct fairlead_driver lined_driver;
#define LINED_SECRET_SIZE 16
