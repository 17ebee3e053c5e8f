/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A SPANK plugin that does nothing: what any plugin costs (bench/slurm.py). */
#include <slurm/spank.h>

SPANK_PLUGIN(empty, 1);
