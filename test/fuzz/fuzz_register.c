/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registrations: without the node's tag they are refused; with it they are
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
	mac_make(MAC_DOMAIN_REGISTER, ret_key, writer->data, writer->size, tag);
	write_bytes(writer, tag, sizeof(tag));
}

/* The nonce that the message answers, where it has one. */
static void nonce_find(const uint8_t *data, size_t size,
		       uint8_t ret_nonce[NONCE_SIZE])
{
	struct reader reader = reader_of(data, size);
	const uint8_t *nonce;
	size_t name_size;

	read_u16(&reader);
	read_blob(&reader, NODE_NAME_MAX, &name_size);
	read_bytes(&reader, INCARNATION_SIZE);
	nonce = read_bytes(&reader, NONCE_SIZE);
	memset(ret_nonce, 0, NONCE_SIZE);
	if (nonce != NULL)
		memcpy(ret_nonce, nonce, NONCE_SIZE);
}

static void same_check(const struct registration *registration,
		       const struct node_key *key, const struct writer *sent)
{
	struct writer again = { 0 };

	fuzz_check(registration->version == WIRE_VERSION);
	fuzz_check(name_is_node(registration->node));
	for (size_t i = 0; i < registration->grant_count; i++)
		fuzz_check(name_is_driver(registration->grants[i].driver));
	fuzz_check(registration_encode(registration, key, &again) == 0);
	fuzz_check(again.size == sent->size);
	writer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct registration registration;
	struct writer writer = { 0 };
	struct node_master master;
	uint8_t nonce[NONCE_SIZE];
	struct node_key key;
	int result;

	fuzz_check(sodium_init() >= 0);
	node_master_derive(1, seed, &master);
	nonce_find(data, size, nonce);
	fuzz_check(registration_open(&master, 1, nonce, data, size,
				     &registration) < 0);
	write_bytes(&writer, data, size);
	tag_append(&writer, &master, &key);
	result = registration_open(&master, 1, nonce, writer.data, writer.size,
				   &registration);
	fuzz_check(result == 0 || result == -EBADMSG ||
		   result == -EPROTONOSUPPORT);
	if (result == 0) {
		same_check(&registration, &key, &writer);
		registration_fini(&registration);
	}
	writer_fini(&writer);
	return 0;
}
