/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manager and node as fairleadd has them, both roles on one loop with their
 * real files and sockets: a job's life, and each side's restart in the middle.
 */
#include "lanes/manager/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lanes/proto/client.h"
#include "lanes/proto/keyfile.h"
#include "lanes/node/guard/test/dir_driver.h"
#include "lanes/node/role.h"
#include "lanes/node/test/launcher.h"
#include "sys/net.h"
#include "sys/rng.h"
#include "sys/test/watchdog.h"

struct bench {
	char folder[40];
	char conf[64];
	uint16_t port;
	struct log log;
	char lines[65536];
	uv_loop_t loop;
	struct manager *manager;
	bool is_stopped;
	const struct launcher *launcher;
	struct guard_handle guard;
	struct node_role *node;
	struct net *net;
	bool is_open;
	json_t *answer;
};

static void on_line(void *sink_data, enum log_level level, const char *line)
{
	struct bench *bench = sink_data;
	size_t size = strlen(bench->lines);

	snprintf(bench->lines + size, sizeof(bench->lines) - size, "%s: %s\n",
		 log_level_format(level), line);
}

#define run_until(bench, condition) \
	while (!(condition))        \
	uv_run(&(bench)->loop, UV_RUN_ONCE)

/* --- files --- */

static void put(const struct bench *bench, const char *name,
		const struct writer *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", bench->folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fchmod(fileno(file), 0600), 0);
	assert_int_equal(fwrite(text->data, 1, text->size, file), text->size);
	assert_int_equal(fclose(file), 0);
}

static void put_text(const struct bench *bench, const char *name,
		     const char *text)
{
	const struct writer writer = {
		.data = (uint8_t *)text,
		.size = strlen(text),
	};

	put(bench, name, &writer);
}

static void put_keys(const struct bench *bench)
{
	struct rng_seam rng = sys_rng();
	struct writer text = { 0 };
	struct manager_keys keys;
	struct node_keys node;

	manager_keys_create(&rng, &keys);
	assert_int_equal(manager_keys_format(&keys, &text), 0);
	put(bench, "manager.key", &text);
	writer_fini(&text);
	assert_int_equal(node_keys_make(&keys, "n1", &node, NULL), 0);
	assert_int_equal(node_keys_format(&node, &text), 0);
	put(bench, "node.key", &text);
	writer_fini(&text);
	node_keys_fini(&node);
	manager_keys_fini(&keys);
}

static void put_config(const struct bench *bench)
{
	const char *folder = bench->folder;
	char text[2048];

	snprintf(text, sizeof(text),
		 "cluster = \"test\"\n"
		 "manager {\n"
		 "  listen = \"127.0.0.1:%u\"\n"
		 "  socket = \"%s/manager.sock\"\n"
		 "  state = \"%s/state\"\n"
		 "  key = \"%s/manager.key\"\n"
		 "  nodes = \"n1\"\n"
		 "  interconnect = \"dir\"\n"
		 "  revoke_timeout = 1\n"
		 "}\n"
		 "node {\n"
		 "  name = \"n1\"\n"
		 "  manager = \"127.0.0.1:%u\"\n"
		 "  socket = \"%s/node.sock\"\n"
		 "  run = \"%s/run\"\n"
		 "  jobs = \"%s/jobs\"\n"
		 "  key = \"%s/node.key\"\n"
		 "  incarnation = \"%s\"\n"
		 "}\n"
		 "driver \"dir\" { path = \"%s/hw\" }\n",
		 bench->port, folder, folder, folder, bench->port, folder,
		 folder, folder, folder, folder, folder);
	put_text(bench, "fairlead.conf", text);
}

static const struct fairlead_driver *const drivers[] = { &dir_driver, NULL };

static struct config *read_config(const struct bench *bench)
{
	struct config *config;
	char *errors;

	if (config_load(bench->conf, CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
			drivers, 1, &config, &errors) < 0)
		fail_msg("%s", errors);
	return config;
}

/* --- the roles --- */

static void start_manager(struct bench *bench)
{
	struct fairlead_error error = { .text = "" };
	const struct descriptor_shares shares =
		descriptors_share(DESCRIPTORS_OF_ROLE);
	struct manager_options options = {
		.shares = &shares,
		.loop = &bench->loop,
		.config_path = bench->conf,
		.roles = CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
		.drivers = drivers,
		.driver_count = 1,
		.log = &bench->log,
	};

	if (manager_start(&options, read_config(bench), &bench->manager,
			  &error) < 0)
		fail_msg("%s", error.text);
}

static void on_stopped(void *ctx)
{
	struct bench *bench = ctx;

	bench->is_stopped = true;
}

static void stop_manager(struct bench *bench)
{
	bench->is_stopped = false;
	manager_stop(bench->manager, on_stopped, bench);
	run_until(bench, bench->is_stopped);
}

static void on_ended(void *ctx, const char *why)
{
	fail_msg("the node has ended: %s", why);
}

/* Its state says nothing of that: it is up for as long as its lease. */
static size_t registrations(const struct bench *bench)
{
	const char *line = bench->lines;
	size_t count = 0;

	while ((line = strstr(line, "info: registered manager="))) {
		line++;
		count++;
	}
	return count;
}

/* It has registered when this returns. */
static void start_node(struct bench *bench)
{
	size_t before = registrations(bench);
	struct fairlead_error error = { .text = "" };
	struct config *config = read_config(bench);
	const struct descriptor_shares shares =
		descriptors_share(DESCRIPTORS_OF_ROLE);
	struct node_options options = {
		.shares = &shares,
		.loop = &bench->loop,
		.config_path = bench->conf,
		.roles = CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE,
		.drivers = drivers,
		.driver_count = 1,
		.guard = &bench->guard,
		.log = &bench->log,
		.ended = on_ended,
		.ended_ctx = bench,
	};

	if (launcher_guard_start(bench->launcher, bench->conf, &bench->guard,
				 &error) < 0 ||
	    node_start(&options, config, &bench->node, &error) < 0)
		fail_msg("%s", error.text);
	run_until(bench, registrations(bench) > before);
}

static void stop_node(struct bench *bench)
{
	node_stop(bench->node);
	launcher_guard_stop(bench->launcher, &bench->guard);
}

/* --- a client --- */

static void on_opened(void *ctx, uint64_t peer,
		      const struct net_peer_info *info)
{
	struct bench *bench = ctx;

	bench->is_open = true;
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct bench *bench = ctx;
	struct fairlead_error error;

	assert_int_equal(client_parse(frame, size, &bench->answer, &error), 0);
}

static void on_closed(void *ctx, uint64_t peer, int reason)
{
}

static const struct net_events events = {
	.opened = on_opened,
	.received = on_received,
	.closed = on_closed,
};

/* Ask at one of the sockets; the answer is the bench's until the next one. */
static json_t *ask(struct bench *bench, const char *socket, const char *request)
{
	struct net_seam seam = net_seam(bench->net);
	struct fairlead_error error;
	char path[128];
	uint64_t peer;

	snprintf(path, sizeof(path), "%s/%s", bench->folder, socket);
	bench->is_open = false;
	assert_int_equal(net_dial(bench->net, path, &peer, &error), 0);
	run_until(bench, bench->is_open);
	json_decref(bench->answer);
	bench->answer = NULL;
	assert_int_equal(
		seam.ops->send(seam.ctx, peer, request, strlen(request)), 0);
	run_until(bench, bench->answer);
	seam.ops->close(seam.ctx, peer);
	return bench->answer;
}

static json_t *call(struct bench *bench, const char *socket,
		    const char *request, int expected)
{
	json_t *answer = ask(bench, socket, request);
	int result = (int)json_integer_value(json_object_get(answer, "result"));

	if (result != expected)
		fail_msg("%s: %s\n%s", request,
			 json_dumps(answer, JSON_INDENT(2)), bench->lines);
	return answer;
}

static void wait_for(struct bench *bench, const char *state)
{
	static const char request[] = "{\"v\":1,\"id\":1,\"op\":\"node-list\"}";
	json_t *nodes;

	do {
		nodes = json_object_get(call(bench, "manager.sock", request, 0),
					"nodes");
	} while (strcmp(json_string_value(json_object_get(
				json_array_get(nodes, 0), "state")),
			state) != 0);
}

static size_t node_grants(struct bench *bench)
{
	static const char request[] =
		"{\"v\":1,\"id\":1,\"op\":\"node-status\"}";

	return json_array_size(json_object_get(
		call(bench, "node.sock", request, 0), "grants"));
}

static void reserve_and_apply(struct bench *bench, int job)
{
	char request[256];
	json_int_t grant_id;

	snprintf(request, sizeof(request),
		 "{\"v\":1,\"id\":1,\"op\":\"reserve\",\"request\":"
		 "{\"key\":\"test/%d/0\",\"uid\":0,\"gid\":0,"
		 "\"nodes\":\"n1\"}}",
		 job);
	grant_id = json_integer_value(json_object_get(
		call(bench, "manager.sock", request, 0), "grant_id"));
	snprintf(request, sizeof(request),
		 "{\"v\":1,\"id\":1,\"op\":\"apply\",\"grant_id\":%lld}",
		 grant_id);
	call(bench, "manager.sock", request, 0);
}

static void node_op(struct bench *bench, const char *op, int job, int expected)
{
	char request[256];

	snprintf(request, sizeof(request),
		 "{\"v\":1,\"id\":1,\"op\":\"%s\",\"job\":\"test/%d\","
		 "\"timeout_ms\":1000}",
		 op, job);
	call(bench, "node.sock", request, expected);
}

static void release(struct bench *bench, int job)
{
	char request[256];

	snprintf(request, sizeof(request),
		 "{\"v\":1,\"id\":1,\"op\":\"release\",\"key\":\"test/%d/0\"}",
		 job);
	call(bench, "manager.sock", request, 0);
}

/* --- setting up --- */

static void port_find(struct bench *bench)
{
	struct net_options options = {
		.events = &events,
		.events_ctx = bench,
		.connections_max = 1,
	};
	struct fairlead_error error;
	struct net *net;

	net = net_create(&bench->loop, &options);
	assert_int_equal(
		net_listen_tcp(net, "127.0.0.1:0", &bench->port, &error), 0);
	net_destroy(net);
}

static int setup(void **state)
{
	static struct bench bench;
	struct net_options options = {
		.events = &events,
		.events_ctx = &bench,
		.connections_max = 8,
	};

	char path[64];

	bench = (struct bench){
		.folder = "/tmp/node-manager-XXXXXX",
		.launcher = *state,
	};
	watchdog_start(bench.lines);
	assert_true(sodium_init() >= 0);
	signal(SIGPIPE, SIG_IGN);
	assert_non_null(mkdtemp(bench.folder));
	snprintf(bench.conf, sizeof(bench.conf), "%s/fairlead.conf",
		 bench.folder);
	bench.log = (struct log){
		.level = LOG_LEVEL_INFO,
		.sink = on_line,
		.sink_data = &bench,
	};
	assert_int_equal(uv_loop_init(&bench.loop), 0);
	port_find(&bench);
	put_keys(&bench);
	put_config(&bench);
	snprintf(path, sizeof(path), "%s/hw", bench.folder);
	assert_int_equal(mkdir(path, 0700), 0);
	put_text(&bench, "boot_id", "01234567-89ab-cdef-0123-456789abcdef\n");
	bench.net = net_create(&bench.loop, &options);
	start_manager(&bench);
	start_node(&bench);
	wait_for(&bench, "up");
	*state = &bench;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	struct bench *bench = *state;

	stop_node(bench);
	stop_manager(bench);
	net_destroy(bench->net);
	uv_run(&bench->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&bench->loop), 0);
	json_decref(bench->answer);
	assert_int_equal(
		nftw(bench->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	watchdog_stop();
	return 0;
}

/* Reserving is root's. */
#define need_root()                                                           \
	do {                                                                  \
		if (getuid() != 0) {                                          \
			print_message("needs root, who alone may reserve\n"); \
			skip();                                               \
		}                                                             \
	} while (0)

/* --- tests --- */

static void job_goes_through_its_life(void **state)
{
	struct bench *bench = *state;

	need_root();
	reserve_and_apply(bench, 1);
	node_op(bench, "prolog", 1, 0);
	assert_int_equal(node_grants(bench), 1);
	release(bench, 1);
	assert_int_equal(node_grants(bench), 0);
	node_op(bench, "epilog", 1, 0);
}

static void epilog_may_come_before_the_release(void **state)
{
	struct bench *bench = *state;

	need_root();
	reserve_and_apply(bench, 1);
	node_op(bench, "epilog", 1, 0);
	assert_int_equal(node_grants(bench), 0);
	release(bench, 1);
	reserve_and_apply(bench, 2);
	release(bench, 2);
}

static void job_outlives_the_restart_of_its_node(void **state)
{
	struct bench *bench = *state;

	need_root();
	reserve_and_apply(bench, 1);
	stop_node(bench);
	start_node(bench);
	assert_int_equal(node_grants(bench), 1);
	node_op(bench, "prolog", 1, 0);
	reserve_and_apply(bench, 2);
	release(bench, 1);
	release(bench, 2);
	assert_int_equal(node_grants(bench), 0);
}

static void job_outlives_the_restart_of_the_manager(void **state)
{
	struct bench *bench = *state;

	need_root();
	reserve_and_apply(bench, 1);
	stop_manager(bench);
	start_manager(bench);
	wait_for(bench, "up");
	reserve_and_apply(bench, 2);
	assert_int_equal(node_grants(bench), 2);
	release(bench, 1);
	release(bench, 2);
	assert_int_equal(node_grants(bench), 0);
}

static bool has(const struct bench *bench, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", bench->folder, name);
	return access(path, F_OK) == 0;
}

static size_t quarantined(struct bench *bench)
{
	static const char request[] =
		"{\"v\":1,\"id\":1,\"op\":\"quarantine\"}";

	return json_array_size(json_object_get(
		call(bench, "manager.sock", request, 0), "identifiers"));
}

static void busy_lane_stays_in_quarantine_until_the_node_confirms(void **state)
{
	struct bench *bench = *state;

	need_root();
	reserve_and_apply(bench, 1);
	assert_true(has(bench, "hw/2000"));
	assert_true(has(bench, "jobs/test/1/0"));
	put_text(bench, "hw/2000", "busy");
	release(bench, 1);
	assert_int_equal(quarantined(bench), 1);
	node_op(bench, "housekeeping", 1, -EBUSY);
	/* The manager gets the report, and drains the node. */
	run_until(bench, strstr(bench->lines, "node drained"));
	put_text(bench, "hw/2000", "");
	node_op(bench, "housekeeping", 1, 0);
	while (quarantined(bench) > 0)
		continue;
	assert_false(has(bench, "hw/2000"));
	assert_false(has(bench, "jobs/test"));
}

static void node_that_lost_its_journal_is_cleaned(void **state)
{
	struct bench *bench = *state;
	char path[128];

	need_root();
	reserve_and_apply(bench, 1);
	stop_node(bench);
	snprintf(path, sizeof(path), "%s/run/journal", bench->folder);
	assert_int_equal(unlink(path), 0);
	start_node(bench);
	release(bench, 1);
	assert_false(has(bench, "hw/2000"));
	assert_false(has(bench, "jobs/test"));
	assert_int_equal(quarantined(bench), 0);
}

static void manager_can_look_at_the_node(void **state)
{
	static const char *const kinds[] = { "grants", "devices", "objects" };
	struct bench *bench = *state;
	char request[128];
	json_t *answer;

	need_root();
	for (size_t i = 0; i < 3; i++) {
		snprintf(request, sizeof(request),
			 "{\"v\":1,\"id\":1,\"op\":\"node-query\","
			 "\"nodes\":\"n1\",\"what\":\"%s\"}",
			 kinds[i]);
		answer = call(bench, "manager.sock", request, 0);
		answer = json_array_get(json_object_get(answer, "answers"), 0);
		assert_int_equal(
			json_integer_value(json_object_get(answer, "result")),
			0);
		answer = json_object_get(answer, "answer");
		assert_true(json_is_array(json_object_get(answer, kinds[i])));
	}
}

/* What the node's `clean` says, by the manager. */
static json_t *node_clean(struct bench *bench, int result)
{
	json_t *answer = call(bench, "manager.sock",
			      "{\"v\":1,\"id\":1,\"op\":\"node-clean\","
			      "\"nodes\":\"n1\"}",
			      0);

	answer = json_array_get(json_object_get(answer, "answers"), 0);
	assert_int_equal(json_integer_value(json_object_get(answer, "result")),
			 result);
	return json_object_get(answer, "answer");
}

static void clean_takes_no_lane_that_is_in_use(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	need_root();
	reserve_and_apply(bench, 1);
	reserve_and_apply(bench, 2);
	answer = node_clean(bench, 0);
	assert_int_equal(json_array_size(json_object_get(answer, "destroyed")),
			 0);
	put_text(bench, "hw/2000", "busy");
	release(bench, 1);
	answer = node_clean(bench, -EBUSY);
	assert_int_equal(json_array_size(json_object_get(answer, "left")), 1);
	assert_int_equal(quarantined(bench), 1);
	put_text(bench, "hw/2000", "");
	answer = node_clean(bench, 0);
	assert_int_equal(json_array_size(json_object_get(answer, "left")), 0);
	while (quarantined(bench) > 0)
		continue;
	assert_false(has(bench, "hw/2000"));
	/* The other job's lane is as it was. */
	assert_int_equal(node_grants(bench), 1);
	node_op(bench, "prolog", 2, 0);
	release(bench, 2);
}

static int start_launcher(void **state)
{
	static struct launcher launcher;

	launcher_start(CONFIG_ROLE_MANAGER | CONFIG_ROLE_NODE, drivers,
		       &launcher);
	*state = &launcher;
	return 0;
}

static int stop_launcher(void **state)
{
	launcher_stop(*state);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(job_goes_through_its_life),
		TEST(epilog_may_come_before_the_release),
		TEST(job_outlives_the_restart_of_its_node),
		TEST(job_outlives_the_restart_of_the_manager),
		TEST(busy_lane_stays_in_quarantine_until_the_node_confirms),
		TEST(node_that_lost_its_journal_is_cleaned),
		TEST(manager_can_look_at_the_node),
		TEST(clean_takes_no_lane_that_is_in_use),
	};

	return cmocka_run_group_tests(tests, start_launcher, stop_launcher);
}
