/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flags of operations that have none, and aliases: ways to an endpoint with
 * others.
 */
#include <stdlib.h>

#include "link/endpoint.h"

/* Those that a command is about: of one direction, or NULL. */
static uint64_t *flags_at(struct ep_face *face, uint64_t command)
{
	switch (command & (FI_TRANSMIT | FI_RECV)) {
	case FI_TRANSMIT:
		return &face->send_flags;
	case FI_RECV:
		return &face->receive_flags;
	default:
		return NULL;
	}
}

static int flags_get(struct ep_face *face, uint64_t *flags)
{
	const uint64_t *at = flags_at(face, *flags);

	if (at == NULL)
		return -FI_EINVAL;
	*flags = *at;
	return 0;
}

static int flags_set(struct ep_face *face, uint64_t flags)
{
	uint64_t *at = flags_at(face, flags);

	if (at == NULL)
		return -FI_EINVAL;
	*at = flags & ~(FI_TRANSMIT | FI_RECV);
	return 0;
}

static int alias_close(struct fid *fid)
{
	struct ep_face *alias = (struct ep_face *)fid;

	__atomic_sub_fetch(&alias->ep->aliases, 1, __ATOMIC_ACQ_REL);
	free(alias);
	return 0;
}

static struct fi_ops alias_ops = {
	.size = sizeof(alias_ops),
	.close = alias_close,
	.bind = no_bind,
	.control = ep_control,
	.ops_open = no_ops_open,
};

static int alias_open(const struct ep_face *of, const struct fi_alias *want)
{
	struct ep_face *alias = malloc(sizeof(*alias));

	if (alias == NULL)
		return -FI_ENOMEM;
	*alias = *of;
	if (flags_set(alias, want->flags) != 0) {
		free(alias);
		return -FI_EINVAL;
	}
	alias->fid.fid.ops = &alias_ops;
	__atomic_add_fetch(&of->ep->aliases, 1, __ATOMIC_ACQ_REL);
	*want->fid = &alias->fid.fid;
	return 0;
}

int ep_control(struct fid *fid, int command, void *arg)
{
	struct ep_face *face = (struct ep_face *)fid;

	switch (command) {
	case FI_ENABLE:
		return ep_enable(face->ep);
	case FI_ALIAS:
		return alias_open(face, arg);
	case FI_GETOPSFLAG:
		return flags_get(face, arg);
	case FI_SETOPSFLAG:
		return flags_set(face, *(const uint64_t *)arg);
	default:
		return -FI_ENOSYS;
	}
}
