/* SPDX-License-Identifier: BSD-3-Clause */
/* The manager half of elan3: what it plans, and what it makes of secrets. */
#include "lanes/driver/elan3/elan3.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/driver/elan3/geometry.h"
#include "lanes/driver/elan3/place.h"
#include "lanes/driver/elan3/reply.h"
#include "elan/capability.h"

#define HOSTS "eip [0-15,1000] n[0-15,1000]\neth 3 e3\n"

static const struct fairlead_manager_ops *const ops = &elan3_manager_ops;

static struct fairlead_setting setting(const char *name, const char *value)
{
	return (struct fairlead_setting){ .name = name,
					  .value = value,
					  .line = 5 };
}

static struct fairlead_setting hosts_of(const char *text)
{
	struct fairlead_setting hosts = setting("elanhosts", "/etc/elanhosts");

	hosts.content = text;
	hosts.content_size = strlen(text);
	return hosts;
}

static void *configured(const struct fairlead_setting *list, size_t count)
{
	struct fairlead_error error = { 0 };
	void *state = NULL;

	if (ops->configure(list, count, &state, &error) < 0)
		fail_msg("%s", error.text);
	return state;
}

static int set_up(void **state)
{
	const struct fairlead_setting list[] = {
		hosts_of(HOSTS),
		setting("rails", "3"),
		setting("down", "12"),
		setting("down_ports", "1:13"),
	};

	*state = configured(list, 4);
	return 0;
}

static int tear_down(void **state)
{
	ops->destroy(*state);
	return 0;
}

/* A job of at most four nodes. */
struct asked {
	const char *options;
	size_t count;
	const char *nodes[4];
	uint32_t tasks[4];
};

static int plan_of(void *state, const struct asked *asked,
		   struct fairlead_plan *ret_plan, struct fairlead_error *error)
{
	static const uint32_t cores[] = { 1, 1, 1, 1 };
	const struct fairlead_driver_request request = {
		.key = "slurm/1/0",
		.options = asked->options,
		.node_count = asked->count,
		.nodes = asked->nodes,
		.cores = cores,
		.tasks = asked->tasks,
	};

	return ops->reserve(state, &request, ret_plan, error);
}

static struct fairlead_plan planned(void *state, const struct asked *asked)
{
	struct fairlead_error error = { 0 };
	struct fairlead_plan plan;

	if (plan_of(state, asked, &plan, &error) < 0)
		fail_msg("%s", error.text);
	return plan;
}

static void refuse(void *state, const struct asked *asked, int code,
		   const char *part)
{
	struct fairlead_plan plan = { .secret_size = 77 };
	struct fairlead_error error = { 0 };

	assert_int_equal(plan_of(state, asked, &plan, &error), code);
	assert_int_equal(plan.secret_size, 77);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

/* --- settings --- */

static void refuse_settings(const struct fairlead_setting *list, size_t count,
			    const char *part)
{
	struct fairlead_error error = { 0 };
	void *state = NULL;

	assert_int_equal(ops->configure(list, count, &state, &error), -EINVAL);
	assert_null(state);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static void a_file_has_to_say_who_has_which_elan_id(void **state)
{
	struct fairlead_setting list[2] = { setting("genders", "/g"),
					    hosts_of(HOSTS) };

	refuse_settings(NULL, 0, "'genders' or 'elanhosts'");
	refuse_settings(list, 2, "line 5: 'elanhosts': 'genders' is set");
	list[0] = hosts_of("eip 0 a\neip 0 b\n");
	refuse_settings(list, 1,
			"line 5: 'elanhosts': /etc/elanhosts: line 2: ");
	list[0] = hosts_of("# none\n");
	refuse_settings(list, 1, "/etc/elanhosts has no ElanIDs");
	list[0] = setting("genders", "/etc/genders");
	list[0].content = "n0 elanid\n";
	list[0].content_size = 10;
	refuse_settings(list, 1, "'genders': /etc/genders: line 1: ");
}

static void genders_with_another_attribute_will_do(void **state)
{
	struct fairlead_setting list[2] = {
		setting("genders", "/etc/genders"),
		setting("genders_attribute", "qsnet"),
	};
	const struct asked asked = { "", 2, { "n2", "n5" }, { 1, 1 } };
	struct fairlead_plan plan;
	void *made;

	list[0].content = "n[0-7] elanid=9\nm[0-7] qsnet=%n\n";
	list[0].content_size = strlen(list[0].content);
	made = configured(list, 2);
	refuse(made, &asked, -EINVAL, "2 nodes without an ElanID: n[2,5]");
	plan = planned(made,
		       &(struct asked){ "", 2, { "m2", "m5" }, { 1, 1 } });
	assert_int_equal(plan.runs[ELAN3_POOL_CONTEXT].low, 2);
	assert_int_equal(plan.runs[ELAN3_POOL_CONTEXT].high, 5);
	ops->destroy(made);
}

static void a_file_that_was_not_read_gives_no_lane(void **state)
{
	struct fairlead_setting list = setting("genders", "/etc/genders");
	void *made = configured(&list, 1);

	refuse(made, &(struct asked){ "", 1, { "n0" }, { 1 } }, -EINVAL,
	       "was not read");
	ops->destroy(made);
}

static void pools_are_those_of_rms(void **state)
{
	struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX];

	assert_int_equal(ops->pools(*state, specs), ELAN3_POOL_COUNT);
	assert_string_equal(specs[ELAN3_POOL_PROGRAM].name, "program");
	assert_int_equal(specs[ELAN3_POOL_PROGRAM].positions, 0);
	assert_string_equal(specs[ELAN3_POOL_CONTEXT].name, "context");
	assert_string_equal(specs[ELAN3_POOL_CONTEXT].universe, "1024-2046");
	assert_int_equal(specs[ELAN3_POOL_CONTEXT].positions, ELAN_ID_MAX + 1);
}

/* --- plans --- */

static void a_job_gets_a_program_a_run_and_a_key(void **state)
{
	const struct asked asked = { "", 3, { "n7", "n2", "n5" }, { 1, 4, 2 } };
	struct fairlead_plan plan = planned(*state, &asked);
	const struct fairlead_run *run = &plan.runs[ELAN3_POOL_CONTEXT];

	assert_int_equal(plan.counts[ELAN3_POOL_PROGRAM], 1);
	assert_int_equal(plan.counts[ELAN3_POOL_CONTEXT], 0);
	assert_int_equal(run->low, 2);
	assert_int_equal(run->high, 7);
	assert_int_equal(run->length, 4);
	assert_int_equal(plan.secret_size, ELAN3_KEY_SIZE);
	assert_true(plan.has_lane && plan.is_fatal);
	assert_string_equal(plan.options, "layout=block,rails=0,contexts=4");
}

static void each_rail_set_has_a_key(void **state)
{
	const struct asked asked = {
		"rails=0+2:1,layout=cyclic,contexts=8", 1, { "n0" }, { 2 }
	};
	struct fairlead_plan plan = planned(*state, &asked);

	assert_int_equal(plan.secret_size, 2 * ELAN3_KEY_SIZE);
	assert_int_equal(plan.runs[ELAN3_POOL_CONTEXT].length, 8);
	assert_string_equal(plan.options,
			    "layout=cyclic,rails=0+2:1,contexts=8");
}

static void off_is_no_lane(void **state)
{
	struct fairlead_plan plan =
		planned(*state, &(struct asked){ "off", 1, { "x" }, { 1 } });

	assert_false(plan.has_lane);
	assert_int_equal(plan.secret_size, 0);
	assert_string_equal(plan.options, "off");
	assert_string_equal(plan.reason, "disabled by user request");
}

static void what_cannot_be_is_refused_by_name(void **state)
{
	refuse(*state, &(struct asked){ "", 2, { "n1", "m1" }, { 1, 1 } },
	       -EINVAL, "1 node without an ElanID: m1");
	refuse(*state, &(struct asked){ "", 2, { "n3", "e3" }, { 1, 1 } },
	       -EINVAL, "both have ElanID 3");
	refuse(*state, &(struct asked){ "contexts=3", 1, { "n1" }, { 4 } },
	       -EINVAL, "4 tasks, which are more than the job's 3 contexts");
	refuse(*state, &(struct asked){ "rails=3", 1, { "n1" }, { 1 } },
	       -EINVAL, "'3' is no rail, 0 to 2");
	refuse(*state, &(struct asked){ "", 2, { "n0", "n1000" }, { 1, 17 } },
	       -EINVAL, "17017 virtual processes, and the most are 16384");
	refuse(*state,
	       &(struct asked){ "contiguous", 2, { "n0", "n2" }, { 1, 1 } },
	       -EINVAL, "'contiguous': 2 nodes are not all of the ElanIDs 0-2");
	planned(*state,
		&(struct asked){ "contiguous", 2, { "n1", "n0" }, { 1, 1 } });
}

static void what_is_reported_down_is_refused(void **state)
{
	refuse(*state, &(struct asked){ "", 2, { "n11", "n12" }, { 1, 1 } },
	       -EHOSTDOWN, "1 node reported down on the Elan: n12");
	refuse(*state, &(struct asked){ "rails=0+1", 1, { "n13" }, { 1 } },
	       -EHOSTDOWN, "n13");
	planned(*state, &(struct asked){ "rails=0+2", 1, { "n13" }, { 1 } });
	/* Beside a port that is down one may be in between. */
	planned(*state, &(struct asked){ "", 2, { "n11", "n14" }, { 1, 1 } });
}

static void more_contexts_than_follow_each_other_are_refused(void **state)
{
	const struct fairlead_setting list[] = {
		hosts_of(HOSTS),
		setting("contexts", "1024-1027,1029-1034"),
	};
	void *made = configured(list, 2);

	planned(made, &(struct asked){ "", 1, { "n0" }, { 6 } });
	refuse(made, &(struct asked){ "", 1, { "n0" }, { 7 } }, -EINVAL,
	       "no more than 6 of the configured ones");
	ops->destroy(made);
}

static void more_nodes_than_can_be_sealed_to_are_refused(void **state)
{
	enum {
		COUNT = FAIRLEAD_SECRET_NODES_MAX + 1
	};
	const struct fairlead_setting list[] = {
		hosts_of("eip [0-1024] n[0-1024]\n"),
	};
	void *made = configured(list, 1);
	static char names[COUNT][8];
	static const char *nodes[COUNT];
	static uint32_t tasks[COUNT];
	struct fairlead_driver_request request = { .options = "",
						   .node_count = COUNT,
						   .nodes = nodes,
						   .cores = tasks,
						   .tasks = tasks };
	struct fairlead_error error = { 0 };
	struct fairlead_plan plan;

	for (size_t i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof(names[i]), "n%zu", i);
		nodes[i] = names[i];
		tasks[i] = 1;
	}
	assert_int_equal(ops->reserve(made, &request, &plan, &error), -EINVAL);
	assert_non_null(strstr(error.text, "1025 nodes, and 1024 is the most"));
	request.node_count--;
	assert_int_equal(ops->reserve(made, &request, &plan, &error), 0);
	ops->destroy(made);
}

/* --- secrets --- */

struct packed {
	struct fairlead_lane lane;
	struct fairlead_plan plan;
	struct fairlead_pack pack;
	uint8_t secret[2 * ELAN3_KEY_SIZE];
};

/* As the core would for a job, with contexts from 1030 on. */
static void packed_init(void *state, const struct asked *asked,
			struct packed *packed)
{
	*packed = (struct packed){ .plan = planned(state, asked) };
	packed->lane = (struct fairlead_lane){
		.id_count = ELAN3_ID_COUNT,
		.ids = { 77, 1030,
			 1029 + packed->plan.runs[ELAN3_POOL_CONTEXT].length },
	};
	strcpy(packed->lane.options, packed->plan.options);
	for (size_t i = 0; i < sizeof(packed->secret); i++)
		packed->secret[i] = (uint8_t)i;
	packed->pack = (struct fairlead_pack){
		.lane = &packed->lane,
		.runs = packed->plan.runs,
		.node_count = asked->count,
		.nodes = asked->nodes,
		.tasks = asked->tasks,
		.secret = packed->secret,
		.secret_size = packed->plan.secret_size,
	};
}

static void secrets_become_the_capabilities_of_the_job(void **state)
{
	const struct asked asked = {
		"rails=0:1+2", 2, { "n5", "n4" }, { 2, 1 }
	};
	_auto_(freep) uint8_t *bytes = NULL;
	struct fairlead_error error = { 0 };
	struct elan3_reply reply;
	struct packed packed;
	size_t size;

	packed_init(*state, &asked, &packed);
	assert_int_equal(ops->pack(*state, &packed.pack, &bytes, &size, &error),
			 0);
	assert_int_equal(elan3_reply_decode(bytes, size, &reply, &error), 0);
	assert_int_equal(reply.program, 77);
	assert_int_equal(reply.cap_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct elan_capability *cap = &reply.caps[i];

		assert_int_equal(cap->cap_lownode, 4);
		assert_int_equal(cap->cap_highnode, 5);
		assert_int_equal(cap->cap_lowcontext, 1030);
		assert_int_equal(cap->cap_highcontext, 1031);
		assert_int_equal(cap->cap_railmask, i == 0 ? 1 : 6);
		assert_int_equal(cap->cap_bitmap[0],
				 1u << 0 | 1u << 2 | 1u << 3);
		assert_memory_equal(&cap->cap_userkey,
				    packed.secret + i * ELAN3_KEY_SIZE,
				    ELAN3_KEY_SIZE);
	}
	elan3_reply_fini(&reply);
}

static void a_job_whose_nodes_have_moved_is_not_packed(void **state)
{
	const struct fairlead_setting list[] = {
		hosts_of("eip [10-25] n[0-15]\n"),
		setting("rails", "3"),
	};
	const struct asked asked = { "", 2, { "n5", "n4" }, { 2, 1 } };
	void *other = configured(list, 2);
	struct fairlead_error error = { 0 };
	struct packed packed;
	uint8_t *bytes = NULL;
	size_t size;

	packed_init(*state, &asked, &packed);
	assert_int_equal(ops->pack(other, &packed.pack, &bytes, &size, &error),
			 -EINVAL);
	assert_string_equal(error.text,
			    "the ElanIDs of its nodes were 4-5 when it was "
			    "reserved, and are 14-15");
	packed.pack.secret_size--;
	assert_int_equal(ops->pack(*state, &packed.pack, &bytes, &size, &error),
			 -EINVAL);
	assert_null(bytes);
	ops->destroy(other);
}

static void what_is_described_has_no_secret(void **state)
{
	struct fairlead_lane lane = { .id_count = 3,
				      .ids = { 77, 1030, 1033 } };
	const char *name;
	char *text;

	assert_int_equal(ops->describe(*state, &lane, "", &name, &text), 0);
	assert_string_equal(name, "elan3");
	assert_string_equal(text, "{\"reservation\":{\"program\":77,"
				  "\"contexts\":[1030,1033]}}");
	free(text);
	lane.id_count = 0;
	assert_int_equal(ops->describe(*state, &lane, "off", &name, &text), 0);
	assert_string_equal(text,
			    "{\"reservation\":{},\"empty-reason\":\"off\"}");
	free(text);
}

/* --- places --- */

static int assemble(void *state, const char *options,
		    const struct elan3_place *place,
		    struct fairlead_error *error)
{
	static const char *const nodes[] = { "n7" };
	struct fairlead_place places = { 0 };
	struct fairlead_lane lane = { 0 };
	uint8_t *bytes;
	size_t size;

	strcpy(lane.options, options);
	if (place)
		elan3_place_encode(place, &places);
	return ops->assemble(state, &lane, nodes, &places, 1, &bytes, &size,
			     error);
}

static void nodes_have_to_be_where_the_file_has_them(void **state)
{
	const struct elan3_place good = {
		.rail_count = 2,
		.rails = { { ELAN3_PORT_UP, 7 }, { ELAN3_PORT_DOWN, 7 } },
	};
	const struct elan3_place other = { .rail_count = 1,
					   .rails = { { ELAN3_PORT_UP, 8 } } };
	struct fairlead_error error = { 0 };

	assert_int_equal(
		assemble(*state, "layout=block,rails=0", &good, &error), 0);
	assert_int_equal(assemble(*state, "layout=block,rails=0+1", &good,
				  &error),
			 -EINVAL);
	assert_string_equal(error.text,
			    "node 'n7': reports its port on rail 1 down");
	assert_int_equal(assemble(*state, "layout=block,rails=0", &other,
				  &error),
			 -EINVAL);
	assert_string_equal(error.text, "node 'n7': is ElanID 8 on rail 0, and "
					"7 by the file");
	assert_int_equal(assemble(*state, "layout=block,rails=0", NULL, &error),
			 -EINVAL);
	assert_non_null(strstr(error.text, "'n7' has not reported"));
}

/* By rising ElanIDs, whatever the order of the job's nodes. */
static void nodes_get_the_addresses_of_other_adapters(void **state)
{
	static const char *const nodes[] = { "n7", "n5", "n6" };
	struct fairlead_place places[3];
	struct fairlead_error error = { 0 };
	struct fairlead_lane lane = { .options = "layout=block,rails=0" };
	struct route *routes = NULL;
	uint8_t *bytes = NULL;
	size_t size = 0, count = 0;

	for (uint32_t i = 0; i < 3; i++) {
		struct elan3_place place = {
			.rail_count = 1,
			.rails = { { ELAN3_PORT_UP,
				     7 - (i == 0 ? 0 : 3 - i) } },
		};

		/* The last one has none. */
		if (i < 2)
			place.adapter = (struct route){
				.family = 4,
				.address = { 10, 0, 0, (uint8_t)i },
				.port = 7174,
			};
		elan3_place_encode(&place, &places[i]);
	}
	assert_int_equal(ops->assemble(*state, &lane, nodes, places, 3, &bytes,
				       &size, &error),
			 0);
	assert_int_equal(routes_decode(bytes, size, &routes, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(routes[0].node, 5);
	assert_int_equal(routes[0].address[3], 1);
	assert_int_equal(routes[1].node, 7);
	assert_int_equal(routes[1].address[3], 0);
	assert_int_equal(routes[1].port, 7174);
	free(routes);
	free(bytes);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_file_has_to_say_who_has_which_elan_id),
		T(genders_with_another_attribute_will_do),
		T(a_file_that_was_not_read_gives_no_lane),
		T(pools_are_those_of_rms),
		T(a_job_gets_a_program_a_run_and_a_key),
		T(each_rail_set_has_a_key),
		T(off_is_no_lane),
		T(what_cannot_be_is_refused_by_name),
		T(what_is_reported_down_is_refused),
		T(more_contexts_than_follow_each_other_are_refused),
		T(more_nodes_than_can_be_sealed_to_are_refused),
		T(secrets_become_the_capabilities_of_the_job),
		T(a_job_whose_nodes_have_moved_is_not_packed),
		T(what_is_described_has_no_secret),
		T(nodes_have_to_be_where_the_file_has_them),
		T(nodes_get_the_addresses_of_other_adapters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
