/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "lanes/proto/message.h"
#include "sim/heap.h"

#define MINIMAL "'key':'slurm/1','uid':1000,'gid':100,'nodes':'n[0-3]'"

/* Parse with ' for ". */
static json_t *json_of(const char *text)
{
	char *copy = strdup(text);
	json_t *json;

	for (char *at = copy; (at = strchr(at, '\'')) != NULL;)
		*at = '"';
	json = json_loads(copy, 0, NULL);
	assert_non_null(json);
	free(copy);
	return json;
}

static int parse(const char *text, struct request **ret_request,
		 struct fairlead_error *error)
{
	json_t *json = json_of(text);
	int result = request_parse_json(json, "none", ret_request, error);

	json_decref(json);
	return result;
}

static struct request *accepted(const char *text)
{
	struct fairlead_error error;
	struct request *request = NULL;

	if (parse(text, &request, &error) < 0)
		fail_msg("%s: %s", text, error.text);
	return request;
}

static void minimal_request_gets_the_defaults(void **state)
{
	struct request *request = accepted("{" MINIMAL "}");

	assert_string_equal(request->key_text, "slurm/1/0");
	assert_string_equal(request->key.submitter, "slurm");
	assert_true(request->key.has_attempt);
	assert_int_equal(request->uid, 1000);
	assert_int_equal(request->gid, 100);
	assert_int_equal(request->nodes->count, 4);
	assert_string_equal(request->nodes->names[3], "n3");
	assert_string_equal(request->nodes_text, "n[0-3]");
	assert_string_equal(request->cores_text, "1");
	assert_string_equal(request->tasks_text, "1");
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(request->cores[i], 1);
		assert_int_equal(request->tasks[i], 1);
	}
	assert_int_equal(request->cpus_per_task, 1);
	assert_string_equal(request->interconnect, "none");
	assert_string_equal(request->options, "");
	request_destroy(request);
}

static void full_request_is_expanded(void **state)
{
	static const uint32_t tasks[] = { 16, 16, 16, 2 };
	struct request *request =
		accepted("{'key':'flux/f1/3','uid':0,'gid':4294967294,"
			 "'nodes':'n0,n1,n2,n3','cores':8,"
			 "'tasks':'16,16(x2),2','cpus_per_task':2,"
			 "'interconnect':'slingshot','options':'vnis=2'}");

	assert_string_equal(request->key_text, "flux/f1/3");
	assert_int_equal(request->gid, 4294967294u);
	assert_string_equal(request->nodes_text, "n[0-3]");
	assert_string_equal(request->cores_text, "8");
	assert_string_equal(request->tasks_text, "16(x3),2");
	assert_memory_equal(request->tasks, tasks, sizeof(tasks));
	assert_int_equal(request->cpus_per_task, 2);
	assert_string_equal(request->interconnect, "slingshot");
	assert_string_equal(request->options, "vnis=2");
	request_destroy(request);
}

static void bad_requests_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{ "[]", "not a JSON object" },
		{ "{" MINIMAL ",'vnis':2}", "unknown member 'vnis'" },
		{ "{'uid':0,'gid':0,'nodes':'n0'}", "'key' is missing" },
		{ "{'key':1,'uid':0,'gid':0,'nodes':'n0'}",
		  "'key' is not a text" },
		{ "{'key':'slurm/../1','uid':0,'gid':0,'nodes':'n0'}",
		  "must not be '..'" },
		{ "{'key':'s/1','gid':0,'nodes':'n0'}", "'uid' is missing" },
		{ "{'key':'s/1','uid':-1,'gid':0,'nodes':'n0'}", "'uid'" },
		{ "{'key':'s/1','uid':1.0,'gid':0,'nodes':'n0'}", "'uid'" },
		{ "{'key':'s/1','uid':'1','gid':0,'nodes':'n0'}", "'uid'" },
		{ "{'key':'s/1','uid':4294967295,'gid':0,'nodes':'n0'}",
		  "'uid' is not a number from 0 to 4294967294" },
		{ "{'key':'s/1','uid':0,'nodes':'n0'}", "'gid' is missing" },
		{ "{'key':'s/1','uid':0,'gid':4294967295,'nodes':'n0'}",
		  "'gid'" },
		{ "{'key':'s/1','uid':0,'gid':0}", "'nodes' is missing" },
		{ "{'key':'s/1','uid':0,'gid':0,'nodes':''}", "host list" },
		{ "{'key':'s/1','uid':0,'gid':0,'nodes':'n[0-'}", "host list" },
		{ "{'key':'s/1','uid':0,'gid':0,'nodes':'n[0-2],n1'}",
		  "node 'n1' stands twice" },
		{ "{'key':'s/1','uid':0,'gid':0,'nodes':null}",
		  "'nodes' is not a text" },
		{ "{" MINIMAL ",'cores':0}", "'cores' is not a number from 1" },
		{ "{" MINIMAL ",'cores':65536}", "'cores'" },
		{ "{" MINIMAL ",'cores':true}", "'cores'" },
		{ "{" MINIMAL ",'cores':''}", "member 'cores': " },
		{ "{" MINIMAL ",'cores':'1,2'}", "member 'cores': " },
		{ "{" MINIMAL ",'cores':'1(x5)'}", "member 'cores': " },
		{ "{" MINIMAL ",'cores':'1,2,0,3'}", "node with 0" },
		{ "{" MINIMAL ",'cores':'1,2,70000,3'}", "member 'cores': " },
		{ "{" MINIMAL ",'tasks':'x'}", "member 'tasks': " },
		{ "{" MINIMAL ",'tasks':-1}", "'tasks'" },
		{ "{" MINIMAL ",'cpus_per_task':0}", "'cpus_per_task'" },
		{ "{" MINIMAL ",'cpus_per_task':65536}", "'cpus_per_task'" },
		{ "{" MINIMAL ",'interconnect':'../x'}",
		  "'../x' is not the name of an interconnect" },
		{ "{" MINIMAL ",'interconnect':7}", "'interconnect'" },
		{ "{" MINIMAL ",'options':{}}", "'options' is not a text" },
		{ "{" MINIMAL ",'options':'a\\n'}", "printable ASCII" },
		{ "{" MINIMAL ",'options':'\xc3\xbc'}", "printable ASCII" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fairlead_error error = { 0 };
		struct request *request = NULL;

		assert_int_equal(parse(cases[i].text, &request, &error),
				 -EINVAL);
		assert_int_equal(error.code, -EINVAL);
		assert_null(request);
		if (strstr(error.text, cases[i].part) == NULL)
			fail_msg("%s: '%s' is not in '%s'", cases[i].text,
				 cases[i].part, error.text);
	}
}

static void assert_too_big(const char *text, const char *part)
{
	struct fairlead_error error = { 0 };
	struct request *request = NULL;

	assert_int_equal(parse(text, &request, &error), -E2BIG);
	if (strstr(error.text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static void too_many_nodes_are_refused(void **state)
{
	request_destroy(accepted("{'key':'s/1','uid':0,'gid':0,"
				 "'nodes':'n[0-65535]'}"));
	assert_too_big("{'key':'s/1','uid':0,'gid':0,'nodes':'n[0-65536]'}",
		       "more than 65536");
}

static void options_have_a_limit(void **state)
{
	char text[1024], options[FAIRLEAD_OPTIONS_MAX + 2];

	memset(options, 'o', sizeof(options));
	options[FAIRLEAD_OPTIONS_MAX] = 0;
	snprintf(text, sizeof(text), "{" MINIMAL ",'options':'%s'}", options);
	request_destroy(accepted(text));
	options[FAIRLEAD_OPTIONS_MAX] = 'o';
	options[FAIRLEAD_OPTIONS_MAX + 1] = 0;
	snprintf(text, sizeof(text), "{" MINIMAL ",'options':'%s'}", options);
	assert_too_big(text, "'options'");
}

/* Names that share nothing: the shortest form is as long as the list. */
static void unlike_names_have_a_limit(void **state)
{
	struct writer writer = { 0 };
	char name[NODE_NAME_MAX + 1];
	const char head[] = "{'key':'s/1','uid':0,'gid':0,'nodes':'";

	write_bytes(&writer, head, sizeof(head) - 1);
	memset(name, 'x', sizeof(name));
	for (unsigned int i = 0; i <= NODES_TEXT_MAX / 64; i++) {
		name[snprintf(name, sizeof(name), "n%05u-%05u", i, i)] = 'x';
		name[NODE_NAME_MAX] = ',';
		write_bytes(&writer, name, sizeof(name));
	}
	writer.size--;
	write_bytes(&writer, "'}", 3);
	assert_int_equal(writer.result, 0);
	assert_too_big((const char *)writer.data, "'nodes'");
	writer_fini(&writer);
}

static void uneven_counts_have_a_limit(void **state)
{
	struct writer writer = { 0 };
	const char head[] = "{'key':'s/1','uid':0,'gid':0,"
			    "'nodes':'n[0-29999]','tasks':'";

	write_bytes(&writer, head, sizeof(head) - 1);
	for (unsigned int i = 0; i < 30000; i++)
		write_bytes(&writer, i % 2 ? "10001," : "10002,", 6);
	writer.size--;
	write_bytes(&writer, "'}", 3);
	assert_int_equal(writer.result, 0);
	assert_too_big((const char *)writer.data, "'tasks'");
	writer_fini(&writer);
}

static void assert_same_digest(const char *one, const char *other, bool is_same)
{
	uint8_t digests[2][REQUEST_DIGEST_SIZE];
	struct request *request = accepted(one);

	request_digest(request, digests[0]);
	request_destroy(request);
	request = accepted(other);
	request_digest(request, digests[1]);
	request_destroy(request);
	if ((memcmp(digests[0], digests[1], REQUEST_DIGEST_SIZE) == 0) !=
	    is_same)
		fail_msg("%s and %s are%s the same", one, other,
			 is_same ? " not" : "");
}

static void digest_is_the_same_for_the_same_request(void **state)
{
	static const char *const same[] = {
		"{'nodes':'n[0-3]','gid':100,'uid':1000,'key':'slurm/1'}",
		"{'key':'slurm/1/0','uid':1000,'gid':100,'nodes':'n[0-3]'}",
		"{'key':'slurm/1','uid':1000,'gid':100,'nodes':'n0,n[1-3]'}",
		"{" MINIMAL ",'cores':1}",
		"{" MINIMAL ",'cores':'1(x4)'}",
		"{" MINIMAL ",'tasks':'1,1,1,1','cpus_per_task':1}",
		"{" MINIMAL ",'interconnect':'none','options':''}",
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		assert_same_digest("{" MINIMAL "}", same[i], true);
}

static void digest_tells_requests_apart(void **state)
{
	static const char *const others[] = {
		"{'key':'slurm/2','uid':1000,'gid':100,'nodes':'n[0-3]'}",
		"{'key':'slurm/1/1','uid':1000,'gid':100,'nodes':'n[0-3]'}",
		"{'key':'slurm/1','uid':1001,'gid':100,'nodes':'n[0-3]'}",
		"{'key':'slurm/1','uid':1000,'gid':101,'nodes':'n[0-3]'}",
		"{'key':'slurm/1','uid':1000,'gid':100,'nodes':'n[0-2]'}",
		"{'key':'slurm/1','uid':1000,'gid':100,'nodes':'n3,n[0-2]'}",
		"{" MINIMAL ",'cores':2}",
		"{" MINIMAL ",'cores':'1(x3),2'}",
		"{" MINIMAL ",'tasks':2}",
		"{" MINIMAL ",'cpus_per_task':2}",
		"{" MINIMAL ",'interconnect':'elan3'}",
		"{" MINIMAL ",'options':'off'}",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_same_digest("{" MINIMAL "}", others[i], false);
}

static void digest_has_its_golden_bytes(void **state)
{
	struct request *request = accepted("{" MINIMAL ",'tasks':'2(x3),1'}");
	uint8_t digest[REQUEST_DIGEST_SIZE];
	char hex[2 * REQUEST_DIGEST_SIZE + 1];

	request_digest(request, digest);
	sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
	assert_string_equal(hex, "8ec5fccf6298b72d21bebb23b3f44884"
				 "f8e4c030c63d581aea19165797fa007b");
	request_destroy(request);
}

static int parse_case(void *ctx)
{
	struct request *request = NULL;
	int result = request_parse_json(ctx, "none", &request, NULL);

	request_destroy(request);
	return result;
}

static void request_says_when_memory_is_out(void **state)
{
	json_t *json = json_of("{" MINIMAL ",'cores':'1(x3),2'}");
	unsigned int n = 1;
	int result;

	while (sim_heap_fails(n++, &result, parse_case, json))
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_true(n > 8);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(minimal_request_gets_the_defaults),
		cmocka_unit_test(full_request_is_expanded),
		cmocka_unit_test(bad_requests_are_refused_with_the_reason),
		cmocka_unit_test(too_many_nodes_are_refused),
		cmocka_unit_test(options_have_a_limit),
		cmocka_unit_test(unlike_names_have_a_limit),
		cmocka_unit_test(uneven_counts_have_a_limit),
		cmocka_unit_test(digest_is_the_same_for_the_same_request),
		cmocka_unit_test(digest_tells_requests_apart),
		cmocka_unit_test(digest_has_its_golden_bytes),
		cmocka_unit_test(request_says_when_memory_is_out),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
