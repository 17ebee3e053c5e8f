/* SPDX-License-Identifier: BSD-3-Clause */
/* Which nodes may be drained, by what scontrol says of them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/cli/slurm/nodes.h"

#define NODE(name, state, reason)                                      \
	"NodeName=" name " Arch=x86_64 CoresPerSocket=1    OS=Linux "  \
	"6.1 #1 SMP   State=" state " ThreadsPerCore=1 Partitions=all" \
	"    " reason "\n"

static char *nodes;
static struct fairlead_error error;

static int parse(const char *text)
{
	char *room = strdup(text);
	int result = slurm_nodes_free(room, &nodes, &error);

	free(room);
	return result;
}

static void expect(const char *text, const char *wanted)
{
	assert_int_equal(parse(text), 0);
	if (wanted)
		assert_string_equal(nodes, wanted);
	else
		assert_null(nodes);
	free(nodes);
}

static void those_that_work_may_be_drained(void **state)
{
	expect(NODE("n0", "IDLE", "") NODE("n1", "ALLOCATED", "")
		       NODE("n2", "MIXED+COMPLETING", ""),
	       "n[0-2]");
	expect("", NULL);
}

static void who_was_drained_by_others_is_left_alone(void **state)
{
	expect(NODE("n0", "IDLE+DRAIN", "Reason=new memory [root@now]")
		       NODE("n1", "IDLE", "")
			       NODE("n2", "DOWN*", "Reason=no power [root@now]")
				       NODE("n3", "DOWN", ""),
	       "n1");
	expect(NODE("n0", "ALLOCATED+DRAIN", "Reason=a fairlead: b [u@now]"),
	       NULL);
}

static void ours_may_get_another_reason(void **state)
{
	expect(NODE("n0", "IDLE+DRAIN", "Reason=fairlead: cxi0 [root@now]"),
	       "n0");
	/* That of an earlier drain, which is over. */
	expect(NODE("n0", "IDLE", "Reason=new memory [root@now]"), "n0");
}

static void what_is_no_node_is_an_error(void **state)
{
	assert_int_equal(parse("Node n9 not found\n"), -EINVAL);
	assert_non_null(strstr(error.text, "Node n9 not found"));
	assert_int_equal(parse("NodeName= State=IDLE"), -EINVAL);
	assert_int_equal(parse("NodeName=n0 Arch=x86_64"), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_work_may_be_drained),
		cmocka_unit_test(who_was_drained_by_others_is_left_alone),
		cmocka_unit_test(ours_may_get_another_reason),
		cmocka_unit_test(what_is_no_node_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
