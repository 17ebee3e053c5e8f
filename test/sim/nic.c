/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of library functions is the driver's seam. A device that the
 * driver opens is a client of the model with all privileges; processes of
 * users are clients without.
 *
 * What the driver made is remembered beside the model, to report what goes with
 * a NIC that disappears.
 */
#include "nic.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct made {
	struct hardware_service service;
	struct made *prev, *next;
};

/* A process that keeps an LNI. */
struct holder {
	uint32_t uid;
	struct softnic_client *client;
	struct holder *prev, *next;
};

struct hardware {
	struct hardware_options options;
	struct softnic *softnic;
	struct cxi_library library;
	struct slingshot_node driver_state;
	struct made *made;
	struct holder *holders;
	bool is_dead;
};

/* A device that the driver has open. */
struct device {
	struct cxil_dev dev; /* what the driver sees; first */
	struct hardware *hardware;
	struct softnic_client *client;
};

/* The library's functions do not say which node they are on. */
static struct hardware *chosen;

void hardware_choose(struct hardware *hardware)
{
	chosen = hardware;
}

static void advance(struct hardware *hardware)
{
	softnic_advance(hardware->softnic,
			world_now_ms(hardware->options.world));
}

/* True when the daemon is dead, perhaps since now. */
static bool dies(struct hardware *hardware)
{
	if (!hardware->is_dead)
		hardware->is_dead =
			hardware->options.events->step(hardware->options.ctx);
	return hardware->is_dead;
}

/* --- what was made --- */

static struct made *made_find(const struct hardware *hardware, uint32_t nic,
			      uint32_t svc_id)
{
	struct made *made;

	DL_FOREACH (hardware->made, made) {
		if (made->service.nic == nic && made->service.svc_id == svc_id)
			return made;
	}
	return NULL;
}

static void made_add(struct hardware *hardware, uint32_t nic, uint32_t svc_id,
		     const struct cxi_svc_desc *desc)
{
	struct made *made = world_allocate(sizeof(*made));

	made->service.nic = nic;
	made->service.svc_id = svc_id;
	made->service.uid = UINT32_MAX;
	if (desc->restricted_members &&
	    desc->members[0].type == CXI_SVC_MEMBER_UID &&
	    desc->members[1].type == CXI_SVC_MEMBER_IGNORE)
		made->service.uid = desc->members[0].svc_member.uid;
	if (desc->restricted_vnis)
		made->service.vni_count = desc->num_vld_vnis;
	memcpy(made->service.vnis, desc->vnis, sizeof(made->service.vnis));
	DL_APPEND(hardware->made, made);
	hardware->options.events->made(hardware->options.ctx, &made->service);
}

static void made_remove(struct hardware *hardware, struct made *made)
{
	uint32_t nic = made->service.nic;
	uint32_t svc_id = made->service.svc_id;

	DL_DELETE(hardware->made, made);
	free(made);
	hardware->options.events->gone(hardware->options.ctx, nic, svc_id);
}

static void made_fini(struct hardware *hardware)
{
	struct made *made, *next;

	DL_FOREACH_SAFE (hardware->made, made, next) {
		DL_DELETE(hardware->made, made);
		free(made);
	}
}

/* --- the library --- */

static int get_device_list(struct cxil_device_list **ret_list)
{
	struct cxil_devinfo infos[SOFTNIC_NIC_MAX];
	struct cxil_device_list *list;
	int count;

	if (dies(chosen))
		return -EIO;
	advance(chosen);
	count = softnic_device_list(chosen->softnic, infos);
	if (count < 0)
		return count;
	list = world_allocate(sizeof(*list) +
			      (size_t)count * sizeof(list->info[0]));
	list->count = (uint32_t)count;
	memcpy(list->info, infos, (size_t)count * sizeof(list->info[0]));
	*ret_list = list;
	return 0;
}

static void free_device_list(struct cxil_device_list *list)
{
	free(list);
}

static int open_device(uint32_t dev_id, struct cxil_dev **ret_dev)
{
	const struct softnic_caller root = { .is_privileged = true };
	struct device *device;
	int result;

	if (dies(chosen))
		return -EIO;
	advance(chosen);
	device = world_allocate(sizeof(*device));
	device->hardware = chosen;
	result = softnic_open(chosen->softnic, &root, dev_id, &device->client);
	if (result < 0) {
		free(device);
		return result;
	}
	softnic_device_info(device->client, &device->dev.info);
	*ret_dev = &device->dev;
	return 0;
}

static void close_device(struct cxil_dev *dev)
{
	struct device *device = (struct device *)dev;

	if (device == NULL)
		return;
	softnic_close(device->client);
	free(device);
}

static int get_svc_list(struct cxil_dev *dev, struct cxil_svc_list **ret_list)
{
	struct device *device = (struct device *)dev;
	struct cxi_svc_desc *descs;
	struct cxil_svc_list *list;
	int count;

	if (dies(device->hardware))
		return -EIO;
	advance(device->hardware);
	descs = world_allocate(SOFTNIC_SERVICE_MAX * sizeof(*descs));
	count = softnic_service_list(device->client, descs,
				     SOFTNIC_SERVICE_MAX);
	if (count >= 0) {
		list = world_allocate(sizeof(*list) +
				      (size_t)count * sizeof(list->descs[0]));
		list->count = (uint32_t)count;
		memcpy(list->descs, descs,
		       (size_t)count * sizeof(list->descs[0]));
		*ret_list = list;
	}
	free(descs);
	return count < 0 ? count : 0;
}

static void free_svc_list(struct cxil_svc_list *list)
{
	free(list);
}

static int alloc_svc(struct cxil_dev *dev, const struct cxi_svc_desc *desc,
		     struct cxi_svc_fail_info *ret_fail_info)
{
	struct device *device = (struct device *)dev;
	int result;

	if (dies(device->hardware))
		return -EIO;
	advance(device->hardware);
	result = softnic_service_alloc(device->client, desc, ret_fail_info);
	if (result > 0)
		made_add(device->hardware, device->dev.info.dev_id,
			 (uint32_t)result, desc);
	return dies(device->hardware) ? -EIO : result;
}

static int destroy_svc(struct cxil_dev *dev, unsigned int svc_id)
{
	struct device *device = (struct device *)dev;
	struct hardware *hardware = device->hardware;
	struct made *made;
	int result;

	if (dies(hardware))
		return -EIO;
	advance(hardware);
	made = made_find(hardware, device->dev.info.dev_id, svc_id);
	result = softnic_service_destroy(device->client, svc_id);
	if (result == 0 && made != NULL)
		made_remove(hardware, made);
	return dies(hardware) ? -EIO : result;
}

static int get_svc_rsrc_use(struct cxil_dev *dev, unsigned int svc_id,
			    struct cxi_rsrc_use *ret_use)
{
	struct device *device = (struct device *)dev;

	if (dies(device->hardware))
		return -EIO;
	advance(device->hardware);
	return softnic_service_use(device->client, svc_id, ret_use);
}

static int svc_get_vni_range(struct cxil_dev *dev, unsigned int svc_id,
			     uint16_t *ret_vni_min, uint16_t *ret_vni_max)
{
	struct device *device = (struct device *)dev;

	if (dies(device->hardware))
		return -EIO;
	return softnic_service_get_vni_range(device->client, svc_id,
					     ret_vni_min, ret_vni_max);
}

/* --- the hardware --- */

struct hardware *hardware_create(const struct hardware_options *options)
{
	struct hardware *hardware = world_allocate(sizeof(*hardware));
	struct softnic_config config;

	hardware->options = *options;
	softnic_config_init(&config);
	config.nic_count = options->nic_count;
	config.generation = options->generation;
	config.cleanup_ms = options->cleanup_ms;
	if (softnic_create(&config, &hardware->softnic) < 0)
		abort();
	hardware->library = (struct cxi_library){
		.is_emulated = true,
		.get_device_list = get_device_list,
		.free_device_list = free_device_list,
		.open_device = open_device,
		.close_device = close_device,
		.get_svc_list = get_svc_list,
		.free_svc_list = free_svc_list,
		.alloc_svc = alloc_svc,
		.destroy_svc = destroy_svc,
		.get_svc_rsrc_use = get_svc_rsrc_use,
		.svc_get_vni_range = svc_get_vni_range,
	};
	hardware->driver_state = (struct slingshot_node){
		.library = &hardware->library,
		.device_path = (char *)"/nonexistent",
		.requires_devices = true,
	};
	return hardware;
}

void hardware_destroy(struct hardware *hardware)
{
	if (hardware == NULL)
		return;
	if (chosen == hardware)
		chosen = NULL;
	hardware_let_all_go(hardware);
	made_fini(hardware);
	softnic_destroy(hardware->softnic);
	free(hardware);
}

struct slingshot_node *hardware_driver_state(struct hardware *hardware)
{
	return &hardware->driver_state;
}

void hardware_kill(struct hardware *hardware)
{
	hardware->is_dead = true;
}

void hardware_revive(struct hardware *hardware)
{
	hardware->is_dead = false;
}

void hardware_reset(struct hardware *hardware)
{
	hardware_let_all_go(hardware);
	made_fini(hardware);
	if (softnic_reboot(hardware->softnic) < 0)
		abort();
}

void hardware_fail(struct hardware *hardware, enum softnic_op op, int error,
		   uint64_t nth, uint64_t count)
{
	const struct softnic_fault fault = {
		.op = op,
		.nic = SOFTNIC_ANY_NIC,
		.error = error,
		.nth = nth,
		.count = count,
	};

	/* With too many at once the last one is left out. */
	(void)softnic_fault_add(hardware->softnic, &fault);
}

void hardware_busy(struct hardware *hardware, uint32_t nic, uint32_t svc_id,
		   uint64_t duration_ms)
{
	advance(hardware);
	(void)softnic_service_busy(hardware->softnic, nic, svc_id, duration_ms);
}

void hardware_heal(struct hardware *hardware)
{
	softnic_fault_clear(hardware->softnic);
	hardware_let_all_go(hardware);
	for (uint32_t i = 0; i < hardware->options.nic_count; i++)
		(void)softnic_nic_restore(hardware->softnic, i);
}

uint64_t hardware_fault_count(const struct hardware *hardware)
{
	uint64_t sum = 0;

	for (int op = 0; op < SOFTNIC_OP_COUNT; op++) {
		uint64_t calls, faults;

		softnic_op_count(hardware->softnic, op, &calls, &faults);
		sum += faults;
	}
	return sum;
}

bool hardware_remove(struct hardware *hardware, uint32_t nic)
{
	struct made *made, *next;

	if (softnic_nic_remove(hardware->softnic, nic) < 0)
		return false;
	DL_FOREACH_SAFE (hardware->made, made, next) {
		if (made->service.nic == nic)
			made_remove(hardware, made);
	}
	return true;
}

bool hardware_restore(struct hardware *hardware, uint32_t nic)
{
	return softnic_nic_restore(hardware->softnic, nic) == 0;
}

bool hardware_is_present(const struct hardware *hardware, uint32_t nic)
{
	return softnic_nic_is_present(hardware->softnic, nic);
}

/* --- processes of users --- */

static int open_as(struct hardware *hardware, uint32_t uid, uint32_t nic,
		   struct softnic_client **ret_client)
{
	const struct softnic_caller caller = { .uid = uid, .gid = uid };

	advance(hardware);
	return softnic_open(hardware->softnic, &caller, nic, ret_client);
}

int hardware_try(struct hardware *hardware, uint32_t uid, uint32_t nic,
		 uint32_t svc_id)
{
	struct softnic_client *client;
	uint32_t lni_id;
	int result = open_as(hardware, uid, nic, &client);

	if (result < 0)
		return result;
	result = softnic_lni_alloc(client, svc_id, &lni_id);
	softnic_close(client);
	return result;
}

int hardware_hold(struct hardware *hardware, uint32_t uid, uint32_t nic,
		  uint32_t svc_id)
{
	struct softnic_client *client;
	struct holder *holder;
	uint32_t lni_id;
	int result = open_as(hardware, uid, nic, &client);

	if (result < 0)
		return result;
	result = softnic_lni_alloc(client, svc_id, &lni_id);
	if (result < 0) {
		softnic_close(client);
		return result;
	}
	holder = world_allocate(sizeof(*holder));
	holder->uid = uid;
	holder->client = client;
	DL_APPEND(hardware->holders, holder);
	return 0;
}

static void let_go(struct hardware *hardware, struct holder *holder)
{
	DL_DELETE(hardware->holders, holder);
	softnic_close(holder->client);
	free(holder);
}

void hardware_let_go(struct hardware *hardware, uint32_t uid)
{
	struct holder *holder, *next;

	advance(hardware);
	DL_FOREACH_SAFE (hardware->holders, holder, next) {
		if (holder->uid == uid)
			let_go(hardware, holder);
	}
}

void hardware_let_all_go(struct hardware *hardware)
{
	advance(hardware);
	while (hardware->holders != NULL)
		let_go(hardware, hardware->holders);
}

int hardware_foreign_make(struct hardware *hardware, uint32_t nic, uint32_t uid,
			  uint16_t vni)
{
	const struct softnic_caller root = { .is_privileged = true };
	const struct cxi_svc_desc desc = {
		.restricted_members = 1,
		.restricted_vnis = 1,
		.enable = 1,
		.num_vld_vnis = 1,
		.vnis = { vni },
		.members = { { .svc_member.uid = uid,
			       .type = CXI_SVC_MEMBER_UID } },
	};
	struct cxi_svc_fail_info fail_info;
	struct softnic_client *client;
	int result;

	advance(hardware);
	result = softnic_open(hardware->softnic, &root, nic, &client);
	if (result < 0)
		return result;
	result = softnic_service_alloc(client, &desc, &fail_info);
	softnic_close(client);
	if (result > 0)
		made_add(hardware, nic, (uint32_t)result, &desc);
	return result;
}

bool hardware_has(const struct hardware *hardware, uint32_t nic,
		  uint32_t svc_id, uint32_t uid)
{
	const struct made *made = made_find(hardware, nic, svc_id);

	return made != NULL && made->service.uid == uid;
}

int hardware_foreign_destroy(struct hardware *hardware, uint32_t nic,
			     uint32_t svc_id)
{
	const struct softnic_caller root = { .is_privileged = true };
	struct made *made = made_find(hardware, nic, svc_id);
	struct softnic_client *client;
	int result;

	advance(hardware);
	result = softnic_open(hardware->softnic, &root, nic, &client);
	if (result < 0)
		return result;
	result = softnic_service_destroy(client, svc_id);
	softnic_close(client);
	if (result == 0 && made != NULL)
		made_remove(hardware, made);
	return result;
}

unsigned int hardware_count(const struct hardware *hardware)
{
	const struct softnic_caller root = { .is_privileged = true };
	struct cxi_svc_desc *descs =
		world_allocate(SOFTNIC_SERVICE_MAX * sizeof(*descs));
	unsigned int sum = 0;

	for (uint32_t nic = 0; nic < hardware->options.nic_count; nic++) {
		struct softnic_client *client;
		int count;

		if (softnic_open(hardware->softnic, &root, nic, &client) < 0)
			continue;
		count = softnic_service_list(client, descs,
					     SOFTNIC_SERVICE_MAX);
		for (int i = 0; i < count; i++)
			sum += !descs[i].is_system_svc &&
			       descs[i].svc_id != CXI_DEFAULT_SVC_ID;
		softnic_close(client);
	}
	free(descs);
	return sum;
}
