/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VXLAN's ports as those that a program is given which asks for none: by a bind
 * to port 0, a connect or a send. No firewall and no program of the gate sees
 * which one it is before the program has it, and keeps all lanes of the rail
 * from the node. So the kernel reserves them: net.ipv4.ip_local_reserved_ports
 * of the caller's network namespace, for IPv4 and IPv6.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

/*
 * Reserve those of all rails. What is reserved already stays, whoever wants it;
 * ours stay, too, when we end, as lanes do. 1: some were not reserved; 0: all
 * were. An error, with a text: they cannot be (-EROFS: /proc/sys may not be
 * written here). port: of the first rail.
 */
int rail_ports_reserve(uint16_t port, struct fairlead_error *ret_error);

/*
 * -EADDRINUSE with a text: the kernel may give one of them to anybody, since it
 * is in ip_local_port_range and not reserved. 0, also where that cannot be
 * read.
 */
int rail_ports_check(uint16_t port, struct fairlead_error *ret_error);
