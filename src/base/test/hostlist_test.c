/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/hostlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sim/heap.h"
#include "sim/rng.h"

#define NAME_64 \
	"n23456789012345678901234567890123456789012345678901234567890abcd"

static struct hostlist *parsed(const char *text)
{
	struct fairlead_error error;
	struct hostlist *list = NULL;

	if (hostlist_parse(text, &list, &error) < 0)
		fail_msg("'%s' was refused: %s", text, error.text);
	return list;
}

/* The text names these (joined by spaces), and each is found where it is. */
static void assert_names(const char *text, const char *expected)
{
	_auto_(hostlist_destroyp) struct hostlist *list = parsed(text);
	char joined[1024] = "";

	for (size_t i = 0; i < list->count; i++) {
		strcat(joined, i > 0 ? " " : "");
		strcat(joined, list->names[i]);
	}
	assert_string_equal(joined, expected);
	assert_int_equal(hostlist_count(text), list->count);
	for (size_t i = 0; i < list->count; i++) {
		int index = hostlist_find(text, list->names[i]);

		assert_in_range(index, 0, i);
		assert_string_equal(list->names[index], list->names[i]);
		for (int k = 0; k < index; k++)
			assert_string_not_equal(list->names[k], list->names[i]);
	}
}

static void assert_refused(const char *text, int code, const char *part)
{
	struct fairlead_error error = { 0 };
	struct hostlist *list = NULL;

	assert_int_equal(hostlist_parse(text, &list, &error), code);
	assert_int_equal(error.code, code);
	if (strstr(error.text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_null(list);
	assert_int_equal(hostlist_parse(text, &list, NULL), code);
	/* No such name is before the fault, so the fault is met. */
	assert_int_equal(hostlist_find(text, "no-such-name"), code);
	assert_int_equal(hostlist_count(text), code);
}

/* Names as text (whatever form) come out in this form. */
static void assert_format(const char *text, const char *expected)
{
	_auto_(hostlist_destroyp) struct hostlist *list = parsed(text);
	_auto_(freep) char *formatted =
		hostlist_format((const char *const *)list->names, list->count);

	assert_string_equal(formatted, expected);
}

static void lists_expand_in_order(void **state)
{
	assert_names("n[0-3,07],login1", "n0 n1 n2 n3 n07 login1");
	assert_names("a", "a");
	assert_names("a,b,a", "a b a");
	assert_names("b,a", "b a");
	assert_names("n[3,1-2]", "n3 n1 n2");
	assert_names("n[1-2]-ib0,n[2-3]-ib0", "n1-ib0 n2-ib0 n2-ib0 n3-ib0");
	assert_names("[1-3]", "1 2 3");
	assert_names("[7]x", "7x");
	assert_names("x1000c[0-1]s0b0n0", "x1000c0s0b0n0 x1000c1s0b0n0");
	assert_names("a.b_c-D9", "a.b_c-D9");
}

static void numbers_keep_their_zeros(void **state)
{
	assert_names("n[08-11]", "n08 n09 n10 n11");
	assert_names("n[098-101]", "n098 n099 n100 n101");
	assert_names("n[98-101]", "n98 n99 n100 n101");
	assert_names("n[08-09,8-9]", "n08 n09 n8 n9");
	assert_names("n[00-01,0-1]", "n00 n01 n0 n1");
	assert_names("n[000000000000000009-000000000000000010]",
		     "n000000000000000009 n000000000000000010");
	assert_names("n[999999999999999998-999999999999999999]",
		     "n999999999999999998 n999999999999999999");
}

static void range_may_outgrow_its_zeros(void **state)
{
	_auto_(hostlist_destroyp) struct hostlist *list = parsed("n[08-100]");

	assert_int_equal(list->count, 93);
	assert_string_equal(list->names[1], "n09");
	assert_string_equal(list->names[91], "n99");
	assert_string_equal(list->names[92], "n100");
	assert_int_equal(hostlist_find("n[08-100]", "n100"), 92);
	assert_int_equal(hostlist_find("n[08-100]", "n9"), -ENOENT);
	assert_int_equal(hostlist_find("n[08-100]", "n099"), -ENOENT);
}

static void bad_syntax_is_refused_with_its_part(void **state)
{
	assert_refused("", -EINVAL, "no name");
	assert_refused(",", -EINVAL, "','");
	assert_refused("a,", -EINVAL, "no name");
	assert_refused(",a", -EINVAL, "',a'");
	assert_refused("a,,b", -EINVAL, "',b'");
	assert_refused("a b", -EINVAL, "' b'");
	assert_refused("a/b", -EINVAL, "'/b'");
	assert_refused("\x1b[1]", -EINVAL, "'?[1]'");
	assert_refused("n[", -EINVAL, "'n['");
	assert_refused("n[1", -EINVAL, "'n[1'");
	assert_refused("n[]", -EINVAL, "no number");
	assert_refused("n]", -EINVAL, "']'");
	assert_refused("n[1]]", -EINVAL, "']'");
	assert_refused("n[1][2]", -EINVAL, "'[2]'");
	assert_refused("n[[1]]", -EINVAL, "'n[[1]]'");
	assert_refused("n[1,]", -EINVAL, "no number");
	assert_refused("n[,1]", -EINVAL, "no number");
	assert_refused("n[1-]", -EINVAL, "no number");
	assert_refused("n[-1]", -EINVAL, "no number");
	assert_refused("n[1-2-3]", -EINVAL, "'1-2-3]'");
	assert_refused("n[a-b]", -EINVAL, "'n[a-b]'");
	assert_refused("n[3-1]", -EINVAL, "backward range at '3-1]'");
	assert_refused("a,n[1-2]!", -EINVAL, "'!'");
}

static void range_of_unlike_widths_is_refused(void **state)
{
	assert_refused("n[1-010]", -EINVAL, "'1-010]'");
	assert_refused("n[00-010]", -EINVAL, "'00-010]'");
	assert_refused("n[08-9]", -EINVAL, "'08-9]'");
	assert_refused("n[008-10]", -EINVAL, "'008-10]'");
}

static void name_begins_with_a_letter_or_digit(void **state)
{
	assert_refused("-rf", -EINVAL, "'-rf'");
	assert_refused("..", -EINVAL, "'..'");
	assert_refused("a,_b", -EINVAL, "'_b'");
	assert_refused("-[1-2]", -EINVAL, "'-[1-2]'");
}

static void name_has_a_maximum_length(void **state)
{
	char text[256];

	assert_int_equal(strlen(NAME_64), HOSTLIST_NAME_MAX);
	assert_names(NAME_64, NAME_64);
	assert_refused(NAME_64 "x", -EINVAL, "name too long");
	snprintf(text, sizeof(text), "%.62s[98-99]", NAME_64);
	hostlist_destroy(parsed(text));
	/* The range outgrows the name. */
	snprintf(text, sizeof(text), "%.62s[98-100]", NAME_64);
	assert_refused(text, -EINVAL, "name too long");
	snprintf(text, sizeof(text), "%.60s[9]%.4s", NAME_64, NAME_64);
	assert_refused(text, -EINVAL, "name too long");
	snprintf(text, sizeof(text), "%.60s[9]%.5s", NAME_64, NAME_64);
	assert_refused(text, -EINVAL, "name too long");
}

static void number_has_a_maximum_of_digits(void **state)
{
	assert_refused("n[1234567890123456789]", -EINVAL, "too many digits");
	assert_refused("n[1-99999999999999999999999999]", -EINVAL,
		       "too many digits");
	/* Outside brackets it is text. */
	assert_names("n1234567890123456789", "n1234567890123456789");
}

static void list_has_a_maximum_of_names(void **state)
{
	_auto_(hostlist_destroyp) struct hostlist *list =
		parsed("n[0-65534],a");

	assert_int_equal(list->count, HOSTLIST_COUNT_MAX);
	assert_string_equal(list->names[65535], "a");
	assert_int_equal(hostlist_find("n[0-65534],a", "a"), 65535);
	assert_refused("n[0-65536]", -E2BIG, "65536");
	assert_refused("n[0-65535],a", -E2BIG, "65536");
	assert_refused("n[0-999999999999999999]", -E2BIG, "65536");
	assert_refused("n[0-40000],m[0-40000]", -E2BIG, "65536");
}

static void find_gives_the_first_place(void **state)
{
	assert_int_equal(hostlist_find("a,n[1-3],n2,a", "n2"), 2);
	assert_int_equal(hostlist_find("a,n[1-3],n2,a", "a"), 0);
	assert_int_equal(hostlist_find("n[5-9,1-4]x", "n4x"), 8);
	assert_int_equal(hostlist_find("n[1-3]", "n4"), -ENOENT);
	assert_int_equal(hostlist_find("n[1-3]", "n0"), -ENOENT);
	assert_int_equal(hostlist_find("n[1-3]", "n02"), -ENOENT);
	assert_int_equal(hostlist_find("n[01-03]", "n2"), -ENOENT);
	assert_int_equal(hostlist_find("n[1-3]", "n"), -ENOENT);
	assert_int_equal(hostlist_find("n[1-3]x", "n2"), -ENOENT);
	assert_int_equal(hostlist_find("n[1-3]", "n2x"), -ENOENT);
	assert_int_equal(hostlist_find("n1n[1-3]1", "n1"), -ENOENT);
	assert_int_equal(hostlist_find("ab", "a"), -ENOENT);
	assert_int_equal(hostlist_find("a", "ab"), -ENOENT);
	assert_int_equal(hostlist_find("n[1-3]", ""), -ENOENT);
	assert_int_equal(hostlist_find("[1-3]", "184467440737095516162"),
			 -ENOENT);
}

static void find_needs_good_text_up_to_the_name_only(void **state)
{
	assert_int_equal(hostlist_find("a,b]", "a"), 0);
	assert_int_equal(hostlist_find("a,b]", "c"), -EINVAL);
	assert_int_equal(hostlist_find("", "c"), -EINVAL);
}

static void neighbours_share_brackets(void **state)
{
	assert_format("n0,n1,n2,n3,n07,login1", "n[0-3,07],login1");
	assert_format("n1,n2", "n[1-2]");
	assert_format("n1,n3,n5,n6", "n[1,3,5-6]");
	assert_format("n9,n10,n11", "n[9-11]");
	assert_format("n99,n100", "n[99-100]");
	assert_format("n08,n09,n10,n100", "n[08-10,100]");
	assert_format("n08,n9,n10", "n[08,9-10]");
	assert_format("n1-ib,n2-ib,n3", "n[1-2]-ib,n3");
	assert_format("1,2,3", "[1-3]");
	assert_format("r1n1,r1n2,r2n1,r2n2", "r1n[1-2],r2n[1-2]");
	assert_format("r1n1,r2n1,r3n1", "r[1-3]n1");
	assert_format("n12,n1,n2", "n[12,1-2]");
	assert_format("n10,n20,n21", "n[10,20-21]");
}

static void unlike_names_stand_alone(void **state)
{
	assert_format("a", "a");
	assert_format("a,b", "a,b");
	assert_format("n,n1", "n,n1");
	assert_format("a1,b1", "a1,b1");
	assert_format("r1n1,r2n2", "r1n1,r2n2");
	assert_format("n1,n1x", "n1,n1x");
	/* Nineteen digits do not go into brackets. */
	assert_format("n1234567890123456788,n1234567890123456789",
		      "n1234567890123456788,n1234567890123456789");
}

static void order_and_duplicates_are_kept(void **state)
{
	assert_format("n3,n2,n1", "n[3,2,1]");
	assert_format("n1,n1", "n1,n1");
	assert_format("n1,n2,n2,n3", "n[1-2,2-3]");
	assert_format("n1,a,n2", "n1,a,n2");
}

static void scattered_numbers_compress(void **state)
{
	_auto_(freep) char *text = NULL;
	static char names[1000][16];
	const char *pointers[1000];

	for (int i = 0; i < 1000; i++) {
		snprintf(names[i], sizeof(names[i]), "nid%06d", 2 * i);
		pointers[i] = names[i];
	}
	text = hostlist_format(pointers, 1000);
	assert_int_equal(strlen(text), strlen("nid[]") + 1000 * 7 - 1);
}

static void no_names_are_no_text(void **state)
{
	_auto_(freep) char *text = hostlist_format(NULL, 0);

	assert_string_equal(text, "");
}

static void duplicate_is_the_first_second_place(void **state)
{
	static const struct {
		const char *text;
		int index;
	} cases[] = {
		{ "a", -ENOENT },           { "n[0-9]", -ENOENT },
		{ "n[0-9,00]", -ENOENT },   { "a,a", 1 },
		{ "c,b,a,b,c,a", 3 },       { "a,a,a", 1 },
		{ "n[0-65534],n7", 65535 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_auto_(hostlist_destroyp) struct hostlist *list =
			parsed(cases[i].text);

		assert_int_equal(hostlist_duplicate(list), cases[i].index);
	}
}

static void random_name(struct sim_rng *rng, char name[HOSTLIST_NAME_MAX + 1])
{
	static const char *const prefixes[] = { "n",  "",      "r1n", "x9",
						"7-", "node.", "n0",  "r2n" };
	static const char *const suffixes[] = { "",  "",  "",     "-ib0",
						"x", "0", ".site" };
	static const uint64_t below[] = { 3, 12, 101, 1000000000000000000 };

	snprintf(name, HOSTLIST_NAME_MAX + 1, "%s%0*" PRIu64 "%s",
		 prefixes[sim_rng_below(rng, 8)],
		 1 + (int)sim_rng_below(rng, 3),
		 sim_rng_below(rng, below[sim_rng_below(rng, 4)]),
		 suffixes[sim_rng_below(rng, 7)]);
}

/* Names in stretches that count up, like those of a cluster, and strays. */
static size_t random_names(struct sim_rng *rng, size_t capacity,
			   char names[][HOSTLIST_NAME_MAX + 1])
{
	size_t count = 0;

	while (count < capacity && !sim_rng_chance(rng, 50000)) {
		uint64_t first = sim_rng_below(rng, 110);
		uint64_t length = sim_rng_below(rng, 12);
		int width = 1 + (int)sim_rng_below(rng, 3);
		bool has_gaps = sim_rng_chance(rng, 300000);

		random_name(rng, names[count++]);
		for (uint64_t i = 0; i < length && count < capacity; i++) {
			if (has_gaps && sim_rng_chance(rng, 300000))
				continue;
			snprintf(names[count++], HOSTLIST_NAME_MAX + 1,
				 "n%0*" PRIu64 "%s", width, first + i,
				 length % 3 == 0 ? "-a" : "");
		}
	}
	return count;
}

static void names_read_back_and_are_found(void **state)
{
	static char names[100][HOSTLIST_NAME_MAX + 1];
	struct sim_rng rng;

	sim_rng_init(&rng, 31);
	for (int round = 0; round < 300; round++) {
		size_t count = random_names(&rng, 100, names);
		_auto_(hostlist_destroyp) struct hostlist *list = NULL;
		_auto_(freep) char *text = NULL;
		const char *pointers[100];
		char stray[HOSTLIST_NAME_MAX + 1];

		if (count == 0)
			continue;
		for (size_t i = 0; i < count; i++)
			pointers[i] = names[i];
		text = hostlist_format(pointers, count);
		list = parsed(text);
		assert_int_equal(list->count, count);
		random_name(&rng, stray);
		for (size_t i = 0; i < count; i++)
			assert_string_equal(list->names[i], names[i]);
		for (size_t i = 0; i <= count; i++) {
			const char *name = i < count ? names[i] : stray;
			int expected = 0;

			while ((size_t)expected < count &&
			       strcmp(names[expected], name) != 0)
				expected++;
			if ((size_t)expected == count)
				expected = -ENOENT;
			assert_int_equal(hostlist_find(text, name), expected);
		}
	}
}

static int parse_and_format(void *ctx)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	_auto_(freep) char *text = NULL;
	struct fairlead_error error = { 0 };
	int result = hostlist_parse("n[1-9],m[1-99]", &list, &error);

	if (result < 0) {
		assert_int_equal(error.code, result);
		return result;
	}
	result = hostlist_duplicate(list);
	if (result != -ENOENT)
		return result;
	text = hostlist_format((const char *const *)list->names, list->count);
	return text == NULL ? -ENOMEM : 0;
}

static void memory_that_is_out_is_an_error(void **state)
{
	unsigned int n = 1;
	int result;

	for (; sim_heap_fails(n, &result, parse_and_format, NULL); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	/* Growing names, the list, places to sort, the text. */
	assert_in_range(n, 5, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_expand_in_order),
		cmocka_unit_test(numbers_keep_their_zeros),
		cmocka_unit_test(range_may_outgrow_its_zeros),
		cmocka_unit_test(bad_syntax_is_refused_with_its_part),
		cmocka_unit_test(range_of_unlike_widths_is_refused),
		cmocka_unit_test(name_begins_with_a_letter_or_digit),
		cmocka_unit_test(name_has_a_maximum_length),
		cmocka_unit_test(number_has_a_maximum_of_digits),
		cmocka_unit_test(list_has_a_maximum_of_names),
		cmocka_unit_test(find_gives_the_first_place),
		cmocka_unit_test(find_needs_good_text_up_to_the_name_only),
		cmocka_unit_test(neighbours_share_brackets),
		cmocka_unit_test(unlike_names_stand_alone),
		cmocka_unit_test(order_and_duplicates_are_kept),
		cmocka_unit_test(scattered_numbers_compress),
		cmocka_unit_test(no_names_are_no_text),
		cmocka_unit_test(duplicate_is_the_first_second_place),
		cmocka_unit_test(names_read_back_and_are_found),
		cmocka_unit_test(memory_that_is_out_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
