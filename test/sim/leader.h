/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager: a disk, and on it one process after the other, each the shipped
 * engine with the shipped store. A process may die at any call of the disk or
 * between any two events, and is started again. A takeover leaves the old
 * process alive, without its disk, while a new one starts on another machine.
 *
 * An operator looks after it: he recovers a journal that is refused, and a
 * manager that has stopped because of a higher epoch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

#define LEADER_APPLY_MS  15000
#define LEADER_REVOKE_MS 10000

struct leader;

/* What the configuration file says at the moment. */
struct leader_config {
	uint32_t nodes; /* bits by index */
	char vni_pool[64];
	char fabric_pool[64];
	bool is_reserve_fatal;
	uint32_t events_keep;
	bool is_broken; /* it has an error */
};

struct leader *leader_create(struct world *world);
void leader_destroy(struct leader *leader);

/* Where a node finds a manager: now and then it is an old one. */
const char *leader_address(struct leader *leader);
/* Takes effect with the next start, or when a client asks for it. */
struct leader_config *leader_config(struct leader *leader);

void leader_start(struct leader *leader, uint64_t delay_ms);
bool leader_is_up(const struct leader *leader);
/* No collective of it is under way; its groups are those that it has named. */
bool leader_is_idle(const struct leader *leader, uint64_t *ret_groups);
uint64_t leader_epoch(const struct leader *leader);

/* --- what happens to it --- */

/* kill -9, or the power is gone: the disk then keeps what was synced. */
void leader_crash(struct leader *leader, bool is_power, uint64_t restart_ms);
/* At the n-th call of the disk from now. */
void leader_crash_at(struct leader *leader, uint64_t n, bool is_power);
/* When the next commit is on disk, and nobody knows yet. */
void leader_crash_committed(struct leader *leader);
/* As a service manager stops it: it finishes first. */
void leader_stop(struct leader *leader);
/* Another process starts, and this one lives on without its disk. */
void leader_take_over(struct leader *leader, uint64_t alive_ms);
/* A second one is started on the same state, and has to be refused. */
void leader_start_second(struct leader *leader);
/* The disk is full, or the n-th call of a kind fails. */
void leader_fill_disk(struct leader *leader, bool is_full);
void leader_fail_disk(struct leader *leader, unsigned int fault, uint64_t n);
void leader_slow_disk(struct leader *leader, uint64_t delay_max_ms);
/* Copy the state; put the copy back at the next start. */
void leader_back_up(struct leader *leader);
bool leader_has_backup(const struct leader *leader);
/* An old backup was put back, some time ago. */
bool leader_was_restored(const struct leader *leader);
/* is_whole: with the epoch file, so that only nodes can tell. */
void leader_restore(struct leader *leader, bool is_whole);
/* The disk is as good as new, and the configuration whole. */
void leader_heal(struct leader *leader);
/* The keys have changed. */
void leader_rekey(struct leader *leader);
