/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/netlink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lanes/driver/test/netns.h"

#define MANY 200 /* more than go into one datagram */

static bool is_there; /* the namespace */
static struct netlink *netlink;
static struct fairlead_error error;

static int group_setup(void **state)
{
	is_there = netns_enter();
	return 0;
}

static int setup(void **state)
{
	memset(&error, 0, sizeof(error));
	if (!is_there)
		return 0;
	return netlink_open(&netlink, NULL);
}

static int teardown(void **state)
{
	if (!is_there)
		return 0;
	netns_run("ip addr flush dev lo");
	netlink_close(netlink);
	netlink = NULL;
	return 0;
}

/* 127.1.0.NUMBER on loopback. */
static struct nl_msg *address_message(int type, unsigned int number)
{
	struct ifaddrmsg info = { .ifa_family = AF_INET,
				  .ifa_prefixlen = 32,
				  .ifa_index = 1 };
	const uint8_t address[] = { 127, 1, 0, (uint8_t)number };
	struct nl_msg *message = nlmsg_alloc_simple(
		type, type == RTM_NEWADDR ? NLM_F_CREATE | NLM_F_EXCL : 0);

	nlmsg_append(message, &info, sizeof(info), NLMSG_ALIGNTO);
	nla_put(message, IFA_LOCAL, sizeof(address), address);
	return message;
}

static struct nl_msg *new_address(unsigned int number)
{
	return address_message(RTM_NEWADDR, number);
}

static struct nl_msg *delete_device(const char *name)
{
	struct ifinfomsg info = { 0 };
	struct nl_msg *message = nlmsg_alloc_simple(RTM_DELLINK, 0);

	nlmsg_append(message, &info, sizeof(info), NLMSG_ALIGNTO);
	nla_put_string(message, IFLA_IFNAME, name);
	return message;
}

static void queue_addresses(unsigned int first, unsigned int end)
{
	for (unsigned int i = first; i < end; i++)
		netlink_queue(netlink, new_address(i));
}

static void count_one(void *arg, const struct nlmsghdr *header)
{
	++*(unsigned int *)arg;
}

static unsigned int count_addresses(void)
{
	struct ifaddrmsg info = { .ifa_family = AF_INET };
	struct nl_msg *message = nlmsg_alloc_simple(RTM_GETADDR, NLM_F_DUMP);
	unsigned int count = 0;

	nlmsg_append(message, &info, sizeof(info), NLMSG_ALIGNTO);
	assert_int_equal(netlink_get(netlink, message, count_one, &count,
				     &error, "cannot list"),
			 0);
	return count;
}

static void a_call_does_what_it_asks(void **state)
{
	if (!is_there)
		skip();
	assert_int_equal(netlink_call(netlink, new_address(7), &error, "7"), 0);
	assert_int_equal(count_addresses(), 1);
	assert_int_equal(netlink_call(netlink, address_message(RTM_DELADDR, 7),
				      &error, "7"),
			 0);
	assert_int_equal(count_addresses(), 0);
}

static void a_refused_call_names_what_failed_and_why(void **state)
{
	if (!is_there)
		skip();
	assert_int_equal(netlink_call(netlink, delete_device("b7"), &error,
				      "cannot delete %s", "b7"),
			 -ENODEV);
	assert_int_equal(error.code, -ENODEV);
	assert_string_equal(error.text, "cannot delete b7: No such device");
	assert_int_equal(netlink_call(netlink, delete_device("b7"), NULL, "b7"),
			 -ENODEV);
}

static void the_kernels_own_message_is_reported(void **state)
{
	struct ifaddrmsg info = { .ifa_family = AF_INET, .ifa_prefixlen = 99 };
	struct nl_msg *message = nlmsg_alloc_simple(RTM_NEWADDR, NLM_F_CREATE);

	if (!is_there)
		skip();
	nlmsg_append(message, &info, sizeof(info), NLMSG_ALIGNTO);
	nla_put_u32(message, IFA_LOCAL, 1);
	assert_int_equal(netlink_call(netlink, message, &error, "address"),
			 -EINVAL);
	assert_string_equal(error.text,
			    "address: Invalid argument (ipv4: Invalid prefix "
			    "length)");
}

static void a_get_has_all_answers(void **state)
{
	size_t failed;

	if (!is_there)
		skip();
	assert_int_equal(count_addresses(), 0);
	queue_addresses(0, MANY);
	assert_int_equal(netlink_flush(netlink, &failed, &error), 0);
	assert_int_equal(count_addresses(), MANY);
}

static void a_get_can_ask_for_one(void **state)
{
	struct ifinfomsg info = { .ifi_index = 1 };
	struct nl_msg *message = nlmsg_alloc_simple(RTM_GETLINK, 0);
	unsigned int count = 0;

	if (!is_there)
		skip();
	nlmsg_append(message, &info, sizeof(info), NLMSG_ALIGNTO);
	assert_int_equal(netlink_get(netlink, message, count_one, &count,
				     &error, "loopback"),
			 0);
	assert_int_equal(count, 1);
}

static void a_get_that_is_refused_emits_nothing(void **state)
{
	struct ifinfomsg info = { .ifi_index = 4242 };
	struct nl_msg *message = nlmsg_alloc_simple(RTM_GETLINK, 0);
	unsigned int count = 0;

	if (!is_there)
		skip();
	nlmsg_append(message, &info, sizeof(info), NLMSG_ALIGNTO);
	assert_int_equal(netlink_get(netlink, message, count_one, &count,
				     &error, "%d", 4242),
			 -ENODEV);
	assert_string_equal(error.text, "4242: No such device");
	assert_int_equal(count, 0);
}

static void an_empty_queue_flushes(void **state)
{
	size_t failed = 42;

	if (!is_there)
		skip();
	assert_int_equal(netlink_flush(netlink, &failed, &error), 0);
	assert_int_equal(failed, 42);
}

static void a_flush_tells_the_first_failure_and_its_place(void **state)
{
	size_t failed;

	if (!is_there)
		skip();
	queue_addresses(0, 150);
	netlink_queue(netlink, delete_device("none"));
	netlink_queue(netlink, new_address(0));
	assert_int_equal(netlink_flush(netlink, &failed, &error), -ENODEV);
	assert_int_equal(failed, 150);
	assert_int_equal(error.code, -ENODEV);
	assert_string_equal(error.text, "No such device");
}

static void what_is_queued_after_a_failure_is_not_sent(void **state)
{
	size_t failed;

	if (!is_there)
		skip();
	netlink_queue(netlink, delete_device("none"));
	queue_addresses(0, MANY);
	assert_int_equal(netlink_flush(netlink, &failed, NULL), -ENODEV);
	assert_int_equal(failed, 0);
	assert_in_range(count_addresses(), 1, MANY / 2);
}

static void a_queue_of_which_all_fails_tells_the_first(void **state)
{
	size_t failed;

	if (!is_there)
		skip();
	netlink_queue(netlink, new_address(0));
	for (unsigned int i = 0; i < MANY; i++)
		netlink_queue(netlink, delete_device("none"));
	assert_int_equal(netlink_flush(netlink, &failed, &error), -ENODEV);
	assert_int_equal(failed, 1);
	/* And no late answer of it meets what comes next. */
	assert_int_equal(netlink_call(netlink, address_message(RTM_DELADDR, 0),
				      &error, "0"),
			 0);
	queue_addresses(0, MANY);
	assert_int_equal(netlink_flush(netlink, &failed, &error), 0);
	assert_int_equal(count_addresses(), MANY);
}

static void a_socket_stays_in_its_namespace(void **state)
{
	size_t failed;

	if (!is_there)
		skip();
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	queue_addresses(0, 3);
	assert_int_equal(netlink_flush(netlink, &failed, &error), 0);
	assert_int_equal(count_addresses(), 3);
	assert_false(netns_holds("ip addr show dev lo | grep 127.1"));
}

static void without_privileges_reading_works_and_changing_does_not(void **state)
{
	pid_t child;
	int status;

	if (!is_there)
		skip();
	child = fork();
	assert_int_not_equal(child, -1);
	if (child == 0) {
		struct netlink *own;
		unsigned int addresses;
		int result;

		if (setuid(65534) != 0)
			_exit(1);
		if (netlink_open(&own, NULL) != 0)
			_exit(2);
		netlink_close(netlink);
		netlink = own;
		addresses = count_addresses();
		result = netlink_call(own, new_address(0), &error, "0");
		netlink_close(own);
		_exit(addresses == 0 && result == -EPERM ? 0 : 3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define one(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(a_call_does_what_it_asks),
		one(a_refused_call_names_what_failed_and_why),
		one(the_kernels_own_message_is_reported),
		one(a_get_has_all_answers),
		one(a_get_can_ask_for_one),
		one(a_get_that_is_refused_emits_nothing),
		one(an_empty_queue_flushes),
		one(a_flush_tells_the_first_failure_and_its_place),
		one(what_is_queued_after_a_failure_is_not_sent),
		one(a_queue_of_which_all_fails_tells_the_first),
		one(without_privileges_reading_works_and_changing_does_not),
		one(a_socket_stays_in_its_namespace),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
