/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nft says, as far as we read it: counters, and why it refused. It is not
 * trusted: what is not understood is left out. Pure.
 */
#pragma once

#include <stdbool.h>

#include "lanes/driver/ethernet/nft.h"
#include "lanes/driver/ethernet/rules.h"

struct nft_listing {
	bool is_ours; /* RULES_VERSION is among the counters */
	struct nft_counters counters;
};

/* Of `nft list counters`: packets, by name; what is not there is 0. */
void nft_text_counters(const char *text, struct nft_listing *ret_listing);
/* Of stderr: its first line is the error. Returns its code, never 0. */
int nft_text_error(const char *text, struct fairlead_error *ret_error);
