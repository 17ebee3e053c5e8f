/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of the manager's journal: a body is refused with a text, or is
 * encoded as the same bytes again. The first byte chooses the kind. The version
 * is put before the rest here; what is wrong with a version, the bytes as they
 * are show.
 */
#include <errno.h>

#include "lanes/manager/core/record.h"
#include "fuzz.h"

#define GRANT_ID 4711
#define KEY      "slurm/17/2"
#define NODE     "n7"

static void same_check(struct writer *again, const void *body, size_t size)
{
	fuzz_check(again->result == 0 && again->size == size);
	fuzz_check(memcmp(again->data, body, size) == 0);
	writer_fini(again);
}

static int job_try(const void *body, size_t size, struct fairlead_error *error)
{
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	struct writer again = { 0 };
	struct job *job;
	int result = record_decode_job(GRANT_ID, KEY, body, size, &job, driver,
				       error);

	if (result < 0)
		return result;
	record_encode_job(job, driver, &again);
	same_check(&again, body, size);
	job_destroy(job);
	return 0;
}

static int part_try(const void *body, size_t size, struct fairlead_error *error)
{
	struct writer again = { 0 };
	struct part part;
	int result = record_decode_part(body, size, &part, error);

	if (result < 0)
		return result;
	record_encode_part(&part, &again);
	same_check(&again, body, size);
	return 0;
}

static int node_try(const void *body, size_t size, struct fairlead_error *error)
{
	struct node node = { .name = (char *)NODE };
	struct writer again = { 0 };
	int result = record_decode_node(&node, body, size, error);

	if (result < 0)
		return result;
	record_encode_node(&node, &again);
	same_check(&again, body, size);
	free(node.reason);
	free(node.version);
	free(node.reports);
	free(node.places);
	return 0;
}

static int names_try(const void *body, size_t size,
		     struct fairlead_error *error)
{
	struct writer again = { 0 };
	struct nodes nodes;
	char **names;
	size_t count;
	int result = record_decode_names(body, size, &names, &count, error);

	if (result < 0)
		return result;
	nodes_init(&nodes);
	for (size_t i = 0; i < count; i++) {
		/* That a name is there once is for who takes it in. */
		if (names[i][0] == 0 || nodes_find(&nodes, names[i]) == NULL) {
			if (names[i][0] != 0)
				nodes_add(&nodes, names[i], (uint32_t)i);
			continue;
		}
		record_names_destroy(names, count);
		nodes_fini(&nodes);
		return 0;
	}
	record_encode_names(&nodes, 0, &again);
	same_check(&again, body, size);
	record_names_destroy(names, count);
	nodes_fini(&nodes);
	return 0;
}

static int tombstone_try(const void *body, size_t size,
			 struct fairlead_error *error)
{
	struct record_tombstone tombstone;
	struct writer again = { 0 };
	int result = record_decode_tombstone(body, size, &tombstone, error);

	if (result < 0)
		return result;
	record_encode_tombstone(&tombstone, &again);
	same_check(&again, body, size);
	return 0;
}

static int (*const kinds[])(const void *body, size_t size,
			    struct fairlead_error *error) = {
	job_try, part_try, node_try, names_try, tombstone_try,
};

static void body_check(size_t kind, const void *body, size_t size)
{
	struct fairlead_error error = { 0 };
	int result = kinds[kind](body, size, &error);

	fuzz_check(result == 0 || result == -EBADMSG);
	fuzz_check(result == error.code);
	fuzz_check((result == 0) == (error.text[0] == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t count = sizeof(kinds) / sizeof(kinds[0]);
	struct writer writer = { 0 };
	size_t kind;

	if (size == 0)
		return 0;
	kind = data[0] % count;
	body_check(kind, data + 1, size - 1);
	record_begin(&writer);
	write_bytes(&writer, data + 1, size - 1);
	record_end(&writer);
	body_check(kind, writer.data, writer.size);
	writer_fini(&writer);
	return 0;
}
