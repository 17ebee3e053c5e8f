/* SPDX-License-Identifier: BSD-3-Clause */
/* Hardware collectives of slingshot: settings, options, variables. */
#include "lanes/driver/slingshot/hwcoll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/slingshot/slingshot.h"

static const struct fairlead_manager_ops *const ops = &slingshot_manager_ops;

static const struct hwcoll_settings site = {
	.url = "https://fm/apis/fabric-manager",
	.node_ca = "",
	.trees = 23,
	.min_nodes = 64,
};

static void settings_are_checked(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		const char *text;
	} bad[] = {
		{ "hwcoll_url", "http://fm", "is no URL of the form https://" },
		{ "hwcoll_url", "https://", "is no URL" },
		{ "hwcoll_url", "https://fm/", "is no URL" },
		{ "hwcoll_url", "https://fm/a b", "is no URL" },
		{ "hwcoll_url", "https://fm/?a", "is no URL" },
		{ "hwcoll_url", "https://fm/#a", "is no URL" },
		{ "hwcoll_url", "https://f'm", "is no URL" },
		{ "hwcoll_url", "https://user:word@fm",
		  "belong to hwcoll_credentials" },
		{ "hwcoll_auth", "OAUTH",
		  "is not oauth, basic or certificate" },
		{ "hwcoll_prefix", "a/b", "letters, digits and ._-" },
		{ "hwcoll_credentials", "relative", "'hwcoll_credentials'" },
		{ "hwcoll_trees", "0", "'hwcoll_trees'" },
		{ "hwcoll_trees", "8193", "'hwcoll_trees'" },
		{ "hwcoll_addresses", "8193", "'hwcoll_addresses'" },
		{ "hwcoll_min_nodes", "-1", "'hwcoll_min_nodes'" },
		{ "hwcoll_wait", "0", "'hwcoll_wait'" },
		{ "hwcoll_timeout", "0", "'hwcoll_timeout'" },
		{ "hwcoll_loss_is_fatal", "maybe", "'hwcoll_loss_is_fatal'" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct fairlead_setting setting = { bad[i].name,
							  bad[i].value, 7 };
		struct fairlead_error error = { 0 };
		void *data = NULL;

		assert_int_equal(ops->configure(&setting, 1, &data, &error),
				 -EINVAL);
		assert_non_null(strstr(error.text, "line 7: "));
		if (strstr(error.text, bad[i].text) == NULL)
			fail_msg("'%s' is not in '%s'", bad[i].text,
				 error.text);
	}
}

static void the_terms_are_those_of_the_settings(void **state)
{
	const struct fairlead_setting list[] = {
		{ "hwcoll_url", "https://fm:8443/apis", 1 },
		{ "hwcoll_auth", "basic", 2 },
		{ "hwcoll_credentials", "/etc/fm", 3 },
		{ "hwcoll_ca", "/etc/ca.pem", 4 },
		{ "hwcoll_prefix", "cl.1", 5 },
		{ "hwcoll_trees", "23", 6 },
		{ "hwcoll_min_nodes", "64", 7 },
		{ "hwcoll_wait", "3", 8 },
		{ "hwcoll_loss_is_fatal", "false", 9 },
	};
	struct fairlead_outside terms;
	struct fairlead_error error;
	void *data = NULL;

	assert_int_equal(ops->configure(NULL, 0, &data, &error), 0);
	ops->outside(data, &terms);
	assert_int_equal(terms.wait_ms, 0); /* without a URL there are none */
	assert_null(terms.url);
	ops->destroy(data);
	assert_int_equal(ops->configure(list, 9, &data, &error), 0);
	ops->outside(data, &terms);
	assert_string_equal(terms.url, "https://fm:8443/apis");
	assert_string_equal(terms.auth, "basic");
	assert_string_equal(terms.credentials, "/etc/fm");
	assert_string_equal(terms.ca, "/etc/ca.pem");
	assert_string_equal(terms.prefix, "cl.1");
	assert_int_equal(terms.wait_ms, 3000);
	assert_int_equal(terms.timeout_ms, 10000);
	assert_false(terms.is_loss_fatal);
	assert_int_equal(terms.per_job, 23);
	assert_int_equal(terms.total, 4086);
	assert_int_equal(terms.min_nodes, 64);
	ops->destroy(data);
}

/* What a job with this option, on so many nodes, asks for. */
static struct fairlead_plan plan_of(const struct hwcoll_settings *settings,
				    const char *option, size_t node_count)
{
	struct hwcoll_request request = { 0 };
	struct fairlead_plan plan = { .has_lane = true };

	if (option != NULL)
		assert_int_equal(hwcoll_option(option, &request, NULL), 0);
	hwcoll_plan(settings, node_count, &request, &plan);
	return plan;
}

static void assert_plan(const struct hwcoll_settings *settings,
			const char *option, size_t node_count,
			const char *trees, const char *flaw)
{
	struct fairlead_plan plan = plan_of(settings, option, node_count);

	assert_string_equal(plan.outside, trees);
	assert_false(plan.is_outside_fatal);
	if (strstr(plan.outside_refusal, flaw) == NULL ||
	    (*flaw == '\0' && plan.outside_refusal[0] != '\0'))
		fail_msg("'%s' is not in '%s'", flaw, plan.outside_refusal);
}

static void a_job_asks_declines_or_is_large(void **state)
{
	struct hwcoll_settings asked_only = site;
	struct hwcoll_settings none = site;

	asked_only.min_nodes = 0;
	none.url = "";
	assert_plan(&site, NULL, 64, "23", "");
	assert_plan(&site, NULL, 63, "", "");
	assert_plan(&site, "on", 2, "23", "");
	assert_plan(&site, "4", 2, "4", "");
	assert_plan(&site, "off", 1000, "", "");
	assert_plan(&asked_only, NULL, 100000, "", "");
	assert_plan(&asked_only, "on", 2, "23", "");
	assert_plan(&none, NULL, 64, "", "");
	/* Who asks for what cannot be had is terms. */
	assert_plan(&none, "on", 64, "23", "has no fabric manager");
	assert_plan(&site, "on", 1, "23", "a job of one node");
	assert_plan(&site, "24", 64, "24", "more trees than this site gives");
}

static void a_job_without_vnis_learns_that_it_has_no_trees(void **state)
{
	struct hwcoll_request request = { 0 };
	struct fairlead_plan plan = { .has_lane = false };

	hwcoll_plan(&site, 64, &request, &plan);
	assert_string_equal(plan.outside, "");
	assert_int_equal(hwcoll_option("on", &request, NULL), 0);
	hwcoll_plan(&site, 64, &request, &plan);
	assert_string_equal(plan.outside, "23");
	assert_non_null(strstr(plan.outside_refusal, "a job without VNIs"));
	assert_int_equal(plan.secret_size, 0);
}

static void wrong_options_are_refused(void **state)
{
	static const char *const bad[] = { "",   "yes",  "0",  "-1",
					   "1x", "8193", "ON", NULL };
	struct hwcoll_request request;
	struct fairlead_error error;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(hwcoll_option(bad[i], &request, &error),
				 -EINVAL);
		assert_non_null(strstr(error.text, "on, off or a number"));
	}
}

static void variables_are_packed(void **state)
{
	static const char secret[] = "cl-g7\nt0k.en";
	static const char wanted[] =
		"FI_CXI_COLL_JOB_ID=cl-g7\0"
		"FI_CXI_COLL_MCAST_TOKEN=t0k.en\0"
		"FI_CXI_COLL_FABRIC_MGR_URL=https://fm/apis/fabric-manager"
		"/fabric/collectives/multicasts\0"
		"FI_CXI_HWCOLL_MIN_NODES=64\0"
		"FI_CXI_HWCOLL_ADDRS_PER_JOB=4\0"
		"FI_CXI_COLL_FABRIC_MGR_CACERT=/etc/ca.pem";
	struct fairlead_pack pack = {
		.outside = (const uint8_t *)secret,
		.outside_size = sizeof(secret) - 1,
	};
	struct hwcoll_settings settings = site;
	struct fairlead_error error;
	uint8_t *bytes;
	size_t size;

	settings.node_ca = "/etc/ca.pem";
	assert_int_equal(
		hwcoll_pack(&settings, &pack, 4, &bytes, &size, &error), 0);
	assert_int_equal(size, sizeof(wanted));
	assert_memory_equal(bytes, wanted, size);
	free(bytes);
	/* MPI and libfabric take a missing minimum for "never". */
	settings.min_nodes = 0;
	assert_int_equal(
		hwcoll_pack(&settings, &pack, 4, &bytes, &size, &error), 0);
	assert_non_null(memmem(bytes, size, "MIN_NODES=2", 12));
	free(bytes);
	pack.outside_size = 5; /* without its token */
	assert_int_equal(hwcoll_pack(&settings, &pack, 4, &bytes, &size,
				     &error),
			 -EINVAL);
	assert_null(bytes);
	assert_null(strstr(error.text, "t0k"));
	pack.outside_size = 0;
	assert_int_equal(
		hwcoll_pack(&settings, &pack, 4, &bytes, &size, &error), 0);
	assert_int_equal(size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_checked),
		cmocka_unit_test(the_terms_are_those_of_the_settings),
		cmocka_unit_test(a_job_asks_declines_or_is_large),
		cmocka_unit_test(
			a_job_without_vnis_learns_that_it_has_no_trees),
		cmocka_unit_test(wrong_options_are_refused),
		cmocka_unit_test(variables_are_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
