/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node role as a whole: a real guard, real sockets, one loop. The manager
 * and the client are nets of their own on the same loop.
 */
#include "lanes/node/role.h"

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
#include <endian.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "lanes/driver/driver.h"
#include "lanes/endpoint/endpoint.h"
#include "lanes/manager/fanout/fanout.h"
#include "lanes/proto/client.h"
#include "lanes/proto/combined.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/nid.h"
#include "lanes/proto/parcel.h"
#include "lanes/node/test/launcher.h"
#include "sys/net.h"
#include "sys/rng.h"
#include "sys/test/watchdog.h"

#define NODE      "n1"
#define OTHER_UID 65534
#define CROWD     8 /* connections of one user */

struct bench {
	char folder[40];
	char conf[64];
	uint16_t port;
	const char *manager; /* instead of the port */
	struct manager_keys keys;
	struct command_key command_key;
	struct node_master masters[KEYS_MAX];
	size_t master_count;
	struct log log;
	char lines[16384];
	uv_loop_t loop;
	const struct launcher *launcher;
	struct guard_handle guard;
	struct node_role *node;
	char ended[128];
	/* The manager's end. */
	struct net *nodes;
	uint64_t peer;
	struct endpoint *endpoint;
	struct rounds *rounds;
	unsigned int links;
	uint64_t sequence;
	unsigned int greeted;
	bool has_confirm;
	struct confirm confirm; /* the last one; without what it owned */
	/* The client's end. */
	struct net *client;
	uint64_t client_peer;
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

static void put(const struct bench *bench, const char *name, const void *bytes,
		size_t size)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", bench->folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fchmod(fileno(file), 0600), 0);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void put_keys(const struct bench *bench)
{
	struct writer text = { 0 };
	struct node_keys keys;

	assert_int_equal(node_keys_make(&bench->keys, NODE, &keys, NULL), 0);
	assert_int_equal(node_keys_format(&keys, &text), 0);
	put(bench, "node.key", text.data, text.size);
	writer_fini(&text);
	node_keys_fini(&keys);
}

static void put_config_with(const struct bench *bench, unsigned int epilog_s,
			    const char *jobs, const char *more)
{
	char manager[32], text[1024];

	snprintf(manager, sizeof(manager), "127.0.0.1:%u", bench->port);
	snprintf(text, sizeof(text),
		 "cluster = \"test\"\n"
		 "node {\n"
		 "  name = \"%s\"\n"
		 "  manager = \"%s\"\n"
		 "  socket = \"%s/node.sock\"\n"
		 "  run = \"%s/run\"\n"
		 "  jobs = \"%s/%s\"\n"
		 "  key = \"%s/node.key\"\n"
		 "  incarnation = \"%s/boot_id\"\n"
		 "  epilog_timeout = %u\n"
		 "}\n%s",
		 NODE, bench->manager ? bench->manager : manager, bench->folder,
		 bench->folder, bench->folder, jobs, bench->folder,
		 bench->folder, epilog_s, more);
	put(bench, "fairlead.conf", text, strlen(text));
}

static void put_config(const struct bench *bench, unsigned int epilog_s)
{
	put_config_with(bench, epilog_s, "jobs", "");
}

static size_t driver_count(void)
{
	size_t count = 0;

	while (driver_table[count])
		count++;
	return count;
}

static struct config *read_config(const struct bench *bench)
{
	struct config *config;
	char *errors;

	if (config_load(bench->conf, CONFIG_ROLE_NODE, driver_table,
			driver_count(), &config, &errors) < 0)
		fail_msg("%s", errors);
	return config;
}

/* --- the manager --- */

static void send_frame(struct bench *bench, enum frame_type type,
		       const struct writer *payload)
{
	struct net_seam seam = net_seam(bench->nodes);
	struct writer frame = { 0 };

	frame_begin(&frame, type);
	write_bytes(&frame, payload->data, payload->size);
	assert_int_equal(seam.ops->send(seam.ctx, bench->peer, frame.data,
					frame.size),
			 0);
	writer_fini(&frame);
}

static void seal_command(struct bench *bench, enum command_op op,
			 uint64_t grant_id, struct writer *body,
			 struct writer *ret_bytes)
{
	struct command command = {
		.version = 1,
		.op = (uint8_t)op,
		.epoch = 1,
		.life = 1,
		.sequence = ++bench->sequence,
		.grant_id = grant_id,
		.body = body->data,
		.body_size = body->size,
	};

	*ret_bytes = (struct writer){ 0 };
	assert_int_equal(command_seal(&bench->command_key, &command, ret_bytes),
			 0);
	writer_fini(body);
}

static void take_confirm(struct bench *bench, const void *bytes, size_t size)
{
	struct confirm confirm;

	assert_int_equal(confirm_open(bench->masters, bench->master_count,
				      bytes, size, &confirm),
			 0);
	bench->has_confirm = true;
	bench->confirm = confirm;
	confirm_fini(&confirm);
}

static void on_part(void *ctx, uint64_t id, const void *bytes, size_t size)
{
	const uint8_t *confirm;
	struct bench *bench = ctx;
	struct combined combined;
	size_t cursor = 0;

	assert_int_equal(combined_init(&combined, 1), 0);
	assert_int_equal(combined_merge(&combined, bytes, size), 0);
	assert_true(combined_carried_next(&combined, &cursor, &confirm, &size));
	take_confirm(bench, confirm, size);
	combined_fini(&combined);
}

static void on_collective_ended(void *ctx, uint64_t id, int result,
				const struct round_failure *failures,
				size_t count)
{
	assert_int_equal(result, 0);
	assert_int_equal(count, 0);
}

static const struct round_events round_events = {
	.part = on_part,
	.ended = on_collective_ended,
};

static void on_progressed(void *ctx)
{
	struct bench *bench = ctx;

	rounds_settle(bench->rounds);
}

static void open_endpoint(struct bench *bench)
{
	const struct endpoint_options options = {
		.loop = &bench->loop,
		.nid = NID_MANAGER,
		.provider = "tcp;ofi_rxm",
		.host = "127.0.0.1",
		.progressed = on_progressed,
		.ctx = bench,
	};
	struct hop_keys hops;
	struct fairlead_error error;

	if (endpoint_open(&options, &bench->endpoint, &error) < 0)
		fail_msg("%s", error.text);
	manager_keys_hops(&bench->keys, &hops);
	endpoint_keys(bench->endpoint, &hops);
	assert_int_equal(rounds_create(endpoint_scoll(bench->endpoint),
				       &round_events, bench, &bench->rounds),
			 0);
}

static void on_node_opened(void *ctx, uint64_t peer,
			   const struct net_peer_info *info)
{
	struct challenge challenge = { .version = WIRE_VERSION };
	struct writer payload = { 0 };
	struct bench *bench = ctx;

	bench->peer = peer;
	bench->links++;
	assert_int_equal(challenge_encode(&challenge, &payload), 0);
	send_frame(bench, FRAME_CHALLENGE, &payload);
	writer_fini(&payload);
}

static void greet(struct bench *bench, const struct frame *frame)
{
	static const uint8_t nonce[NONCE_SIZE];
	struct hello_body hello = { .node = NODE };
	struct round_seam seam = rounds_seam(bench->rounds);
	struct registration registration;
	struct writer body = { 0 }, bytes;

	assert_int_equal(registration_open(bench->masters, bench->master_count,
					   nonce, frame->payload, frame->size,
					   &registration),
			 0);
	memcpy(hello.nonce, registration.node_nonce, NONCE_SIZE);
	memcpy(hello.cluster, bench->keys.cluster, CLUSTER_ID_SIZE);
	seam.ops->address(seam.ctx, nid_of_node(NODE), registration.address,
			  registration.address_size);
	registration_fini(&registration);
	assert_int_equal(hello_body_encode(&hello, &body), 0);
	seal_command(bench, COMMAND_HELLO, 0, &body, &bytes);
	send_frame(bench, FRAME_COMMAND, &bytes);
	writer_fini(&bytes);
	bench->greeted++;
}

static void on_node_received(void *ctx, uint64_t peer, const void *bytes,
			     size_t size)
{
	struct bench *bench = ctx;
	struct frame frame;

	assert_int_equal(frame_parse(bytes, size, &frame), 0);
	if (frame.type == FRAME_REGISTER)
		greet(bench, &frame);
	else if (frame.type == FRAME_CONFIRM)
		take_confirm(bench, frame.payload, frame.size);
}

static void on_closed(void *ctx, uint64_t peer, int reason)
{
}

static const struct net_events node_events = {
	.opened = on_node_opened,
	.received = on_node_received,
	.closed = on_closed,
};

static void apply(struct bench *bench, uint64_t grant_id)
{
	struct apply_body apply = {
		.driver = "none",
		.uid = geteuid(),
		.gid = getegid(),
		.nodes = NODE,
		.cores = "1",
		.tasks = "1",
	};
	struct round_seam seam = rounds_seam(bench->rounds);
	const uint64_t nid = nid_of_node(NODE);
	struct round_request request = {
		.nids = &nid,
		.count = 1,
		.parcel = { .is_separate = true,
			    .patience_ms = 60000,
			    .part_bytes = PARCEL_PART_MIN },
	};
	struct writer body = { 0 }, bytes;

	snprintf(apply.key, sizeof(apply.key), "s/j%u/0",
		 (unsigned int)grant_id);
	assert_int_equal(apply_body_encode(&apply, &body), 0);
	bench->has_confirm = false;
	seal_command(bench, COMMAND_APPLY, grant_id, &body, &bytes);
	request.id = bench->sequence;
	request.parcel.command = bytes.data;
	request.parcel.command_size = bytes.size;
	assert_int_equal(seam.ops->start(seam.ctx, &request), 0);
	writer_fini(&bytes);
	run_until(bench, bench->has_confirm);
	assert_int_equal(bench->confirm.op, COMMAND_APPLY);
	assert_int_equal(bench->confirm.result, 0);
}

/* --- the client --- */

static void on_client_opened(void *ctx, uint64_t peer,
			     const struct net_peer_info *info)
{
	struct bench *bench = ctx;

	bench->is_open = true;
}

static void on_client_received(void *ctx, uint64_t peer, const void *frame,
			       size_t size)
{
	struct bench *bench = ctx;
	struct fairlead_error error;

	assert_int_equal(client_parse(frame, size, &bench->answer, &error), 0);
}

static const struct net_events client_events = {
	.opened = on_client_opened,
	.received = on_client_received,
	.closed = on_closed,
};

static json_t *call(struct bench *bench, const char *op, const char *job)
{
	struct net_seam seam = net_seam(bench->client);
	json_t *request = client_request(1, op);
	struct writer frame = { 0 };
	struct fairlead_error error;
	char path[128];

	if (!bench->is_open) {
		snprintf(path, sizeof(path), "%s/node.sock", bench->folder);
		assert_int_equal(net_dial(bench->client, path,
					  &bench->client_peer, &error),
				 0);
		run_until(bench, bench->is_open);
	}
	if (job)
		json_object_set_new(request, "job", json_string(job));
	assert_int_equal(client_encode(request, &frame), 0);
	json_decref(request);
	json_decref(bench->answer);
	bench->answer = NULL;
	assert_int_equal(seam.ops->send(seam.ctx, bench->client_peer,
					frame.data, frame.size),
			 0);
	writer_fini(&frame);
	run_until(bench, bench->answer);
	return bench->answer;
}

/* --- setting up --- */

static void on_ended(void *ctx, const char *why)
{
	struct bench *bench = ctx;

	snprintf(bench->ended, sizeof(bench->ended), "%s", why);
}

static int start_node(struct bench *bench, struct fairlead_error *error)
{
	const struct descriptor_shares shares =
		descriptors_share(DESCRIPTORS_OF_ROLE);
	struct node_options options = {
		.shares = &shares,
		.loop = &bench->loop,
		.config_path = bench->conf,
		.roles = CONFIG_ROLE_NODE,
		.drivers = driver_table,
		.driver_count = driver_count(),
		.guard = &bench->guard,
		.log = &bench->log,
		.ended = on_ended,
		.ended_ctx = bench,
	};

	return node_start(&options, read_config(bench), &bench->node, error);
}

static void open_loop(struct bench *bench)
{
	struct net_options nodes = {
		.events = &node_events,
		.events_ctx = bench,
		.connections_max = 8,
	};
	struct net_options client = {
		.events = &client_events,
		.events_ctx = bench,
		.connections_max = 8,
	};
	struct fairlead_error error;

	assert_int_equal(uv_loop_init(&bench->loop), 0);
	bench->nodes = net_create(&bench->loop, &nodes);
	assert_int_equal(net_listen_tcp(bench->nodes, "127.0.0.1:0",
					&bench->port, &error),
			 0);
	bench->client = net_create(&bench->loop, &client);
}

static int setup(void **state)
{
	static const char boot_id[] = "01234567-89ab-cdef-0123-456789abcdef\n";
	static struct bench bench;
	struct rng_seam rng = sys_rng();
	struct fairlead_error error = { .text = "" };

	bench = (struct bench){
		.folder = "/tmp/node-role-XXXXXX",
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
	manager_keys_create(&rng, &bench.keys);
	manager_keys_command(&bench.keys, &bench.command_key);
	bench.master_count = manager_keys_masters(&bench.keys, bench.masters);
	put_keys(&bench);
	put(&bench, "boot_id", boot_id, strlen(boot_id));
	bench.port = 1;
	put_config(&bench, 5);
	if (launcher_guard_start(bench.launcher, bench.conf, &bench.guard,
				 &error) < 0)
		fail_msg("%s", error.text);
	open_loop(&bench);
	open_endpoint(&bench);
	put_config(&bench, 5);
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

	node_stop(bench->node);
	endpoint_close(bench->endpoint);
	rounds_destroy(bench->rounds);
	net_destroy(bench->nodes);
	net_destroy(bench->client);
	uv_run(&bench->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&bench->loop), 0);
	launcher_guard_stop(bench->launcher, &bench->guard);
	json_decref(bench->answer);
	assert_int_equal(
		nftw(bench->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	watchdog_stop();
	return 0;
}

static void start(struct bench *bench)
{
	struct fairlead_error error = { .text = "" };

	if (start_node(bench, &error) < 0)
		fail_msg("%s", error.text);
}

/* --- tests --- */

static const char *text_at(const json_t *answer, const char *object,
			   const char *name)
{
	return json_string_value(
		json_object_get(json_object_get(answer, object), name));
}

static void node_registers_obeys_and_serves(void **state)
{
	struct bench *bench = *state;
	struct stat status;
	json_t *answer, *grant;
	char path[128];

	start(bench);
	run_until(bench, bench->greeted);
	apply(bench, 7);
	answer = call(bench, "node-status", NULL);
	assert_string_equal(text_at(answer, "manager", "state"), "up");
	grant = json_array_get(json_object_get(answer, "grants"), 0);
	assert_string_equal(json_string_value(json_object_get(grant, "state")),
			    "applied");
	answer = call(bench, "epilog", "s/j7");
	if (geteuid() == 0) {
		assert_int_equal(
			json_array_size(json_object_get(answer, "revoked")), 1);
		/* The manager hears of it. */
		bench->has_confirm = false;
		run_until(bench, bench->has_confirm);
		assert_int_equal(bench->confirm.op, 0);
		assert_int_equal(bench->confirm.grant_id, 7);
	} else {
		assert_int_equal(
			json_integer_value(json_object_get(answer, "result")),
			-EPERM);
	}
	snprintf(path, sizeof(path), "%s/node.sock", bench->folder);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0666);
}

/* Of another user, with all the requests that it may have in the pipe. */
static int crowd_connect(const struct bench *bench)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct writer frame = { 0 };
	json_t *request = client_request(1, "devices");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/node.sock",
		 bench->folder);
	assert_int_equal(seteuid(OTHER_UID), 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(client_encode(request, &frame), 0);
	json_decref(request);
	for (int i = 0; i < CLIENT_REQUESTS_MAX; i++) {
		uint32_t size = htole32((uint32_t)frame.size);

		assert_int_equal(write(fd, &size, sizeof(size)), sizeof(size));
		assert_int_equal(write(fd, frame.data, frame.size), frame.size);
	}
	writer_fini(&frame);
	return fd;
}

/* Answers that have come since the last call. */
static size_t crowd_answers(const int *fds)
{
	char bytes[65536];
	size_t count = 0;
	uint32_t size;

	for (int i = 0; i < CROWD; i++) {
		while (recv(fds[i], &size, sizeof(size), MSG_DONTWAIT) ==
		       sizeof(size)) {
			assert_in_range(le32toh(size), 1, sizeof(bytes));
			assert_int_equal(recv(fds[i], bytes, le32toh(size), 0),
					 le32toh(size));
			count++;
		}
	}
	return count;
}

static void one_user_does_not_keep_roots_hooks_waiting(void **state)
{
	struct bench *bench = *state;
	int fds[CROWD];

	if (geteuid() != 0) {
		print_message("needs root, which goes first\n");
		skip();
	}
	assert_int_equal(chmod(bench->folder, 0755), 0);
	start(bench);
	call(bench, "devices", NULL);
	for (int i = 0; i < CROWD; i++)
		fds[i] = crowd_connect(bench);
	run_until(bench, crowd_answers(fds) > 0);
	call(bench, "devices", NULL);
	/* One in each round, while the request and its answer are on the way. */
	assert_in_range(crowd_answers(fds), 0, CROWD);
	for (int i = 0; i < CROWD; i++)
		close(fds[i]);
}

static void node_comes_back_when_its_link_breaks(void **state)
{
	struct bench *bench = *state;
	struct net_seam seam = net_seam(bench->nodes);

	start(bench);
	run_until(bench, bench->greeted);
	seam.ops->close(seam.ctx, bench->peer);
	run_until(bench, bench->greeted == 2);
	apply(bench, 7);
	assert_int_equal(bench->links, 2);
}

static void node_ends_with_its_guard(void **state)
{
	struct bench *bench = *state;

	start(bench);
	run_until(bench, bench->greeted);
	assert_int_equal(kill(bench->guard.pid, SIGKILL), 0);
	run_until(bench, *bench->ended);
	assert_string_equal(bench->ended, "the guard has ended");
}

static void reload_takes_keys_and_timeouts_and_keeps_what_is_wrong(void **state)
{
	struct bench *bench = *state;
	struct rng_seam rng = sys_rng();
	json_t *answer;

	start(bench);
	run_until(bench, bench->greeted);
	assert_int_equal(manager_keys_rotate(&bench->keys, &rng, NULL), 0);
	put_keys(bench);
	put_config(bench, 7);
	node_reload(bench->node);
	run_until(bench, strstr(bench->lines, "the key file was read again"));
	answer = call(bench, "node-status", NULL);
	assert_int_equal(json_array_size(json_object_get(answer, "keys")), 2);
	put(bench, "fairlead.conf", "nonsense", 8);
	node_reload(bench->node);
	assert_non_null(strstr(bench->lines, "stays as it was"));
	call(bench, "node-status", NULL);
}

static size_t waits_for_restart(struct bench *bench)
{
	const json_t *answer = call(bench, "node-status", NULL);

	return json_array_size(json_object_get(answer, "restart"));
}

static void reload_names_what_waits_for_a_restart(void **state)
{
	struct bench *bench = *state;
	size_t size;

	start(bench);
	run_until(bench, bench->greeted);
	assert_int_equal(waits_for_restart(bench), 0);
	put_config_with(bench, 7, "elsewhere",
			"driver \"slingshot\" { library = \"/lib/x\" }\n");
	for (int i = 0; i < 2; i++) {
		size = strlen(bench->lines);
		node_reload(bench->node);
		assert_non_null(strstr(
			bench->lines + size,
			"ignored until a restart setting=\"node jobs: "));
		assert_non_null(
			strstr(bench->lines + size,
			       "ignored until a restart setting=\"driver "
			       "'slingshot': on instead of off"));
		assert_int_equal(waits_for_restart(bench), 2);
	}
	put_config(bench, 7);
	node_reload(bench->node);
	assert_int_equal(waits_for_restart(bench), 0);
}

static void start_says_what_is_wrong(void **state)
{
	struct bench *bench = *state;
	struct fairlead_error error;
	struct node_role *first;

	start(bench);
	first = bench->node;
	assert_int_equal(start_node(bench, &error), -EADDRINUSE);
	assert_non_null(strstr(error.text, "node.sock"));
	bench->node = first;
	run_until(bench, bench->greeted);
}

static int start_launcher(void **state)
{
	static struct launcher launcher;

	launcher_start(CONFIG_ROLE_NODE, driver_table, &launcher);
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
		TEST(node_registers_obeys_and_serves),
		TEST(one_user_does_not_keep_roots_hooks_waiting),
		TEST(node_comes_back_when_its_link_breaks),
		TEST(node_ends_with_its_guard),
		TEST(reload_takes_keys_and_timeouts_and_keeps_what_is_wrong),
		TEST(reload_names_what_waits_for_a_restart),
		TEST(start_says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, start_launcher, stop_launcher);
}
