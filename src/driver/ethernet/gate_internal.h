/* SPDX-License-Identifier: BSD-3-Clause */
/* An open gate, for the files that gate.h is made of. */
#pragma once

#include <stdbool.h>

#include "driver/ethernet/gate_load.h"
#include "driver/ethernet/gate_pins.h"

struct gate {
	struct gate_maps maps;
	char set[GATE_SET_NAME_MAX];
	bool is_alone; /* no older set is attached besides */
	char *pins;
};
