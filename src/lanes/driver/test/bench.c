/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/test/bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "lanes/driver/slingshot/libcxi_abi.h"

static const struct fairlead_node_ops *const ops = &slingshot_node_ops;

static void add_warning(struct fairlead_warnings *warnings, const char *text)
{
	struct bench *bench = (struct bench *)warnings;
	size_t used = strlen(bench->all_warnings);

	bench->warning_count++;
	snprintf(bench->all_warnings + used, sizeof(bench->all_warnings) - used,
		 "%s\n", text);
}

struct bench *bench_create(void)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->warnings.add = add_warning;
	return bench;
}

int bench_open(struct bench *bench, const char *name, const char *value)
{
	struct fairlead_setting list[SOFTNIC_SETTINGS + 1];
	size_t count = SOFTNIC_SETTINGS;

	memcpy(list, bench->softnic.settings, sizeof(bench->softnic.settings));
	if (name)
		list[count++] = (struct fairlead_setting){ name, value, 9 };
	if (ops->open(list, count, &bench->state, &bench->error) < 0)
		fail_msg("open failed: %s", bench->error.text);
	return 0;
}

int bench_start_one(void **state)
{
	return bench_start(state, "--nics", "1");
}

int bench_start_two(void **state)
{
	return bench_start(state, "--nics", "2");
}

int bench_stop(void **state)
{
	struct bench *bench = *state;

	ops->close(bench->state);
	softnic_stop(&bench->softnic);
	free(bench);
	return 0;
}

struct fairlead_lane bench_lane(uint32_t vni, uint32_t cores)
{
	return (struct fairlead_lane){
		.grant_id = vni,
		.uid = softnic_owner(),
		.gid = softnic_owner(),
		.cores = cores,
		.tasks = cores,
		.id_count = 1,
		.ids = { vni },
		.options = "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT",
	};
}

static void forget(struct bench *bench)
{
	bench->warning_count = 0;
	bench->all_warnings[0] = '\0';
	bench->error = (struct fairlead_error){ 0 };
}

int bench_apply(struct bench *bench, const struct fairlead_lane *lane,
		struct fairlead_record *record)
{
	forget(bench);
	return ops->apply(bench->state, lane, false, record, &bench->warnings,
			  &bench->error);
}

void bench_apply_well(struct bench *bench, const struct fairlead_lane *lane)
{
	struct fairlead_record record;

	if (bench_apply(bench, lane, &record) < 0)
		fail_msg("apply failed: %s", bench->error.text);
}

int bench_revoke(struct bench *bench, const struct fairlead_lane *lane)
{
	struct fairlead_record record = { 0 };

	forget(bench);
	return ops->revoke(bench->state, lane, &record, false, &bench->warnings,
			   &bench->error);
}

static void collect(void *arg, const struct fairlead_object *object)
{
	struct bench *bench = arg;

	assert_true(bench->object_count < BENCH_OBJECTS_MAX);
	bench->objects[bench->object_count++] = *object;
}

uint32_t bench_services(struct bench *bench)
{
	uint32_t count = 0;

	bench->object_count = 0;
	assert_int_equal(ops->list(bench->state, collect, bench, &bench->error),
			 0);
	for (uint32_t i = 0; i < bench->object_count; i++)
		count += !(bench->objects[i].flags &
			   (FAIRLEAD_OBJECT_DEFAULT | FAIRLEAD_OBJECT_SYSTEM));
	return count;
}

uint32_t bench_make_foreign(struct bench *bench, uint32_t dev_id, uint32_t uid,
			    uint16_t vni)
{
	void *library = dlopen(bench->softnic.settings[0].value, RTLD_NOW);
	__typeof__(&cxil_open_device) open_device;
	__typeof__(&cxil_close_device) close_device;
	__typeof__(&cxil_alloc_svc) alloc_svc;
	const struct cxi_svc_desc desc = {
		.restricted_members = 1,
		.restricted_vnis = 1,
		.resource_limits = 1,
		.num_vld_vnis = 1,
		.vnis = { vni },
		.members = { { .type = CXI_SVC_MEMBER_UID,
			       .svc_member.uid = uid } },
	};
	struct cxil_dev *dev;
	int id;

	assert_non_null(library);
	open_device = dlsym(library, "cxil_open_device");
	close_device = dlsym(library, "cxil_close_device");
	alloc_svc = dlsym(library, "cxil_alloc_svc");
	assert_int_equal(open_device(dev_id, &dev), 0);
	id = alloc_svc(dev, &desc, NULL);
	assert_true(id > 0);
	close_device(dev);
	dlclose(library);
	return (uint32_t)id;
}

void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}
