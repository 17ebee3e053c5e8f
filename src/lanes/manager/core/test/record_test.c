/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: what goes in comes out, and what is out of range does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "lanes/manager/core/record.h"

static struct job *sample_job(void)
{
	struct job *job = job_create(5);

	job->grant_id = 4711;
	job->epoch = 3;
	job->created_us = 1751386927844317u;
	job->since_us = 1751386927844318u;
	job->key = memory_text("slurm/17/2");
	memset(job->digest, 0xab, sizeof(job->digest));
	job->uid = 1001;
	job->gid = 100;
	job->cpus_per_task = 2;
	job->state = JOB_RELEASED;
	job->reason = REASON_REQUEST;
	job->has_lane = true;
	job->is_quarantined = true;
	job->id_count = 3;
	job->id_counts[0] = 2;
	job->id_counts[2] = 1;
	job->ids[0] = 1024;
	job->ids[1] = 65535;
	job->ids[2] = 7;
	job->waived = 2;
	job->options = memory_text("vnis=2");
	job->cores = memory_text("4(x4),2");
	job->tasks = memory_text("1");
	job->empty_reason = memory_text("");
	job->why = memory_text("n3: in use");
	for (uint32_t i = 0; i < 5; i++) {
		job->parts[i].node = i * 1000;
		job->parts[i].serial = i < 3 ? 1 : JOB_SERIAL_MAX;
		job->parts[i].state = i == 1 ? PART_REVOKED : PART_REVOKING;
		job->unconfirmed_count += part_is_unconfirmed(&job->parts[i]);
	}
	return job;
}

/* The first two are a run of the first pool, and there are secrets. */
static void with_run(struct job *job)
{
	job->ids[0] = 1024;
	job->ids[1] = 1030;
	job->waived = 0;
	job->runs = memory_array(FAIRLEAD_POOLS_MAX, sizeof(*job->runs));
	job->runs[0] = (struct fairlead_run){ 3, 70, 7 };
	job->secret = memory_array(FAIRLEAD_SECRET_MAX, 1);
	job->secret_size = FAIRLEAD_SECRET_MAX;
	memset(job->secret, 0x5c, job->secret_size);
}

static void assert_same_bytes(struct writer *left, struct writer *right)
{
	assert_int_equal(left->size, right->size);
	assert_memory_equal(left->data, right->data, left->size);
}

static void a_job_comes_out_as_it_went_in(void **state)
{
	struct job *job = sample_job(), *back;
	struct writer first = { 0 }, second = { 0 };
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	struct fairlead_error error;

	record_encode_job(job, "slingshot", &first);
	assert_int_equal(record_decode_job(4711, "slurm/17/2", first.data,
					   first.size, &back, driver, &error),
			 0);
	assert_string_equal(driver, "slingshot");
	assert_int_equal(back->grant_id, 4711);
	assert_string_equal(back->key, "slurm/17/2");
	assert_int_equal(back->state, JOB_RELEASED);
	assert_int_equal(back->reason, REASON_REQUEST);
	assert_true(back->has_lane && back->is_quarantined);
	assert_int_equal(back->uid, 1001);
	assert_int_equal(back->id_count, 3);
	assert_int_equal(back->ids[2], 7);
	assert_int_equal(back->waived, 2);
	assert_string_equal(back->cores, "4(x4),2");
	assert_string_equal(back->why, "n3: in use");
	assert_int_equal(back->unconfirmed_count, 4);
	for (uint32_t i = 0; i < 5; i++)
		assert_memory_equal(&job->parts[i], &back->parts[i],
				    sizeof(struct part));
	record_encode_job(back, driver, &second);
	assert_same_bytes(&first, &second);
	writer_fini(&first);
	writer_fini(&second);
	job_destroy(job);
	job_destroy(back);
}

static int decode(uint64_t id, const char *key, const void *body, size_t size)
{
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	struct fairlead_error error = { 0 };
	struct job *job = NULL;
	int result =
		record_decode_job(id, key, body, size, &job, driver, &error);

	assert_int_equal(error.code, result);
	job_destroy(job);
	return result;
}

static void a_cut_record_is_found(void **state)
{
	struct job *job = sample_job();
	struct writer writer = { 0 };

	record_encode_job(job, "slingshot", &writer);
	for (size_t size = 0; size < writer.size; size++)
		assert_int_equal(decode(4711, "slurm/17/2", writer.data, size),
				 -EBADMSG);
	assert_int_equal(decode(4711, "slurm/17/2", NULL, 0), -EBADMSG);
	write_u8(&writer, 0);
	assert_int_equal(decode(4711, "slurm/17/2", writer.data, writer.size),
			 -EBADMSG);
	writer_fini(&writer);
	job_destroy(job);
}

static void a_record_of_another_version_is_refused(void **state)
{
	struct job *job = sample_job();
	struct writer writer = { 0 };

	record_encode_job(job, "slingshot", &writer);
	writer.data[0]++;
	assert_int_equal(decode(4711, "slurm/17/2", writer.data, writer.size),
			 -EBADMSG);
	writer_fini(&writer);
	job_destroy(job);
}

static void a_run_and_a_secret_come_out_as_they_went_in(void **state)
{
	static const uint32_t sizes[] = { 1, 16, FAIRLEAD_SECRET_MAX };
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];

	for (size_t i = 0; i < 3; i++) {
		struct writer first = { 0 }, second = { 0 };
		struct job *job = sample_job(), *back;

		with_run(job);
		job->secret_size = sizes[i];
		/* A waived run is waived whole. */
		job->waived = i == 1 ? 3 : 0;
		record_encode_job(job, "elan3", &first);
		assert_int_equal(record_decode_job(job->grant_id, job->key,
						   first.data, first.size,
						   &back, driver, NULL),
				 0);
		assert_memory_equal(back->runs, job->runs,
				    FAIRLEAD_POOLS_MAX * sizeof(*job->runs));
		assert_int_equal(back->secret_size, job->secret_size);
		assert_memory_equal(back->secret, job->secret,
				    job->secret_size);
		record_encode_job(back, driver, &second);
		assert_same_bytes(&first, &second);
		writer_fini(&first);
		writer_fini(&second);
		job_destroy(back);
		job_destroy(job);
	}
}

static void assert_refused(struct job *job)
{
	struct writer writer = { 0 };

	record_encode_job(job, "slingshot", &writer);
	assert_int_equal(decode(job->grant_id, job->key, writer.data,
				writer.size),
			 -EBADMSG);
	writer_fini(&writer);
	job_destroy(job);
}

static struct job *changed(void (*change)(struct job *job))
{
	struct job *job = sample_job();

	change(job);
	return job;
}

static void bad_state(struct job *job)
{
	job->state = JOB_STATE_COUNT;
}

static void no_reason(struct job *job)
{
	job->reason = REASON_NONE;
}

static void bad_reason(struct job *job)
{
	job->reason = REASON_COUNT;
}

static void no_since(struct job *job)
{
	job->since_us = 0;
}

static void bad_waived(struct job *job)
{
	job->waived = 8;
}

static void bad_cores(struct job *job)
{
	job->cores[0] = 'x';
}

static void short_tasks(struct job *job)
{
	free(job->tasks);
	job->tasks = memory_text("1(x4)");
}

static void bad_key(struct job *job)
{
	job->key[0] = '/';
}

static void no_id(struct job *job)
{
	job->grant_id = 0;
}

static void no_parts(struct job *job)
{
	job->part_count = 0;
}

static void bad_part(struct job *job)
{
	job->parts[2].state = PART_STATE_COUNT;
}

static void reserved_and_unconfirmed(struct job *job)
{
	job->state = JOB_RESERVED;
	job->reason = REASON_NONE;
	job->is_quarantined = false;
	job->since_us = 0;
}

static void no_run(struct job *job)
{
	with_run(job);
	job->runs[0] = (struct fairlead_run){ 0 };
}

static void run_of_nothing(struct job *job)
{
	with_run(job);
	job->runs[1].low = 1;
}

static void run_without_ids(struct job *job)
{
	with_run(job);
	job->runs[2] = (struct fairlead_run){ 0, 0, 1 };
}

static void longer_run(struct job *job)
{
	with_run(job);
	job->runs[0].length++;
}

static void inverted_run(struct job *job)
{
	with_run(job);
	job->runs[0].low = 71;
}

static void far_run(struct job *job)
{
	with_run(job);
	job->runs[0].high = FAIRLEAD_POSITIONS_MAX;
}

static void high_run(struct job *job)
{
	with_run(job);
	job->ids[0] = FAIRLEAD_RUN_IDS_MAX;
	job->ids[1] = FAIRLEAD_RUN_IDS_MAX + 6;
}

static void half_waived_run(struct job *job)
{
	with_run(job);
	job->waived = 1;
}

static void fields_out_of_range_are_found(void **state)
{
	static void (*const changes[])(struct job *) = {
		bad_state,   no_reason,       bad_reason,
		no_since,    bad_waived,      bad_cores,
		short_tasks, bad_key,         no_id,
		no_parts,    bad_part,        reserved_and_unconfirmed,
		no_run,      run_of_nothing,  run_without_ids,
		longer_run,  inverted_run,    far_run,
		high_run,    half_waived_run,
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		assert_refused(changed(changes[i]));
}

static void alike_parts_are_one_run(void **state)
{
	struct job *small = job_create(2), *large = job_create(2000);
	struct job *jobs[] = { small, large };
	size_t sizes[2];

	for (int i = 0; i < 2; i++) {
		struct writer writer = { 0 };

		jobs[i]->key = memory_text("a/b/0");
		jobs[i]->grant_id = 1;
		jobs[i]->options = memory_text("");
		jobs[i]->cores = memory_text("1");
		jobs[i]->tasks = memory_text("1");
		jobs[i]->empty_reason = memory_text("");
		record_encode_job(jobs[i], "x", &writer);
		sizes[i] = writer.size;
		writer_fini(&writer);
		job_destroy(jobs[i]);
	}
	assert_int_equal(sizes[1] - sizes[0], (2000 - 2) * 4);
}

static void a_part_comes_out_as_it_went_in(void **state)
{
	struct part part = { .serial = 77, .state = PART_REVOKED }, back;
	struct writer writer = { 0 };
	struct fairlead_error error;

	record_encode_part(&part, &writer);
	assert_int_equal(
		record_decode_part(writer.data, writer.size, &back, &error), 0);
	assert_int_equal(back.serial, 77);
	assert_int_equal(back.state, PART_REVOKED);
	writer_fini(&writer);
	part.state = PART_STATE_COUNT;
	record_encode_part(&part, &writer);
	assert_int_equal(record_decode_part(writer.data, writer.size, &back,
					    &error),
			 -EBADMSG);
	writer_fini(&writer);
}

static struct node sample_node(void)
{
	struct node node = { .name = (char *)"n7", .serial = 4 };

	memset(node.incarnation, 0x11, sizeof(node.incarnation));
	node.past_count = 2;
	memset(node.past, 0x22, 2 * NODE_INCARNATION);
	node.is_drained = true;
	node.is_drained_by_us = true;
	node.reason = (char *)"in use";
	node.version = (char *)"1.0";
	node.accounted = 5;
	node.report_count = 1;
	node.reports = memory_array(1, sizeof(*node.reports));
	node.reports[0] = (struct report){ .kind = REPORT_OBJECT,
					   .object_id = 3,
					   .uid = 77,
					   .driver = "slingshot",
					   .device = "cxi0",
					   .id_count = 2,
					   .ids = { 5, 6 } };
	node.place_count = 2;
	node.places = memory_array(2, sizeof(*node.places));
	node.places[0] = (struct node_place){ .driver = "none",
					      .size = 1,
					      .bytes = { 9 } };
	node.places[1] = (struct node_place){ .driver = "slingshot",
					      .size = FAIRLEAD_PLACE_MAX };
	memset(node.places[1].bytes, 0x33, FAIRLEAD_PLACE_MAX);
	return node;
}

static void a_node_comes_out_as_it_went_in(void **state)
{
	struct node node = sample_node();
	struct node back = { .name = (char *)"n7", .index = 9 };
	struct writer first = { 0 }, second = { 0 };
	struct fairlead_error error;

	record_encode_node(&node, &first);
	assert_int_equal(
		record_decode_node(&back, first.data, first.size, &error), 0);
	assert_true(back.is_stored && back.is_drained_by_us);
	assert_int_equal(back.index, 9);
	assert_int_equal(back.serial, 4);
	assert_string_equal(back.reason, "in use");
	assert_string_equal(back.reports[0].device, "cxi0");
	assert_int_equal(back.place_count, 2);
	assert_memory_equal(back.places, node.places, 2 * sizeof(*back.places));
	record_encode_node(&back, &second);
	assert_same_bytes(&first, &second);
	writer_fini(&first);
	writer_fini(&second);
	free(node.reports);
	free(node.places);
	free(back.reports);
	free(back.places);
	free(back.reason);
	free(back.version);
}

static void a_bad_node_leaves_nothing(void **state)
{
	struct node back = { .name = (char *)"n7" };
	struct writer writer = { 0 };
	struct fairlead_error error;

	for (int i = 0; i < 7; i++) {
		struct node node = sample_node();

		if (i == 0)
			node.is_drained = false;
		else if (i == 1)
			node.past_count = NODE_PAST_MAX + 1;
		else if (i == 2)
			node.serial = 2;
		else if (i == 3)
			node.reports[0].kind = REPORT_KIND_COUNT;
		else if (i == 4)
			node.places[1].size = 0;
		else if (i == 5)
			strcpy(node.places[0].driver, "..");
		else
			strcpy(node.reports[0].driver, "..");
		/* Do not read past the array for it. */
		if (i == 1)
			node.past_count = NODE_PAST_MAX;
		if (i == 1)
			node.serial = NODE_PAST_MAX;
		record_encode_node(&node, &writer);
		assert_int_equal(record_decode_node(&back, writer.data,
						    writer.size, &error),
				 -EBADMSG);
		assert_null(back.reports);
		assert_null(back.places);
		assert_null(back.reason);
		assert_false(back.is_stored);
		writer_fini(&writer);
		free(node.reports);
		free(node.places);
	}
}

static void names_come_out_as_they_went_in(void **state)
{
	struct nodes nodes;
	struct writer writer = { 0 };
	struct fairlead_error error;
	char **names;
	size_t count;

	nodes_init(&nodes);
	assert_non_null(nodes_add(&nodes, "n0", 0));
	assert_non_null(nodes_add(&nodes, "n5", NODE_CHUNK + 5));
	record_encode_names(&nodes, 1, &writer);
	assert_int_equal(record_decode_names(writer.data, writer.size, &names,
					     &count, &error),
			 0);
	assert_int_equal(count, 6);
	assert_string_equal(names[4], "");
	assert_string_equal(names[5], "n5");
	record_names_destroy(names, count);
	writer_fini(&writer);
	nodes_fini(&nodes);
}

static void a_tombstone_comes_out_as_it_went_in(void **state)
{
	struct record_tombstone tombstone = { true, 7, 8 }, back;
	struct writer writer = { 0 };
	struct fairlead_error error;

	record_encode_tombstone(&tombstone, &writer);
	assert_int_equal(record_decode_tombstone(writer.data, writer.size,
						 &back, &error),
			 0);
	assert_true(back.is_trace && back.uid == 7 && back.gid == 8);
	writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_comes_out_as_it_went_in),
		cmocka_unit_test(a_run_and_a_secret_come_out_as_they_went_in),
		cmocka_unit_test(a_cut_record_is_found),
		cmocka_unit_test(a_record_of_another_version_is_refused),
		cmocka_unit_test(fields_out_of_range_are_found),
		cmocka_unit_test(alike_parts_are_one_run),
		cmocka_unit_test(a_part_comes_out_as_it_went_in),
		cmocka_unit_test(a_node_comes_out_as_it_went_in),
		cmocka_unit_test(a_bad_node_leaves_nothing),
		cmocka_unit_test(names_come_out_as_they_went_in),
		cmocka_unit_test(a_tombstone_comes_out_as_it_went_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
