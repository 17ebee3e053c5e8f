/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capabilities of programs, and what members set of them, with each error.
 * Usage: holdings_test FAIRLEAD-RMS KEEPER.
 */
#include <stdio.h>

#include "elan/test/stage.h"

#define NO_PROGRAM 99

static int of(int result)
{
	return result < 0 ? -errno : 0;
}

static void capabilities_are_added_by_root(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct elan_capability bad = cap;
	struct player *owner;
	struct player *other;

	must_create(stage, 0, 1);
	owner = player_start(stage, 1, OWNER_UID);
	other = player_start(stage, 2, OTHER_UID);
	bad.cap_version = 0;
	assert_int_equal(of(rms_prgaddcap(1, 0, &bad)), -EINVAL);
	assert_int_equal(of(rms_prgaddcap(1, -1, &cap)), -EINVAL);
	assert_int_equal(of(rms_prgaddcap(NO_PROGRAM, 0, &cap)), -ESRCH);
	assert_int_equal(play(other, ACT_PRGADDCAP, .id = 1, .cap = cap),
			 -EACCES);
	/* Nobody has deposited it. */
	assert_int_equal(play(owner, ACT_PRGADDCAP, .id = 1, .cap = cap),
			 -EACCES);
	for (int i = 0; i < RMS_CAPS_MAX; i++)
		assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), -ENOMEM);
}

static void members_set_contexts_within_bounds(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *member = must_create(stage, 0, 1);
	struct player *other = player_start(stage, 1, 0);

	assert_int_equal(play(other, ACT_SETCAP, .index = 0), -ESRCH);
	assert_int_equal(play(member, ACT_SETCAP, .index = 0), -EINVAL);
	assert_int_equal(of(rms_prgaddcap(1, 5, &cap)), 0);
	assert_int_equal(play(member, ACT_SETCAP, .index = 0), -EINVAL);
	assert_int_equal(play(member, ACT_SETCAP, .index = 5, .value = -1),
			 -EINVAL);
	/* There are four: 0 to 3. */
	assert_int_equal(play(member, ACT_SETCAP, .index = 5, .value = 4),
			 -EINVAL);
	assert_int_equal(play(member, ACT_GETCAP, .index = 5), 0);
	assert_int_equal(member->script->cap.cap_mycontext, -1);
	assert_int_equal(play(member, ACT_SETCAP, .index = 5, .value = 3), 0);
	assert_int_equal(play(member, ACT_GETCAP, .index = 5), 0);
	assert_int_equal(member->script->cap.cap_mycontext, 0x403);
}

static void capabilities_are_shown_to_members_only(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *member = must_create(stage, 0, 1);
	struct player *other = player_start(stage, 1, OWNER_UID);
	struct script script = { .act = ACT_GETCAP };

	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	cap.cap_userkey.key_values[0] = 77;
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	cap = sample_cap(1);
	assert_int_equal(of(rms_prgaddcap(1, 3, &cap)), 0);

	assert_int_equal(play(other, ACT_NCAPS), -ESRCH);
	assert_int_equal(play(other, ACT_MYCAP), -ESRCH);
	assert_int_equal(play(other, ACT_GETCAP), -ESRCH);
	assert_int_equal(play(other, ACT_PREFCAP, .value = 1), -ESRCH);
	assert_int_equal(play(member, ACT_NCAPS), 0);
	assert_int_equal(member->script->number, 3);
	assert_int_equal(play(member, ACT_MYCAP), 0);
	assert_int_equal(member->script->number, 0);
	assert_int_equal(play(member, ACT_SETCAP, .index = 3), 0);
	assert_int_equal(play(member, ACT_MYCAP), 0);
	assert_int_equal(member->script->number, 3);
	assert_int_equal(play(member, ACT_GETCAP, .index = 1), -EINVAL);
	/* Of two with one index the newer counts. */
	memset(&script.cap, 0xee, sizeof(script.cap));
	assert_int_equal(play_script(member, &script), 0);
	assert_int_equal(member->script->cap.cap_userkey.key_values[0], 77);
	/* 4 contexts on 2 nodes need one word. */
	assert_int_equal(member->script->cap.cap_bitmap[0], 0xff);
	assert_int_equal(member->script->cap.cap_bitmap[1], 0xeeeeeeee);
}

static void preferred_is_the_smallest_that_is_enough(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *member = must_create(stage, 0, 1);

	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	cap = sample_cap(1);
	cap.cap_bitmap[0] = 0x0f;
	assert_int_equal(of(rms_prgaddcap(1, 4, &cap)), 0);
	cap = sample_cap(2);
	cap.cap_bitmap[0] = 0xf0;
	assert_int_equal(of(rms_prgaddcap(1, 2, &cap)), 0);
	assert_int_equal(play(member, ACT_PREFCAP, .value = 4), 0);
	assert_int_equal(member->script->number, 2);
	assert_int_equal(play(member, ACT_PREFCAP, .value = 5), 0);
	assert_int_equal(member->script->number, 0);
	assert_int_equal(play(member, ACT_PREFCAP, .value = 9), -EINVAL);
	assert_int_equal(play(member, ACT_PREFCAP, .value = 0), -EINVAL);
}

static void initialised_processes_are_listed(void **state)
{
	struct stage *stage = *state;
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);
	struct player *other = player_start(stage, 2, OTHER_UID);

	assert_int_equal(play(other, ACT_ELANINITDONE, .value = 0), -ESRCH);
	assert_int_equal(play(member, ACT_ELANINITDONE, .value = -1), -EINVAL);
	assert_int_equal(play(member, ACT_ELANINITDONE, .value = ELAN_MAX_VPS),
			 -EINVAL);
	assert_int_equal(play(other, ACT_PRGELANPIDS, .id = NO_PROGRAM),
			 -ESRCH);
	assert_int_equal(play(other, ACT_PRGELANPIDS, .id = 1, .value = -1),
			 -EINVAL);
	assert_int_equal(play(other, ACT_PRGELANPIDS, .id = 1), 0);
	assert_int_equal(other->script->count, 0);
	assert_int_equal(play(member, ACT_ELANINITDONE, .value = 5), 0);
	assert_int_equal(play(member, ACT_ELANINITDONE, .value = 6), 0);
	assert_int_equal(play(child, ACT_ELANINITDONE, .value = 7), 0);
	assert_int_equal(
		play(other, ACT_PRGELANPIDS, .id = 1, .value = LIST_MAX), 0);
	assert_int_equal(other->script->count, 2);
	assert_int_equal(other->script->list[0], member->pid);
	assert_int_equal(other->script->second[0], 6);
	assert_int_equal(other->script->list[1], child->pid);
	assert_int_equal(other->script->second[1], 7);
	kill(child->pid, SIGKILL);
	player_wait(child);
	assert_int_equal(play(other, ACT_PRGELANPIDS, .id = 1, .value = 1), 0);
	assert_int_equal(other->script->count, 1);
}

/* The identity is that of the moment: of the process, and of its user. */
static void a_child_or_another_user_is_not_taken_for_its_parent(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *member = must_create(stage, 0, 1);
	struct player *child;

	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(play(member, ACT_SETCAP, .index = 0, .value = 1), 0);
	child = player_fork(stage, member, 1, 0);
	assert_int_equal(play(child, ACT_SETCAP, .index = 0, .value = 2), 0);
	assert_int_equal(play(member, ACT_GETCAP, .index = 0), 0);
	assert_int_equal(member->script->cap.cap_mycontext, 0x401);
	assert_int_equal(play(child, ACT_GETCAP, .index = 0), 0);
	assert_int_equal(child->script->cap.cap_mycontext, 0x402);
	assert_int_equal(play(member, ACT_BECOME, .uid = OTHER_UID), 0);
	assert_int_equal(play(member, ACT_PRGSIGNAL, .id = 1, .value = 0),
			 -EACCES);
	assert_int_equal(play(child, ACT_PRGSIGNAL, .id = 1, .value = 0), 0);
}

static void what_a_process_set_is_its_childrens(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct elan_capability second = sample_cap(1);
	struct player *member = must_create(stage, 0, 1);
	struct player *before;
	struct player *after;

	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(of(rms_prgaddcap(1, 1, &second)), 0);
	assert_int_equal(play(member, ACT_SETCAP, .index = 0, .value = 1), 0);
	before = player_fork(stage, member, 1, 0);
	assert_int_equal(members_of(1), 2); /* it is known from now on */
	assert_int_equal(play(member, ACT_SETCAP, .index = 1, .value = 2), 0);
	assert_int_equal(play(member, ACT_SETCAP, .index = 0, .value = 3), 0);
	after = player_fork(stage, member, 2, 0);
	assert_int_equal(play(before, ACT_GETCAP, .index = 0), 0);
	assert_int_equal(before->script->cap.cap_mycontext, 0x401);
	assert_int_equal(play(before, ACT_GETCAP, .index = 1), 0);
	assert_int_equal(before->script->cap.cap_mycontext, -1);
	assert_int_equal(play(after, ACT_GETCAP, .index = 0), 0);
	assert_int_equal(after->script->cap.cap_mycontext, 0x403);
	assert_int_equal(play(after, ACT_GETCAP, .index = 1), 0);
	assert_int_equal(after->script->cap.cap_mycontext, 0x412);
	assert_int_equal(play(after, ACT_MYCAP), 0);
	assert_int_equal(after->script->number, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		stage_test(capabilities_are_added_by_root),
		stage_test(members_set_contexts_within_bounds),
		stage_test(capabilities_are_shown_to_members_only),
		stage_test(preferred_is_the_smallest_that_is_enough),
		stage_test(initialised_processes_are_listed),
		stage_test(a_child_or_another_user_is_not_taken_for_its_parent),
		stage_test(what_a_process_set_is_its_childrens),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
