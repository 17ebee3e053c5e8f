/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle: it sees the hardware of all nodes, what the guards obeyed, what
 * nodes reported to the manager, and what it answered to clients, and checks
 * what always holds (ARCHITECTURE.md) on its own. It believes none of the code
 * that is tested but the layout of messages.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "fairlead/rms.h"
#include "fmsim.h"
#include "lanes/proto/message.h"
#include "nic.h"
#include "node.h"
#include "world.h"

#define ORACLE_IDS_MAX     4
#define ORACLE_ANSWERS_MAX 8

struct oracle;

/* What a request key stands for, from its first reservation on. */
struct lane {
	char key[REQUEST_KEY_MAX + 1];
	char job[REQUEST_KEY_MAX + 1]; /* SUBMITTER/JOB */
	char interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1];
	uint64_t grant_id;
	uint32_t uid;
	uint32_t nodes; /* bits by index */
	unsigned int id_count;
	uint32_t ids[ORACLE_IDS_MAX];
	uint32_t program;           /* of an Elan; else 0 */
	bool has_secret;            /* some node has it, */
	struct elan_userkey secret; /* of its capability */
	bool is_applied;            /* the answer to an apply said so */
	bool is_over;     /* a release was asked for, or the apply failed */
	bool is_released; /* and answered: its identifiers may be others' */
	/* An old backup may have forgotten it, or what became of it. */
	bool is_unsure;
	uint64_t changed_ms; /* something was said of it */
	uint32_t lost;       /* nodes that lost it with power, NIC or epilog */
	uint32_t revoked; /* nodes that said so, and must not have it again */
	unsigned int ask_count; /* applies that were asked for */
	uint64_t asked_ms;      /* the first of them reached the manager */
	uint64_t waits_ms;      /* an apply waits, perhaps, since then */
	char token[FMSIM_TOKEN_MAX + 1]; /* that its nodes have; "": none */
	bool has_exception; /* an event says that its reservation has vanished */
	/* The last APPLY, as it was sealed. */
	uint64_t apply_epoch, apply_sequence;
	/* What came of commands APPLY on a node. */
	struct {
		bool is_done;       /* it answered "done" to one */
		unsigned int count; /* of other answers */
		int results[ORACLE_ANSWERS_MAX];
		uint64_t answered_ms; /* that to the last one; 0: no answer */
	} answers[WORLD_NODES_MAX];
	UT_hash_handle hh;
};

struct oracle *oracle_create(struct world *world);
void oracle_destroy(struct oracle *oracle);
DEFINE_AUTO(struct oracle, oracle_destroy)

/* --- hardware --- */

void oracle_made(struct oracle *oracle, struct node *node,
		 const struct hardware_service *service);
void oracle_gone(struct oracle *oracle, struct node *node, uint32_t nic,
		 uint32_t svc_id);
/* The node has no power, and so no lanes. */
void oracle_cleared(struct oracle *oracle, struct node *node);
/* How many services there are on all nodes, or one; foreign ones too. */
unsigned int oracle_service_count(const struct oracle *oracle,
				  const struct node *node);
/* A service of the lane on the node, or NULL. */
const struct hardware_service *oracle_service_of(const struct oracle *oracle,
						 const struct node *node,
						 const struct lane *lane);

/* --- nodes --- */

/*
 * The guard took this command for its manager's; result: what it made of it;
 * header: its bytes.
 */
void oracle_obeyed(struct oracle *oracle, struct node *node,
		   const struct command *command, const uint8_t *header,
		   int result);
/*
 * A REGISTER was made; is_whole: with all that is on the hardware now. number:
 * of the place in it for `fabric`, 0: none.
 */
void oracle_listed(struct oracle *oracle, struct node *node, bool is_whole,
		   uint32_t number);
/* A lane of `fabric` is being made, with these members. */
void oracle_joined(struct oracle *oracle, struct node *node,
		   const struct fairlead_lane *lane);
/* A lane of `elan3` is being made, with the key of its capability. */
void oracle_elan_joined(struct oracle *oracle, struct node *node,
			uint64_t grant_id, const struct elan_userkey *key);
/* The node has obeyed a manager of this epoch since its boot. */
bool oracle_has_obeyed(const struct oracle *oracle, const struct node *node,
		       uint64_t epoch);
/* A local client had the guard take this grant back, and it is gone. */
void oracle_revoked(struct oracle *oracle, struct node *node,
		    uint64_t grant_id);
/* A NIC came or went: what a lane has there says nothing any more. */
void oracle_nic_changed(struct oracle *oracle, struct node *node);
/* A frame leaves a manager. */
void oracle_manager_sent(struct oracle *oracle, const void *frame, size_t size);
/* It is a command, and as a manager has sent it. */
bool oracle_is_managers(const struct oracle *oracle, const void *frame,
			size_t size);
/* A new boot: another guard that has seen no epoch. */
void oracle_booted(struct oracle *oracle, struct node *node);
/*
 * The boot before the one in which the node was greeted last, which every
 * manager knows that it has left; or NULL.
 */
const uint8_t *oracle_past_boot(const struct oracle *oracle,
				const struct node *node);
/*
 * An operator's word makes managers forget the boots before; is_for_ever: the
 * node leaves the configuration for a time that nobody here knows.
 */
void oracle_forget_boots(struct oracle *oracle, const struct node *node,
			 bool is_for_ever);
/* The same of a command that goes by a collective: COMMAND_HEADER_SIZE bytes. */
void oracle_command_sent(struct oracle *oracle, const uint8_t *header);
void oracle_apply_sent(struct oracle *oracle, const struct command *head);
/* A true answer to it came in, of this node. */
void oracle_apply_answered(struct oracle *oracle, const struct command *head,
			   unsigned int node);

/* --- external reservations --- */

/* A token that somebody sees who is not to. */
void oracle_no_token(const struct oracle *oracle, const char *where,
		     const void *bytes, size_t size);
/* A manager sends a request, takes its end, and ends itself (NULL: all do). */
void oracle_outside_sent(struct oracle *oracle, const void *manager,
			 uint64_t epoch, const struct outside_request *request);
void oracle_outside_ended(struct oracle *oracle, uint64_t request);
void oracle_outside_left(struct oracle *oracle, const void *manager);
/* An event of the grant is written. */
void oracle_outside_event(struct oracle *oracle, uint64_t grant_id,
			  const char *line, size_t size);
/*
 * A live lane whose reservation has vanished, which no event says; NULL: there
 * is none.
 */
const struct lane *oracle_outside_unnoticed(const struct oracle *oracle);
/* A reservation of this grant is about to be deleted. */
void oracle_outside_dropped(struct oracle *oracle, uint64_t grant_id);
/* A manager with a disk has received a request, perhaps to apply. */
void oracle_apply_waits(struct oracle *oracle, const json_t *request);

/* --- managers --- */

/* A manager process begins; what it holds is what was on disk. */
void oracle_manager_started(struct oracle *oracle, bool is_recovery);
/* Every node has answered or was waived. */
void oracle_recovered(struct oracle *oracle);
bool oracle_is_recovering(const struct oracle *oracle);
/* The state was restored from a backup: what came later is forgotten. */
void oracle_backup_restored(struct oracle *oracle, uint64_t backup_ms);

/* --- clients --- */

/* A request that is permitted leaves a client. */
void oracle_asked(struct oracle *oracle, const json_t *request);
/* The manager has received it. */
void oracle_received(struct oracle *oracle, const json_t *request);
/* An answer leaves the manager, perhaps to be lost. uid: who had asked. */
void oracle_answered(struct oracle *oracle, const json_t *request,
		     const json_t *answer, uid_t uid);
/*
 * The same of a manager whose disk is another one's since some time: it can
 * give nothing, and only say again what it gave before.
 */
void oracle_old_answered(struct oracle *oracle, const json_t *request,
			 const json_t *answer, uint64_t fenced_ms);

/* Bits of a host list. */
uint32_t oracle_nodes(struct oracle *oracle, const char *text);
struct lane *oracle_lane(struct oracle *oracle, const char *key);
struct lane *oracle_lane_by_id(struct oracle *oracle, uint64_t grant_id);

/* --- the end: everything released, everything healed --- */

void oracle_check_empty(struct oracle *oracle);
