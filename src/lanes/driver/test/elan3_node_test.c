/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node half of elan3 where the contract does not look: what it says when
 * something lacks, and what it refuses. Usage: FAIRLEAD-RMS KEEPER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lanes/driver/elan3/place.h"
#include "lanes/driver/elan3/reply.h"
#include "lanes/driver/test/elan3_world.h"
#include "elan/client.h"

static const struct fairlead_node_ops *const ops = &elan3_node_ops;

static const char *variable(void *arg, const char *name)
{
	return strcmp(name, "FAIRLEAD_RMS_PROGRAM") == 0 ? arg : "1";
}

static void settings_that_are_wrong_are_named(void **state)
{
	struct world *world = *state;

	assert_int_equal(world_open(world, "rms_directory", "run/x"), -EINVAL);
	assert_has(world->error.text, "'run/x' is not an absolute path");
	assert_int_equal(world_open(world, "rails", "32"), -EINVAL);
	assert_int_equal(world_open(world, "genders", "/etc/genders"), -EINVAL);
	assert_int_equal(world_open(world, "nonsense", "1"), -EINVAL);
}

static void a_node_without_an_elanid_gets_no_lane(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0");
	struct fairlead_record record;
	struct fairlead_place place = { 0 };

	assert_int_equal(world_open(world, "host", "other"), 0);
	assert_int_equal(ops->place(world->node, &place, &world->error),
			 -ENOENT);
	assert_has(world->error.text, "'other'");
	assert_int_equal(world_apply(world, &lane, &record), -EINVAL);
	assert_has(world->error.text, "'host' of driver \"elan3\"");
	/* The file was not there to be read. */
	assert_int_equal(world_open(world, "elanhosts", "/nowhere"), 0);
	assert_int_equal(ops->place(world->node, &place, &world->error),
			 -ENOENT);
	assert_has(world->error.text, "is not on this node");
	assert_int_equal(place.size, 0);
	assert_int_equal(world_revoke(world, &lane), 0);
}

static void without_a_daemon_everything_says_so(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0");
	const struct fairlead_object object = { .device = "elan0", .id = 1 };
	char text[FAIRLEAD_SUMMARY_MAX + 1];
	struct fairlead_record record;
	struct fairlead_place place;

	daemon_stop(world->stage, SIGKILL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(world_probe(world), -EIO);
		assert_has(world->error.text, "start fairlead-rms.service");
		assert_int_equal(world_apply(world, &lane, &record), -EIO);
		assert_has(world->error.text, "start fairlead-rms.service");
		assert_int_equal(world_revoke(world, &lane), -EIO);
		assert_has(world->error.text, "start fairlead-rms.service");
		assert_int_equal(ops->list(world->node, NULL, NULL,
					   &world->error),
				 -EIO);
		assert_int_equal(ops->destroy(world->node, &object, false,
					      &world->error),
				 -EIO);
		assert_int_equal(ops->place(world->node, &place, &world->error),
				 -EIO);
		assert_int_equal(ops->inherit(world->node, OWNER_UID, variable,
					      "77", &world->error),
				 -ENODEV);
		ops->summarize(world->node, text);
		assert_string_equal(text, "enforcement none; lacks "
					  "fairlead-rms (start "
					  "fairlead-rms.service)");
		/* And when it has never run. */
		assert_int_equal(world_open(world, "rms_directory",
					    "/nowhere/at/all"),
				 0);
	}
	daemon_start(world->stage);
}

static void a_rail_that_lacks_is_named(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	char text[FAIRLEAD_SUMMARY_MAX + 1];
	struct fairlead_record record;
	struct fairlead_place bytes;
	struct elan3_place place;

	assert_int_equal(stage_rail_set(1, false), 0);
	assert_int_equal(world_apply(world, &lane, &record), -ENODEV);
	assert_has(world->error.text, "elan1: fairlead-rms has no such rail");
	assert_int_equal(world_list(world), 0);
	assert_int_equal(world_probe(world), 0);
	assert_int_equal(world->device_count, 2);
	assert_true(world->devices[0].is_usable);
	assert_false(world->devices[1].is_usable);
	assert_has(world->devices[1].detail, "--rails");
	assert_int_equal(ops->place(world->node, &bytes, &world->error), 0);
	assert_int_equal(elan3_place_decode(&bytes, &place), 0);
	assert_int_equal(place.rail_count, 2);
	assert_int_equal(place.rails[0].port, ELAN3_PORT_UP);
	assert_int_equal(place.rails[0].id, 1);
	assert_int_equal(place.rails[1].port, ELAN3_PORT_DOWN);
	ops->summarize(world->node, text);
	assert_has(text, "elan0; lacks ");
	assert_has(text, "elan1");
	assert_has(text, stage_is_group() ? "enforcement cgroups"
					  : "enforcement search");
}

static void routes_that_are_damaged_leave_nothing(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	uint8_t routes[ROUTE_SIZE] = { 1, 0, 4, 10, 0, 0, 1 };
	struct fairlead_record record;

	lane.members = routes;
	lane.members_size = sizeof(routes); /* it has no port */
	assert_int_equal(world_apply(world, &lane, &record), -EBADMSG);
	assert_has(world->error.text, "about its nodes is damaged");
	assert_int_equal(world_list(world), 0);
	routes[ROUTE_SIZE - 1] = 1;
	lane.members_size--;
	assert_int_equal(world_apply(world, &lane, &record), -EBADMSG);
	assert_int_equal(world_list(world), 0);
	lane.members_size++;
	assert_int_equal(world_apply(world, &lane, &record), 0);
	assert_int_equal(world_revoke(world, &lane), 0);
}

/* It could claim what is another job's. */
static void a_program_of_the_lanes_number_is_in_its_way(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct fairlead_record record;
	struct player *member =
		must_create(world->stage, 0, (int)lane.ids[ELAN3_ID_PROGRAM]);

	assert_int_equal(world_apply(world, &lane, &record), -EEXIST);
	assert_has(world->error.text, "is there already, with 1 process");
	assert_int_equal(world_list(world), 0);
	kill(member->pid, SIGKILL);
	player_wait(member);
	assert_int_equal(world_apply(world, &lane, &record), -EEXIST);
	assert_int_equal(rms_prgdestroy((int)lane.ids[ELAN3_ID_PROGRAM]), 0);
	assert_int_equal(world_apply(world, &lane, &record), 0);
	assert_int_equal(world_revoke(world, &lane), 0);
}

static void malformed_secrets_leave_nothing(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct fairlead_lane other = lane;
	struct fairlead_record record = { .size = 99 };

	for (other.secrets_size = 0; other.secrets_size < lane.secrets_size;
	     other.secrets_size++)
		assert_int_equal(world_apply(world, &other, &record), -EBADMSG);
	other = lane;
	world->secrets[0] ^= 1;
	assert_int_equal(world_apply(world, &other, &record), -EBADMSG);
	world->secrets[0] ^= 1;
	/* What is another lane's. */
	other.ids[ELAN3_ID_PROGRAM]++;
	assert_int_equal(world_apply(world, &other, &record), -EBADMSG);
	other = lane;
	other.ids[ELAN3_ID_LAST]++;
	assert_int_equal(world_apply(world, &other, &record), -EBADMSG);
	other = lane;
	strcpy(other.options, "layout=block,rails=1:0,contexts=2");
	assert_int_equal(world_apply(world, &other, &record), -EBADMSG);
	strcpy(other.options, "layout=block,rails=0,contexts=2");
	assert_int_equal(world_apply(world, &other, &record), -EBADMSG);
	assert_int_equal(record.size, 99);
	assert_int_equal(world_list(world), 0);
	/* Of a job that this node has no part in. */
	assert_int_equal(world_open(world, "host", "n3"), 0);
	assert_int_equal(world_apply(world, &lane, &record), -EINVAL);
	assert_has(world->error.text, "this node is ElanID 3");
	assert_int_equal(world_list(world), 0);
}

static void a_lane_of_another_shape_is_refused(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0");
	struct fairlead_record record;

	lane.id_count = 1;
	assert_int_equal(world_apply(world, &lane, &record), -EINVAL);
	lane.id_count = ELAN3_ID_COUNT;
	strcpy(lane.options, "rails=nonsense");
	assert_int_equal(world_apply(world, &lane, &record), -EINVAL);
	strcpy(lane.options, "off");
	assert_int_equal(world_apply(world, &lane, &record), -EINVAL);
}

static void keys_go_to_no_daemon_of_others(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0");
	struct fairlead_record record;

	assert_int_equal(chmod(world->stage->dir, 0777), 0);
	assert_int_equal(world_apply(world, &lane, &record), -EPERM);
	assert_has(world->error.text, "chmod go-w");
	assert_int_equal(chmod(world->stage->dir, 0755), 0);
	assert_int_equal(chown(world->stage->dir, OTHER_UID, (gid_t)-1), 0);
	assert_int_equal(world_apply(world, &lane, &record), -EPERM);
	assert_int_equal(world_list(world), 0);
	assert_int_equal(chown(world->stage->dir, 0, (gid_t)-1), 0);
	assert_int_equal(world_apply(world, &lane, &record), 0);
}

static void what_root_gave_a_program_is_not_taken_over(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0:1");
	struct elan_capability cap = world_cap(&lane, 1);
	struct fairlead_record record;

	must_create(world->stage, 0, 3);
	assert_int_equal(rms_prgaddcap(3, 0, &cap), 0);
	assert_int_equal(world_apply(world, &lane, &record), -EEXIST);
	assert_has(world->error.text, "elan1");
	assert_int_equal(world_list(world), 0);
}

static void what_is_anothers_is_in_the_way_and_stays(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0");
	struct elan_capability cap = world_cap(&lane, 0);
	struct fairlead_record record;

	cap.cap_lowcontext++;
	cap.cap_highcontext++;
	assert_int_equal(rms_client_deposit(NULL, UINT64_MAX, OTHER_UID, &cap),
			 0);
	assert_int_equal(world_list(world), 1);
	assert_int_equal(world->objects[0].id_count, ELAN3_ID_COUNT);
	assert_int_equal(world->objects[0].ids[ELAN3_ID_PROGRAM], 0);
	assert_int_equal(world->objects[0].uid, OTHER_UID);
	assert_int_equal(world_apply(world, &lane, &record), -EEXIST);
	assert_has(world->error.text, "which is not this lane's");
	assert_int_equal(world_revoke(world, &lane), 0);
	assert_int_equal(world_list(world), 1);
	assert_int_equal(ops->destroy(world->node, &world->objects[0], false,
				      &world->error),
			 0);
	assert_int_equal(world_apply(world, &lane, &record), 0);
}

static void a_capability_of_two_rails_is_an_object_of_each(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0+1");
	struct fairlead_record record;

	assert_int_equal(world_apply(world, &lane, &record), 0);
	assert_int_equal(world_list(world), 2);
	assert_string_equal(world->objects[0].device, "elan0");
	assert_string_equal(world->objects[1].device, "elan1");
	assert_int_equal(world->objects[0].id, world->objects[1].id);
	assert_int_equal(ops->destroy(world->node, &world->objects[1], true,
				      &world->error),
			 0);
	assert_int_equal(world_list(world), 2);
	assert_int_equal(ops->destroy(world->node, &world->objects[1], false,
				      &world->error),
			 0);
	assert_int_equal(world_list(world), 0);
}

static void many_holders_are_counted(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0");
	struct elan_capability cap = world_cap(&lane, 0);
	struct fairlead_record record;
	struct player *player;
	char text[32];

	assert_int_equal(world_apply(world, &lane, &record), 0);
	player = must_create(world->stage, 0, 3);
	for (int i = 1; i < 10; i++)
		player_fork(world->stage, player, i, 0);
	assert_int_equal(rms_prgaddcap(3, 0, &cap), 0);
	assert_int_equal(world_revoke(world, &lane), -EBUSY);
	assert_has(world->error.text, "is held by pid ");
	assert_has(world->error.text, " and 2 more");
	snprintf(text, sizeof(text), "pid %d (", (int)player->pid);
	assert_has(world->error.text, text);
	/* Nobody gets it any more, and it is shown. */
	assert_int_equal(world_list(world), 1);
	assert_false(world->objects[0].flags & FAIRLEAD_OBJECT_ENABLED);
	assert_has(world->objects[0].detail, "being taken back");
	assert_int_equal(ops->inherit(world->node, OWNER_UID, variable, "77",
				      &world->error),
			 -ENODEV);
}

static void inherited_variables_are_of_a_lane_that_is_there(void **state)
{
	struct world *world = *state;
	struct fairlead_lane lane = world_lane(world, "0");
	struct fairlead_record record;

	assert_int_equal(world_apply(world, &lane, &record), 0);
	assert_int_equal(ops->inherit(world->node, OWNER_UID, variable, "77",
				      &world->error),
			 0);
	assert_int_equal(ops->inherit(world->node, OWNER_UID, variable, NULL,
				      &world->error),
			 -ENODEV);
	assert_has(world->error.text, "only some of");
	assert_int_equal(ops->inherit(world->node, OWNER_UID, variable, "0x4d",
				      &world->error),
			 -ENODEV);
	assert_int_equal(ops->inherit(world->node, OWNER_UID, variable, "78",
				      &world->error),
			 -ENODEV);
	assert_has(world->error.text, "program 78");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		world_test(settings_that_are_wrong_are_named),
		world_test(a_node_without_an_elanid_gets_no_lane),
		world_test(without_a_daemon_everything_says_so),
		world_test(a_rail_that_lacks_is_named),
		world_test(malformed_secrets_leave_nothing),
		world_test(routes_that_are_damaged_leave_nothing),
		world_test(a_program_of_the_lanes_number_is_in_its_way),
		world_test(a_lane_of_another_shape_is_refused),
		world_test(keys_go_to_no_daemon_of_others),
		world_test(what_root_gave_a_program_is_not_taken_over),
		world_test(what_is_anothers_is_in_the_way_and_stays),
		world_test(a_capability_of_two_rails_is_an_object_of_each),
		world_test(many_holders_are_counted),
		world_test(inherited_variables_are_of_a_lane_that_is_there),
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
