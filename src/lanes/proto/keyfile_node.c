/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.key. Items may come in any order but for the keys: the first `confirm`
 * and the first `hop` are those that are used. Nothing of a file that is wrong
 * anywhere is kept.
 */
#include "lanes/proto/keyfile.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "lanes/proto/keylines.h"

#define TITLE "fairlead-node-key"

void hop_keys_fini(struct hop_keys *keys)
{
	sodium_memzero(keys, sizeof(*keys));
}

void node_keys_hops(const struct node_keys *keys, struct hop_keys *ret_hops)
{
	*ret_hops = (struct hop_keys){
		.hop_count = keys->hop_count,
		.command_count = keys->command_count,
	};
	memcpy(ret_hops->hops, keys->hops, sizeof(keys->hops));
	memcpy(ret_hops->commands, keys->commands, sizeof(keys->commands));
}

void keys_lock(void *keys, size_t size, const struct log *log)
{
	static bool is_logged;

	if (sodium_mlock(keys, size) == 0 || log == NULL || is_logged)
		return;
	is_logged = true;
	log_warning(log,
		    "keys are not locked in memory, and may be swapped "
		    "error=\"%s\"",
		    strerror(errno));
}

void keys_unlock(void *keys, size_t size)
{
	sodium_munlock(keys, size);
}

void node_keys_fini(struct node_keys *keys)
{
	sodium_memzero(keys, sizeof(*keys));
}

static int command_take(struct keylines *lines, struct node_keys *keys,
			struct fairlead_error *error)
{
	struct command_public *key = &keys->commands[keys->command_count];

	if (keys->command_count == KEYS_MAX)
		return keylines_refuse(lines, error,
				       "more than 3 'command' lines");
	if (lines->count != 3 || !keylines_id(&lines->words[1], &key->id) ||
	    !keylines_hex(&lines->words[2], key->bytes))
		return keylines_refuse(lines, error,
				       "not 'command ID PUBLIC-HEX32'");
	for (size_t i = 0; i < keys->command_count; i++)
		if (keys->commands[i].id == key->id)
			return keylines_refuse(lines, error,
					       "the key id is there twice");
	keys->command_count++;
	return 0;
}

static int confirm_take(struct keylines *lines, struct node_keys *keys,
			struct fairlead_error *error)
{
	struct node_key *key = &keys->confirms[keys->confirm_count];

	if (keys->confirm_count == KEYS_MAX)
		return keylines_refuse(lines, error,
				       "more than 3 'confirm' lines");
	if (lines->count != 3 || !keylines_id(&lines->words[1], &key->id) ||
	    !keylines_hex(&lines->words[2], key->bytes))
		return keylines_refuse(lines, error,
				       "not 'confirm ID KEY-HEX32'");
	for (size_t i = 0; i < keys->confirm_count; i++)
		if (keys->confirms[i].id == key->id)
			return keylines_refuse(lines, error,
					       "the key id is there twice");
	keys->confirm_count++;
	return 0;
}

static int hop_take(struct keylines *lines, struct node_keys *keys,
		    struct fairlead_error *error)
{
	struct hop_key *key = &keys->hops[keys->hop_count];

	if (keys->hop_count == KEYS_MAX)
		return keylines_refuse(lines, error, "more than 3 'hop' lines");
	if (lines->count != 3 || !keylines_id(&lines->words[1], &key->id) ||
	    !keylines_hex(&lines->words[2], key->bytes))
		return keylines_refuse(lines, error, "not 'hop ID KEY-HEX32'");
	for (size_t i = 0; i < keys->hop_count; i++)
		if (keys->hops[i].id == key->id)
			return keylines_refuse(lines, error,
					       "the key id is there twice");
	keys->hop_count++;
	return 0;
}

static int item_take(struct keylines *lines, struct node_keys *keys,
		     bool *has_cluster, struct fairlead_error *error)
{
	if (keylines_is(lines, "command"))
		return command_take(lines, keys, error);
	if (keylines_is(lines, "confirm"))
		return confirm_take(lines, keys, error);
	if (keylines_is(lines, "hop"))
		return hop_take(lines, keys, error);
	if (keylines_is(lines, "cluster")) {
		if (*has_cluster || lines->count != 2 ||
		    !keylines_hex(&lines->words[1], keys->cluster))
			return keylines_refuse(lines, error,
					       "not one 'cluster HEX32'");
		*has_cluster = true;
		return 0;
	}
	if (keylines_is(lines, "name")) {
		if (keys->name[0] != 0 || lines->count != 2 ||
		    !keylines_text(&lines->words[1], keys->name,
				   sizeof(keys->name)) ||
		    !name_is_node(keys->name))
			return keylines_refuse(lines, error,
					       "not one 'name NAME'");
		return 0;
	}
	return keylines_refuse(lines, error, "unknown item");
}

static int items_take(struct keylines *lines, struct node_keys *keys,
		      struct fairlead_error *error)
{
	bool has_cluster = false;
	int result;

	while ((result = keylines_next(lines, error)) > 0) {
		result = item_take(lines, keys, &has_cluster, error);
		if (result < 0)
			break;
	}
	if (result < 0)
		return result;
	if (!has_cluster || keys->name[0] == 0 || keys->command_count == 0 ||
	    keys->confirm_count == 0 || keys->hop_count == 0)
		return keylines_refuse(lines, error,
				       "the file ends without one each of "
				       "'cluster', 'name', 'command', "
				       "'confirm' and 'hop'");
	return 0;
}

int node_keys_parse(const char *text, size_t size, struct node_keys *ret_keys,
		    struct fairlead_error *ret_error)
{
	struct node_keys keys = { 0 };
	struct keylines lines;
	int result;

	result = keylines_begin(&lines, text, size, TITLE, ret_error);
	if (result == 0)
		result = items_take(&lines, &keys, ret_error);
	if (result == 0)
		*ret_keys = keys;
	node_keys_fini(&keys);
	return result;
}

int node_keys_format(const struct node_keys *keys, struct writer *writer)
{
	keylines_write(writer, TITLE " 1\ncluster");
	keylines_write_hex(writer, keys->cluster);
	keylines_write(writer, "\nname ");
	keylines_write(writer, keys->name);
	keylines_write(writer, "\n");
	for (size_t i = 0; i < keys->command_count; i++) {
		keylines_write(writer, "command");
		keylines_write_id(writer, keys->commands[i].id);
		keylines_write_hex(writer, keys->commands[i].bytes);
		keylines_write(writer, "\n");
	}
	for (size_t i = 0; i < keys->confirm_count; i++) {
		keylines_write(writer, "confirm");
		keylines_write_id(writer, keys->confirms[i].id);
		keylines_write_hex(writer, keys->confirms[i].bytes);
		keylines_write(writer, "\n");
	}
	for (size_t i = 0; i < keys->hop_count; i++) {
		keylines_write(writer, "hop");
		keylines_write_id(writer, keys->hops[i].id);
		keylines_write_hex(writer, keys->hops[i].bytes);
		keylines_write(writer, "\n");
	}
	return writer->result;
}
