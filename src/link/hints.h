/* SPDX-License-Identifier: BSD-3-Clause */
/* What fi_getinfo can be asked for, and whether it is met. */
#pragma once

#include "link/provider.h"

#define CAPS_MESSAGES                                             \
	(FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_MULTI_RECV | \
	 FI_DIRECTED_RECV | FI_SOURCE | FI_LOCAL_COMM | FI_REMOTE_COMM)
#define CAPS_RMA \
	(FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define CAPS_ALL     (CAPS_MESSAGES | CAPS_RMA | FI_ATOMIC | FI_RMA_EVENT)
#define CAPS_DOMAIN  (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define CAPS_PRIMARY (FI_MSG | FI_TAGGED)
#define OP_FLAGS                                          \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MULTI_RECV)
#define TAG_GENERIC UINT64_C(0xaaaaaaaaaaaaaaaa) /* all 64 bits, one field */

/*
 * Why no link can meet them, or NULL. `version`: of the API that the program
 * knows.
 */
const char *hints_refused(const struct fi_info *hints, uint32_t version);
/* Which hint asks for more than a link offers, or NULL. */
const char *hints_unmet(const struct fi_info *hints, const struct fi_info *info,
			uint32_t version);
