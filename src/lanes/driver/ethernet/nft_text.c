/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A counter is the words `counter NAME { packets N`. nft has no codes for its
 * errors but the system's words for them, in the language of no locale.
 */
#include "lanes/driver/ethernet/nft_text.h"

#include <string.h>

#include "base/text.h"

#define WORD_MAX 64 /* with the zero; longer ones are nothing of ours */

/* The next word, "" at the end or for one that is too long. */
static const char *next_word(const char *text, char word[WORD_MAX])
{
	static const char blanks[] = " \t\n";
	size_t size;

	text += strspn(text, blanks);
	size = strcspn(text, blanks);
	word[0] = 0;
	if (size < WORD_MAX) {
		memcpy(word, text, size);
		word[size] = 0;
	}
	return text + size;
}

static bool packets_parse(const char *word, uint64_t *ret_packets)
{
	uint64_t packets = 0;

	if (word[0] == 0)
		return false;
	for (; *word != 0; word++) {
		if (*word < '0' || *word > '9' ||
		    __builtin_mul_overflow(packets, 10, &packets) ||
		    __builtin_add_overflow(packets, (uint64_t)(*word - '0'),
					   &packets))
			return false;
	}
	*ret_packets = packets;
	return true;
}

static void take(struct nft_listing *listing, const char *name,
		 uint64_t packets)
{
	if (strcmp(name, RULES_VERSION) == 0)
		listing->is_ours = true;
	else if (strcmp(name, "refused_send") == 0)
		listing->counters.refused_send = packets;
	else if (strcmp(name, "refused_raw") == 0)
		listing->counters.refused_raw = packets;
	else if (strcmp(name, "refused_host") == 0)
		listing->counters.refused_host = packets;
	else if (strcmp(name, "refused_way") == 0)
		listing->counters.refused_way = packets;
}

void nft_text_counters(const char *text, struct nft_listing *ret_listing)
{
	struct nft_listing listing = { 0 };
	char name[WORD_MAX], word[WORD_MAX];
	uint64_t packets;

	while (*text != 0) {
		text = next_word(text, word);
		if (strcmp(word, "counter") != 0)
			continue;
		text = next_word(text, name);
		text = next_word(text, word);
		if (strcmp(word, "{") != 0)
			continue;
		text = next_word(text, word);
		if (strcmp(word, "packets") != 0)
			continue;
		text = next_word(text, word);
		if (packets_parse(word, &packets))
			take(&listing, name, packets);
	}
	*ret_listing = listing;
}

int nft_text_error(const char *text, struct fairlead_error *ret_error)
{
	static const int codes[] = { ENOENT,     EEXIST, EBUSY,  EPERM,
				     EOPNOTSUPP, ENOMEM, ENOSPC, EINVAL };
	const char *rest = text;
	size_t size = 0;
	const char *line = text_line(&rest, &size);
	int code = -EIO;

	if (line == NULL)
		return error_set(ret_error, code, "nft failed without a word");
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		const char *words = strerrordesc_np(codes[i]);

		if (memmem(line, size, words, strlen(words)) != NULL)
			code = -codes[i];
	}
	return error_set(ret_error, code, "nft: %.*s", (int)size, line);
}
