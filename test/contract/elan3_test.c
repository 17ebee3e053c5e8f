/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract suite on the manager half of elan3; it has no node half yet. */
#include "contract/contract.h"
#include "driver/elan3/elan3.h"

#define HOSTS "eip [0-15] n[0-15]\n"

static const char *const variables[] = { NULL };

static const struct fairlead_driver driver = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = ELAN3_NAME,
	.description = "the manager half of elan3",
	.settings = elan3_settings,
	.variables = variables,
	.manager = &elan3_manager_ops,
	.files = elan3_files,
};

static void start(struct contract_fixture *fixture)
{
	fixture->settings[0] = (struct fairlead_setting){
		.name = "elanhosts",
		.value = "/etc/elanhosts",
		.line = 1,
		.content = HOSTS,
		.content_size = sizeof(HOSTS) - 1,
	};
	fixture->settings[1] = (struct fairlead_setting){ .name = "rails",
							  .value = "2",
							  .line = 2 };
	fixture->setting_count = 2;
}

static void stop(struct contract_fixture *fixture)
{
}

int main(void)
{
	struct contract_fixture fixture = {
		.driver = &driver,
		.options = "rails=0:1",
		.options_none = "off",
		.options_bad = "rails=7",
		.device_count = 2,
		.owner = 1000,
		.start = start,
		.stop = stop,
	};

	return contract_run_manager(&fixture);
}
