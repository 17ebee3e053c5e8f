/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/collective.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/*
 * --- NIDs ---
 *
 * The type of network, then the first 48 bits of BLAKE2b-256 over the name.
 * Of 65,536 names two have one NID once in 130,000 clusters; whoever chooses
 * names can find such a pair, so it is looked for.
  */

#define NID_DIGEST_SIZE 32

uint64_t nid_of_node(const char *name)
{
	uint8_t digest[NID_DIGEST_SIZE];
	struct reader reader = reader_of(digest, sizeof(digest));

	crypto_generichash(digest, sizeof(digest), (const uint8_t *)name,
			   strlen(name), NULL, 0);
	return NID_MANAGER | (read_u64(&reader) & (UINT64_MAX >> 16));
}

struct named_nid {
	uint64_t nid;
	size_t index;
};

static int by_nid(const void *one, const void *other)
{
	const struct named_nid *a = one;
	const struct named_nid *b = other;

	if (a->nid != b->nid)
		return a->nid < b->nid ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

int nid_duplicate(const struct hostlist *list, size_t *ret_other)
{
	_auto_(freep) struct named_nid *nids =
		calloc(list->count + 1, sizeof(*nids));
	size_t found = list->count;
	size_t other = 0;

	if (nids == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++)
		nids[i] = (struct named_nid){
			.nid = nid_of_node(list->names[i]),
			.index = i,
		};
	qsort(nids, list->count, sizeof(*nids), by_nid);
	for (size_t i = 1; i < list->count; i++) {
		if (nids[i].nid == nids[i - 1].nid && nids[i].index < found) {
			found = nids[i].index;
			other = nids[i - 1].index;
		}
	}
	if (found == list->count)
		return -ENOENT;
	*ret_other = other;
	return (int)found;
}

/*
 * --- parcels ---
 *
 * Little-endian: u8 1, u8 flags (1: separate, 2: bulk), u32 ms, u32 bytes of a
 * part, and but for bulk u32 length of the command and its bytes.
  */

#define PARCEL_VERSION  1

#define PARCEL_SEPARATE (1u << 0)
#define PARCEL_BULK     (1u << 1)

static bool part_is_valid(uint32_t part_bytes)
{
	return part_bytes >= PARCEL_PART_MIN && part_bytes <= PARCEL_PART_MAX;
}

int parcel_encode(const struct parcel *parcel, struct writer *writer)
{
	uint8_t flags = 0;
	size_t start = writer->size;

	if (!part_is_valid(parcel->part_bytes))
		return -EINVAL;
	if (parcel->is_separate)
		flags |= PARCEL_SEPARATE;
	if (parcel->is_bulk)
		flags |= PARCEL_BULK;
	write_u8(writer, PARCEL_VERSION);
	write_u8(writer, flags);
	write_u32(writer, parcel->patience_ms);
	write_u32(writer, parcel->part_bytes);
	if (!parcel->is_bulk)
		write_blob(writer, parcel->command, parcel->command_size);
	if (writer->result < 0)
		writer->size = start;
	return writer->result;
}

int parcel_decode(const void *bytes, size_t size, struct parcel *ret_parcel)
{
	struct reader reader = reader_of(bytes, size);
	struct parcel parcel = { 0 };
	uint8_t version = read_u8(&reader);
	uint8_t flags = read_u8(&reader);

	if (version != PARCEL_VERSION ||
	    (flags & ~(PARCEL_SEPARATE | PARCEL_BULK)) != 0)
		return -EBADMSG;
	parcel.is_separate = (flags & PARCEL_SEPARATE) != 0;
	parcel.is_bulk = (flags & PARCEL_BULK) != 0;
	parcel.patience_ms = read_u32(&reader);
	parcel.part_bytes = read_u32(&reader);
	if (!parcel.is_bulk)
		parcel.command = read_blob(&reader, COMMAND_SIZE_MAX,
					   &parcel.command_size);
	if (!reader_is_done(&reader) || !part_is_valid(parcel.part_bytes))
		return -EBADMSG;
	*ret_parcel = parcel;
	return 0;
}

/* Most confirmations are "done", and make up one set; others have a reason. */
#define OTHERS_BYTES 4096

int parcel_parts(const struct parcel *parcel, int node_count)
{
	uint64_t bytes = (uint64_t)node_count * OTHERS_BYTES;
	uint64_t count = 1 + bytes / parcel->part_bytes;

	if (count > (uint64_t)node_count)
		count = (uint64_t)node_count;
	return count > PARCEL_PARTS_MAX ? PARCEL_PARTS_MAX : (int)count;
}

int command_nodes_read(const void *bytes, size_t size, char **ret_nodes)
{
	union command_body body;
	struct command command;
	int result;

	if (size < COMMAND_HEADER_SIZE ||
	    command_header_read(bytes, &command) < 0 ||
	    command.op == COMMAND_HELLO || command.op == COMMAND_ACK ||
	    command.op == COMMAND_DRAIN)
		return -EBADMSG;
	result = command_body_decode(
		command.op, (const uint8_t *)bytes + COMMAND_HEADER_SIZE,
		size - COMMAND_HEADER_SIZE, &body);
	if (result < 0)
		return result == -ENOMEM ? -ENOMEM : -EBADMSG;
	*ret_nodes = strdup(command_body_nodes(command.op, &body));
	command_body_fini(command.op, &body);
	return *ret_nodes == NULL ? -ENOMEM : 0;
}

/*
 * --- seals ---
 *
 * A seal is u32 key id and the keyed BLAKE2b-256 of the domain text, u64 NID of
 * the sender, u64 NID of the receiver, and the message: so a message is no
 * other member's, and for no other member. A root's signature is that of
 * sign.h, and the manager is the only root.
  */

#define HOP_DOMAIN      "fairlead hop"
#define HOP_DOMAIN_SIZE 12

static void put_number(uint8_t *at, uint64_t number, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(number >> 8 * i);
}

static void tag_make(const struct hop_key *key, uint64_t from, uint64_t to,
		     const void *bytes, size_t count, uint8_t ret_tag[MAC_SIZE])
{
	uint8_t head[HOP_DOMAIN_SIZE + 2 * sizeof(uint64_t)];
	crypto_generichash_state state;

	memcpy(head, HOP_DOMAIN, HOP_DOMAIN_SIZE);
	put_number(head + HOP_DOMAIN_SIZE, from, sizeof(from));
	put_number(head + HOP_DOMAIN_SIZE + sizeof(from), to, sizeof(to));
	crypto_generichash_init(&state, key->bytes, KEY_SIZE, MAC_SIZE);
	crypto_generichash_update(&state, head, sizeof(head));
	crypto_generichash_update(&state, bytes, count);
	crypto_generichash_final(&state, ret_tag, MAC_SIZE);
	sodium_memzero(&state, sizeof(state));
}

static void seal(void *ctx, scoll_nid_t to, const void *bytes, size_t count,
		 uint8_t *ret_seal)
{
	const struct hop *hop = ctx;

	if (hop->keys.hop_count == 0) {
		memset(ret_seal, 0, HOP_SEAL_SIZE);
		return;
	}
	put_number(ret_seal, hop->keys.hops[0].id, sizeof(uint32_t));
	tag_make(&hop->keys.hops[0], hop->nid, to, bytes, count,
		 ret_seal + sizeof(uint32_t));
}

static int verify(void *ctx, scoll_nid_t from, const void *bytes, size_t count,
		  const uint8_t *seal)
{
	const struct hop *hop = ctx;
	struct reader reader = reader_of(seal, HOP_SEAL_SIZE);
	uint32_t key_id = read_u32(&reader);
	uint8_t tag[MAC_SIZE];

	for (size_t i = 0; i < hop->keys.hop_count; i++) {
		if (hop->keys.hops[i].id != key_id)
			continue;
		tag_make(&hop->keys.hops[i], from, hop->nid, bytes, count, tag);
		return sodium_memcmp(tag, reader.at, MAC_SIZE) == 0 ? 0
								    : -EPERM;
	}
	return -EPERM;
}

static int sign(void *ctx, const void *bytes, size_t count,
		uint8_t *ret_signature)
{
	const struct hop *hop = ctx;

	if (!hop->keys.is_manager)
		return -EPERM;
	root_sign(&hop->keys.command, bytes, count, ret_signature);
	return 0;
}

static int check(void *ctx, scoll_nid_t root, const void *bytes, size_t count,
		 const uint8_t *signature)
{
	const struct hop *hop = ctx;

	if (root != NID_MANAGER ||
	    root_verify(hop->keys.commands, hop->keys.command_count, bytes,
			count, signature) < 0)
		return -EPERM;
	return 0;
}

void hop_init(struct hop *hop, uint64_t nid)
{
	*hop = (struct hop){
		.authenticator = {
			.size = sizeof(hop->authenticator),
			.seal_size = HOP_SEAL_SIZE,
			.seal = seal,
			.verify = verify,
			.ctx = hop,
			.signature_size = ROOT_SIGNATURE_SIZE,
			.sign = sign,
			.check = check,
		},
		.nid = nid,
	};
}

void hop_fini(struct hop *hop)
{
	keys_unlock(&hop->keys, sizeof(hop->keys));
}

void hop_take(struct hop *hop, const struct hop_keys *keys)
{
	hop->keys = *keys;
}
