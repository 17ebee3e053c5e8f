/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A manager that meets a higher epoch stops: its journal lacks what the other
 * one gave out, so anything that it grants may be held twice. It writes that
 * into its journal, for each further start would only raise the epoch until it
 * is the higher one. A recovery, in which everything counts as used, begins
 * above the epoch that was met.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lanes/manager/clients.h"
#include "lanes/manager/commit.h"
#include "lanes/manager/session.h"
#include "lanes/manager/member.h"

static void store(struct engine *engine, enum store_verb verb, uint64_t epoch)
{
	const struct store_row row = {
		.table = STORE_META,
		.verb = verb,
		.key = ENGINE_META_HALTED,
		.id = epoch,
	};

	commit_store(engine, &row);
}

static void halt(struct engine *engine, const char *node, uint64_t epoch)
{
	struct session *session;
	struct session *next;

	engine->halted_epoch = epoch;
	store(engine, STORE_PUT, epoch);
	log_error(engine->log,
		  HALT_TEXT "; " HALT_HINT " node=%s epoch=%" PRIu64
			    " ours=%" PRIu64,
		  node, epoch, engine->epoch);
	fanouts_clear(engine->fanouts);
	member_clear(engine);
	clients_fail_all(engine, -ESTALE, HALT_TEXT, HALT_HINT);
	HASH_ITER (hh, engine->sessions, session, next) {
		if (!session->is_refused)
			session_refuse(engine, session, HALT_TEXT);
	}
}

bool halt_check(struct engine *engine, const struct registration *registration)
{
	struct command proof;

	if (registration->proof_size == 0)
		return false;
	if (command_proof_verify(registration->proof, registration->proof_size,
				 engine->publics, engine->public_count,
				 &proof) < 0) {
		engine->counters.refusals[REFUSAL_PROOF]++;
		log_warning(engine->log,
			    "a claim of another epoch without a proof was "
			    "ignored node=%s",
			    registration->node);
		return false;
	}
	if (proof.epoch < engine->epoch ||
	    (proof.epoch == engine->epoch && proof.life == engine->life))
		return false;
	halt(engine, registration->node, proof.epoch);
	return true;
}

bool halt_load(struct engine *engine, const struct store_row *row)
{
	if (row->table != STORE_META ||
	    strcmp(row->key, ENGINE_META_HALTED) != 0)
		return false;
	engine->halted_epoch = row->id;
	return true;
}

void halt_clear(struct engine *engine)
{
	if (engine->halted_epoch == 0)
		return;
	engine->halted_epoch = 0;
	store(engine, STORE_DELETE, 0);
}
