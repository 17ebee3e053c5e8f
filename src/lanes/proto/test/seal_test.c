/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/proto/message.h"
#include "lanes/proto/test/golden.h"
#include "lanes/proto/test/samples.h"
#include "sim/rng.h"

#define NODES    3
#define GRANT_ID 42
#define SECRET   "capability"

static const char *const nodes[NODES] = { "n1", "n2", "n3" };

struct fixture {
	struct sample_keys keys;
	struct node_key node_keys[NODES];
	struct sim_rng rng;
	struct writer sealed;
};

static void fixture_init(struct fixture *fixture)
{
	struct rng_seam seam;

	*fixture = (struct fixture){ 0 };
	sample_keys_init(&fixture->keys);
	sim_rng_init(&fixture->rng, 1);
	seam = sim_rng_seam(&fixture->rng);
	for (size_t i = 0; i < NODES; i++)
		node_key_derive(&fixture->keys.master, nodes[i],
				&fixture->node_keys[i]);
	assert_int_equal(seal_make(&seam, &fixture->keys.master, GRANT_ID,
				   nodes, NODES, SECRET, strlen(SECRET),
				   &fixture->sealed),
			 0);
}

static void fixture_fini(struct fixture *fixture)
{
	writer_fini(&fixture->sealed);
}

static int open_as(const struct fixture *fixture, size_t node, size_t index,
		   struct secret *ret_secret)
{
	return seal_open(&fixture->node_keys[node], 1, GRANT_ID, index,
			 fixture->sealed.data, fixture->sealed.size,
			 ret_secret);
}

static void every_node_opens_the_secret(void **state)
{
	struct fixture fixture;
	struct secret secret;

	fixture_init(&fixture);
	for (size_t i = 0; i < NODES; i++) {
		assert_int_equal(open_as(&fixture, i, i, &secret), 0);
		assert_int_equal(secret.size, strlen(SECRET));
		assert_memory_equal(secret.bytes, SECRET, secret.size);
		secret_fini(&secret);
		assert_int_equal(secret.size, 0);
	}
	assert_null(memmem(fixture.sealed.data, fixture.sealed.size, SECRET,
			   strlen(SECRET)));
	fixture_fini(&fixture);
}

static void node_opens_at_its_own_index_only(void **state)
{
	struct secret secret = { .size = 99 };
	struct fixture fixture;

	fixture_init(&fixture);
	assert_int_equal(open_as(&fixture, 0, 1, &secret), -EKEYREJECTED);
	assert_int_equal(open_as(&fixture, 0, NODES, &secret), -EPERM);
	assert_int_equal(secret.size, 99);
	fixture_fini(&fixture);
}

static void node_that_is_not_named_opens_nothing(void **state)
{
	struct fixture fixture;
	struct secret secret;

	fixture_init(&fixture);
	node_key_derive(&fixture.keys.master, "n4", &fixture.node_keys[0]);
	for (size_t i = 0; i < NODES; i++)
		assert_int_equal(open_as(&fixture, 0, i, &secret),
				 -EKEYREJECTED);
	fixture_fini(&fixture);
}

static void secret_of_another_grant_is_refused(void **state)
{
	struct fixture fixture;
	struct secret secret;

	fixture_init(&fixture);
	assert_int_equal(seal_open(fixture.node_keys, 1, GRANT_ID + 1, 0,
				   fixture.sealed.data, fixture.sealed.size,
				   &secret),
			 -EKEYREJECTED);
	fixture_fini(&fixture);
}

static void key_is_chosen_by_its_id(void **state)
{
	struct node_key keys[2];
	struct fixture fixture;
	struct secret secret;

	fixture_init(&fixture);
	keys[0] = (struct node_key){ .id = SAMPLE_KEY_ID + 1 };
	keys[1] = fixture.node_keys[0];
	assert_int_equal(seal_open(keys, 1, GRANT_ID, 0, fixture.sealed.data,
				   fixture.sealed.size, &secret),
			 -ENOKEY);
	assert_int_equal(seal_open(keys, 2, GRANT_ID, 0, fixture.sealed.data,
				   fixture.sealed.size, &secret),
			 0);
	fixture_fini(&fixture);
}

/* Of the others' wrapped keys a node sees nothing; all else counts. */
static void every_bit_flip_is_refused_by_some_node(void **state)
{
	struct fixture fixture;
	struct secret secret;

	fixture_init(&fixture);
	for (size_t bit = 0; bit < 8 * fixture.sealed.size; bit++) {
		unsigned int refused = 0;

		fixture.sealed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		for (size_t i = 0; i < NODES; i++)
			if (open_as(&fixture, i, i, &secret) < 0)
				refused++;
		if (refused == 0)
			fail_msg("a flip of bit %zu was taken", bit);
		fixture.sealed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	fixture_fini(&fixture);
}

#define SLOTS     (1 + 4 + 24 + 4) /* where the wrapped keys begin */
#define SLOT_SIZE 48

static uint8_t *slot_of(struct writer *sealed, size_t index)
{
	return sealed->data + SLOTS + index * SLOT_SIZE;
}

/* What each node makes of it at its own index. */
static void assert_opens(const struct fixture *fixture, int first, int second,
			 int third)
{
	const int results[NODES] = { first, second, third };
	struct secret secret;

	for (size_t i = 0; i < NODES; i++)
		assert_int_equal(open_as(fixture, i, i, &secret), results[i]);
}

static void wrapped_key_opens_in_its_own_slot_only(void **state)
{
	uint8_t first[SLOT_SIZE];
	struct fixture fixture;
	struct secret secret;

	fixture_init(&fixture);
	memcpy(first, slot_of(&fixture.sealed, 0), SLOT_SIZE);
	/* Another node's. */
	memcpy(slot_of(&fixture.sealed, 0), slot_of(&fixture.sealed, 1),
	       SLOT_SIZE);
	assert_opens(&fixture, -EKEYREJECTED, 0, 0);
	/* Two that are swapped. */
	memcpy(slot_of(&fixture.sealed, 1), first, SLOT_SIZE);
	assert_opens(&fixture, -EKEYREJECTED, -EKEYREJECTED, 0);
	assert_int_equal(open_as(&fixture, 0, 1, &secret), -EKEYREJECTED);
	/* One that is repeated for all. */
	memcpy(slot_of(&fixture.sealed, 0), first, SLOT_SIZE);
	memcpy(slot_of(&fixture.sealed, 2), first, SLOT_SIZE);
	assert_opens(&fixture, 0, -EKEYREJECTED, -EKEYREJECTED);
	fixture_fini(&fixture);
}

static void list_of_wrapped_keys_cannot_be_cut_or_moved(void **state)
{
	struct fixture fixture;

	fixture_init(&fixture);
	/* Without the first one. */
	fixture.sealed.data[SLOTS - 4] = NODES - 1;
	fixture.sealed.size -= SLOT_SIZE;
	memmove(slot_of(&fixture.sealed, 0), slot_of(&fixture.sealed, 1),
		fixture.sealed.size - SLOTS);
	assert_opens(&fixture, -EKEYREJECTED, -EKEYREJECTED, -EPERM);
	/* The secret itself is no key, whatever the count is. */
	fixture.sealed.data[SLOTS - 4] = NODES;
	assert_opens(&fixture, -EBADMSG, -EBADMSG, -EBADMSG);
	fixture_fini(&fixture);
}

/* Keys of one seal, and the secret of another of the same nodes. */
static void parts_of_two_seals_do_not_go_together(void **state)
{
	const size_t blob = SLOTS + NODES * SLOT_SIZE;
	struct writer other = { 0 };
	struct fixture fixture;
	struct rng_seam seam;

	fixture_init(&fixture);
	seam = sim_rng_seam(&fixture.rng);
	assert_int_equal(seal_make(&seam, &fixture.keys.master, GRANT_ID, nodes,
				   NODES, SECRET, strlen(SECRET), &other),
			 0);
	memcpy(fixture.sealed.data + blob, other.data + blob,
	       other.size - blob);
	assert_opens(&fixture, -EKEYREJECTED, -EKEYREJECTED, -EKEYREJECTED);
	/* With the nonce of the secret the keys do not open. */
	memcpy(fixture.sealed.data + 5, other.data + 5, 24);
	assert_opens(&fixture, -EKEYREJECTED, -EKEYREJECTED, -EKEYREJECTED);
	writer_fini(&other);
	fixture_fini(&fixture);
}

static void every_truncation_is_refused(void **state)
{
	struct fixture fixture;
	struct secret secret;

	fixture_init(&fixture);
	for (size_t size = 0; size < fixture.sealed.size; size++)
		assert_int_equal(seal_open(fixture.node_keys, 1, GRANT_ID, 0,
					   fixture.sealed.data, size, &secret),
				 -EBADMSG);
	write_u8(&fixture.sealed, 0);
	assert_int_equal(open_as(&fixture, 0, 0, &secret), -EBADMSG);
	fixture_fini(&fixture);
}

static void two_seals_share_no_bytes(void **state)
{
	const size_t header = 1 + 4 + 24;
	struct writer again = { 0 };
	struct fixture fixture;
	struct rng_seam seam;

	fixture_init(&fixture);
	seam = sim_rng_seam(&fixture.rng);
	assert_int_equal(seal_make(&seam, &fixture.keys.master, GRANT_ID, nodes,
				   NODES, SECRET, strlen(SECRET), &again),
			 0);
	assert_int_equal(again.size, fixture.sealed.size);
	assert_memory_not_equal(again.data + 5, fixture.sealed.data + 5, 24);
	assert_memory_not_equal(again.data + header + 4,
				fixture.sealed.data + header + 4, 48);
	writer_fini(&again);
	fixture_fini(&fixture);
}

static void seal_again(const struct sample_keys *keys, uint64_t grant_id,
		       const char *seed, const char *secret,
		       struct writer *writer)
{
	struct seal_stream stream;
	struct rng_seam seam;

	seal_stream_init(&stream, seed, strlen(seed), grant_id, secret,
			 strlen(secret));
	seam = seal_stream_seam(&stream);
	assert_int_equal(seal_make(&seam, &keys->master, grant_id, nodes, NODES,
				   secret, strlen(secret), writer),
			 0);
	seal_stream_fini(&stream);
	assert_int_equal(stream.next, 0);
}

static void a_seed_gives_the_same_sealed_bytes_again(void **state)
{
	/* Seed, grant and secret: each difference gives other bytes. */
	static const struct {
		const char *seed, *secret;
		uint64_t grant_id;
	} others[] = {
		{ "0123456789abcdef", SECRET, GRANT_ID + 1 },
		{ "0123456789abcdeg", SECRET, GRANT_ID },
		{ "0123456789abcdef", "capabilitz", GRANT_ID },
		{ "0123456789abcdefc", "apability", GRANT_ID },
	};
	struct writer first = { 0 }, second = { 0 };
	struct fixture fixture;
	struct secret secret;

	fixture_init(&fixture);
	seal_again(&fixture.keys, GRANT_ID, "0123456789abcdef", SECRET, &first);
	seal_again(&fixture.keys, GRANT_ID, "0123456789abcdef", SECRET,
		   &second);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
	assert_int_equal(seal_open(&fixture.node_keys[1], 1, GRANT_ID, 1,
				   first.data, first.size, &secret),
			 0);
	assert_memory_equal(secret.bytes, SECRET, strlen(SECRET));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		second.size = 0;
		seal_again(&fixture.keys, others[i].grant_id, others[i].seed,
			   others[i].secret, &second);
		/* The nonce too, or two secrets would have one key stream. */
		assert_memory_not_equal(first.data + 5, second.data + 5, 24);
	}
	writer_fini(&first);
	writer_fini(&second);
	fixture_fini(&fixture);
}

static void empty_secret_is_sealed(void **state)
{
	struct writer sealed = { 0 };
	struct secret secret = { .size = 1 };
	struct fixture fixture;
	struct rng_seam seam;

	fixture_init(&fixture);
	seam = sim_rng_seam(&fixture.rng);
	assert_int_equal(seal_make(&seam, &fixture.keys.master, GRANT_ID, nodes,
				   1, NULL, 0, &sealed),
			 0);
	assert_int_equal(seal_open(fixture.node_keys, 1, GRANT_ID, 0,
				   sealed.data, sealed.size, &secret),
			 0);
	assert_int_equal(secret.size, 0);
	writer_fini(&sealed);
	fixture_fini(&fixture);
}

static void largest_seal_fits_an_apply(void **state)
{
	_auto_(freep) const char **names =
		calloc(SEAL_NODES_MAX + 1, sizeof(*names));
	_auto_(freep) uint8_t *large = calloc(1, SEAL_SECRET_MAX + 1);
	struct writer sealed = { 0 };
	struct fixture fixture;
	struct secret secret;
	struct rng_seam seam;

	fixture_init(&fixture);
	seam = sim_rng_seam(&fixture.rng);
	for (size_t i = 0; i < SEAL_NODES_MAX + 1; i++)
		names[i] = nodes[i % NODES];
	assert_int_equal(seal_make(&seam, &fixture.keys.master, GRANT_ID, names,
				   SEAL_NODES_MAX, large, SEAL_SECRET_MAX,
				   &sealed),
			 0);
	assert_true(sealed.size <= SEALED_MAX);
	assert_int_equal(
		seal_open(&fixture.node_keys[(SEAL_NODES_MAX - 1) % NODES], 1,
			  GRANT_ID, SEAL_NODES_MAX - 1, sealed.data,
			  sealed.size, &secret),
		0);
	assert_int_equal(secret.size, SEAL_SECRET_MAX);
	sealed.size = 0;
	assert_int_equal(seal_make(&seam, &fixture.keys.master, GRANT_ID, names,
				   SEAL_NODES_MAX + 1, large, 1, &sealed),
			 -E2BIG);
	assert_int_equal(seal_make(&seam, &fixture.keys.master, GRANT_ID, names,
				   1, large, SEAL_SECRET_MAX + 1, &sealed),
			 -E2BIG);
	assert_int_equal(seal_make(&seam, &fixture.keys.master, GRANT_ID, names,
				   0, large, 1, &sealed),
			 -EINVAL);
	assert_int_equal(sealed.size, 0);
	writer_fini(&sealed);
	fixture_fini(&fixture);
}

/* From an implementation of the document in another language. */
static void seal_of_another_maker_is_opened(void **state)
{
	_auto_(freep) uint8_t *sealed = NULL;
	struct sample_keys keys;
	struct secret secret;
	size_t size;

	sample_keys_init(&keys);
	sealed = sample_unhex(golden_seal, &size);
	assert_int_equal(seal_open(&keys.node, 1, GRANT_ID, 0, sealed, size,
				   &secret),
			 0);
	assert_int_equal(secret.size, strlen(SECRET));
	assert_memory_equal(secret.bytes, SECRET, secret.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_node_opens_the_secret),
		cmocka_unit_test(node_opens_at_its_own_index_only),
		cmocka_unit_test(node_that_is_not_named_opens_nothing),
		cmocka_unit_test(secret_of_another_grant_is_refused),
		cmocka_unit_test(key_is_chosen_by_its_id),
		cmocka_unit_test(every_bit_flip_is_refused_by_some_node),
		cmocka_unit_test(wrapped_key_opens_in_its_own_slot_only),
		cmocka_unit_test(list_of_wrapped_keys_cannot_be_cut_or_moved),
		cmocka_unit_test(parts_of_two_seals_do_not_go_together),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(two_seals_share_no_bytes),
		cmocka_unit_test(a_seed_gives_the_same_sealed_bytes_again),
		cmocka_unit_test(empty_secret_is_sealed),
		cmocka_unit_test(largest_seal_fits_an_apply),
		cmocka_unit_test(seal_of_another_maker_is_opened),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
