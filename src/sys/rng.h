/* SPDX-License-Identifier: BSD-3-Clause */
/* The system's random numbers: unpredictable, fit for keys and tokens. */
#pragma once

#include "base/seam.h"

/* Owns nothing. The process ends when the system has no random source. */
struct rng_seam sys_rng(void);
