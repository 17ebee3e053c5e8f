/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a site has no maximum a job can set itself any; what a job says of its
 * maximum also lowers a reservation that it only has from the site.
 */
#include "lanes/driver/ethernet/policy.h"

#include <stdio.h>
#include <string.h>

#include "lanes/driver/common/options.h"

#define CLASSES_ALL    ((1u << ETHERNET_CLASS_COUNT) - 1)
#define ISOLATIONS_ALL (1u << ETHERNET_HOST | 1u << ETHERNET_NETNS)

static const struct words isolation_words = {
	.what = "isolation",
	.count = 2,
	.names = { [ETHERNET_HOST] = "host", [ETHERNET_NETNS] = "netns" },
	.all = "host and netns",
};

const struct ethernet_policy ethernet_policy_default = {
	.classes = 1u << ETHERNET_LOW_LATENCY | 1u << ETHERNET_BEST_EFFORT,
	.isolations = 1u << ETHERNET_HOST,
	.first_class = ETHERNET_LOW_LATENCY,
	.isolation = ETHERNET_HOST,
};

/* Nothing is refused: for nodes, which obey what the manager decided. */
static const struct ethernet_policy unlimited = {
	.classes = CLASSES_ALL,
	.isolations = ISOLATIONS_ALL,
	.reserved_mbit = ETHERNET_RATE_MAX_MBIT,
};

int ethernet_rate_parse(const char *text, uint32_t *ret_mbit,
			struct fairlead_error *ret_error)
{
	size_t size = strlen(text);
	char digits[sizeof("4000000")];
	uint32_t unit = 0;
	uint32_t count;

	if (strcmp(text, "none") == 0) {
		*ret_mbit = 0;
		return 0;
	}
	if (size > 1 && size <= sizeof(digits)) {
		unit = text[size - 1] == 'G' ? 1000 : text[size - 1] == 'M';
		memcpy(digits, text, size - 1);
		digits[size - 1] = '\0';
	}
	if (!unit ||
	    !number_parse(digits, 1, ETHERNET_RATE_MAX_MBIT / unit, &count))
		return error_set(ret_error, -EINVAL,
				 "'%s' is no rate from 1M to %dG, nor none",
				 text, ETHERNET_RATE_MAX_MBIT / 1000);
	*ret_mbit = count * unit;
	return 0;
}

/* "25G", "2500M". */
static const char *rate_format(uint32_t mbit, char text[16])
{
	if (mbit % 1000 == 0)
		snprintf(text, 16, "%uG", mbit / 1000);
	else
		snprintf(text, 16, "%uM", mbit);
	return text;
}

int ethernet_classes_parse(const char *text, struct ethernet_policy *policy,
			   struct fairlead_error *ret_error)
{
	return words_parse(&words_traffic_classes, text, ',', &policy->classes,
			   &policy->first_class, ret_error);
}

int ethernet_isolations_parse(const char *text, struct ethernet_policy *policy,
			      struct fairlead_error *ret_error)
{
	return words_parse(&isolation_words, text, ',', &policy->isolations,
			   &policy->isolation, ret_error);
}

static int read_isolation(const struct option *option, uint32_t ceiling,
			  struct ethernet_request *request,
			  struct fairlead_error *ret_error)
{
	uint32_t bits;

	if (option->value && strchr(option->value, ':'))
		return error_set(ret_error, -EINVAL,
				 "option 'isolation' takes one name");
	return words_option(&isolation_words, option, ceiling, &bits,
			    &request->isolation, ret_error);
}

/* A ceiling of 0 is none. */
static int read_job_rate(const struct option *option, uint32_t ceiling,
			 uint32_t *ret_mbit, struct fairlead_error *ret_error)
{
	char most[16];
	int result = ethernet_rate_parse(option->value ? option->value : "",
					 ret_mbit, ret_error);

	if (result < 0)
		return error_prefix(ret_error, "option '%s'", option->name);
	if (ceiling && *ret_mbit > ceiling)
		return error_set(ret_error, -EINVAL,
				 "option '%s=%s' is more than jobs can have "
				 "here, which is %s",
				 option->name, option->value,
				 rate_format(ceiling, most));
	return 0;
}

static int read_reserved(const struct option *option, uint32_t ceiling,
			 struct ethernet_request *request,
			 struct fairlead_error *ret_error)
{
	int result = read_job_rate(option, ceiling, &request->reserved_mbit,
				   ret_error);

	if (result == 0 && !ceiling && request->reserved_mbit)
		return error_set(ret_error, -EINVAL,
				 "jobs cannot reserve a rate here");
	return result;
}

static int read_max(const struct option *option, uint32_t ceiling,
		    struct ethernet_request *request,
		    struct fairlead_error *ret_error)
{
	int result =
		read_job_rate(option, ceiling, &request->max_mbit, ret_error);
	char most[16];

	if (result == 0 && ceiling && !request->max_mbit)
		return error_set(ret_error, -EINVAL,
				 "jobs cannot be without a maximum here, at "
				 "most %s",
				 rate_format(ceiling, most));
	return result;
}

static int read_option(const struct option *option,
		       const struct ethernet_policy *ceiling,
		       struct ethernet_request *request,
		       struct fairlead_error *ret_error)
{
	if (strcmp(option->name, "vnis") == 0)
		return option_number(option, 0, ETHERNET_VNIS_MAX,
				     &request->vni_count, ret_error);
	if (strcmp(option->name, "tcs") == 0)
		return words_option(&words_traffic_classes, option,
				    ceiling->classes, &request->classes,
				    &request->first_class, ret_error);
	if (strcmp(option->name, "isolation") == 0)
		return read_isolation(option, ceiling->isolations, request,
				      ret_error);
	if (strcmp(option->name, "reserved") == 0)
		return read_reserved(option, ceiling->reserved_mbit, request,
				     ret_error);
	if (strcmp(option->name, "max") == 0)
		return read_max(option, ceiling->max_mbit, request, ret_error);
	if (strcmp(option->name, "off") == 0)
		return option_flag(option, &request->is_off, ret_error);
	return error_set(ret_error, -EINVAL,
			 "interconnect 'ethernet' has no option '%s'",
			 option->name);
}

static bool has_option(const struct options *options, const char *name)
{
	for (size_t i = 0; i < options->count; i++) {
		if (strcmp(options->items[i].name, name) == 0)
			return true;
	}
	return false;
}

/* What the options say together. */
static int check_request(const struct options *options,
			 struct ethernet_request *request,
			 struct fairlead_error *ret_error)
{
	int result = options_check_off(options, request->is_off, ret_error);

	if (result < 0)
		return result;
	if (request->is_off)
		request->vni_count = 0;
	if (!request->max_mbit || request->reserved_mbit <= request->max_mbit)
		return 0;
	if (has_option(options, "reserved"))
		return error_set(ret_error, -EINVAL,
				 "the rate that is reserved is above the "
				 "job's maximum");
	request->reserved_mbit = request->max_mbit;
	return 0;
}

int ethernet_request_parse(const char *text, const struct ethernet_policy *site,
			   uint32_t vni_count,
			   struct ethernet_request *ret_request,
			   struct fairlead_error *ret_error)
{
	const struct ethernet_policy *ceiling = site ? site : &unlimited;
	const struct ethernet_policy *start =
		site ? site : &ethernet_policy_default;
	struct ethernet_request request = {
		.vni_count = vni_count,
		.classes = start->classes,
		.first_class = start->first_class,
		.isolation = start->isolation,
		.reserved_mbit = start->reserved_mbit,
		.max_mbit = start->max_mbit,
	};
	struct options options;
	int result = options_parse(&options, text, ret_error);

	for (size_t i = 0; result == 0 && i < options.count; i++)
		result = read_option(&options.items[i], ceiling, &request,
				     ret_error);
	if (result == 0)
		result = check_request(&options, &request, ret_error);
	if (result == 0)
		*ret_request = request;
	return result;
}

void ethernet_request_format(const struct ethernet_request *request,
			     char text[FAIRLEAD_OPTIONS_MAX + 1])
{
	char rate[16];

	text[0] = '\0';
	if (request->is_off) {
		options_append(text, "off");
		return;
	}
	options_append(text, "vnis=%u,tcs=%s", request->vni_count,
		       words_traffic_classes.names[request->first_class]);
	for (size_t i = 0; i < ETHERNET_CLASS_COUNT; i++) {
		if (i != request->first_class && request->classes & 1u << i)
			options_append(text, ":%s",
				       words_traffic_classes.names[i]);
	}
	options_append(text, ",isolation=%s",
		       isolation_words.names[request->isolation]);
	if (request->reserved_mbit)
		options_append(text, ",reserved=%s",
			       rate_format(request->reserved_mbit, rate));
	if (request->max_mbit)
		options_append(text, ",max=%s",
			       rate_format(request->max_mbit, rate));
}
