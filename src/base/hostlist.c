/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A text is read as a row of spans: one name, or the names
 * prefix + first..last + suffix with numbers of at least `width` digits.
 * Expanding and finding go over the same spans, so they cannot disagree, and
 * the limits on names are checked on a span before anything is expanded.
 */
#include "base/hostlist.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#define NAME_CHARACTERS              \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789._-"
#define DIGITS "0123456789"

struct span {
	const char *prefix;
	size_t prefix_size;
	const char *suffix;
	size_t suffix_size;
	bool has_number;
	uint64_t first;
	uint64_t last;
	size_t width;
	size_t index; /* of the first name, in the list */
	size_t count; /* names */
};

/* The number in a name, as it is written there. */
struct number {
	const char *digits;
	size_t size;
	uint64_t value;
};

struct cursor {
	const char *at;
	struct span span; /* the last one that was read */
	bool in_brackets; /* the next span is a further range of the last */
	bool is_done;
	struct fairlead_error *error;
};

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static size_t digit_count(uint64_t number)
{
	size_t count = 1;

	while (number >= 10) {
		number /= 10;
		count++;
	}
	return count;
}

static int refuse(struct cursor *cursor, const char *what, const char *part)
{
	int size = (int)strnlen(part, HOSTLIST_NAME_MAX);

	return error_set(cursor->error, -EINVAL, "%s at '%.*s' in a host list",
			 what, size, part);
}

static int number_parse(struct cursor *cursor, uint64_t *ret_number,
			size_t *ret_width)
{
	size_t width = strspn(cursor->at, DIGITS);
	uint64_t number = 0;

	if (width == 0)
		return refuse(cursor, "no number", cursor->at);
	if (width > HOSTLIST_DIGITS_MAX)
		return refuse(cursor, "too many digits", cursor->at);
	for (size_t i = 0; i < width; i++)
		number = number * 10 + (uint64_t)(cursor->at[i] - '0');
	cursor->at += width;
	*ret_number = number;
	*ret_width = width;
	return 0;
}

/* One range, with the comma or bracket after it. */
static int range_parse(struct cursor *cursor)
{
	struct span *span = &cursor->span;
	const char *start = cursor->at;
	int result = number_parse(cursor, &span->first, &span->width);
	size_t last_width = span->width;

	if (result < 0)
		return result;
	span->last = span->first;
	if (*cursor->at == '-') {
		cursor->at++;
		result = number_parse(cursor, &span->last, &last_width);
		if (result < 0)
			return result;
	}
	if (span->last < span->first)
		return refuse(cursor, "backward range", start);
	if (last_width != span->width &&
	    (last_width < span->width || last_width != digit_count(span->last)))
		return refuse(cursor, "range of unlike widths", start);
	if (span->prefix_size + last_width + span->suffix_size >
	    HOSTLIST_NAME_MAX)
		return refuse(cursor, "name too long", span->prefix);
	span->count = (size_t)(span->last - span->first) + 1;
	if (*cursor->at == ',') {
		cursor->at++;
		return 0;
	}
	if (*cursor->at != ']')
		return refuse(cursor, "bad range", start);
	cursor->in_brackets = false;
	cursor->at = span->suffix + span->suffix_size;
	return 0;
}

/* Prefix and suffix of a part; the brackets come next. */
static int part_parse(struct cursor *cursor)
{
	const char *start = cursor->at;
	struct span span = { .prefix = start, .count = 1 };

	span.prefix_size = strspn(start, NAME_CHARACTERS);
	cursor->at += span.prefix_size;
	if (*cursor->at == '[') {
		cursor->in_brackets = true;
		span.has_number = true;
		cursor->at++;
		span.suffix = cursor->at + strspn(cursor->at, DIGITS ",-");
		if (*span.suffix != ']')
			return refuse(cursor, "bad brackets", start);
		span.suffix++;
		span.suffix_size = strspn(span.suffix, NAME_CHARACTERS);
	} else if (span.prefix_size == 0) {
		return refuse(cursor, "no name", start);
	}
	if (span.prefix_size > 0 && strchr("._-", *start) != NULL)
		return refuse(cursor, "bad first character", start);
	if (span.prefix_size + span.suffix_size > HOSTLIST_NAME_MAX)
		return refuse(cursor, "name too long", start);
	cursor->span = span;
	return 0;
}

/* Read the next span: 1, 0 at the end, or -EINVAL, -E2BIG. */
static int cursor_next(struct cursor *cursor)
{
	struct span *span = &cursor->span;
	size_t index = span->index + span->count;
	int result;

	if (cursor->is_done)
		return 0;
	if (!cursor->in_brackets) {
		result = part_parse(cursor);
		if (result < 0)
			return result;
	}
	if (cursor->in_brackets) {
		result = range_parse(cursor);
		if (result < 0)
			return result;
	}
	span->index = index;
	if (index + span->count > HOSTLIST_COUNT_MAX)
		return error_set(cursor->error, -E2BIG,
				 "host list has more than %d names",
				 HOSTLIST_COUNT_MAX);
	if (cursor->in_brackets)
		return 1;
	if (*cursor->at == 0)
		cursor->is_done = true;
	else if (*cursor->at == ',')
		cursor->at++;
	else
		return refuse(cursor, "bad character", cursor->at);
	return 1;
}

static void span_expand(const struct span *span, struct writer *names)
{
	for (size_t i = 0; i < span->count; i++) {
		write_bytes(names, span->prefix, span->prefix_size);
		if (span->has_number)
			write_decimal(names, span->first + i, span->width);
		write_bytes(names, span->suffix, span->suffix_size);
		write_u8(names, 0);
	}
}

/* One allocation: the list, its pointers, the names. */
static struct hostlist *list_create(const struct writer *names, size_t count)
{
	size_t head = sizeof(struct hostlist) + count * sizeof(char *);
	struct hostlist *list = malloc(head + names->size);
	char *name;

	if (list == NULL)
		return NULL;
	list->count = count;
	list->names = (char **)(list + 1);
	name = (char *)list + head;
	memcpy(name, names->data, names->size);
	for (size_t i = 0; i < count; i++) {
		list->names[i] = name;
		name += strlen(name) + 1;
	}
	return list;
}

int hostlist_parse(const char *text, struct hostlist **ret_list,
		   struct fairlead_error *ret_error)
{
	struct cursor cursor = { .at = text, .error = ret_error };
	_auto_(writer_fini) struct writer names = { 0 };
	struct hostlist *list;
	int result;

	while ((result = cursor_next(&cursor)) > 0)
		span_expand(&cursor.span, &names);
	if (result < 0)
		return result;
	if (names.result < 0)
		return error_set(ret_error, names.result, "out of memory");
	list = list_create(&names, cursor.span.index + cursor.span.count);
	if (list == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	*ret_list = list;
	return 0;
}

void hostlist_destroy(struct hostlist *list)
{
	free(list);
}

/* Read digits that could stand in brackets. */
static bool number_read(const char *digits, size_t size,
			struct number *ret_number)
{
	uint64_t value = 0;

	if (size == 0 || size > HOSTLIST_DIGITS_MAX)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!is_digit(digits[i]))
			return false;
		value = value * 10 + (uint64_t)(digits[i] - '0');
	}
	*ret_number = (struct number){ digits, size, value };
	return true;
}

/* Would a range whose first number has `width` digits write it like this? */
static bool number_has_width(const struct number *number, size_t width)
{
	size_t digits = digit_count(number->value);

	return number->size == (digits > width ? digits : width);
}

/* What stands between prefix and suffix, or NULL when name has not both. */
static const char *span_middle(const struct span *span, const char *name,
			       size_t *ret_size)
{
	size_t size = strlen(name);

	if (size < span->prefix_size + span->suffix_size ||
	    memcmp(name, span->prefix, span->prefix_size) != 0)
		return NULL;
	if (span->suffix_size > 0 &&
	    memcmp(name + size - span->suffix_size, span->suffix,
		   span->suffix_size) != 0)
		return NULL;
	*ret_size = size - span->prefix_size - span->suffix_size;
	return name + span->prefix_size;
}

/* The number that the name has in the span's brackets. */
static bool span_number(const struct span *span, const char *name,
			struct number *ret_number)
{
	size_t size;
	const char *middle = span_middle(span, name, &size);

	return middle != NULL && number_read(middle, size, ret_number);
}

int hostlist_find(const char *text, const char *name)
{
	struct cursor cursor = { .at = text };
	const struct span *span = &cursor.span;
	int result;

	while ((result = cursor_next(&cursor)) > 0) {
		struct number number;
		size_t size;

		if (!span->has_number) {
			if (span_middle(span, name, &size) != NULL && size == 0)
				return (int)span->index;
			continue;
		}
		if (span_number(span, name, &number) &&
		    number_has_width(&number, span->width) &&
		    number.value >= span->first && number.value <= span->last)
			return (int)(span->index + number.value - span->first);
	}
	return result < 0 ? result : -ENOENT;
}

int hostlist_count(const char *text)
{
	struct cursor cursor = { .at = text };
	int result;

	do
		result = cursor_next(&cursor);
	while (result > 0);
	return result < 0 ? result
			  : (int)(cursor.span.index + cursor.span.count);
}

/*
 * Make the span in whose brackets both names have their whole number. False
 * when they are equal or differ in more than one number.
 */
static bool span_between(const char *one, const char *two,
			 struct span *ret_span)
{
	size_t one_size = strlen(one);
	size_t two_size = strlen(two);
	size_t least = one_size < two_size ? one_size : two_size;
	size_t prefix = 0;
	size_t suffix = 0;
	struct number number;

	while (prefix < least && one[prefix] == two[prefix])
		prefix++;
	if (prefix == one_size && prefix == two_size)
		return false;
	while (prefix > 0 && is_digit(one[prefix - 1]))
		prefix--;
	while (suffix < least - prefix &&
	       one[one_size - suffix - 1] == two[two_size - suffix - 1])
		suffix++;
	while (suffix > 0 && is_digit(one[one_size - suffix]))
		suffix--;
	*ret_span = (struct span){
		.prefix = one,
		.prefix_size = prefix,
		.suffix = one + one_size - suffix,
		.suffix_size = suffix,
	};
	return span_number(ret_span, one, &number) &&
	       span_number(ret_span, two, &number);
}

/* Write the names up to the first that is not of the span; how many. */
static size_t brackets_format(struct writer *writer, const struct span *span,
			      const char *const *names, size_t count)
{
	struct number first;
	size_t done = 0;

	write_bytes(writer, span->prefix, span->prefix_size);
	while (done < count && span_number(span, names[done], &first)) {
		struct number last = first;
		struct number next;

		write_u8(writer, done == 0 ? '[' : ',');
		while (++done < count &&
		       span_number(span, names[done], &next) &&
		       next.value == last.value + 1 &&
		       number_has_width(&next, first.size))
			last = next;
		write_bytes(writer, first.digits, first.size);
		if (last.value == first.value)
			continue;
		write_u8(writer, '-');
		write_bytes(writer, last.digits, last.size);
	}
	write_u8(writer, ']');
	write_bytes(writer, span->suffix, span->suffix_size);
	return done;
}

char *hostlist_format(const char *const *names, size_t count)
{
	struct writer writer = { 0 };
	size_t done = 0;

	while (done < count) {
		struct span span;

		if (done > 0)
			write_u8(&writer, ',');
		if (done + 1 < count &&
		    span_between(names[done], names[done + 1], &span)) {
			done += brackets_format(&writer, &span, names + done,
						count - done);
		} else {
			write_bytes(&writer, names[done], strlen(names[done]));
			done++;
		}
	}
	write_u8(&writer, 0);
	return (char *)writer_take(&writer, NULL);
}

/* By name, then by place in the list. */
static int place_compare(const void *one, const void *two)
{
	char *const *const *a = one;
	char *const *const *b = two;
	int order = strcmp(**a, **b);

	return order != 0 ? order : (*a > *b) - (*a < *b);
}

int hostlist_duplicate(const struct hostlist *list)
{
	_auto_(freep) char *const **places = NULL;
	size_t lowest = list->count;

	places = calloc(list->count + 1, sizeof(*places));
	if (places == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		places[i] = &list->names[i];
	qsort(places, list->count, sizeof(*places), place_compare);
	for (size_t i = 1; i < list->count; i++) {
		size_t index = (size_t)(places[i] - list->names);

		if (strcmp(*places[i - 1], *places[i]) == 0 && index < lowest)
			lowest = index;
	}
	return lowest < list->count ? (int)lowest : -ENOENT;
}
