/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment of a process is whoever's that started it. Of libfabric's
 * variables each may change which provider there is, its buffers or where it
 * listens, against the configuration: they go, but for those of its log. Of
 * psm, which comes with it, handling SIGSEGV and the like is turned off.
 */
#pragma once

/* Before libfabric is loaded, while there is one thread. -ENOMEM. */
int environment_prepare(const char *provider);
