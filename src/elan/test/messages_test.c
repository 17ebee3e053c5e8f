/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between processes of a node, who gets none, and when a port is dead.
 * What goes between nodes is in adapter/test and in a story. Usage:
 * messages_test FAIRLEAD-RMS KEEPER.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "elan/client.h"
#include "elan/test/stage.h"

#define FOREVER (-1)
#define SHORT   60 /* ms, after which nobody is waited for any more */

/* A capability of this node alone, deposited for program 1 of the owner. */
static struct elan_capability deposit(int program, int n)
{
	struct elan_capability cap = sample_cap(n);

	cap.cap_highnode = 0;
	cap.cap_railmask = 3;
	cap.cap_bitmap[0] = 0xf;
	assert_int_equal(stage_rail_set(0, true), 0);
	assert_int_equal(stage_rail_set(1, true), 0);
	assert_int_equal(rms_client_deposit(NULL, (uint64_t)program, OWNER_UID,
					    &cap),
			 0);
	return cap;
}

/* Player n: makes the program, has its capabilities, and is the owner's. */
static struct player *member(struct stage *stage, int n, int program)
{
	struct player *player = must_create(stage, n, program);

	assert_int_equal(play(player, ACT_PRGCLAIM, .id = program), 0);
	assert_int_equal(play(player, ACT_BECOME, .uid = OWNER_UID), 0);
	return player;
}

static int open_at(struct player *player, struct elan_capability cap, int rail,
		   int context)
{
	cap.cap_mycontext = cap.cap_lowcontext + context;
	return play(player, ACT_OPEN, .index = rail, .cap = cap);
}

static void assert_got(struct player *player, int rank, const char *text)
{
	assert_int_equal(play(player, ACT_RECV, .value = FOREVER), 0);
	assert_int_equal(player->script->number, rank);
	assert_string_equal(player->script->text, text);
}

static int send_text(struct player *player, int rank, const char *text)
{
	struct script script = {
		.act = ACT_SEND,
		.number = rank,
		.value = FOREVER,
	};

	strcpy(script.text, text);
	return play_script(player, &script);
}

static void members_send_to_each_other_on_each_rail(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = deposit(1, 0);
	struct player *first = member(stage, 0, 1);
	struct player *second = player_fork(stage, first, 1, FORK_SESSION);

	for (int rail = 0; rail < 2; rail++) {
		assert_int_equal(open_at(first, cap, rail, 0), 0);
		assert_int_equal(open_at(second, cap, rail, 3), 0);
		assert_int_equal(send_text(first, 3, "one"), 0);
		assert_int_equal(send_text(first, 3, "two"), 0);
		assert_int_equal(send_text(first, 0, "self"), 0);
		assert_got(second, 0, "one");
		assert_got(second, 0, "two");
		assert_int_equal(send_text(second, 0, "back"), 0);
		assert_got(first, 0, "self");
		assert_got(first, 3, "back");
		assert_int_equal(play(first, ACT_RECV, .value = 0), -ETIMEDOUT);
		assert_int_equal(play(first, ACT_SHUT), 0);
		assert_int_equal(play(second, ACT_SHUT), 0);
	}
	/* What was taken is accounted for. */
	assert_int_equal(play(first, ACT_PRGGETSTATS, .id = -1), 0);
	assert_int_equal(first->script->stats.exfers, 8);
	assert_int_equal(first->script->stats.ebytes, 2 * (3 + 3 + 4 + 4));
}

static void who_has_no_right_key_or_context_does_not_attach(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = deposit(1, 0);
	struct elan_capability other = deposit(2, 1);
	struct elan_capability forged = cap;
	struct player *first = member(stage, 0, 1);
	struct player *second = player_fork(stage, first, 1, 0);
	struct player *third = member(stage, 2, 2);
	struct player *outsider = player_start(stage, 3, OWNER_UID);

	assert_int_equal(open_at(first, cap, 0, 0), 0);
	/* Without a program; of another one, which knows the key all the same. */
	assert_int_equal(open_at(outsider, cap, 0, 1), -ESRCH);
	assert_int_equal(open_at(third, cap, 0, 1), -EINVAL);
	forged.cap_userkey.key_values[2] ^= 1;
	assert_int_equal(open_at(second, forged, 0, 1), -EINVAL);
	forged.cap_userkey = (struct elan_userkey){ 0 };
	assert_int_equal(open_at(second, forged, 0, 1), -EINVAL);
	assert_int_equal(open_at(second, cap, 0, 4), -EINVAL);
	assert_int_equal(open_at(second, cap, 0, -1), -EINVAL);
	assert_int_equal(open_at(second, cap, 2, 1), -EINVAL);
	assert_int_equal(open_at(second, cap, 0, 0), -EBUSY);
	assert_int_equal(open_at(first, cap, 0, 0), -EBUSY);
	/* One that it makes itself is no program's. */
	assert_int_equal(play(second, ACT_PRGADDCAP, .id = 1, .index = 5,
			      .cap = forged),
			 -EACCES);
	/* A node that it is not on does not get it. */
	assert_int_equal(play(second, ACT_ROUTE, .grant = 1, .value = 0),
			 -EACCES);
	/* And those of another program are not reached. */
	assert_int_equal(open_at(third, other, 0, 0), 0);
	assert_int_equal(open_at(second, cap, 0, 1), 0);
	assert_int_equal(send_text(second, 0, "mine"), 0);
	assert_got(first, 1, "mine");
	assert_int_equal(play(third, ACT_SEND, .number = 1, .value = SHORT),
			 -ETIMEDOUT);
	assert_int_equal(play(second, ACT_RECV, .value = 0), -ETIMEDOUT);
	assert_int_equal(play(third, ACT_RECV, .value = 0), -ETIMEDOUT);
	assert_int_equal(send_text(second, 4, "x"), -EINVAL);
}

static void a_port_is_only_who_attached(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = deposit(1, 0);
	struct player *first = member(stage, 0, 1);
	struct player *child;

	assert_int_equal(open_at(first, cap, 0, 0), 0);
	child = player_fork(stage, first, 1, 0);
	assert_int_equal(send_text(child, 0, "by a child"), -EPERM);
	assert_int_equal(send_text(first, 0, "by itself"), 0);
	assert_got(first, 0, "by itself");
}

/* What is no message is answered, from whoever has the descriptor. */
static void nonsense_makes_no_port_deaf(void **state)
{
	static const char *const packets[] = { "", "x", "1234567" };
	struct stage *stage = *state;
	struct elan_capability cap = deposit(1, 0);
	struct player *first = member(stage, 0, 1);
	struct player *child;
	struct script script = { .act = ACT_NONSENSE };

	assert_int_equal(open_at(first, cap, 0, 0), 0);
	child = player_fork(stage, first, 1, 0);
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		strcpy(script.text, packets[i]);
		assert_int_equal(play_script(child, &script), -EPERM);
		assert_int_equal(play_script(first, &script), -EPROTO);
	}
	assert_int_equal(send_text(first, 0, "still there"), 0);
	assert_got(first, 0, "still there");
}

static void who_has_no_room_for_descriptors_is_not_attached(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = deposit(1, 0);
	struct player *first = member(stage, 0, 1);

	assert_int_equal(play(first, ACT_ROOM, .value = 1), 0);
	assert_int_equal(open_at(first, cap, 0, 0), -EMFILE);
	assert_int_equal(play(first, ACT_ROOM, .value = 2), 0);
	assert_int_equal(open_at(first, cap, 0, 0), -EMFILE);
	assert_int_equal(play(first, ACT_ROOM, .value = 64), 0);
	assert_int_equal(open_at(first, cap, 0, 0), 0);
	assert_int_equal(send_text(first, 0, "here"), 0);
	assert_got(first, 0, "here");
}

#define FEW       1024 /* descriptors that the daemon may have */
#define FEW_PORTS 256

static int limit_descriptors(const struct stage *stage)
{
	const struct rlimit limit = { FEW, FEW };

	return setrlimit(RLIMIT_NOFILE, &limit);
}

/* They could take all descriptors, and nobody could call any more. */
static void ports_leave_room_for_calls(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *first;
	int result = 0;
	int count = 0;

	daemon_stop(stage, SIGTERM);
	assert_true(daemon_start_with(stage, stage->keeper, limit_descriptors));
	cap.cap_highnode = 0;
	cap.cap_highcontext = cap.cap_lowcontext + FEW_PORTS - 1;
	cap.cap_type |= ELAN_CAP_TYPE_NO_BITMAP;
	assert_int_equal(stage_rail_set(0, true), 0);
	assert_int_equal(rms_client_deposit(NULL, 1, OWNER_UID, &cap), 0);
	first = member(stage, 0, 1);
	while (result == 0 && count < FEW_PORTS)
		result = open_at(first, cap, 0, count++);
	assert_int_equal(result, -ENOMEM);
	assert_true(count > 8);
	/* Of one that goes the next has the place. */
	assert_int_equal(open_at(first, cap, 0, FEW_PORTS - 1), -ENOMEM);
	assert_int_equal(play(first, ACT_SHUT), 0);
	assert_int_equal(open_at(first, cap, 0, FEW_PORTS - 1), 0);
}

static void who_comes_or_receives_late_is_waited_for(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = deposit(1, 0);
	struct player *first = member(stage, 0, 1);
	struct player *second = player_fork(stage, first, 1, 0);
	struct script script = {
		.act = ACT_SEND,
		.number = 1,
		.value = FOREVER,
		.text = "early",
	};
	int sent = 0;

	assert_int_equal(open_at(first, cap, 0, 0), 0);
	play_begin(first, &script);
	assert_int_equal(open_at(second, cap, 0, 1), 0);
	assert_int_equal(play_end(first), 0);
	assert_got(second, 0, "early");
	/* Until there is no more room: then one waits. */
	script.value = SHORT;
	while (play_script(first, &script) == 0)
		sent++;
	assert_true(sent > 0);
	script.value = FOREVER;
	play_begin(first, &script);
	for (int i = 0; i < sent + 1; i++)
		assert_got(second, 0, "early");
	assert_int_equal(play_end(first), 0);
}

static void a_port_dies_with_what_it_is_by(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = deposit(1, 0);
	struct player *first = member(stage, 0, 1);
	size_t count = 0;

	/* The capability has another key. */
	assert_int_equal(open_at(first, cap, 0, 0), 0);
	cap.cap_userkey.key_values[0]++;
	assert_int_equal(rms_client_deposit(NULL, 1, OWNER_UID, &cap), 0);
	assert_int_equal(send_text(first, 0, "x"), -ECONNRESET);
	assert_int_equal(play(first, ACT_RECV, .value = FOREVER), -ECONNRESET);
	assert_int_equal(play(first, ACT_SHUT), 0);
	/* It is taken out of its program. */
	assert_int_equal(play(first, ACT_PRGCLAIM, .id = 1), 0);
	assert_int_equal(stage_take_back(1, NULL, 0, &count), -EBUSY);
	assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
	player_wait(first);
	assert_int_equal(stage_take_back(1, NULL, 0, &count), 0);
	cap = deposit(2, 1);
	first = member(stage, 1, 2);
	assert_int_equal(open_at(first, cap, 0, 0), 0);
	assert_int_equal(rms_removeproc(2, first->pid), 0);
	assert_int_equal(send_text(first, 0, "x"), -ECONNRESET);
	assert_int_equal(play(first, ACT_RECV, .value = FOREVER), -ECONNRESET);
	assert_int_equal(rms_prgdestroy(2), 0);
}

static void a_port_dies_with_its_program(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = deposit(1, 0);
	struct player *first = member(stage, 0, 1);

	assert_int_equal(open_at(first, cap, 0, 0), 0);
	if (stage_is_group()) {
		assert_int_equal(rms_prgdestroy(1), -1);
		assert_int_equal(send_text(first, 0, "x"), 0);
		return;
	}
	/* Members that are left are forgotten with it. */
	assert_int_equal(rms_prgdestroy(1), 0);
	assert_int_equal(send_text(first, 0, "x"), -ECONNRESET);
	assert_int_equal(play(first, ACT_RECV, .value = FOREVER), -ECONNRESET);
}

static void a_daemon_that_is_back_takes_who_attaches_again(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = deposit(1, 0);
	struct player *first = member(stage, 0, 1);
	struct script script = { .act = ACT_RECV, .value = FOREVER };

	assert_int_equal(open_at(first, cap, 0, 0), 0);
	play_begin(first, &script);
	daemon_again(stage);
	assert_int_equal(play_end(first), -ECONNRESET);
	assert_int_equal(send_text(first, 0, "x"), -ECONNRESET);
	assert_int_equal(play(first, ACT_SHUT), 0);
	assert_int_equal(open_at(first, cap, 0, 0), 0);
	assert_int_equal(send_text(first, 0, "again"), 0);
	assert_got(first, 0, "again");
}

static void which_node_it_is_has_to_be_known(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *first;

	assert_int_equal(stage_rail_set(0, true), 0);
	assert_int_equal(rms_client_deposit(NULL, 1, OWNER_UID, &cap), 0);
	first = member(stage, 0, 1);
	assert_int_equal(open_at(first, cap, 0, 0), -ENODEV);
	assert_int_equal(rms_client_route(NULL, 2, 1, NULL, 0), -ENOENT);
	assert_int_equal(rms_client_route(NULL, 1, 2, NULL, 0), -EINVAL);
	assert_int_equal(rms_client_route(NULL, 1, 1, "x", 1), -EINVAL);
	assert_int_equal(rms_client_route(NULL, 1, 1, NULL, 0), 0);
	daemon_again(stage);
	/* It is not attached by having failed. */
	assert_int_equal(open_at(first, cap, 0, 0), 0);
	assert_int_equal(send_text(first, 4, "node 1"), 0);
	assert_got(first, 4, "node 1");
	assert_int_equal(send_text(first, 0, "node 0"), -EHOSTUNREACH);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		stage_test(members_send_to_each_other_on_each_rail),
		stage_test(who_has_no_right_key_or_context_does_not_attach),
		stage_test(a_port_is_only_who_attached),
		stage_test(nonsense_makes_no_port_deaf),
		stage_test(ports_leave_room_for_calls),
		stage_test(who_has_no_room_for_descriptors_is_not_attached),
		stage_test(who_comes_or_receives_late_is_waited_for),
		stage_test(a_port_dies_with_what_it_is_by),
		stage_test(a_port_dies_with_its_program),
		stage_test(a_daemon_that_is_back_takes_who_attaches_again),
		stage_test(which_node_it_is_has_to_be_known),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
