/* SPDX-License-Identifier: BSD-3-Clause */
#include "bed_elan3.h"

#include <string.h>

#include "lanes/driver/driver.h"
#include "lanes/driver/elan3/elan3.h"
#include "lanes/driver/elan3/place.h"
#include "lanes/driver/elan3/settings.h"

static const char *const no_variables[] = { NULL };

const struct fairlead_driver bed_elan3 = {
	.abi = FAIRLEAD_DRIVER_ABI,
	.name = ELAN3_NAME,
	.description = "the manager half of elan3",
	.settings = &elan3_settings,
	.variables = no_variables,
	.manager = &elan3_manager_ops,
};

void bed_elan3_start(struct bed *bed)
{
	static const struct fairlead_setting vnis[] = {
		{ .name = "vni_pool", .value = "1024-1033", .line = 1 },
	};
	static const struct fairlead_setting hosts[] = {
		{ .name = "genders",
		  .value = "/etc/genders",
		  .line = 1,
		  .content = BED_ELAN3_HOSTS,
		  .content_size = sizeof(BED_ELAN3_HOSTS) - 1 },
	};
	static struct core_driver_config drivers[3];

	drivers[0].driver = driver_find("none");
	drivers[1].driver = driver_find("slingshot");
	drivers[1].settings = vnis;
	drivers[1].setting_count = 1;
	drivers[2].driver = &bed_elan3;
	drivers[2].settings = hosts;
	drivers[2].setting_count = 1;
	bed_crash(bed);
	bed->config.core.drivers = drivers;
	bed->config.core.driver_count = 3;
	bed_start(bed, bed->epoch + 1, false);
}

void bed_elan3_node_up(struct bed *bed, const char *name, uint32_t id,
		       struct bed_node *ret_node)
{
	struct elan3_place place = { .rail_count = 1,
				     .rails = { { ELAN3_PORT_UP, id } } };
	struct registration_driver driver = { .name = ELAN3_NAME,
					      .is_usable = true };

	elan3_place_encode(&place, &driver.place);
	bed_node_connect(bed, name, ret_node);
	ret_node->registration.drivers = &driver;
	ret_node->registration.driver_count = 1;
	bed_node_register(ret_node);
	ret_node->registration.drivers = NULL;
	ret_node->registration.driver_count = 0;
}

json_t *bed_elan3_reserve(struct bed *bed, uint64_t client, const char *key,
			  const char *interconnect, const char *options)
{
	bed_ask(bed, client, "reserve",
		"{s:{s:s, s:i, s:i, s:s, s:s, s:i, s:s}}", "request", "key",
		key, "uid", BED_USER, "gid", BED_USER, "nodes", "n[3-4]",
		"interconnect", interconnect, "tasks", 2, "options", options);
	bed_commit(bed);
	return bed_expect(bed, client, 0);
}
