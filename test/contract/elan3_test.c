/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `elan3` against the contract, over a fairlead-rms of the test's own: two
 * rails, a directory and a cgroup of its own. Processes really make programs
 * and attach, as the owner. Run for each keeper of members (the second
 * argument; the first is the program).
 *
 * The suite's lanes have no secrets: as the guard does, what the manager half
 * packs is handed over here.
 */
#include "contract/contract.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "lanes/driver/driver.h"
#include "lanes/driver/elan3/elan3.h"
#include "lanes/driver/elan3/reply.h"
#include "elan/client.h"
#include "elan/test/stage.h"

#define HOSTS "eip [0-15] n[0-15]\n"

static struct fairlead_node_ops ops;
static struct fairlead_driver driver;
static struct stage *stage;
static void *manager;   /* state of the manager half, for what is packed */
static int player_last; /* players are for one use each */
static int holder_program;
static bool is_second_failing;

/* --- secrets --- */

static int pack(const struct fairlead_lane *lane, uint8_t **ret_bytes,
		size_t *ret_size, struct fairlead_error *ret_error)
{
	struct fairlead_run runs[FAIRLEAD_POOLS_MAX] = { { 0 } };
	uint8_t secret[2 * 16];
	struct fairlead_pack job = {
		.lane = lane,
		.runs = runs,
		.node_count = CONTRACT_NODES,
		.nodes = contract_nodes,
		.tasks = contract_tasks,
		.secret = secret,
		.secret_size = sizeof(secret),
	};

	runs[ELAN3_POOL_CONTEXT] = (struct fairlead_run){
		.low = 0,
		.high = 1,
		.length = lane->ids[ELAN3_ID_LAST] - lane->ids[ELAN3_ID_FIRST] +
			  1,
	};
	for (size_t i = 0; i < sizeof(secret); i++)
		secret[i] = (uint8_t)(lane->ids[ELAN3_ID_PROGRAM] + i);
	return driver.manager->pack(manager, &job, ret_bytes, ret_size,
				    ret_error);
}

static int apply(void *state, const struct fairlead_lane *lane, bool is_dry_run,
		 struct fairlead_record *ret_record,
		 struct fairlead_warnings *warnings,
		 struct fairlead_error *ret_error)
{
	struct fairlead_lane opened = *lane;
	_auto_(freep) uint8_t *bytes = NULL;
	int result = is_dry_run ? 0
				: pack(lane, &bytes, &opened.secrets_size,
				       ret_error);

	if (result < 0)
		return result;
	opened.secrets = bytes;
	return elan3_node_ops.apply(state, &opened, is_dry_run, ret_record,
				    warnings, ret_error);
}

int __real_rms_client_deposit(const char *dir, uint64_t grant_id, uid_t uid,
			      const struct elan_capability *cap);
int __wrap_rms_client_deposit(const char *dir, uint64_t grant_id, uid_t uid,
			      const struct elan_capability *cap);

int __wrap_rms_client_deposit(const char *dir, uint64_t grant_id, uid_t uid,
			      const struct elan_capability *cap)
{
	if (is_second_failing && cap->cap_railmask == 2) {
		is_second_failing = false;
		return -EIO;
	}
	return __real_rms_client_deposit(dir, grant_id, uid, cap);
}

/* --- the world --- */

static void start(struct contract_fixture *fixture)
{
	struct fairlead_error error;

	is_second_failing = false;
	player_last = 0;
	assert_int_equal(stage_setup((void **)&stage), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(stage_rail_set(i, true), 0);
	fixture->owner = OWNER_UID;
	fixture->setting_count = 0;
#define SET(name_, value_)                            \
	fixture->settings[fixture->setting_count++] = \
		(struct fairlead_setting){ .name = name_, .value = value_ }
	SET("elanhosts", "/etc/elanhosts");
	fixture->settings[0].content = HOSTS;
	fixture->settings[0].content_size = sizeof(HOSTS) - 1;
	SET("rails", "2");
	SET("rms_directory", stage->dir);
	SET("host", "n0");
#undef SET
	assert_int_equal(driver.manager->configure(fixture->settings,
						   fixture->setting_count,
						   &manager, &error),
			 0);
}

static void stop(struct contract_fixture *fixture)
{
	driver.manager->destroy(manager);
	assert_int_equal(stage_teardown((void **)&stage), 0);
}

static void fail_second(struct contract_fixture *fixture)
{
	is_second_failing = true;
}

static void remove_second(struct contract_fixture *fixture)
{
	assert_int_equal(stage_rail_set(1, false), 0);
}

/* --- using it --- */

static int rail_of(const struct fairlead_object *object)
{
	return strcmp(object->device, "elan0") == 0 ? 0 : 1;
}

static struct elan_capability cap_of(const struct fairlead_object *object)
{
	struct fairlead_lane lane = {
		.id_count = ELAN3_ID_COUNT,
		.options = "layout=block,rails=0:1,contexts=4",
	};
	_auto_(freep) uint8_t *bytes = NULL;
	struct fairlead_error error;
	struct elan_capability cap;
	struct elan3_reply reply;
	size_t size;

	memcpy(lane.ids, object->ids, sizeof(object->ids));
	assert_int_equal(pack(&lane, &bytes, &size, &error), 0);
	assert_int_equal(elan3_reply_decode(bytes, size, &reply, &error), 0);
	cap = reply.caps[rail_of(object)];
	elan3_reply_fini(&reply);
	cap.cap_mycontext = cap.cap_lowcontext;
	return cap;
}

/* A program of the owner's that is attached, by the owner's own doing. */
static struct player *attach(const struct fairlead_object *object,
			     int *ret_result)
{
	struct elan_capability cap = cap_of(object);
	int n = player_last++;
	struct player *player = must_create(stage, n, n + 1);

	assert_int_equal(play(player, ACT_BECOME, .uid = OWNER_UID), 0);
	*ret_result = play(player, ACT_PRGADDCAP, .id = n + 1, .cap = cap);
	if (*ret_result == 0)
		*ret_result = play(player, ACT_ATTACH, .index = rail_of(object),
				   .cap = cap);
	return player;
}

static void detach(const struct fairlead_object *object, struct player *player,
		   int program)
{
	struct elan_capability cap = cap_of(object);

	assert_int_equal(play(player, ACT_DETACH, .index = rail_of(object),
			      .cap = cap),
			 0);
	play_begin(player, &(struct script){ .act = ACT_END });
	player_wait(player);
	assert_int_equal(rms_prgdestroy(program), 0);
}

static int use(struct contract_fixture *fixture,
	       const struct fairlead_object *object)
{
	int result;
	struct player *player = attach(object, &result);

	detach(object, player, player_last);
	return result == -EACCES ? -EPERM : result;
}

static struct fairlead_object held;
static struct player *holder;

static pid_t hold(struct contract_fixture *fixture,
		  const struct fairlead_object *object)
{
	int result;

	held = *object;
	holder = attach(object, &result);
	holder_program = player_last;
	assert_int_equal(result, 0);
	return holder->pid;
}

static void let_go(struct contract_fixture *fixture)
{
	detach(&held, holder, holder_program);
}

int main(int argc, char **argv)
{
	struct contract_fixture fixture = {
		.driver = &driver,
		.options = "rails=0:1",
		.options_none = "off",
		.options_bad = "rails=7",
		.device_count = 2,
		.start = start,
		.stop = stop,
		.fail_second = fail_second,
		.remove_second = remove_second,
		.use = use,
		.hold = hold,
		.let_go = let_go,
	};
	int result = stage_init(argc, argv);

	if (result != 0)
		return result;
	driver = *driver_find(ELAN3_NAME);
	ops = *driver.node;
	ops.apply = apply;
	driver.node = &ops;
	return contract_run(&fixture);
}
