/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes by the network for the launcher. The library and the commands are
 * the test's own: they note what is asked of them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "serve.h"

static struct front front;
static int join_count;

/* --- in the place of run.c and of libscoll --- */

void runs_join(struct runs *runs, const char *credential, size_t size,
	       scoll_nid_t root, struct exec_waiter *waiter)
{
	join_count++;
}

void runs_leave(struct exec_waiter *waiter)
{
}

void runs_stop(struct runs *runs, const uint8_t key[EXEC_ID_BYTES],
	       const uint8_t secret[EXEC_ID_BYTES])
{
}

void *scoll_request_service(const scoll_request_t *request)
{
	return &front;
}

scoll_nid_t scoll_request_root(const scoll_request_t *request)
{
	return 1;
}

int scoll_request_nchildren(const scoll_request_t *request)
{
	return 0;
}

int scoll_request_childtree_nodes(const scoll_request_t *request, int child)
{
	return 1;
}

int scoll_reply_buffer_post(int child, void *buf, size_t len,
			    scoll_request_t *request, void *private_data)
{
	return 0;
}

int scoll_reply_part(scoll_request_t *request, const void *buf, size_t len)
{
	return 0;
}

int scoll_reply(scoll_request_t *request, const void *buf, size_t len)
{
	return 0;
}

/* --- */

/* What becomes of a credential that comes in the message, or as bulk data. */
static int take(const char *credential, size_t size, bool is_bulk)
{
	_auto_(writer_fini) struct writer writer = { 0 };
	const scoll_tag_t tag = { { 0 } };
	const scoll_target_t target = { .nid = 2, .tags = &tag, .count = 1 };
	scoll_request_t request = { .srq_bulk_len = is_bulk ? size : 0 };
	int result;

	join_count = 0;
	write_u8(&writer, SERVE_VERSION);
	write_u8(&writer, SERVE_RUN);
	write_u32(&writer, 1);
	write_u32(&writer, is_bulk ? 0 : (uint32_t)size);
	if (!is_bulk)
		write_bytes(&writer, credential, size);
	request.srq_buf = writer.data;
	request.srq_len = (int)writer.size;
	result = serve_ops.pre_request(&request);
	if (result < 0)
		return result;
	if (is_bulk)
		memcpy(request.srq_bulk_iovs->iov_base, credential, size);
	result = serve_ops.incoming_request(&request, &target);
	serve_ops.reply_out(&request);
	return result;
}

static void credential_is_handed_on(void **state)
{
	assert_int_equal(take("MUNGE:xx", 8, false), 0);
	assert_int_equal(join_count, 1);
	assert_int_equal(take("MUNGE:xx", 8, true), 0);
	assert_int_equal(join_count, 1);
}

static void bytes_that_are_no_text_go_no_further(void **state)
{
	assert_int_equal(take("MU\0GE:xx", 8, false), -EBADMSG);
	assert_int_equal(join_count, 0);
	assert_int_equal(take("MU\0GE:xx", 8, true), -EBADMSG);
	assert_int_equal(join_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(credential_is_handed_on),
		cmocka_unit_test(bytes_that_are_no_text_go_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
