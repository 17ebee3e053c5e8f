/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes are asked now and then what is on them, as they say it when they
 * register, so that an identifier is withheld for as long as somebody else has
 * it and no longer. A node that reports such a thing is asked often.
 *
 * The question is signed and the answer tagged, so that it shows besides whose
 * keys a node has, also where no job ever comes: the node has obeyed a command
 * of the newest key and keeps its header as its epoch proof, and its own key is
 * of the same seed. While a key is retiring this is asked until it is so. What
 * is lost is asked again.
 */
#include <string.h>

#include "manager/internal.h"

#define LOOK_MS     300000 /* between looks at a node that reports nothing */
#define REPORTED_MS 10000  /* at one that does */
#define ROTATION_MS 2000   /* at one that has not shown the newest key */

static bool is_rotating(const struct engine *engine)
{
	for (size_t i = 0; i < engine->keys.count; i++)
		if (engine->keys.keys[i].state == KEY_RETIRING)
			return true;
	return false;
}

static uint64_t pause_ms(const struct engine *engine,
			 const struct session *session)
{
	if (is_rotating(engine) && session->key_id != engine->command_key.id)
		return ROTATION_MS;
	if (core_node_withholds(engine->core, session->node))
		return REPORTED_MS;
	return LOOK_MS;
}

void look_begin(struct engine *engine, struct session *session)
{
	session->key_id = 0;
	session->look_sequence = 0;
	session->look_ms = engine_now_ms(engine) + pause_ms(engine, session);
}

void look_all(struct engine *engine)
{
	struct session *session;
	struct session *next;

	HASH_ITER (hh_node, engine->sessions_by_node, session, next)
		session->look_ms = 0;
}

void look_gone(struct engine *engine, const char *node, uint64_t grant_id)
{
	struct session *session = session_of(engine, node);

	if (session == NULL)
		return;
	/* One under way may have been answered before that. */
	if (session->look_sequence != 0 ||
	    (engine->core != NULL &&
	     core_node_has_of(engine->core, node, grant_id)))
		session->look_ms = 0;
	session->look_sequence = 0;
}

void look_now(struct engine *engine, const char *node)
{
	struct session *session = session_of(engine, node);

	if (session != NULL)
		session->look_ms = 0;
}

void look_tick(struct engine *engine, struct session *session, uint64_t now_ms,
	       unsigned int *budget)
{
	const struct query_body body = {
		.nodes = session->node,
		.what = QUERY_INVENTORY,
	};
	struct command command = { .op = COMMAND_QUERY };
	struct writer writer = { .limit = FRAME_SIZE_MAX };

	if (!session->is_greeted || engine->core == NULL ||
	    engine->halted_epoch != 0 || now_ms < session->look_ms ||
	    *budget == 0)
		return;
	(*budget)--;
	session->look_ms = now_ms + pause_ms(engine, session);
	if (query_body_encode(&body, session->version, &writer) == 0) {
		command.body = writer.data;
		command.body_size = writer.size;
		session_command(engine, session, &command);
		session->look_sequence = engine->sequence;
		session->look_key_id = engine->command_key.id;
	}
	writer_fini(&writer);
}

bool look_answer(struct engine *engine, const struct confirm *confirm)
{
	struct session *session = session_of(engine, confirm->node);
	struct registration registration;
	struct fairlead_error error;

	if (session == NULL || confirm->op != COMMAND_QUERY ||
	    session->look_sequence == 0 ||
	    session->look_sequence != confirm->sequence ||
	    confirm->epoch != engine->epoch || confirm->life != engine->life ||
	    memcmp(confirm->incarnation, session->incarnation,
		   INCARNATION_SIZE) != 0)
		return false;
	session->look_sequence = 0;
	if (confirm->key_id == session->look_key_id)
		session->key_id = confirm->key_id;
	/* Without memory it is for the next time. */
	if (confirm->result == 0 &&
	    inventory_decode(confirm->answer, confirm->answer_size,
			     &registration) == 0) {
		memcpy(registration.node, confirm->node,
		       sizeof(registration.node));
		memcpy(registration.incarnation, confirm->incarnation,
		       sizeof(registration.incarnation));
		register_tell(engine, &registration, 0, core_observe, &error);
		registration_fini(&registration);
	}
	session->look_ms = engine_now_ms(engine) + pause_ms(engine, session);
	return true;
}
