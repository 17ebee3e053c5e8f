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

#define COUNT 2

static const char *provider;
static struct person people[COUNT];

/* The root's start with this number, and one request; how many it reached. */
static int start_and_ask(uint64_t started, scoll_duration_t timeout)
{
	int heard = people[1].request_count;
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
	return people[1].request_count - heard;
}

static void later_start_is_heard_and_an_earlier_one_is_not(void **state)
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			later_start_is_heard_and_an_earlier_one_is_not),
		cmocka_unit_test(start_that_fits_in_no_message_is_refused),
	};

	provider = argc > 1 ? argv[1] : "tcp;ofi_rxm";
	return cmocka_run_group_tests_name("scoll_start", tests, NULL, NULL);
}
