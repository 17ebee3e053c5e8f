/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls at moments that few programs try, and what is said only by and by. */
#include "scoll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "base/error.h"
#include "crowd.h"
#include "sys/test/watchdog.h"

#define COUNT     2
#define SLOW_NAME "slow.test"

static const char *provider;
static struct person people[COUNT];

static void open_as(int i, enum scoll_discovery discovery)
{
	person_open(&people[i], i, provider, "127.0.0.1", NULL, discovery);
}

/* --- from a callback out of scoll_fini, when the network is gone --- */

static int address_result;

static void ask_address(struct person *person)
{
	uint8_t bytes[600];
	size_t size = sizeof(bytes);

	address_result = scoll_address(person->scoll, bytes, &size);
}

static void address_in_a_callback_out_of_fini_is_refused(void **state)
{
	struct sockaddr_in nowhere = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(1),
	};
	struct outcome outcome = { .is_done = false };
	scoll_duration_t rtt = crowd_rtt;
	scoll_group_t *group;

	if (strcmp(provider, "tcp") == 0) {
		print_message("a reply leaves by the way of its request\n");
		skip();
	}
	open_as(0, SCOLL_DISCOVERY_GIVEN);
	crowd_rtt = 20000000;
	open_as(1, SCOLL_DISCOVERY_GIVEN);
	crowd_rtt = rtt;
	crowd_meet(people, COUNT);
	people[0].timeout = 20000000000;
	people[1].is_mute = true;
	people[1].on_out = ask_address;
	group = crowd_group(people, COUNT, 0, false);
	assert_int_equal(
		crowd_send(&people[0], group, "x", 1, NULL, 0, 0, &outcome), 0);
	while (people[1].last == NULL) {
		scoll_wait(people[0].scoll, 1000000);
		scoll_wait(people[1].scoll, 1000000);
	}
	/* Its parent is not there any more: its answer cannot leave. */
	assert_int_equal(scoll_peer_address(people[1].scoll, people[0].nid,
					    &nowhere, sizeof(nowhere)),
			 0);
	person_close(&people[1]);
	assert_int_equal(people[1].out_count, 1);
	assert_int_equal(address_result, -ESHUTDOWN);
	scoll_group_destroy(group);
	person_close(&people[0]);
}

/* --- discovery --- */

static void members_F14_of_gossip_are_each_there_once(void **state)
{
	const scoll_nid_t nids[] = { crowd_nid(0), crowd_nid(1), crowd_nid(0) };
	struct scoll_params params = {
		.size = sizeof(params),
		.nid = crowd_nid(0),
		.provider = provider,
		.node = "127.0.0.1",
		.discovery = SCOLL_DISCOVERY_GOSSIP,
	};
	struct fairlead_error error = { 0 };
	scoll_t *scoll;

	assert_int_equal(scoll_init(&params, &scoll, &error), -EINVAL);
	assert_non_null(strstr(error.text, "gossip_members"));
	params.gossip_members = nids + 1;
	params.gossip_member_count = 1;
	assert_int_equal(scoll_init(&params, &scoll, &error), -EINVAL);
	assert_non_null(strstr(error.text, "not in gossip_members"));
	params.gossip_members = nids;
	params.gossip_member_count = 3;
	assert_int_equal(scoll_init(&params, &scoll, &error), -EEXIST);
	assert_non_null(strstr(error.text, "twice"));
	params.discovery = SCOLL_DISCOVERY_GIVEN;
	assert_int_equal(scoll_init(&params, &scoll, &error), -EINVAL);
}

static void note_news(void *ctx, scoll_nid_t nid, enum scoll_liveness news)
{
	int *counts = ctx;

	counts[news]++;
}

static void death_and_life_F14_at_once_are_a_reboot(void **state)
{
	int counts[SCOLL_REBOOTED + 1] = { 0 };
	scoll_t *scoll;

	open_as(0, SCOLL_DISCOVERY_GIVEN);
	scoll = people[0].scoll;
	scoll_peer_notify(scoll, note_news, counts);
	assert_int_equal(scoll_peer_set(scoll, 7, SCOLL_DEAD), 0);
	assert_int_equal(scoll_peer_set(scoll, 7, SCOLL_ALIVE), 0);
	scoll_progress(scoll);
	assert_int_equal(counts[SCOLL_REBOOTED], 1);
	assert_int_equal(counts[SCOLL_ALIVE] + counts[SCOLL_DEAD], 0);
	/* One after the other they are what they are. */
	assert_int_equal(scoll_peer_set(scoll, 7, SCOLL_DEAD), 0);
	scoll_progress(scoll);
	assert_int_equal(counts[SCOLL_DEAD], 1);
	assert_int_equal(scoll_peer_set(scoll, 7, SCOLL_ALIVE), 0);
	scoll_progress(scoll);
	assert_int_equal(counts[SCOLL_ALIVE], 1);
	assert_int_equal(counts[SCOLL_REBOOTED], 1);
	person_close(&people[0]);
}

/* --- names --- */

static scoll_t *asked_scoll; /* while a name is looked up */
static int lookup_count;

/* In the place of the C library's, for libfabric. */
__attribute__((visibility("default"))) int getaddrinfo(
	const char *node, const char *service, const struct addrinfo *hints,
	struct addrinfo **ret_info)
{
	int (*real)(const char *, const char *, const struct addrinfo *,
		    struct addrinfo **);

	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (node != NULL && strcmp(node, SLOW_NAME) == 0) {
		lookup_count++;
		/* Another thread's call would wait as well. */
		scoll_peer_query(asked_scoll, crowd_nid(1));
		node = "127.0.0.1";
	}
	return real(node, service, hints, ret_info);
}

static void names_are_looked_up_while_others_go_on(void **state)
{
	struct fairlead_error error = { 0 };

	open_as(0, SCOLL_DISCOVERY_GOSSIP);
	lookup_count = 0;
	asked_scoll = people[0].scoll;
	assert_int_equal(scoll_peer_resolve(people[0].scoll, crowd_nid(1),
					    SLOW_NAME, "4242", &error),
			 0);
	assert_true(lookup_count >= 2); /* gossip has an address, too */
	person_close(&people[0]);
}

static void service_beside_which_is_none_for_gossip_is_refused(void **state)
{
	static const char *const wrong[] = { "0", "65535", "65536",
					     "99999999999999999999" };
	struct fairlead_error error = { 0 };
	struct scoll_params params = {
		.size = sizeof(params),
		.nid = crowd_nid(0),
		.provider = provider,
		.node = "127.0.0.1",
		.discovery = SCOLL_DISCOVERY_GOSSIP,
	};
	scoll_t *scoll;

	open_as(0, SCOLL_DISCOVERY_GOSSIP);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		params.service = wrong[i];
		assert_int_equal(scoll_init(&params, &scoll, &error), -EINVAL);
		assert_non_null(strstr(error.text, wrong[i]));
		assert_int_equal(scoll_peer_resolve(people[0].scoll,
						    crowd_nid(1), "127.0.0.1",
						    wrong[i], &error),
				 -EINVAL);
	}
	assert_int_equal(scoll_peer_resolve(people[0].scoll, crowd_nid(1),
					    "127.0.0.1", NULL, &error),
			 -EINVAL);
	person_close(&people[0]);
}

static void rtt_that_no_message_can_say_is_refused(void **state)
{
	static const scoll_duration_t wrong[] = { 999, 1000LL << 32 };
	struct scoll_params params = {
		.size = sizeof(params),
		.nid = crowd_nid(0),
		.provider = provider,
	};
	struct fairlead_error error = { 0 };
	scoll_t *scoll;

	for (int i = 0; i < 2; i++) {
		params.rtt = wrong[i];
		assert_int_equal(scoll_init(&params, &scoll, &error), -EINVAL);
		assert_non_null(strstr(error.text, "rtt"));
	}
}

static int setup(void **state)
{
	watchdog_start(NULL);
	return 0;
}

static int teardown(void **state)
{
	watchdog_stop();
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(address_in_a_callback_out_of_fini_is_refused),
		TEST(members_F14_of_gossip_are_each_there_once),
		TEST(death_and_life_F14_at_once_are_a_reboot),
		TEST(names_are_looked_up_while_others_go_on),
		TEST(service_beside_which_is_none_for_gossip_is_refused),
		TEST(rtt_that_no_message_can_say_is_refused),
	};

	provider = argc > 1 ? argv[1] : "tcp;ofi_rxm";
	return cmocka_run_group_tests_name("scoll_calls", tests, NULL, NULL);
}
