/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fairlead-rms is killed before and after each call that apply and revoke make
 * of it, and is started again, at once or when the operation has failed. What
 * was left is found in any case. Usage: FAIRLEAD-RMS KEEPER.
 */
#include "lanes/driver/test/elan3_world.h"
#include "elan/client.h"
#include "elan/wire/peer.h"

enum moment {
	BEFORE,       /* the call; it is down for the rest */
	AFTER,        /* the call; it is down for the rest */
	BEFORE_AGAIN, /* the call, which another one answers */
	MOMENTS,
};

static struct stage *victim; /* NULL: is not to be killed */
static unsigned int calls_left;
static enum moment moment;

int __real_rms_call(const char *dir, const struct rms_request *request,
		    struct rms_answer *ret_reply);
int __wrap_rms_call(const char *dir, const struct rms_request *request,
		    struct rms_answer *ret_reply);

int __wrap_rms_call(const char *dir, const struct rms_request *request,
		    struct rms_answer *ret_reply)
{
	bool is_now = victim && calls_left-- == 0;
	struct stage *stage = victim;
	int result;

	if (is_now)
		victim = NULL;
	if (is_now && moment == BEFORE)
		daemon_stop(stage, SIGKILL);
	if (is_now && moment == BEFORE_AGAIN)
		daemon_again(stage);
	result = __real_rms_call(dir, request, ret_reply);
	if (is_now && moment == AFTER)
		daemon_stop(stage, SIGKILL);
	return result;
}

/* True: there was an n-th call, and it was killed there. */
static bool kill_at(struct world *world, unsigned int n, enum moment when,
		    const struct fairlead_lane *lane, bool applies,
		    int *ret_result)
{
	struct fairlead_record record;
	bool was_killed;

	victim = world->stage;
	calls_left = n;
	moment = when;
	*ret_result = applies ? world_apply(world, lane, &record)
			      : world_revoke(world, lane);
	was_killed = victim == NULL;
	victim = NULL;
	if (world->stage->daemon == 0)
		daemon_start(world->stage);
	return was_killed;
}

static void an_apply_that_is_cut_short_can_be_taken_back(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct fairlead_record record;
	int result;

	for (int when = BEFORE; when < MOMENTS; when++) {
		unsigned int n = 0;

		while (kill_at(world, n, (enum moment)when, &lane, true,
			       &result)) {
			if (when == BEFORE_AGAIN)
				assert_int_equal(result, 0);
			if (result == 0)
				assert_int_equal(world_list(world), 2);
			else
				assert_int_equal(result, world->error.code);
			assert_int_equal(world_revoke(world, &lane), 0);
			assert_int_equal(world_list(world), 0);
			n++;
		}
		/* Rails, two looks for clashes, two deposits. */
		assert_true(n >= 4);
		assert_int_equal(result, 0);
		assert_int_equal(world_revoke(world, &lane), 0);
	}
	assert_int_equal(world_apply(world, &lane, &record), 0);
}

static void a_revoke_that_is_cut_short_goes_on(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct fairlead_record record;
	int result;

	for (int when = BEFORE; when < MOMENTS; when++) {
		unsigned int n = 0;

		assert_int_equal(world_apply(world, &lane, &record), 0);
		while (kill_at(world, n, (enum moment)when, &lane, false,
			       &result)) {
			if (result < 0)
				assert_int_equal(result, -EIO);
			assert_int_equal(world_revoke(world, &lane), 0);
			assert_int_equal(world_list(world), 0);
			assert_int_equal(world_apply(world, &lane, &record), 0);
			n++;
		}
		assert_true(n >= 4);
		assert_int_equal(result, 0);
		assert_int_equal(world_list(world), 0);
	}
}

static void what_cannot_be_taken_back_is_said(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	bool was_said = false;
	int result;

	for (unsigned int n = 0; kill_at(world, n, AFTER, &lane, true, &result);
	     n++) {
		if (result < 0 && strstr(world->error.text, "cannot be taken "
							    "back"))
			was_said |= world_list(world) > 0;
		assert_int_equal(world_revoke(world, &lane), 0);
	}
	assert_true(was_said);
}

static void a_lane_outlives_the_daemon(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct elan_capability cap = world_cap(&lane, 0);
	struct fairlead_record record;
	struct player *player;

	assert_int_equal(world_apply(world, &lane, &record), 0);
	daemon_again(world->stage);
	assert_int_equal(world_list(world), 2);
	player = must_create(world->stage, 0, WORLD_PROGRAM);
	assert_int_equal(play(player, ACT_PRGADDCAP, .id = WORLD_PROGRAM,
			      .cap = cap),
			 0);
	daemon_again(world->stage);
	assert_int_equal(world_revoke(world, &lane), -EBUSY);
	daemon_again(world->stage);
	assert_int_equal(world_list(world), 1);
	play_begin(player, &(struct script){ .act = ACT_END });
	player_wait(player);
	assert_int_equal(world_revoke(world, &lane), 0);
	assert_int_equal(world_list(world), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		world_test(an_apply_that_is_cut_short_can_be_taken_back),
		world_test(a_revoke_that_is_cut_short_goes_on),
		world_test(what_cannot_be_taken_back_is_said),
		world_test(a_lane_outlives_the_daemon),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
