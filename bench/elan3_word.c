/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan3_word.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/driver/elan3/geometry.h"
#include "lanes/driver/elan3/reply.h"
#include "lanes/proto/message.h"
#include "lanes/proto/seal.h"
#include "rounds.h"
#include "sys/rng.h"

#define GRANT_ID      17
#define PROGRAM       17
#define FIRST_CONTEXT 1024
#define NAME_SIZE     16

static void must(const char *what, int result)
{
	if (result < 0) {
		errno = -result;
		rounds_die(what);
	}
}

/* The opaque reply: nodes are ElanIDs 0 and on. */
static void reply_make(const struct rng_seam *rng, uint32_t node_count,
		       struct writer *writer)
{
	uint32_t *ids = calloc(node_count, sizeof(*ids));
	uint32_t *tasks = calloc(node_count, sizeof(*tasks));
	const struct elan3_geometry geometry = {
		.count = node_count,
		.ids = ids,
		.tasks = tasks,
		.high = node_count - 1,
		.most = WORD_TASKS,
	};
	struct elan_capability cap;
	const struct elan3_reply reply = { .program = PROGRAM,
					   .cap_count = 1,
					   .caps = &cap };
	uint8_t key[ELAN3_KEY_SIZE];

	if (ids == NULL || tasks == NULL)
		rounds_die("allocate");
	for (uint32_t i = 0; i < node_count; i++) {
		ids[i] = i;
		tasks[i] = WORD_TASKS;
	}
	rng_fill(rng, key, sizeof(key));
	elan3_capability_make(&geometry, FIRST_CONTEXT,
			      FIRST_CONTEXT + WORD_TASKS - 1, false, 1, key,
			      &cap);
	must("encode the reply", elan3_reply_encode(&reply, writer));
	free(ids);
	free(tasks);
}

/* Names, keys, and the reply sealed to them. */
static void reply_seal(const struct rng_seam *rng, struct word *word,
		       struct writer *sealed)
{
	char(*names)[NAME_SIZE] = calloc(word->node_count, sizeof(*names));
	const char **list = calloc(word->node_count, sizeof(*list));
	struct writer reply = { 0 };
	struct node_master master;
	uint8_t seed[KEY_SIZE];

	word->keys = calloc(word->node_count, sizeof(*word->keys));
	if (names == NULL || list == NULL || word->keys == NULL)
		rounds_die("allocate");
	rng_fill(rng, seed, sizeof(seed));
	node_master_derive(1, seed, &master);
	for (uint32_t i = 0; i < word->node_count; i++) {
		snprintf(names[i], sizeof(names[i]), "n%" PRIu32, i);
		list[i] = names[i];
		node_key_derive(&master, names[i], &word->keys[i]);
	}
	reply_make(rng, word->node_count, &reply);
	must("seal the reply",
	     seal_make(rng, &master, GRANT_ID, list, word->node_count,
		       reply.data, reply.size, sealed));
	writer_fini(&reply);
	free(names);
	free(list);
}

static void command_make(const struct rng_seam *rng, struct word *word,
			 const struct apply_body *apply)
{
	struct command command = {
		.version = WIRE_VERSION,
		.op = COMMAND_APPLY,
		.epoch = 1,
		.life = 1,
		.sequence = 1,
		.grant_id = GRANT_ID,
	};
	struct writer body = { 0 };
	struct command_key key;
	uint8_t seed[KEY_SIZE];

	must("encode the body", apply_body_encode(apply, &body));
	command.body = body.data;
	command.body_size = body.size;
	rng_fill(rng, seed, sizeof(seed));
	command_key_derive(1, seed, &key);
	command_public_derive(1, seed, &word->public);
	must("sign the command", command_seal(&key, &command, &word->command));
	command_key_fini(&key);
	writer_fini(&body);
}

void word_make(uint32_t node_count, struct word *ret_operator)
{
	struct word word = { .node_count = node_count };
	struct apply_body apply = {
		.key = "slurm/17/0",
		.driver = "elan3",
		.uid = 1000,
		.gid = 1000,
		.cores = "4",
		.tasks = "4",
		.id_count = 3,
		.ids = { PROGRAM, FIRST_CONTEXT,
			 FIRST_CONTEXT + WORD_TASKS - 1 },
		.options = "layout=block,rails=0,contexts=4",
	};
	struct rng_seam rng = sys_rng();
	struct writer sealed = { 0 };
	char nodes[32];

	if (sodium_init() < 0)
		rounds_die("sodium");
	reply_seal(&rng, &word, &sealed);
	snprintf(nodes, sizeof(nodes), "n[0-%" PRIu32 "]", node_count - 1);
	apply.nodes = nodes;
	apply.sealed = sealed.data;
	apply.sealed_size = sealed.size;
	command_make(&rng, &word, &apply);
	writer_fini(&sealed);
	*ret_operator = word;
}

void word_fini(struct word *word)
{
	writer_fini(&word->command);
	free(word->keys);
}

void word_open(const struct word *word, uint32_t node, const void *bytes,
	       size_t size)
{
	struct elan3_reply reply;
	union command_body apply;
	struct command command;
	struct secret secret;

	must("verify the command",
	     command_verify(bytes, size, &word->public, 1, &command));
	must("read the command",
	     command_body_decode(COMMAND_APPLY, command.body, command.body_size,
				 &apply));
	must("open the secrets",
	     seal_open(&word->keys[node], 1, command.grant_id, node,
		       apply.apply.sealed, apply.apply.sealed_size, &secret));
	must("read the reply",
	     elan3_reply_decode(secret.bytes, secret.size, &reply, NULL));
	if (reply.program != apply.apply.ids[0])
		must("compare the program", -EBADMSG);
	elan3_reply_fini(&reply);
	secret_fini(&secret);
	command_body_fini(COMMAND_APPLY, &apply);
}
