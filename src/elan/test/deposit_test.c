/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Fairlead itself says to the daemon: deposits, rails, attachments. Usage:
 * deposit_test FAIRLEAD-RMS KEEPER.
 */
#include <stdio.h>
#include <unistd.h>

#include "elan/client.h"
#include "elan/test/stage.h"

#define GRANT 1000

static int of(int result)
{
	return result < 0 ? -errno : 0;
}

static int take_all(uint64_t grant, size_t *ret_count)
{
	return stage_take_back(grant, NULL, 0, ret_count);
}

static void deposits_are_roots(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *user = player_start(stage, 0, OWNER_UID);

	assert_int_equal(play(user, ACT_DEPOSIT, .grant = GRANT,
			      .uid = OWNER_UID, .cap = cap),
			 -EACCES);
	assert_int_equal(play(user, ACT_TAKE_BACK, .grant = GRANT), -EACCES);
	assert_int_equal(play(user, ACT_DEPOSIT_NEXT), -EACCES);
	assert_int_equal(play(user, ACT_TAKE, .grant = 1), -EACCES);
	assert_int_equal(play(user, ACT_RAIL, .index = 0, .value = 1), -EACCES);
}

static void deposits_are_valid_and_do_not_overlap(void **state)
{
	struct elan_capability cap = sample_cap(0);
	struct elan_capability other = sample_cap(1);
	struct elan_capability bad = cap;

	bad.cap_mycontext = 0x400;
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &bad),
			 -EINVAL);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	/* The same again, and with another key. */
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	cap.cap_userkey.key_values[0] = 99;
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	/* Of another grant, another user, or with other contexts. */
	assert_int_equal(rms_client_deposit(NULL, GRANT + 1, OWNER_UID, &cap),
			 -EACCES);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OTHER_UID, &cap),
			 -EACCES);
	other.cap_lowcontext = 0x403;
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &other),
			 -EACCES);
	other.cap_lowcontext = 0x404;
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &other), 0);
}

static void deposits_are_listed_without_their_keys(void **state)
{
	struct elan_capability cap = sample_cap(0);
	struct elan_capability other = sample_cap(1);
	struct rms_client_deposit deposit;
	uint64_t first;

	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), -ENOENT);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(rms_client_deposit(NULL, 7, OTHER_UID, &other), 0);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), 0);
	first = deposit.number;
	assert_int_equal(deposit.grant_id, GRANT);
	assert_int_equal(deposit.uid, OWNER_UID);
	assert_false(deposit.is_ending);
	assert_int_equal(deposit.attached_count, 0);
	assert_int_equal(deposit.cap.cap_userkey.key_values[0], 0);
	assert_int_equal(deposit.cap.cap_lowcontext, 0x400);
	assert_int_equal(rms_client_deposit_next(NULL, first, &deposit), 0);
	assert_int_equal(deposit.grant_id, 7);
	assert_int_equal(rms_client_deposit_next(NULL, deposit.number,
						 &deposit),
			 -ENOENT);
}

/* What is not claimed yet could be, with the next lane's key. */
static void a_program_of_the_number_of_a_grant_ends_with_it(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct elan_capability other = sample_cap(1);
	struct player *member;
	struct rms_client_deposit deposit;
	size_t count = 0;

	assert_int_equal(rms_client_deposit(NULL, 1, OWNER_UID, &cap), 0);
	assert_int_equal(rms_client_deposit(NULL, 1, OWNER_UID, &other), 0);
	member = must_create(stage, 0, 1);
	must_create(stage, 1, 2);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), 0);
	/* Not the last one, which is not claimed. */
	assert_int_equal(rms_client_take(NULL, deposit.number, false, NULL, 0,
					 &count),
			 0);
	assert_int_equal(take_all(1, &count), -EBUSY);
	assert_int_equal(count, 1);
	kill(member->pid, SIGKILL);
	player_wait(member);
	assert_int_equal(members_of(1), 0);
	assert_int_equal(take_all(1, &count), 0);
	assert_int_equal(members_of(1), -ESRCH);
	assert_int_equal(members_of(2), 1);
}

static void a_user_adds_what_was_deposited_for_it(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct elan_capability forged = cap;
	struct player *owner;
	struct player *member = must_create(stage, 0, 1);

	owner = player_start(stage, 1, OWNER_UID);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	forged.cap_userkey.key_values[3] = 0;
	assert_int_equal(play(owner, ACT_PRGADDCAP, .id = 1, .cap = forged),
			 -EACCES);
	/* Part of it is not it. */
	forged = cap;
	forged.cap_highcontext--;
	assert_int_equal(play(owner, ACT_PRGADDCAP, .id = 1, .cap = forged),
			 -EACCES);
	assert_int_equal(of(rms_prgaddcap(1, 0, &forged)), -EACCES);
	assert_int_equal(play(owner, ACT_PRGADDCAP, .id = 1, .cap = cap), 0);
	assert_int_equal(play(member, ACT_SETCAP, .index = 0, .value = 2), 0);
}

static void nobody_adds_what_was_deposited_for_another_user(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *owner;

	must_create(stage, 0, 1);
	owner = player_start(stage, 1, OWNER_UID);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OTHER_UID, &cap), 0);
	assert_int_equal(play(owner, ACT_PRGADDCAP, .id = 1, .cap = cap),
			 -EACCES);
	/* Not even root, to a program of the wrong user. */
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), -EACCES);
}

static void what_root_gave_by_itself_is_not_deposited_over(void **state)
{
	struct elan_capability cap = sample_cap(0);

	must_create(*state, 0, 1);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap),
			 -EACCES);
}

static void taking_back_names_who_still_holds_it(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct rms_client_deposit deposit;
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);
	struct player *second = must_create(stage, 2, 2);
	pid_t pids[4] = { 0 };
	size_t count = 0;

	assert_int_equal(take_all(GRANT, &count), -ENOENT);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(stage_take_back(GRANT, pids, 4, &count), -EBUSY);
	assert_int_equal(count, 2);
	assert_true(pids[0] == member->pid || pids[1] == member->pid);
	assert_true(pids[0] == child->pid || pids[1] == child->pid);
	assert_int_equal(pids[2], 0);
	/* Nobody gets it any more. */
	assert_int_equal(of(rms_prgaddcap(2, 0, &cap)), -EACCES);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap),
			 -EINVAL);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), 0);
	assert_true(deposit.is_ending);
	assert_int_equal(rms_prgsignal(1, SIGKILL), 0);
	player_wait(member);
	player_wait(child);
	assert_int_equal(take_all(GRANT, &count), 0);
	assert_int_equal(take_all(GRANT, &count), -ENOENT);
	assert_int_equal(rms_client_deposit(NULL, 5, OTHER_UID, &cap), 0);
	assert_int_equal(play(second, ACT_NCAPS), 0);
	assert_int_equal(second->script->number, 0);
}

static void taking_back_takes_all_of_a_grant_and_no_more(void **state)
{
	struct stage *stage = *state;
	struct elan_capability caps[3] = { sample_cap(0), sample_cap(1),
					   sample_cap(2) };
	struct rms_client_deposit deposit;
	struct player *member = must_create(stage, 0, 1);
	size_t count;

	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &caps[0]),
			 0);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &caps[1]),
			 0);
	assert_int_equal(rms_client_deposit(NULL, 5, OWNER_UID, &caps[2]), 0);
	assert_int_equal(of(rms_prgaddcap(1, 0, &caps[2])), 0);
	assert_int_equal(take_all(GRANT, &count), 0);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), 0);
	assert_int_equal(deposit.grant_id, 5);
	assert_int_equal(rms_client_deposit_next(NULL, deposit.number,
						 &deposit),
			 -ENOENT);
	assert_int_equal(play(member, ACT_NCAPS), 0);
	assert_int_equal(member->script->number, 1);
}

static int attach(struct player *player, const struct elan_capability *cap,
		  int rail, int context)
{
	struct script script = {
		.act = ACT_ATTACH,
		.index = rail,
		.cap = *cap,
	};

	script.cap.cap_mycontext = context;
	return play_script(player, &script);
}

static void members_attach_within_their_capability(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct elan_capability forged = cap;
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);
	struct player *other = player_start(stage, 2, OWNER_UID);

	assert_int_equal(stage_rail_set(-1, true), -EINVAL);
	assert_int_equal(stage_rail_set(31, true), -EINVAL);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(attach(other, &cap, 0, 0x400), -ESRCH);
	/* It knows the key, and its program does not hold it. */
	assert_int_equal(attach(member, &cap, 0, 0x400), -EINVAL);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(attach(member, &cap, 0, 0x400), -ENETDOWN);
	assert_int_equal(stage_rail_set(0, true), 0);
	assert_int_equal(attach(member, &cap, 0, 0x3ff), -EINVAL);
	assert_int_equal(attach(member, &cap, 0, 0x404), -EINVAL);
	assert_int_equal(attach(member, &cap, 0, -1), -EINVAL);
	assert_int_equal(attach(member, &cap, 1, 0x400), -EINVAL);
	assert_int_equal(attach(member, &cap, -1, 0x400), -EINVAL);
	forged.cap_userkey.key_values[1] = 0;
	assert_int_equal(attach(member, &forged, 0, 0x400), -EINVAL);
	assert_int_equal(attach(member, &cap, 0, 0x400), 0);
	assert_int_equal(attach(member, &cap, 0, 0x400), -EBUSY);
	assert_int_equal(attach(child, &cap, 0, 0x400), -EBUSY);
	assert_int_equal(attach(child, &cap, 0, 0x403), 0);
	/* Another's attachment is not one's own to end. */
	cap.cap_mycontext = 0x400;
	assert_int_equal(play(child, ACT_DETACH, .cap = cap), 0);
	assert_int_equal(attach(child, &cap, 0, 0x400), -EBUSY);
	assert_int_equal(play(member, ACT_DETACH, .cap = cap), 0);
	assert_int_equal(play(member, ACT_DETACH, .cap = cap), 0);
	assert_int_equal(attach(child, &cap, 0, 0x400), 0);
}

static void rails_go_down_for_who_comes_later(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct rms_client_deposit deposit;
	struct player *member = must_create(stage, 0, 1);

	cap.cap_railmask = 5;
	cap.cap_type |= ELAN_CAP_TYPE_MULTI_RAIL;
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(stage_rail_set(0, true), 0);
	assert_int_equal(stage_rail_set(2, true), 0);
	/* A context is each rail's own. */
	assert_int_equal(attach(member, &cap, 0, 0x400), 0);
	assert_int_equal(attach(member, &cap, 2, 0x400), 0);
	assert_int_equal(stage_rail_set(2, false), 0);
	assert_int_equal(attach(member, &cap, 2, 0x401), -ENETDOWN);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), 0);
	assert_int_equal(deposit.attached_count, 2);
	assert_int_equal(stage_rail_set(2, true), 0);
	assert_int_equal(attach(member, &cap, 2, 0x400), -EBUSY);
	assert_int_equal(attach(member, &cap, 2, 0x401), 0);
}

static bool has_let_go(void *arg)
{
	size_t count;

	return take_all(GRANT, &count) == 0;
}

static void an_end_by_any_death_detaches(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, FORK_SESSION);
	pid_t pids[4] = { 0 };
	size_t count = 0;

	assert_int_equal(stage_rail_set(0, true), 0);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(attach(child, &cap, 0, 0x400), 0);
	kill(member->pid, SIGKILL);
	player_wait(member);
	/* It is attached, and a member: it is named once. */
	assert_int_equal(stage_take_back(GRANT, pids, 4, &count), -EBUSY);
	assert_int_equal(count, 1);
	assert_int_equal(pids[0], child->pid);
	kill(child->pid, SIGKILL);
	player_wait(child);
	eventually(has_let_go, NULL);
}

static void who_is_removed_from_its_program_is_detached(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *member = must_create(stage, 0, 1);
	struct player *child = player_fork(stage, member, 1, 0);

	assert_int_equal(stage_rail_set(0, true), 0);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(attach(child, &cap, 0, 0x400), 0);
	assert_int_equal(of(rms_removeproc(1, child->pid)), 0);
	assert_int_equal(attach(member, &cap, 0, 0x400), 0);
}

static void who_is_attached_cannot_attach_while_it_is_taken_back(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct player *member = must_create(stage, 0, 1);
	size_t count;

	assert_int_equal(stage_rail_set(0, true), 0);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(attach(member, &cap, 0, 0x400), 0);
	assert_int_equal(take_all(GRANT, &count), -EBUSY);
	assert_int_equal(attach(member, &cap, 0, 0x401), -EINVAL);
}

static int take(uint64_t number, bool is_dry_run, pid_t *pid)
{
	size_t count = 0;
	int result = rms_client_take(NULL, number, is_dry_run, pid, 1, &count);

	assert_int_equal(count, result == -EBUSY);
	return result;
}

static void one_deposit_is_taken_without_the_others(void **state)
{
	struct stage *stage = *state;
	struct elan_capability caps[2] = { sample_cap(0), sample_cap(1) };
	struct rms_client_deposit first, second, ignored;
	struct player *member = must_create(stage, 0, 1);
	pid_t pid = 0;

	for (int i = 0; i < 2; i++)
		assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID,
						    &caps[i]),
				 0);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &first), 0);
	assert_int_equal(rms_client_deposit_next(NULL, first.number, &second),
			 0);
	assert_int_equal(take(0, false, &pid), -ENOENT);
	assert_int_equal(take(second.number + 1, true, &pid), -ENOENT);
	assert_int_equal(of(rms_prgaddcap(1, 0, &caps[0])), 0);
	assert_int_equal(take(second.number, false, &pid), 0);
	assert_int_equal(take(second.number, false, &pid), -ENOENT);
	assert_int_equal(take(first.number, false, &pid), -EBUSY);
	assert_int_equal(pid, member->pid);
	play_begin(member, &(struct script){ .act = ACT_END });
	player_wait(member);
	assert_int_equal(take(first.number, false, &pid), 0);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &ignored), -ENOENT);
}

static void a_dry_run_of_taking_changes_nothing(void **state)
{
	struct stage *stage = *state;
	struct elan_capability cap = sample_cap(0);
	struct rms_client_deposit deposit;
	struct player *member = must_create(stage, 0, 1);
	pid_t pid = 0;

	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), 0);
	assert_int_equal(take(deposit.number, true, &pid), 0);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(take(deposit.number, true, &pid), -EBUSY);
	assert_int_equal(pid, member->pid);
	assert_int_equal(rms_client_deposit_next(NULL, 0, &deposit), 0);
	assert_false(deposit.is_ending);
}

static void anybody_asks_for_its_deposit_and_the_rails(void **state)
{
	struct elan_capability cap = sample_cap(0);
	struct rms_client_rails rails;
	size_t count;

	cap.cap_railmask = 5;
	cap.cap_type |= ELAN_CAP_TYPE_MULTI_RAIL;
	assert_int_equal(stage_rail_set(2, true), 0);
	assert_int_equal(rms_client_deposit_is(NULL, GRANT, OWNER_UID),
			 -ENOENT);
	assert_int_equal(rms_client_deposit(NULL, GRANT, OWNER_UID, &cap), 0);
	assert_int_equal(rms_client_deposit_is(NULL, GRANT, OWNER_UID), 0);
	assert_int_equal(rms_client_deposit_is(NULL, GRANT, OTHER_UID),
			 -ENOENT);
	assert_int_equal(rms_client_deposit_is(NULL, GRANT + 1, OWNER_UID),
			 -ENOENT);
	assert_int_equal(rms_client_rails(NULL, &rails), 0);
	assert_int_equal(rails.up, 4);
	assert_int_equal(rails.contexts[0], 4);
	assert_int_equal(rails.contexts[1], 0);
	assert_int_equal(rails.contexts[2], 4);
	must_create(*state, 0, 1);
	assert_int_equal(of(rms_prgaddcap(1, 0, &cap)), 0);
	assert_int_equal(take_all(GRANT, &count), -EBUSY);
	assert_int_equal(rms_client_deposit_is(NULL, GRANT, OWNER_UID),
			 -ENOENT);
}

static void a_program_claims_what_was_deposited_for_its_number(void **state)
{
	struct stage *stage = *state;
	struct elan_capability caps[3] = { sample_cap(0), sample_cap(1),
					   sample_cap(2) };
	struct player *member = must_create(stage, 0, 7);
	struct player *owner = player_start(stage, 1, OWNER_UID);
	struct player *other = player_start(stage, 2, OTHER_UID);
	struct player *second = must_create(stage, 3, 8);
	size_t count;

	assert_int_equal(play(owner, ACT_PRGCLAIM, .id = 9), -ESRCH);
	assert_int_equal(play(owner, ACT_PRGCLAIM, .id = 7), -EINVAL);
	assert_int_equal(rms_client_deposit(NULL, 7, OWNER_UID, &caps[0]), 0);
	assert_int_equal(rms_client_deposit(NULL, 7, OWNER_UID, &caps[1]), 0);
	assert_int_equal(rms_client_deposit(NULL, 8, OTHER_UID, &caps[2]), 0);
	assert_int_equal(play(other, ACT_PRGCLAIM, .id = 7), -EACCES);
	/* What is for another user is not for the program of that number. */
	assert_int_equal(play(owner, ACT_PRGCLAIM, .id = 8), -EINVAL);
	assert_int_equal(of(rms_prgclaim(8)), -EINVAL);
	assert_int_equal(play(second, ACT_NCAPS), 0);
	assert_int_equal(second->script->number, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(play(owner, ACT_PRGCLAIM, .id = 7), 0);
		assert_int_equal(play(member, ACT_NCAPS), 0);
		assert_int_equal(member->script->number, 2);
		daemon_again(stage);
	}
	assert_int_equal(play(member, ACT_GETCAP, .index = 1), 0);
	assert_int_equal(member->script->cap.cap_lowcontext,
			 caps[1].cap_lowcontext);
	assert_int_equal(take_all(7, &count), -EBUSY);
	assert_int_equal(play(owner, ACT_PRGCLAIM, .id = 7), -EACCES);
}

static void a_daemon_takes_its_rails_from_an_option(void **state)
{
	struct stage *stage = *state;
	struct rms_client_rails rails;

	stage->rails = "0-1";
	daemon_again(stage);
	assert_int_equal(rms_client_rails(NULL, &rails), 0);
	assert_int_equal(rails.up, 3);
	/* Without the option, it keeps them. */
	stage->rails = NULL;
	daemon_again(stage);
	assert_int_equal(rms_client_rails(NULL, &rails), 0);
	assert_int_equal(rails.up, 3);
	stage->rails = "31";
	daemon_stop(stage, SIGKILL);
	assert_false(daemon_start_with(stage, stage->keeper, NULL));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		stage_test(deposits_are_roots),
		stage_test(deposits_are_valid_and_do_not_overlap),
		stage_test(deposits_are_listed_without_their_keys),
		stage_test(a_program_of_the_number_of_a_grant_ends_with_it),
		stage_test(a_user_adds_what_was_deposited_for_it),
		stage_test(nobody_adds_what_was_deposited_for_another_user),
		stage_test(what_root_gave_by_itself_is_not_deposited_over),
		stage_test(taking_back_names_who_still_holds_it),
		stage_test(taking_back_takes_all_of_a_grant_and_no_more),
		stage_test(members_attach_within_their_capability),
		stage_test(rails_go_down_for_who_comes_later),
		stage_test(an_end_by_any_death_detaches),
		stage_test(who_is_removed_from_its_program_is_detached),
		stage_test(
			who_is_attached_cannot_attach_while_it_is_taken_back),
		stage_test(one_deposit_is_taken_without_the_others),
		stage_test(a_dry_run_of_taking_changes_nothing),
		stage_test(anybody_asks_for_its_deposit_and_the_rails),
		stage_test(a_program_claims_what_was_deposited_for_its_number),
		stage_test(a_daemon_takes_its_rails_from_an_option),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
