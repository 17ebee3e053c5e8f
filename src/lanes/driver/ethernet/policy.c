/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a site has no maximum a job can set itself any; what a job says of its
 * maximum also lowers a reservation that it only has from the site.
 */
#include "lanes/driver/ethernet/policy.h"

#include <stdio.h>
#include <string.h>

#include "lanes/driver/common/number.h"
#include "lanes/driver/common/options.h"

#define CLASSES_ALL    ((1u << ETHERNET_CLASS_COUNT) - 1)
#define ISOLATIONS_ALL (1u << ETHERNET_HOST | 1u << ETHERNET_NETNS)

/* Names by the numbers that they stand for. */
struct words {
	const char *what;
	size_t count;
	const char *names[ETHERNET_CLASS_COUNT];
	const char *all; /* for people */
};

static const struct words class_words = {
	.what = "traffic class",
	.count = ETHERNET_CLASS_COUNT,
	.names = { [ETHERNET_DEDICATED_ACCESS] = "DEDICATED_ACCESS",
		   [ETHERNET_LOW_LATENCY] = "LOW_LATENCY",
		   [ETHERNET_BULK_DATA] = "BULK_DATA",
		   [ETHERNET_BEST_EFFORT] = "BEST_EFFORT" },
	.all = "DEDICATED_ACCESS, LOW_LATENCY, BULK_DATA and BEST_EFFORT",
};

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

static int parse_word(const struct words *words, const char *name, size_t size,
		      struct fairlead_error *ret_error)
{
	if (words == &class_words && size > 3 && memcmp(name, "TC_", 3) == 0) {
		name += 3;
		size -= 3;
	}
	for (size_t i = 0; i < words->count; i++) {
		if (strlen(words->names[i]) == size &&
		    memcmp(words->names[i], name, size) == 0)
			return (int)i;
	}
	return error_set(ret_error, -EINVAL, "there is no %s '%.*s', only %s",
			 words->what, (int)size, name, words->all);
}

/* "A,B" as bits, and which was first. */
static int parse_words(const struct words *words, const char *text,
		       char separator, uint32_t *ret_bits, int *ret_first,
		       struct fairlead_error *ret_error)
{
	uint32_t bits = 0;
	int first = -1;

	for (;;) {
		size_t size = (size_t)(strchrnul(text, separator) - text);
		int number = parse_word(words, text, size, ret_error);

		if (number < 0)
			return number;
		if (first < 0)
			first = number;
		bits |= 1u << number;
		if (!text[size])
			break;
		text += size + 1;
	}
	*ret_bits = bits;
	*ret_first = first;
	return 0;
}

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
	int first = 0;
	int result = parse_words(&class_words, text, ',', &policy->classes,
				 &first, ret_error);

	if (result == 0)
		policy->first_class = first;
	return result;
}

int ethernet_isolations_parse(const char *text, struct ethernet_policy *policy,
			      struct fairlead_error *ret_error)
{
	int first = 0;
	int result = parse_words(&isolation_words, text, ',',
				 &policy->isolations, &first, ret_error);

	if (result == 0)
		policy->isolation = first;
	return result;
}

/* The value of an option, as words that are all in `ceiling`. */
static int read_list(const struct option *option, const struct words *words,
		     uint32_t ceiling, uint32_t *bits, int *first,
		     struct fairlead_error *ret_error)
{
	int result = parse_words(words, option->value ? option->value : "", ':',
				 bits, first, ret_error);

	for (size_t i = 0; result == 0 && i < words->count; i++) {
		if (*bits & ~ceiling & 1u << i)
			return error_set(ret_error, -EINVAL,
					 "%s '%s' is not one that jobs can "
					 "have here",
					 words->what, words->names[i]);
	}
	return result;
}

static int read_classes(const struct option *option, uint32_t ceiling,
			struct ethernet_request *request,
			struct fairlead_error *ret_error)
{
	int first = 0;
	int result = read_list(option, &class_words, ceiling, &request->classes,
			       &first, ret_error);

	if (result == 0)
		request->first_class = first;
	return result;
}

static int read_isolation(const struct option *option, uint32_t ceiling,
			  struct ethernet_request *request,
			  struct fairlead_error *ret_error)
{
	uint32_t bits = 0;
	int first = 0;
	int result;

	if (option->value && strchr(option->value, ':'))
		return error_set(ret_error, -EINVAL,
				 "option 'isolation' takes one name");
	result = read_list(option, &isolation_words, ceiling, &bits, &first,
			   ret_error);
	if (result == 0)
		request->isolation = first;
	return result;
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
		return read_classes(option, ceiling->classes, request,
				    ret_error);
	if (strcmp(option->name, "isolation") == 0)
		return read_isolation(option, ceiling->isolations, request,
				      ret_error);
	if (strcmp(option->name, "reserved") == 0)
		return read_reserved(option, ceiling->reserved_mbit, request,
				     ret_error);
	if (strcmp(option->name, "max") == 0)
		return read_max(option, ceiling->max_mbit, request, ret_error);
	if (strcmp(option->name, "off") != 0)
		return error_set(ret_error, -EINVAL,
				 "interconnect 'ethernet' has no option '%s'",
				 option->name);
	if (option->value)
		return error_set(ret_error, -EINVAL,
				 "option 'off' takes no value");
	request->is_off = true;
	return 0;
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
	if (request->is_off && options->count > 1)
		return error_set(ret_error, -EINVAL,
				 "option 'off' leaves nothing for other "
				 "options to say");
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
		       class_words.names[request->first_class]);
	for (size_t i = 0; i < ETHERNET_CLASS_COUNT; i++) {
		if (i != request->first_class && request->classes & 1u << i)
			options_append(text, ":%s", class_words.names[i]);
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
