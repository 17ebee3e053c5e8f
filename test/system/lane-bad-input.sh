#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Requests, nodes and administrators that do what they should not, with lanes on
# Ethernet: a clear error for who can read it, and nothing is left.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

interconnect=ethernet
need_root 'NICs and rules of nodes'
[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
cluster_up -N 3 --nics 1 -s ethernet.vni_pool=4242-4249 \
	-s ethernet.rate_reserved=900M -s ethernet.rate_max=1G -s manager.apply_timeout=5 -s manager.revoke_timeout=2

refused() { # refused REGEX OPTIONS: a reservation with them
	expect_exit 1 reserve "jm/refused" 'n[0-1]' -o "$2"
	expect_error "$1"
}
# fails REGEX NODES: an apply there; nothing is left of it
fails() {
	local grant
	count=$((count + 1))
	grant=$(reserve "jm/$count" "$2")
	expect_exit 1 fairlead apply "$grant"
	expect_error "$1"
	is "$(on n0 -- ip -brief link show type vxlan)" '' 'devices of n0'
	wait_for is_quarantined 0
	expect_pool held ''
}
works() { # works NODES
	local grant
	count=$((count + 1))
	grant=$(reserve "jm/$count" "$1")
	expect_exit 0 fairlead apply "$grant"
	expect_exit 0 fairlead release "$grant"
}
count=0
move() { # move NODE ADDRESS: of its NIC for lanes
	on "$1" -- ip address flush dev eth1 scope global
	on "$1" -- ip address add "$2/16" dev eth1
}
tell() { # tell NODE: registers again, with what it has now
	restart "$1"
	wait_for says_up "$1"
}

it 'options that make no sense are refused with the reason'
refused 'vnis' vnis=5
refused 'vnis' vnis=-1
refused "traffic class 'FAST'" tcs=FAST
refused 'DEDICATED_ACCESS' tcs=DEDICATED_ACCESS
refused 'reserved' reserved=fast
refused 'reserved' reserved=900K
refused 'reserved' reserved=99999999G
refused 'max' max=2G
refused 'reserved' reserved=900M,max=100M
refused 'isolation' isolation=vm
refused 'isolation' isolation=
refused 'colour' colour=red
refused 'vnis' vnis=1,vnis=1
refused '.' "$(printf 'tcs=BEST_EFFORT%.0s,' {1..60})"
expect_pool held ''
works 'n[0-2]'

# environment VARIABLE...: 'fairlead env' inside an outer job that says so
environment() {
	on n0 --user $bob -- env "$@" fairlead env sub/1 --inherit
}
it 'what an outer job is said to have is not believed'
inherited() { # inherited DEVICES: bob's program has them, as if it were in a lane
	environment FAIRLEAD_INTERFACES="$1" FAIRLEAD_ADDRESSES="$address" \
		FAIRLEAD_ISOLATION=host
}
outer=$(reserve jm/outer n0)
expect_exit 0 fairlead apply "$outer"
device=fl$(vnis_of "$outer")
address=$(on n0 -- ip -4 -o address show dev "$device" | awk '{ print $4 }')
address=${address%/*}
expect_exit 1 inherited "$device"
expect_error "device $device is not for uid $bob"
expect_exit 1 inherited fl9
expect_error "device 'fl9' is not there"
for text in "," ",," lo eth1 "fl4242,,lo" "../../fl" "$(printf 'x%.0s' {1..5000})"; do
	expect_exit 1 inherited "$text"
	expect_error 'inherited device'
done
expect_exit 1 environment FAIRLEAD_INTERFACES="$device"
expect_error 'only some of FAIRLEAD_INTERFACES'
as_alice=(on n0 --user "$alice" -- env FAIRLEAD_INTERFACES="$device" FAIRLEAD_ISOLATION=host)
expect_exit 1 "${as_alice[@]}" FAIRLEAD_ADDRESSES=100.64.0.99 fairlead env sub/1 --inherit
expect_error "inherited address '100.64.0.99' is not that of $device"
expect_exit 0 "${as_alice[@]}" FAIRLEAD_ADDRESSES="$address" fairlead env sub/1 --inherit
expect_exit 0 fairlead release "$outer"

it 'two nodes that name one address fail the apply, with their names'
move n2 10.204.0.2
tell n2
fails 'n1.*n2|n2.*n1' 'n[0-2]'
works 'n[0-1]'
move n2 10.204.0.3
tell n2
works 'n[0-2]'

it 'a node notices that its address is not the one that it reported'
move n1 10.204.0.77
fails 'n1: .*address' 'n[0-1]'
tell n1
works 'n[0-1]'
move n1 10.204.0.2
tell n1

it 'a NIC that leaves too little for a lane is named'
on n1 -- ip link set eth1 mtu 1300
tell n1
fails 'n1' 'n[0-1]'
on n1 -- ip link set eth1 mtu 1500
tell n1

it 'an address of the node in the networks of lanes is refused, not shared'
on n1 -- ip address add 100.64.0.77/32 dev lo
fails 'n1: .*100.64' 'n[0-1]'
on n1 -- ip address delete 100.64.0.77/32 dev lo
works 'n[0-1]'

it 'a table of that name that is not ours is left alone, and said'
on n1 -- nft delete table inet fairlead
on n1 -- nft add table inet fairlead
on n1 -- nft add chain inet fairlead theirs
# Its inventory says it, too, if the manager has just asked for that.
fails "n1: .*table 'inet fairlead'|n1 has not reported" 'n[0-1]'
has "$(on n1 -- nft list table inet fairlead)" 'chain theirs' 'their table'
on n1 -- nft delete table inet fairlead
tell n1
works 'n[0-1]'

it 'a VNI in a VXLAN device that is not ours is withheld while it is there'
on n1 -- ip link add theirs type vxlan id 4243 dev eth1 dstport 4789 \
	local 10.204.0.2 udp6zerocsumrx
restart n1
wait_for is_pool withheld 4243
lacks "$(pool free)" '4242-4249' 'free VNIs'
on n1 -- ip link delete theirs
restart n1
wait_for is_pool withheld ''
works 'n[0-1]'
expect_clean

it 'a wrong setting is reported with its name, and the daemon does not start'
cp "$config" "$work/good.conf"
for setting in 'bpf_pins = "pins"' 'cgroup = "unified"' \
	'job_cgroup = "/run/%s"' 'namespaces = "run"' 'link_rate = "fast"'; do
	name=${setting%% *}
	sed -i "/^driver \"ethernet\"/,/^}/ { /^ *$name = /d }
		/^driver \"ethernet\"/a\\    $setting" "$config"
	expect_exit 1 on n1 -- "$fairleadd" --role node --check-config --config "$config"
	expect_error "$name"
	cat "$work/good.conf" >"$config"
done

it 'a node without its NIC has no lanes'
sed -i 's/^ *devices = "eth1"/    devices = "eth9"/' "$config"
tell n1
has "$(on n1 -- fairlead node devices)" '^ethernet +eth9 +unusable' 'its devices'
fails 'n1 has not reported its addresses' 'n[0-1]'
cat "$work/good.conf" >"$config"
tell n1
works 'n[0-1]'
expect_clean

story_end
