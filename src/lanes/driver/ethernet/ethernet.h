/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver for plain Ethernet. A lane is a VXLAN network for each of its
 * VNIs, between the job's nodes only, with rules in each node's kernel by which
 * nobody but the job's owner can use it (doc/rfc/ethernet.md).
 *
 * both halves (pure)   naming.h: what a lane is called, address.h; policy.h:
 *                      settings and options; members.h: where nodes are
 * manager half (pure)  manager.c
 * node half            node.h: its state; node.c: settings, start, NICs, place;
 *                      apply.c, revoke.c, env.c (env, inherit), list.c (list,
 *                      destroy), summary.c
 *   to make a lane     blueprint.h: what is to be, found.h: what is there;
 *                      take_back.h; sweep.h: what is left over
 *   who may use it     enforce.h: what follows from devices, and tend; check.h:
 *                      whether a start may begin
 *     rules            rules.h, rules_sets.h, nftables.h (pure), table.h: the kernel
 *     gate             gate.h: what there is to do with it, over gate_load.h (its
 *                      programs, gate.bpf.c), gate_set.h, gate_pins.h,
 *                      gate_maps.h and gate_cgroup.h
 *     ports            rail_ports.h: no program is given one of VXLAN's
 *   of the kernel      device.h, underlay.h, shaper.h, namespace.h, over links.h,
 *                      tc.h and netlink.h
 */
#pragma once

#include "fairlead_driver.h"

extern const struct fairlead_driver ethernet_driver;
extern const char *const ethernet_variables[];

extern const struct fairlead_manager_ops ethernet_manager_ops;
extern const struct fairlead_node_ops ethernet_node_ops;
