/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles: which VNIs a service has, which overlaps the driver's generation
 * allows, and the receive entries that enabled profiles hold.
 *
 * 12 knows no profiles: nothing collides and no entry is taken. 13 refuses
 * every overlap on the NIC, also inside one service and with a disabled one.
 * 14 lets exact VNIs coincide and refuses what involves a range.
 */
#include "emu/cxi/core/model.h"

#include <assert.h>
#include <errno.h>

static bool overlaps(const struct profile *a, const struct profile *b)
{
	return a->match <= b->match + b->ignore &&
	       b->match <= a->match + a->ignore;
}

static bool collides(unsigned int generation, const struct profile *a,
		     const struct profile *b)
{
	if (!overlaps(a, b))
		return false;
	return generation < 14 || a->ignore != 0 || b->ignore != 0;
}

static bool collides_with_service(unsigned int generation,
				  const struct softnic_svc *service,
				  const struct profile *profile)
{
	for (unsigned int i = 0; i < service->profile_count; i++) {
		if (collides(generation, &service->profiles[i], profile))
			return true;
	}
	return false;
}

int profile_add(struct nic *nic, struct softnic_svc *service, uint16_t match,
		uint16_t ignore)
{
	unsigned int generation = nic->softnic->config.generation;
	struct profile profile = { .match = match, .ignore = ignore };

	if (generation < 13)
		return 0;
	assert(service->profile_count < CXI_SVC_MAX_VNIS);
	for (unsigned int id = 1; id <= SOFTNIC_SERVICE_MAX; id++) {
		if (nic->services[id] != NULL &&
		    collides_with_service(generation, nic->services[id],
					  &profile))
			return -EEXIST;
	}
	/* A service that is being made is not among them yet. */
	if (collides_with_service(generation, service, &profile))
		return -EEXIST;
	service->profiles[service->profile_count++] = profile;
	return 0;
}

int profile_enable_all(struct nic *nic, struct softnic_svc *service)
{
	/* Its range was refused. */
	if (nic->softnic->config.generation >= 13 &&
	    !service->desc.restricted_vnis && service->desc.num_vld_vnis > 0 &&
	    service->profile_count == 0)
		return -EINVAL;
	for (unsigned int i = 0; i < service->profile_count; i++) {
		struct profile *profile = &service->profiles[i];

		if (profile->is_enabled)
			continue;
		if (nic->receive_entry_count == RECEIVE_ENTRY_COUNT) {
			profile_disable_all(nic, service);
			return -ENOSPC;
		}
		profile->is_enabled = true;
		nic->receive_entry_count++;
	}
	return 0;
}

void profile_disable_all(struct nic *nic, struct softnic_svc *service)
{
	for (unsigned int i = 0; i < service->profile_count; i++) {
		struct profile *profile = &service->profiles[i];

		if (!profile->is_enabled)
			continue;
		assert(nic->receive_entry_count > 0);
		profile->is_enabled = false;
		nic->receive_entry_count--;
	}
}
