/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list = run *( "," run )    run = value [ "(x" repeat ")" ]
 *
 * value is 0..RUNS_VALUE_MAX, repeat is 1 or more. A list that is one value
 * without a repeat holds for every node. Written is whichever of "v,v,..." and
 * "v(xN)" is shorter.
 */
#include "base/runs.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"

#define REPEAT_MAX UINT32_MAX

struct run {
	uint32_t value;
	uint32_t repeat;
	bool is_plain; /* no "(xN)" */
};

static bool number_parse(const char **at, uint32_t most, uint32_t *ret_number)
{
	const char *digit = *at;
	uint64_t number = 0;

	for (; *digit >= '0' && *digit <= '9'; digit++) {
		number = number * 10 + (uint64_t)(*digit - '0');
		if (number > most)
			return false;
	}
	if (digit == *at)
		return false;
	*at = digit;
	*ret_number = (uint32_t)number;
	return true;
}

/* Read one run and the comma after it; false when it is malformed. */
static bool run_parse(const char **at, struct run *ret_run)
{
	struct run run = { .repeat = 1, .is_plain = true };

	if (!number_parse(at, RUNS_VALUE_MAX, &run.value))
		return false;
	if (strncmp(*at, "(x", 2) == 0) {
		*at += 2;
		if (!number_parse(at, REPEAT_MAX, &run.repeat) ||
		    run.repeat == 0 || **at != ')')
			return false;
		(*at)++;
		run.is_plain = false;
	}
	if (**at == ',') {
		(*at)++;
		if (**at == 0)
			return false;
	} else if (**at != 0) {
		return false;
	}
	*ret_run = run;
	return true;
}

int runs_parse(const char *text, size_t count, uint32_t **ret_values,
	       struct fairlead_error *ret_error)
{
	_auto_(freep) uint32_t *values = NULL;
	const char *at = text;
	size_t done = 0;

	if (count == 0)
		return error_set(ret_error, -EINVAL, "run list of no nodes");
	values = calloc(count, sizeof(*values));
	if (values == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	do {
		const char *start = at;
		size_t repeat;
		struct run run;

		if (!run_parse(&at, &run))
			return error_set(ret_error, -EINVAL,
					 "bad run list at '%.32s'", start);
		repeat = run.repeat;
		if (run.is_plain && start == text && *at == 0)
			repeat = count;
		if (repeat > count - done)
			return error_set(ret_error, -EINVAL,
					 "run list has more than %zu values",
					 count);
		while (repeat-- > 0)
			values[done++] = run.value;
	} while (*at != 0);
	if (done < count)
		return error_set(ret_error, -EINVAL,
				 "run list has %zu values for %zu nodes", done,
				 count);
	*ret_values = take_ptr(values);
	return 0;
}

static size_t run_size(const uint32_t *values, size_t count)
{
	size_t size = 1;

	while (size < count && values[size] == values[0])
		size++;
	return size;
}

static size_t digit_count(uint64_t value)
{
	size_t count = 1;

	for (; value >= 10; value /= 10)
		count++;
	return count;
}

static void run_format(struct writer *writer, uint32_t value, size_t repeat)
{
	size_t plain_size = strlen(",") + digit_count(value);
	size_t folded_size = plain_size + strlen("(x)") + digit_count(repeat);
	bool is_folded = folded_size < repeat * plain_size;

	for (size_t left = is_folded ? 1 : repeat; left > 0; left--) {
		write_plain(writer, ",");
		write_decimal(writer, value, 0);
	}
	if (is_folded) {
		write_plain(writer, "(x");
		write_decimal(writer, repeat, 0);
		write_plain(writer, ")");
	}
}

char *runs_format(const uint32_t *values, size_t count)
{
	struct writer writer = { 0 };
	char *text;

	if (count == 0)
		return strdup("");
	if (run_size(values, count) == count)
		count = 1;
	for (size_t at = 0; at < count;) {
		size_t repeat = run_size(values + at, count - at);

		run_format(&writer, values[at], repeat);
		at += repeat;
	}
	write_u8(&writer, 0);
	text = (char *)writer_take(&writer, NULL);
	if (text != NULL)
		memmove(text, text + 1, strlen(text));
	return text;
}

int64_t runs_at(const char *text, size_t index)
{
	const char *at = text;
	size_t done = 0;

	do {
		const char *start = at;
		struct run run;

		if (!run_parse(&at, &run))
			return -EINVAL;
		if (run.is_plain && start == text && *at == 0)
			return run.value;
		if (index - done < run.repeat)
			return run.value;
		done += run.repeat;
	} while (*at != 0);
	return -ERANGE;
}
