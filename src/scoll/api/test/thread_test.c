/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: one inside scoll_wait() of each instance, and others that call
 * everything else meanwhile. Run by itself and under ThreadSanitizer.
 */
#include "scoll.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scoll/api/test/crowd.h"
#include "sys/test/watchdog.h"

#define COUNT    3  /* instances */
#define CALLERS  3  /* threads that make requests */
#define REQUESTS 40 /* of each */

static const char *provider = "tcp;ofi_rxm";
static struct person people[COUNT];
static scoll_group_t *group;
static atomic_bool is_over;

/* An outcome that somebody waits for. */
struct call {
	struct outcome outcome; /* first */
	sem_t done;
};

static void post_reply(scoll_request_t *request)
{
	struct work *work = request->srq_private;
	struct call *call = (struct call *)(void *)work->outcome;
	bool is_root = scoll_request_is_root(request);

	crowd_service.post_reply(request);
	if (is_root)
		sem_post(&call->done);
}

static int setup(void **state)
{
	struct scoll_service_ops ops = crowd_service;

	ops.post_reply = post_reply;
	watchdog_start(NULL);
	for (int i = 0; i < COUNT; i++) {
		person_open(&people[i], i, provider, "127.0.0.1", NULL,
			    SCOLL_DISCOVERY_GIVEN);
		scoll_service_unregister(people[i].scoll, CROWD_SERVICE);
		scoll_service_register(people[i].scoll, CROWD_SERVICE, &ops,
				       &people[i]);
	}
	crowd_meet(people, COUNT);
	group = crowd_group(people, COUNT, 0, true);
	is_over = false;
	return 0;
}

static int teardown(void **state)
{
	scoll_group_destroy(group);
	for (int i = 0; i < COUNT; i++)
		person_close(&people[i]);
	watchdog_stop();
	return 0;
}

static void *wait_thread(void *argument)
{
	struct person *person = argument;

	while (!is_over) {
		if (scoll_wait(person->scoll, 100000000) < 0)
			abort();
	}
	return NULL;
}

static void *call_thread(void *argument)
{
	static struct call calls[CALLERS];
	struct call *call = &calls[(intptr_t)argument];
	intptr_t failure_count = 0;

	sem_init(&call->done, 0, 0);
	for (int i = 0; i < REQUESTS; i++) {
		if (crowd_send(&people[0], group, "thread", 6, NULL, 0, 0,
			       &call->outcome) < 0)
			abort();
		while (sem_wait(&call->done) != 0)
			;
		failure_count += call->outcome.status != 0 ||
				 call->outcome.tally.node_count != COUNT;
	}
	sem_destroy(&call->done);
	return (void *)failure_count;
}

static void *ask_thread(void *argument)
{
	intptr_t busy_count = 0;

	while (!is_over) {
		struct scoll_stats stats = { .size = sizeof(stats) };
		uint8_t address[600];
		size_t size = sizeof(address);

		for (int i = 0; i < COUNT; i++) {
			scoll_stats(people[i].scoll, &stats);
			scoll_timeout(people[i].scoll);
			scoll_is_stealthy(people[i].scoll);
			scoll_peer_query(people[i].scoll, crowd_nid(0));
			scoll_address(people[i].scoll, address, &size);
		}
		scoll_group_nodes(group);
		scoll_get_nchildren(group);
		scoll_peer_set(people[0].scoll, crowd_nid(1), SCOLL_ALIVE);
		busy_count += scoll_progress(people[0].scoll) == -EBUSY;
	}
	return (void *)busy_count;
}

static void calls_B38_of_many_threads_go_with_progress(void **state)
{
	pthread_t waiters[COUNT], callers[CALLERS], asker;
	void *result;

	for (int i = 1; i < COUNT; i++)
		assert_int_equal(pthread_create(&waiters[i], NULL, wait_thread,
						&people[i]),
				 0);
	assert_int_equal(pthread_create(&asker, NULL, ask_thread, NULL), 0);
	for (intptr_t i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_create(&callers[i], NULL, call_thread,
						(void *)i),
				 0);
	/* This one: the asker tries to be in there, too. */
	for (int i = 0; i < CALLERS; i++) {
		while (pthread_tryjoin_np(callers[i], &result) == EBUSY) {
			int count = scoll_wait(people[0].scoll, 1000000);

			assert_true(count >= 0 || count == -EBUSY);
		}
		assert_int_equal((intptr_t)result, 0);
	}
	is_over = true;
	assert_int_equal(pthread_join(asker, &result), 0);
	for (int i = 1; i < COUNT; i++)
		assert_int_equal(pthread_join(waiters[i], NULL), 0);
}

static void *first_waiter(void *argument)
{
	sem_t *ready = argument;
	int count;

	sem_post(ready);
	do
		count = scoll_wait(people[0].scoll, -1);
	while (count == 0);
	return (void *)(intptr_t)count;
}

/* All that has come is done; scoll_timeout() is what arms some providers. */
static void quieten(struct pollfd *fd)
{
	do {
		for (int i = 0; i < COUNT; i++)
			scoll_progress(people[i].scoll);
		scoll_timeout(people[0].scoll);
	} while (poll(fd, 1, 0) != 0);
}

/*
 * A request to nobody else: there is no traffic, so that only the call can
 * have made the descriptor readable, on which a thread in scoll_wait() is.
 */
static void call_makes_the_descriptor_readable(void **state)
{
	struct pollfd fd = { .fd = scoll_fd(people[0].scoll),
			     .events = POLLIN };
	scoll_group_t *alone = crowd_group(people, 1, 0, false);
	struct call call;

	sem_init(&call.done, 0, 0);
	quieten(&fd);
	assert_int_equal(crowd_send(&people[0], alone, "wake", 4, NULL, 0, 0,
				    &call.outcome),
			 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	while (sem_trywait(&call.done) != 0)
		scoll_progress(people[0].scoll);
	assert_int_equal(call.outcome.status, 0);
	quieten(&fd);
	scoll_group_destroy(alone);
	sem_destroy(&call.done);
}

static void call_wakes_a_thread_that_waits_for_ever(void **state)
{
	scoll_group_t *alone = crowd_group(people, 1, 0, false);
	struct call call;
	pthread_t waiter;
	sem_t ready;
	void *result;

	sem_init(&ready, 0, 0);
	sem_init(&call.done, 0, 0);
	assert_int_equal(pthread_create(&waiter, NULL, first_waiter, &ready),
			 0);
	sem_wait(&ready);
	while (scoll_progress(people[0].scoll) != -EBUSY)
		;
	assert_int_equal(crowd_send(&people[0], alone, "wake", 4, NULL, 0, 0,
				    &call.outcome),
			 0);
	assert_int_equal(pthread_join(waiter, &result), 0);
	assert_true((intptr_t)result > 0);
	while (sem_trywait(&call.done) != 0)
		scoll_wait(people[0].scoll, 1000000);
	assert_int_equal(call.outcome.status, 0);
	scoll_group_destroy(alone);
	sem_destroy(&ready);
	sem_destroy(&call.done);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			calls_B38_of_many_threads_go_with_progress, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			call_makes_the_descriptor_readable, setup, teardown),
		cmocka_unit_test_setup_teardown(
			call_wakes_a_thread_that_waits_for_ever, setup,
			teardown),
	};

	if (argc > 1)
		provider = argv[1];
	/* Nobody is to be given up, however busy the machine is. */
	crowd_rtt = INT64_C(60000000000);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
