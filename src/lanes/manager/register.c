/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node proves who it is. Each nonce is good for one REGISTER, so that none
 * can be played back, and a number, so that none is taken after a later one;
 * what fails costs the connection, and changes nothing.
 * A registration that is taken makes the node live (live.h), replaces its
 * connection before, and is answered by HELLO once its rows are on disk.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/commit.h"
#include "lanes/manager/live.h"
#include "lanes/manager/session.h"

#define REJECT_LINES_MAX 20 /* in the log, within the window */
#define REJECT_WINDOW_MS 60000

enum manager_refusal session_refusal(int result)
{
	switch (result) {
	case -ENOKEY:
	case -EKEYREJECTED:
		return REFUSAL_KEY;
	case -ESTALE:
		return REFUSAL_REPLAYED;
	case -ENOENT:
		return REFUSAL_UNKNOWN;
	default:
		return REFUSAL_MALFORMED;
	}
}

static const char *refusal_text(int result)
{
	switch (result) {
	case -ENOKEY:
		return "the registration is signed with a key that the "
		       "manager does not have; give the node a new key file";
	case -EKEYREJECTED:
		return "the registration is not signed with this node's key; "
		       "give the node its own key file";
	case -ESTALE:
		return "the registration answers to another challenge";
	case -EPROTONOSUPPORT:
		return "the manager does not speak this version of the "
		       "protocol";
	default:
		return "the registration is malformed";
	}
}

/* Any host that reaches the port can fail as often as it likes. */
static bool may_log(struct engine *engine)
{
	uint64_t now_ms = engine_now_ms(engine);

	if (now_ms >= engine->reject_window_ms + REJECT_WINDOW_MS) {
		if (engine->reject_count > REJECT_LINES_MAX)
			log_warning(engine->log,
				    "more registrations were refused count=%u",
				    engine->reject_count - REJECT_LINES_MAX);
		engine->reject_window_ms = now_ms;
		engine->reject_count = 0;
	}
	return engine->reject_count++ < REJECT_LINES_MAX;
}

void session_reject(struct engine *engine, struct session *session,
		    enum manager_refusal refusal, const char *text)
{
	engine->counters.refusals[refusal]++;
	if (may_log(engine))
		log_warning(engine->log, "registration refused: %s peer=%s",
			    text, session->address);
	session_refuse(engine, session, text);
}

static void drivers_report(const struct registration *registration,
			   const char **unlisted,
			   struct core_inventory_place *places,
			   struct core_registration *report)
{
	for (size_t i = 0; i < registration->driver_count; i++) {
		const struct registration_driver *driver =
			&registration->drivers[i];

		if (!driver->is_usable)
			unlisted[report->unlisted_count++] = driver->name;
		places[report->place_count++] = (struct core_inventory_place){
			.driver = driver->name,
			.place = driver->place,
		};
	}
	report->unlisted = unlisted;
	report->places = places;
}

int register_report(struct engine *engine,
		    const struct registration *registration, uint64_t challenge,
		    int (*take)(struct core *core,
				const struct core_registration *report,
				struct fairlead_error *ret_error),
		    struct fairlead_error *ret_error)
{
	struct core_inventory_grant *grants;
	struct core_inventory_object *objects;
	struct core_inventory_place places[REGISTRATION_DRIVERS_MAX];
	const char *unlisted[REGISTRATION_DRIVERS_MAX];
	struct core_registration report = {
		.node = registration->node,
		.version = registration->software,
		.address = registration->address,
		.address_size = registration->address_size,
		.grant_count = registration->grant_count,
		.object_count = registration->object_count,
		.has_pending = registration->pending_count > 0,
		.challenge = challenge,
	};
	int result;

	static_assert(COLLECTIVE_ADDRESS_MAX <= CORE_ADDRESS_MAX,
		      "the core takes any address");
	static_assert(REGISTRATION_DRIVERS_MAX <= CORE_PLACES_MAX,
		      "and all places");
	static_assert(GRANT_LOST == CORE_GRANT_LOST, "one number for it");
	grants = memory_array(report.grant_count, sizeof(*grants));
	objects = memory_array(report.object_count, sizeof(*objects));
	report.grants = grants;
	report.objects = objects;
	memcpy(report.incarnation, registration->incarnation,
	       sizeof(report.incarnation));
	for (size_t i = 0; i < report.grant_count; i++) {
		const struct registration_grant *from =
			&registration->grants[i];

		grants[i] = (struct core_inventory_grant){
			.grant_id = from->grant_id,
			.state = from->state,
			.driver = from->driver,
			.id_count = from->id_count,
			.ids = from->ids,
		};
	}
	for (size_t i = 0; i < report.object_count; i++) {
		const struct registration_object *from =
			&registration->objects[i];

		objects[i] = (struct core_inventory_object){
			.driver = from->driver,
			.device = from->device,
			.object_id = from->id,
			.uid = from->uid,
			.id_count = from->id_count,
			.ids = from->ids,
		};
	}
	drivers_report(registration, unlisted, places, &report);
	result = take(engine->core, &report, ret_error);
	free(grants);
	free(objects);
	return result;
}

/* The node has proven itself on this session: it is the node's from now on. */
static void adopt(struct engine *engine, struct session *session,
		  const struct registration *registration)
{
	struct output *output = memory_alloc(sizeof(*output));

	live_register(engine, session, registration);
	session_wait_end(engine, session);
	output->node = memory_text(registration->node);
	output->kind = OUTPUT_HELLO;
	output->peer = session->peer;
	memcpy(output->nonce, registration->node_nonce, sizeof(output->nonce));
	commit_output(engine, output);
}

static void take_registration(struct engine *engine, struct session *session,
			      const struct registration *registration)
{
	struct fairlead_error error;
	int result;

	if (halt_check(engine, registration))
		return;
	if (registration->address_size == 0) {
		session_reject(engine, session, REFUSAL_ADDRESS,
			       "the node has no endpoint for collectives: "
			       "update its fairleadd, or see its log and "
			       "`fabric` in its configuration for why there "
			       "is none");
		return;
	}
	result = register_report(engine, registration, session->challenge,
				 core_register, &error);
	engine->has_registered |= result == 0;
	if (result == 0)
		adopt(engine, session, registration);
	else
		session_reject(engine, session, session_refusal(result),
			       error.text);
}

void session_register(struct engine *engine, struct session *session,
		      const struct frame *frame)
{
	struct registration registration;
	int result;

	if (!session->is_challenged) {
		engine->counters.refusals[REFUSAL_REPLAYED]++;
		return;
	}
	result = registration_open(engine->masters, engine->master_count,
				   session->nonce, frame->payload, frame->size,
				   &registration);
	if (result < 0) {
		session_reject(engine, session, session_refusal(result),
			       refusal_text(result));
		return;
	}
	session->is_challenged = false;
	take_registration(engine, session, &registration);
	registration_fini(&registration);
}

/*
 * --- a higher epoch ---
 *
 * A manager that meets a higher epoch stops: its journal lacks what the other
 * one gave out, so anything that it grants may be held twice. It writes that
 * into its journal, for each further start would only raise the epoch until it
 * is the higher one. A recovery, in which everything counts as used, begins
 * above the epoch that was met.
 */

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
	live_clear(engine);
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
