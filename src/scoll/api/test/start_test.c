/* SPDX-License-Identifier: BSD-3-Clause */
/* A node that starts again, and what it says that orders its starts. */
#include "scoll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "crowd.h"
#include "scoll/member/message.h"

#define COUNT 2

static const char *provider;
static struct person people[COUNT];

/* The root's start with this number, and one request; how many it reached. */
static int start_and_ask(uint64_t started, scoll_duration_t timeout)
{
	int before = people[1].request_count;
	struct outcome outcome;
	scoll_group_t *group;

	crowd_started = started;
	person_open(&people[0], 0, provider, "127.0.0.1", NULL,
		    SCOLL_DISCOVERY_GIVEN);
	people[0].timeout = timeout;
	crowd_meet(people, COUNT);
	group = crowd_group(people, COUNT, 0, false);
	crowd_send(&people[0], group, "x", 1, NULL, 0, 0, &outcome);
	crowd_until(people, COUNT, &outcome.is_done);
	scoll_group_destroy(group);
	person_close(&people[0]);
	return people[1].request_count - before;
}

static void later_start_is_accepted_and_an_earlier_one_is_not(void **state)
{
	person_open(&people[1], 1, provider, "127.0.0.1", NULL,
		    SCOLL_DISCOVERY_GIVEN);
	assert_int_equal(start_and_ask(7, 20000000000), 1);
	assert_int_equal(start_and_ask(8, 20000000000), 1);
	assert_int_equal(start_and_ask(6, 100000000), 0);
	/* Far behind the clock, which is what counts otherwise. */
	assert_int_equal(start_and_ask(0, 20000000000), 1);
	person_close(&people[1]);
}

static void start_that_fits_in_no_message_is_refused(void **state)
{
	const struct scoll_params params = {
		.size = sizeof(params),
		.nid = crowd_nid(0),
		.provider = provider,
		.started = UINT64_C(1) << 52,
	};
	struct fairlead_error error = { 0 };
	scoll_t *scoll;

	assert_int_equal(scoll_init(&params, &scoll, &error), -EINVAL);
	assert_non_null(strstr(error.text, "started"));
}

/* The cycles of what a member says by gossip; it has no seal. */
struct witness {
	struct scoll_authenticator authenticator;
	uint64_t first, last; /* 0: none yet */
};

static void overhear(void *ctx, scoll_nid_t to, const void *bytes, size_t count,
		     uint8_t *ret_seal)
{
	struct witness *witness = ctx;
	struct member_message message;

	*ret_seal = 0;
	if (message_decode(bytes, count, &message) < 0)
		return;
	if (witness->first == 0)
		witness->first = message.cycle;
	witness->last = message.cycle;
}

static int believe(void *ctx, scoll_nid_t from, const void *bytes, size_t count,
		   const uint8_t *seal)
{
	return 0;
}

/* All members start, gossip for so many cycles, and go. */
static void live_for(struct witness *witness, uint64_t cycles)
{
	bool is_over = false;

	*witness = (struct witness){ .authenticator = {
					     .size = sizeof(
						     witness->authenticator),
					     .seal_size = 1,
					     .seal = overhear,
					     .verify = believe,
					     .ctx = witness,
				     } };
	for (int i = 0; i < COUNT; i++)
		person_open_as(&people[i], i, provider, "127.0.0.1", NULL,
			       SCOLL_DISCOVERY_GOSSIP, &witness->authenticator);
	crowd_meet(people, COUNT);
	while (!is_over) {
		for (int i = 0; i < COUNT; i++)
			scoll_wait(people[i].scoll, 10000000);
		is_over = witness->first > 0 &&
			  witness->last >= witness->first + cycles;
	}
	for (int i = 0; i < COUNT; i++)
		person_close(&people[i]);
}

static void gossip_of_a_later_start_is_of_later_cycles(void **state)
{
	struct witness before, after;

	live_for(&before, 5);
	live_for(&after, 0);
	assert_true(after.first > before.last);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			later_start_is_accepted_and_an_earlier_one_is_not),
		cmocka_unit_test(start_that_fits_in_no_message_is_refused),
		cmocka_unit_test(gossip_of_a_later_start_is_of_later_cycles),
	};

	provider = argc > 1 ? argv[1] : "tcp;ofi_rxm";
	return cmocka_run_group_tests_name("scoll_start", tests, NULL, NULL);
}
