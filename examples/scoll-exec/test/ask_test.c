/* SPDX-License-Identifier: BSD-3-Clause */
/* What a root sends when, over a libscoll that only notes it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ask.h"
#include "order.h"
#include "serve.h"

#define NODES      40 /* more than a group that its request carries */
#define GROUPS_MAX 8

/* A group that is asked for: the test says when it is there. */
struct asked_group {
	scoll_create_group_cb_t created;
	const void *private;
	bool is_populated;
	bool is_known; /* what became of it */
	int node_count;
};

static struct bed {
	struct exec_config config;
	struct exec_config_node nodes[NODES];
	struct log log;
	struct front front;
	struct exec_ask *ask;
	uint8_t secret[EXEC_ID_BYTES];
	struct asked_group groups[GROUPS_MAX];
	size_t group_count;
	size_t group_destroyed;
	size_t sent[SERVE_STOP + 1]; /* by operation */
	struct serve_root roots[GROUPS_MAX];
	size_t root_count;
	size_t over_count;
	int over_result;
	size_t failed_count; /* frames that name failures */
} bed;

/* --- what stands in for libscoll and the other half --- */

static int group_here; /* handles are only compared */
static scoll_request_t request_here;
static enum serve_op op_here;

int scoll_group_create(scoll_t *scoll, scoll_service_id_t service,
		       const char *name, const scoll_target_t *targets,
		       int count, scoll_tree_type_t tree, bool is_populated,
		       scoll_create_group_cb_t created, const void *private)
{
	struct asked_group *group = &bed.groups[bed.group_count++];

	assert_true(bed.group_count <= GROUPS_MAX);
	*group = (struct asked_group){ created, private, is_populated,
				       !is_populated, count };
	if (!is_populated)
		created(0, (scoll_group_t *)&group_here, private);
	return 0;
}

void scoll_group_destroy(scoll_group_t *group)
{
	bed.group_destroyed++;
}

scoll_request_t *scoll_bcast_new(scoll_group_t *group, const void *bytes,
				 int size, const struct iovec *bulk,
				 int bulk_count, unsigned int flags,
				 scoll_duration_t timeout, const void *private)
{
	assert_in_range(size, 2, SCOLL_BCAST_MAX);
	op_here = ((const uint8_t *)bytes)[1];
	return &request_here;
}

int scoll_bcast_send(scoll_request_t *request)
{
	bed.sent[op_here]++;
	return 0;
}

void scoll_request_free(scoll_request_t *request)
{
}

void scoll_bcast_abort(scoll_request_t *request)
{
}

int scoll_request_failure_next(const scoll_request_t *request, uint64_t *cursor,
			       struct scoll_failure *ret_failure)
{
	return 0;
}

int scoll_peer_query(scoll_t *scoll, scoll_nid_t nid)
{
	return SCOLL_ALIVE;
}

bool scoll_is_stealthy(scoll_t *scoll)
{
	return false;
}

const char *scoll_error_type_text(enum scoll_error_type type)
{
	return "?";
}

int serve_root_begin(struct front *front, scoll_request_t *request,
		     struct results *results, const struct serve_root *root)
{
	assert_true(bed.root_count < GROUPS_MAX);
	bed.roots[bed.root_count++] = *root;
	return 0;
}

void serve_root_cancel(scoll_request_t *request)
{
}

void serve_tag(uint32_t index, scoll_tag_t *ret_tag)
{
	memset(ret_tag, 0, sizeof(*ret_tag));
}

int runs_check(struct runs *runs, uint64_t tag, uid_t uid,
	       const char *credential, size_t size)
{
	return 0;
}

void runs_join(struct runs *runs, const char *credential, size_t size,
	       scoll_nid_t root, struct exec_waiter *waiter)
{
}

void runs_leave(struct exec_waiter *waiter)
{
}

void runs_stop(struct runs *runs, const uint8_t key[EXEC_ID_BYTES],
	       const uint8_t secret[EXEC_ID_BYTES])
{
}

int config_find(const struct exec_config *config, const char *name)
{
	for (int i = 0; i < config->node_count; i++)
		if (strcmp(config->nodes[i].name, name) == 0)
			return i;
	return -1;
}

int config_find_nid(const struct exec_config *config, scoll_nid_t nid)
{
	return (int)nid - 1;
}

/* --- a client --- */

static void on_frame(void *ctx, const void *frame, size_t size)
{
	bed.failed_count += *(const uint8_t *)frame == EXEC_FRAME_FAILED;
}

static void on_over(void *ctx, int result, const char *text)
{
	bed.over_count++;
	bed.over_result = result;
}

static int setup(void **state)
{
	static const struct ask_client client = { on_frame, on_over, NULL };
	struct launcher_answer answer = { .nodes = (char *)"n[1-40]",
					  .timeout_ms = 60000 };

	bed = (struct bed){ 0 };
	for (int i = 0; i < NODES; i++) {
		snprintf(bed.nodes[i].name, sizeof(bed.nodes[i].name), "n%d",
			 i + 1);
		bed.nodes[i].nid = (scoll_nid_t)i + 1;
	}
	bed.config.nodes = bed.nodes;
	bed.config.node_count = NODES;
	bed.config.self = -1; /* the root is none of them */
	bed.front.config = &bed.config;
	bed.front.log = &bed.log;
	exec_digest(bed.secret, sizeof(bed.secret), answer.stop_digest);
	assert_int_equal(ask_create(&bed.front, &client, 1000, "order", 5,
				    bed.secret, &bed.ask),
			 0);
	answer.tag = 1;
	ask_checked(&bed.front, answer.tag, &answer);
	return 0;
}

static void group_is_there(size_t i, int status)
{
	struct asked_group *group = &bed.groups[i];

	group->is_known = true;
	group->created(status,
		       (scoll_group_t *)(status == 0 ? &group_here : NULL),
		       group->private);
}

/* As libscoll ends: nothing is under way when the rest goes. */
static int teardown(void **state)
{
	if (bed.over_count == 0)
		ask_stop(bed.ask);
	for (size_t i = 0; i < bed.group_count; i++)
		if (!bed.groups[i].is_known)
			group_is_there(i, -ESHUTDOWN);
	for (size_t i = 0; i < bed.root_count; i++)
		bed.roots[i].over(bed.roots[i].ctx, &request_here);
	ask_destroy_all(&bed.front);
	return 0;
}

static void command_goes_out_when_its_group_is_there(void **state)
{
	assert_int_equal(bed.group_count, 1);
	assert_true(bed.groups[0].is_populated);
	assert_int_equal(bed.sent[SERVE_RUN], 0);
	group_is_there(0, 0);
	assert_int_equal(bed.sent[SERVE_RUN], 1);
}

static void command_is_not_sent_after_its_stop(void **state)
{
	ask_stop(bed.ask);
	group_is_there(0, 0);
	assert_int_equal(bed.sent[SERVE_RUN], 0);
	assert_int_equal(bed.group_destroyed, 1);
	ask_tick(&bed.front);
	assert_int_equal(bed.over_count, 1);
	assert_int_equal(bed.over_result, 0);
	assert_int_equal(bed.failed_count, 1);
}

static void command_is_not_sent_in_halves_after_its_stop(void **state)
{
	ask_stop(bed.ask);
	group_is_there(0, -ETIMEDOUT);
	assert_int_equal(bed.sent[SERVE_RUN], 0);
	assert_int_equal(bed.group_count, 1);
	ask_tick(&bed.front);
	assert_int_equal(bed.over_count, 1);
}

static void group_that_failed_is_made_in_halves(void **state)
{
	group_is_there(0, -ETIMEDOUT);
	assert_int_equal(bed.group_count, 3);
	assert_int_equal(bed.groups[1].node_count + bed.groups[2].node_count,
			 NODES);
	assert_int_equal(bed.sent[SERVE_RUN], 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(command_goes_out_when_its_group_is_there),
		T(command_is_not_sent_after_its_stop),
		T(command_is_not_sent_in_halves_after_its_stop),
		T(group_that_failed_is_made_in_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
