/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network that the whole machine needs for something else is refused here;
 * what only one node uses is found by that node.
 */
#include "lanes/driver/ethernet/settings.h"

#include <string.h>

#include "lanes/driver/common/job_path.h"

/* A rail has at least two networks, so that they alternate. */
#define CUT_BITS_MIN 3

#define AT(member)   offsetof(struct ethernet_settings, member)
#define NODE         FAIRLEAD_SETTING_RESTART_NODE

const struct vnis ethernet_vnis = {
	.limit = ETHERNET_VNI_LIMIT,
	.range = "1-16777215",
};

static const struct {
	struct ip_network network;
	const char *use;
} taken_ipv4[] = {
	{ { { 4, { 0 } }, 8 }, "0.0.0.0/8, which no host can have" },
	{ { { 4, { 127 } }, 8 }, "127.0.0.0/8, which is loopback" },
	{ { { 4, { 169, 254 } }, 16 }, "169.254.0.0/16, which is link-local" },
	{ { { 4, { 224 } }, 3 },
	  "224.0.0.0/3, which is multicast and reserved" },
};

static const struct ip_network unique_local = { { 6, { 0xfc } }, 7 };

/* --- types --- */

static int pool_check(const char *text, struct fairlead_error *ret_error)
{
	return vnis_check(&ethernet_vnis, text, NULL, ret_error);
}

static int classes_parse(const struct fairlead_setting_spec *spec,
			 const char *text, void *ret_value,
			 struct fairlead_error *ret_error)
{
	return ethernet_classes_parse(text, ret_value, ret_error);
}

static int isolations_parse(const struct fairlead_setting_spec *spec,
			    const char *text, void *ret_value,
			    struct fairlead_error *ret_error)
{
	return ethernet_isolations_parse(text, ret_value, ret_error);
}

static int rate_parse(const struct fairlead_setting_spec *spec,
		      const char *text, void *ret_value,
		      struct fairlead_error *ret_error)
{
	return ethernet_rate_parse(text, ret_value, ret_error);
}

static int ipv6_parse(const struct fairlead_setting_spec *spec,
		      const char *text, void *ret_value,
		      struct fairlead_error *ret_error)
{
	struct ip_network network;
	int result = ip_network_parse(text, &network, ret_error);

	if (result < 0)
		return result;
	if (network.prefix_size != 32 ||
	    !ip_network_has(&unique_local, &network.address))
		return error_set(ret_error, -EINVAL,
				 "'%s' is no /32 within fc00::/7", text);
	*(struct ip_network *)ret_value = network;
	return 0;
}

static int ipv4_parse(const struct fairlead_setting_spec *spec,
		      const char *text, void *ret_value,
		      struct fairlead_error *ret_error)
{
	struct ip_network network = { 0 };
	int result = 0;

	if (strcmp(text, "none") != 0)
		result = ip_network_parse(text, &network, ret_error);
	if (result < 0)
		return result;
	if (network.address.family == 6)
		return error_set(ret_error, -EINVAL, "'%s' is not IPv4", text);
	for (size_t i = 0; i < sizeof(taken_ipv4) / sizeof(taken_ipv4[0]); i++)
		if (ip_network_meets(&network, &taken_ipv4[i].network))
			return error_set(ret_error, -EINVAL, "'%s' meets %s",
					 text, taken_ipv4[i].use);
	*(struct ip_network *)ret_value = network;
	return 0;
}

static int job_cgroup_text_check(const char *text,
				 struct fairlead_error *ret_error)
{
	int result = settings_path.check(text, ret_error);

	return result == 0 ? job_path_check(text, ret_error) : result;
}

#define TYPE(name, form, ...) \
	static const struct fairlead_setting_type name = { form, __VA_ARGS__ }

TYPE(type_pool, "IDSET", pool_check);
TYPE(type_classes, "NAMES", NULL, classes_parse);
TYPE(type_isolations, "NAMES", NULL, isolations_parse);
TYPE(type_rate, "RATE", NULL, rate_parse);
TYPE(type_ipv6, "NETWORK", NULL, ipv6_parse);
TYPE(type_ipv4, "NETWORK|none", NULL, ipv4_parse);
TYPE(type_job_cgroup, "PATTERN", job_cgroup_text_check);

/* --- the table --- */

#define DSCP(name, class, value)                                              \
	{                                                                     \
		"dscp_" name, &settings_number, AT(dscp[class]), value, NODE, \
			"DSCP value of the class.", 0, ETHERNET_DSCP_MAX      \
	}

static const struct fairlead_setting_spec specs[] = {
	VNIS_SETTINGS(type_pool, "4096-5119",
		      "VNIs of jobs, within 1-16777215.", ETHERNET_VNIS_MAX),
	{ "traffic_classes", &type_classes, AT(policy),
	  "LOW_LATENCY,BEST_EFFORT", 0,
	  "Classes that jobs may request, by default all. The first is the "
	  "default of packets." },
	{ "rate_reserved", &type_rate, AT(policy.reserved_mbit), "none", 0,
	  "Default and upper limit of a job's reserved rate, on each rail of "
	  "each node." },
	{ "rate_max", &type_rate, AT(policy.max_mbit), "none", 0,
	  "Default and upper limit of its maximum rate. *none*: no limit." },
	{ "isolation", &type_isolations, AT(policy), "host", NODE,
	  "Kinds of isolation that jobs may request. The first is the "
	  "default." },
	{ "ipv6_network", &type_ipv6, AT(networks.ipv6), "fd46:4c00::/32", NODE,
	  "A /32 within fc00::/7. A lane's network is the /64 of rail and VNI "
	  "in it." },
	{ "ipv4_network", &type_ipv4, AT(networks.ipv4), "100.64.0.0/10", NODE,
	  "Lanes get their networks from it. *none*: lanes have IPv6 only." },
	{ "ipv4_lane_size", &settings_number, AT(ipv4_lane_size), "22", NODE,
	  "Prefix of the IPv4 network of a VNI on a rail.", 8, 30 },
	{ "port", &settings_number, AT(port), "4789", NODE,
	  "UDP port of the first rail; the others have the next ones.",
	  ETHERNET_PORT_MIN, ETHERNET_PORT_MAX },
	{ "devices", &settings_text, AT(devices), "auto", NODE,
	  "The NICs that carry lanes, a rail each: names with commas." },
	{ "require_devices", &settings_bool, AT(requires_devices), "true", NODE,
	  "*true*: a job with a node that has no such NIC fails. *false*: such "
	  "a node gets no lane, with a warning, and the job's variables are "
	  "unset there; the job's other nodes share the lane." },
	{ "ttl", &settings_number, AT(ttl), "1", NODE,
	  "Of the packets that carry lanes; in IPv6 the hop limit.", 1,
	  UINT8_MAX },
	{ "bpf_pins", &settings_folder, AT(bpf_pins), "/sys/fs/bpf/fairlead",
	  NODE, "Folder of the BPF programs. Files of others there are kept." },
	{ "cgroup", &settings_folder, AT(cgroup), "", NODE,
	  "Mount point of cgroup v2. Default: found by the node." },
	{ "job_cgroup", &type_job_cgroup, AT(job_cgroup), "", NODE,
	  "The cgroup of a job. Default: none." },
	{ "namespaces", &settings_folder, AT(namespaces), "/run/fairlead/netns",
	  NODE,
	  "Files by which jobs' network namespaces are entered. Use a folder "
	  "of its own: at start the daemon removes files named by a number "
	  "that belong to no job." },
	{ "shaping", &settings_bool, AT(is_shaping), "false", NODE,
	  "Whether the NICs enforce rates and traffic classes, by HTB. It puts "
	  "all queues of a NIC behind one lock, which slows down many sending "
	  "cores." },
	{ "link_rate", &type_rate, AT(link_mbit), NULL, NODE,
	  "The rate of each NIC for *shaping*, such as *25G*. Default: what "
	  "the "
	  "NIC reports." },
	DSCP("dedicated_access", ETHERNET_DEDICATED_ACCESS, "46"),
	DSCP("low_latency", ETHERNET_LOW_LATENCY, "32"),
	DSCP("bulk_data", ETHERNET_BULK_DATA, "8"),
	DSCP("best_effort", ETHERNET_BEST_EFFORT, "0"),
	{ NULL },
};

const struct fairlead_settings ethernet_settings = {
	specs, sizeof(struct ethernet_settings)
};

/* --- what they say together --- */

/* Of settings that are there the first is to blame. */
static void cut_check(const struct settings *settings,
		      const struct ethernet_networks *networks)
{
	const char *name = settings_find(settings, "ipv4_network")
				   ? "ipv4_network"
				   : "ipv4_lane_size";

	if (!networks->ipv4.address.family || !networks->ipv4_lane_size ||
	    networks->ipv4_lane_size >=
		    networks->ipv4.prefix_size + CUT_BITS_MIN)
		return;
	settings_fail(settings, name,
		      "a /%u is too small for two lanes of /%u on %d rails; "
		      "ipv4_lane_size is at least the prefix of ipv4_network "
		      "and %d",
		      networks->ipv4.prefix_size, networks->ipv4_lane_size,
		      ETHERNET_RAILS_MAX, CUT_BITS_MIN);
}

void ethernet_settings_read(const struct settings *settings,
			    struct ethernet_settings *ret_values)
{
	struct ethernet_settings values = { 0 };

	settings_read(settings, &ethernet_settings, &values);
	values.networks.ipv4_lane_size = (uint8_t)values.ipv4_lane_size;
	values.networks.port = (uint16_t)values.port;
	cut_check(settings, &values.networks);
	if (values.port == ETHERNET_PORT_ROCE)
		settings_fail(settings, "port", "%u is RoCEv2's", values.port);
	if (values.policy.max_mbit &&
	    values.policy.reserved_mbit > values.policy.max_mbit)
		settings_fail(settings, "rate_reserved", "is above rate_max");
	*ret_values = values;
}
