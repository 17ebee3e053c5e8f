#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A job of a stock Slurm has its lane by configuration alone, and nothing is
# left of it when it is over.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
cluster_up -N 4 --nics 1 -s slingshot.vni_pool=1024-1031
slurm_up 4

it 'grants a lane to a plain user: srun'
expect_exit 0 as_user "$alice" srun -N2 sh -c 'echo $SLURMD_NODENAME $SLINGSHOT_VNIS'
has "$out" 'n0 1024' 'VNI'
has "$out" 'n1 1024' 'VNI'
expect_slurm_clean 4

story_end
