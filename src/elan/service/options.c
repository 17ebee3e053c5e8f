/* SPDX-License-Identifier: BSD-3-Clause */
/* `fairlead-rms [OPTION...]` runs the daemon. */
#include "elan/service/options.h"

#include <errno.h>
#include <string.h>

#include "base/idset.h"
#include "elan/wire/wire.h"
#include "sys/daemon_options.h"

enum {
	OPTION_ADAPTER = 1,
	OPTION_DIR,
	OPTION_KEEPER,
	OPTION_RAILS,
	OPTION_READY_FD,
};

static const struct option option_table[] = {
	{ "adapter", required_argument, NULL, OPTION_ADAPTER },
	{ "dir", required_argument, NULL, OPTION_DIR },
	{ "keeper", required_argument, NULL, OPTION_KEEPER },
	{ "rails", required_argument, NULL, OPTION_RAILS },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	DAEMON_OPTIONS_COMMON,
	{ 0 },
};

static const char usage[] =
	"usage: fairlead-rms [OPTION...]\n"
	"\n"
	"  --adapter ADDRESS[:PORT]    where other nodes reach this one\n"
	"  --dir DIR                   where socket and state are\n"
	"  --keeper auto|group|search  how processes are kept in programs\n"
	"  --rails SET                 rails that the node has, as 0-1\n"
	"  --ready-fd N                write a byte there when ready\n"
	"  --help\n"
	"  --version\n";

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

static int parse_rails(const char *text, struct rms_options *options)
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

static int take(void *ctx, int id, const char *value)
{
	struct rms_options *options = ctx;

	switch (id) {
	case OPTION_ADAPTER:
		options->adapter = *value != '\0' ? value : NULL;
		return 0;
	case OPTION_DIR:
		options->dir = value;
		return 0;
	case OPTION_KEEPER:
		return parse_keeper(value, &options->mode);
	case OPTION_RAILS:
		return parse_rails(value, options);
	case OPTION_READY_FD:
		return daemon_options_fd(value, &options->ready_fd);
	}
	return -EINVAL;
}

int rms_options_read(int argc, char **argv, struct rms_options *ret_options,
		     int *ret_exit_code)
{
	static const struct daemon_options_table table = { "fairlead-rms",
							   usage, option_table,
							   take };
	int next;

	*ret_options = (struct rms_options){
		.dir = RMS_DIR_DEFAULT,
		.ready_fd = -1,
	};
	next = daemon_options_read(&table, argc, argv, ret_options,
				   ret_exit_code);
	if (next >= 0 && next < argc)
		return daemon_options_fail(&table, ret_exit_code,
					   "'%s' is not expected", argv[next]);
	return next < 0 ? next : 0;
}
