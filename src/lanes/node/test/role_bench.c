/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node role as a whole: a real guard, real sockets, one loop. The manager
 * and the client are nets of their own on the same loop.
 */
#include "lanes/node/test/role_bench.h"

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
#include "sys/endpoint/endpoint.h"
#include "lanes/manager/fanout/fanout.h"
#include "lanes/proto/client.h"
#include "lanes/proto/combined.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/collective.h"
#include "lanes/node/test/launcher.h"
#include "sys/net.h"
#include "sys/rng.h"
#include "sys/test/watchdog.h"

#define NODE "n1"

static void on_line(void *sink_data, enum log_level level, const char *line)
{
	struct bench *bench = sink_data;
	size_t size = strlen(bench->lines);

	snprintf(bench->lines + size, sizeof(bench->lines) - size, "%s: %s\n",
		 log_level_format(level), line);
}

/* --- files --- */

void role_bench_put(const struct bench *bench, const char *name,
		    const void *bytes, size_t size)
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

void role_bench_put_keys(const struct bench *bench)
{
	struct writer text = { 0 };
	struct node_keys keys;

	assert_int_equal(node_keys_make(&bench->keys, NODE, &keys, NULL), 0);
	assert_int_equal(node_keys_format(&keys, &text), 0);
	role_bench_put(bench, "node.key", text.data, text.size);
	writer_fini(&text);
	node_keys_fini(&keys);
}

void role_bench_configure_with(const struct bench *bench, unsigned int epilog_s,
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
	role_bench_put(bench, "fairlead.conf", text, strlen(text));
}

void role_bench_configure(const struct bench *bench, unsigned int epilog_s)
{
	role_bench_configure_with(bench, epilog_s, "jobs", "");
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
	const struct bench *bench = ctx;

	if (bench->is_stopping) /* it may leave what is under way */
		return;
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
		.provider = "tcp",
		.host = "127.0.0.1",
		.authenticator = &bench->hop.authenticator,
		.progressed = on_progressed,
		.ctx = bench,
	};
	struct fairlead_error error;

	hop_init(&bench->hop, NID_MANAGER);
	manager_keys_hops(&bench->keys, &bench->hop.keys);
	if (endpoint_open(&options, &bench->endpoint, &error) < 0)
		fail_msg("%s", error.text);
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

void role_bench_apply(struct bench *bench, uint64_t grant_id)
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

json_t *role_bench_call(struct bench *bench, const char *op, const char *job)
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

int role_bench_start_node(struct bench *bench, struct fairlead_error *error)
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

int role_bench_setup(void **state)
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
	role_bench_put_keys(&bench);
	role_bench_put(&bench, "boot_id", boot_id, strlen(boot_id));
	bench.port = 1;
	role_bench_configure(&bench, 5);
	if (launcher_guard_start(bench.launcher, bench.conf, &bench.guard,
				 &error) < 0)
		fail_msg("%s", error.text);
	open_loop(&bench);
	open_endpoint(&bench);
	role_bench_configure(&bench, 5);
	*state = &bench;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

int role_bench_teardown(void **state)
{
	struct bench *bench = *state;

	bench->is_stopping = true;
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

void role_bench_start(struct bench *bench)
{
	struct fairlead_error error = { .text = "" };

	if (role_bench_start_node(bench, &error) < 0)
		fail_msg("%s", error.text);
}
