/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that runs out at any place is an error, and nothing is kept. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lanes/client/handle.h"
#include "lanes/client/test/peer.h"
#include "lanes/proto/grant.h"
#include "lanes/proto/keyfile.h"
#include "sim/heap.h"
#include "sim/rng.h"

/* A version, key 1, and one node. */
static const uint8_t sealed_by_nobody[1 + 4 + 24 + 4 + 48 + 4 + 16] = {
	[0] = 1, [1] = 1, [29] = 1, [81] = 16
};

/* Call, answer, close; each callback is made once if its call was started. */
static int use_connection(void *ctx)
{
	struct seen seen = { 0 };
	struct fairlead *handle;
	int fds[2];
	int result;
	bool is_started;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	result = handle_create(fds[0], NULL, &handle);
	if (result < 0) {
		close(fds[1]);
		return result;
	}
	result = fairlead_call_start(handle, "status", "{\"a\":1}", seen_answer,
				     &seen, NULL);
	is_started = result == 0;
	if (is_started) {
		peer_answer(fds[1], "{\"v\":1,\"id\":1,\"result\":0}");
		result = fairlead_process(handle);
	}
	fairlead_close(handle);
	close(fds[1]);
	assert_int_equal(seen.count, is_started);
	return result > 0 ? 0 : result;
}

static void a_connection_without_memory_fails(void **state)
{
	unsigned int n = 1;
	int result;

	for (; sim_heap_fails(n, &result, use_connection, NULL); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_true(n > 2);
}

static int parse_grant(void *ctx)
{
	struct fairlead_grant *grant = NULL;
	int result = fairlead_grant_parse(ctx, &grant, NULL);

	assert_true((result == 0) == (grant != NULL));
	fairlead_grant_destroy(grant);
	return result;
}

static void a_grant_without_memory_is_none(void **state)
{
	const struct grant grant = { .grant_id = 7,
				     .epoch = 3,
				     .public_text = "{}" };
	unsigned int n = 1;
	int result;
	char *text;

	assert_int_equal(grant_format(&grant, &text), 0);
	for (; sim_heap_fails(n, &result, parse_grant, text); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_true(n > 4);
	free(text);
}

struct opening {
	struct fairlead_grant *grant;
	char path[64];
};

/* It is sealed by nobody, which is found when there is memory enough. */
static int open_grant(void *ctx)
{
	struct fairlead_secret *secret = NULL;
	struct opening *opening = ctx;
	int result = fairlead_grant_open(opening->grant, opening->path, &secret,
					 NULL);

	assert_null(secret);
	return result == -EKEYREJECTED ? 0 : result;
}

static void a_secret_without_memory_is_none(void **state)
{
	const struct grant grant = {
		.grant_id = 7,
		.public_text = "{\"grant_id\":7,\"key\":\"slurm/17/0\","
			       "\"interconnect\":\"elan3\",\"nodes\":\"n1\","
			       "\"uid\":0,\"gid\":0,\"ids\":[],"
			       "\"options\":\"\",\"has_lane\":true,"
			       "\"context\":{}}",
		.sealed = sealed_by_nobody,
		.sealed_size = sizeof(sealed_by_nobody),
	};
	struct opening opening = { .path = "/tmp/fairlead-memory-XXXXXX" };
	struct manager_keys keys;
	struct node_keys node;
	struct writer writer = { 0 };
	struct sim_rng rng;
	struct rng_seam seam;
	unsigned int n = 1;
	int result, fd;
	char *text;

	sim_rng_init(&rng, 1);
	seam = sim_rng_seam(&rng);
	manager_keys_create(&seam, &keys);
	assert_int_equal(node_keys_make(&keys, "n1", &node, NULL), 0);
	assert_int_equal(node_keys_format(&node, &writer), 0);
	fd = mkstemp(opening.path);
	assert_int_equal(write(fd, writer.data, writer.size), writer.size);
	close(fd);
	assert_int_equal(grant_format(&grant, &text), 0);
	assert_int_equal(fairlead_grant_parse(text, &opening.grant, NULL), 0);
	for (; sim_heap_fails(n, &result, open_grant, &opening); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_true(n > 1);
	fairlead_grant_destroy(opening.grant);
	writer_fini(&writer);
	free(text);
	unlink(opening.path);
}

static void refuse_variable(void *arg, const char *name, const char *value)
{
	(*(int *)arg)++;
}

static int read_environment(void *ctx)
{
	int count = 0;
	int result = fairlead_env_read(ctx, "slurm", "17", 0, getuid(),
				       refuse_variable, &count, NULL);

	assert_int_equal(count, result == 0 ? 2 : 0);
	return result;
}

static void an_environment_without_memory_has_no_variables(void **state)
{
	char folder[] = "/tmp/fairlead-memory-XXXXXX";
	char path[64];
	unsigned int n = 1;
	int result, fd;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/slurm", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	strcat(path, "/17");
	assert_int_equal(mkdir(path, 0755), 0);
	strcat(path, "/0");
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "A=1\nB\n", 6), 6);
	close(fd);
	for (; sim_heap_fails(n, &result, read_environment, folder); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_true(n > 1);
	unlink(path);
	for (int i = 0; i < 3; i++) {
		*strrchr(path, '/') = 0;
		rmdir(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_without_memory_fails),
		cmocka_unit_test(a_grant_without_memory_is_none),
		cmocka_unit_test(a_secret_without_memory_is_none),
		cmocka_unit_test(
			an_environment_without_memory_has_no_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
