/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/manager/store/test/bed.h"

#include "sim/heap.h"

static void batch_keeps_copies_in_order(void **state)
{
	struct store_batch *batch = batch_new();
	char key[] = "key";
	char body[] = "body";

	assert_int_equal(store_batch_count(batch), 0);
	assert_non_null(store_batch_rows(batch));
	row_put(batch, STORE_JOB, 1, 0, key, body);
	row_delete(batch, STORE_EVENT, 2, STORE_SUB_ALL, NULL);
	row_put(batch, STORE_META, 3, 0, key, NULL);
	memset(key, 'x', 3);
	memset(body, 'x', 4);
	assert_int_equal(store_batch_count(batch), 3);
	assert_int_equal(store_batch_bytes(batch), 4 + 4 + 1 + 4);
	assert_row(&store_batch_rows(batch)[0], 1, 0, "key", "body");
	assert_int_equal(store_batch_rows(batch)[1].verb, STORE_DELETE);
	assert_true(store_batch_rows(batch)[1].sub == STORE_SUB_ALL);
	assert_string_equal(store_batch_rows(batch)[1].key, "");
	assert_row(&store_batch_rows(batch)[2], 3, 0, "key", NULL);
	store_batch_destroy(batch);
	store_batch_destroy(NULL);
}

static void batch_grows_to_its_maximum_of_rows(void **state)
{
	const struct store_row row = { .table = STORE_EVENT, .key = "" };
	struct store_batch *batch = batch_new();
	size_t i;

	for (i = 0; i < STORE_BATCH_ROWS_MAX; i++) {
		assert_true(store_batch_is_full(batch) ==
			    (i >= STORE_BATCH_ROWS_FULL));
		row_put(batch, STORE_EVENT, i, 1, "", "0123456789");
	}
	assert_int_equal(store_batch_add(batch, &row), -ENOBUFS);
	assert_int_equal(store_batch_count(batch), STORE_BATCH_ROWS_MAX);
	i = 0;
	store_batch_foreach(batch, each)
		assert_row(each, i++, 1, "", "0123456789");
	assert_int_equal(i, STORE_BATCH_ROWS_MAX);
	store_batch_destroy(batch);
}

static void batch_refuses_what_is_above_its_maximum_of_bytes(void **state)
{
	struct store_batch *batch = batch_new();
	char *body = calloc(1, STORE_BATCH_BYTES_MAX);
	struct store_row row = { .table = STORE_NODE, .body = body };

	row.size = STORE_BATCH_BYTES_MAX;
	assert_int_equal(store_batch_add(batch, &row), -ENOBUFS);
	row.size = SIZE_MAX;
	assert_int_equal(store_batch_add(batch, &row), -ENOBUFS);
	assert_int_equal(store_batch_count(batch), 0);
	assert_int_equal(store_batch_bytes(batch), 0);
	row.size = STORE_BATCH_BYTES_FULL - 2;
	assert_int_equal(store_batch_add(batch, &row), 0);
	assert_false(store_batch_is_full(batch));
	row.size = 0;
	assert_int_equal(store_batch_add(batch, &row), 0);
	assert_true(store_batch_is_full(batch));
	row.size = STORE_BATCH_BYTES_MAX - STORE_BATCH_BYTES_FULL;
	assert_int_equal(store_batch_add(batch, &row), -ENOBUFS);
	row.size--;
	assert_int_equal(store_batch_add(batch, &row), 0);
	assert_int_equal(store_batch_bytes(batch), STORE_BATCH_BYTES_MAX);
	free(body);
	store_batch_destroy(batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batch_keeps_copies_in_order),
		cmocka_unit_test(batch_grows_to_its_maximum_of_rows),
		cmocka_unit_test(
			batch_refuses_what_is_above_its_maximum_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
