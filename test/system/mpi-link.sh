#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An unmodified MPI over the link provider does what MPI has to do, on several
# nodes and on one, over each kind of rail.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/mpi-lib.sh
. "$(dirname "$0")/mpi-lib.sh"

need_mpi mpi-check

# check HOSTS LINK GROUP...: with four ranks; LINK is empty for that of the lane. What
# went by shared memory and by the fabric is in $shared and $fabric then, messages.
check() {
	local hosts=$1 link=()
	[ -z "$2" ] || link=("FI_FAIRLEAD_LINKS=$2")
	expect_exit 0 mpi_run run/1 "$hosts" 4 "${mpi_link[@]}" "${link[@]}" \
		FI_LOG_LEVEL=info FI_LOG_PROV=fairlead FI_LOG_SUBSYS=ep_ctrl \
		OMPI_MCA_osc=pt2pt "$tools/mpi-check" "${@:3}"
	shared=$(sent 'shm') fabric=$(sent '(tcp;ofi_rxm|net):fl4096')
	[ "$(grep -c '^right' <<<"$out")" -ge $# ] || fail "$out"
}

sent() { # sent RAIL: by all ranks
	grep -oE "> $1 has sent [0-9]+" "$work/err" | awk '{n += $NF} END {print n + 0}'
}

cluster_up -N 2 --nics 1 -s ethernet.bpf=off
job_start alice -i ethernet -N 2 -n 2 --user $alice
wait_for has_started alice 2

it 'on two nodes with two ranks each, by shared memory and by the lane'
check n0:2,n1:2 '' point together windows spawn
is "$(grep -o 'on n[01]' <<<"$out" | sort | uniq -c | awk '{print $1 $3}' | paste -sd,)" \
	2n0,2n1 'ranks on nodes'
[ "$shared" -gt 1000 ] || fail "only $shared messages by shared memory"
[ "$fabric" -gt 1000 ] || fail "only $fabric messages by the fabric"

it 'the same with several threads'
check n0:2,n1:2 '' threads point together
[ "$shared" -gt 1000 ] || fail "only $shared messages by shared memory"
[ "$fabric" -gt 1000 ] || fail "only $fabric messages by the fabric"

it 'on one node with four ranks, by shared memory alone'
check n0:4 '' point together windows spawn
[ "$shared" -gt 1000 ] || fail "only $shared messages by shared memory"
is "$fabric" 0 'messages by the fabric'

it 'with another provider between the nodes'
check n0:2,n1:2 'shm+net:fl4096' point together
[ "$shared" -gt 1000 ] || fail "only $shared messages by shared memory"
[ "$fabric" -gt 1000 ] || fail "only $fabric messages by the fabric"

it 'without shared memory'
check n0:4 'tcp;ofi_rxm:fl4096' point
is "$shared" 0 'messages by shared memory'
[ "$fabric" -gt 1000 ] || fail "only $fabric messages by the fabric"
job_end alice

story_end
