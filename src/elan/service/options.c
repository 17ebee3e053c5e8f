/* SPDX-License-Identifier: BSD-3-Clause */
/* `fairlead-rms [OPTION...]` runs the daemon. */
#include "elan/service/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "elan/wire/wire.h"

enum option_id {
	OPTION_ADAPTER = 1,
	OPTION_DIR,
	OPTION_HELP,
	OPTION_KEEPER,
	OPTION_RAILS,
	OPTION_READY_FD,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{ "adapter", required_argument, NULL, OPTION_ADAPTER },
	{ "dir", required_argument, NULL, OPTION_DIR },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "keeper", required_argument, NULL, OPTION_KEEPER },
	{ "rails", required_argument, NULL, OPTION_RAILS },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ 0 },
};

const char *options_usage(void)
{
	return "usage: fairlead-rms [OPTION...]\n"
	       "\n"
	       "  --adapter ADDRESS[:PORT]    where other nodes reach this "
	       "one\n"
	       "  --dir DIR                   where socket and state are\n"
	       "  --keeper auto|group|search  what keeps members in\n"
	       "  --rails SET                 rails that the node has, as 0-1\n"
	       "  --ready-fd N                write a byte there when ready\n"
	       "  --help\n"
	       "  --version\n";
}

static int parse_fd(const char *text, int *ret_fd)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || number < 0 ||
	    number > INT32_MAX)
		return -EINVAL;
	*ret_fd = (int)number;
	return 0;
}

static int parse_keeper(const char *text, enum keeper_mode *ret_mode)
{
	static const char *const names[] = {
		[KEEPER_AUTO] = "auto",
		[KEEPER_GROUP] = "group",
		[KEEPER_SEARCH] = "search",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], text) == 0) {
			*ret_mode = (enum keeper_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_rails(const char *text, struct server_options *options)
{
	_auto_(idset_destroyp) struct idset *set = NULL;

	if (idset_parse(text, ELAN_MAX_RAILS, &set, NULL) < 0)
		return -EINVAL;
	options->has_rails = true;
	options->rails = 0;
	idset_foreach (rail, set)
		options->rails |= UINT32_C(1) << rail;
	return 0;
}

static int parse_option(struct options *options, int id, const char *value)
{
	switch (id) {
	case OPTION_ADAPTER:
		options->server.adapter = *value != '\0' ? value : NULL;
		return 0;
	case OPTION_DIR:
		options->dir = value;
		return 0;
	case OPTION_HELP:
		options->shows_help = true;
		return 0;
	case OPTION_KEEPER:
		return parse_keeper(value, &options->server.mode);
	case OPTION_RAILS:
		return parse_rails(value, &options->server);
	case OPTION_READY_FD:
		return parse_fd(value, &options->server.ready_fd);
	case OPTION_VERSION:
		options->shows_version = true;
		return 0;
	}
	return -EINVAL;
}

int options_parse(int argc, char **argv, struct options *ret_options,
		  struct fairlead_error *ret_error)
{
	struct options options = {
		.dir = WIRE_DIR_DEFAULT,
		.server.ready_fd = -1,
	};
	int index = 0;
	int id;

	opterr = 0;
	while ((id = getopt_long(argc, argv, "+", long_options, &index)) >= 0) {
		if (id == '?')
			return error_set(ret_error, -EINVAL,
					 "'%s' is no option, or lacks a value",
					 argv[optind - 1]);
		if (parse_option(&options, id, optarg) < 0)
			return error_set(ret_error, -EINVAL,
					 "'%s' is no value for --%s", optarg,
					 long_options[index].name);
	}
	if (optind < argc && !options.shows_help && !options.shows_version)
		return error_set(ret_error, -EINVAL, "'%s' is not expected",
				 argv[optind]);
	*ret_options = options;
	return 0;
}
