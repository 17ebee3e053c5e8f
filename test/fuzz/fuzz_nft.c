/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nft says: a listing of counters, which reads the same when its blanks
 * are others, and an error, which has a code and a text.
 */
#include "lanes/driver/ethernet/nft_text.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct fairlead_error error = { 0 };
	struct nft_listing listing, again;

	nft_text_counters(text, &listing);
	fuzz_check(nft_text_error(text, &error) < 0);
	fuzz_check(error.code < 0 && error.text[0] != 0);
	for (char *at = text; *at != 0; at++) {
		if (*at == '\n')
			*at = '\t';
	}
	nft_text_counters(text, &again);
	fuzz_check(memcmp(&listing.counters, &again.counters,
			  sizeof(listing.counters)) == 0);
	fuzz_check(listing.is_ours == again.is_ours);
	free(text);
	return 0;
}
