/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user of Flux asks for, and what is refused, with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/plugin/flux/request.h"

static int parse(const char *options, struct lane_request *request,
		 struct fairlead_error *error)
{
	json_t *object = options ? json_loads(options, 0, NULL) : NULL;
	int result;

	assert_true(!options || object);
	result = lane_request_parse(object, request, error);
	json_decref(object);
	return result;
}

static void expect(const char *options, enum lane_request_kind kind,
		   const char *interconnect, const char *text)
{
	struct fairlead_error error;
	struct lane_request request;

	assert_int_equal(parse(options, &request, &error), 0);
	assert_int_equal(request.kind, kind);
	assert_string_equal(request.interconnect, interconnect);
	assert_string_equal(request.options, text);
}

static void refuse(const char *options, const char *text)
{
	struct lane_request request = { .kind = 17 };
	struct fairlead_error error = { 0 };

	assert_int_equal(parse(options, &request, &error), -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	if (!strstr(error.text, text))
		fail_msg("no '%s' in: %s", text, error.text);
	assert_int_equal(request.kind, 17);
}

static void who_says_nothing_gets_the_default(void **state)
{
	expect(NULL, LANE_REQUEST_UNSET, "", "");
	expect("{}", LANE_REQUEST_UNSET, "", "");
	expect("{\"verbose\":1}", LANE_REQUEST_UNSET, "", "");
}

static void options_of_flux_coral2_mean_the_same(void **state)
{
	expect("{\"cray-slingshot\":\"off\"}", LANE_REQUEST_OFF, "", "");
	expect("{\"cray-slingshot\":{\"vnicount\":0}}", LANE_REQUEST_NONE, "",
	       "");
	expect("{\"cray-slingshot\":{\"vnicount\":1}}", LANE_REQUEST_LANE,
	       "slingshot", "vnis=1");
	expect("{\"cray-slingshot\":{\"vnicount\":4}}", LANE_REQUEST_LANE,
	       "slingshot", "vnis=4");
}

static void they_are_refused_with_the_same_words(void **state)
{
	refuse("{\"cray-slingshot\":{\"vnicount\":42}}",
	       "VNI count must be within 1-4");
	refuse("{\"cray-slingshot\":{\"vnicount\":-1}}",
	       "VNI count must be within 1-4");
	refuse("{\"cray-slingshot\":{\"vnicount\":5000000000}}",
	       "VNI count must be within 1-4");
	refuse("{\"cray-slingshot\":{\"vnicount\":\"bad\"}}",
	       "error parsing cray-slingshot shell options: Expected integer, "
	       "got string");
	refuse("{\"cray-slingshot\":\"on\"}",
	       "-o cray-slingshot: invalid option: on");
	refuse("{\"cray-slingshot\":{\"colour\":1}}",
	       "-o cray-slingshot: invalid option: colour");
	refuse("{\"cray-slingshot\":1}", "say 'cray-slingshot=off'");
	refuse("{\"cray-slingshot\":{}}", "say 'cray-slingshot=off'");
}

static void options_of_an_interconnect_are_passed_on(void **state)
{
	expect("{\"fairlead\":\"off\"}", LANE_REQUEST_OFF, "", "");
	expect("{\"fairlead\":\"vnis=2,tcs=LOW_LATENCY:BULK_DATA\"}",
	       LANE_REQUEST_LANE, "", "vnis=2,tcs=LOW_LATENCY:BULK_DATA");
	expect("{\"fairlead\":\"interconnect=ethernet\"}", LANE_REQUEST_LANE,
	       "ethernet", "");
	expect("{\"fairlead\":\"vnis=1,interconnect=ethernet,rate=5\"}",
	       LANE_REQUEST_LANE, "ethernet", "vnis=1,rate=5");
	expect("{\"fairlead\":\"vnis=0\"}", LANE_REQUEST_NONE, "", "vnis=0");
	expect("{\"fairlead\":\"interconnect=none\"}", LANE_REQUEST_NONE,
	       "none", "");
	/* It is the driver's to refuse. */
	expect("{\"fairlead\":\"off,vnis=1\"}", LANE_REQUEST_LANE, "",
	       "off,vnis=1");
}

static void text_that_is_no_option_is_refused(void **state)
{
	char big[700] = "{\"fairlead\":\"";

	refuse("{\"fairlead\":\"\"}", "it is empty");
	refuse("{\"fairlead\":\",\"}", "nothing stands before or after");
	refuse("{\"fairlead\":\"vnis=1,\"}", "nothing stands before or after");
	refuse("{\"fairlead\":\"=1\"}", "is not NAME or NAME=VALUE");
	refuse("{\"fairlead\":\"Vnis=1\"}", "is not NAME or NAME=VALUE");
	refuse("{\"fairlead\":\"vnis=$(id)\"}", "another character");
	refuse("{\"fairlead\":\"a b\"}", "byte 0x20 at offset 1");
	refuse("{\"fairlead\":\"a\\u001bb\"}", "byte 0x1b at offset 1");
	refuse("{\"fairlead\":\"\\u00e9\"}", "byte 0xc3 at offset 0");
	refuse("{\"fairlead\":\"interconnect=\"}", "does not name");
	refuse("{\"fairlead\":\"interconnect=abcdefghijklmnopq\"}",
	       "does not name");
	refuse("{\"fairlead\":\"interconnect=a,interconnect=b\"}", "twice");
	refuse("{\"fairlead\":1}", "it is no text but integer");
	refuse("{\"fairlead\":{\"vnis\":1}}", "it is no text but object");
	refuse("{\"fairlead\":\"off\",\"cray-slingshot\":\"off\"}",
	       "say one of them");
	memset(big + strlen(big), 'a', 512);
	strcat(big, "\"}");
	refuse(big, "longer than 511");
}

static void the_longest_text_is_taken_whole(void **state)
{
	char longest[700] = "{\"fairlead\":\"";
	char text[512] = { 0 };

	memset(text, 'a', 511);
	strcat(longest, text);
	strcat(longest, "\"}");
	expect(longest, LANE_REQUEST_LANE, "", text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_says_nothing_gets_the_default),
		cmocka_unit_test(options_of_flux_coral2_mean_the_same),
		cmocka_unit_test(they_are_refused_with_the_same_words),
		cmocka_unit_test(options_of_an_interconnect_are_passed_on),
		cmocka_unit_test(text_that_is_no_option_is_refused),
		cmocka_unit_test(the_longest_text_is_taken_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
