/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Power, the daemon's life, and its link to the manager. Whatever happens to
 * the daemon happens in an event of the queue; what was on its way to it is
 * dropped when it dies.
 */
#include "node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/driver/none/none.h"
#include "lanes/driver/slingshot/slingshot.h"
#include "leader.h"
#include "node_internal.h"
#include "oracle.h"

#define RESTART_MS 1000 /* the service manager's pause after a failed start */

/* --- death --- */

bool node_step(struct node *node)
{
	if (node->is_dead)
		return true;
	if (node->crash_at == 0 || --node->crash_at > 0)
		return false;
	node->is_dead = true;
	hardware_kill(node->hardware);
	coverage_hit(node->world->coverage, "fault:daemon-dies-in-call");
	return true;
}

static bool step(void *ctx)
{
	return node_step(ctx);
}

static void tasks_drop(struct node *node)
{
	struct node_task *task, *next;

	DL_FOREACH_SAFE (node->tasks, task, next) {
		DL_DELETE(node->tasks, task);
		sim_queue_cancel(node->world->queue, task->handle);
		free(task);
	}
	DL_FOREACH_SAFE (node->asked, task, next) {
		DL_DELETE(node->asked, task);
		free(task);
	}
}

static void daemon_end(struct node *node, bool is_silent)
{
	struct sim_queue *queue = node->world->queue;

	sim_queue_cancel(queue, node->start_event);
	sim_queue_cancel(queue, node->tick_event);
	node->start_event = 0;
	node->tick_event = 0;
	tasks_drop(node);
	node->is_turning = false;
	node->crash_at = 0;
	endpoint_close(take_ptr(node->endpoint));
	agent_destroy(take_ptr(node->agent));
	guard_destroy(take_ptr(node->guard));
	sim_host_destroy(take_ptr(node->host), is_silent);
	node_clients_lost(node);
	sim_file_close(take_ptr(node->journal));
	if (node->run != NULL) {
		sim_disk_fail_at(node->run, SIM_DISK_STOP, 0);
		sim_disk_kill(node->run);
	}
	node->is_dead = false;
	hardware_revive(node->hardware);
}

static void start_daemon(void *ctx);

static void start_later(struct node *node, uint64_t delay_ms)
{
	sim_queue_cancel(node->world->queue, node->start_event);
	node->start_event = 0;
	if (!node->is_held)
		node->start_event = sim_queue_add(node->world->queue, delay_ms,
						  start_daemon, node);
}

void node_crash(struct node *node, uint64_t restart_ms)
{
	if (!node->is_powered)
		return;
	world_trace(node->world, "%s the daemon dies", node->name);
	daemon_end(node, false);
	start_later(node, restart_ms);
}

void node_crash_at(struct node *node, unsigned int n)
{
	node->crash_at = n;
}

void node_hold(struct node *node, bool is_held)
{
	node->is_held = is_held;
	if (!is_held && node->is_powered && node->agent == NULL &&
	    node->start_event == 0)
		start_later(node, RESTART_MS);
}

/* --- time and tasks --- */

static void on_tick(void *ctx)
{
	struct node *node = ctx;

	node->tick_event = 0;
	hardware_choose(node->hardware);
	agent_tick(node->agent);
	hardware_choose(NULL);
	node_settle(node);
}

void node_settle(struct node *node)
{
	uint64_t now_ms = world_now_ms(node->world);
	uint64_t deadline_ms;

	if (node->is_dead) {
		node_crash(node, sim_rng_below(&node->rng, 3000));
		return;
	}
	if (node->agent == NULL)
		return;
	deadline_ms = agent_deadline_ms(node->agent);
	if (node->tick_event != 0 && node->tick_ms == deadline_ms)
		return;
	sim_queue_cancel(node->world->queue, node->tick_event);
	node->tick_event = 0;
	if (deadline_ms == DEADLINE_NONE)
		return;
	node->tick_ms = deadline_ms;
	node->tick_event =
		sim_queue_add(node->world->queue,
			      deadline_ms > now_ms ? deadline_ms - now_ms : 0,
			      on_tick, node);
}

static void on_task(void *ctx)
{
	struct node_task *task = ctx;
	struct node *node = task->node;

	DL_DELETE(node->tasks, task);
	hardware_choose(node->hardware);
	task->run(node, task->bytes, task->size);
	hardware_choose(NULL);
	free(task);
	node_settle(node);
}

void node_later(struct node *node, uint64_t delay_ms,
		void (*run)(struct node *node, const void *bytes, size_t size),
		const void *bytes, size_t size)
{
	struct node_task *task = world_allocate(sizeof(*task) + size);

	task->node = node;
	task->run = run;
	task->size = size;
	if (size > 0)
		memcpy(task->bytes, bytes, size);
	task->handle =
		sim_queue_add(node->world->queue, delay_ms, on_task, task);
	DL_APPEND(node->tasks, task);
}

/* --- the link to the manager --- */

static int dial(void *ctx, uint64_t *ret_peer, struct fairlead_error *ret_error)
{
	struct node *node = ctx;

	*ret_peer = sim_host_dial(node->host,
				  leader_address(node->world->leader), 0);
	return 0;
}

static void on_opened(void *ctx, uint64_t peer, const char *machine, uid_t uid)
{
	struct node *node = ctx;

	agent_manager_opened(node->agent, peer);
	node_settle(node);
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct node *node = ctx;

	agent_manager_received(node->agent, peer, frame, size);
	node_settle(node);
}

static void on_closed(void *ctx, uint64_t peer)
{
	struct node *node = ctx;

	agent_manager_closed(node->agent, peer, -ECONNRESET);
	node_settle(node);
}

static const struct sim_network_events link_events = {
	.opened = on_opened,
	.received = on_received,
	.closed = on_closed,
};

/* --- the start --- */

static void drivers_init(struct node *node)
{
	node->drivers[0] = (struct guard_driver){
		.driver = &slingshot_driver,
		.is_open = true,
		.state = hardware_driver_state(node->hardware),
	};
	node->drivers[1] = (struct guard_driver){
		.driver = &fabric_driver,
		.is_open = true,
		.state = node->fabric,
	};
	node->drivers[2] = (struct guard_driver){
		.driver = &none_driver,
		.is_open = true,
	};
	node->drivers[3] = (struct guard_driver){
		.driver = &elan_driver,
		.is_open = true,
		.state = node->elan,
	};
	node->driver_count = elan_is_there(node->world) ? 4 : 3;
}

static int start_guard(struct node *node, struct fairlead_error *ret_error)
{
	struct guard_config config = {
		.name = node->name,
		.software = "sim",
		.drivers = node->drivers,
		.driver_count = node->driver_count,
		.journal = node_journal(node),
		.rng = sim_rng_seam(&node->rng),
		.ops = &node_guard_ops,
		.ops_ctx = node,
	};

	memcpy(config.incarnation, node->incarnation, INCARNATION_SIZE);
	return guard_create(&config, &node->guard, ret_error);
}

static void take_hops(void *ctx, const struct hop_keys *keys)
{
	struct node *node = ctx;

	endpoint_hops(node->endpoint, keys);
}

static void take_answer(void *ctx, uint64_t collective, const void *bytes,
			size_t size, bool is_last)
{
	struct node *node = ctx;

	endpoint_answer(node->endpoint, collective, bytes, size, is_last);
}

static void take_returned(void *ctx)
{
	struct node *node = ctx;

	endpoint_returned(node->endpoint);
}

static void on_settled(void *ctx)
{
	node_settle(ctx);
}

static void start_agent(struct node *node)
{
	static const struct agent_ops ops = {
		.dial = dial,
		.ask = node_guard_ask,
		.hops = take_hops,
		.answer = take_answer,
		.returned = take_returned,
	};
	struct agent_options options = {
		.name = node->name,
		.manager = WORLD_MANAGER,
		.software = "sim",
		.timeouts = { .epilog_ms = 5000, .housekeeping_ms = 30000 },
		.drivers = node->drivers,
		.driver_count = node->driver_count,
		.clock = sim_clock_seam(&node->world->clock),
		.rng = sim_rng_seam(&node->rng),
		.clients_net = { .ops = &node_clients_ops, .ctx = node },
		.ops = &ops,
		.ops_ctx = node,
	};

	node->host = sim_host_create(node->world->node_network, node->name,
				     &link_events, node);
	options.manager_net = sim_host_seam(node->host);
	node->endpoint = endpoint_open_node(node->world->ether, node->index,
					    on_settled, node);
	options.address_size =
		endpoint_address(node->endpoint, options.address);
	memcpy(options.incarnation, node->incarnation, INCARNATION_SIZE);
	node->agent = agent_create(&options);
	if (agent_start(node->agent) < 0)
		abort();
	endpoint_serve(node->endpoint, node->agent);
}

static void start_daemon(void *ctx)
{
	struct node *node = ctx;
	struct fairlead_error error = { 0 };
	int result;

	node->start_event = 0;
	hardware_choose(node->hardware);
	result = start_guard(node, &error);
	hardware_choose(NULL);
	if (node->is_dead) {
		coverage_hit(node->world->coverage,
			     "fault:daemon-dies-starting");
		node_crash(node, sim_rng_below(&node->rng, 3000));
		return;
	}
	if (result < 0) {
		world_trace(node->world, "%s cannot start: %s", node->name,
			    error.text);
		if (result != -ENOSPC && result != -EIO)
			world_fail(node->world, "%s cannot start: %s",
				   node->name, error.text);
		coverage_hit(node->world->coverage, "fault:daemon-start-fails");
		start_later(node, RESTART_MS);
		return;
	}
	world_trace(node->world, "%s the daemon runs", node->name);
	start_agent(node);
	node_settle(node);
}

/* --- power --- */

static void on_boot(void *ctx)
{
	struct node *node = ctx;
	struct rng_seam rng = sim_rng_seam(&node->rng);

	node->boot_event = 0;
	if (node->is_locked) {
		node_boot(node, 500);
		return;
	}
	node->is_powered = true;
	node->boot_count++;
	rng_fill(&rng, node->incarnation, sizeof(node->incarnation));
	world_trace(node->world, "%s boots (%llu)", node->name,
		    (unsigned long long)node->boot_count);
	node_run_begin(node);
	oracle_booted(node->world->oracle, node);
	start_later(node, 0);
}

void node_boot(struct node *node, uint64_t delay_ms)
{
	if (node->is_powered || node->boot_event != 0)
		return;
	node->boot_event =
		sim_queue_add(node->world->queue, delay_ms, on_boot, node);
}

void node_power_off(struct node *node)
{
	if (!node->is_powered)
		return;
	world_trace(node->world, "%s loses its power", node->name);
	daemon_end(node, true);
	node->is_powered = false;
	node_run_end(node);
	hardware_reset(node->hardware);
	fabric_node_reset(node->fabric);
	elan_node_reset(node->elan);
	oracle_cleared(node->world->oracle, node);
}

void node_open_drivers(struct node *node)
{
	for (size_t i = 0; i < node->driver_count; i++)
		node->drivers[i].is_open = true;
}

void node_lock_power(struct node *node, bool is_locked)
{
	node->is_locked = is_locked;
}

/* --- faults of /run --- */

void node_fill(struct node *node, uint64_t bytes_left)
{
	if (node->run != NULL)
		sim_disk_set_capacity(node->run, bytes_left);
}

void node_fail_write(struct node *node, unsigned int n)
{
	if (node->run != NULL)
		sim_disk_fail_at(node->run, SIM_DISK_WRITE_ERROR, n);
}

void node_fail_environment(struct node *node, int error)
{
	node->environment_error = error;
}

static void make_keys(struct node *node)
{
	struct fairlead_error error;

	node_keys_fini(&node->keys);
	if (node_keys_make(&node->world->keys, node->name, &node->keys,
			   &error) < 0)
		world_fail(node->world, "no keys for %s: %s", node->name,
			   error.text);
}

void node_rekey(struct node *node)
{
	make_keys(node);
	if (node->agent == NULL)
		return;
	agent_reload(node->agent);
	node_settle(node);
}

/* --- what others want to know --- */

const char *node_name(const struct node *node)
{
	return node->name;
}

unsigned int node_index(const struct node *node)
{
	return node->index;
}

struct hardware *node_hardware(struct node *node)
{
	return node->hardware;
}

bool node_is_powered(const struct node *node)
{
	return node->is_powered;
}

bool node_is_running(const struct node *node)
{
	return node->agent != NULL;
}

uint64_t node_boot_count(const struct node *node)
{
	return node->boot_count;
}

const uint8_t *node_incarnation(const struct node *node)
{
	return node->incarnation;
}

uint32_t node_place_number(const struct node *node)
{
	return fabric_node_number(node->fabric);
}

const struct node_order *node_order(const struct node *node)
{
	return node->has_order ? &node->order : NULL;
}

void node_set_foreign(struct node *node, bool is_foreign)
{
	node->is_foreign = is_foreign;
}

bool node_is_foreign(const struct node *node)
{
	return node->is_foreign;
}

void node_expect_revoke(struct node *node, const char *job)
{
	struct expected_revoke *expected = world_allocate(sizeof(*expected));

	snprintf(expected->job, sizeof(expected->job), "%s", job);
	DL_APPEND(node->expected_revokes, expected);
}

/* One for a job stands for each of its attempts. */
bool node_expects_revoke(const struct node *node, const char *key)
{
	const struct expected_revoke *expected;

	DL_FOREACH (node->expected_revokes, expected) {
		size_t size = strlen(expected->job);

		if (strcmp(expected->job, NODE_ANY_JOB) == 0 ||
		    (strncmp(expected->job, key, size) == 0 &&
		     (key[size] == '/' || key[size] == 0)))
			return true;
	}
	return false;
}

/* --- the node --- */

static void made(void *ctx, const struct hardware_service *service)
{
	struct node *node = ctx;

	oracle_made(node->world->oracle, node, service);
}

static void gone(void *ctx, uint32_t nic, uint32_t svc_id)
{
	struct node *node = ctx;

	oracle_gone(node->world->oracle, node, nic, svc_id);
}

static void joined(void *ctx, const struct fairlead_lane *lane)
{
	struct node *node = ctx;

	oracle_joined(node->world->oracle, node, lane);
}

static void elan_joined(void *ctx, const struct fairlead_lane *lane,
			const struct elan_userkey *key)
{
	struct node *node = ctx;

	oracle_elan_joined(node->world->oracle, node, lane->grant_id, key);
}

static const struct hardware_events hardware_events = {
	.made = made,
	.gone = gone,
	.step = step,
};

struct node *node_create(struct world *world, unsigned int index)
{
	struct node *node = world_allocate(sizeof(*node));
	const struct hardware_options options = {
		.world = world,
		.nic_count = world->nic_count,
		.generation = 12 + (unsigned int)world_below(world, 3),
		.cleanup_ms = world_below(world, 2000),
		.events = &hardware_events,
		.ctx = node,
	};

	node->world = world;
	node->rng = world_fork_rng(world);
	node->index = index;
	snprintf(node->name, sizeof(node->name), "n%u", index);
	node->hardware = hardware_create(&options);
	node->fabric =
		fabric_node_create(index, &hardware_events, joined, node);
	node->elan =
		elan_node_create(index, &hardware_events, elan_joined, node);
	drivers_init(node);
	/* One that cannot have some lanes. */
	if (world_percent(world, 8)) {
		node->drivers[1].is_open = false;
		strcpy(node->drivers[1].detail, "its library is not there");
	}
	make_keys(node);
	return node;
}

void node_destroy(struct node *node)
{
	struct expected_revoke *expected, *next;

	if (node == NULL)
		return;
	sim_queue_cancel(node->world->queue, node->boot_event);
	daemon_end(node, true);
	node_clients_fini(node);
	node_guard_fini(node);
	node_run_end(node);
	hardware_destroy(node->hardware);
	fabric_node_destroy(node->fabric);
	elan_node_destroy(node->elan);
	node_keys_fini(&node->keys);
	DL_FOREACH_SAFE (node->expected_revokes, expected, next)
		free(expected);
	free(node);
}
