/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One field list for each message. REGISTER and CONFIRM end in a trailer of
 * key id and MAC. Which key a message is to be checked with is read from the
 * message (node name and key id), so both are looked up before anything else
 * is believed.
 */
#include "lanes/proto/message.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "lanes/proto/layout.h"

#define TRAILER_SIZE (sizeof(uint32_t) + MAC_SIZE)

/* A manager that has forgotten a grant revokes it without a key. */
static bool is_key_or_none(const char *text)
{
	return *text == 0 || name_is_key(text);
}

static const struct layout_field challenge_fields[] = {
	LAYOUT_NUMBER(struct challenge, version, WIRE_VERSION, WIRE_VERSION),
	LAYOUT_BYTES(struct challenge, nonce),
};

static const struct layout challenge_layout =
	LAYOUT(struct challenge, challenge_fields);

static const struct layout_field refuse_fields[] = {
	LAYOUT_PROSE(struct refuse, text),
};

static const struct layout refuse_layout = LAYOUT(struct refuse, refuse_fields);

static const struct layout_field grant_fields[] = {
	LAYOUT_NUMBER(struct registration_grant, grant_id, 1, UINT64_MAX),
	LAYOUT_NUMBER(struct registration_grant, state, GRANT_APPLYING,
		      GRANT_LOST),
	LAYOUT_NAME(struct registration_grant, driver, name_is_driver),
	LAYOUT_IDS(struct registration_grant, ids, id_count),
};

static const struct layout grant_layout =
	LAYOUT(struct registration_grant, grant_fields);

static const struct layout_field object_fields[] = {
	LAYOUT_NAME(struct registration_object, driver, name_is_driver),
	LAYOUT_PROSE(struct registration_object, device),
	LAYOUT_NUMBER(struct registration_object, id, 0, UINT32_MAX),
	LAYOUT_NUMBER(struct registration_object, flags, 0, UINT32_MAX),
	LAYOUT_NUMBER(struct registration_object, uid, 0, UINT32_MAX),
	LAYOUT_IDS(struct registration_object, ids, id_count),
};

static const struct layout object_layout =
	LAYOUT(struct registration_object, object_fields);

static const struct layout_field driver_fields[] = {
	LAYOUT_NAME(struct registration_driver, name, name_is_driver),
	LAYOUT_NUMBER(struct registration_driver, is_usable, 0, 1),
	LAYOUT_PROSE(struct registration_driver, detail),
	LAYOUT_BLOCK(struct registration_driver, place.bytes, place.size),
};

static const struct layout driver_layout =
	LAYOUT(struct registration_driver, driver_fields);

#define INVENTORY_FIELDS                                                     \
	LAYOUT_LIST(struct registration, grants, grant_count, &grant_layout, \
		    REGISTRATION_GRANTS_MAX),                                \
		LAYOUT_LIST(struct registration, objects, object_count,      \
			    &object_layout, REGISTRATION_OBJECTS_MAX),       \
		LAYOUT_LIST(struct registration, drivers, driver_count,      \
			    &driver_layout, REGISTRATION_DRIVERS_MAX)

static const struct layout_field inventory_fields[] = { INVENTORY_FIELDS };

static const struct layout inventory_layout =
	LAYOUT(struct registration, inventory_fields);

static const struct layout_field registration_fields[] = {
	LAYOUT_NUMBER(struct registration, version, WIRE_VERSION, WIRE_VERSION),
	LAYOUT_NAME(struct registration, node, name_is_node),
	LAYOUT_BYTES(struct registration, incarnation),
	LAYOUT_BYTES(struct registration, manager_nonce),
	LAYOUT_BYTES(struct registration, node_nonce),
	LAYOUT_PROSE(struct registration, software),
	LAYOUT_BLOB(struct registration, address, address_size,
		    COLLECTIVE_ADDRESS_MAX),
	LAYOUT_BLOB(struct registration, proof, proof_size,
		    COMMAND_HEADER_SIZE),
	LAYOUT_NUMBER(struct registration, pending_count, 0, UINT32_MAX),
	INVENTORY_FIELDS,
};

static const struct layout registration_layout =
	LAYOUT(struct registration, registration_fields);

static const struct layout_field confirm_fields[] = {
	LAYOUT_NUMBER(struct confirm, version, WIRE_VERSION, WIRE_VERSION),
	LAYOUT_NAME(struct confirm, node, name_is_node),
	LAYOUT_BYTES(struct confirm, incarnation),
	LAYOUT_NUMBER(struct confirm, op, 0, COMMAND_OP_MAX),
	LAYOUT_NUMBER(struct confirm, grant_id, 0, UINT64_MAX),
	LAYOUT_NUMBER(struct confirm, sequence, 0, UINT64_MAX),
	LAYOUT_NUMBER(struct confirm, epoch, 0, UINT64_MAX),
	LAYOUT_NUMBER(struct confirm, life, 0, UINT64_MAX),
	LAYOUT_RESULT(struct confirm, result),
	LAYOUT_PROSE(struct confirm, reason),
	LAYOUT_BLOB(struct confirm, answer, answer_size, CONFIRM_ANSWER_MAX),
};

static const struct layout confirm_layout =
	LAYOUT(struct confirm, confirm_fields);

static const struct layout_field hello_fields[] = {
	LAYOUT_BYTES(struct hello_body, nonce),
	LAYOUT_NAME(struct hello_body, node, name_is_node),
	LAYOUT_BYTES(struct hello_body, cluster),
};

static const struct layout hello_layout =
	LAYOUT(struct hello_body, hello_fields);

static const struct layout_field apply_fields[] = {
	LAYOUT_NAME(struct apply_body, key, name_is_key),
	LAYOUT_NAME(struct apply_body, driver, name_is_driver),
	LAYOUT_NUMBER(struct apply_body, uid, 0, UINT32_MAX),
	LAYOUT_NUMBER(struct apply_body, gid, 0, UINT32_MAX),
	LAYOUT_STRING(struct apply_body, nodes, NODES_TEXT_MAX),
	LAYOUT_STRING(struct apply_body, cores, RUNS_TEXT_MAX),
	LAYOUT_STRING(struct apply_body, tasks, RUNS_TEXT_MAX),
	LAYOUT_IDS(struct apply_body, ids, id_count),
	LAYOUT_NAME(struct apply_body, options, name_is_options),
	LAYOUT_BLOB(struct apply_body, sealed, sealed_size, SEALED_MAX),
	LAYOUT_BLOB(struct apply_body, members, members_size,
		    FAIRLEAD_MEMBERS_MAX),
};

static const struct layout apply_layout =
	LAYOUT(struct apply_body, apply_fields);

static const struct layout_field revoke_fields[] = {
	LAYOUT_STRING(struct revoke_body, nodes, NODES_TEXT_MAX),
	LAYOUT_NAME(struct revoke_body, key, is_key_or_none),
	LAYOUT_NAME(struct revoke_body, driver, name_is_driver),
	LAYOUT_NUMBER(struct revoke_body, uid, 0, UINT32_MAX),
	LAYOUT_NUMBER(struct revoke_body, gid, 0, UINT32_MAX),
	LAYOUT_IDS(struct revoke_body, ids, id_count),
};

static const struct layout revoke_layout =
	LAYOUT(struct revoke_body, revoke_fields);

static const struct layout_field query_fields[] = {
	LAYOUT_STRING(struct query_body, nodes, NODES_TEXT_MAX),
	LAYOUT_NUMBER(struct query_body, what, QUERY_GRANTS, QUERY_INVENTORY),
};

static const struct layout query_layout =
	LAYOUT(struct query_body, query_fields);

static const struct layout_field clean_fields[] = {
	LAYOUT_STRING(struct clean_body, nodes, NODES_TEXT_MAX),
	LAYOUT_NUMBER(struct clean_body, is_all, 0, 1),
	LAYOUT_NUMBER(struct clean_body, is_dry_run, 0, 1),
};

static const struct layout clean_layout =
	LAYOUT(struct clean_body, clean_fields);

static const struct layout_field ack_fields[] = {
	LAYOUT_NAME(struct ack_body, node, name_is_node),
	LAYOUT_NUMBER(struct ack_body, sequence, 0, UINT64_MAX),
};

static const struct layout ack_layout = LAYOUT(struct ack_body, ack_fields);

static const struct layout_field drain_fields[] = {
	LAYOUT_NAME(struct drain_body, node, name_is_node),
	LAYOUT_NUMBER(struct drain_body, is_drained, 0, 1),
	LAYOUT_PROSE(struct drain_body, reason),
};

static const struct layout drain_layout =
	LAYOUT(struct drain_body, drain_fields);

static const struct layout_field lease_fields[] = {
	LAYOUT_STRING(struct lease_body, nodes, NODES_TEXT_MAX),
	LAYOUT_NUMBER(struct lease_body, lease_s, 1, LEASE_S_MAX),
};

static const struct layout lease_layout =
	LAYOUT(struct lease_body, lease_fields);

int challenge_encode(const struct challenge *challenge, struct writer *writer)
{
	return layout_encode(&challenge_layout, challenge, writer);
}

int challenge_decode(const void *bytes, size_t size,
		     struct challenge *ret_challenge)
{
	struct reader reader = reader_of(bytes, size);
	uint16_t version = read_u16(&reader);

	if (!reader.failed && version != WIRE_VERSION)
		return -EPROTONOSUPPORT;
	return layout_decode(&challenge_layout, bytes, size, ret_challenge);
}

int refuse_encode(const struct refuse *refuse, struct writer *writer)
{
	return layout_encode(&refuse_layout, refuse, writer);
}

int refuse_decode(const void *bytes, size_t size, struct refuse *ret_refuse)
{
	return layout_decode(&refuse_layout, bytes, size, ret_refuse);
}

/* Encode a message and its trailer. */
static int tagged_encode(const struct layout *layout, const char *domain,
			 const void *value, const struct node_key *key,
			 struct writer *writer)
{
	size_t start = writer->size;
	int result = layout_encode(layout, value, writer);
	uint8_t tag[MAC_SIZE];

	if (result < 0)
		return result;
	write_u32(writer, key->id);
	if (writer->result == 0) {
		mac_make(domain, key, writer->data + start,
			 writer->size - start, tag);
		write_bytes(writer, tag, sizeof(tag));
	}
	if (writer->result < 0)
		writer->size = start;
	return writer->result;
}

/* Verify a message that begins with u16 version, text node name. */
static int tagged_open(const struct layout *layout, const char *domain,
		       const struct node_master *masters, size_t master_count,
		       const void *bytes, size_t size, void *ret_value)
{
	const struct node_master *master = NULL;
	struct reader reader, trailer;
	char node[NODE_NAME_MAX + 1];
	struct node_key key;
	uint16_t version;
	uint32_t key_id;
	int result;

	if (size < TRAILER_SIZE)
		return -EBADMSG;
	size -= TRAILER_SIZE;
	trailer = reader_of((const uint8_t *)bytes + size, TRAILER_SIZE);
	reader = reader_of(bytes, size);
	version = read_u16(&reader);
	read_text(&reader, node, sizeof(node));
	if (reader.failed)
		return -EBADMSG;
	if (version != WIRE_VERSION)
		return -EPROTONOSUPPORT;
	key_id = read_u32(&trailer);
	for (size_t i = 0; i < master_count && master == NULL; i++)
		if (masters[i].id == key_id)
			master = &masters[i];
	if (master == NULL)
		return -ENOKEY;
	node_key_derive(master, node, &key);
	result = mac_verify(domain, &key, bytes, size + sizeof(key_id),
			    trailer.at);
	node_key_fini(&key);
	if (result < 0)
		return result;
	return layout_decode(layout, bytes, size, ret_value);
}

/* An epoch proof is a whole header, or there is none. */
static bool proof_size_is_valid(size_t size)
{
	return size == 0 || size == COMMAND_HEADER_SIZE;
}

int registration_encode(const struct registration *registration,
			const struct node_key *key, struct writer *writer)
{
	if (!proof_size_is_valid(registration->proof_size))
		return -EINVAL;
	return tagged_encode(&registration_layout, MAC_DOMAIN_REGISTER,
			     registration, key, writer);
}

int registration_open(const struct node_master *masters, size_t master_count,
		      const uint8_t nonce[NONCE_SIZE], const void *bytes,
		      size_t size, struct registration *ret_registration)
{
	struct registration registration;
	int result;

	result = tagged_open(&registration_layout, MAC_DOMAIN_REGISTER, masters,
			     master_count, bytes, size, &registration);
	if (result < 0)
		return result;
	if (sodium_memcmp(registration.manager_nonce, nonce, NONCE_SIZE) != 0)
		result = -ESTALE;
	else if (!proof_size_is_valid(registration.proof_size))
		result = -EBADMSG;
	if (result < 0)
		registration_fini(&registration);
	else
		*ret_registration = registration;
	return result;
}

void registration_fini(struct registration *registration)
{
	layout_fini(&registration_layout, registration);
}

void confirm_answer(const struct command *command, const char *node,
		    const uint8_t incarnation[INCARNATION_SIZE], int result,
		    struct confirm *ret_confirm)
{
	*ret_confirm = (struct confirm){
		.version = WIRE_VERSION,
		.op = command->op,
		.grant_id = command->grant_id,
		.sequence = command->sequence,
		.epoch = command->epoch,
		.life = command->life,
		.result = result,
	};
	snprintf(ret_confirm->node, sizeof(ret_confirm->node), "%s", node);
	memcpy(ret_confirm->incarnation, incarnation, INCARNATION_SIZE);
}

int confirm_encode(const struct confirm *confirm, const struct node_key *key,
		   struct writer *writer)
{
	return tagged_encode(&confirm_layout, MAC_DOMAIN_CONFIRM, confirm, key,
			     writer);
}

int confirm_open(const struct node_master *masters, size_t master_count,
		 const void *bytes, size_t size, struct confirm *ret_confirm)
{
	int result = tagged_open(&confirm_layout, MAC_DOMAIN_CONFIRM, masters,
				 master_count, bytes, size, ret_confirm);
	struct reader trailer;

	if (result < 0)
		return result;
	trailer = reader_of((const uint8_t *)bytes + size - TRAILER_SIZE,
			    TRAILER_SIZE);
	ret_confirm->key_id = read_u32(&trailer);
	return 0;
}

int confirm_read(const void *bytes, size_t size, struct confirm *ret_confirm,
		 uint8_t ret_tag[MAC_SIZE])
{
	struct reader reader = reader_of(bytes, size);
	uint16_t version = read_u16(&reader);
	int result;

	if (size < TRAILER_SIZE)
		return -EBADMSG;
	if (version != WIRE_VERSION)
		return -EPROTONOSUPPORT;
	size -= TRAILER_SIZE;
	result = layout_decode(&confirm_layout, bytes, size, ret_confirm);
	if (result < 0)
		return result;
	reader = reader_of((const uint8_t *)bytes + size, TRAILER_SIZE);
	ret_confirm->key_id = read_u32(&reader);
	memcpy(ret_tag, reader.at, MAC_SIZE);
	return 0;
}

void confirm_fini(struct confirm *confirm)
{
	layout_fini(&confirm_layout, confirm);
}

int inventory_encode(const struct registration *registration,
		     struct writer *writer)
{
	return layout_encode(&inventory_layout, registration, writer);
}

int inventory_decode(const void *bytes, size_t size,
		     struct registration *ret_registration)
{
	return layout_decode(&inventory_layout, bytes, size, ret_registration);
}

#define DEFINE_BODY_ENCODE(name)                                    \
	int name##_body_encode(const struct name##_body *body,      \
			       struct writer *writer)               \
	{                                                           \
		return layout_encode(&name##_layout, body, writer); \
	}

DEFINE_BODY_ENCODE(hello)
DEFINE_BODY_ENCODE(apply)
DEFINE_BODY_ENCODE(revoke)
DEFINE_BODY_ENCODE(query)
DEFINE_BODY_ENCODE(clean)
DEFINE_BODY_ENCODE(ack)
DEFINE_BODY_ENCODE(drain)
DEFINE_BODY_ENCODE(lease)

/* The list or the name of nodes is at an offset. */
static const struct {
	const struct layout *layout;
	size_t nodes;
	bool is_list;
} bodies[] = {
	[COMMAND_HELLO] = { &hello_layout, offsetof(struct hello_body, node) },
	[COMMAND_APPLY] = { &apply_layout, offsetof(struct apply_body, nodes),
			    true },
	[COMMAND_REVOKE] = { &revoke_layout,
			     offsetof(struct revoke_body, nodes), true },
	[COMMAND_QUERY] = { &query_layout, offsetof(struct query_body, nodes),
			    true },
	[COMMAND_CLEAN] = { &clean_layout, offsetof(struct clean_body, nodes),
			    true },
	[COMMAND_ACK] = { &ack_layout, offsetof(struct ack_body, node) },
	[COMMAND_DRAIN] = { &drain_layout, offsetof(struct drain_body, node) },
	[COMMAND_LEASE] = { &lease_layout, offsetof(struct lease_body, nodes),
			    true },
};

int command_body_decode(enum command_op op, const void *bytes, size_t size,
			union command_body *ret_body)
{
	/* Who only passes a command on has not verified it. */
	if (op < COMMAND_HELLO || op > COMMAND_OP_MAX)
		return -EBADMSG;
	return layout_decode(bodies[op].layout, bytes, size, ret_body);
}

void command_body_fini(enum command_op op, union command_body *body)
{
	layout_fini(bodies[op].layout, body);
}

const char *command_body_nodes(enum command_op op,
			       const union command_body *body)
{
	const char *at = (const char *)body + bodies[op].nodes;

	return bodies[op].is_list ? *(const char *const *)at : at;
}
