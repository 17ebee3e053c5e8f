/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `fairlead-softnic [OPTION...]` runs the daemon, `fairlead-softnic ctl
 * [--dir DIR] COMMAND...` sends it a control command.
 */
#include "emu/cxi/daemon/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum option_id {
	OPTION_CLEANUP_MS = 1,
	OPTION_DEFAULT_SERVICE,
	OPTION_DIR,
	OPTION_ETHERNET_SERVICE,
	OPTION_GENERATION,
	OPTION_HELP,
	OPTION_NICS,
	OPTION_NID,
	OPTION_OWNER_IS_ROOT,
	OPTION_READY_FD,
	OPTION_TOTAL,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{ "cleanup-ms", required_argument, NULL, OPTION_CLEANUP_MS },
	{ "default-service", required_argument, NULL, OPTION_DEFAULT_SERVICE },
	{ "dir", required_argument, NULL, OPTION_DIR },
	{ "ethernet-service", required_argument, NULL,
	  OPTION_ETHERNET_SERVICE },
	{ "generation", required_argument, NULL, OPTION_GENERATION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "nics", required_argument, NULL, OPTION_NICS },
	{ "nid", required_argument, NULL, OPTION_NID },
	{ "owner-is-root", no_argument, NULL, OPTION_OWNER_IS_ROOT },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	{ "total", required_argument, NULL, OPTION_TOTAL },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ 0 },
};

const char *options_usage(void)
{
	return "usage: fairlead-softnic [OPTION...]\n"
	       "       fairlead-softnic ctl [--dir DIR] COMMAND...\n"
	       "\n"
	       "  --dir DIR                   where the socket is\n"
	       "  --nics N                    NICs of the node\n"
	       "  --generation 12|13|14       of the driver\n"
	       "  --default-service on|off    is service 1 enabled\n"
	       "  --ethernet-service on|off   does ethernet-svc exist\n"
	       "  --cleanup-ms T              how long a freed LNI lingers\n"
	       "  --total TYPE=N              what a NIC has, such as LE=1000\n"
	       "  --nid N                     address of the first NIC\n"
	       "  --owner-is-root             my uid counts as root\n"
	       "  --ready-fd N                write a byte there when ready\n"
	       "  --help, --version\n"
	       "\n"
	       "commands of ctl:\n"
	       "  fault errno=NAME op=OP [nth=N] [count=K] [nic=N]\n"
	       "  faults | clear\n"
	       "  busy svc=ID nic=N ms=T|forever|release\n"
	       "  use svc=ID nic=N type=TYPE count=N\n"
	       "  remove nic=N | restore nic=N\n"
	       "  reboot\n"
	       "  dump\n";
}

static int parse_number(const char *text, uint64_t max, uint64_t *ret_number)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' ||
	    number > max)
		return -EINVAL;
	*ret_number = number;
	return 0;
}

static int parse_switch(const char *text, bool *ret_on)
{
	if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
		return -EINVAL;
	*ret_on = strcmp(text, "on") == 0;
	return 0;
}

static int parse_total(const char *text, struct softnic_config *config)
{
	const char *value = strchr(text, '=');
	enum cxi_rsrc_type type;
	char name[8];
	uint64_t number;

	if (value == NULL || (size_t)(value - text) >= sizeof(name))
		return -EINVAL;
	memcpy(name, text, (size_t)(value - text));
	name[value - text] = '\0';
	if (softnic_type_parse(name, &type) < 0 ||
	    parse_number(value + 1, UINT16_MAX, &number) < 0)
		return -EINVAL;
	config->totals[type] = (uint16_t)number;
	return 0;
}

static int parse_option(struct options *options, int id, const char *value)
{
	struct softnic_config *config = &options->server.config;
	uint64_t number = 0;
	int result = 0;

	switch (id) {
	case OPTION_CLEANUP_MS:
		return parse_number(value, INT64_MAX, &config->cleanup_ms);
	case OPTION_DEFAULT_SERVICE:
		return parse_switch(value, &config->default_service);
	case OPTION_DIR:
		options->dir = value;
		return 0;
	case OPTION_ETHERNET_SERVICE:
		return parse_switch(value, &config->ethernet_service);
	case OPTION_GENERATION:
		result = parse_number(value, 14, &number);
		config->generation = (unsigned int)number;
		return number < 12 ? -EINVAL : result;
	case OPTION_HELP:
		options->shows_help = true;
		return 0;
	case OPTION_NICS:
		result = parse_number(value, SOFTNIC_NIC_MAX, &number);
		config->nic_count = (unsigned int)number;
		return number < 1 ? -EINVAL : result;
	case OPTION_NID:
		result = parse_number(value, SOFTNIC_NID_MAX, &number);
		config->nid = (uint32_t)number;
		return result;
	case OPTION_OWNER_IS_ROOT:
		options->server.owner_is_root = true;
		return 0;
	case OPTION_READY_FD:
		result = parse_number(value, INT32_MAX, &number);
		options->server.ready_fd = (int)number;
		return result;
	case OPTION_TOTAL:
		return parse_total(value, config);
	case OPTION_VERSION:
		options->shows_version = true;
		return 0;
	}
	return -EINVAL;
}

static int collect_command(struct options *options, int count, char **words,
			   struct fairlead_error *ret_error)
{
	size_t size = 0;

	if (count == 0)
		return error_set(ret_error, -EINVAL, "'ctl' needs a command");
	for (int i = 0; i < count; i++) {
		size_t length = strlen(words[i]);

		if (size + length + 1 > WIRE_TEXT_MAX)
			return error_set(ret_error, -EINVAL,
					 "the command is too long");
		if (i > 0)
			options->command_text[size++] = ' ';
		memcpy(options->command_text + size, words[i], length);
		size += length;
	}
	options->command_text[size] = '\0';
	options->command = options->command_text;
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret_options,
		  struct fairlead_error *ret_error)
{
	bool is_ctl = argc > 1 && strcmp(argv[1], "ctl") == 0;
	struct options options = {
		.dir = WIRE_DIR_DEFAULT,
		.server.ready_fd = -1,
	};
	bool is_run;
	int result = 0;
	int index = 0;
	int id;

	softnic_config_init(&options.server.config);
	options.server.config.ethernet_uid = geteuid();
	argc -= is_ctl;
	argv += is_ctl;
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
	is_run = !options.shows_help && !options.shows_version;
	if (is_run && is_ctl)
		result = collect_command(&options, argc - optind, argv + optind,
					 ret_error);
	else if (is_run && optind < argc)
		result = error_set(ret_error, -EINVAL, "'%s' is not expected",
				   argv[optind]);
	if (result < 0)
		return result;
	*ret_options = options;
	if (options.command != NULL) /* it points into the options */
		ret_options->command = ret_options->command_text;
	return 0;
}
