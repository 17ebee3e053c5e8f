/* SPDX-License-Identifier: BSD-3-Clause */
#include "samples.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

static const uint8_t key[32] = "the key that all members have..";
static const uint8_t params[] = "\x04name and the rest";
static const uint8_t choice[] = "\x01\x02\x03";
static const uint8_t payload[] = "what to do";

/* BLAKE2b of the key over: from, to, bytes. */
static void seal_compute(size_t size, scoll_nid_t from, scoll_nid_t to,
			 const void *bytes, size_t count, uint8_t *ret_seal)
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, key, sizeof(key), size);
	crypto_generichash_update(&state, (uint8_t *)&from, sizeof(from));
	crypto_generichash_update(&state, (uint8_t *)&to, sizeof(to));
	crypto_generichash_update(&state, bytes, count);
	crypto_generichash_final(&state, ret_seal, size);
}

static void node_seal(void *ctx, scoll_nid_t to, const void *bytes,
		      size_t count, uint8_t *ret_seal)
{
	struct sample_node *node = ctx;

	seal_compute(node->auth.seal_size, node->nid, to, bytes, count,
		     ret_seal);
}

static int node_verify(void *ctx, scoll_nid_t from, const void *bytes,
		       size_t count, const uint8_t *seal)
{
	struct sample_node *node = ctx;
	uint8_t expected[SCOLL_SEAL_MAX];

	node->verify_count++;
	seal_compute(node->auth.seal_size, from, node->nid, bytes, count,
		     expected);
	return memcmp(seal, expected, node->auth.seal_size) == 0 ? 0 : -EPERM;
}

void sample_node_init(struct sample_node *node, scoll_nid_t nid,
		      size_t seal_size)
{
	*node = (struct sample_node){
		.auth = {
			.size = sizeof(node->auth),
			.seal_size = seal_size,
			.seal = node_seal,
			.verify = node_verify,
			.ctx = node,
		},
		.nid = nid,
	};
}

/* As if only a root knew its NID. */
static void signature_compute(scoll_nid_t root, const void *bytes, size_t count,
			      uint8_t ret_signature[SAMPLE_SIGNATURE])
{
	crypto_generichash(ret_signature, SAMPLE_SIGNATURE, bytes, count,
			   (const uint8_t *)&root, sizeof(root));
}

static int node_sign(void *ctx, const void *bytes, size_t count,
		     uint8_t *ret_signature)
{
	const struct sample_node *node = ctx;

	signature_compute(node->nid, bytes, count, ret_signature);
	return 0;
}

static int node_check(void *ctx, scoll_nid_t root, const void *bytes,
		      size_t count, const uint8_t *signature)
{
	struct sample_node *node = ctx;
	uint8_t expected[SAMPLE_SIGNATURE];

	node->check_count++;
	signature_compute(root, bytes, count, expected);
	return memcmp(signature, expected, sizeof(expected)) == 0 ? 0 : -EPERM;
}

void sample_node_sign(struct sample_node *node)
{
	node->auth.signature_size = SAMPLE_SIGNATURE;
	node->auth.sign = node_sign;
	node->auth.check = node_check;
}

struct wire_bcast sample_plain(void)
{
	return (struct wire_bcast){
		.service = 7,
		.tree = SCOLL_TREE_KNOMIAL(4),
		.root = SAMPLE_PARENT,
		.root_nonce = 0x1112131415161718,
		.number = 42,
		.group_index = 5,
		.members = { "0123456789abcdef" },
		.sender = SAMPLE_PARENT,
		.tag = SAMPLE_TAG,
		.service_timeout_ns = 1500000000,
		.rtt_us = 100000,
		.part_size = 65536,
		.part_count = 3,
		.creator = SAMPLE_PARENT,
		.creator_nonce = 0x1112131415161718,
		.payload = payload,
		.payload_size = sizeof(payload) - 1,
	};
}

struct wire_bcast sample_full(void)
{
	struct wire_bcast bcast = sample_plain();

	bcast.flags = WIRE_LAST | WIRE_CREATOR | WIRE_SUBSET | WIRE_POPULATE |
		      WIRE_ROOT_EXTRA;
	bcast.root = SAMPLE_ROOT;
	bcast.order = SCOLL_ORDER_RANK;
	bcast.creator = SAMPLE_CREATOR;
	bcast.creator_nonce = 0x2122232425262728;
	memcpy(bcast.choice_digest.bytes, "fedcba9876543210", 16);
	bcast.bulk_size = 3000;
	bcast.bulk_there = 1000;
	bcast.piece_count = 2;
	bcast.pieces[0] = (struct remote_piece){ 0x7f0000001000, 0x99, 2000 };
	bcast.pieces[1] = (struct remote_piece){ 0x7f0000009000, 0x9a, 1000 };
	bcast.params = params;
	bcast.params_size = sizeof(params) - 1;
	bcast.choice = choice;
	bcast.choice_size = sizeof(choice) - 1;
	return bcast;
}

struct wire_bcast sample_addresses(void)
{
	static const uint8_t address[] = { 2, 0, 0x1f, 0x90, 10, 0, 0, 1 };
	struct wire_bcast bcast = sample_full();

	bcast.flags = WIRE_CREATOR | WIRE_SUBSET | WIRE_POPULATE |
		      WIRE_ADDRESSES | WIRE_SENDER | WIRE_START;
	bcast.order = SCOLL_ORDER_DEPTH;
	bcast.bulk_size = 0;
	bcast.bulk_there = 0;
	bcast.piece_count = 0;
	memcpy(bcast.addresses.bytes, "where they are..", 16);
	memcpy(bcast.address, address, sizeof(address));
	bcast.address_size = sizeof(address);
	bcast.start = 0x3132333435363738;
	return bcast;
}

struct wire_bcast sample_signed(void)
{
	struct wire_bcast bcast = sample_addresses();

	bcast.flags |= WIRE_SIGNED;
	return bcast;
}

struct wire_child sample_child(void)
{
	return (struct wire_child){
		.nid = SAMPLE_CHILD,
		.tag = SAMPLE_TAG,
		.part_size = 65536,
		.part_count = 3,
		.bulk_there = 1000,
	};
}

size_t sample_bcast_encode(struct wire_bcast *bcast,
			   const struct scoll_authenticator *auth,
			   uint8_t ret_bytes[SCOLL_BCAST_MAX])
{
	struct wire_child child = {
		.nid = SAMPLE_CHILD,
		.tag = bcast->tag,
		.part_size = bcast->part_size,
		.part_count = bcast->part_count,
		.start = bcast->start,
		.bulk_there = bcast->bulk_there,
	};
	uint8_t head[WIRE_BCAST_HEAD_MAX];
	uint8_t *at;
	int size;

	at = ret_bytes + wire_bcast_head_size(bcast, auth);
	if (bcast->params_size > 0)
		at = mempcpy(at, bcast->params, bcast->params_size);
	if (bcast->choice_size > 0)
		at = mempcpy(at, bcast->choice, bcast->choice_size);
	if (bcast->payload_size > 0)
		at = mempcpy(at, bcast->payload, bcast->payload_size);
	size = (int)wire_bcast_head_size(bcast, auth);
	wire_body_digest(auth, ret_bytes + size,
			 (size_t)(at - ret_bytes) - (size_t)size,
			 &bcast->body_digest);
	size = wire_bcast_encode(bcast, auth, head);
	assert(size > 0);
	assert(wire_bcast_seal(head, (size_t)size, auth, &child, ret_bytes) ==
	       0);
	return (size_t)(at - ret_bytes);
}
