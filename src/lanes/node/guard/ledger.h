/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node's guard remembers: the grants that it holds, tombstones, the
 * highest epoch, the apply floor, pending confirmations. Pure.
 *
 * The ledger changes in one way only: ledger_take() of a record. The guard
 * writes each record to its journal and then lets the ledger take it, and a
 * start lets it take the records that are there, so that both are the same.
 *
 * A grant: (none) -> APPLYING -> APPLIED -> REVOKING -> tombstone. A lane that
 * was lost from a journal goes from APPLYING to REVOKING at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "fairlead_driver.h"
#include "lanes/proto/message.h"
#include "lanes/node/guard/journal.h"

#define LEDGER_VERSION 1
/* A grant with a pending confirmation counts twice. */
#define LEDGER_GRANTS_MAX     REGISTRATION_GRANTS_MAX
#define LEDGER_TOMBSTONES_MAX 65536
#define LEDGER_TEXT_MAX       CONFIRM_REASON_MAX

/* Kinds of records; the numbers are the journal's format. */
enum ledger_kind {
	LEDGER_INCARNATION = 1,
	LEDGER_EPOCH,
	LEDGER_APPLYING,
	LEDGER_APPLIED,
	LEDGER_REVOKING,
	LEDGER_TOMBSTONE,
	LEDGER_PENDING,
	LEDGER_ACKNOWLEDGED,
	LEDGER_FLOOR,
};

struct ledger_grant {
	struct fairlead_lane lane; /* what only an apply has is not kept */
	uint8_t digest
		[DIGEST_SIZE]; /* of the APPLY; zero when there was none */
	char key[REQUEST_KEY_MAX + 1];
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	enum grant_state state;
	bool is_lost;                   /* REVOKING: from under its job */
	struct fairlead_record *record; /* the driver's; NULL: not known */
	/*
	 * APPLIED: warnings. REVOKING: why it is not gone; the guard sets it,
	 * no record has it. NULL: none.
	 */
	char *text;
	UT_hash_handle hh;
};

struct guard_tombstone {
	uint64_t grant_id;
	UT_hash_handle hh;
};

/* A confirmation of a local revoke that the manager has not acknowledged. */
struct pending_confirm {
	uint64_t sequence;
	uint64_t grant_id;
	int32_t result;
	char *text;
	struct pending_confirm *prev, *next; /* in the order of sequences */
};

struct ledger {
	uint8_t incarnation[INCARNATION_SIZE];
	uint64_t next_sequence;
	bool has_epoch;
	uint8_t header[COMMAND_HEADER_SIZE]; /* the epoch proof */
	uint32_t key_id;                     /* that signed it */
	uint64_t epoch;
	uint64_t life;
	uint64_t floor;
	struct ledger_grant *grants; /* by lane.grant_id */
	struct guard_tombstone *tombstones;
	struct pending_confirm *pending;
	size_t pending_count;
};

/* An empty ledger; one of zeros has nothing but waits for an incarnation. */
void ledger_init(struct ledger *ledger,
		 const uint8_t incarnation[INCARNATION_SIZE],
		 uint64_t first_sequence);
void ledger_fini(struct ledger *ledger);

/*
 * Take one record; its signature as journal_open() wants it, arg is the
 * ledger. -EPROTONOSUPPORT: of a later version; -EUCLEAN: not a record that
 * can follow what is there. The text says so. After an error the ledger can
 * only be given up.
 */
int ledger_take(void *arg, uint8_t kind, struct reader *body,
		struct fairlead_error *ret_error);

/* NULL when it is not there. */
struct ledger_grant *ledger_grant(const struct ledger *ledger,
				  uint64_t grant_id);
bool ledger_has_tombstone(const struct ledger *ledger, uint64_t grant_id);
/* True while another grant fits, with its tombstone and confirmation. */
bool ledger_has_capacity(const struct ledger *ledger);
/* Forget tombstones below the floor. */
void ledger_prune(struct ledger *ledger);

/* Records into a batch. `grant` needs lane, digest, key and driver only. */
void ledger_write_epoch(struct writer *batch,
			const uint8_t header[COMMAND_HEADER_SIZE]);
void ledger_write_applying(struct writer *batch,
			   const struct ledger_grant *grant);
void ledger_write_applied(struct writer *batch, uint64_t grant_id,
			  const struct fairlead_record *record,
			  const char *text);
void ledger_write_revoking(struct writer *batch, uint64_t grant_id,
			   bool is_lost);
void ledger_write_tombstone(struct writer *batch, uint64_t grant_id);
void ledger_write_pending(struct writer *batch, uint64_t sequence,
			  uint64_t grant_id, int32_t result, const char *text);
void ledger_write_acknowledged(struct writer *batch, uint64_t sequence);
void ledger_write_floor(struct writer *batch, uint64_t floor);
/* Everything, as few records as can be; the incarnation is the first. */
void ledger_write_all(struct writer *batch, const struct ledger *ledger);
