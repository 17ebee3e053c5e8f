/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may use a service. A service without restricted members is open;
 * otherwise each UID and GID member is an entry, IGNORE is none, and a
 * NET_NS member gets its namespace later. Root is nobody special here.
 */
#include "emu/cxi/core/model.h"

#include <errno.h>

static int add_entry(uint32_t *ids, unsigned int *count, uint32_t id)
{
	if (id == UINT32_MAX)
		return -EBADR;
	for (unsigned int i = 0; i < *count; i++) {
		if (ids[i] == id)
			return -EEXIST;
	}
	ids[(*count)++] = id;
	return 0;
}

int access_init(struct softnic_access *access, const struct cxi_svc_desc *desc)
{
	*access =
		(struct softnic_access){ .is_open = !desc->restricted_members };
	if (access->is_open)
		return 0;

	for (unsigned int i = 0; i < CXI_SVC_MAX_MEMBERS; i++) {
		const struct cxi_svc_member *member = &desc->members[i];
		int result = 0;

		if (member->type == CXI_SVC_MEMBER_UID)
			result = add_entry(access->uids, &access->uid_count,
					   member->svc_member.uid);
		else if (member->type == CXI_SVC_MEMBER_GID)
			result = add_entry(access->gids, &access->gid_count,
					   member->svc_member.gid);
		if (result < 0)
			return result;
	}
	return 0;
}

bool access_admits(const struct softnic_access *access,
		   const struct softnic_caller *caller)
{
	for (unsigned int i = 0; i < access->uid_count; i++) {
		if (access->uids[i] == caller->uid)
			return true;
	}
	for (unsigned int i = 0; i < access->gid_count; i++) {
		if (access->gids[i] == caller->gid)
			return true;
	}
	if (access->has_netns && caller->netns != 0 &&
	    access->netns == caller->netns)
		return true;
	return access->is_open;
}
