/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node: hardware that stays while there is power, /run that stays with it,
 * and the daemon's two halves as they ship, agent and guard, which may die at
 * any call and are started again.
 *
 *	OFF --node_boot--> BOOTED --daemon starts--> RUNNING --crash--> BOOTED
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lanes/proto/message.h"
#include "nic.h"
#include "world.h"

struct node;

/* The APPLY or REVOKE that the guard is obeying. */
struct node_order {
	enum command_op op;
	uint64_t epoch, life, grant_id;
	char key[REQUEST_KEY_MAX + 1];
};

struct node *node_create(struct world *world, unsigned int index);
void node_destroy(struct node *node);

const char *node_name(const struct node *node);
unsigned int node_index(const struct node *node);
struct hardware *node_hardware(struct node *node);
bool node_is_powered(const struct node *node);
bool node_is_running(const struct node *node);
/* How many times it was booted. */
uint64_t node_boot_count(const struct node *node);
const uint8_t *node_incarnation(const struct node *node);

/* --- what happens to it --- */

void node_boot(struct node *node, uint64_t delay_ms);
/* Hardware and /run are empty; nobody is notified. */
void node_power_off(struct node *node);
/* kill -9 of both halves; it is started again after restart_ms. */
void node_crash(struct node *node, uint64_t restart_ms);
/* The same at the n-th call from now of its seams, or in the midst of it. */
void node_crash_at(struct node *node, unsigned int n);
/* Whether the daemon is started again by itself; else node_start_daemon(). */
void node_hold(struct node *node, bool is_held);
/* /run takes at most so many bytes more; 0: any number. */
void node_fill(struct node *node, uint64_t bytes_left);
/* The n-th write to /run from now fails. */
void node_fail_write(struct node *node, unsigned int n);
/* Environment files cannot be written; 0: they can. */
void node_fail_environment(struct node *node, int error);
/* Every driver can be opened, whatever was missing. */
void node_open_drivers(struct node *node);
/* It gets no power while it is locked. */
void node_lock_power(struct node *node, bool is_locked);
/* Its agent was taken over, and has the guard obey this command. */
void node_hand(struct node *node, const void *command, size_t size);
/* .. or an APPLY that it has obeyed, one of the last; false: there is none. */
bool node_hand_obeyed(struct node *node);
/* Write a new key file, and have the daemon read it. */
void node_rekey(struct node *node);

/* --- what is asked on it --- */

/* NULL: the daemon died, or it is not there. answer is borrowed. */
typedef void node_answer_fn(void *ctx, struct node *node, json_t *answer);

/* A local client, that runs as uid; request is taken. */
void node_ask(struct node *node, uid_t uid, const char *op,
	      json_t *members_owned, node_answer_fn *done, void *ctx);

/* --- for the oracle --- */

/* Of the place that it has for `fabric`. */
uint32_t node_place_number(const struct node *node);
/* What is being obeyed; NULL: nothing. */
const struct node_order *node_order(const struct node *node);
/* Somebody else's hand is on the hardware. */
void node_set_foreign(struct node *node, bool is_foreign);
bool node_is_foreign(const struct node *node);
/* Its grants are ones that a local client wants to be taken back. */
#define NODE_ANY_JOB "*" /* and everybody else's objects */
void node_expect_revoke(struct node *node, const char *job);
bool node_expects_revoke(const struct node *node, const char *key);

/* The content of a job's environment file, or NULL; its owner. */
const char *node_environment(const struct node *node, const char *key,
			     uid_t *ret_uid);
unsigned int node_environment_count(const struct node *node);
/* Grants in the journal of the guard, and pending confirmations. */
unsigned int node_grant_count(const struct node *node);
unsigned int node_pending_count(const struct node *node);
