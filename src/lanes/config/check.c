/* SPDX-License-Identifier: BSD-3-Clause */
/* What is checked here needs no file and no other setting. */
#include "lanes/config/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "base/hostlist.h"

#define NAME_CHARACTERS                                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
	"0123456789_-"
#define NAME_MAX_BYTES      64
#define SUBMITTER_MAX_BYTES 32
#define NUMBER_DIGITS_MAX   10

static bool is_name(const char *value, const char *characters, size_t most)
{
	size_t size = strlen(value);

	return size > 0 && size <= most && strspn(value, characters) == size;
}

static void check_nodes(const char *key, const char *value, unsigned int line,
			struct report *report)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	struct fairlead_error error;
	int duplicate;

	if (hostlist_parse(value, &list, &error) < 0) {
		report_add(report, line, "%s: %s", key, error.text);
		return;
	}
	duplicate = hostlist_duplicate(list);
	if (duplicate >= 0)
		report_add(report, line, "%s: '%s' is there twice", key,
			   list->names[duplicate]);
	else if (duplicate != -ENOENT)
		report_add(report, line, "%s: out of memory", key);
}

static void check_node_name(const char *key, const char *value,
			    unsigned int line, struct report *report)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;

	if (hostlist_parse(value, &list, NULL) < 0 || list->count != 1 ||
	    strcmp(list->names[0], value) != 0)
		report_add(report, line, "%s: '%s' is not the name of a node",
			   key, value);
}

static void check_address(const char *key, const char *value, bool is_numeric,
			  unsigned int line, struct report *report)
{
	struct fairlead_error error;
	struct address address;
	struct in6_addr numeric;

	if (address_parse(value, &address, &error) < 0)
		report_add(report, line, "%s: %s", key, error.text);
	else if (is_numeric &&
		 inet_pton(AF_INET, address.host, &numeric) != 1 &&
		 inet_pton(AF_INET6, address.host, &numeric) != 1)
		report_add(report, line,
			   "%s: '%s' is not numeric; use 0.0.0.0 or [::] to "
			   "listen everywhere",
			   key, value);
}

static void check_place(const char *key, const char *value, unsigned int line,
			struct report *report)
{
	struct fairlead_error error;
	struct address address;

	if (address_parse_listen(value, &address, &error) < 0)
		report_add(report, line, "%s: %s", key, error.text);
}

static bool may_be_empty(enum check_kind kind)
{
	return kind == CHECK_NODE_NAME || kind == CHECK_NODES ||
	       kind == CHECK_PATH_OR_NONE || kind == CHECK_ADDRESS_OR_NONE ||
	       kind == CHECK_LISTEN_OR_NONE || kind == CHECK_PLACE_OR_NONE ||
	       kind == CHECK_MANAGER_OR_NONE;
}

void check_text(enum check_kind kind, const char *key, const char *value,
		unsigned int line, struct report *report)
{
	if (*value == 0) {
		if (!may_be_empty(kind))
			report_add(report, line, "%s: must not be empty", key);
		return;
	}
	switch (kind) {
	case CHECK_NAME:
		if (!is_name(value, NAME_CHARACTERS ".", NAME_MAX_BYTES))
			report_add(report, line,
				   "%s: '%s': 1 to %d of letters, digits, '.', "
				   "'_' and '-'",
				   key, value, NAME_MAX_BYTES);
		break;
	case CHECK_NODE_NAME:
		check_node_name(key, value, line, report);
		break;
	case CHECK_NODES:
		check_nodes(key, value, line, report);
		break;
	case CHECK_PATH:
	case CHECK_PATH_OR_NONE:
		if (*value != '/')
			report_add(report, line,
				   "%s: '%s' is not an absolute path", key,
				   value);
		break;
	case CHECK_ADDRESS:
	case CHECK_ADDRESS_OR_NONE:
		check_address(key, value, false, line, report);
		break;
	case CHECK_LISTEN:
	case CHECK_LISTEN_OR_NONE:
		check_address(key, value, true, line, report);
		break;
	case CHECK_PLACE_OR_NONE:
		check_place(key, value, line, report);
		break;
	case CHECK_PROVIDER:
		if (!is_name(value, NAME_CHARACTERS ";", NAME_MAX_BYTES))
			report_add(report, line,
				   "%s: '%s' is not the name of a provider, "
				   "such as tcp;ofi_rxm",
				   key, value);
		break;
	case CHECK_SUBMITTER:
		check_submitter_name(value, line, report);
		break;
	case CHECK_MANAGER_OR_NONE:
		if (*value != '/' && strncmp(value, "tcp://", 6) != 0)
			report_add(report, line,
				   "%s: '%s' is neither an absolute path nor "
				   "tcp://[USER@]HOST:PORT",
				   key, value);
		break;
	case CHECK_USER:
	case CHECK_DRIVER:
		break;
	}
}

static bool parse_number(const char *value, uint64_t *ret_number)
{
	size_t size = strlen(value);

	if (size == 0 || size > NUMBER_DIGITS_MAX ||
	    strspn(value, "0123456789") != size)
		return false;
	*ret_number = strtoull(value, NULL, 10);
	return true;
}

uint32_t check_seconds(const char *key, const char *value, uint32_t max,
		       unsigned int line, struct report *report)
{
	uint64_t seconds;

	if (!parse_number(value, &seconds) || seconds < 1 || seconds > max) {
		report_add(report, line,
			   "%s: '%s' is not a number of seconds from 1 to %u",
			   key, value, max);
		return 0;
	}
	return (uint32_t)seconds * 1000;
}

bool check_number(const char *key, const char *value, uint32_t *ret_number,
		  unsigned int line, struct report *report)
{
	uint64_t number;

	if (!parse_number(value, &number) || number >= UINT32_MAX) {
		report_add(report, line,
			   "%s: '%s' is not a number from 0 to %u", key, value,
			   UINT32_MAX - 1);
		return false;
	}
	*ret_number = (uint32_t)number;
	return true;
}

bool check_submitter_name(const char *name, unsigned int line,
			  struct report *report)
{
	if (is_name(name, NAME_CHARACTERS, SUBMITTER_MAX_BYTES))
		return true;
	report_add(report, line,
		   "submitter '%s': a name has 1 to %d letters, digits, '_' "
		   "and '-'",
		   name, SUBMITTER_MAX_BYTES);
	return false;
}

/* Of settings that stand there twice, which is reported anyway, the first. */
static size_t take_first(const struct fairlead_setting *settings, size_t count,
			 struct fairlead_setting *firsts)
{
	size_t first_count = 0;

	for (size_t i = 0; i < count; i++) {
		size_t j = 0;

		while (strcmp(settings[j].name, settings[i].name) != 0)
			j++;
		if (j == i)
			firsts[first_count++] = settings[i];
	}
	return first_count;
}

int check_driver(const struct fairlead_driver *driver,
		 const struct fairlead_setting *settings, size_t count,
		 struct report *report)
{
	_auto_(freep) struct fairlead_setting *firsts =
		calloc(count + 1, sizeof(*firsts));
	struct fairlead_error error = { 0 };
	void *state = NULL;
	char *rest = NULL;
	int result;

	if (firsts == NULL)
		return -ENOMEM;
	count = take_first(settings, count, firsts);
	result = driver->manager->configure(firsts, count, &state, &error);
	if (result == 0)
		driver->manager->destroy(state);
	if (result == 0 || result == -ENOMEM)
		return result;
	/* One error a line, "line 12: 'vni_pool': .." where it has a line. */
	for (char *text = strtok_r(error.text, "\n", &rest); text != NULL;
	     text = strtok_r(NULL, "\n", &rest)) {
		unsigned int line = 0;
		int size = 0;

		if (sscanf(text, "line %u: %n", &line, &size) < 1)
			line = 0;
		report_add(report, line, "%s", text + size);
	}
	return 0;
}
