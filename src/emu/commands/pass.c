/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/cluster/launch.h"

void launch_pass(const char *step)
{
	/* Tests stop here, with another function of this name. */
}
