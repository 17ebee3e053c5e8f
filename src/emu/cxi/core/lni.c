/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logical NIs: what a process holds to use a service. An LNI has an RGID,
 * alone or shared with others of its service; when it is freed, or its
 * process is gone, it stays in cleanup for a while and holds both until then,
 * as transmit queues that drain do in the hardware.
 */
#include "emu/cxi/core/model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/memory.h"

static int take_rgid(struct nic *nic, const struct softnic_svc *service,
		     uint32_t *ret_rgid)
{
	uint32_t lpr = service->lnis_per_rgid;

	for (uint32_t id = 1; id <= RGID_COUNT; id++) {
		struct rgid *rgid = &nic->rgids[id];

		if (rgid->lni_count > 0 && rgid->lni_count < lpr &&
		    rgid->svc_id == service->desc.svc_id) {
			rgid->lni_count++;
			*ret_rgid = id;
			return 0;
		}
	}
	for (uint32_t id = 1; id <= RGID_COUNT; id++) {
		if (nic->rgids[id].lni_count > 0)
			continue;
		nic->rgids[id] = (struct rgid){
			.svc_id = service->desc.svc_id,
			.lni_count = 1,
		};
		*ret_rgid = id;
		return 0;
	}
	return -ENOSPC;
}

/* Give the lowest free id and keep the list in order. */
static void insert(struct nic *nic, struct lni *lni)
{
	struct lni *next;

	lni->id = 1;
	DL_FOREACH (nic->lnis, next) {
		if (next->id != lni->id)
			break;
		lni->id++;
	}
	if (next == NULL)
		DL_APPEND(nic->lnis, lni);
	else
		DL_PREPEND_ELEM(nic->lnis, next, lni);
}

static void drop(struct nic *nic, struct lni *lni)
{
	struct softnic_svc *service = svc_find(nic, lni->svc_id);

	assert(service != NULL && service->lni_count > 0);
	assert(nic->rgids[lni->rgid].lni_count > 0);
	service->lni_count--;
	nic->rgids[lni->rgid].lni_count--;
	if (lni->client == NULL)
		nic->cleanup_count--;
	DL_DELETE(nic->lnis, lni);
	free(lni);
}

static void begin_cleanup(struct nic *nic, struct lni *lni)
{
	lni->client = NULL;
	lni->cleanup_end_ms =
		nic->softnic->now_ms + nic->softnic->config.cleanup_ms;
	nic->cleanup_count++;
}

int softnic_lni_alloc(struct softnic_client *client, uint32_t svc_id,
		      uint32_t *ret_lni_id)
{
	struct nic *nic = client->nic;
	struct lni *lni;
	uint32_t rgid;
	struct softnic_svc *service;
	int result =
		client_service(client, SOFTNIC_OP_ALLOC_LNI, svc_id, &service);

	if (result < 0)
		return result;
	if (!service->desc.enable)
		return -EKEYREVOKED;
	if (!access_admits(&service->access, &client->caller))
		return -EPERM;
	result = take_rgid(nic, service, &rgid);
	if (result < 0)
		return result;
	lni = memory_alloc(sizeof(*lni));
	lni->rgid = rgid;
	lni->svc_id = svc_id;
	lni->owner = client->caller;
	lni->client = client;
	service->lni_count++;
	insert(nic, lni);
	*ret_lni_id = lni->id;
	return 0;
}

int softnic_lni_free(struct softnic_client *client, uint32_t lni_id)
{
	struct nic *nic = client->nic;
	struct lni *lni;
	int result;

	result = client_enter(client, SOFTNIC_OP_DESTROY_LNI);
	if (result < 0)
		return result;
	DL_SEARCH_SCALAR(nic->lnis, lni, id, lni_id);
	if (lni == NULL || lni->client != client)
		return -EINVAL;
	begin_cleanup(nic, lni);
	lni_reap(nic);
	return 0;
}

void lni_abandon(struct nic *nic, const struct softnic_client *client)
{
	struct lni *lni;

	DL_FOREACH (nic->lnis, lni) {
		if (lni->client == client)
			begin_cleanup(nic, lni);
	}
	lni_reap(nic);
}

void lni_reap(struct nic *nic)
{
	struct lni *lni;
	struct lni *next;

	if (nic->cleanup_count == 0)
		return;
	DL_FOREACH_SAFE (nic->lnis, lni, next) {
		if (lni->client == NULL &&
		    lni->cleanup_end_ms <= nic->softnic->now_ms)
			drop(nic, lni);
	}
}

void lni_drop_all(struct nic *nic)
{
	struct lni *lni;
	struct lni *next;

	DL_FOREACH_SAFE (nic->lnis, lni, next) {
		drop(nic, lni);
	}
}
