/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Confirmations: without the node's tag they are refused; with it they are
 * refused, or say the same when they are encoded again.
 *
 * Input: a message up to its key id.
 */
#include <errno.h>
#include <sodium.h>

#include "fuzz.h"
#include "lanes/proto/message.h"

static const uint8_t seed[KEY_SIZE] = { 1 };

/* Append key id and tag of the node that the message names, if it does. */
static void tag_append(struct writer *writer, const struct node_master *master,
		       struct node_key *ret_key)
{
	struct reader reader = reader_of(writer->data, writer->size);
	char name[NODE_NAME_MAX + 1];
	uint8_t tag[MAC_SIZE];

	read_u16(&reader);
	read_text(&reader, name, sizeof(name));
	node_key_derive(master, name, ret_key);
	write_u32(writer, ret_key->id);
	mac_make(MAC_DOMAIN_CONFIRM, ret_key, writer->data, writer->size, tag);
	write_bytes(writer, tag, sizeof(tag));
}

static void same_check(const struct confirm *confirm,
		       const struct node_key *key, const struct writer *sent)
{
	struct writer again = { 0 };

	fuzz_check(name_is_node(confirm->node));
	fuzz_check(confirm->op <= COMMAND_OP_MAX);
	fuzz_check(confirm->result <= 0 && confirm->result >= -4095);
	fuzz_check(confirm->answer[confirm->answer_size] == 0);
	fuzz_check(confirm_encode(confirm, key, &again) == 0);
	fuzz_check(again.size == sent->size);
	writer_fini(&again);
}

/* What a QUERY of the inventory is answered with. */
static void inventory_check(const uint8_t *data, size_t size)
{
	struct writer again = { 0 };
	struct registration registration;

	if (inventory_decode(data, size, &registration) < 0)
		return;
	fuzz_check(inventory_encode(&registration, &again) == 0);
	fuzz_check(again.size == size);
	writer_fini(&again);
	registration_fini(&registration);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct writer writer = { 0 };
	struct node_master master;
	struct confirm confirm;
	struct node_key key;
	int result;

	fuzz_check(sodium_init() >= 0);
	node_master_derive(1, seed, &master);
	inventory_check(data, size);
	fuzz_check(confirm_open(&master, 1, data, size, &confirm) < 0);
	write_bytes(&writer, data, size);
	tag_append(&writer, &master, &key);
	result = confirm_open(&master, 1, writer.data, writer.size, &confirm);
	fuzz_check(result == 0 || result == -EBADMSG ||
		   result == -EPROTONOSUPPORT);
	if (result == 0) {
		same_check(&confirm, &key, &writer);
		confirm_fini(&confirm);
	}
	writer_fini(&writer);
	return 0;
}
