/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quantities that the Slingshot document recommends: a fixed maximum, and a
 * reservation per core. TLEs are its special case: their maximum is what is
 * reserved, so max_tles only bounds the reservation; the driver of the NIC
 * works that way too. Maxima above what a device has are clamped on the node.
 *
 * A job may lower a quantity (per_core_tles=0 leaves the few TLE pools of a
 * shared node to others) and take fewer traffic classes. It may not raise
 * them: reservations are taken from other users of the node. A share of each
 * quantity is kept for those. What is then too little to be of use is for each
 * job to say, within what the site says.
 */
#include "lanes/driver/slingshot/policy.h"

#include <string.h>

#include "lanes/driver/common/options.h"

static const struct {
	const char *title;
	const char *max_name;
	const char *per_core_name;
} resources[CXI_RSRC_TYPE_MAX] = {
	[CXI_RSRC_TYPE_PTE] = { "PTEs", "max_ptes", "per_core_ptes" },
	[CXI_RSRC_TYPE_TXQ] = { "TXQs", "max_txqs", "per_core_txqs" },
	[CXI_RSRC_TYPE_TGQ] = { "TGQs", "max_tgqs", "per_core_tgqs" },
	[CXI_RSRC_TYPE_EQ] = { "EQs", "max_eqs", "per_core_eqs" },
	[CXI_RSRC_TYPE_CT] = { "CTs", "max_cts", "per_core_cts" },
	[CXI_RSRC_TYPE_LE] = { "LEs", "max_les", "per_core_les" },
	[CXI_RSRC_TYPE_TLE] = { "TLEs", "max_tles", "per_core_tles" },
	[CXI_RSRC_TYPE_AC] = { "ACs", "max_acs", "per_core_acs" },
};

_Static_assert(CXI_TC_DEDICATED_ACCESS == 0 && CXI_TC_BEST_EFFORT == 3,
	       "as words_traffic_classes has them");

const struct slingshot_policy slingshot_policy_default = {
	.tcs = 1u << CXI_TC_LOW_LATENCY | 1u << CXI_TC_BEST_EFFORT,
	.max = {
		[CXI_RSRC_TYPE_PTE] = 2048,
		[CXI_RSRC_TYPE_TXQ] = 2048,
		[CXI_RSRC_TYPE_TGQ] = 1024,
		[CXI_RSRC_TYPE_EQ] = 2047,
		[CXI_RSRC_TYPE_CT] = 2047,
		[CXI_RSRC_TYPE_LE] = 16384,
		[CXI_RSRC_TYPE_TLE] = 2048,
		[CXI_RSRC_TYPE_AC] = 1022,
	},
	.per_core = {
		[CXI_RSRC_TYPE_PTE] = 6,
		[CXI_RSRC_TYPE_TXQ] = 2,
		[CXI_RSRC_TYPE_TGQ] = 1,
		[CXI_RSRC_TYPE_EQ] = 2,
		[CXI_RSRC_TYPE_CT] = 1,
		[CXI_RSRC_TYPE_LE] = 16,
		[CXI_RSRC_TYPE_TLE] = 1,
		[CXI_RSRC_TYPE_AC] = 2,
	},
	.keep = 10,
};

#define EACH_TYPE(value)                                               \
	{                                                              \
		value, value, value, value, value, value, value, value \
	}

const struct slingshot_policy slingshot_policy_unlimited = {
	.tcs = SLINGSHOT_TCS_ALL,
	.max = EACH_TYPE(UINT16_MAX),
	.per_core = EACH_TYPE(UINT16_MAX),
};

const char *slingshot_resource_name(enum cxi_rsrc_type type)
{
	return resources[type].title;
}

static const char *const below_minimum[] = { "warn", "refuse", NULL };

int slingshot_percent_parse(const char *name, const char *text, uint32_t min,
			    uint32_t max, uint32_t *ret_percent,
			    struct fairlead_error *ret_error)
{
	size_t size = text ? strlen(text) : 0;
	char digits[4] = "";

	if (size > 0 && size <= sizeof(digits) && text[size - 1] == '%')
		memcpy(digits, text, size - 1);
	if (number_parse(digits, min, max, ret_percent))
		return 0;
	return error_set(ret_error, -EINVAL,
			 "'%s=%.20s' needs a share from %u%% to %u%%", name,
			 text ? text : "", min, max);
}

int slingshot_below_minimum_parse(const char *text, uint32_t *ret_refuses_less,
				  struct fairlead_error *ret_error)
{
	for (uint32_t i = 0; text && below_minimum[i]; i++) {
		if (strcmp(text, below_minimum[i]) != 0)
			continue;
		*ret_refuses_less = i;
		return 0;
	}
	return error_set(ret_error, -EINVAL,
			 "'%.20s' is neither 'warn' nor 'refuse'",
			 text ? text : "");
}

/* max_X and per_core_X; -EINVAL for another name. */
static int read_limit(const struct option *option,
		      const struct slingshot_policy *ceiling,
		      struct slingshot_policy *policy,
		      struct fairlead_error *ret_error)
{
	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++) {
		if (strcmp(option->name, resources[type].max_name) == 0)
			return option_number(option, 0, ceiling->max[type],
					     &policy->max[type], ret_error);
		if (strcmp(option->name, resources[type].per_core_name) == 0)
			return option_number(option, 0, ceiling->per_core[type],
					     &policy->per_core[type],
					     ret_error);
	}
	return error_set(ret_error, -EINVAL,
			 "interconnect 'slingshot' has no option '%s'",
			 option->name);
}

static int read_option(const struct option *option,
		       const struct slingshot_policy *ceiling,
		       struct slingshot_request *request,
		       struct fairlead_error *ret_error)
{
	uint32_t ignored;

	if (strcmp(option->name, "vnis") == 0)
		return option_number(option, 0, SLINGSHOT_VNIS_MAX,
				     &request->vni_count, ret_error);
	if (strcmp(option->name, "tcs") == 0)
		return words_option(&words_traffic_classes, option,
				    ceiling->tcs, &request->policy.tcs,
				    &ignored, ret_error);
	if (strcmp(option->name, "hwcoll") == 0)
		return hwcoll_option(option->value, &request->hwcoll,
				     ret_error);
	if (strcmp(option->name, "off") == 0)
		return option_flag(option, &request->is_off, ret_error);
	if (strcmp(option->name, "netns") == 0)
		return option_flag(option, &request->is_in_netns, ret_error);
	if (strcmp(option->name, "exclusive_cp") == 0)
		return option_flag(option, &request->has_exclusive_cp,
				   ret_error);
	if (strcmp(option->name, "keep") == 0)
		return slingshot_percent_parse(
			"keep", option->value, ceiling->keep,
			SLINGSHOT_KEEP_MAX, &request->policy.keep, ret_error);
	if (strcmp(option->name, "minimum") == 0)
		return slingshot_percent_parse("minimum", option->value, 0, 100,
					       &request->policy.minimum,
					       ret_error);
	if (strcmp(option->name, "below_minimum") == 0)
		return slingshot_below_minimum_parse(
			option->value, &request->policy.refuses_less,
			ret_error);
	return read_limit(option, ceiling, &request->policy, ret_error);
}

int slingshot_request_parse(const char *text,
			    const struct slingshot_policy *site,
			    const struct slingshot_policy *ceiling,
			    uint32_t vni_count,
			    struct slingshot_request *ret_request,
			    struct fairlead_error *ret_error)
{
	struct slingshot_request request = {
		.vni_count = vni_count,
		.policy = *site,
	};
	struct options options;
	int result = options_parse(&options, text, ret_error);

	for (size_t i = 0; result == 0 && i < options.count; i++)
		result = read_option(&options.items[i], ceiling, &request,
				     ret_error);
	if (result == 0)
		result = options_check_off(&options, request.is_off, ret_error);
	if (result < 0)
		return result;
	if (request.is_off)
		request.vni_count = 0;
	if (request.has_exclusive_cp && request.vni_count != 1)
		return error_set(ret_error, -EINVAL,
				 "option 'exclusive_cp' is for jobs with one "
				 "VNI, this one has %u",
				 request.vni_count);
	*ret_request = request;
	return 0;
}

bool slingshot_options_have_netns(const char *text)
{
	struct options options;

	if (options_parse(&options, text, NULL) < 0)
		return false;
	for (size_t i = 0; i < options.count; i++) {
		if (strcmp(options.items[i].name, "netns") == 0)
			return true;
	}
	return false;
}

static void append_limit(char text[FAIRLEAD_OPTIONS_MAX + 1], const char *name,
			 uint32_t value, uint32_t value_default)
{
	if (value != value_default)
		options_append(text, ",%s=%u", name, value);
}

void slingshot_request_format(const struct slingshot_request *request,
			      char text[FAIRLEAD_OPTIONS_MAX + 1])
{
	const struct slingshot_policy *policy = &request->policy;
	const char *separator = "";

	text[0] = '\0';
	if (request->is_off) {
		options_append(text, "off");
		return;
	}
	options_append(text, "vnis=%u,tcs=", request->vni_count);
	for (size_t tc = 0; tc < words_traffic_classes.count; tc++) {
		if (!(policy->tcs & 1u << tc))
			continue;
		options_append(text, "%s%s", separator,
			       words_traffic_classes.names[tc]);
		separator = ":";
	}
	if (request->hwcoll.trees > 0)
		options_append(text, ",hwcoll=%u", request->hwcoll.trees);
	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++) {
		append_limit(text, resources[type].max_name, policy->max[type],
			     slingshot_policy_default.max[type]);
		append_limit(text, resources[type].per_core_name,
			     policy->per_core[type],
			     slingshot_policy_default.per_core[type]);
	}
	if (policy->keep != slingshot_policy_default.keep)
		options_append(text, ",keep=%u%%", policy->keep);
	if (policy->minimum > 0)
		options_append(text, ",minimum=%u%%", policy->minimum);
	if (policy->refuses_less)
		options_append(text, ",below_minimum=%s",
			       below_minimum[policy->refuses_less]);
	if (request->is_in_netns)
		options_append(text, ",netns");
	if (request->has_exclusive_cp)
		options_append(text, ",exclusive_cp");
}
