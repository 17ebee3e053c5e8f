/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/keyfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/proto/keylines.h"
#include "sim/rng.h"

#define HEX_A   "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define HEX_B   "ABCDEF030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define HEX_C   "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

#define MANAGER "fairlead-manager-key 1\n"
#define NODE    "fairlead-node-key 1\n"
#define ACTIVE  "key 7 active " HEX_A "\n"
#define STAGED  "key 8 staged " HEX_B "\n"
#define RETIRED "key 6 retiring " HEX_C "\n"
#define CLUSTER "cluster " HEX_C "\n"

static struct manager_keys created(struct sim_rng *rng)
{
	const struct rng_seam seam = sim_rng_seam(rng);
	struct manager_keys keys;

	manager_keys_create(&seam, &keys);
	return keys;
}

static void manager_file_is_read(void **state)
{
	static const char text[] =
		"# ours\n\n" MANAGER "\t" CLUSTER ACTIVE
		"  key  8\tstaged " HEX_B "  # new\n" RETIRED;
	struct fairlead_error error;
	struct manager_keys keys;

	if (manager_keys_parse(text, strlen(text), &keys, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(keys.count, 3);
	assert_int_equal(keys.cluster[0], 0xff);
	assert_int_equal(keys.keys[0].id, 7);
	assert_int_equal(keys.keys[0].state, KEY_ACTIVE);
	assert_int_equal(keys.keys[0].seed[31], 0x1f);
	assert_int_equal(keys.keys[1].id, 8);
	assert_int_equal(keys.keys[1].state, KEY_STAGED);
	assert_int_equal(keys.keys[1].seed[0], 0xab);
	assert_int_equal(keys.keys[2].state, KEY_RETIRING);
}

struct bad_file {
	const char *text, *error;
};

static void assert_refused(const struct bad_file *file, int result,
			   const struct fairlead_error *error)
{
	assert_int_equal(result, -EINVAL);
	if (strstr(error->text, file->error) == NULL)
		fail_msg("'%s' is not in '%s'", file->error, error->text);
	/* What is in a file may be a secret: no error quotes it. */
	if (strstr(error->text, "0102030405") != NULL)
		fail_msg("a secret is in '%s'", error->text);
}

static void bad_manager_files_are_refused_with_the_line(void **state)
{
	static const struct bad_file files[] = {
		{ "",
		  "line 0: the first item is not 'fairlead-manager-key 1'" },
		{ "# only\n", "line 1: the first item" },
		{ NODE CLUSTER ACTIVE, "line 1: the first item" },
		{ HEX_A, "line 1: the first item" },
		{ "fairlead-manager-key\n", "line 1: the first item" },
		{ "fairlead-manager-key 2\n", "line 1: another version" },
		{ "fairlead-manager-key 11\n", "line 1: another version" },
		{ MANAGER ACTIVE, "line 2: the file ends without" },
		{ MANAGER CLUSTER, "line 2: the file ends without" },
		{ MANAGER CLUSTER STAGED RETIRED, "line 4: the file ends" },
		{ MANAGER CLUSTER CLUSTER ACTIVE, "line 3: not one 'cluster" },
		{ MANAGER "cluster 00\n" ACTIVE, "line 2: not one 'cluster" },
		{ MANAGER "cluster\n" ACTIVE, "line 2: not one 'cluster" },
		{ MANAGER CLUSTER ACTIVE "key 9 active " HEX_B "\n",
		  "line 4: a second key of that state" },
		{ MANAGER CLUSTER ACTIVE STAGED "key 9 staged " HEX_C "\n",
		  "line 5: a second key of that state" },
		{ MANAGER CLUSTER ACTIVE "key 7 staged " HEX_B "\n",
		  "line 4: the key id is there twice" },
		{ MANAGER CLUSTER ACTIVE STAGED RETIRED ACTIVE,
		  "line 6: more than 3" },
		{ MANAGER CLUSTER "key 0 active " HEX_A, "line 3: not 'key" },
		{ MANAGER CLUSTER "key 07 active " HEX_A, "line 3: not 'key" },
		{ MANAGER CLUSTER "key x active " HEX_A, "line 3: not 'key" },
		{ MANAGER CLUSTER "key 4294967296 active " HEX_A,
		  "line 3: not 'key" },
		{ MANAGER CLUSTER "key 99999999999 active " HEX_A,
		  "line 3: not 'key" },
		{ MANAGER CLUSTER "key 1 old " HEX_A, "line 3: not 'key" },
		{ MANAGER CLUSTER "key 1 " HEX_A, "line 3: not 'key" },
		{ MANAGER CLUSTER "key 1 active " HEX_A "0", "line 3: not 'k" },
		{ MANAGER CLUSTER "key 1 active 0102030405\n",
		  "line 3: not 'key" },
		{ MANAGER CLUSTER "key 1 active x" HEX_A, "line 3: not 'key" },
		{ MANAGER CLUSTER "key 1 active " HEX_A " x\n",
		  "line 3: too many words" },
		{ MANAGER CLUSTER ACTIVE HEX_B "\n", "line 4: unknown item" },
		{ MANAGER CLUSTER ACTIVE "\x01\n", "line 4: a byte that is" },
		{ MANAGER CLUSTER ACTIVE "name \xc3\xbc\n", "line 4: a byte" },
		{ MANAGER CLUSTER "key 1 active " HEX_A "\r\n",
		  "line 3: a byte that is not text" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct manager_keys keys = { .count = 99 };
		struct fairlead_error error = { 0 };
		const char *text = files[i].text;
		int result =
			manager_keys_parse(text, strlen(text), &keys, &error);

		assert_refused(&files[i], result, &error);
		assert_int_equal(keys.count, 99);
	}
}

static void node_file_is_read(void **state)
{
	static const char text[] =
		NODE "name n3\nconfirm 8 " HEX_A "\nconfirm 7 " HEX_B
		     "\ncommand 7 " HEX_C "\n" CLUSTER "command 8 " HEX_A
		     "\nhop 8 " HEX_C "\nhop 7 " HEX_A "\n";
	struct fairlead_error error;
	struct node_keys keys;

	if (node_keys_parse(text, strlen(text), &keys, &error) < 0)
		fail_msg("%s", error.text);
	assert_string_equal(keys.name, "n3");
	assert_int_equal(keys.cluster[31], 0xff);
	assert_int_equal(keys.command_count, 2);
	assert_int_equal(keys.commands[0].id, 7);
	assert_int_equal(keys.commands[0].bytes[5], 0xff);
	assert_int_equal(keys.confirm_count, 2);
	assert_int_equal(keys.confirms[0].id, 8);
	assert_int_equal(keys.confirms[0].bytes[5], 5);
	assert_int_equal(keys.confirms[1].id, 7);
	assert_int_equal(keys.hop_count, 2);
	assert_int_equal(keys.hops[0].id, 8);
	assert_int_equal(keys.hops[0].bytes[5], 0xff);
	assert_int_equal(keys.hops[1].id, 7);
	assert_int_equal(keys.hops[1].bytes[5], 5);
}

static void bad_node_files_are_refused_with_the_line(void **state)
{
#define REST    CLUSTER "name n3\n"
#define COMMAND "command 1 " HEX_A "\n"
#define CONFIRM "confirm 1 " HEX_A "\n"
#define HOP     "hop 1 " HEX_A "\n"
	static const struct bad_file files[] = {
		{ "", "line 0: the first item is not 'fairlead-node-key 1'" },
		{ MANAGER REST COMMAND CONFIRM, "line 1: the first item" },
		{ "fairlead-node-key 0\n", "line 1: another version" },
		{ NODE "name n3\n" COMMAND CONFIRM HOP, "line 5: the file" },
		{ NODE CLUSTER COMMAND CONFIRM HOP, "line 5: the file ends" },
		{ NODE REST CONFIRM HOP, "line 5: the file ends" },
		{ NODE REST COMMAND HOP, "line 5: the file ends" },
		{ NODE REST COMMAND CONFIRM, "line 5: the file ends" },
		{ NODE REST "name n4\n", "line 4: not one 'name NAME'" },
		{ NODE CLUSTER "name n[3]\n", "line 3: not one 'name NAME'" },
		{ NODE CLUSTER "name\n", "line 3: not one 'name NAME'" },
		{ NODE CLUSTER "name " HEX_A "0\n", "line 3: not one 'name" },
		{ NODE REST CLUSTER, "line 4: not one 'cluster" },
		{ NODE REST "command 1\n", "line 4: not 'command" },
		{ NODE REST "command 1 " HEX_A " x\n", "line 4: not 'command" },
		{ NODE REST "confirm 1 zz\n", "line 4: not 'confirm" },
		{ NODE REST COMMAND COMMAND, "line 5: the key id is" },
		{ NODE REST CONFIRM CONFIRM, "line 5: the key id is" },
		{ NODE REST COMMAND "command 2 " HEX_A "\ncommand 3 " HEX_A
				    "\ncommand 4 " HEX_A,
		  "line 7: more than 3 'command'" },
		{ NODE REST CONFIRM "confirm 2 " HEX_A "\nconfirm 3 " HEX_A
				    "\nconfirm 4 " HEX_A,
		  "line 7: more than 3 'confirm'" },
		{ NODE REST "hop 1 zz\n", "line 4: not 'hop" },
		{ NODE REST "hop 0 " HEX_A "\n", "line 4: not 'hop" },
		{ NODE REST HOP HOP, "line 5: the key id is" },
		{ NODE REST HOP "hop 2 " HEX_A "\nhop 3 " HEX_A
				"\nhop 4 " HEX_A,
		  "line 7: more than 3 'hop'" },
		{ NODE REST "key 1 active " HEX_A, "line 4: unknown item" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct node_keys keys = { .confirm_count = 99 };
		struct fairlead_error error = { 0 };
		const char *text = files[i].text;
		int result = node_keys_parse(text, strlen(text), &keys, &error);

		assert_refused(&files[i], result, &error);
		assert_int_equal(keys.confirm_count, 99);
	}
}

static void zero_byte_is_not_text(void **state)
{
	static const char text[] = MANAGER "#\0\n" CLUSTER ACTIVE;
	struct fairlead_error error;
	struct manager_keys keys;

	assert_int_equal(manager_keys_parse(text, sizeof(text) - 1, &keys,
					    &error),
			 -EINVAL);
	assert_string_equal(error.text, "line 2: a byte that is not text");
}

static void large_file_is_no_key_file(void **state)
{
	_auto_(freep) char *text = malloc(KEYFILE_SIZE_MAX + 1);
	const char head[] = MANAGER CLUSTER ACTIVE;
	struct manager_keys keys;

	memset(text, '\n', KEYFILE_SIZE_MAX + 1);
	memcpy(text, head, strlen(head));
	assert_int_equal(
		manager_keys_parse(text, KEYFILE_SIZE_MAX, &keys, NULL), 0);
	assert_int_equal(manager_keys_parse(text, KEYFILE_SIZE_MAX + 1, &keys,
					    NULL),
			 -E2BIG);
}

/* A file may be cut at any byte and never be taken for another valid one. */
static void cut_files_are_refused(void **state)
{
	static const char manager[] = MANAGER CLUSTER ACTIVE;
	static const char node[] = NODE REST COMMAND CONFIRM HOP;

	for (size_t size = 0; size + 1 < strlen(manager); size++) {
		_auto_(freep) char *text = malloc(size + 1);
		struct manager_keys keys;

		memcpy(text, manager, size);
		assert_int_equal(manager_keys_parse(text, size, &keys, NULL),
				 -EINVAL);
	}
	for (size_t size = 0; size + 1 < strlen(node); size++) {
		_auto_(freep) char *text = malloc(size + 1);
		struct node_keys keys;

		memcpy(text, node, size);
		assert_int_equal(node_keys_parse(text, size, &keys, NULL),
				 -EINVAL);
	}
}

static void created_file_is_read_again(void **state)
{
	struct manager_keys keys, again;
	struct writer writer = { 0 };
	struct sim_rng rng;

	sim_rng_init(&rng, 5);
	keys = created(&rng);
	assert_int_equal(keys.count, 1);
	assert_int_equal(keys.keys[0].id, 1);
	assert_int_equal(keys.keys[0].state, KEY_ACTIVE);
	assert_memory_not_equal(keys.cluster, keys.keys[0].seed, KEY_SIZE);
	assert_int_equal(manager_keys_format(&keys, &writer), 0);
	assert_int_equal(manager_keys_parse((const char *)writer.data,
					    writer.size, &again, NULL),
			 0);
	assert_memory_equal(&again, &keys, sizeof(keys));
	writer_fini(&writer);
}

static void manager_file_has_its_golden_text(void **state)
{
	static const char text[] =
		MANAGER CLUSTER RETIRED ACTIVE "key 8 staged " HEX_A "\n";
	struct writer writer = { 0 };
	struct manager_keys keys;

	assert_int_equal(manager_keys_parse(text, strlen(text), &keys, NULL),
			 0);
	assert_int_equal(manager_keys_format(&keys, &writer), 0);
	assert_int_equal(writer.size, strlen(text));
	assert_memory_equal(writer.data, text, writer.size);
	writer_fini(&writer);
}

static void assert_states(const struct manager_keys *keys, uint32_t staged,
			  uint32_t active, uint32_t retiring)
{
	const uint32_t ids[KEY_STATE_COUNT] = { staged, active, retiring };
	size_t count = 0;

	for (unsigned int state = 0; state < KEY_STATE_COUNT; state++) {
		const struct manager_key *key = manager_keys_find(keys, state);

		if (ids[state] == 0) {
			assert_null(key);
			continue;
		}
		assert_non_null(key);
		assert_int_equal(key->id, ids[state]);
		count++;
	}
	assert_int_equal(keys->count, count);
}

static void rotation_goes_from_staged_to_retired(void **state)
{
	struct fairlead_error error;
	struct manager_keys keys;
	struct sim_rng rng;
	struct rng_seam seam;

	sim_rng_init(&rng, 6);
	seam = sim_rng_seam(&rng);
	keys = created(&rng);
	assert_states(&keys, 0, 1, 0);
	assert_int_equal(manager_keys_activate(&keys, &error), -ENOENT);
	assert_int_equal(manager_keys_retire(&keys, &error), -ENOENT);
	assert_int_equal(manager_keys_rotate(&keys, &seam, &error), 0);
	assert_states(&keys, 2, 1, 0);
	assert_int_equal(manager_keys_rotate(&keys, &seam, &error), -EEXIST);
	assert_int_equal(manager_keys_activate(&keys, &error), 0);
	assert_states(&keys, 0, 2, 1);
	assert_int_equal(manager_keys_rotate(&keys, &seam, &error), 0);
	assert_states(&keys, 3, 2, 1);
	assert_int_equal(manager_keys_activate(&keys, &error), -EBUSY);
	assert_string_equal(error.text,
			    "key 1 is retiring still: retire it first");
	assert_int_equal(manager_keys_retire(&keys, &error), 0);
	assert_states(&keys, 3, 2, 0);
	assert_int_equal(manager_keys_activate(&keys, &error), 0);
	assert_states(&keys, 0, 3, 2);
	assert_int_equal(manager_keys_retire(&keys, &error), 0);
	assert_states(&keys, 0, 3, 0);
	assert_true(sodium_is_zero((const uint8_t *)&keys.keys[1],
				   2 * sizeof(keys.keys[0])));
}

static void key_ids_end(void **state)
{
	struct manager_keys keys;
	struct sim_rng rng;
	struct rng_seam seam;

	sim_rng_init(&rng, 7);
	seam = sim_rng_seam(&rng);
	keys = created(&rng);
	keys.keys[0].id = UINT32_MAX;
	assert_int_equal(manager_keys_rotate(&keys, &seam, NULL), -ERANGE);
	assert_int_equal(keys.count, 1);
}

static void node_file_goes_with_its_manager(void **state)
{
	struct node_master masters[KEYS_MAX];
	struct command_public publics[KEYS_MAX];
	struct hop_keys hops;
	struct manager_keys keys;
	struct node_keys node, again;
	struct command_key command;
	struct writer writer = { 0 };
	struct node_key confirm;
	struct sim_rng rng;
	struct rng_seam seam;

	sim_rng_init(&rng, 8);
	seam = sim_rng_seam(&rng);
	keys = created(&rng);
	assert_int_equal(manager_keys_rotate(&keys, &seam, NULL), 0);
	assert_int_equal(node_keys_make(&keys, "n3", &node, NULL), 0);
	assert_int_equal(node_keys_format(&node, &writer), 0);
	assert_int_equal(node_keys_parse((const char *)writer.data, writer.size,
					 &again, NULL),
			 0);
	assert_memory_equal(&again, &node, sizeof(node));
	assert_memory_equal(again.cluster, keys.cluster, CLUSTER_ID_SIZE);
	assert_int_equal(again.command_count, 2);
	assert_int_equal(again.confirms[0].id, 1);
	assert_int_equal(again.confirms[1].id, 2);
	assert_int_equal(manager_keys_publics(&keys, publics), 2);
	assert_memory_equal(again.commands, publics, 2 * sizeof(publics[0]));
	assert_int_equal(manager_keys_masters(&keys, masters), 2);
	node_key_derive(&masters[0], "n3", &confirm);
	assert_memory_equal(&again.confirms[0], &confirm, sizeof(confirm));
	manager_keys_hops(&keys, &hops);
	assert_int_equal(again.hop_count, 2);
	assert_int_equal(again.hops[0].id, 1);
	assert_int_equal(hops.hop_count, 2);
	assert_memory_equal(again.hops, hops.hops, sizeof(hops.hops));
	manager_keys_command(&keys, &command);
	assert_int_equal(command.id, 1);
	assert_true(hops.is_manager);
	assert_memory_equal(&hops.command, &command, sizeof(command));
	assert_int_equal(hops.command_count, 0);
	node_keys_hops(&again, &hops);
	assert_false(hops.is_manager);
	assert_int_equal(hops.hop_count, 2);
	assert_memory_equal(hops.hops, again.hops, sizeof(hops.hops));
	assert_int_equal(hops.command_count, 2);
	assert_memory_equal(hops.commands, publics, 2 * sizeof(publics[0]));
	writer_fini(&writer);
}

static void node_file_leaves_the_retiring_key_out(void **state)
{
	struct manager_keys keys;
	struct node_keys node;
	struct sim_rng rng;
	struct rng_seam seam;

	sim_rng_init(&rng, 9);
	seam = sim_rng_seam(&rng);
	keys = created(&rng);
	assert_int_equal(manager_keys_rotate(&keys, &seam, NULL), 0);
	assert_int_equal(manager_keys_activate(&keys, NULL), 0);
	assert_int_equal(node_keys_make(&keys, "n3", &node, NULL), 0);
	assert_int_equal(node.command_count, 1);
	assert_int_equal(node.commands[0].id, 2);
	assert_int_equal(node.confirms[0].id, 2);
}

static bool has_hop(const struct node_keys *keys, const struct hop_key *key)
{
	for (size_t i = 0; i < keys->hop_count; i++)
		if (memcmp(&keys->hops[i], key, sizeof(*key)) == 0)
			return true;
	return false;
}

/*
 * Files are renewed one by one, so a node with a new file and one with an old
 * file hear each other in every step of a rotation.
 */
static void hop_keys_of_neighbouring_steps_fit(void **state)
{
	struct node_keys before, after;
	struct manager_keys keys;
	struct sim_rng rng;
	struct rng_seam seam;

	sim_rng_init(&rng, 12);
	seam = sim_rng_seam(&rng);
	keys = created(&rng);
	assert_int_equal(node_keys_make(&keys, "n3", &before, NULL), 0);
	for (int step = 0; step < 6; step++) {
		if (step % 3 == 0)
			manager_keys_rotate(&keys, &seam, NULL);
		else if (step % 3 == 1)
			manager_keys_activate(&keys, NULL);
		else
			manager_keys_retire(&keys, NULL);
		assert_int_equal(node_keys_make(&keys, "n4", &after, NULL), 0);
		assert_true(has_hop(&after, &before.hops[0]));
		assert_true(has_hop(&before, &after.hops[0]));
		before = after;
	}
	assert_int_equal(after.hop_count, 1);
	assert_int_equal(after.hops[0].id, 3);
}

static void node_file_needs_the_name_of_a_node(void **state)
{
	struct fairlead_error error;
	struct manager_keys keys;
	struct node_keys node = { .confirm_count = 99 };
	struct sim_rng rng;

	sim_rng_init(&rng, 10);
	keys = created(&rng);
	assert_int_equal(node_keys_make(&keys, "n[0-3]", &node, &error),
			 -EINVAL);
	assert_string_equal(error.text, "'n[0-3]' is not the name of a node");
	assert_int_equal(node.confirm_count, 99);
}

static void secrets_are_wiped(void **state)
{
	struct manager_keys keys;
	struct node_keys node;
	struct sim_rng rng;

	sim_rng_init(&rng, 11);
	keys = created(&rng);
	assert_int_equal(node_keys_make(&keys, "n3", &node, NULL), 0);
	manager_keys_fini(&keys);
	node_keys_fini(&node);
	assert_true(sodium_is_zero((const uint8_t *)&keys, sizeof(keys)));
	assert_true(sodium_is_zero((const uint8_t *)&node, sizeof(node)));
}

/* --- secrets of the journal --- */

static void journal_secret_is_bound_to_its_grant(void **state)
{
	struct sim_rng rng;
	struct writer sealed = { 0 }, secret = { 0 };
	struct manager_keys keys;

	sim_rng_init(&rng, 1);
	keys = created(&rng);
	manager_keys_encrypt(&keys, 17, "secret", 6, &sealed);
	assert_int_equal(sealed.size, 6 + KEY_SECRET_OVERHEAD);
	assert_int_equal(manager_keys_decrypt(&keys, 17, sealed.data,
					      sealed.size, &secret, NULL),
			 0);
	assert_int_equal(secret.size, 6);
	assert_memory_equal(secret.data, "secret", 6);
	assert_int_equal(manager_keys_decrypt(&keys, 18, sealed.data,
					      sealed.size, &secret, NULL),
			 -EKEYREJECTED);
	for (size_t i = 0; i < sealed.size; i++) {
		sealed.data[i] ^= 1;
		assert_true(manager_keys_decrypt(&keys, 17, sealed.data,
						 sealed.size, &secret,
						 NULL) < 0);
		sealed.data[i] ^= 1;
		assert_true(manager_keys_decrypt(&keys, 17, sealed.data, i,
						 &secret, NULL) < 0);
	}
	assert_int_equal(secret.size, 6);
	writer_fini(&sealed);
	writer_fini(&secret);
	manager_keys_fini(&keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(manager_file_is_read),
		cmocka_unit_test(bad_manager_files_are_refused_with_the_line),
		cmocka_unit_test(node_file_is_read),
		cmocka_unit_test(bad_node_files_are_refused_with_the_line),
		cmocka_unit_test(zero_byte_is_not_text),
		cmocka_unit_test(large_file_is_no_key_file),
		cmocka_unit_test(cut_files_are_refused),
		cmocka_unit_test(created_file_is_read_again),
		cmocka_unit_test(manager_file_has_its_golden_text),
		cmocka_unit_test(rotation_goes_from_staged_to_retired),
		cmocka_unit_test(key_ids_end),
		cmocka_unit_test(node_file_goes_with_its_manager),
		cmocka_unit_test(node_file_leaves_the_retiring_key_out),
		cmocka_unit_test(hop_keys_of_neighbouring_steps_fit),
		cmocka_unit_test(node_file_needs_the_name_of_a_node),
		cmocka_unit_test(journal_secret_is_bound_to_its_grant),
		cmocka_unit_test(secrets_are_wiped),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
