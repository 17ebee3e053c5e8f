/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many nodes can be connected to the manager at once: what the limit of
 * descriptors of its process leaves for their links. With less than there are
 * nodes some stay down when all come at once, as after a start.
 */
#pragma once

#include <stddef.h>

#include "base/log.h"
#include "lanes/config/config.h"
#include "sys/descriptors.h"

/* Connections that are not yet being closed; the rest is for last words. */
size_t room_sessions(const struct descriptor_shares *shares);
/*
 * Warn when the configured nodes are more than that, and say what limit would
 * do. roles: how many this process has, which share its limit.
 */
void room_check(const struct config *config, size_t roles,
		const struct descriptor_shares *shares, const struct log *log);
