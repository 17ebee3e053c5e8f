/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/fm/daemon/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sys/daemon_options.h"

#define ADDRESS_COUNT_DEFAULT 4086 /* what fabric managers leave to jobs */
#define TOKEN_LIFE_DEFAULT_S  3600

enum {
	OPTION_ADDRESSES = 1,
	OPTION_DIR,
	OPTION_DUPLICATE,
	OPTION_FOREIGN_CA,
	OPTION_LISTEN,
	OPTION_NAME,
	OPTION_PLAIN,
	OPTION_PREFIX,
	OPTION_READY_FD,
	OPTION_STATE,
	OPTION_TOKEN_LIFE,
	OPTION_TOKEN_MAY,
};

static const struct option option_table[] = {
	{ "addresses", required_argument, NULL, OPTION_ADDRESSES },
	{ "dir", required_argument, NULL, OPTION_DIR },
	{ "duplicate", required_argument, NULL, OPTION_DUPLICATE },
	{ "foreign-ca", no_argument, NULL, OPTION_FOREIGN_CA },
	{ "listen", required_argument, NULL, OPTION_LISTEN },
	{ "name", required_argument, NULL, OPTION_NAME },
	{ "plain", no_argument, NULL, OPTION_PLAIN },
	{ "prefix", required_argument, NULL, OPTION_PREFIX },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	{ "state", required_argument, NULL, OPTION_STATE },
	{ "token-life", required_argument, NULL, OPTION_TOKEN_LIFE },
	{ "token-may", required_argument, NULL, OPTION_TOKEN_MAY },
	DAEMON_OPTIONS_COMMON,
	{ 0 },
};

static const char usage[] =
	"usage: fairlead-softfm [OPTION...]\n"
	"       fairlead-softfm ctl [--dir DIR] COMMAND...\n"
	"\n"
	"  --dir DIR                  folder of the certificates, credentials "
	"and socket\n"
	"  --listen ADDRESS:PORT      where to serve (127.0.0.1:0: any port)\n"
	"  --name NAME                a further name in the certificate\n"
	"  --prefix PATH              before all paths, as "
	"/apis/fabric-manager\n"
	"  --state FILE               keep jobs and trees there\n"
	"  --addresses N              multicast addresses, 1 to 8192\n"
	"  --token-life S             seconds until an access token expires\n"
	"  --duplicate refused|same   answer to a job that exists\n"
	"  --token-may none|get|patch|get,patch\n"
	"                             what session tokens may do to their job\n"
	"  --plain                    HTTP without TLS\n"
	"  --foreign-ca               a certificate that DIR/ca.pem does not "
	"verify\n"
	"  --ready-fd N               write a byte there when ready\n"
	"  --help, --version\n"
	"\n"
	"commands of ctl:\n"
	"  fault op=OP [status=N] [code=N] [delay=MS|forever] "
	"[lost=before|after]\n"
	"        [cut=yes] [nth=N] [count=N]\n"
	"  clear\n"
	"  expire\n"
	"  vanish job=ID\n"
	"  dump\n";

static int parse_duplicate(const char *text, enum softfm_duplicate *ret)
{
	if (strcmp(text, "refused") != 0 && strcmp(text, "same") != 0)
		return -EINVAL;
	*ret = strcmp(text, "same") == 0 ? SOFTFM_DUPLICATE_SAME
					 : SOFTFM_DUPLICATE_REFUSED;
	return 0;
}

static int parse_token_may(const char *text, struct softfm_config *config)
{
	config->token_may_get = strncmp(text, "get", 3) == 0;
	config->token_may_patch =
		strcmp(text, "patch") == 0 || strcmp(text, "get,patch") == 0;
	return config->token_may_patch || strcmp(text, "get") == 0 ||
			       strcmp(text, "none") == 0
		       ? 0
		       : -EINVAL;
}

static int take(void *ctx, int id, const char *value)
{
	struct softfm_options *options = ctx;
	struct softfm_config *config = &options->config;
	uint64_t number = 0;
	int result;

	switch (id) {
	case OPTION_ADDRESSES:
		result = daemon_options_number(value, 1, SOFTFM_ADDRESSES,
					       &number);
		config->address_count = (uint32_t)number;
		return result;
	case OPTION_DIR:
		options->dir = value;
		return 0;
	case OPTION_DUPLICATE:
		return parse_duplicate(value, &config->duplicate);
	case OPTION_FOREIGN_CA:
		options->has_foreign_ca = true;
		return 0;
	case OPTION_LISTEN:
		options->listen = value;
		return 0;
	case OPTION_NAME:
		options->name = value;
		return 0;
	case OPTION_PLAIN:
		options->is_plain = true;
		return 0;
	case OPTION_PREFIX:
		config->prefix = value;
		return value[0] == '\0' || (value[0] == '/' &&
					    value[strlen(value) - 1] != '/')
			       ? 0
			       : -EINVAL;
	case OPTION_READY_FD:
		return daemon_options_fd(value, &options->ready_fd);
	case OPTION_STATE:
		options->state = value;
		return 0;
	case OPTION_TOKEN_LIFE:
		result = daemon_options_number(value, 1, UINT32_MAX, &number);
		config->token_life_s = (uint32_t)number;
		return result;
	case OPTION_TOKEN_MAY:
		return parse_token_may(value, config);
	}
	return -EINVAL;
}

static const struct daemon_options_table table = { "fairlead-softfm", usage,
						   option_table, take };

int softfm_options_read(int argc, char **argv,
			struct softfm_options *ret_options, int *ret_exit_code)
{
	*ret_options = (struct softfm_options){
		.dir = SOFTFM_DIR_DEFAULT,
		.listen = "127.0.0.1:0",
		.ready_fd = -1,
		.config = {
			.prefix = "",
			.address_count = ADDRESS_COUNT_DEFAULT,
			.token_life_s = TOKEN_LIFE_DEFAULT_S,
			.token_may_get = true,
			.token_may_patch = true,
		},
	};
	return daemon_options_read_ctl(&table, argc, argv, ret_options,
				       ret_options->command,
				       sizeof(ret_options->command),
				       ret_exit_code);
}
