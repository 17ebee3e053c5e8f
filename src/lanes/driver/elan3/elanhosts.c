/* SPDX-License-Identifier: BSD-3-Clause */
/* ElanIDs are written as host lists of bare numbers are: "[0-3,8]" or "7". */
#include "lanes/driver/elan3/elanhosts.h"

#include <string.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/driver/common/options.h"
#include "lanes/driver/elan3/lines.h"

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

static int line_take(struct elan3_lines *lines, void *arg,
		     struct elan_hosts *hosts, struct fairlead_error *ret_error)
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
	return elan3_lines_read(text, size, line_take, NULL, ret_hosts,
				ret_error);
}
