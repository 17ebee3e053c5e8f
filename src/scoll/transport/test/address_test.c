/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as messages bring them. The provider is the program's argument. */
#include "scoll/transport/ofi/ofi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scoll/transport/test/node.h"
#include "sys/test/watchdog.h"

#define OTHER_NID 77

static struct node node;
static uint8_t own[TRANSPORT_ADDRESS_MAX];
static size_t own_size;
static struct puppet puppet; /* who is elsewhere */

static int setup(void **state)
{
	watchdog_start(NULL);
	node_open(&node, test_host(), NULL, 0);
	own_size = node_address(&node, own);
	puppet_start(&puppet, test_host(), NULL);
	return 0;
}

static int teardown(void **state)
{
	child_stop(&puppet.child);
	node_close(&node);
	watchdog_stop();
	return 0;
}

static int learn(scoll_nid_t nid, const uint8_t *address, size_t size)
{
	return node.ops->address_learn(node.t, nid, address, size);
}

static size_t trimmed(const uint8_t *address, size_t size)
{
	while (size > 0 && address[size - 1] == 0)
		size--;
	return size;
}

static void assert_known(scoll_nid_t nid, const uint8_t *address)
{
	size_t want = address == own ? own_size : puppet.address_size;
	uint8_t got[TRANSPORT_ADDRESS_MAX];
	size_t size = sizeof(got);

	assert_int_equal(node.ops->address_get(node.t, nid, got, &size), 0);
	assert_int_equal(size, want);
	assert_memory_equal(got, address, want);
}

static void assert_unknown(scoll_nid_t nid)
{
	uint8_t got[TRANSPORT_ADDRESS_MAX];
	size_t size = sizeof(got);

	assert_int_equal(node.ops->address_get(node.t, nid, got, &size),
			 -ENOENT);
}

static void message_reaches_an_address_that_was_learned(void **state)
{
	struct move move;

	assert_known(SCOLL_NID_ANY, own);
	assert_unknown(SELF_NID);
	assert_int_equal(learn(SELF_NID, own, trimmed(own, own_size)), 0);
	assert_known(SELF_NID, own);
	assert_int_equal(node_send(&node, SELF_NID, 1, 100, &move), 0);
	assert_int_equal(node_finish(&node, &move), 0);
	node_until(&node, &node.received_count, 1);
	/* The same again is no news: the connection stays. */
	assert_int_equal(learn(SELF_NID, own, trimmed(own, own_size)), 0);
	assert_int_equal(node_send(&node, SELF_NID, 1, 100, &move), 0);
	assert_int_equal(node_finish(&node, &move), 0);
	node_until(&node, &node.received_count, 2);
}

static void later_address_comes_in_its_place(void **state)
{
	const uint8_t *other = puppet.address;

	assert_int_equal(learn(OTHER_NID, other,
			       trimmed(other, puppet.address_size)),
			 0);
	assert_known(OTHER_NID, other);
	assert_int_equal(learn(OTHER_NID, own, own_size), 0);
	assert_known(OTHER_NID, own);
	assert_int_equal(learn(OTHER_NID, NULL, 0), 0);
	assert_unknown(OTHER_NID);
	assert_int_equal(learn(OTHER_NID, NULL, 0), -ENOENT);
}

static void address_of_the_program_is_never_changed_by_a_message(void **state)
{
	const uint8_t *other = puppet.address;

	node_meet(&node, OTHER_NID, own, own_size);
	assert_int_equal(learn(OTHER_NID, other, puppet.address_size), 0);
	assert_known(OTHER_NID, own);
	assert_int_equal(learn(OTHER_NID, NULL, 0), 0);
	assert_known(OTHER_NID, own);
	/* Its connection may be closed: it is the program's still. */
	assert_int_equal(node.kind->peer_refresh(node.t, OTHER_NID), 0);
	assert_int_equal(learn(OTHER_NID, other, puppet.address_size), 0);
	assert_known(OTHER_NID, own);
	/* What it has forgotten may be learned, what is learned may be set. */
	assert_int_equal(node.kind->peer_set(node.t, OTHER_NID, NULL, 0), 0);
	assert_int_equal(learn(OTHER_NID, other, puppet.address_size), 0);
	assert_known(OTHER_NID, other);
	assert_int_equal(node.kind->peer_refresh(node.t, OTHER_NID), 0);
	assert_int_equal(learn(OTHER_NID, own, own_size), 0);
	assert_known(OTHER_NID, own);
	node_meet(&node, OTHER_NID, other, puppet.address_size);
	assert_int_equal(learn(OTHER_NID, own, own_size), 0);
	assert_known(OTHER_NID, other);
}

static void what_is_no_address_here_is_refused(void **state)
{
	uint8_t bytes[TRANSPORT_ADDRESS_MAX + 1];

	memset(bytes, 0x77, sizeof(bytes));
	memcpy(bytes, own, own_size);
	assert_int_equal(learn(OTHER_NID, bytes, own_size + 1), -EINVAL);
	bytes[0] = 0x7f; /* no such family */
	assert_int_equal(learn(OTHER_NID, bytes, own_size), -EINVAL);
	assert_int_equal(learn(OTHER_NID, bytes, 1), -EINVAL);
	memset(bytes + own_size, 0x77, sizeof(bytes) - own_size);
	assert_int_equal(learn(OTHER_NID, bytes, sizeof(bytes)), -EINVAL);
	assert_int_equal(learn(OTHER_NID, bytes, sizeof(bytes) - 1), -EINVAL);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(learn(OTHER_NID, bytes, 2), -EINVAL);
	assert_unknown(OTHER_NID);
}

static void room_that_is_too_small_is_refused(void **state)
{
	uint8_t got[TRANSPORT_ADDRESS_MAX];
	size_t size = own_size - 1;

	assert_int_equal(node.ops->address_get(node.t, SCOLL_NID_ANY, got,
					       &size),
			 -ENOSPC);
	node_meet(&node, OTHER_NID, own, own_size);
	size = own_size - 1;
	assert_int_equal(node.ops->address_get(node.t, OTHER_NID, got, &size),
			 -ENOSPC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(message_reaches_an_address_that_was_learned),
		TEST(later_address_comes_in_its_place),
		TEST(address_of_the_program_is_never_changed_by_a_message),
		TEST(what_is_no_address_here_is_refused),
		TEST(room_that_is_too_small_is_refused),
	};
	int result = puppet_main(argc, argv);

	if (result >= 0)
		return result;
	return cmocka_run_group_tests_name("scoll_address", tests, NULL, NULL);
}
