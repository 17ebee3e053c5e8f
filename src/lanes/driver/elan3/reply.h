/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job's lane on Elan is, as bytes: the opaque reply of the switch
 * manager. It has keys, and goes nowhere but sealed to the job's nodes.
 *
 *	u32 magic, u32 program, u32 n, n times {u32 size, capability}
 *
 * little endian, as a program reads it: the size is that of the capability's
 * bytes (elan/capability.h). Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "lanes/driver/elan3/policy.h"
#include "fairlead/rms.h"

#define ELAN3_REPLY_MAGIC 0xf00ff00eu
#define ELAN3_REPLY_MAX   16128 /* bytes */

struct elan3_reply {
	uint32_t program; /* 1 to INT32_MAX */
	uint32_t cap_count;
	struct elan_capability *caps; /* the reply's when it was decoded */
};

/*
 * -EINVAL: no capability, too many, or a program that is none; -E2BIG: over
 * ELAN3_REPLY_MAX; the writer's errors. On failure nothing was written.
 */
int elan3_reply_encode(const struct elan3_reply *reply, struct writer *writer);
/*
 * -EBADMSG with a text: it is cut or too long, has another magic, a program or
 * a capability that cannot be, or two that overlap.
 */
int elan3_reply_decode(const void *bytes, size_t size,
		       struct elan3_reply *ret_reply,
		       struct fairlead_error *ret_error);
/* Of a decoded one: wipes the keys. */
void elan3_reply_fini(struct elan3_reply *reply);
