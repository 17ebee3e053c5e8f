/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VNI 0 is no VNI, and 1 and 10 are the default service's, which any user may
 * have: a pool with one of them would hand out a lane that is no lane.
 */
#include "lanes/driver/slingshot/settings.h"

#include "lanes/driver/common/words.h"

#define AT(member) offsetof(struct slingshot_settings, member)
#define NODE       FAIRLEAD_SETTING_RESTART_NODE

static const char *pool_flaw(const struct idset *pool)
{
	if (idset_has(pool, 1))
		return "has VNI 1, which is the default service's";
	if (idset_has(pool, 10))
		return "has VNI 10, which is the default service's";
	return NULL;
}

const struct vnis slingshot_vnis = {
	.limit = 65536,
	.range = "2-9,11-65535",
	.flaw = pool_flaw,
};

static int pool_check(const char *text, struct fairlead_error *ret_error)
{
	return vnis_check(&slingshot_vnis, text, NULL, ret_error);
}

static int tcs_parse(const struct fairlead_setting_spec *spec, const char *text,
		     void *ret_value, struct fairlead_error *ret_error)
{
	uint32_t ignored;

	return words_parse(&words_traffic_classes, text, ',', ret_value,
			   &ignored, ret_error);
}

static const struct fairlead_setting_type type_pool = { "IDSET", pool_check };
static const struct fairlead_setting_type type_tcs = { "NAMES", NULL,
						       tcs_parse };

/* The manual has them in a table. */
#define RESOURCE(name, type)                                                   \
	{ "max_" name, &settings_number, AT(policy.max[type]), NULL, 0, NULL,  \
	  0,           UINT16_MAX },                                           \
	{                                                                      \
		"per_core_" name, &settings_number, AT(policy.per_core[type]), \
			NULL, 0, NULL, 0, UINT16_MAX                           \
	}

static const struct fairlead_setting_spec specs[] = {
	VNIS_SETTINGS(type_pool, "1024-65535",
		      "VNIs of jobs, within 2-9,11-65535: VNI 0 is invalid, 1 "
		      "and 10 belong to the default service.",
		      SLINGSHOT_VNIS_MAX),
	{ "traffic_classes", &type_tcs, AT(policy.tcs),
	  "LOW_LATENCY,BEST_EFFORT", 0,
	  "Classes that jobs may request. *ETH* belongs to the Ethernet stack "
	  "and is refused." },
	RESOURCE("ptes", CXI_RSRC_TYPE_PTE),
	RESOURCE("txqs", CXI_RSRC_TYPE_TXQ),
	RESOURCE("tgqs", CXI_RSRC_TYPE_TGQ),
	RESOURCE("eqs", CXI_RSRC_TYPE_EQ),
	RESOURCE("cts", CXI_RSRC_TYPE_CT),
	RESOURCE("les", CXI_RSRC_TYPE_LE),
	RESOURCE("tles", CXI_RSRC_TYPE_TLE),
	RESOURCE("acs", CXI_RSRC_TYPE_AC),
	{ "library", &settings_file, AT(library), "/usr/lib64/libcxi.so.1",
	  NODE,
	  "The vendor's library. The file and every folder "
	  "above it belong to root and are writable by nobody else." },
	{ "emulation", &settings_bool, AT(is_emulation), "false", NODE,
	  "*true* allows the library of the software NIC, on which lanes "
	  "protect nothing, and a library that is not root's." },
	{ "device_path", &settings_folder, AT(device_path), "/dev", NODE,
	  "Where cxi0, cxi1, ... are, to find the processes that hold a busy "
	  "service." },
	{ "require_devices", &settings_bool, AT(requires_devices), "true", NODE,
	  "*true*: a job with a node that has no NIC fails. *false*: such a "
	  "node gets no lane, with a warning, and the job's variables are "
	  "unset there." },
	{ NULL },
};

const struct fairlead_settings slingshot_settings = {
	specs, sizeof(struct slingshot_settings)
};

int slingshot_settings_read(const struct fairlead_setting *list, size_t count,
			    struct slingshot_settings *ret_settings,
			    struct fairlead_error *ret_error)
{
	struct settings_errors errors = { 0 };
	const struct settings settings = { list, count, &errors };
	struct slingshot_settings values = {
		.policy = slingshot_policy_default,
	};
	int result;

	settings_read(&settings, &slingshot_settings, &values);
	result = settings_finish(&errors, ret_error);
	if (result == 0)
		*ret_settings = values;
	return result;
}
