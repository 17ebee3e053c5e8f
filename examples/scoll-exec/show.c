/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UTF-8 is decoded in its shortest form only, and the C1 controls, of which
 * terminals take some for escapes, are not printable.
 */
#include "show.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Bytes of the printable character at the beginning, or 0. */
static size_t printable(const uint8_t *at, size_t left)
{
	uint32_t value, least;
	size_t size;

	if (at[0] < 0x80)
		return at[0] == '\t' || (at[0] >= 0x20 && at[0] != 0x7f);
	size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	least = size == 4 ? 0x10000 : size == 3 ? 0x800 : 0xa0;
	if (at[0] < 0xc2 || at[0] > 0xf4 || size > left)
		return 0;
	value = at[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3fu);
	}
	if (value < least || value > 0x10ffff ||
	    (value >= 0xd800 && value < 0xe000))
		return 0;
	/* What turns the direction of writing, and what ends a line. */
	if ((value >= 0x202a && value <= 0x202e) ||
	    (value >= 0x2066 && value <= 0x2069) || value == 0x2028 ||
	    value == 0x2029)
		return 0;
	return size;
}

void show_visible(FILE *out, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t count = printable(bytes + i, size - i);

		if (count == 0)
			fprintf(out, "\\x%02x", bytes[i]);
		else
			fwrite(bytes + i, 1, count, out);
		i += count == 0 ? 1 : count;
	}
}

void show_lines(FILE *out, const char *label, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		const uint8_t *end = memchr(bytes, '\n', size);
		size_t length = end == NULL ? size : (size_t)(end - bytes);

		fprintf(out, "%s: ", label);
		show_visible(out, bytes, length);
		fputc('\n', out);
		if (end == NULL)
			break;
		bytes += length + 1;
		size -= length + 1;
	}
}

static void remark(const struct outcome *outcome, char *text, size_t capacity)
{
	const char *name;

	switch (outcome->kind) {
	case OUTCOME_EXITED:
		if (outcome->code != 0)
			snprintf(text, capacity, "exited with exit code %u",
				 outcome->code);
		break;
	case OUTCOME_KILLED:
		name = sigabbrev_np((int)outcome->code);
		snprintf(text, capacity, "killed by signal %u (%s)",
			 outcome->code, name == NULL ? "?" : name);
		break;
	case OUTCOME_TIMEOUT:
		snprintf(text, capacity, "timed out, and was killed");
		break;
	case OUTCOME_STOPPED:
		snprintf(text, capacity, "stopped, and was killed");
		break;
	default:
		snprintf(text, capacity, "not run: %.*s", (int)outcome->size,
			 (const char *)outcome->output);
		text_clean(text);
		break;
	}
}

void show_remark(const struct outcome *outcome, char *text, size_t capacity)
{
	const char *more = (outcome->flags & OUTCOME_OMITTED) != 0
				   ? "output omitted: too much in all"
			   : (outcome->flags & OUTCOME_TRUNCATED) != 0
				   ? "output truncated"
				   : "";
	size_t size;

	*text = 0;
	remark(outcome, text, capacity);
	size = strlen(text);
	if (*more != 0)
		snprintf(text + size, capacity - size, "%s%s",
			 size > 0 ? "; " : "", more);
}
