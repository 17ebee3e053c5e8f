/* SPDX-License-Identifier: BSD-3-Clause */
/* What nodes are asked of their own accord: what is not ours, and their keys. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/hostlist.h"

#define SECOND_MS   1000
#define REPORTED_MS 3000   /* a node that reports something was asked by then */
#define LOOK_MS     302000 /* any node was */

static const struct registration_object foreign_1024 = {
	.driver = "slingshot",
	.device = "cxi0",
	.id = 5,
	.uid = 77,
	.id_count = 1,
	.ids = { 1024 },
};
static const struct registration_driver usable = {
	.name = "slingshot",
	.is_usable = true,
};
static const struct registration_driver unusable = { .name = "slingshot" };

static void assert_withheld(struct bed *bed, const char *expected)
{
	uint64_t client = bed_client(bed, BED_ROOT);
	json_t *answer, *pool;

	bed_ask(bed, client, "pools", NULL);
	bed_commit(bed);
	answer = bed_expect(bed, client, 0);
	pool = json_object_get(json_object_get(json_object_get(answer, "pools"),
					       "slingshot"),
			       "vni");
	assert_string_equal(
		json_string_value(json_object_get(pool, "withheld")), expected);
	json_decref(answer);
	engine_client_closed(bed->engine, client);
}

/* The key that the manager knows the node to have; 0: none. */
static json_int_t shown_key(struct bed *bed, const char *name)
{
	json_t *node = bed_node_shown(bed, name);
	json_int_t key = json_integer_value(json_object_get(node, "key"));

	json_decref(node);
	return key;
}

/* Time passes for a node that answers pings and nothing else. */
static void wait_ms(struct bed_node *node, uint64_t duration_ms)
{
	static const uint8_t pong = FRAME_PONG;

	for (; duration_ms > 0; duration_ms -= SECOND_MS) {
		bed_advance(node->bed, SECOND_MS);
		bed_node_receive(node, &pong, 1);
	}
}

/* A question that has reached a node. */
struct look {
	struct bed_round *round;
	struct confirm confirm; /* as the node answers it */
	uint32_t key_id;        /* that signed it */
};

/* False: there is none. */
static bool take_look(struct bed_node *node, struct look *ret_look)
{
	const struct command *command;
	union command_body body;

	ret_look->round = bed_node_asked(node);
	if (ret_look->round == NULL)
		return false;
	command = &ret_look->round->command;
	assert_int_equal(command->op, COMMAND_QUERY);
	assert_int_equal(command_body_decode(COMMAND_QUERY, command->body,
					     command->body_size, &body),
			 0);
	assert_int_equal(body.query.what, QUERY_INVENTORY);
	assert_true(hostlist_find(body.query.nodes, node->name) >= 0);
	command_body_fini(COMMAND_QUERY, &body);
	confirm_answer(command, node->name, node->incarnation, 0,
		       &ret_look->confirm);
	ret_look->key_id = command->key_id;
	return true;
}

/* The one that reaches the node within that time. */
static struct look look_after(struct bed_node *node, uint64_t duration_ms)
{
	struct look look;

	wait_ms(node, duration_ms);
	assert_true(take_look(node, &look));
	return look;
}

static void say(struct bed_node *node, const struct look *look,
		struct confirm confirm,
		const struct registration_object *object,
		const struct registration_driver *driver)
{
	const struct registration list = {
		.objects = object,
		.object_count = object != NULL,
		.drivers = driver,
		.driver_count = 1,
	};
	struct writer writer = { 0 };

	assert_int_equal(inventory_encode(&list, &writer), 0);
	confirm.answer = writer.data;
	confirm.answer_size = writer.size;
	bed_node_say(node, look->round, &confirm);
	writer_fini(&writer);
	bed_commit(node->bed);
}

static void answer(struct bed_node *node, struct look *look,
		   const struct registration_object *object,
		   const struct registration_driver *driver)
{
	say(node, look, look->confirm, object, driver);
	if (!look->round->is_over)
		bed_round_end(node->bed, look->round, 0);
}

static void up_with(struct bed *bed, const char *name,
		    const struct registration_object *object,
		    struct bed_node *ret_node)
{
	bed_node_connect(bed, name, ret_node);
	ret_node->registration.objects = object;
	ret_node->registration.object_count = object != NULL;
	ret_node->registration.drivers = &usable;
	ret_node->registration.driver_count = 1;
	bed_node_register(ret_node);
}

static void what_is_gone_is_free_without_a_registration(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	struct look look;

	up_with(bed, "n0", &foreign_1024, &node);
	assert_withheld(bed, "1024");
	look = look_after(&node, REPORTED_MS);
	answer(&node, &look, &foreign_1024, &usable);
	assert_int_equal(bed->commit_count, 0);
	assert_withheld(bed, "1024");
	look = look_after(&node, REPORTED_MS);
	answer(&node, &look, NULL, &usable);
	assert_withheld(bed, "");
	/* And it is so on the disk. */
	bed_crash(bed);
	bed_start(bed, BED_EPOCH + 1, false);
	assert_withheld(bed, "");
}

/* As node-list shows it. */
static void assert_detail(struct bed *bed, const char *expected)
{
	uint64_t client = bed_client(bed, BED_ROOT);
	json_t *reply, *driver;

	bed_ask(bed, client, "node-list", NULL);
	reply = bed_expect(bed, client, 0);
	driver = json_array_get(
		json_object_get(json_array_get(json_object_get(reply, "nodes"),
					       0),
				"drivers"),
		0);
	assert_string_equal(json_string_value(json_object_get(driver, "name")),
			    usable.name);
	assert_string_equal(
		json_string_value(json_object_get(driver, "detail")), expected);
	json_decref(reply);
}

static void node_list_has_what_nodes_last_said_of_their_drivers(void **state)
{
	struct bed *bed = *state;
	struct registration_driver better = usable;
	struct bed_node node;
	struct look look;

	up_with(bed, "n0", NULL, &node);
	assert_detail(bed, "");
	look = look_after(&node, LOOK_MS);
	strcpy(better.detail, "enforcement\anft");
	answer(&node, &look, NULL, &better);
	assert_detail(bed, "enforcement?nft");
	/* What is too long for the list is left out of it. */
	memset(better.detail, '"', DRIVER_DETAIL_MAX);
	look = look_after(&node, LOOK_MS);
	answer(&node, &look, NULL, &better);
	better.detail[DRIVER_DETAIL_MAX] = '\0';
	assert_detail(bed, better.detail);
}

static void assert_levels(struct bed *bed, const char *expected)
{
	uint64_t client = bed_client(bed, BED_ROOT);
	_auto_(freep) char *text = NULL;
	json_t *reply;

	bed_ask(bed, client, "status", NULL);
	reply = bed_expect(bed, client, 0);
	text = json_dumps(json_object_get(reply, "levels"),
			  JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, expected);
	json_decref(reply);
}

static void status_counts_nodes_by_their_level(void **state)
{
	static const struct {
		const char *node, *detail, *levels;
	} cases[] = {
		{ "n0", "2 devices, enforcement nft", "{}" },
		{ "n0", "enforcement <b>nft</b>", "{}" },
		{ "n0", "enforcement abcdefghijklmnop", "{}" },
		{ "n0", "enforcement nft; lacks a NIC (eth1: it is down)",
		  "{\"slingshot\":{\"nft\":1}}" },
		{ "n1", "enforcement nft+bpf, refused nothing",
		  "{\"slingshot\":{\"nft\":1,\"nft+bpf\":1}}" },
		{ "n0", "enforcement nft+bpf",
		  "{\"slingshot\":{\"nft+bpf\":2}}" },
		{ "n1", NULL,
		  "{\"slingshot\":{\"nft+bpf\":1,\"unusable\":1}}" },
	};
	struct bed *bed = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct registration_driver driver = usable;
		struct bed_node node;

		driver.is_usable = cases[i].detail != NULL;
		strcpy(driver.detail, cases[i].detail ? cases[i].detail : "");
		bed_node_connect(bed, cases[i].node, &node);
		node.registration.drivers = &driver;
		node.registration.driver_count = 1;
		bed_node_register(&node);
		assert_levels(bed, cases[i].levels);
	}
}

static void what_is_new_is_withheld_without_a_registration(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	struct look look;

	up_with(bed, "n0", NULL, &node);
	look = look_after(&node, LOOK_MS);
	answer(&node, &look, &foreign_1024, &usable);
	assert_withheld(bed, "1024");
	bed_crash(bed);
	bed_start(bed, BED_EPOCH + 1, false);
	assert_withheld(bed, "1024");
}

/* A grant of this node, and what it says to the apply. */
static uint64_t apply_on(struct bed_node *node, uint64_t client, int result)
{
	struct bed *bed = node->bed;
	uint64_t grant_id = bed_reserve(bed, client, "slurm/1/0", node->name);

	bed_ask(bed, client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(bed);
	bed_node_obey(node, COMMAND_APPLY, result);
	bed_commit(bed);
	return grant_id;
}

static void a_lane_that_is_in_the_way_is_looked_at_at_once(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);
	struct bed_node node;
	struct look look;

	up_with(bed, "n0", NULL, &node);
	apply_on(&node, client, -EEXIST);
	bed_node_obey(&node, COMMAND_REVOKE, 0);
	bed_commit(bed);
	bed_expect_done(bed, client, -EREMOTEIO);
	look = look_after(&node, 2 * SECOND_MS);
	answer(&node, &look, &foreign_1024, &usable);
	assert_withheld(bed, "1024");
}

static void what_is_forced_is_looked_at_at_once(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);
	struct bed_node node;
	uint64_t grant_id;
	struct look look;

	up_with(bed, "n0", NULL, &node);
	grant_id = apply_on(&node, client, 0);
	bed_expect_done(bed, client, 0);
	bed_ask(bed, client, "release", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(bed);
	bed_node_obey(&node, COMMAND_REVOKE, -EBUSY);
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
	bed_ask(bed, client, "quarantine-release", "{s:s, s:s}", "pool", "vni",
		"ids", "1024");
	bed_commit(bed);
	bed_expect_done(bed, client, -EBUSY);
	assert_withheld(bed, "");
	bed_ask(bed, client, "quarantine-release", "{s:s, s:s, s:b}", "pool",
		"vni", "ids", "1024", "force", 1);
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
	assert_withheld(bed, "1024");
	look = look_after(&node, 2 * SECOND_MS);
	answer(&node, &look, NULL, &usable);
	assert_withheld(bed, "");
}

static void what_answers_nothing_changes_nothing(void **state)
{
	struct bed *bed = *state;
	struct confirm wrong;
	struct bed_node node;
	struct look look;

	up_with(bed, "n0", &foreign_1024, &node);
	look = look_after(&node, REPORTED_MS);
	wrong = look.confirm;
	wrong.sequence--;
	say(&node, &look, wrong, NULL, &usable);
	wrong = look.confirm;
	wrong.life++;
	say(&node, &look, wrong, NULL, &usable);
	assert_withheld(bed, "1024");
	/* Of what cannot be listed nothing is known to be gone. */
	answer(&node, &look, NULL, &unusable);
	assert_withheld(bed, "1024");
	/* It was the answer; it is not one twice. */
	say(&node, &look, look.confirm, NULL, &usable);
	assert_withheld(bed, "1024");
	look = look_after(&node, REPORTED_MS);
	look.confirm.result = -E2BIG;
	answer(&node, &look, NULL, &usable);
	assert_withheld(bed, "1024");
	/* Of an earlier boot. */
	look = look_after(&node, REPORTED_MS);
	look.confirm.incarnation[0]++;
	answer(&node, &look, NULL, &usable);
	assert_withheld(bed, "1024");
	/* Bytes that are no list. */
	look = look_after(&node, REPORTED_MS);
	look.confirm.answer = (const uint8_t *)"{}";
	look.confirm.answer_size = 2;
	bed_node_answer(&node, look.round, &look.confirm);
	assert_withheld(bed, "1024");
}

static void who_does_not_answer_is_asked_again(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	struct look look;

	up_with(bed, "n0", &foreign_1024, &node);
	look = look_after(&node, REPORTED_MS);
	/* Until the question is over, and then by a new one. */
	wait_ms(&node, REPORTED_MS + 10 * SECOND_MS);
	while (take_look(&node, &look) && look.round->is_over)
		continue;
	answer(&node, &look, NULL, &usable);
	assert_withheld(bed, "");
}

static void many_nodes_are_asked_by_one_question(void **state)
{
	struct bed *bed = *state;
	struct bed_node nodes[10];
	struct look look;
	char name[] = "n0";

	for (int i = 0; i < 10; i++, name[1]++)
		up_with(bed, name, i == 3 ? &foreign_1024 : NULL, &nodes[i]);
	bed_advance(bed, REPORTED_MS);
	/* The one that reports something is asked alone, and the others later
	 * all together. */
	assert_true(take_look(&nodes[3], &look));
	assert_int_equal(look.round->count, 1);
	answer(&nodes[3], &look, NULL, &usable);
	assert_false(take_look(&nodes[2], &look));
	bed_advance(bed, LOOK_MS - REPORTED_MS);
	assert_true(take_look(&nodes[0], &look));
	assert_int_equal(look.round->count, 9);
	assert_string_equal(look.round->nodes, "n[0-2,4-9]");
	for (int i = 0; i < 10; i++) {
		if (i == 3)
			continue;
		if (i > 0)
			assert_true(take_look(&nodes[i], &look));
		say(&nodes[i], &look, look.confirm,
		    i == 5 ? &foreign_1024 : NULL, &usable);
	}
	assert_withheld(bed, "1024");
}

/* An answer that is late does not bring back what has gone meanwhile. */
static void an_answer_from_before_a_revoke_is_not_taken(void **state)
{
	struct bed *bed = *state;
	struct confirm own = { .version = WIRE_VERSION, .sequence = 9 };
	struct command command;
	struct bed_node node;
	struct look look;
	uint8_t *bytes;

	up_with(bed, "n0", &foreign_1024, &node);
	look = look_after(&node, REPORTED_MS);
	strcpy(own.node, node.name);
	memcpy(own.incarnation, node.incarnation, INCARNATION_SIZE);
	own.grant_id = 1;
	bed_node_confirm(&node, &own);
	bed_commit(bed);
	/* The ACK. */
	assert_true(bed_node_command(&node, &command, &bytes));
	assert_int_equal(command.op, COMMAND_ACK);
	free(bytes);
	answer(&node, &look, NULL, &usable);
	assert_withheld(bed, "1024");
	/* It is asked again at once. */
	look = look_after(&node, 2 * SECOND_MS);
	answer(&node, &look, NULL, &usable);
	assert_withheld(bed, "");
}

static void activate(struct bed *bed)
{
	struct rng_seam rng = sim_rng_seam(&bed->rng);
	struct fairlead_error error;

	assert_int_equal(manager_keys_rotate(&bed->keys, &rng, &error), 0);
	assert_int_equal(manager_keys_activate(&bed->keys, &error), 0);
	assert_int_equal(engine_rekey(bed->engine, &bed->keys, &error), 1);
}

/* The node gets the key file of the active key. */
static void follow(struct bed_node *node)
{
	struct node_keys keys;
	struct fairlead_error error;

	assert_int_equal(
		node_keys_make(&node->bed->keys, node->name, &keys, &error), 0);
	node->key = keys.confirms[0];
	node_keys_fini(&keys);
}

static void an_idle_node_shows_that_it_follows_a_rotation(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	struct look look;

	up_with(bed, "n0", NULL, &node);
	wait_ms(&node, 2 * SECOND_MS);
	assert_int_equal(bed_node_asked_count(&node), 0);
	activate(bed);
	assert_int_equal(shown_key(bed, "n0"), 0);
	look = look_after(&node, 2 * SECOND_MS);
	assert_int_equal(look.key_id, 2);
	/* It obeys the new key, and has a file from before: asked again. */
	answer(&node, &look, NULL, &usable);
	assert_int_equal(shown_key(bed, "n0"), 0);
	look = look_after(&node, 3 * SECOND_MS);
	follow(&node);
	answer(&node, &look, NULL, &usable);
	assert_int_equal(shown_key(bed, "n0"), 2);
	wait_ms(&node, 5 * SECOND_MS);
	assert_int_equal(bed_node_asked_count(&node), 0);
	/* A node that registers again shows it again. */
	engine_node_closed(bed->engine, node.peer);
	assert_int_equal(shown_key(bed, "n0"), 2);
	bed_node_reconnect(&node);
	bed_node_register(&node);
	assert_int_equal(shown_key(bed, "n0"), 0);
	look = look_after(&node, 3 * SECOND_MS);
	answer(&node, &look, NULL, &usable);
	assert_int_equal(shown_key(bed, "n0"), 2);
}

static void an_answer_to_the_old_key_shows_nothing_of_the_new_one(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	struct look look;

	up_with(bed, "n0", &foreign_1024, &node);
	look = look_after(&node, REPORTED_MS);
	assert_int_equal(look.key_id, 1);
	activate(bed);
	follow(&node);
	answer(&node, &look, &foreign_1024, &usable);
	assert_int_equal(shown_key(bed, "n0"), 0);
	look = look_after(&node, 3 * SECOND_MS);
	assert_int_equal(look.key_id, 2);
	answer(&node, &look, &foreign_1024, &usable);
	assert_int_equal(shown_key(bed, "n0"), 2);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_gone_is_free_without_a_registration),
		TEST(what_is_new_is_withheld_without_a_registration),
		TEST(node_list_has_what_nodes_last_said_of_their_drivers),
		TEST(status_counts_nodes_by_their_level),
		TEST(a_lane_that_is_in_the_way_is_looked_at_at_once),
		TEST(what_is_forced_is_looked_at_at_once),
		TEST(what_answers_nothing_changes_nothing),
		TEST(who_does_not_answer_is_asked_again),
		TEST(many_nodes_are_asked_by_one_question),
		TEST(an_answer_from_before_a_revoke_is_not_taken),
		TEST(an_idle_node_shows_that_it_follows_a_rotation),
		TEST(an_answer_to_the_old_key_shows_nothing_of_the_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
