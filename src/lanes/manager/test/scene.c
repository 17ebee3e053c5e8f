/* SPDX-License-Identifier: BSD-3-Clause */
#include "scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

int scene_set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->bed = bed_create();
	scene->client = bed_client(scene->bed, BED_SUBMITTER);
	bed_node_up(scene->bed, "n0", &scene->nodes[0]);
	bed_node_up(scene->bed, "n1", &scene->nodes[1]);
	scene->grant_id =
		bed_reserve(scene->bed, scene->client, "slurm/1/0", "n[0-1]");
	bed_ask(scene->bed, scene->client, "apply", "{s:I}", "grant_id",
		(json_int_t)scene->grant_id);
	bed_commit(scene->bed);
	*state = scene;
	return 0;
}

int scene_tear_down(void **state)
{
	struct scene *scene = *state;

	bed_destroy(scene->bed);
	free(scene);
	return 0;
}

void scene_release(struct scene *scene)
{
	bed_ask(scene->bed, scene->client, "release", "{s:I}", "grant_id",
		(json_int_t)scene->grant_id);
	bed_commit(scene->bed);
}

void scene_make_active(struct scene *scene)
{
	for (int i = 0; i < 2; i++)
		bed_node_obey(&scene->nodes[i], COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, scene->client, 0);
}

void scene_confirm_revoked(struct scene *scene, struct bed_round *round)
{
	struct confirm confirm;

	confirm_answer(&round->command, "n0", scene->nodes[0].incarnation, 0,
		       &confirm);
	bed_node_answer(&scene->nodes[0], round, &confirm);
	bed_commit(scene->bed);
}

size_t scene_count_quarantined(struct scene *scene)
{
	uint64_t root = bed_client(scene->bed, BED_ROOT);
	json_t *answer;
	size_t count;

	bed_ask(scene->bed, root, "quarantine", NULL);
	bed_commit(scene->bed);
	answer = bed_expect(scene->bed, root, 0);
	count = json_array_size(json_object_get(answer, "identifiers"));
	json_decref(answer);
	engine_client_closed(scene->bed->engine, root);
	return count;
}

void scene_assert_failed(struct scene *scene, const char *nodes, int code)
{
	json_t *answer = bed_expect(scene->bed, scene->client, -EREMOTEIO);
	json_t *failures = json_object_get(answer, "failures");
	json_t *failure = json_array_get(failures, 0);

	assert_int_equal(json_array_size(failures), 1);
	assert_string_equal(
		json_string_value(json_object_get(failure, "nodes")), nodes);
	assert_int_equal(json_integer_value(json_object_get(failure, "errno")),
			 code);
	json_decref(answer);
}
