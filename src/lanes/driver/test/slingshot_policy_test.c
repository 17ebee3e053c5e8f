/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/common/options.h"
#include "lanes/driver/slingshot/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static int parse(const char *text, const struct slingshot_policy *site,
		 struct slingshot_request *request,
		 struct fairlead_error *error)
{
	return slingshot_request_parse(text, site, site, 1, request, error);
}

static void assert_refused(const char *text, const char *part)
{
	struct slingshot_request request;
	struct fairlead_error error = { 0 };

	assert_int_equal(parse(text, &slingshot_policy_default, &request,
			       &error),
			 -EINVAL);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static int tcs_parse(const char *text, char separator, uint32_t *ret_tcs,
		     struct fairlead_error *ret_error)
{
	uint32_t first;

	return words_parse(&words_traffic_classes, text, separator, ret_tcs,
			   &first, ret_error);
}

static void traffic_classes_are_read_with_and_without_prefix(void **state)
{
	uint32_t tcs = 0;

	assert_int_equal(tcs_parse("DEDICATED_ACCESS", ':', &tcs, NULL), 0);
	assert_int_equal(tcs, 1);
	assert_int_equal(
		tcs_parse("TC_LOW_LATENCY:BEST_EFFORT", ':', &tcs, NULL), 0);
	assert_int_equal(tcs, 0x0a);
	assert_int_equal(tcs_parse("TC_BULK_DATA,BULK_DATA", ',', &tcs, NULL),
			 0);
	assert_int_equal(tcs, 4);
}

static void other_traffic_classes_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		":",
		"LOW_LATENCY:",
		"low_latency",
		"TC_",
		"LOW",
		"TC_TC_LOW_LATENCY",
		"LOW_LATENCY,BEST_EFFORT",
		"LOW_LATENCYX",
		/* The Ethernet stack's own. */
		"TC_ETH",
	};
	struct fairlead_error error = { 0 };
	uint32_t tcs = 7;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (tcs_parse(texts[i], ':', &tcs, &error) != -EINVAL)
			fail_msg("'%s' was taken", texts[i]);
		assert_non_null(
			strstr(error.text, "there is no traffic class"));
	}
	assert_int_equal(tcs, 7);
}

static void no_options_mean_the_site_s_policy(void **state)
{
	struct slingshot_request request;

	assert_int_equal(parse("", &slingshot_policy_default, &request, NULL),
			 0);
	assert_false(request.is_off);
	assert_int_equal(request.vni_count, 1);
	assert_memory_equal(&request.policy, &slingshot_policy_default,
			    sizeof(request.policy));
}

static void options_are_read(void **state)
{
	struct slingshot_request request;

	assert_int_equal(parse("tcs=LOW_LATENCY,max_txqs=5,per_core_tles=0,"
			       "vnis=4",
			       &slingshot_policy_default, &request, NULL),
			 0);
	assert_int_equal(request.vni_count, 4);
	assert_int_equal(request.policy.tcs, 2);
	assert_int_equal(request.policy.max[CXI_RSRC_TYPE_TXQ], 5);
	assert_int_equal(request.policy.per_core[CXI_RSRC_TYPE_TLE], 0);
	assert_int_equal(request.policy.max[CXI_RSRC_TYPE_PTE], 2048);
	assert_int_equal(
		parse("off", &slingshot_policy_default, &request, NULL), 0);
	assert_true(request.is_off);
	assert_int_equal(request.vni_count, 0);
}

static void wrong_options_are_refused(void **state)
{
	assert_refused("vnis=5", "'vnis=5' needs a number from 0 to 4");
	assert_refused("vnis=-1", "from 0 to 4");
	assert_refused("vnis=", "from 0 to 4");
	assert_refused("vnis", "from 0 to 4");
	assert_refused("vnicount=2", "no option 'vnicount'");
	assert_refused("max_foos=2", "no option 'max_foos'");
	assert_refused("off=1", "'off' takes no value");
	assert_refused("off,vnis=1", "'off' leaves nothing");
	assert_refused("vnis=1,off", "'off' leaves nothing");
	assert_refused("vnis=1,vnis=1", "twice");
	assert_refused("keep=10", "'keep=10' needs a share from 10% to 90%");
	assert_refused("keep=9%", "from 10% to 90%");
	assert_refused("keep=1000%", "from 10% to 90%");
	assert_refused("keep", "from 10% to 90%");
	assert_refused("minimum=101%", "from 0% to 100%");
	assert_refused("minimum=%", "from 0% to 100%");
	assert_refused("below_minimum", "neither 'warn' nor 'refuse'");
	assert_refused("below_minimum=fail", "neither 'warn' nor 'refuse'");
	assert_refused("exclusive_cp=1", "takes no value");
	assert_refused("vnis=2,exclusive_cp", "is for jobs with one VNI, this "
					      "one has 2");
	assert_refused("exclusive_cp,vnis=0", "this one has 0");
	assert_refused("tcs", "there is no traffic class ''");
	assert_refused("tcs=FAST", "there is no traffic class 'FAST'");
}

static void a_job_cannot_ask_for_more_than_the_site_gives(void **state)
{
	assert_refused("tcs=LOW_LATENCY:BULK_DATA",
		       "'BULK_DATA' is not one that jobs can have here");
	assert_refused("max_tgqs=1025", "'max_tgqs=1025' needs a number from 0 "
					"to 1024");
	assert_refused("per_core_les=17", "from 0 to 16");
}

static void formatted_options_stand_for_themselves(void **state)
{
	static const char *const cases[][2] = {
		{ "off", "off" },
		{ "", "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT" },
		{ "vnis=0", "vnis=0,tcs=LOW_LATENCY:BEST_EFFORT" },
		{ "tcs=BEST_EFFORT,per_core_acs=1,max_ptes=0,vnis=3",
		  "vnis=3,tcs=BEST_EFFORT,max_ptes=0,per_core_acs=1" },
		{ "netns", "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT,netns" },
		{ "exclusive_cp,netns",
		  "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT,netns,exclusive_cp" },
		{ "below_minimum=refuse,minimum=50%,keep=25%",
		  "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT,keep=25%,minimum=50%,"
		  "below_minimum=refuse" },
	};
	struct slingshot_request request;
	struct slingshot_request again;
	char text[FAIRLEAD_OPTIONS_MAX + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i][0], &slingshot_policy_default,
				       &request, NULL),
				 0);
		slingshot_request_format(&request, text);
		assert_string_equal(text, cases[i][1]);
		assert_int_equal(
			slingshot_request_parse(text, &slingshot_policy_default,
						&slingshot_policy_unlimited, 0,
						&again, NULL),
			0);
		assert_memory_equal(&again.policy, &request.policy,
				    sizeof(again.policy));
		assert_int_equal(again.vni_count, request.vni_count);
		assert_int_equal(again.is_in_netns, request.is_in_netns);
		assert_int_equal(slingshot_options_have_netns(text),
				 request.is_in_netns);
		assert_int_equal(again.has_exclusive_cp,
				 request.has_exclusive_cp);
	}
}

static void the_longest_policy_travels(void **state)
{
	struct slingshot_request request = {
		.vni_count = 1,
		.policy = slingshot_policy_unlimited,
	};
	struct slingshot_request again = { 0 };
	char text[FAIRLEAD_OPTIONS_MAX + 1];

	request.policy.minimum = 100;
	request.policy.keep = 90;
	request.policy.refuses_less = 1;
	request.is_in_netns = true;
	request.has_exclusive_cp = true;
	request.hwcoll.trees = HWCOLL_TREES_MAX;
	slingshot_request_format(&request, text);
	assert_int_equal(slingshot_request_parse(
				 text, &slingshot_policy_default,
				 &slingshot_policy_unlimited, 0, &again, NULL),
			 0);
	assert_memory_equal(&again.policy, &request.policy,
			    sizeof(again.policy));
}

static void settings_replace_the_recommendation(void **state)
{
	const struct fairlead_setting list[] = {
		{ "traffic_classes", "TC_BULK_DATA,BEST_EFFORT", 1 },
		{ "max_txqs", "17", 2 },
		{ "per_core_les", "0", 3 },
		{ "keep", "0%", 4 },
		{ "minimum", "100%", 5 },
		{ "below_minimum", "refuse", 6 },
	};
	struct slingshot_policy expected = slingshot_policy_default;
	struct slingshot_settings settings;

	assert_int_equal(slingshot_settings_read(NULL, 0, &settings, NULL), 0);
	assert_memory_equal(&settings.policy, &expected, sizeof(expected));
	assert_int_equal(slingshot_settings_read(list, 6, &settings, NULL), 0);
	expected.tcs = 0x0c;
	expected.max[CXI_RSRC_TYPE_TXQ] = 17;
	expected.per_core[CXI_RSRC_TYPE_LE] = 0;
	expected.keep = 0;
	expected.minimum = 100;
	expected.refuses_less = 1;
	assert_memory_equal(&settings.policy, &expected, sizeof(expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			traffic_classes_are_read_with_and_without_prefix),
		cmocka_unit_test(other_traffic_classes_are_refused),
		cmocka_unit_test(no_options_mean_the_site_s_policy),
		cmocka_unit_test(options_are_read),
		cmocka_unit_test(wrong_options_are_refused),
		cmocka_unit_test(a_job_cannot_ask_for_more_than_the_site_gives),
		cmocka_unit_test(formatted_options_stand_for_themselves),
		cmocka_unit_test(the_longest_policy_travels),
		cmocka_unit_test(settings_replace_the_recommendation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
