/* SPDX-License-Identifier: BSD-3-Clause */
/* An open gate, for the files that gate.h is made of. */
#pragma once

#include <stdbool.h>

#include "lanes/driver/ethernet/gate_load.h"
#include "lanes/driver/ethernet/gate_pins.h"
#include "lanes/driver/ethernet/gate_set.h"

struct ethernet_gate {
	struct gate_config config;
	struct gate_set set;
	char name[GATE_SET_NAME_MAX]; /* of the set, in the directory */
	uint64_t cgroup_id;
	char *pins;
	char *cgroup;
};
