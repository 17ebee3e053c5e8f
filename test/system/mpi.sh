#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An unmodified MPI finds its job's lane by the environment, while another user,
# who has a lane of his own, does not get in.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/mpi-lib.sh
. "$(dirname "$0")/mpi-lib.sh"

need_mpi mpi-ring
ring=$tools/mpi-ring
probe=$build/test/lane/lane-probe

# By Open MPI's own transports; as by the link provider, they find the lane.
own=(OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp)

# mpi_start KEY ENV...: on n0 and n1, two ranks each, until mpi_end.
mpi_start() {
	: >"$work/goes-on"
	: >"$work/mpi" # of the one before
	mpi_run "$1" n0:2,n1:2 4 "${@:2}" "$ring" "$work/goes-on" \
		>"$work/mpi" 2>"$work/mpi-errors" 3>&- &
	mpi=$!
	wait_for eval '[ "$(grep -c right "$work/mpi")" -eq 4 ] || is_gone $mpi'
	[ "$(grep -c right "$work/mpi")" -eq 4 ] || fail "MPI: $(cat "$work/mpi" "$work/mpi-errors")"
}

mpi_end() {
	rm "$work/goes-on"
	code=0
	wait "$mpi" || code=$?
	is "$code" 0 "exit code of mpirun, which says: $(cat "$work/mpi-errors")"
}

bytes() { # bytes NODE DEVICE: that it has sent
	on "$1" -- ip -j -s link show "$2" | gojq '.[0].stats64.tx.bytes'
}

# expect_refused NODE PROBE...: to a task of Bob's job
expect_refused() {
	expect_exit 1 on "$1" --job run/2 "$probe" "${@:2}"
	has "$out" '^refused' "$*"
}

refused() { # refused NODE bind|send: what the node says that it has counted
	local line
	line=$(on "$1" -- fairlead node status --json |
		gojq -er '.drivers[] | select(.name == "ethernet").detail')
	has "$line" ', refused( nothing|: [a-z])' "counters of $1"
	sed -nE "s/.*[:,] $2 ([0-9]+).*/\1/p; t; s/.*/0/p" <<<"$line"
}

# expect_counted NODE bind|send BEFORE COUNT
expect_counted() {
	local now
	now=$(refused "$1" "$2")
	[ "$now" -ge $(($3 + $4)) ] || fail "$1: $2: $now after $3, with $4 more refused"
}

try() { # try IPV4: 1: lanes have it. The MPI job of Alice beside a job of Bob
	local with="$1 IPv4 address" node bind to before
	local -A send=()
	job_start alice -i ethernet -N 2 -n 2 --user $alice
	wait_for has_started alice 2
	job_start bob -i ethernet -N 2 -n 2 --user $bob
	wait_for has_started bob 2
	to=$(job_variable alice n1.0 FAIRLEAD_ADDRESSES)

	it "with $with an MPI job of four ranks on two nodes is in its lane"
	mpi_start "run/1" "${own[@]}"
	is "$(on n0 -- ip -brief -4 address show dev fl4096 | wc -l)" "$1" 'IPv4 addresses'
	is "$(grep -c "as $alice" "$work/mpi")" 4 'ranks of the owner'
	is "$(grep -o 'on n[01]' "$work/mpi" | sort | uniq -c | awk '{print $1 $3}' | paste -sd,)" \
		2n0,2n1 'ranks on nodes'
	[ "$(bytes n0 fl4096)" -gt 1000000 ] || fail 'its data went elsewhere'
	[ "$(bytes n0 fl4097)" -lt 1000 ] || fail 'its data went by the lane of another'

	it "with $with the job of another user on its nodes does not get in"
	for node in n0 n1; do
		send[$node]=$(refused $node send)
	done
	bind=$(refused n1 bind)
	: >"$work/listener"
	on n1 --job run/1 "$probe" tcp-listen "$to" 7000 >"$work/listener" 2>&1 3>&- &
	wait_for grep -q ready "$work/listener"
	for node in n0 n1; do
		expect_refused $node tcp-connect "$to" 7000
		expect_refused $node udp-send "$to" 7000 hello
		expect_refused $node udp-send fd46:4c00:0:1000::2 7000 hello
		expect_counted $node send "${send[$node]}" 3
	done
	expect_refused n1 tcp-listen "$to" 7001
	expect_refused n1 udp-receive "$to" 7000
	expect_counted n1 bind "$bind" 2
	expect_exit 0 on n0 --job run/2 "$probe" udp-send \
		"$(job_variable bob n1.0 FAIRLEAD_ADDRESSES)" 7000 hello
	expect_exit 0 on n0 --job run/1 "$probe" tcp-connect "$to" 7000
	mpi_end
	is "$(grep -c right "$work/mpi")" 4 'ranks that had what they were sent'

	it "with $with an MPI job over the link provider is in its lane"
	before=$(bytes n0 fl4096)
	mpi_start "run/1" "${mpi_link[@]}"
	mpi_end
	is "$(grep -c right "$work/mpi")" 4 'ranks that had what they were sent'
	[ "$(($(bytes n0 fl4096) - before))" -gt 1000000 ] || fail 'its data went elsewhere'
	job_end alice
	job_end bob
}

cluster_up -N 2 --nics 1
try 1
cluster_down
# Lanes may have no IPv4 at all.
cluster_up -N 2 --nics 1 -s ethernet.ipv4_network=none
try 0

story_end
