/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has a turn, and how much of the loop's time others get. */
#include "sys/turns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "sys/test/watchdog.h"

#define ALICE    1000
#define BOB      1001
#define ROOT     0
#define CROWD    50
#define PIECES   64 /* of work, that each asker has */
#define NS_OF_MS 1000000

struct fixture {
	uv_loop_t loop;
	struct turns *turns;
	char order[CROWD * PIECES * 2]; /* names of who had a turn */
	size_t count;
	uint64_t spent_ns, longest_ns;
};

struct worker {
	struct fixture *fixture;
	struct turns_asker asker;
	char name;
	unsigned int left;    /* pieces of work */
	uint64_t takes_ns;    /* each */
	struct worker *wakes; /* after its first piece; or NULL */
};

static void spend(struct fixture *fixture, uint64_t took_ns)
{
	const uint64_t most_ns = TURNS_DEBT_MS * NS_OF_MS;

	fixture->spent_ns += took_ns < most_ns ? took_ns : most_ns;
	if (took_ns > fixture->longest_ns)
		fixture->longest_ns = took_ns;
}

static void on_turn(void *ctx)
{
	struct worker *worker = ctx;
	struct fixture *fixture = worker->fixture;
	uint64_t begun_ns = uv_hrtime();

	while (uv_hrtime() - begun_ns < worker->takes_ns)
		;
	spend(fixture, uv_hrtime() - begun_ns);
	assert_in_range(fixture->count, 0, sizeof(fixture->order) - 2);
	fixture->order[fixture->count++] = worker->name;
	if (worker->wakes != NULL)
		turns_wait(&worker->wakes->asker);
	worker->wakes = NULL;
	if (--worker->left > 0)
		turns_wait(&worker->asker);
}

static void join(struct fixture *fixture, struct worker *worker, char name,
		 uint64_t user, unsigned int pieces)
{
	*worker = (struct worker){
		.fixture = fixture,
		.name = name,
		.left = pieces,
		.asker = { .goes_first = user == ROOT,
			   .run = on_turn,
			   .ctx = worker },
	};
	turns_join(fixture->turns, &worker->asker, user);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	watchdog_start(NULL);
	uv_loop_init(&fixture->loop);
	fixture->turns = turns_create(&fixture->loop);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	turns_destroy(fixture->turns);
	assert_int_equal(uv_run(&fixture->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&fixture->loop), 0);
	free(fixture);
	watchdog_stop();
	return 0;
}

/* Until nobody waits. */
static void run(struct fixture *fixture)
{
	uv_run(&fixture->loop, UV_RUN_DEFAULT);
}

static size_t count_before(const struct fixture *fixture, char name, char end)
{
	size_t count = 0;

	for (const char *at = fixture->order; *at != end; at++) {
		assert_int_not_equal(*at, 0);
		count += *at == name;
	}
	return count;
}

static void users_take_turns_whatever_they_have(void **state)
{
	struct fixture *fixture = *state;
	struct worker crowd[CROWD], bob;

	for (size_t i = 0; i < CROWD; i++) {
		join(fixture, &crowd[i], 'a', ALICE, PIECES);
		turns_wait(&crowd[i].asker);
	}
	join(fixture, &bob, 'b', BOB, 2);
	turns_wait(&bob.asker);
	run(fixture);
	assert_memory_equal(fixture->order, "ababaaaa", 8);
	assert_int_equal(fixture->count, CROWD * PIECES + 2);
	for (size_t i = 0; i < CROWD; i++)
		turns_leave(&crowd[i].asker);
	turns_leave(&bob.asker);
}

static void connections_of_a_user_take_turns(void **state)
{
	struct fixture *fixture = *state;
	struct worker one, other;

	join(fixture, &one, '1', ALICE, 3);
	join(fixture, &other, '2', ALICE, 3);
	assert_int_equal(turns_of_user(&one.asker), 2);
	turns_wait(&one.asker);
	turns_wait(&other.asker);
	turns_wait(&other.asker);
	run(fixture);
	assert_string_equal(fixture->order, "121212");
	turns_leave(&one.asker);
	assert_int_equal(turns_of_user(&other.asker), 1);
	turns_leave(&other.asker);
}

/* However many others there are, and when it comes in the middle. */
static void who_goes_first_waits_for_one_piece_of_others(void **state)
{
	struct fixture *fixture = *state;
	struct worker crowd[CROWD], root, submitter;

	join(fixture, &root, 'r', ROOT, PIECES);
	join(fixture, &submitter, 's', ROOT, PIECES);
	for (size_t i = 0; i < CROWD; i++) {
		join(fixture, &crowd[i], 'a', ALICE + i, PIECES);
		turns_wait(&crowd[i].asker);
	}
	turns_wait(&submitter.asker);
	crowd[0].wakes = &root;
	run(fixture);
	assert_in_range(count_before(fixture, 'a', 'r'), 1, 2);
	/* Two others, one after the other: who goes first has done all. */
	assert_null(strpbrk(strstr(fixture->order, "aa"), "rs"));
	for (size_t i = 0; i < CROWD; i++)
		turns_leave(&crowd[i].asker);
	turns_leave(&root.asker);
	turns_leave(&submitter.asker);
}

/*
 * Measured as turns.c does, and so true on a busy machine too, where a piece
 * can take longer, but counts as TURNS_DEBT_MS at most.
 */
static void others_get_their_share_of_the_time(void **state)
{
	struct fixture *fixture = *state;
	struct worker alice, bob;
	const uint64_t ahead_ns = TURNS_AHEAD_MS * NS_OF_MS;
	uint64_t begun_ns = uv_hrtime();

	join(fixture, &alice, 'a', ALICE, 60);
	join(fixture, &bob, 'b', BOB, 60);
	alice.takes_ns = NS_OF_MS;
	bob.takes_ns = NS_OF_MS;
	turns_wait(&alice.asker);
	turns_wait(&bob.asker);
	while (alice.left > 0 || bob.left > 0) {
		uv_run(&fixture->loop, UV_RUN_ONCE);
		assert_in_range(fixture->spent_ns, 0,
				ahead_ns + fixture->longest_ns +
					(uv_hrtime() - begun_ns) / TURNS_SHARE);
	}
	turns_leave(&alice.asker);
	turns_leave(&bob.asker);
}

static void a_pause_of_others_holds_up_nobody_who_goes_first(void **state)
{
	struct fixture *fixture = *state;
	struct worker alice, root;

	join(fixture, &alice, 'a', ALICE, 2);
	join(fixture, &root, 'r', ROOT, 3);
	turns_wait(&alice.asker);
	turns_charge(fixture->turns, UINT32_MAX);
	uv_run(&fixture->loop, UV_RUN_NOWAIT);
	turns_wait(&root.asker);
	run(fixture);
	assert_string_equal(fixture->order, "rrraa");
	turns_leave(&alice.asker);
	turns_leave(&root.asker);
}

static void who_has_left_has_no_turn(void **state)
{
	struct fixture *fixture = *state;
	struct worker alice, bob, root;

	join(fixture, &alice, 'a', ALICE, 1);
	join(fixture, &bob, 'b', BOB, 1);
	join(fixture, &root, 'r', ROOT, 1);
	turns_wait(&alice.asker);
	turns_wait(&bob.asker);
	turns_wait(&root.asker);
	turns_leave(&alice.asker);
	turns_leave(&alice.asker);
	turns_leave(&root.asker);
	run(fixture);
	assert_string_equal(fixture->order, "b");
	turns_leave(&bob.asker);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(users_take_turns_whatever_they_have),
		TEST(connections_of_a_user_take_turns),
		TEST(who_goes_first_waits_for_one_piece_of_others),
		TEST(others_get_their_share_of_the_time),
		TEST(a_pause_of_others_holds_up_nobody_who_goes_first),
		TEST(who_has_left_has_no_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
