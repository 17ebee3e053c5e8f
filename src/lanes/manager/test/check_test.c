/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of an engine that has lived through something is put into a real
 * store, changed by a hand here and there, and checked.
 */
#include "lanes/manager/manager.h"

#include "bed_elan3.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/driver/driver.h"
#include "lanes/manager/store/row.h"
#include "lanes/manager/store/store.h"
#include "sys/files.h"

struct scene {
	struct bed *bed;
	char folder[40];
	struct config *config;
	char output[8192];
	uint64_t active;      /* a grant that is applied on n0 */
	uint64_t reserved;    /* one with two VNIs */
	uint64_t quarantined; /* n1 keeps it busy */
	uint64_t gone;
};

static void apply(struct scene *scene, uint64_t client, uint64_t grant_id,
		  struct bed_node *node)
{
	bed_ask(scene->bed, client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(scene->bed);
	bed_node_obey(node, COMMAND_APPLY, 0);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, client, 0);
}

static void release(struct scene *scene, uint64_t client, uint64_t grant_id,
		    struct bed_node *node, int result)
{
	bed_ask(scene->bed, client, "release", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(scene->bed);
	if (node != NULL)
		bed_node_obey(node, COMMAND_REVOKE, result);
	bed_commit(scene->bed);
	bed_expect_done(scene->bed, client, 0);
}

static uint64_t reserve_two(struct scene *scene, uint64_t client)
{
	json_t *answer;
	uint64_t grant_id;

	bed_ask(scene->bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s, s:s}}",
		"request", "key", "slurm/two/0", "uid", BED_USER, "gid",
		BED_USER, "nodes", "n[0-1]", "options", "vnis=2,hwcoll=on");
	bed_commit(scene->bed);
	answer = bed_expect(scene->bed, client, 0);
	grant_id = (uint64_t)json_integer_value(
		json_object_get(answer, "grant_id"));
	json_decref(answer);
	return grant_id;
}

/* Jobs in every state that rests; one asks for trees, which nobody gives. */
static void live(struct scene *scene)
{
	struct bed *bed = scene->bed;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	struct bed_node n0;
	struct bed_node n1;

	bed_node_up(bed, "n0", &n0);
	bed_node_up(bed, "n1", &n1);
	scene->active = bed_reserve(bed, client, "slurm/1/0", "n0");
	apply(scene, client, scene->active, &n0);
	scene->gone = bed_reserve(bed, client, "slurm/2/0", "n1");
	apply(scene, client, scene->gone, &n1);
	release(scene, client, scene->gone, &n1, 0);
	release(scene, client, bed_reserve(bed, client, "slurm/3/0", "n1"),
		NULL, 0);
	scene->quarantined = bed_reserve(bed, client, "slurm/4/0", "n1");
	apply(scene, client, scene->quarantined, &n1);
	release(scene, client, scene->quarantined, &n1, -EBUSY);
	scene->reserved = reserve_two(scene, client);
	bed_ask(bed, client, "reserve", "{s:{s:s, s:i, s:i, s:s, s:s}}",
		"request", "key", "slurm/six/0", "uid", BED_USER, "gid",
		BED_USER, "nodes", "n9", "options", "vnis=7");
	bed_commit(bed);
	bed_expect_done(bed, client, -EINVAL);
}

#define DRIVERS_MAX 8

/* A bed, and a configuration that says the same. */
static struct scene *scene_create(const char *further)
{
	const struct fairlead_driver *drivers[DRIVERS_MAX] = { &bed_elan3 };
	struct scene *scene = calloc(1, sizeof(*scene));
	_auto_(freep) char *errors = NULL;
	char text[512];
	size_t count = 1;

	scene->bed = bed_create();
	strcpy(scene->folder, "/tmp/fairlead-check-XXXXXX");
	assert_non_null(mkdtemp(scene->folder));
	snprintf(text, sizeof(text),
		 "manager { state = \"%s\" nodes = \"n[0-9]\" }\n"
		 "driver \"slingshot\" { vni_pool = \"1024-1033\" }\n%s",
		 scene->folder, further);
	for (size_t i = 0; driver_table[i] != NULL; i++)
		drivers[count++] = driver_table[i];
	if (config_parse(text, strlen(text), "f", 0, drivers, count,
			 &scene->config, &errors) < 0)
		fail_msg("%s", errors);
	return scene;
}

static int set_up(void **state)
{
	struct scene *scene = scene_create("");

	live(scene);
	*state = scene;
	return 0;
}

static uint64_t elan3_reserve(struct scene *scene, uint64_t client,
			      const char *key)
{
	json_t *answer =
		bed_elan3_reserve(scene->bed, client, key, "elan3", "");
	uint64_t grant_id = (uint64_t)json_integer_value(
		json_object_get(answer, "grant_id"));

	json_decref(answer);
	return grant_id;
}

/* Jobs with runs, of which one has come and gone. */
static int set_up_runs(void **state)
{
	struct scene *scene = scene_create(
		"driver \"elan3\" { genders = \"/no/genders\" }\n");
	uint64_t client;

	bed_elan3_start(scene->bed);
	client = bed_client(scene->bed, BED_SUBMITTER);
	scene->gone = elan3_reserve(scene, client, "slurm/1/0");
	scene->reserved = elan3_reserve(scene, client, "slurm/2/0");
	release(scene, client, scene->gone, NULL, 0);
	scene->active = elan3_reserve(scene, client, "slurm/3/0");
	*state = scene;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int flag,
			struct FTW *ftw)
{
	return remove(path);
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	bed_destroy(scene->bed);
	config_destroy(scene->config);
	assert_int_equal(
		nftw(scene->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(scene);
	return 0;
}

static struct store *open_store(struct scene *scene)
{
	const struct store_options options = { .files = sys_files() };
	struct fairlead_error error = { 0 };
	struct store *store;

	if (store_open(scene->folder, &options, &store, &error) < 0)
		fail_msg("%s", error.text);
	return store;
}

/* Put the bed's rows into the store. */
static void write_journal(struct scene *scene)
{
	struct store *store = open_store(scene);
	struct store_batch *batch;
	struct bed_row *entry;

	batch = store_batch_create();
	DL_FOREACH (scene->bed->journal, entry)
		assert_int_equal(store_batch_add(batch, &entry->row), 0);
	assert_int_equal(store_write(store, batch, NULL), 0);
	store_batch_destroy(batch);
	store_close(store);
}

static int check(struct scene *scene)
{
	struct fairlead_error error = { 0 };
	FILE *out = fmemopen(scene->output, sizeof(scene->output), "w");
	int result = manager_check_journal(scene->config, out, &error);

	fclose(out);
	if (result < 0 && result != -EUCLEAN)
		fail_msg("%s", error.text);
	return result;
}

/* Change one row of the grant's events that has these words. */
static void change_event(struct scene *scene, uint64_t grant_id,
			 const char *words, const char *instead)
{
	struct store *store = NULL;
	struct store_batch *batch;
	struct bed_row *entry;

	DL_FOREACH (scene->bed->journal, entry) {
		struct store_row row = entry->row;

		if (row.table != STORE_EVENT || row.id != grant_id ||
		    memmem(row.body, row.size, words, strlen(words)) == NULL)
			continue;
		assert_null(store);
		store = open_store(scene);
		row.verb = instead == NULL ? STORE_DELETE : STORE_PUT;
		row.body = instead;
		row.size = instead == NULL ? 0 : strlen(instead);
		batch = store_batch_create();
		assert_int_equal(store_batch_add(batch, &row), 0);
		assert_int_equal(store_write(store, batch, NULL), 0);
		store_batch_destroy(batch);
	}
	assert_non_null(store);
	store_close(store);
}

static void assert_found(struct scene *scene, uint64_t grant_id,
			 const char *words)
{
	char grant[32];

	snprintf(grant, sizeof(grant), "grant %u", (unsigned int)grant_id);
	assert_int_equal(check(scene), -EUCLEAN);
	if (strstr(scene->output, words) == NULL ||
	    strstr(scene->output, grant) == NULL)
		fail_msg("no '%s' of %s in:\n%s", words, grant, scene->output);
	assert_non_null(strstr(scene->output, " 1 contradictions"));
}

static void a_journal_that_was_lived_agrees(void **state)
{
	struct scene *scene = *state;

	write_journal(scene);
	if (check(scene) < 0)
		fail_msg("%s", scene->output);
	assert_non_null(strstr(scene->output, "journal: 6 grants,"));
	assert_non_null(strstr(scene->output, " 0 contradictions"));
}

static void a_lost_event_is_found(void **state)
{
	struct scene *scene = *state;

	write_journal(scene);
	change_event(scene, scene->active, "\"applied\"", NULL);
	assert_found(scene, scene->active,
		     "the record says active, its events say applying");
}

static void a_lost_record_is_found(void **state)
{
	struct scene *scene = *state;
	struct bed_row *entry;
	struct bed_row *next;

	DL_FOREACH_SAFE (scene->bed->journal, entry, next) {
		if (entry->row.id == scene->active &&
		    entry->row.table == STORE_JOB)
			entry->row.verb = STORE_DELETE;
	}
	write_journal(scene);
	assert_found(scene, scene->active,
		     "there is no record, and its events say active");
}

static void other_identifiers_than_reserved_are_found(void **state)
{
	struct scene *scene = *state;

	write_journal(scene);
	change_event(scene, scene->reserved, "\"reservation\"",
		     "{\"timestamp\":1,\"name\":\"cray-slingshot\",\"context\":"
		     "{\"reservation\":{\"vnis\":[1031,1032]},\"vnis\":"
		     "[1031,1032]}}");
	assert_found(scene, scene->reserved, "is not what its events reserved");
}

static void identifiers_that_were_never_freed_are_found(void **state)
{
	struct scene *scene = *state;

	write_journal(scene);
	change_event(scene, scene->gone, "\"free\"", NULL);
	assert_found(scene, scene->gone,
		     "what it freed is not what it had reserved");
}

static void a_release_out_of_nothing_is_found(void **state)
{
	struct scene *scene = *state;

	write_journal(scene);
	change_event(scene, scene->quarantined, "\"revoked\"",
		     "{\"timestamp\":1,\"name\":\"apply\",\"context\":{}}");
	assert_int_equal(check(scene), -EUCLEAN);
	assert_non_null(strstr(scene->output, "event `apply` after releasing"));
}

static void an_event_that_is_no_event_is_found(void **state)
{
	struct scene *scene = *state;

	write_journal(scene);
	change_event(scene, scene->quarantined, "\"quarantine\"", "[1]");
	assert_found(scene, scene->quarantined, "an event is malformed");
}

static void the_journal_of_a_running_manager_is_left_alone(void **state)
{
	struct scene *scene = *state;
	struct fairlead_error error = { 0 };
	struct store *store;

	write_journal(scene);
	store = open_store(scene);
	assert_int_equal(manager_check_journal(scene->config, stdout, &error),
			 -EBUSY);
	store_close(store);
}

static void runs_are_checked_with_both_their_ends(void **state)
{
	struct scene *scene = *state;

	write_journal(scene);
	assert_int_equal(check(scene), 0);
	change_event(scene, scene->reserved, "\"contexts\":[1026,1027]",
		     "{\"timestamp\":1.0,\"name\":\"elan3\",\"context\":{"
		     "\"reservation\":{\"program\":2,\"contexts\":[1026,1028]"
		     "}}}");
	assert_int_equal(check(scene), -EUCLEAN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_journal_that_was_lived_agrees),
		TEST(a_lost_event_is_found),
		TEST(a_lost_record_is_found),
		TEST(other_identifiers_than_reserved_are_found),
		TEST(identifiers_that_were_never_freed_are_found),
		TEST(a_release_out_of_nothing_is_found),
		TEST(an_event_that_is_no_event_is_found),
		TEST(the_journal_of_a_running_manager_is_left_alone),
		cmocka_unit_test_setup_teardown(
			runs_are_checked_with_both_their_ends, set_up_runs,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
