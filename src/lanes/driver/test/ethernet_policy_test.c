/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static const struct ethernet_policy site = {
	.classes = 0x0b, /* all but BULK_DATA */
	.isolations = 1u << ETHERNET_HOST | 1u << ETHERNET_NETNS,
	.first_class = ETHERNET_BEST_EFFORT,
	.isolation = ETHERNET_NETNS,
	.reserved_mbit = 2000,
	.max_mbit = 10000,
};

static struct ethernet_request parse(const char *text,
				     const struct ethernet_policy *policy)
{
	struct ethernet_request request = { 0 };
	struct fairlead_error error = { 0 };

	if (ethernet_request_parse(text, policy, 1, &request, &error) < 0)
		fail_msg("'%s' was refused: %s", text, error.text);
	return request;
}

static void assert_refused(const struct ethernet_policy *policy,
			   const char *text, const char *part)
{
	struct ethernet_request request = { .vni_count = 77 };
	struct fairlead_error error = { 0 };

	assert_int_equal(ethernet_request_parse(text, policy, 1, &request,
						&error),
			 -EINVAL);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_int_equal(request.vni_count, 77);
}

static void assert_formatted(const char *text,
			     const struct ethernet_policy *policy,
			     const char *expected)
{
	struct ethernet_request request = parse(text, policy);
	char formatted[FAIRLEAD_OPTIONS_MAX + 1];

	ethernet_request_format(&request, formatted);
	assert_string_equal(formatted, expected);
	request = parse(formatted, NULL);
	ethernet_request_format(&request, formatted);
	assert_string_equal(formatted, expected);
}

static void rates_are_read(void **state)
{
	uint32_t mbit = 77;

	assert_int_equal(ethernet_rate_parse("1M", &mbit, NULL), 0);
	assert_int_equal(mbit, 1);
	assert_int_equal(ethernet_rate_parse("2500M", &mbit, NULL), 0);
	assert_int_equal(mbit, 2500);
	assert_int_equal(ethernet_rate_parse("25G", &mbit, NULL), 0);
	assert_int_equal(mbit, 25000);
	assert_int_equal(ethernet_rate_parse("4000000M", &mbit, NULL), 0);
	assert_int_equal(mbit, 4000000);
	assert_int_equal(ethernet_rate_parse("4000G", &mbit, NULL), 0);
	assert_int_equal(mbit, 4000000);
	assert_int_equal(ethernet_rate_parse("none", &mbit, NULL), 0);
	assert_int_equal(mbit, 0);
}

static void other_rates_are_refused(void **state)
{
	static const char *const texts[] = {
		"",      "M",        "G",         "0",
		"0M",    "25",       "25g",       "25 G",
		"25GB",  "-1G",      "01G",       "1.5G",
		"4001G", "4000001M", "40000000M", "99999999999999999999G",
	};
	struct fairlead_error error = { 0 };
	uint32_t mbit = 77;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (ethernet_rate_parse(texts[i], &mbit, &error) != -EINVAL)
			fail_msg("'%s' was taken", texts[i]);
		assert_non_null(strstr(error.text, "no rate from 1M to 4000G"));
	}
	assert_int_equal(mbit, 77);
}

static void no_options_mean_the_site_s_policy(void **state)
{
	struct ethernet_request request = parse("", &site);

	assert_false(request.is_off);
	assert_int_equal(request.vni_count, 1);
	assert_int_equal(request.classes, 0x0b);
	assert_int_equal(request.first_class, ETHERNET_BEST_EFFORT);
	assert_int_equal(request.isolation, ETHERNET_NETNS);
	assert_int_equal(request.reserved_mbit, 2000);
	assert_int_equal(request.max_mbit, 10000);
}

static void options_are_read(void **state)
{
	struct ethernet_request request = parse(
		"max=5G,isolation=host,tcs=TC_LOW_LATENCY:DEDICATED_ACCESS,"
		"reserved=100M,vnis=4",
		&site);

	assert_int_equal(request.vni_count, 4);
	assert_int_equal(request.classes, 0x03);
	assert_int_equal(request.first_class, ETHERNET_LOW_LATENCY);
	assert_int_equal(request.isolation, ETHERNET_HOST);
	assert_int_equal(request.reserved_mbit, 100);
	assert_int_equal(request.max_mbit, 5000);
	request = parse("off", &site);
	assert_true(request.is_off);
	assert_int_equal(request.vni_count, 0);
}

static void wrong_options_are_refused(void **state)
{
	assert_refused(&site, "vnis=5", "'vnis=5' needs a number from 0 to 4");
	assert_refused(&site, "vnis", "from 0 to 4");
	assert_refused(&site, "max_txqs=2", "no option 'max_txqs'");
	assert_refused(&site, "off=1", "'off' takes no value");
	assert_refused(&site, "off,vnis=1", "'off' leaves nothing");
	assert_refused(&site, "vnis=1,vnis=1", "twice");
	assert_refused(&site, "tcs", "there is no traffic class ''");
	assert_refused(&site, "tcs=ETH", "there is no traffic class 'ETH'");
	assert_refused(&site, "tcs=LOW_LATENCY:", "there is no traffic class");
	assert_refused(&site, "tcs=TC_", "there is no traffic class 'TC_'");
	assert_refused(&site, "isolation=vm", "there is no isolation 'vm'");
	assert_refused(&site, "isolation", "there is no isolation ''");
	assert_refused(&site, "isolation=host:netns", "takes one name");
	assert_refused(&site, "reserved=2",
		       "option 'reserved': '2' is no rate");
	assert_refused(&site, "max", "option 'max': '' is no rate");
}

static void a_job_cannot_ask_for_more_than_the_site_has(void **state)
{
	struct ethernet_policy less = site;

	assert_refused(&site, "tcs=LOW_LATENCY:BULK_DATA",
		       "'BULK_DATA' is not one that jobs can have here");
	assert_refused(&site, "reserved=2001M",
		       "'reserved=2001M' is more than jobs can have here, "
		       "which is 2G");
	assert_refused(&site, "max=11G", "which is 10G");
	assert_refused(&site, "max=none", "without a maximum here");
	less.isolations = 1u << ETHERNET_HOST;
	less.reserved_mbit = 0;
	assert_refused(&less, "isolation=netns",
		       "'netns' is not one that jobs can have here");
	assert_refused(&less, "reserved=1M", "cannot reserve a rate here");
	assert_int_equal(parse("reserved=none", &less).reserved_mbit, 0);
}

static void a_job_s_maximum_holds_its_reservation(void **state)
{
	assert_int_equal(parse("max=1G", &site).reserved_mbit, 1000);
	assert_refused(&site, "max=1G,reserved=2G", "above the job's maximum");
	assert_refused(&site, "reserved=2G,max=1G", "above the job's maximum");
}

static void a_site_without_a_maximum_lets_jobs_have_one(void **state)
{
	struct ethernet_request request =
		parse("max=400G", &ethernet_policy_default);

	assert_int_equal(request.max_mbit, 400000);
	request = parse("max=none", &ethernet_policy_default);
	assert_int_equal(request.max_mbit, 0);
}

static void formatted_options_stand_for_themselves(void **state)
{
	assert_formatted("off", &site, "off");
	assert_formatted("", &ethernet_policy_default,
			 "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT,isolation=host");
	assert_formatted("", &site,
			 "vnis=1,tcs=BEST_EFFORT:DEDICATED_ACCESS:LOW_LATENCY,"
			 "isolation=netns,reserved=2G,max=10G");
	assert_formatted("vnis=0,max=2500M,tcs=LOW_LATENCY,isolation=host",
			 &site,
			 "vnis=0,tcs=LOW_LATENCY,isolation=host,reserved=2G,"
			 "max=2500M");
}

static void the_longest_request_travels(void **state)
{
	assert_formatted("vnis=4,tcs=DEDICATED_ACCESS:LOW_LATENCY:BULK_DATA:"
			 "BEST_EFFORT,isolation=netns,reserved=3999999M,"
			 "max=3999999M",
			 NULL,
			 "vnis=4,tcs=DEDICATED_ACCESS:LOW_LATENCY:BULK_DATA:"
			 "BEST_EFFORT,isolation=netns,reserved=3999999M,"
			 "max=3999999M");
}

static int settings_take(const struct fairlead_setting *list, size_t count,
			 struct ethernet_policy *policy,
			 struct fairlead_error *error)
{
	struct settings_errors errors = { 0 };
	const struct settings settings = { list, count, &errors };
	struct ethernet_settings values;

	ethernet_settings_read(&settings, &values);
	*policy = values.policy;
	return settings_finish(&errors, error);
}

static void settings_replace_the_default(void **state)
{
	const struct fairlead_setting list[] = {
		{ "traffic_classes", "BEST_EFFORT,TC_LOW_LATENCY", 1 },
		{ "isolation", "netns,host", 2 },
		{ "rate_reserved", "2G", 3 },
		{ "rate_max", "10G", 4 },
	};
	struct ethernet_policy policy;

	assert_int_equal(settings_take(NULL, 0, &policy, NULL), 0);
	assert_memory_equal(&policy, &ethernet_policy_default, sizeof(policy));
	assert_int_equal(settings_take(list, 4, &policy, NULL), 0);
	assert_int_equal(policy.classes, 0x0a);
	assert_int_equal(policy.first_class, ETHERNET_BEST_EFFORT);
	assert_int_equal(policy.isolations, 3);
	assert_int_equal(policy.isolation, ETHERNET_NETNS);
	assert_int_equal(policy.reserved_mbit, 2000);
	assert_int_equal(policy.max_mbit, 10000);
}

static void wrong_settings_are_reported_all_at_once(void **state)
{
	const struct fairlead_setting list[] = {
		{ "traffic_classes", "FAST", 1 },
		{ "isolation", "", 2 },
		{ "rate_reserved", "fast", 3 },
		{ "rate_max", "", 4 },
	};
	struct ethernet_policy policy;
	struct fairlead_error error = { 0 };

	assert_int_equal(settings_take(list, 4, &policy, &error), -EINVAL);
	for (char line[] = "line 1: "; line[5] <= '4'; line[5]++)
		assert_non_null(strstr(error.text, line));
}

static void a_site_cannot_reserve_above_its_maximum(void **state)
{
	const struct fairlead_setting list[] = {
		{ "rate_reserved", "2G", 3 },
		{ "rate_max", "1999M", 4 },
	};
	struct ethernet_policy policy;
	struct fairlead_error error = { 0 };

	assert_int_equal(settings_take(list, 2, &policy, &error), -EINVAL);
	assert_non_null(strstr(error.text,
			       "line 3: 'rate_reserved': is above rate_max"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_read),
		cmocka_unit_test(other_rates_are_refused),
		cmocka_unit_test(no_options_mean_the_site_s_policy),
		cmocka_unit_test(options_are_read),
		cmocka_unit_test(wrong_options_are_refused),
		cmocka_unit_test(a_job_cannot_ask_for_more_than_the_site_has),
		cmocka_unit_test(a_job_s_maximum_holds_its_reservation),
		cmocka_unit_test(a_site_without_a_maximum_lets_jobs_have_one),
		cmocka_unit_test(formatted_options_stand_for_themselves),
		cmocka_unit_test(the_longest_request_travels),
		cmocka_unit_test(settings_replace_the_default),
		cmocka_unit_test(wrong_settings_are_reported_all_at_once),
		cmocka_unit_test(a_site_cannot_reserve_above_its_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
