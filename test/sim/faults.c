/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each kind of fault has a clock of its own. A fault that lasts for a time has
 * a second event that ends it; healing ends all of them at once.
 */
#include "faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clients.h"
#include "endpoint.h"
#include "fmsim.h"
#include "leader.h"
#include "node.h"
#include "oracle.h"
#include "sim/disk.h"

#define FOREIGN_MAX 8
#define FOREIGN_UID 4711
#define LASTING_MAX 256

struct kind {
	struct faults *faults;
	enum world_fault fault;
	bool is_on;
	uint64_t mean_ms; /* between two of them */
	uint64_t handle;
};

/* A fault that ends by itself. */
struct lasting {
	struct faults *faults;
	void (*end)(struct faults *faults, unsigned int index);
	unsigned int index; /* of its node, or NIC and node */
	uint64_t handle;    /* 0: the slot is free */
};

/* A service that somebody else has made. */
struct foreign {
	struct node *node;
	uint32_t nic, svc_id;
	uint64_t boot_count;
};

struct faults {
	struct world *world;
	struct kind kinds[FAULT_OUTSIDE];
	struct lasting lasting[LASTING_MAX];
	struct foreign foreign[FOREIGN_MAX];
	struct attack *attack;
	struct twin *twin;
	bool is_healed;
};

static const uint64_t means_ms[FAULT_OUTSIDE] = {
	[FAULT_NETWORK] = 20000, [FAULT_PARTITION] = 25000,
	[FAULT_MANAGER] = 20000, [FAULT_TAKEOVER] = 60000,
	[FAULT_BACKUP] = 70000,  [FAULT_DISK] = 20000,
	[FAULT_DAEMON] = 8000,   [FAULT_TMPFS] = 7000,
	[FAULT_REBOOT] = 20000,  [FAULT_NIC] = 4000,
	[FAULT_ATTACK] = 500,    [FAULT_CLOCK] = 20000,
	[FAULT_LIAR] = 15000,
};

static struct node *any_node(struct faults *faults)
{
	struct world *world = faults->world;

	return world->nodes[world_below(world, world->node_count)];
}

/* --- faults that last --- */

static void on_lasting(void *ctx)
{
	struct lasting *lasting = ctx;

	lasting->handle = 0;
	lasting->end(lasting->faults, lasting->index);
}

static void end_later(struct faults *faults, uint64_t delay_ms,
		      void (*end)(struct faults *faults, unsigned int index),
		      unsigned int index)
{
	for (size_t i = 0; i < LASTING_MAX; i++) {
		struct lasting *lasting = &faults->lasting[i];

		if (lasting->handle != 0)
			continue;
		*lasting = (struct lasting){ faults, end, index, 0 };
		lasting->handle = sim_queue_add(faults->world->queue, delay_ms,
						on_lasting, lasting);
		return;
	}
	world_fail(faults->world, "too many faults at once");
}

/* --- network --- */

static void weather(struct faults *faults)
{
	struct world *world = faults->world;
	struct sim_network_faults sky = {
		.delay_min_ms = 1,
		.delay_max_ms = (uint32_t)world_between(world, 2, 60),
	};
	unsigned int harm = (unsigned int)world_below(world, 4);

	coverage_hit(world->coverage, "fault:weather-%u", harm);
	if (harm > 0) {
		sky.lost = (uint32_t)world_below(world, 20000 * harm);
		sky.doubled = (uint32_t)world_below(world, 20000 * harm);
		sky.reordered = (uint32_t)world_below(world, 30000 * harm);
		sky.reorder_max_ms = (uint32_t)world_below(world, 8000);
		sky.late = (uint32_t)world_below(world, 10000 * harm);
		sky.late_max_ms = (uint32_t)world_below(world, 90000);
		sky.broken = (uint32_t)world_below(world, 4000 * harm);
		sky.full = (uint32_t)world_below(world, 4000 * harm);
	}
	if (harm > 1 && world_percent(world, 30))
		sky.delay_max_ms = (uint32_t)world_between(world, 100, 3000);
	sim_network_set_faults(world->node_network, &sky);
	ether_weather(world->ether, harm);
}

static void join_again(struct faults *faults, unsigned int index)
{
	struct world *world = faults->world;

	sim_network_cut(world->node_network, node_name(world->nodes[index]),
			false, false);
	ether_cut(world->ether, index, false);
}

static void cut_off(struct faults *faults)
{
	struct world *world = faults->world;
	struct node *node = any_node(faults);
	unsigned int how = 1 + (unsigned int)world_below(world, 3);

	coverage_hit(world->coverage, "fault:cut-%u", how);
	world_trace(world, "%s is cut off (%u)", node_name(node), how);
	sim_network_cut(world->node_network, node_name(node), how & 1, how & 2);
	ether_cut(world->ether, node_index(node), true);
	end_later(faults, world_between(world, 2000, 90000), join_again,
		  node_index(node));
}

/* --- the manager --- */

static void hurt_manager(struct faults *faults)
{
	struct world *world = faults->world;
	bool is_power = world_percent(world, 50);
	uint64_t restart_ms = world_between(world, 100, 8000);

	if (!leader_is_up(world->leader)) {
		/* As it starts. */
		leader_crash_at(world->leader, 1 + world_below(world, 60),
				is_power);
		return;
	}
	switch (world_below(world, 6)) {
	case 0:
		coverage_hit(world->coverage, is_power
						      ? "fault:manager-power"
						      : "fault:manager-killed");
		leader_crash(world->leader, is_power, restart_ms);
		break;
	case 1:
	case 2:
		leader_crash_at(world->leader, 1 + world_below(world, 80),
				is_power);
		break;
	case 3:
		leader_crash_committed(world->leader);
		break;
	case 4:
		leader_stop(world->leader);
		break;
	default:
		leader_start_second(world->leader);
		break;
	}
}

static void take_over(struct faults *faults)
{
	leader_take_over(faults->world->leader,
			 world_between(faults->world, 2000, 90000));
}

static bool is_any_node_running(const struct world *world)
{
	for (unsigned int i = 0; i < world->node_count; i++) {
		if (oracle_has_obeyed(world->oracle, world->nodes[i],
				      leader_epoch(world->leader)))
			return true;
	}
	return false;
}

/*
 * With the epoch file nobody but the nodes can tell, so one that can has to be
 * there, and nobody asks for anything before the operator has seen it.
 */
static void restore_backup(struct faults *faults)
{
	struct world *world = faults->world;
	bool is_whole = world_percent(world, 50) && is_any_node_running(world);

	if (!leader_is_up(world->leader))
		return;
	world->is_paused = is_whole;
	leader_restore(world->leader, is_whole);
	leader_crash(world->leader, false, world_between(world, 500, 5000));
}

static void backup(struct faults *faults)
{
	struct world *world = faults->world;

	if (!leader_has_backup(world->leader))
		leader_back_up(world->leader);
	else if (!world->is_paused && !oracle_is_recovering(world->oracle))
		restore_backup(faults);
}

static void empty_disk(struct faults *faults, unsigned int index)
{
	leader_fill_disk(faults->world->leader, false);
}

static void fast_disk(struct faults *faults, unsigned int index)
{
	leader_slow_disk(faults->world->leader, 4);
}

static void hurt_disk(struct faults *faults)
{
	struct world *world = faults->world;

	switch (world_below(world, 4)) {
	case 0:
		leader_fill_disk(world->leader, true);
		end_later(faults, world_between(world, 3000, 30000), empty_disk,
			  0);
		break;
	case 1:
		coverage_hit(world->coverage, "fault:disk-slow");
		leader_slow_disk(world->leader, world_between(world, 50, 4000));
		end_later(faults, world_between(world, 3000, 30000), fast_disk,
			  0);
		break;
	default:
		leader_fail_disk(
			world->leader,
			(unsigned int)world_between(world, SIM_DISK_READ_ERROR,
						    SIM_DISK_FULL),
			1 + world_below(world, 40));
		break;
	}
}

/* --- nodes --- */

static void release_daemon(struct faults *faults, unsigned int index)
{
	node_hold(faults->world->nodes[index], false);
}

static void hurt_daemon(struct faults *faults)
{
	struct world *world = faults->world;
	struct node *node = any_node(faults);

	switch (world_below(world, 4)) {
	case 0:
		coverage_hit(world->coverage, "fault:daemon-killed");
		node_crash(node, world_between(world, 10, 5000));
		break;
	case 1:
		coverage_hit(world->coverage, "fault:daemon-held");
		node_hold(node, true);
		node_crash(node, 0);
		end_later(faults, world_between(world, 2000, 60000),
			  release_daemon, node_index(node));
		break;
	default:
		node_crash_at(node, 1 + (unsigned int)world_below(world, 25));
		break;
	}
}

static void empty_run(struct faults *faults, unsigned int index)
{
	struct node *node = faults->world->nodes[index];

	node_fill(node, 0);
	node_fail_environment(node, 0);
}

static void hurt_run(struct faults *faults)
{
	struct world *world = faults->world;
	struct node *node = any_node(faults);

	switch (world_below(world, 5)) {
	case 0:
		coverage_hit(world->coverage, "fault:tmpfs-full");
		node_fill(node, 1);
		end_later(faults, world_between(world, 1000, 20000), empty_run,
			  node_index(node));
		break;
	case 1:
		node_fail_environment(node, -ENOSPC);
		end_later(faults, world_between(world, 1000, 20000), empty_run,
			  node_index(node));
		break;
	default:
		/* The journal is rewritten then, and forgets what it may. */
		node_fail_write(node, 1 + (unsigned int)world_below(world, 4));
		break;
	}
}

static void reboot(struct faults *faults)
{
	struct world *world = faults->world;
	struct node *node = any_node(faults);

	if (!node_is_powered(node))
		return;
	coverage_hit(world->coverage, "fault:reboot");
	node_power_off(node);
	node_boot(node,
		  world_between(world, 500,
				world_percent(world, 30) ? 120000 : 8000));
}

/* --- NICs --- */

static void restore_nic(struct faults *faults, unsigned int index)
{
	struct node *node = faults->world->nodes[index / SOFTNIC_NIC_MAX];

	hardware_restore(node_hardware(node), index % SOFTNIC_NIC_MAX);
	oracle_nic_changed(faults->world->oracle, node);
}

static void remove_nic(struct faults *faults, struct node *node)
{
	struct world *world = faults->world;
	uint32_t nic = (uint32_t)world_below(world, world->nic_count);
	bool is_gone;

	node_set_foreign(node, true);
	is_gone = hardware_remove(node_hardware(node), nic);
	node_set_foreign(node, false);
	if (!is_gone)
		return;
	coverage_hit(world->coverage, "fault:nic-removed");
	world_trace(world, "%s loses NIC %u", node_name(node), nic);
	oracle_nic_changed(world->oracle, node);
	end_later(faults, world_between(world, 1000, 40000), restore_nic,
		  node_index(node) * SOFTNIC_NIC_MAX + nic);
}

static void make_foreign(struct faults *faults, struct node *node)
{
	struct world *world = faults->world;
	struct foreign *foreign =
		&faults->foreign[world_below(world, FOREIGN_MAX)];
	int svc_id;

	if (foreign->node != NULL || !node_is_powered(node))
		return;
	foreign->nic = (uint32_t)world_below(world, world->nic_count);
	node_set_foreign(node, true);
	svc_id = hardware_foreign_make(
		node_hardware(node), foreign->nic, FOREIGN_UID,
		(uint16_t)(WORLD_VNI_FIRST +
			   world_below(world, world->vni_count)));
	node_set_foreign(node, false);
	if (svc_id <= 0)
		return;
	coverage_hit(world->coverage, "fault:foreign-service");
	world_trace(world, "%s NIC %u has service %d of somebody else",
		    node_name(node), foreign->nic, svc_id);
	foreign->node = node;
	foreign->svc_id = (uint32_t)svc_id;
	foreign->boot_count = node_boot_count(node);
}

static void drop_foreign(struct foreign *foreign)
{
	struct node *node = foreign->node;

	if (node == NULL)
		return;
	foreign->node = NULL;
	if (!node_is_powered(node) ||
	    node_boot_count(node) != foreign->boot_count ||
	    !hardware_has(node_hardware(node), foreign->nic, foreign->svc_id,
			  FOREIGN_UID))
		return;
	node_set_foreign(node, true);
	/* What cannot go now is tried again, at last when all is healed. */
	if (hardware_foreign_destroy(node_hardware(node), foreign->nic,
				     foreign->svc_id) < 0)
		foreign->node = node;
	node_set_foreign(node, false);
}

static void keep_busy(struct faults *faults, struct node *node)
{
	struct world *world = faults->world;

	coverage_hit(world->coverage, "fault:nic-busy");
	for (uint32_t id = 3; id < 3 + 1 + world_below(world, 6); id++)
		hardware_busy(node_hardware(node),
			      (uint32_t)world_below(world, world->nic_count),
			      id, world_between(world, 500, 60000));
}

static void hurt_nic(struct faults *faults)
{
	static const enum softnic_op ops[] = {
		SOFTNIC_OP_ALLOC_SVC,       SOFTNIC_OP_ALLOC_SVC,
		SOFTNIC_OP_DESTROY_SVC,     SOFTNIC_OP_DESTROY_SVC,
		SOFTNIC_OP_GET_SVC_LIST,    SOFTNIC_OP_OPEN_DEVICE,
		SOFTNIC_OP_GET_DEVICE_LIST,
	};
	static const int errors[] = { EIO, ENOSPC, EBUSY, ENOMEM, EINVAL };
	struct world *world = faults->world;
	struct node *node = any_node(faults);

	switch (world_below(world, 6)) {
	case 0:
	case 1:
		hardware_fail(node_hardware(node), ops[world_below(world, 7)],
			      errors[world_below(world, 5)],
			      1 + world_below(world, 5),
			      1 + world_below(world, 3));
		break;
	case 2:
		remove_nic(faults, node);
		break;
	case 3:
		make_foreign(faults, node);
		break;
	case 4:
		drop_foreign(&faults->foreign[world_below(world, FOREIGN_MAX)]);
		break;
	default:
		keep_busy(faults, node);
		break;
	}
}

/* --- the rest --- */

static void attack_somebody(struct faults *faults)
{
	if (world_percent(faults->world, 4))
		twin_appear(faults->twin);
	else
		attack(faults->attack);
}

static void tell_truth(struct faults *faults, unsigned int index)
{
	ether_lie(faults->world->ether, index, false);
}

static void lie(struct faults *faults)
{
	struct world *world = faults->world;
	struct node *node = any_node(faults);

	coverage_hit(world->coverage, "fault:liar");
	ether_lie(world->ether, node_index(node), true);
	end_later(faults, world_between(world, 5000, 60000), tell_truth,
		  node_index(node));
}

static void jump_clock(struct faults *faults)
{
	struct world *world = faults->world;
	uint64_t jump_us = world_below(world, 7200) * 1000000;

	coverage_hit(world->coverage, "fault:clock-jump");
	if (world_percent(world, 50))
		world->clock.wall_us += jump_us;
	else
		world->clock.wall_us -= jump_us;
}

static void on_fault(void *ctx)
{
	static void (*const happen[FAULT_OUTSIDE])(struct faults * faults) = {
		[FAULT_NETWORK] = weather,
		[FAULT_PARTITION] = cut_off,
		[FAULT_MANAGER] = hurt_manager,
		[FAULT_TAKEOVER] = take_over,
		[FAULT_BACKUP] = backup,
		[FAULT_DISK] = hurt_disk,
		[FAULT_DAEMON] = hurt_daemon,
		[FAULT_TMPFS] = hurt_run,
		[FAULT_REBOOT] = reboot,
		[FAULT_NIC] = hurt_nic,
		[FAULT_ATTACK] = attack_somebody,
		[FAULT_CLOCK] = jump_clock,
		[FAULT_LIAR] = lie,
	};
	struct kind *kind = ctx;
	struct faults *faults = kind->faults;

	kind->handle =
		sim_queue_add(faults->world->queue,
			      world_below(faults->world, 2 * kind->mean_ms),
			      on_fault, kind);
	happen[kind->fault](faults);
}

void faults_overhear(struct faults *faults, const char *from, const char *to,
		     const void *frame, size_t size)
{
	attack_overhear(faults->attack, from, to, frame, size);
}

struct faults *faults_create(struct world *world)
{
	const struct sim_network_faults fair = { .delay_min_ms = 1,
						 .delay_max_ms = 5 };
	struct faults *faults = world_allocate(sizeof(*faults));

	faults->world = world;
	faults->attack = attack_create(world);
	faults->twin = twin_create(world);
	sim_network_set_faults(world->node_network, &fair);
	sim_network_set_faults(world->client_network, &fair);
	for (int i = 0; i < FAULT_OUTSIDE; i++) {
		struct kind *kind = &faults->kinds[i];
		/* Drawn in any case, so that --faults changes nothing else. */
		bool is_drawn = world_percent(world, 55);
		uint64_t factor = world_between(world, 50, 300);

		kind->faults = faults;
		kind->fault = (enum world_fault)i;
		kind->mean_ms = means_ms[i] * factor / 100;
		kind->is_on = is_drawn && world_has_fault(world, kind->fault);
		if (kind->is_on)
			kind->handle = sim_queue_add(
				world->queue,
				2000 + world_below(world, kind->mean_ms),
				on_fault, kind);
	}
	return faults;
}

static void stop(struct faults *faults)
{
	struct sim_queue *queue = faults->world->queue;

	for (int i = 0; i < FAULT_OUTSIDE; i++)
		sim_queue_cancel(queue, faults->kinds[i].handle);
	for (size_t i = 0; i < LASTING_MAX; i++)
		sim_queue_cancel(queue, faults->lasting[i].handle);
}

static void heal_node(struct node *node)
{
	node_fill(node, 0);
	node_fail_write(node, 0);
	node_fail_environment(node, 0);
	node_crash_at(node, 0);
	hardware_heal(node_hardware(node));
	node_open_drivers(node);
	node_hold(node, false);
	node_boot(node, 1000);
}

void faults_heal(struct faults *faults)
{
	const struct sim_network_faults fair = { .delay_min_ms = 1,
						 .delay_max_ms = 5 };
	struct world *world = faults->world;

	stop(faults);
	sim_network_set_faults(world->node_network, &fair);
	for (unsigned int i = 0; i < world->node_count; i++) {
		join_again(faults, i);
		heal_node(world->nodes[i]);
		oracle_nic_changed(world->oracle, world->nodes[i]);
	}
	for (int i = 0; i < FOREIGN_MAX; i++)
		drop_foreign(&faults->foreign[i]);
	ether_heal(world->ether);
	fmsim_heal(world->fmsim);
	leader_heal(world->leader);
}

void faults_destroy(struct faults *faults)
{
	if (faults == NULL)
		return;
	stop(faults);
	attack_destroy(faults->attack);
	twin_destroy(faults->twin);
	free(faults);
}
