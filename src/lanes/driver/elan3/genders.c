/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/elan3/genders.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/driver/common/options.h"
#include "lanes/driver/elan3/lines.h"

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

static int line_take(struct elan3_lines *lines, void *arg,
		     struct elan_hosts *hosts, struct fairlead_error *ret_error)
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
	return elan3_lines_read(text, size, line_take, (void *)attribute,
				ret_hosts, ret_error);
}
