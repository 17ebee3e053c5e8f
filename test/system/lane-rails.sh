#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Nodes that have fewer NICs for lanes on Ethernet than others, or none.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

interconnect=ethernet
need_root 'NICs and rules of nodes'
need_others
[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
probe=$build/test/lane/lane-probe
cluster_up -N 3 --nics 1 -s ethernet.require_devices=false

devices() { # devices NODE: of lanes
	on "$1" -- ip -brief link show type vxlan | awk '{ print $1 }' | paste -sd,
}
peers() { # peers NODE DEVICE: of a lane, on the underlay
	on "$1" -- bridge fdb show dev "$2" | sed -n 's/.* dst \([^ ]*\) .*/\1/p' | paste -sd,
}
without_nic() { # without_nic NODE...: from now on
	local node
	for node; do
		on "$node" -- ip link set eth1 down
		restart "$node"
		wait_for is_up "$node"
	done
}
warned() { # warned GRANT NODES: of no NIC, in its event
	holds "$(event "$1" applied)" '[.[0].warnings[] |
		select(.text | test("no NIC for lanes")).nodes] == [$n]' --arg n "$2"
}

it 'a job has its lane among those of its nodes that have a NIC'
without_nic n1
job_start one -N 3 -n 3 -i ethernet --user $alice
wait_for has_started one 3
grant=$(json_of list | gojq '.jobs[] | select(.key == "run/1/0").grant_id')
is "$(devices n0) $(devices n1) $(devices n2)" 'fl4096  fl4096' 'devices'
is "$(peers n0 fl4096) $(peers n2 fl4096)" '10.204.0.3 10.204.0.1' 'peers'
is "$(job_variable one n0.0 FAIRLEAD_INTERFACES)" fl4096 "n0's interface"
is "$(job_variable one n2.0 FAIRLEAD_ADDRESSES)" 100.64.0.3 "n2's address"
is "$(grep -c '^n1[.]0: FAIRLEAD_\(INTERFACES\|ADDRESSES\|ISOLATION\)' "$work/one.out")" 0 \
	"n1's variables of a lane"
warned "$grant" n1
: >"$work/listener"
on n2 --job "$grant" -- "$probe" tcp-listen 100.64.0.3 7000 >"$work/listener" 3>&- &
wait_for grep -q ready "$work/listener"
expect_exit 0 on n0 --job "$grant" -- "$probe" tcp-connect 100.64.0.3 7000
wait $!
job_end one
is "$(devices n0)$(devices n1)$(devices n2)" '' 'devices'
expect_pool held ''

it 'two nodes of which one has none, and two of which neither has one'
two=$(reserve jm/two 'n[0-1]')
expect_exit 0 fairlead apply "$two"
expect_error 'n1: this node has no NIC for lanes'
is "$(devices n0) $(peers n0 fl4097)" 'fl4097 ' 'device and peers of n0'
expect_exit 0 fairlead release "$two"
without_nic n2
three=$(reserve jm/three 'n[1-2]')
expect_exit 0 fairlead apply "$three"
warned "$three" 'n[1-2]'
is "$(devices n1)$(devices n2)" '' 'devices'
expect_exit 0 fairlead release "$three"
wait_for is_quarantined 0

it 'a NIC that is there again carries the lanes that follow'
on n1 -- ip link set eth1 up
restart n1
wait_for is_up n1
four=$(reserve jm/four 'n[0-1]')
expect_exit 0 fairlead apply "$four"
lacks "$err" 'no NIC' 'warnings'
is "$(peers n0 fl4099) $(peers n1 fl4099)" '10.204.0.2 10.204.0.1' 'peers'
expect_exit 0 fairlead release "$four"

story_end
