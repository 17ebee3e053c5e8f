#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An unmodified MPI over the link provider does what MPI has to do, on several
# nodes and on one, over each kind of rail, and over the two of a lane.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/mpi-lib.sh
. "$(dirname "$0")/mpi-lib.sh"

need_mpi mpi-check

# One-sided operations: of MPI's own making, by messages, or those of libfabric.
by_messages=(OMPI_MCA_osc=pt2pt)
by_libfabric=(OMPI_MCA_osc=rdma OMPI_MCA_osc_rdma_btls=ofi OMPI_MCA_btl=self,ofi
	OMPI_MCA_btl_ofi_provider_include=fairlead
	OMPI_MCA_opal_common_ofi_verbose=1 OMPI_MCA_osc_base_verbose=1)
one_sided=("${by_messages[@]}")

# check HOSTS LINK GROUP...: with four ranks; LINK is empty for that of the lane. What
# went by shared memory and by the fabric is in $shared and $fabric then, messages.
check() {
	local hosts=$1 link=()
	[ -z "$2" ] || link=("FI_FAIRLEAD_LINKS=$2")
	expect_exit 0 mpi_run run/1 "$hosts" 4 "${mpi_link[@]}" "${link[@]}" \
		FI_LOG_LEVEL=info FI_LOG_PROV=fairlead FI_LOG_SUBSYS=ep_ctrl \
		"${one_sided[@]}" "$tools/mpi-check" "${@:3}"
	shared=$(sent 'shm') fabric=$(sent '(tcp;ofi_rxm|net):fl4096')
	[ "$(grep -c '^right' <<<"$out")" -ge $# ] || fail "$out"
}

sent() { # sent RAIL: by all ranks
	grep -oE "> $1 has sent [0-9]+" "$work/err" | awk '{n += $NF} END {print n + 0}'
}

bytes() { # bytes NODE DEVICE: that it has sent
	on "$1" -- ip -j -s link show "$2" | gojq '.[0].stats64.tx.bytes'
}

one='shm+tcp;ofi_rxm:fl4096' # a rail of the two
cluster_up -N 2 --nics 1 --rails 2
job_start alice -i ethernet -N 2 -n 2 --user $alice
wait_for has_started alice 2

it 'on two nodes with two ranks each, by shared memory and by the lane'
check n0:2,n1:2 "$one" point together windows spawn
is "$(grep -o 'on n[01]' <<<"$out" | sort | uniq -c | awk '{print $1 $3}' | paste -sd,)" \
	2n0,2n1 'ranks on nodes'
[ "$shared" -gt 1000 ] || fail "only $shared messages by shared memory"
[ "$fabric" -gt 1000 ] || fail "only $fabric messages by the fabric"

it 'the same with several threads'
check n0:2,n1:2 "$one" threads point together
[ "$shared" -gt 1000 ] || fail "only $shared messages by shared memory"
[ "$fabric" -gt 1000 ] || fail "only $fabric messages by the fabric"

it 'on one node with four ranks, by shared memory alone'
check n0:4 "$one" point together windows spawn
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

it "by both rails of the job's lane"
declare -A before=()
for device in fl4096 fl4096r1; do
	before[$device]=$(bytes n0 $device)
done
check n0:2,n1:2 '' point together
[ "$shared" -gt 1000 ] || fail "only $shared messages by shared memory"
for device in fl4096 fl4096r1; do
	[ "$(sent "tcp;ofi_rxm:$device")" -gt 100 ] ||
		fail "only $(sent "tcp;ofi_rxm:$device") frames by $device"
	went=$(($(bytes n0 $device) - before[$device]))
	[ $went -gt 1000000 ] || fail "only $went bytes by $device"
done

it 'one-sided operations of libfabric, by shared memory and by the lane'
one_sided=("${by_libfabric[@]}")
check n0:2,n1:2 "$one" windows
is "$(grep -c 'btl_ofi.*btl:ofi:provider_include = "fairlead"' "$work/err")" 4 \
	'ranks whose btl/ofi takes our provider alone'
is "$(grep -c 'has sent' "$work/err")" 16 'rails: two of each endpoint, of each rank two'
is "$(grep -c 'has sent 0 ' "$work/err")" 0 'rails that were not used'
[ "$fabric" -gt 500 ] || fail "only $fabric operations by the fabric"
job_end alice

story_end
