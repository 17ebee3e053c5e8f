/* SPDX-License-Identifier: BSD-3-Clause */
/* A table by name, and one by id for each kind. */
#include "lanes/driver/elan3/hosts.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/driver/common/options.h"

struct host {
	uint32_t id;
	UT_hash_handle hh;
	char name[]; /* the key */
};

struct elan_hosts {
	struct host *by_name;
	const struct host *by_id[ELAN_HOST_KINDS][ELAN_ID_MAX + 1];
};

struct elan_hosts *elan_hosts_create(void)
{
	return memory_alloc(sizeof(struct elan_hosts));
}

void elan_hosts_destroy(struct elan_hosts *hosts)
{
	struct host *host, *next;

	if (!hosts)
		return;
	HASH_ITER (hh, hosts->by_name, host, next) {
		HASH_DEL(hosts->by_name, host);
		free(host);
	}
	free(hosts);
}

static struct host *find(const struct elan_hosts *hosts, const char *name)
{
	struct host *host;

	HASH_FIND_STR(hosts->by_name, name, host);
	return host;
}

static int check(const struct elan_hosts *hosts, const char *name,
		 enum elan_host_kind kind, uint32_t id,
		 struct fairlead_error *ret_error)
{
	const struct host *other;

	if (id > ELAN_ID_MAX)
		return error_set(ret_error, -EINVAL,
				 "'%s' has ElanID %u, and the highest is %d",
				 name, id, ELAN_ID_MAX);
	other = find(hosts, name);
	if (other)
		return error_set(ret_error, -EINVAL,
				 "'%s' is there twice, with ElanIDs %u and %u",
				 name, other->id, id);
	other = hosts->by_id[kind][id];
	if (other)
		return error_set(ret_error, -EINVAL,
				 "'%s' and '%s' both have ElanID %u",
				 other->name, name, id);
	if (HASH_COUNT(hosts->by_name) >= ELAN_HOSTS_MAX)
		return error_set(ret_error, -E2BIG, "more than %d names",
				 ELAN_HOSTS_MAX);
	return 0;
}

int elan_hosts_add(struct elan_hosts *hosts, const char *name,
		   enum elan_host_kind kind, uint32_t id,
		   struct fairlead_error *ret_error)
{
	size_t size = strlen(name);
	struct host *host;
	int result = check(hosts, name, kind, id, ret_error);

	if (result < 0)
		return result;
	host = memory_alloc(sizeof(*host) + size + 1);
	host->id = id;
	memcpy(host->name, name, size + 1);
	HASH_ADD_KEYPTR(hh, hosts->by_name, host->name, size, host);
	if (!hash_was_added(host))
		memory_end();
	hosts->by_id[kind][id] = host;
	return 0;
}

int elan_hosts_find(const struct elan_hosts *hosts, const char *name)
{
	const struct host *host = find(hosts, name);

	return host ? (int)host->id : -ENOENT;
}

const char *elan_hosts_name(const struct elan_hosts *hosts,
			    enum elan_host_kind kind, uint32_t id)
{
	const struct host *host =
		id <= ELAN_ID_MAX ? hosts->by_id[kind][id] : NULL;

	return host ? host->name : NULL;
}

size_t elan_hosts_count(const struct elan_hosts *hosts)
{
	return HASH_COUNT(hosts->by_name);
}

/* --- files: lines of words --- */

#define LINES_WORDS_MAX 4
#define LINES_BLANKS    " \t\r\v\f"

/*
 * One line at a time. The text is not changed; a line is copied, without what
 * stands behind '#', and its words are cut out of it.
 */
struct elan3_lines {
	const char *text;
	size_t left;
	unsigned int number; /* of the line, from 1 */
	char *line;          /* the copy */
	size_t word_count;   /* none: the line is blank */
	char *words[LINES_WORDS_MAX];
};

static int words_cut(struct elan3_lines *lines,
		     struct fairlead_error *ret_error)
{
	char *at = lines->line;

	lines->word_count = 0;
	at += strspn(at, LINES_BLANKS);
	while (*at != 0) {
		if (lines->word_count == LINES_WORDS_MAX)
			return error_set(ret_error, -EINVAL,
					 "has more words than such a line can "
					 "have");
		lines->words[lines->word_count++] = at;
		at += strcspn(at, LINES_BLANKS);
		if (*at != 0)
			*at++ = 0;
		at += strspn(at, LINES_BLANKS);
	}
	return 1;
}

/* The next line: 1, or 0 at the end. */
static int line_next(struct elan3_lines *lines,
		     struct fairlead_error *ret_error)
{
	const char *end;
	size_t size;

	free(lines->line);
	lines->line = NULL;
	if (lines->left == 0)
		return 0;
	lines->number++;
	end = memchr(lines->text, '\n', lines->left);
	size = end ? (size_t)(end - lines->text) : lines->left;
	lines->line = memory_have(strndup(lines->text, size));
	if (strlen(lines->line) < size)
		return error_set(ret_error, -EINVAL, "has a zero byte");
	size += end != NULL;
	lines->text += size;
	lines->left -= size;
	lines->line[strcspn(lines->line, "#")] = 0;
	return words_cut(lines, ret_error);
}

/*
 * Read a file's text into a table: line_take gets each line. -EINVAL with a
 * text, "line 3: ...", also when a line has a zero or too many words; -E2BIG:
 * over ELAN_HOSTS_FILE_MAX.
 */
static int elan3_lines_read(const char *text, size_t size,
			    int (*line_take)(struct elan3_lines *lines,
					     void *arg,
					     struct elan_hosts *hosts,
					     struct fairlead_error *ret_error),
			    void *arg, struct elan_hosts **ret_hosts,
			    struct fairlead_error *ret_error)
{
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts =
		elan_hosts_create();
	struct elan3_lines lines = { .text = text, .left = size };
	struct fairlead_error error = { 0 };
	int result;

	if (size > ELAN_HOSTS_FILE_MAX)
		return error_set(ret_error, -E2BIG,
				 "the file has more than %d bytes",
				 ELAN_HOSTS_FILE_MAX);
	while ((result = line_next(&lines, &error)) > 0) {
		result = line_take(&lines, arg, hosts, &error);
		if (result < 0)
			break;
	}
	free(lines.line);
	if (result < 0)
		return error_set(ret_error, result, "line %u: %s", lines.number,
				 error.text);
	*ret_hosts = take_ptr(hosts);
	return 0;
}

/*
 * --- elanhosts: ElanIDs are written as host lists of bare numbers are: "[0-3,8]"
 * or "7" ---
 */

static const char *const kinds[ELAN_HOST_KINDS] = {
	[ELAN_HOST_EIP] = "eip",
	[ELAN_HOST_ETH] = "eth",
	[ELAN_HOST_OTHER] = "other",
};

static int kind_read(const char *word, struct fairlead_error *ret_error)
{
	for (int kind = 0; kind < ELAN_HOST_KINDS; kind++)
		if (strcmp(kinds[kind], word) == 0)
			return kind;
	return error_set(ret_error, -EINVAL, "'%.80s' is not eip, eth or other",
			 word);
}

static int host_add(const char *name, int kind, const char *id_text,
		    struct elan_hosts *hosts, struct fairlead_error *ret_error)
{
	uint32_t id;

	if (!number_parse(id_text, 0, ELAN_ID_MAX, &id))
		return error_set(ret_error, -EINVAL,
				 "'%.80s' is no ElanID, 0 to %d", id_text,
				 ELAN_ID_MAX);
	return elan_hosts_add(hosts, name, (enum elan_host_kind)kind, id,
			      ret_error);
}

static int elanhosts_line_take(struct elan3_lines *lines, void *arg,
			       struct elan_hosts *hosts,
			       struct fairlead_error *ret_error)
{
	_auto_(hostlist_destroyp) struct hostlist *ids = NULL;
	_auto_(hostlist_destroyp) struct hostlist *names = NULL;
	int kind, result;

	if (lines->word_count == 0)
		return 0;
	if (lines->word_count != 3)
		return error_set(ret_error, -EINVAL,
				 "has to be a kind, ElanIDs and names");
	kind = kind_read(lines->words[0], ret_error);
	if (kind < 0)
		return kind;
	result = memory_check(hostlist_parse(lines->words[1], &ids, ret_error));
	if (result == 0)
		result = memory_check(
			hostlist_parse(lines->words[2], &names, ret_error));
	if (result < 0)
		return result;
	if (ids->count != names->count)
		return error_set(ret_error, -EINVAL,
				 "has %zu ElanIDs and %zu names", ids->count,
				 names->count);
	for (size_t i = 0; i < ids->count && result == 0; i++)
		result = host_add(names->names[i], kind, ids->names[i], hosts,
				  ret_error);
	return result;
}

int elanhosts_parse(const char *text, size_t size,
		    struct elan_hosts **ret_hosts,
		    struct fairlead_error *ret_error)
{
	return elan3_lines_read(text, size, elanhosts_line_take, NULL,
				ret_hosts, ret_error);
}

/* --- genders --- */

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

/* value NULL: the attribute has none. */
static int id_add(const char *node, const char *attribute, const char *value,
		  struct elan_hosts *hosts, struct fairlead_error *ret_error)
{
	uint32_t id;

	if (!value || !(strcmp(value, "%n") == 0
				? last_digits(node, &id)
				: number_parse(value, 0, ELAN_ID_MAX, &id)))
		return error_set(ret_error, -EINVAL,
				 "'%s' of node '%s' is no ElanID: 0 to %d, or "
				 "%%n where the name ends with it",
				 attribute, node, ELAN_ID_MAX);
	return elan_hosts_add(hosts, node, ELAN_HOST_EIP, id, ret_error);
}

static int ids_take(const char *list, const char *attribute, const char *value,
		    struct elan_hosts *hosts, struct fairlead_error *ret_error)
{
	_auto_(hostlist_destroyp) struct hostlist *nodes = NULL;
	int result = memory_check(hostlist_parse(list, &nodes, ret_error));

	for (size_t i = 0; result == 0 && i < nodes->count; i++)
		result = id_add(nodes->names[i], attribute, value, hosts,
				ret_error);
	return result;
}

static int genders_line_take(struct elan3_lines *lines, void *arg,
			     struct elan_hosts *hosts,
			     struct fairlead_error *ret_error)
{
	const char *attribute = arg;
	char *rest, *name;
	int result = 0;

	if (lines->word_count < 2)
		return 0;
	if (lines->word_count > 2)
		return error_set(ret_error, -EINVAL,
				 "'%.80s' stands behind the attributes, which "
				 "have no blanks between them",
				 lines->words[2]);
	rest = lines->words[1];
	while (result == 0 && (name = strsep(&rest, ",")) != NULL) {
		char *value = name;

		strsep(&value, "=");
		if (strcmp(name, attribute) == 0)
			result = ids_take(lines->words[0], attribute, value,
					  hosts, ret_error);
	}
	return result;
}

int genders_hosts(const char *text, size_t size, const char *attribute,
		  struct elan_hosts **ret_hosts,
		  struct fairlead_error *ret_error)
{
	return elan3_lines_read(text, size, genders_line_take,
				(void *)attribute, ret_hosts, ret_error);
}
