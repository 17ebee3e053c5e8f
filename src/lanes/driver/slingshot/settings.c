/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of both halves, and the manager half. VNI 0 is no VNI, and 1 and
 * 10 are the default service's, which any user may have: a pool with one of
 * them would hand out a lane that is no lane.
 */
#include "lanes/driver/slingshot/policy.h"

#include <string.h>

#include "lanes/driver/common/job_path.h"
#include "lanes/driver/common/options.h"
#include "lanes/driver/slingshot/slingshot.h"

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

static int share_parse(const struct fairlead_setting_spec *spec,
		       const char *text, void *ret_value,
		       struct fairlead_error *ret_error)
{
	return slingshot_percent_parse(spec->name, text, spec->min, spec->max,
				       ret_value, ret_error);
}

static int choice_parse(const struct fairlead_setting_spec *spec,
			const char *text, void *ret_value,
			struct fairlead_error *ret_error)
{
	return slingshot_below_minimum_parse(text, ret_value, ret_error);
}

static const struct fairlead_setting_type type_share = { "PERCENT", NULL,
							 share_parse };
static const struct fairlead_setting_type type_choice = { "warn_, _refuse",
							  NULL, choice_parse };

/* Paths are appended to it. */
static int url_check(const char *text, struct fairlead_error *ret_error)
{
	size_t size = strlen(text);

	if (strncmp(text, "https://", strlen("https://")) != 0 ||
	    size <= strlen("https://") || size > 512 || text[size - 1] == '/' ||
	    strpbrk(text, " \"'?#@") != NULL)
		return error_set(ret_error, -EINVAL,
				 "it is no URL of the form "
				 "https://HOST[:PORT][/PREFIX]; a user and a "
				 "password belong to hwcoll_credentials");
	return 0;
}

static int auth_check(const char *text, struct fairlead_error *ret_error)
{
	if (strcmp(text, "oauth") != 0 && strcmp(text, "basic") != 0 &&
	    strcmp(text, "certificate") != 0)
		return error_set(ret_error, -EINVAL,
				 "'%s' is not oauth, basic or certificate",
				 text);
	return 0;
}

static int prefix_check(const char *text, struct fairlead_error *ret_error)
{
	size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	if (text[size] != '\0' || size > 64)
		return error_set(ret_error, -EINVAL,
				 "'%s' has other characters than letters, "
				 "digits and ._-, or more than 64",
				 text);
	return 0;
}

static const struct fairlead_setting_type type_url = { "URL", url_check };
static const struct fairlead_setting_type type_auth = { "NAME", auth_check };
static const struct fairlead_setting_type type_prefix = { "NAME",
							  prefix_check };

static int job_netns_check(const char *text, struct fairlead_error *ret_error)
{
	int result = settings_path.check(text, ret_error);

	return result == 0 ? job_path_check(text, ret_error) : result;
}

static const struct fairlead_setting_type type_job_netns = { "PATTERN",
							     job_netns_check };
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
	{ "keep", &type_share, AT(policy.keep), "10%", 0,
	  "Share of each NIC resource that no single job can reserve. It stays "
	  "for other jobs.",
	  0, SLINGSHOT_KEEP_MAX },
	{ "minimum", &type_share, AT(policy.minimum), "0%", 0,
	  "A job that gets less than this share of what it wanted to reserve "
	  "is below the minimum.",
	  0, 100 },
	{ "below_minimum", &type_choice, AT(policy.refuses_less), "warn", 0,
	  "*refuse*: a job that is below the minimum fails when it starts. "
	  "*warn*: it starts with a warning." },
	{ "exclusive_cp", &settings_bool, AT(allows_exclusive_cp), "false", 0,
	  "*true*: jobs may have the option *exclusive_cp*." },
	{ "hwcoll_url", &type_url, AT(hwcoll.url), "", 0,
	  "URL of the fabric manager, without the path of collectives: "
	  "_https://HOST[:PORT][/PREFIX]_. Empty: no hardware collectives." },
	{ "hwcoll_auth", &type_auth, AT(hwcoll.auth), "oauth", 0,
	  "How the manager authenticates itself: *oauth*, *basic* or "
	  "*certificate*." },
	{ "hwcoll_credentials", &settings_folder, AT(hwcoll.credentials),
	  "/etc/fairlead/fabric-manager", 0,
	  "Folder of the credentials, which only the manager's user can read: "
	  "_endpoint_, _client-id_ and _client-secret_; _passwd_ of the user "
	  "cxi; or _client.pem_ and _client-key.pem_." },
	{ "hwcoll_ca", &settings_file, AT(hwcoll.ca), "", 0,
	  "Authorities that verify the fabric manager. Empty: those of the "
	  "system." },
	{ "hwcoll_node_ca", &settings_file, AT(hwcoll.node_ca), "", 0,
	  "The same for libfabric, on nodes: a file or folder that all users "
	  "can read. Empty: programs do not verify the fabric manager." },
	{ "hwcoll_prefix", &type_prefix, AT(hwcoll.prefix), "", 0,
	  "Before the names of reservations, unique at the fabric manager. "
	  "Empty: the cluster's name." },
	{ "hwcoll_trees", &settings_number, AT(hwcoll.trees), "8", 0,
	  "Multicast trees that a job reserves, and the most that it may ask "
	  "for.",
	  1, HWCOLL_TREES_MAX },
	{ "hwcoll_addresses", &settings_number, AT(hwcoll.addresses), "4086", 0,
	  "Multicast addresses of the fabric, so trees of all jobs together. "
	  "Only *fairlead pools* uses it; the fabric manager decides.",
	  1, HWCOLL_TREES_MAX },
	{ "hwcoll_min_nodes", &settings_number, AT(hwcoll.min_nodes), "0", 0,
	  "Fewest nodes of a job that reserves without asking. 0: no job does.",
	  0, 131072 },
	{ "hwcoll_wait", &settings_seconds, AT(hwcoll.wait_ms), "2", 0,
	  "Seconds that a job waits for its reservation. Then it runs without.",
	  1, 60 },
	{ "hwcoll_timeout", &settings_seconds, AT(hwcoll.timeout_ms), "10", 0,
	  "Seconds until a request to the fabric manager fails.", 1, 600 },
	{ "hwcoll_loss_is_fatal", &settings_bool, AT(hwcoll.is_loss_fatal),
	  "true", 0,
	  "*true*: a job whose reservation vanishes gets a fatal exception. "
	  "*false*: a warning." },
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
	{ "job_netns", &type_job_netns, AT(job_netns), "", NODE,
	  "The file of a job's network namespace, for the option *netns*: a "
	  "path with *%g* (grant id) or *%j* (job id), also *%u* (owner's "
	  "uid). Default: none." },
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

/* --- the manager half: a job's options to a number of VNIs --- */

static int configure(const struct fairlead_setting *list, size_t count,
		     void **ret_state, struct fairlead_error *ret_error)
{
	struct slingshot_settings settings;
	int result = slingshot_settings_read(list, count, &settings, ret_error);

	if (result < 0)
		return result;
	*ret_state = vnis_state_create(&settings.vnis, sizeof(settings));
	return 0;
}

static size_t pools(void *data,
		    struct fairlead_pool_spec ret_specs[FAIRLEAD_POOLS_MAX])
{
	return vnis_pools(&slingshot_vnis, data, ret_specs);
}

static int reserve(void *data, const struct fairlead_driver_request *request,
		   struct fairlead_plan *ret_plan,
		   struct fairlead_error *ret_error)
{
	const struct slingshot_settings *state = data;
	struct slingshot_request asked;
	struct fairlead_plan plan = { 0 };
	int result;

	result = slingshot_request_parse(request->options, &state->policy,
					 &state->policy,
					 state->vnis.default_count, &asked,
					 ret_error);
	if (result < 0)
		return result;
	if (asked.has_exclusive_cp && !state->allows_exclusive_cp)
		return error_set(ret_error, -EINVAL,
				 "option 'exclusive_cp' is not for jobs of "
				 "this site: the setting exclusive_cp is "
				 "false");
	vnis_plan(&state->vnis, asked.vni_count, asked.is_off, &plan);
	hwcoll_plan(&state->hwcoll, request->node_count, &asked.hwcoll, &plan);
	slingshot_request_format(&asked, plan.options);
	*ret_plan = plan;
	return 0;
}

static int describe(void *data, const struct fairlead_lane *lane,
		    const char *reason, const char **ret_event_name,
		    char **ret_context)
{
	*ret_context = vnis_describe(lane, reason);
	*ret_event_name = SLINGSHOT_EVENT;
	return 0;
}

static int pack(void *data, const struct fairlead_pack *pack,
		uint8_t **ret_bytes, size_t *ret_size,
		struct fairlead_error *ret_error)
{
	const struct slingshot_settings *state = data;
	struct slingshot_request asked;
	int result = slingshot_request_parse(pack->lane->options,
					     &slingshot_policy_default,
					     &slingshot_policy_unlimited, 0,
					     &asked, ret_error);

	return result < 0
		       ? result
		       : hwcoll_pack(&state->hwcoll, pack, asked.hwcoll.trees,
				     ret_bytes, ret_size, ret_error);
}

static void outside(void *data, struct fairlead_outside *ret_outside)
{
	const struct slingshot_settings *state = data;

	hwcoll_outside(&state->hwcoll, ret_outside);
}

const struct fairlead_manager_ops slingshot_manager_ops = {
	.configure = configure,
	.destroy = vnis_state_destroy,
	.pools = pools,
	.reserve = reserve,
	.describe = describe,
	.pack = pack,
	.outside = outside,
};
