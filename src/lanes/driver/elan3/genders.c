/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line is split into its two words, its host list is expanded, and each
 * attribute goes to each host. What was seen of a node is kept in one set of
 * "node attribute", which is all that the check for duplicates needs.
 */
#include "lanes/driver/elan3/genders.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/driver/common/number.h"
#include "lanes/driver/elan3/lines.h"

struct seen {
	UT_hash_handle hh;
	char key[];
};

struct genders {
	struct elan3_lines lines;
	struct seen *seen;
	int (*fn)(void *arg, const struct genders_attribute *attribute,
		  struct fairlead_error *ret_error);
	void *arg;
};

static void seen_free(struct genders *parse)
{
	struct seen *seen, *next;

	HASH_ITER (hh, parse->seen, seen, next) {
		HASH_DEL(parse->seen, seen);
		free(seen);
	}
}

static int fail(const struct genders *parse, int code, const char *text,
		const char *what, struct fairlead_error *ret_error)
{
	return error_set(ret_error, code, "line %u: '%.80s' %s",
			 parse->lines.number, what, text);
}

/* A host list has no blanks, so that one between the two is no part of them. */
static int seen_add(struct genders *parse, const char *node, const char *name,
		    struct fairlead_error *ret_error)
{
	size_t node_size = strlen(node), name_size = strlen(name);
	size_t size = node_size + 1 + name_size;
	struct seen *seen, *old;

	if (HASH_COUNT(parse->seen) >= GENDERS_ATTRIBUTES_MAX)
		return fail(parse, -E2BIG,
			    "is one attribute too many of all nodes together",
			    name, ret_error);
	seen = memory_alloc(sizeof(*seen) + size + 1);
	memcpy(seen->key, node, node_size);
	seen->key[node_size] = ' ';
	memcpy(seen->key + node_size + 1, name, name_size);
	HASH_FIND(hh, parse->seen, seen->key, size, old);
	if (old) {
		free(seen);
		return error_set(ret_error, -EINVAL,
				 "line %u: node '%s' has the attribute '%s' "
				 "twice",
				 parse->lines.number, node, name);
	}
	HASH_ADD_KEYPTR(hh, parse->seen, seen->key, size, seen);
	if (!hash_was_added(seen))
		memory_end();
	return 0;
}

/* "%n" and "%%"; another '%' stands for itself. False: it is too long. */
static bool value_expand(const char *value, const char *node,
			 char text[GENDERS_VALUE_MAX + 1])
{
	size_t used = 0;

	for (; *value != 0; value++) {
		const char *piece = value;
		size_t size = 1;

		if (value[0] == '%' && value[1] == 'n') {
			piece = node;
			size = strlen(node);
		}
		if (size > GENDERS_VALUE_MAX - used)
			return false;
		memcpy(text + used, piece, size);
		used += size;
		if (value[0] == '%' && (value[1] == 'n' || value[1] == '%'))
			value++;
	}
	text[used] = 0;
	return true;
}

/* value NULL: the attribute has none. */
static int attribute_take(struct genders *parse, const char *node,
			  const char *name, const char *value,
			  struct fairlead_error *ret_error)
{
	char text[GENDERS_VALUE_MAX + 1];
	const struct genders_attribute attribute = {
		.node = node,
		.name = name,
		.value = value ? text : NULL,
		.line = parse->lines.number,
	};
	int result;

	if (value && !value_expand(value, node, text))
		return fail(parse, -EINVAL, "is too long for a value", value,
			    ret_error);
	result = seen_add(parse, node, name, ret_error);
	if (result < 0)
		return result;
	return parse->fn(parse->arg, &attribute, ret_error);
}

static int form_check(const struct genders *parse, const char *name,
		      const char *value, struct fairlead_error *ret_error)
{
	size_t size = strlen(name);

	if (size == 0)
		return error_set(ret_error, -EINVAL,
				 "line %u: an attribute has no name",
				 parse->lines.number);
	if (size > GENDERS_ATTRIBUTE_MAX)
		return fail(parse, -EINVAL, "is too long for an attribute",
			    name, ret_error);
	if (value && *value == 0)
		return fail(parse, -EINVAL, "has no value behind its '='", name,
			    ret_error);
	return 0;
}

static int attributes_take(struct genders *parse, const struct hostlist *nodes,
			   char *text, struct fairlead_error *ret_error)
{
	char *name;

	while ((name = strsep(&text, ",")) != NULL) {
		char *value = name;
		int result;

		strsep(&value, "=");
		result = form_check(parse, name, value, ret_error);
		for (size_t i = 0; i < nodes->count && result == 0; i++)
			result = attribute_take(parse, nodes->names[i], name,
						value, ret_error);
		if (result < 0)
			return result;
	}
	return 0;
}

static int line_take(struct genders *parse, struct fairlead_error *ret_error)
{
	_auto_(hostlist_destroyp) struct hostlist *nodes = NULL;
	struct fairlead_error error = { 0 };
	char **words = parse->lines.words;
	int result;

	if (parse->lines.word_count == 0)
		return 0;
	if (parse->lines.word_count > 2)
		return fail(parse, -EINVAL,
			    "stands behind the attributes, which have no "
			    "blanks between them",
			    words[2], ret_error);
	result = memory_check(hostlist_parse(words[0], &nodes, &error));
	if (result < 0)
		return error_set(ret_error, result, "line %u: %s",
				 parse->lines.number, error.text);
	return parse->lines.word_count < 2
		       ? 0
		       : attributes_take(parse, nodes, words[1], ret_error);
}

int genders_parse(const char *text, size_t size,
		  int (*fn)(void *arg,
			    const struct genders_attribute *attribute,
			    struct fairlead_error *ret_error),
		  void *arg, struct fairlead_error *ret_error)
{
	struct genders parse = { .fn = fn, .arg = arg };
	int result;

	if (size > ELAN_HOSTS_FILE_MAX)
		return error_set(ret_error, -E2BIG,
				 "the file has more than %d bytes",
				 ELAN_HOSTS_FILE_MAX);
	lines_begin(&parse.lines, text, size);
	while ((result = lines_next(&parse.lines, ret_error)) > 0) {
		result = line_take(&parse, ret_error);
		if (result < 0)
			break;
	}
	lines_end(&parse.lines);
	seen_free(&parse);
	return result;
}

/* --- ElanIDs --- */

struct wanted {
	const char *attribute;
	struct elan_hosts *hosts;
};

/* The number that a name ends with. */
static bool last_digits(const char *name, uint32_t *ret_id)
{
	const char *end = name + strlen(name);
	const char *at = end;

	while (at > name && isdigit((unsigned char)at[-1]))
		at--;
	while (at + 1 < end && *at == '0')
		at++;
	return number_parse(at, 0, ELAN_ID_MAX, ret_id);
}

static int take_id(void *arg, const struct genders_attribute *attribute,
		   struct fairlead_error *ret_error)
{
	const struct wanted *wanted = arg;
	const char *value = attribute->value;
	struct fairlead_error error = { 0 };
	uint32_t id;
	int result;

	if (strcmp(attribute->name, wanted->attribute) != 0)
		return 0;
	if (!value ||
	    (!number_parse(value, 0, ELAN_ID_MAX, &id) &&
	     (strcmp(value, attribute->node) != 0 || !last_digits(value, &id))))
		return error_set(ret_error, -EINVAL,
				 "line %u: '%s' of node '%s' is no ElanID: "
				 "0 to %d, or %%n where the name ends with it",
				 attribute->line, attribute->name,
				 attribute->node, ELAN_ID_MAX);
	result = elan_hosts_add(wanted->hosts, attribute->node, ELAN_HOST_EIP,
				id, &error);
	return result == 0 ? 0
			   : error_set(ret_error, result, "line %u: %s",
				       attribute->line, error.text);
}

int genders_hosts(const char *text, size_t size, const char *attribute,
		  struct elan_hosts **ret_hosts,
		  struct fairlead_error *ret_error)
{
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts =
		elan_hosts_create();
	struct wanted wanted = { .attribute = attribute, .hosts = hosts };
	int result = genders_parse(text, size, take_id, &wanted, ret_error);

	if (result == 0)
		*ret_hosts = take_ptr(hosts);
	return result;
}
