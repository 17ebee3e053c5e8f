/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manager.key and what is derived from it. There is at most one key of each
 * state, so a rotation is over before the next one can be activated. A new
 * key's id is above all others in the file, and the highest one is never the
 * one that goes, so ids are not used again.
 */
#include "lanes/proto/keyfile.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/proto/keylines.h"

#define TITLE "fairlead-manager-key"

static const char *const state_names[KEY_STATE_COUNT] = {
	[KEY_STAGED] = "staged",
	[KEY_ACTIVE] = "active",
	[KEY_RETIRING] = "retiring",
};

const char *key_state_name(enum key_state state)
{
	return state_names[state];
}

void manager_keys_fini(struct manager_keys *keys)
{
	sodium_memzero(keys, sizeof(*keys));
}

static bool state_read(const struct keylines_word *word,
		       enum key_state *ret_state)
{
	for (unsigned int state = 0; state < KEY_STATE_COUNT; state++) {
		const char *name = state_names[state];

		if (word->size == strlen(name) &&
		    memcmp(word->at, name, word->size) == 0) {
			*ret_state = (enum key_state)state;
			return true;
		}
	}
	return false;
}

static int key_take(struct keylines *lines, struct manager_keys *keys,
		    struct fairlead_error *error)
{
	struct manager_key *key = &keys->keys[keys->count];

	if (keys->count == KEYS_MAX)
		return keylines_refuse(lines, error, "more than 3 'key' lines");
	if (lines->count != 4 || !keylines_id(&lines->words[1], &key->id) ||
	    !state_read(&lines->words[2], &key->state) ||
	    !keylines_hex(&lines->words[3], key->seed))
		return keylines_refuse(lines, error,
				       "not 'key ID STATE SEED-HEX32', STATE "
				       "being staged, active or retiring");
	for (size_t i = 0; i < keys->count; i++) {
		if (keys->keys[i].id == key->id)
			return keylines_refuse(lines, error,
					       "the key id is there twice");
		if (keys->keys[i].state == key->state)
			return keylines_refuse(lines, error,
					       "a second key of that state");
	}
	keys->count++;
	return 0;
}

static int items_take(struct keylines *lines, struct manager_keys *keys,
		      struct fairlead_error *error)
{
	bool has_cluster = false;
	int result;

	while ((result = keylines_next(lines, error)) > 0) {
		if (keylines_is(lines, "key")) {
			result = key_take(lines, keys, error);
		} else if (!keylines_is(lines, "cluster")) {
			result = keylines_refuse(lines, error, "unknown item");
		} else if (has_cluster || lines->count != 2 ||
			   !keylines_hex(&lines->words[1], keys->cluster)) {
			result = keylines_refuse(lines, error,
						 "not one 'cluster HEX32'");
		} else {
			has_cluster = true;
		}
		if (result < 0)
			break;
	}
	if (result < 0)
		return result;
	if (!has_cluster || manager_keys_find(keys, KEY_ACTIVE) == NULL)
		return keylines_refuse(lines, error,
				       "the file ends without a 'cluster' and "
				       "an active key");
	return 0;
}

int manager_keys_parse(const char *text, size_t size,
		       struct manager_keys *ret_keys,
		       struct fairlead_error *ret_error)
{
	struct manager_keys keys = { 0 };
	struct keylines lines;
	int result;

	result = keylines_begin(&lines, text, size, TITLE, ret_error);
	if (result == 0)
		result = items_take(&lines, &keys, ret_error);
	if (result == 0)
		*ret_keys = keys;
	manager_keys_fini(&keys);
	return result;
}

int manager_keys_format(const struct manager_keys *keys, struct writer *writer)
{
	keylines_write(writer, TITLE " 1\ncluster");
	keylines_write_hex(writer, keys->cluster);
	keylines_write(writer, "\n");
	for (size_t i = 0; i < keys->count; i++) {
		keylines_write(writer, "key");
		keylines_write_id(writer, keys->keys[i].id);
		keylines_write(writer, " ");
		keylines_write(writer, key_state_name(keys->keys[i].state));
		keylines_write_hex(writer, keys->keys[i].seed);
		keylines_write(writer, "\n");
	}
	return writer->result;
}

void manager_keys_create(const struct rng_seam *rng,
			 struct manager_keys *ret_keys)
{
	*ret_keys = (struct manager_keys){
		.count = 1,
		.keys = { { .id = 1, .state = KEY_ACTIVE } },
	};
	rng_fill(rng, ret_keys->cluster, sizeof(ret_keys->cluster));
	rng_fill(rng, ret_keys->keys[0].seed, KEY_SIZE);
}

const struct manager_key *manager_keys_find(const struct manager_keys *keys,
					    enum key_state state)
{
	for (size_t i = 0; i < keys->count; i++)
		if (keys->keys[i].state == state)
			return &keys->keys[i];
	return NULL;
}

int manager_keys_rotate(struct manager_keys *keys, const struct rng_seam *rng,
			struct fairlead_error *ret_error)
{
	const struct manager_key *staged = manager_keys_find(keys, KEY_STAGED);
	struct manager_key *key;
	uint32_t id = 0;

	if (staged != NULL)
		return error_set(ret_error, -EEXIST,
				 "key %u is staged already: activate it first",
				 staged->id);
	for (size_t i = 0; i < keys->count; i++)
		if (keys->keys[i].id > id)
			id = keys->keys[i].id;
	if (id == UINT32_MAX)
		return error_set(ret_error, -ERANGE, "no key id is left");
	key = &keys->keys[keys->count++];
	*key = (struct manager_key){ .id = id + 1, .state = KEY_STAGED };
	rng_fill(rng, key->seed, KEY_SIZE);
	return 0;
}

int manager_keys_activate(struct manager_keys *keys,
			  struct fairlead_error *ret_error)
{
	const struct manager_key *retiring =
		manager_keys_find(keys, KEY_RETIRING);

	if (manager_keys_find(keys, KEY_STAGED) == NULL)
		return error_set(ret_error, -ENOENT,
				 "no key is staged: rotate first");
	if (retiring != NULL)
		return error_set(ret_error, -EBUSY,
				 "key %u is retiring still: retire it first",
				 retiring->id);
	for (size_t i = 0; i < keys->count; i++)
		keys->keys[i].state = keys->keys[i].state == KEY_STAGED
					      ? KEY_ACTIVE
					      : KEY_RETIRING;
	return 0;
}

int manager_keys_retire(struct manager_keys *keys,
			struct fairlead_error *ret_error)
{
	const struct manager_key *retiring =
		manager_keys_find(keys, KEY_RETIRING);
	size_t index;

	if (retiring == NULL)
		return error_set(ret_error, -ENOENT, "no key is retiring");
	index = (size_t)(retiring - keys->keys);
	keys->count--;
	memmove(&keys->keys[index], &keys->keys[index + 1],
		(keys->count - index) * sizeof(keys->keys[0]));
	sodium_memzero(&keys->keys[keys->count], sizeof(keys->keys[0]));
	return 0;
}

void manager_keys_command(const struct manager_keys *keys,
			  struct command_key *ret_key)
{
	const struct manager_key *key = manager_keys_find(keys, KEY_ACTIVE);

	assert(key != NULL);
	command_key_derive(key->id, key->seed, ret_key);
}

size_t manager_keys_publics(const struct manager_keys *keys,
			    struct command_public ret_publics[KEYS_MAX])
{
	for (size_t i = 0; i < keys->count; i++)
		command_public_derive(keys->keys[i].id, keys->keys[i].seed,
				      &ret_publics[i]);
	return keys->count;
}

size_t manager_keys_masters(const struct manager_keys *keys,
			    struct node_master ret_masters[KEYS_MAX])
{
	for (size_t i = 0; i < keys->count; i++)
		node_master_derive(keys->keys[i].id, keys->keys[i].seed,
				   &ret_masters[i]);
	return keys->count;
}

static size_t hops_derive(const struct manager_keys *keys,
			  struct hop_key ret_hops[KEYS_MAX])
{
	static const enum key_state order[] = { KEY_ACTIVE, KEY_STAGED,
						KEY_RETIRING };
	size_t count = 0;

	for (size_t i = 0; i < KEY_STATE_COUNT; i++) {
		const struct manager_key *key =
			manager_keys_find(keys, order[i]);

		if (key != NULL)
			hop_key_derive(key->id, key->seed, &ret_hops[count++]);
	}
	return count;
}

void manager_keys_hops(const struct manager_keys *keys,
		       struct hop_keys *ret_hops)
{
	*ret_hops = (struct hop_keys){ .is_manager = true };
	ret_hops->hop_count = hops_derive(keys, ret_hops->hops);
	manager_keys_command(keys, &ret_hops->command);
}

#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES   crypto_aead_xchacha20poly1305_ietf_ABYTES

_Static_assert(KEY_SECRET_OVERHEAD ==
			       sizeof(uint32_t) + NONCE_BYTES + TAG_BYTES &&
		       KEY_SIZE == crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
	       "a secret of the journal");

/* One nonce for one secret of one grant, so that a row can be made again. */
static void nonce_derive(const uint8_t key[KEY_SIZE], uint64_t binding,
			 const void *secret, size_t size,
			 uint8_t nonce[NONCE_BYTES])
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, key, KEY_SIZE, NONCE_BYTES);
	crypto_generichash_update(&state, (const uint8_t *)&binding,
				  sizeof(binding));
	crypto_generichash_update(&state, secret, size);
	crypto_generichash_final(&state, nonce, NONCE_BYTES);
}

void manager_keys_encrypt(const struct manager_keys *keys, uint64_t grant_id,
			  const void *secret, size_t size,
			  struct writer *writer)
{
	const struct manager_key *active = manager_keys_find(keys, KEY_ACTIVE);
	const uint64_t binding = htole64(grant_id);
	_auto_(freep) uint8_t *encrypted = memory_alloc(size + TAG_BYTES);
	uint8_t key[KEY_SIZE], nonce[NONCE_BYTES];

	assert(active != NULL);
	journal_key_derive(active->seed, key);
	nonce_derive(key, binding, secret, size, nonce);
	crypto_aead_xchacha20poly1305_ietf_encrypt(
		encrypted, NULL, secret, size, (const uint8_t *)&binding,
		sizeof(binding), NULL, nonce, key);
	sodium_memzero(key, sizeof(key));
	write_u32(writer, active->id);
	write_bytes(writer, nonce, sizeof(nonce));
	write_bytes(writer, encrypted, size + TAG_BYTES);
}

int manager_keys_decrypt(const struct manager_keys *keys, uint64_t grant_id,
			 const void *bytes, size_t size, struct writer *writer,
			 struct fairlead_error *ret_error)
{
	struct reader reader = reader_of(bytes, size);
	const uint64_t binding = htole64(grant_id);
	uint32_t id = read_u32(&reader);
	const uint8_t *nonce = read_bytes(&reader, NONCE_BYTES);
	const uint8_t *encrypted = read_bytes(&reader, reader.left);
	const struct manager_key *found = NULL;
	_auto_(freep) uint8_t *secret = NULL;
	uint8_t key[KEY_SIZE];
	int result;

	if (size < KEY_SECRET_OVERHEAD)
		return error_set(ret_error, -EBADMSG, "its secret is cut");
	for (size_t i = 0; i < keys->count; i++)
		if (keys->keys[i].id == id)
			found = &keys->keys[i];
	if (found == NULL)
		return error_set(ret_error, -ENOKEY,
				 "its secret is encrypted under the manager's "
				 "key %u, which the key file lacks: put back "
				 "the file that has it",
				 id);
	size -= KEY_SECRET_OVERHEAD;
	secret = memory_alloc(size + 1);
	journal_key_derive(found->seed, key);
	result = crypto_aead_xchacha20poly1305_ietf_decrypt(
		secret, NULL, NULL, encrypted, size + TAG_BYTES,
		(const uint8_t *)&binding, sizeof(binding), nonce, key);
	sodium_memzero(key, sizeof(key));
	if (result < 0)
		return error_set(ret_error, -EKEYREJECTED,
				 "its secret was not encrypted under key %u of "
				 "the key file: put back the file that the "
				 "journal was written with",
				 id);
	write_bytes(writer, secret, size);
	sodium_memzero(secret, size);
	return found->state != KEY_ACTIVE;
}

/* Add what a node needs of one key. */
static void key_add(const struct manager_key *key, struct node_keys *keys)
{
	struct node_master master;

	command_public_derive(key->id, key->seed,
			      &keys->commands[keys->command_count++]);
	node_master_derive(key->id, key->seed, &master);
	node_key_derive(&master, keys->name,
			&keys->confirms[keys->confirm_count++]);
	node_master_fini(&master);
}

int node_keys_make(const struct manager_keys *keys, const char *name,
		   struct node_keys *ret_keys, struct fairlead_error *ret_error)
{
	const struct manager_key *staged = manager_keys_find(keys, KEY_STAGED);

	if (!name_is_node(name))
		return error_set(ret_error, -EINVAL,
				 "'%.64s' is not the name of a node", name);
	*ret_keys = (struct node_keys){ 0 };
	memcpy(ret_keys->cluster, keys->cluster, CLUSTER_ID_SIZE);
	snprintf(ret_keys->name, sizeof(ret_keys->name), "%s", name);
	key_add(manager_keys_find(keys, KEY_ACTIVE), ret_keys);
	if (staged != NULL)
		key_add(staged, ret_keys);
	ret_keys->hop_count = hops_derive(keys, ret_keys->hops);
	return 0;
}
