/* SPDX-License-Identifier: BSD-3-Clause */
/* The members, their rules and their time. */
#include "cast.h"

#include <stdlib.h>

#include <sodium.h>

void *cast_alloc(size_t size)
{
	/* Not of those that sim/heap lets fail. */
	void *memory = aligned_alloc(16, (size / 16 + 1) * 16);

	assert_non_null(memory);
	memset(memory, 0, size);
	return memory;
}

static void random_fill(void *ctx, void *bytes, size_t size)
{
	struct member *member = ctx;
	uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++) {
		member->random =
			member->random * UINT64_C(6364136223846793005) +
			UINT64_C(1442695040888963407);
		at[i] = (uint8_t)(member->random >> 33);
	}
}

static const struct rng_ops random_ops = { .fill = random_fill };

/* --- members --- */

void cast_start(struct cast *cast, int index)
{
	struct member *member = &cast->members[index];
	struct core_options options = {
		.started_us = cast->now_ns / 1000 + 1,
		.nid = member->nid,
		.tree = cast->tree,
		.rtt_ns = CAST_R_NS,
		.bulk_bandwidth = 100000000,
		.bulk_segment = cast->bulk_segment,
		.group_lifetime_ns = UINT64_C(3600) * 1000000000,
		.authenticator = cast->is_sealed ? &cast->auths[index] : NULL,
		.transport = { &cast_net_ops, member },
		.tree_types = &cast->tree_types,
		.rng = { &random_ops, member },
		.share_addresses = cast->place_size > 0 && index == 0,
	};

	assert_null(member->core);
	memset(member->places, 0, sizeof(member->places));
	member->place = ++cast->last_place;
	assert_int_equal(given_create(true, &member->given), 0);
	assert_int_equal(memberships_create(&member->memberships), 0);
	options.discovery = given_discovery(member->given);
	options.memberships = member->memberships;
	assert_int_equal(scoll_core_create(&options, &member->core), 0);
	assert_int_equal(scoll_core_service_register(member->core, CAST_SERVICE,
						     &cast_service_ops, member),
			 0);
}

/* --- a tree in which each has one child --- */

static void chain_node(const struct scoll_tree_shape *shape, uint32_t rank,
		       struct scoll_tree_node *ret_node)
{
	*ret_node = (struct scoll_tree_node){
		.parent = rank > 0 ? rank - 1 : 0,
		.size = shape->node_count - rank,
		.depth = shape->node_count - rank - 1,
	};
}

static uint32_t chain_children(const struct scoll_tree_shape *shape,
			       uint32_t rank, uint32_t *ret_ranks,
			       uint32_t capacity)
{
	if (rank + 1 == shape->node_count)
		return 0;
	if (capacity > 0)
		ret_ranks[0] = rank + 1;
	return 1;
}

static const struct scoll_tree_ops chain_ops = {
	.size = sizeof(chain_ops),
	.name = "chain",
	.node = chain_node,
	.children = chain_children,
};

/* --- seals: of the two nodes, one key and the bytes --- */

static void seal(void *ctx, scoll_nid_t to, const void *bytes, size_t count,
		 uint8_t *ret_seal)
{
	crypto_generichash_state hash;

	(void)ctx;
	crypto_generichash_init(&hash, (const uint8_t *)"the key of the cast",
				19, SCOLL_SEAL_MAX);
	crypto_generichash_update(&hash, (const uint8_t *)&to, sizeof(to));
	crypto_generichash_update(&hash, bytes, count);
	crypto_generichash_final(&hash, ret_seal, SCOLL_SEAL_MAX);
}

static int verify(void *ctx, scoll_nid_t from, const void *bytes, size_t count,
		  const uint8_t *bytes_seal)
{
	const struct member *member = ctx;
	uint8_t want[SCOLL_SEAL_MAX];

	seal(ctx, member->nid, bytes, count, want);
	return memcmp(want, bytes_seal, sizeof(want)) == 0 ? 0 : -EPERM;
}

/* As if nobody else could: its NID is its key. */
static void signature_make(scoll_nid_t root, const void *bytes, size_t count,
			   uint8_t ret_signature[SCOLL_SIGNATURE_MAX])
{
	memset(ret_signature, 0x5a, SCOLL_SIGNATURE_MAX);
	crypto_generichash(ret_signature, crypto_generichash_BYTES, bytes,
			   count, (const uint8_t *)&root, sizeof(root));
}

static int sign(void *ctx, const void *bytes, size_t count,
		uint8_t *ret_signature)
{
	const struct member *member = ctx;

	if (member->is_no_root)
		return -EPERM;
	signature_make(member->nid, bytes, count, ret_signature);
	return 0;
}

static int check(void *ctx, scoll_nid_t root, const void *bytes, size_t count,
		 const uint8_t *signature)
{
	uint8_t want[SCOLL_SIGNATURE_MAX];

	(void)ctx;
	signature_make(root, bytes, count, want);
	return memcmp(want, signature, sizeof(want)) == 0 ? 0 : -EPERM;
}

static void init(struct cast *cast, int count, scoll_tree_type_t tree,
		 bool is_sealed)
{
	memset(cast, 0, sizeof(*cast));
	cast->is_sealed = is_sealed;
	assert_int_equal(tree_types_add(&cast->tree_types, SCOLL_TREE_USER,
					&chain_ops),
			 0);
	cast->count = count;
	cast->tree = tree;
	cast->now_ns = 1000;
	cast->bulk_segment = 64;
	for (int i = 0; i < count; i++) {
		struct member *member = &cast->members[i];

		cast->auths[i] = (struct scoll_authenticator){
			.size = sizeof(cast->auths[i]),
			.seal_size = SCOLL_SEAL_MAX,
			.seal = seal,
			.verify = verify,
			.ctx = member,
			.signature_size = SCOLL_SIGNATURE_MAX,
			.sign = sign,
			.check = check,
		};
		member->cast = cast;
		member->nid = cast_nid(i);
		member->random = (uint64_t)i + 1;
		member->buffer_len = 64;
		member->buffer_count = 1;
		member->timeout = -1;
		member->group_status = 1;
		cast_start(cast, i);
	}
}

void cast_init(struct cast *cast, int count, scoll_tree_type_t tree)
{
	init(cast, count, tree, false);
}

scoll_group_t *cast_init_group(struct cast *cast, int count,
			       scoll_tree_type_t tree)
{
	cast_init(cast, count, tree);
	return cast_group(cast, 0, 0, count);
}

void cast_init_sealed(struct cast *cast, int count, scoll_tree_type_t tree)
{
	init(cast, count, tree, true);
}

/* All that a member has under way ends in its core with this. */
static void member_sever(struct cast *cast, struct member *member)
{
	bool is_done = false;

	while (!is_done) {
		struct move *move;

		is_done = true;
		DL_FOREACH (cast->moves, move) {
			if (move->from != member || move->transfer == NULL)
				continue;
			scoll_core_events.done(member->core, cast->now_ns,
					       take_ptr(move->transfer),
					       -ECANCELED, 0);
			cast_move_destroy(cast, move);
			is_done = false;
			break;
		}
		cast_callbacks(cast);
	}
}

static void member_end(struct cast *cast, struct member *member)
{
	if (member->core == NULL)
		return;
	member->refusal = 0;
	member->is_full = false;
	scoll_core_stop(member->core, cast->now_ns);
	cast_callbacks(cast);
	member_sever(cast, member);
	assert_true(scoll_core_is_idle(member->core));
	assert_null(member->regions);
	scoll_core_destroy(take_ptr(member->core));
	assert_int_equal(memberships_count(member->memberships), 0);
	memberships_destroy(take_ptr(member->memberships));
	given_destroy(take_ptr(member->given));
}

void cast_kill(struct cast *cast, int index)
{
	struct member *member = &cast->members[index];
	struct move *move, *next;

	member_end(cast, member);
	/* What it sent in its last moment does not arrive. */
	DL_FOREACH_SAFE (cast->moves, move, next) {
		if (move->from == member)
			cast_move_destroy(cast, move);
	}
	member->script[0] = '\0';
}

void cast_fini(struct cast *cast)
{
	struct move *move, *next;

	for (int i = 0; i < cast->count; i++)
		member_end(cast, &cast->members[i]);
	DL_FOREACH_SAFE (cast->moves, move, next) {
		assert_null(move->transfer);
		cast_move_destroy(cast, move);
	}
}

struct member *cast_find(struct cast *cast, scoll_nid_t nid)
{
	for (int i = 0; i < cast->count; i++) {
		if (cast->members[i].nid == nid)
			return &cast->members[i];
	}
	return NULL;
}

/* --- what goes on --- */

void cast_rule(struct cast *cast, enum move_kind kind, int from, int to,
	       enum move_fate fate, int times)
{
	assert_in_range(cast->rule_count, 0, CAST_RULES_MAX - 1);
	cast->rules[cast->rule_count++] = (struct cast_rule){
		.kind = kind,
		.from = from,
		.to = to,
		.fate = fate,
		.times = times,
	};
}

void cast_rules_clear(struct cast *cast)
{
	cast->rule_count = 0;
}

static void rules_ask(struct cast *cast, const struct move *move,
		      enum move_fate *ret_fate)
{
	for (int i = 0; i < cast->rule_count; i++) {
		struct cast_rule *rule = &cast->rules[i];

		if (rule->kind != move->kind || rule->times == 0 ||
		    (rule->from >= 0 &&
		     move->from != &cast->members[rule->from]) ||
		    (rule->to >= 0 && move->to != cast_nid(rule->to)))
			continue;
		if (rule->times > 0)
			rule->times--;
		*ret_fate = rule->fate;
		return;
	}
}

/* What may be carried out now. */
static struct move *next_move(struct cast *cast, enum move_fate *ret_fate)
{
	struct move *move;

	DL_FOREACH (cast->moves, move) {
		if (move->transfer == NULL)
			continue;
		if (move->kind == MOVE_POST && !move->is_cancelled)
			continue;
		*ret_fate = FATE_PASS;
		rules_ask(cast, move, ret_fate);
		if (*ret_fate != FATE_HOLD)
			return move;
	}
	return NULL;
}

void cast_run(struct cast *cast)
{
	enum move_fate fate;
	struct move *move;

	cast_callbacks(cast);
	while ((move = next_move(cast, &fate)) != NULL) {
		cast_carry(cast, move, fate);
		cast_callbacks(cast);
	}
}

static void tick_all(struct cast *cast)
{
	for (int i = 0; i < cast->count; i++) {
		if (cast->members[i].core != NULL)
			scoll_core_tick(cast->members[i].core, cast->now_ns);
	}
	cast_callbacks(cast);
}

void cast_pass(struct cast *cast, uint64_t duration_ns)
{
	cast->now_ns += duration_ns;
	tick_all(cast);
}

bool cast_pass_deadline(struct cast *cast)
{
	uint64_t deadline_ns = DEADLINE_NONE;

	for (int i = 0; i < cast->count; i++) {
		const struct scoll_core *core = cast->members[i].core;

		if (core != NULL && scoll_core_deadline_ns(core) < deadline_ns)
			deadline_ns = scoll_core_deadline_ns(core);
	}
	if (deadline_ns == DEADLINE_NONE)
		return false;
	if (deadline_ns > cast->now_ns)
		cast->now_ns = deadline_ns;
	tick_all(cast);
	return true;
}

void cast_inject(struct cast *cast, int to, const void *bytes, size_t size)
{
	scoll_core_events.received(cast->members[to].core, cast->now_ns, bytes,
				   size);
	cast_callbacks(cast);
}

void cast_tell_dead(struct cast *cast, int index)
{
	for (int i = 0; i < cast->count; i++) {
		if (i != index && cast->members[i].given != NULL)
			given_set(cast->members[i].given, cast_nid(index),
				  SCOLL_DEAD);
	}
	tick_all(cast);
}

void cast_tell_rebooted(struct cast *cast, int index)
{
	for (int i = 0; i < cast->count; i++) {
		if (i != index && cast->members[i].given != NULL)
			given_set(cast->members[i].given, cast_nid(index),
				  SCOLL_REBOOTED);
	}
	tick_all(cast);
}

void cast_finish(struct cast *cast, scoll_group_t *group)
{
	cast_rules_clear(cast);
	cast_run(cast);
	if (group != NULL)
		scoll_core_group_destroy(group, cast->now_ns);
	cast_run(cast);
	cast_assert_idle(cast);
	cast_fini(cast);
}

static bool is_idle(const struct cast *cast)
{
	for (int i = 0; i < cast->count; i++) {
		if (cast->members[i].core != NULL &&
		    !scoll_core_is_idle(cast->members[i].core))
			return false;
	}
	return true;
}

void cast_settle(struct cast *cast)
{
	cast_run(cast);
	while (!is_idle(cast)) {
		assert_true(cast_pass_deadline(cast));
		cast_run(cast);
	}
}

void cast_assert_idle(struct cast *cast)
{
	for (int i = 0; i < cast->count; i++) {
		if (cast->members[i].core != NULL)
			assert_true(scoll_core_is_idle(cast->members[i].core));
		assert_null(cast->members[i].regions);
	}
}
