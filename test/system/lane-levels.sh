#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reports about lanes on Ethernet: whether nodes guard them, what was
# refused, what is in the way; and what clean takes and leaves.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'the network of a node, and programs in its kernel'
[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
probe=$build/test/lane/lane-probe

# A node's daemon says it at its socket, to anybody; the manager's, of all.
line_of() { # line_of NODE
	on "$1" -- fairlead node status --json |
		gojq -r '.drivers[] | select(.name == "ethernet") | .detail'
}
finding() { # finding NODE LEVEL CHECK: its texts
	on "$1" -- fairlead doctor --config "$config" --json |
		gojq -r --arg l "$2" --arg c "$3" \
			'.findings[] | select(.level == $l and .check == $c) | .text'
}
vnis() { # vnis free|held|quarantined|withheld
	json_of pools | gojq -r --arg m "$1" '.pools.ethernet.vni[$m]'
}
is_vnis() { [ "$(vnis "$1")" = "$2" ]; }

cluster_up -N 2 --nics 1 -s ethernet.vni_pool=5000-5003

it 'each node says at which level it guards lanes, and what it refused'
first=$(line_of n0)
has "$first" '^enforcement nft\+bpf, shaping off, refused nothing' "n0's line"
is "$(json_of node list | gojq -r '.nodes[].drivers[] | select(.name == "ethernet") |
	.usable' | sort -u)" true 'what the manager knows'
has "$(json_of node list | gojq -r '.nodes[0].drivers[] | select(.name == "ethernet").detail')" \
	'^enforcement nft' "the manager's word of n0"
expect_exit 1 on n0 --user "$(id -u nobody)" -- "$probe" udp-send 10.204.0.2 4789 forged
has "$(line_of n0)" 'made by hand 1' 'what was refused'
has "$(finding n0 OK driver)" 'ethernet: usable, enforcement nft' 'what doctor says'

it 'devices and objects are shown by a process without privileges'
grant=$(reserve jm/shown 'n[0-1]' -i ethernet)
expect_exit 0 fairlead apply "$grant"
holds "$(on n0 -- fairlead node objects --json)" \
	'any(.objects[]; .interconnect == "ethernet" and .grant_id == $g)' --argjson g "$grant"
holds "$(on n0 -- fairlead node devices --json)" \
	'any(.devices[]; .name == "eth1" and .usable and .resources.lanes.reserved == 1)'

it 'what others have is withheld, and left alone until it is named'
on n1 -- ip link add vx7 type vxlan id 5003 dstport 4789 dev eth1 udp6zerocsumrx
on n1 -- ip link add vx8 type vxlan id 5002 dstport 8472 dev eth1
on n1 -- nft add table inet site
restart n1
wait_for is_vnis withheld 5003
has "$(finding n1 WARN 'foreign identifier')" 'vx7 has ethernet 5003' 'what doctor says'
expect_exit 0 on n1 -- fairlead clean
expect_exit 0 on n1 -- ip link show vx7
expect_exit 0 on n1 -- fairlead clean --object vx7/5003
expect_exit 1 on n1 -- ip link show vx7
expect_exit 0 on n1 -- ip link show vx8
expect_exit 0 on n1 -- nft list table inet site

it 'clean --all takes lanes, and nothing of others that no lane needs'
expect_exit 0 on n1 -- fairlead clean --all --force
lacks "$(on n1 -- ip -o link show type vxlan)" 'fl50' 'devices'
lacks "$(on n1 -- nft list table inet fairlead)" 'fl50' 'rules'
expect_exit 0 on n1 -- ip link show vx8
expect_exit 0 on n1 -- nft list table inet site
on n1 -- ip link del vx8
expect_exit 0 fairlead release "$grant"
wait_for is_vnis quarantined ''

it 'a level that changes is known to the manager with the next lease'
reported_level() { # reported_level REGEX: of n1
	json_of node list | gojq -e --arg r "^enforcement ($1)," '.nodes[1].drivers[] |
		select(.name == "ethernet").detail | test($r)' >/dev/null
}
on n1 -- nft delete table inet fairlead
on n1 -- nft add table inet fairlead
wait_for reported_level none
has "$(line_of n1)" '; lacks nft \(table inet fairlead is not of this' "n1's line"
on n1 -- nft delete table inet fairlead
wait_for reported_level 'nft\+bpf'

it 'a table of somebody else makes the driver unusable, and says so at both ends'
on n1 -- nft delete table inet fairlead
on n1 -- nft add table inet fairlead
restart n1
has "$(line_of n1)" "nft list table inet fairlead" "n1's line"
has "$(finding n1 FAIL driver)" 'ethernet: cannot be used' "n1's doctor"
is_unusable() {
	json_of node list | gojq -e '.nodes[1].drivers[] |
		select(.name == "ethernet") | .usable | not' >/dev/null
}
wait_for is_unusable
has "$(fairlead doctor --json | gojq -r '.findings[] | select(.level == "FAIL").text')" \
	'n1: ethernet cannot be used' "the manager's doctor"
on n1 -- nft delete table inet fairlead
restart n1
wait_for is_up n1
has "$(line_of n1)" '^enforcement nft' "n1's line"

it 'so does a kernel without nftables'
kill_pid "$(agent_pid n1)"
start_by_hand n1 "$tools/without-netfilter" "$fairleadd" --role node --config "$config"
wait_for is_unusable
has "$(finding n1 FAIL driver)" 'ethernet: cannot be used, the kernel has no nftables' \
	"n1's doctor"
stop_by_hand n1

story_end
