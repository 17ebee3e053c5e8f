/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs of a container find in /sys of its software NICs. */
#pragma once

#include <stdint.h>

/*
 * In the caller's mount namespace: /sys/class/net has a network device hsnN for
 * each of the NICs besides what is there. libfabric's cxi provider takes only
 * NICs that have one, by the PCI address, and none without it otherwise.
 */
void sysfs_add_nics(uint32_t count);
