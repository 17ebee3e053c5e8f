/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager role as a whole: real journal, real sockets, one loop. The
 * client is a net of its own on the same loop.
 */
#include "lanes/manager/manager.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lanes/driver/driver.h"
#include "lanes/proto/client.h"
#include "lanes/proto/keyfile.h"
#include "sys/net.h"
#include "sys/rng.h"
#include "sys/test/watchdog.h"

struct bench {
	uv_loop_t loop;
	struct log log;
	char lines[65536];
	char folder[40];
	char conf[64];
	struct manager *manager;
	bool is_stopped;
	struct net *net;
	uint64_t peer;
	bool is_open;
	bool is_closed;
	json_t *answer;
	uint64_t id;
	uint64_t answered;
	uv_idle_t flood; /* asks in each turn of the loop */
};

#define FLOOD_OPEN_MAX 32

static void on_line(void *sink_data, enum log_level level, const char *line)
{
	struct bench *bench = sink_data;

	snprintf(bench->lines + strlen(bench->lines),
		 sizeof(bench->lines) - strlen(bench->lines), "%s: %s\n",
		 log_level_format(level), line);
}

/* Ops that only uid 0 may ask for cannot be asked for by another one. */
#define need_root()                                                          \
	do {                                                                 \
		if (getuid() != 0) {                                         \
			print_message(                                       \
				"needs root, for what only root may ask\n"); \
			skip();                                              \
		}                                                            \
	} while (0)

#define run_until(bench, condition) \
	while (!(condition))        \
	uv_run(&(bench)->loop, UV_RUN_ONCE)

/* --- a client --- */

static void on_opened(void *ctx, uint64_t peer,
		      const struct net_peer_info *info)
{
	struct bench *bench = ctx;

	bench->is_open = true;
}

static void on_flood(uv_idle_t *idle)
{
	struct bench *bench = idle->data;
	struct net_seam seam = net_seam(bench->net);
	char text[256];

	if (bench->id - bench->answered >= FLOOD_OPEN_MAX)
		return;
	snprintf(text, sizeof(text),
		 "{\"v\":1,\"id\":1,\"op\":\"reserve\",\"request\":{\"key\":"
		 "\"test/flood/"
		 "%u\",\"uid\":1000,\"gid\":1000,\"nodes\":\"n0\"}}",
		 (unsigned int)++bench->id);
	seam.ops->send(seam.ctx, bench->peer, text, strlen(text));
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct bench *bench = ctx;
	struct fairlead_error error;

	json_decref(bench->answer);
	assert_int_equal(client_parse(frame, size, &bench->answer, &error), 0);
	bench->answered++;
}

static void on_closed(void *ctx, uint64_t peer, int reason)
{
	struct bench *bench = ctx;

	bench->is_closed = true;
}

static const struct net_events events = {
	.opened = on_opened,
	.received = on_received,
	.closed = on_closed,
};

static void client_connect(struct bench *bench)
{
	struct net_options options = { .events = &events,
				       .events_ctx = bench,
				       .connections_max = 1 };
	struct fairlead_error error;
	char path[64];

	bench->net = net_create(&bench->loop, &options);
	snprintf(path, sizeof(path), "%s/socket", bench->folder);
	bench->is_open = false;
	bench->is_closed = false;
	assert_int_equal(net_dial(bench->net, path, &bench->peer, &error), 0);
	run_until(bench, bench->is_open || bench->is_closed);
	assert_true(bench->is_open);
}

static void client_send(struct bench *bench, const char *op, const char *more)
{
	struct net_seam seam = net_seam(bench->net);
	char text[512];

	snprintf(text, sizeof(text), "{\"v\":1,\"id\":%d,\"op\":\"%s\"%s%s}",
		 (int)++bench->id, op, more == NULL ? "" : ",",
		 more == NULL ? "" : more);
	assert_int_equal(
		seam.ops->send(seam.ctx, bench->peer, text, strlen(text)), 0);
}

/* Ask and take the answer with this result; to be freed. */
static json_t *client_ask(struct bench *bench, const char *op, const char *more,
			  int result)
{
	struct client_answer answer;
	struct fairlead_error error;
	json_t *object;

	client_send(bench, op, more);
	run_until(bench, bench->answer != NULL || bench->is_closed);
	object = bench->answer;
	bench->answer = NULL;
	assert_non_null(object);
	assert_int_equal(client_answer_open(object, &answer, &error), 0);
	if (answer.result != result)
		fail_msg("%s: %d (%s)", op, answer.result, answer.text);
	return object;
}

static size_t count_jobs(struct bench *bench)
{
	json_t *answer = client_ask(bench, "list", NULL, 0);
	size_t count = json_array_size(json_object_get(answer, "jobs"));

	json_decref(answer);
	return count;
}

static const char reserve_members[] =
	"\"request\":{\"key\":\"test/1/0\",\"uid\":1000,\"gid\":1000,"
	"\"nodes\":\"n0\"}";

/* --- the manager --- */

static void write_file(const char *folder, const char *name, mode_t mode,
		       const char *text, size_t size)
{
	_auto_(closep) int fd = -1;
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void write_config(struct bench *bench, const char *nodes,
			 const char *more)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "cluster = \"test\"\n"
		 "manager {\n"
		 "	listen = \"127.0.0.1:0\"\n"
		 "	socket = \"%s/socket\"\n"
		 "	state = \"%s/state\"\n"
		 "	key = \"%s/key\"\n"
		 "	user = \"root\"\n"
		 "	nodes = \"%s\"\n"
		 "	drain_command = \"%s/drain\"\n"
		 "	submitter \"test\" { uid = %u }\n"
		 "	%s\n"
		 "}\n",
		 bench->folder, bench->folder, bench->folder, nodes,
		 bench->folder, getuid() == 0 ? 4242 : getuid(), more);
	write_file(bench->folder, "conf", 0600, text, strlen(text));
}

static void write_keys(struct bench *bench)
{
	struct rng_seam rng = sys_rng();
	struct writer writer = { 0 };
	struct manager_keys keys;

	manager_keys_create(&rng, &keys);
	assert_int_equal(manager_keys_format(&keys, &writer), 0);
	write_file(bench->folder, "key", 0600, (char *)writer.data,
		   writer.size);
	writer_fini(&writer);
	manager_keys_fini(&keys);
}

/* The one that the configuration may name. */
static const struct fairlead_driver *none;

static int try_start(struct bench *bench, bool is_recovery,
		     struct manager **ret_manager,
		     struct fairlead_error *ret_error)
{
	const struct descriptor_shares shares =
		descriptors_share(DESCRIPTORS_OF_ROLE);
	const struct manager_options options = {
		.shares = &shares,
		.loop = &bench->loop,
		.config_path = bench->conf,
		.roles = CONFIG_ROLE_MANAGER,
		.drivers = &none,
		.driver_count = 1,
		.is_recovery = is_recovery,
		.log = &bench->log,
	};
	_auto_(freep) char *errors = NULL;
	struct config *config;

	none = driver_find("none");
	if (config_load(bench->conf, CONFIG_ROLE_MANAGER, &none, 1, &config,
			&errors) < 0)
		fail_msg("%s", errors);
	return manager_start(&options, config, ret_manager, ret_error);
}

static void start(struct bench *bench)
{
	struct fairlead_error error = { 0 };

	if (try_start(bench, false, &bench->manager, &error) < 0)
		fail_msg("%s", error.text);
	bench->is_stopped = false;
}

static void on_stopped(void *ctx)
{
	struct bench *bench = ctx;

	bench->is_stopped = true;
}

static void stop(struct bench *bench)
{
	net_destroy(take_ptr(bench->net));
	if (bench->manager == NULL)
		return;
	manager_stop(take_ptr(bench->manager), on_stopped, bench);
	run_until(bench, bench->is_stopped);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	static const char drain[] = "#!/bin/sh\n"
				    "printf '%s %s' \"$1\" \"$2\" > "
				    "\"${0%/*}/drained.new\"\n"
				    "mv \"${0%/*}/drained.new\" "
				    "\"${0%/*}/drained\"\n";

	watchdog_start(bench->lines);
	assert_true(sodium_init() >= 0);
	signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&bench->loop);
	bench->log = (struct log){ .level = LOG_LEVEL_INFO,
				   .sink = on_line,
				   .sink_data = bench };
	strcpy(bench->folder, "/tmp/fairlead-role-XXXXXX");
	assert_non_null(mkdtemp(bench->folder));
	snprintf(bench->conf, sizeof(bench->conf), "%s/conf", bench->folder);
	write_config(bench, "n[0-3]", "");
	write_keys(bench);
	write_file(bench->folder, "drain", 0700, drain, strlen(drain));
	start(bench);
	client_connect(bench);
	*state = bench;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int flag,
			struct FTW *ftw)
{
	return remove(path);
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	stop(bench);
	assert_int_equal(uv_run(&bench->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&bench->loop), 0);
	assert_int_equal(
		nftw(bench->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	json_decref(bench->answer);
	watchdog_stop();
	free(bench);
	return 0;
}

static void a_reservation_is_on_disk_when_it_is_answered(void **state)
{
	struct bench *bench = *state;

	json_decref(client_ask(bench, "reserve", reserve_members, 0));
	stop(bench);
	start(bench);
	client_connect(bench);
	assert_int_equal(count_jobs(bench), 1);
}

static void a_stop_finishes_what_is_on_its_way_to_the_disk(void **state)
{
	struct bench *bench = *state;

	client_send(bench, "reserve", reserve_members);
	client_send(bench, "status", NULL);
	/* The request has been read when the second one is. */
	run_until(bench, bench->answer != NULL);
	json_decref(take_ptr(bench->answer));
	stop(bench);
	start(bench);
	client_connect(bench);
	assert_int_equal(count_jobs(bench), 1);
}

static void a_stop_is_not_held_up_by_requests(void **state)
{
	struct bench *bench = *state;
	uint64_t sent;

	uv_idle_init(&bench->loop, &bench->flood);
	bench->flood.data = bench;
	uv_idle_start(&bench->flood, on_flood);
	run_until(bench, bench->answered > FLOOD_OPEN_MAX);
	sent = bench->id;
	manager_stop(take_ptr(bench->manager), on_stopped, bench);
	run_until(bench, bench->is_stopped);
	/* What came after the stop was not taken in. */
	assert_true(bench->answered <= sent);
	uv_close((uv_handle_t *)&bench->flood, NULL);
}

static void a_second_manager_with_the_same_state_is_refused(void **state)
{
	struct bench *bench = *state;
	struct fairlead_error error = { 0 };
	struct manager *second;

	assert_int_equal(try_start(bench, false, &second, &error), -EBUSY);
	assert_non_null(strstr(error.text, "state"));
	json_decref(client_ask(bench, "status", NULL, 0));
}

static void every_start_takes_a_higher_epoch(void **state)
{
	struct bench *bench = *state;
	json_t *answer = client_ask(bench, "status", NULL, 0);
	json_int_t epoch = json_integer_value(json_object_get(answer, "epoch"));

	json_decref(answer);
	stop(bench);
	start(bench);
	client_connect(bench);
	answer = client_ask(bench, "status", NULL, 0);
	assert_true(json_integer_value(json_object_get(answer, "epoch")) >
		    epoch);
	json_decref(answer);
}

static void a_reload_takes_new_nodes_live(void **state)
{
	struct bench *bench = *state;

	need_root();
	write_config(bench, "n[1-3]", "");
	json_decref(client_ask(bench, "reconfigure", NULL, 0));
	json_decref(client_ask(bench, "reserve", reserve_members, -ENOENT));
	write_config(bench, "n[0-3]", "");
	manager_reload(bench->manager);
	assert_non_null(strstr(bench->lines, "info: reloaded"));
	json_decref(client_ask(bench, "reserve", reserve_members, 0));
}

static void a_wrong_file_leaves_the_old_configuration(void **state)
{
	struct bench *bench = *state;
	json_t *answer;
	const char *text;

	need_root();
	write_config(bench, "n[3-1]", "colour = red");
	answer = client_ask(bench, "reconfigure", NULL, -EINVAL);
	text = json_string_value(json_object_get(answer, "error"));
	assert_non_null(strstr(text, "conf:8: 'nodes'"));
	assert_non_null(strstr(text, "conf:11: 'colour': no such setting"));
	json_decref(answer);
	manager_reload(bench->manager);
	assert_non_null(strstr(bench->lines, "reload refused"));
	json_decref(client_ask(bench, "reserve", reserve_members, 0));
}

/* What a reconfigure says. */
static void assert_changes(struct bench *bench, const char *expected)
{
	json_t *answer = client_ask(bench, "reconfigure", NULL, 0);

	assert_string_equal(
		json_string_value(json_object_get(answer, "changes")),
		expected);
	json_decref(answer);
}

static void what_needs_a_restart_is_said_until_there_is_one(void **state)
{
	static const char said[] = "manager metrics: '127.0.0.1:0' instead of "
				   "'' needs a restart";
	struct bench *bench = *state;

	need_root();
	write_config(bench, "n[0-3]", "metrics = \"127.0.0.1:0\"");
	assert_changes(bench, said);
	assert_changes(bench, said);
	stop(bench);
	start(bench);
	client_connect(bench);
	assert_changes(bench, "");
}

static void everything_that_was_taken_is_said(void **state)
{
	struct bench *bench = *state;

	need_root();
	write_config(bench, "n[0-4]",
		     "revoke_timeout = 3\nundrain_command = \"/bin/true\"");
	assert_changes(bench, "manager undrain_command: '' -> '/bin/true'\n"
			      "revoke_timeout: 10000 ms -> 3000 ms\n"
			      "nodes added: n4");
	assert_changes(bench, "");
}

static void keys_of_another_cluster_are_refused(void **state)
{
	struct bench *bench = *state;
	json_t *answer;

	need_root();
	write_keys(bench);
	answer = client_ask(bench, "reconfigure", NULL, -EINVAL);
	assert_non_null(
		strstr(json_string_value(json_object_get(answer, "error")),
		       "another cluster"));
	json_decref(answer);
}

/* Run until no notification of the site is pending. */
static void run_until_notified(struct bench *bench)
{
	json_t *answer;
	const char *text;
	bool is_notified;

	do {
		uv_run(&bench->loop, UV_RUN_NOWAIT);
		answer = client_ask(bench, "metrics", NULL, 0);
		text = json_string_value(json_object_get(answer, "text"));
		is_notified =
			strstr(text, "\nfairlead_nodes_drain_pending 0\n") !=
			NULL;
		json_decref(answer);
	} while (!is_notified);
}

static void draining_a_node_runs_the_sites_command(void **state)
{
	struct bench *bench = *state;
	char path[64];
	char text[64] = "";
	FILE *file;

	need_root();
	snprintf(path, sizeof(path), "%s/drained", bench->folder);
	json_decref(client_ask(bench, "node-drain",
			       "\"nodes\":\"n2\",\"reason\":\"bad cable\"", 0));
	run_until(bench, strstr(bench->lines, "command done") != NULL ||
				 strstr(bench->lines, "error:") != NULL);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "n2 bad cable");
	run_until_notified(bench);
	/* No command is configured for the end of a drain. */
	json_decref(client_ask(bench, "node-undrain", "\"nodes\":\"n2\"", 0));
	run_until_notified(bench);
}

static void a_key_that_others_can_read_stops_the_start(void **state)
{
	struct bench *bench = *state;
	struct fairlead_error error = { 0 };
	struct manager *manager;
	char path[64];

	stop(bench);
	snprintf(path, sizeof(path), "%s/key", bench->folder);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(try_start(bench, false, &manager, &error), -EPERM);
	assert_non_null(strstr(error.text, "0640"));
	/* What was opened is closed again. */
	assert_int_equal(chmod(path, 0600), 0);
	while (try_start(bench, false, &bench->manager, &error) == -EBUSY)
		uv_run(&bench->loop, UV_RUN_ONCE);
	assert_non_null(bench->manager);
	client_connect(bench);
	bench->is_stopped = false;
}

static void a_recovery_waits_for_the_nodes(void **state)
{
	struct bench *bench = *state;
	struct fairlead_error error = { 0 };
	json_t *answer;

	need_root();
	stop(bench);
	assert_int_equal(try_start(bench, true, &bench->manager, &error), 0);
	bench->is_stopped = false;
	client_connect(bench);
	answer = client_ask(bench, "status", NULL, 0);
	assert_true(json_is_true(json_object_get(answer, "recovering")));
	assert_string_equal(
		json_string_value(json_object_get(answer, "awaited")),
		"n[0-3]");
	json_decref(answer);
	json_decref(
		client_ask(bench, "recover-waive", "\"nodes\":\"n[0-3]\"", 0));
	answer = client_ask(bench, "status", NULL, 0);
	assert_true(json_is_false(json_object_get(answer, "recovering")));
	json_decref(answer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_reservation_is_on_disk_when_it_is_answered),
		TEST(a_stop_finishes_what_is_on_its_way_to_the_disk),
		TEST(a_stop_is_not_held_up_by_requests),
		TEST(a_second_manager_with_the_same_state_is_refused),
		TEST(every_start_takes_a_higher_epoch),
		TEST(a_reload_takes_new_nodes_live),
		TEST(a_wrong_file_leaves_the_old_configuration),
		TEST(what_needs_a_restart_is_said_until_there_is_one),
		TEST(everything_that_was_taken_is_said),
		TEST(keys_of_another_cluster_are_refused),
		TEST(draining_a_node_runs_the_sites_command),
		TEST(a_key_that_others_can_read_stops_the_start),
		TEST(a_recovery_waits_for_the_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
