/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `fairlead-softnic [OPTION...]` runs the daemon, `fairlead-softnic ctl
 * [--dir DIR] COMMAND...` sends it a control command.
 */
#include "emu/cxi/daemon/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/daemon_options.h"

enum {
	OPTION_CLEANUP_MS = 1,
	OPTION_DEFAULT_SERVICE,
	OPTION_DIR,
	OPTION_GENERATION,
	OPTION_NICS,
	OPTION_NID,
	OPTION_OWNER_IS_ROOT,
	OPTION_READY_FD,
	OPTION_TOTAL,
};

static const struct option option_table[] = {
	{ "cleanup-ms", required_argument, NULL, OPTION_CLEANUP_MS },
	{ "default-service", required_argument, NULL, OPTION_DEFAULT_SERVICE },
	{ "dir", required_argument, NULL, OPTION_DIR },
	{ "generation", required_argument, NULL, OPTION_GENERATION },
	{ "nics", required_argument, NULL, OPTION_NICS },
	{ "nid", required_argument, NULL, OPTION_NID },
	{ "owner-is-root", no_argument, NULL, OPTION_OWNER_IS_ROOT },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	{ "total", required_argument, NULL, OPTION_TOTAL },
	DAEMON_OPTIONS_COMMON,
	{ 0 },
};

static const char usage[] =
	"usage: fairlead-softnic [OPTION...]\n"
	"       fairlead-softnic ctl [--dir DIR] COMMAND...\n"
	"\n"
	"  --dir DIR                   folder of the socket\n"
	"  --nics N                    NICs of the node\n"
	"  --generation 12|13|14       of the driver\n"
	"  --default-service on|off    state of service 1 at the start\n"
	"  --cleanup-ms T              time for which a freed LNI stays\n"
	"  --total TYPE=N              amount of a resource of a NIC, such as "
	"LE=1000\n"
	"  --nid N                     address of the first NIC\n"
	"  --owner-is-root             treat this uid as root\n"
	"  --ready-fd N                write a byte there when ready\n"
	"  --help, --version\n"
	"\n"
	"commands of ctl:\n"
	"  fault errno=NAME op=OP [nth=N] [count=K] [nic=N]\n"
	"  clear\n"
	"  busy svc=ID nic=N ms=T|forever|release\n"
	"  use svc=ID nic=N type=TYPE count=N\n"
	"  remove nic=N | restore nic=N\n"
	"  reboot\n"
	"  dump\n";

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
	    daemon_options_number(value + 1, 0, UINT16_MAX, &number) < 0)
		return -EINVAL;
	config->totals[type] = (uint16_t)number;
	return 0;
}

static int take(void *ctx, int id, const char *value)
{
	struct softnic_options *options = ctx;
	struct softnic_config *config = &options->config;
	uint64_t number = 0;
	int result;

	switch (id) {
	case OPTION_CLEANUP_MS:
		return daemon_options_number(value, 0, INT64_MAX,
					     &config->cleanup_ms);
	case OPTION_DEFAULT_SERVICE:
		return parse_switch(value, &config->default_service);
	case OPTION_DIR:
		options->dir = value;
		return 0;
	case OPTION_GENERATION:
		result = daemon_options_number(value, 12, 14, &number);
		config->generation = (unsigned int)number;
		return result;
	case OPTION_NICS:
		result = daemon_options_number(value, 1, SOFTNIC_NIC_MAX,
					       &number);
		config->nic_count = (unsigned int)number;
		return result;
	case OPTION_NID:
		result = daemon_options_number(value, 0, SOFTNIC_NID_MAX,
					       &number);
		config->nid = (uint32_t)number;
		return result;
	case OPTION_OWNER_IS_ROOT:
		options->owner_is_root = true;
		return 0;
	case OPTION_READY_FD:
		return daemon_options_fd(value, &options->ready_fd);
	case OPTION_TOTAL:
		return parse_total(value, config);
	}
	return -EINVAL;
}

static const struct daemon_options_table table = { "fairlead-softnic", usage,
						   option_table, take };

int softnic_options_read(int argc, char **argv,
			 struct softnic_options *ret_options,
			 int *ret_exit_code)
{
	*ret_options = (struct softnic_options){
		.dir = WIRE_DIR_DEFAULT,
		.ready_fd = -1,
	};
	softnic_config_init(&ret_options->config);
	ret_options->config.ethernet_uid = geteuid();
	return daemon_options_read_ctl(&table, argc, argv, ret_options,
				       ret_options->command,
				       sizeof(ret_options->command),
				       ret_exit_code);
}
