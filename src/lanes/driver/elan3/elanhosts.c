/* SPDX-License-Identifier: BSD-3-Clause */
/* ElanIDs are written as host lists of bare numbers are: "[0-3,8]" or "7". */
#include "lanes/driver/elan3/elanhosts.h"

#include <string.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/driver/common/number.h"
#include "lanes/driver/elan3/lines.h"

static const char *const kinds[ELAN_HOST_KINDS] = {
	[ELAN_HOST_EIP] = "eip",
	[ELAN_HOST_ETH] = "eth",
	[ELAN_HOST_OTHER] = "other",
};

static int kind_read(const struct elan3_lines *lines,
		     struct fairlead_error *ret_error)
{
	int kind = 0;

	while (kind < ELAN_HOST_KINDS &&
	       strcmp(kinds[kind], lines->words[0]) != 0)
		kind++;
	return kind < ELAN_HOST_KINDS
		       ? kind
		       : error_set(ret_error, -EINVAL,
				   "line %u: '%.80s' is not eip, eth or other",
				   lines->number, lines->words[0]);
}

static int list_read(const struct elan3_lines *lines, const char *word,
		     struct hostlist **ret_list,
		     struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };
	int result = memory_check(hostlist_parse(word, ret_list, &error));

	return result == 0 ? 0
			   : error_set(ret_error, result, "line %u: %s",
				       lines->number, error.text);
}

static int host_add(const struct elan3_lines *lines, const char *name, int kind,
		    const char *id_text, struct elan_hosts *hosts,
		    struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };
	uint32_t id;
	int result;

	if (!number_parse(id_text, 0, ELAN_ID_MAX, &id))
		return error_set(ret_error, -EINVAL,
				 "line %u: '%.80s' is no ElanID, 0 to %d",
				 lines->number, id_text, ELAN_ID_MAX);
	result = elan_hosts_add(hosts, name, (enum elan_host_kind)kind, id,
				&error);
	return result == 0 ? 0
			   : error_set(ret_error, result, "line %u: %s",
				       lines->number, error.text);
}

static int line_take(const struct elan3_lines *lines, struct elan_hosts *hosts,
		     struct fairlead_error *ret_error)
{
	_auto_(hostlist_destroyp) struct hostlist *ids = NULL;
	_auto_(hostlist_destroyp) struct hostlist *names = NULL;
	int kind, result;

	if (lines->word_count == 0)
		return 0;
	if (lines->word_count != 3)
		return error_set(ret_error, -EINVAL,
				 "line %u: has to be a kind, ElanIDs and names",
				 lines->number);
	kind = kind_read(lines, ret_error);
	if (kind < 0)
		return kind;
	result = list_read(lines, lines->words[1], &ids, ret_error);
	if (result == 0)
		result = list_read(lines, lines->words[2], &names, ret_error);
	if (result < 0)
		return result;
	if (ids->count != names->count)
		return error_set(ret_error, -EINVAL,
				 "line %u: has %zu ElanIDs and %zu names",
				 lines->number, ids->count, names->count);
	for (size_t i = 0; i < ids->count && result == 0; i++)
		result = host_add(lines, names->names[i], kind, ids->names[i],
				  hosts, ret_error);
	return result;
}

int elanhosts_parse(const char *text, size_t size,
		    struct elan_hosts **ret_hosts,
		    struct fairlead_error *ret_error)
{
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts =
		elan_hosts_create();
	struct elan3_lines lines;
	int result;

	if (size > ELAN_HOSTS_FILE_MAX)
		return error_set(ret_error, -E2BIG,
				 "the file has more than %d bytes",
				 ELAN_HOSTS_FILE_MAX);
	lines_begin(&lines, text, size);
	while ((result = lines_next(&lines, ret_error)) > 0) {
		result = line_take(&lines, hosts, ret_error);
		if (result < 0)
			break;
	}
	lines_end(&lines);
	if (result == 0)
		*ret_hosts = take_ptr(hosts);
	return result;
}
