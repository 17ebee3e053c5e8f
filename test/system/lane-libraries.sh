#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of libfabric and of UCX, as they are shipped, find their job's lane by
# the environment. They meet at the nodes' own addresses, which are not the lane's.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'other users have no part in a cluster of a user'
need_others
[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
command -v fi_pingpong >/dev/null || skip_all 'there is no fi_pingpong (package libfabric-bin)'
command -v ucx_perftest >/dev/null || skip_all 'there is no ucx_perftest (package ucx-utils)'

bytes() { # bytes DEVICE: that n0 has sent
	on n0 -- ip -j -s link show "$1" | gojq '.[0].stats64.tx.bytes'
}

is_listening() { # is_listening PORT
	on n1 -- ss -Htln sport = "$1" | grep -q . || is_gone "$server"
}

# meet PORT COMMAND...: in the job, on n1, and with n1's address on n0. What n0
# sends by the lane meanwhile, and by its own network: in $lane and $own.
meet() {
	local port=$1
	shift
	on n1 --job run/1 -- "$@" >"$work/server" 2>&1 3>&- &
	server=$!
	# It may keep what it says until it ends.
	wait_for is_listening "$port"
	lane=$(bytes fl4096) own=$(bytes eth0)
	on n0 --job run/1 -- "$@" 10.203.0.2 >"$work/client" 2>&1 ||
		fail "$*: $(cat "$work/client" "$work/server")"
	wait "$server" || fail "$*: $(cat "$work/server")"
	lane=$(($(bytes fl4096) - lane)) own=$(($(bytes eth0) - own))
}

# expect_bytes WHERE WHAT: lane|own; all of the messages, and none elsewhere
expect_bytes() {
	local -n here=$1
	if [ "$here" -lt 100000 ] || [ $((lane + own - here)) -gt 50000 ]; then
		fail "$2: $lane bytes by the lane, $own by the node's own network"
	fi
}

cluster_up -N 2 --nics 1
# What a node has there is the machine's, and UCX looks for its NICs in it.
for node in n0 n1; do
	on $node -- mount -t sysfs sysfs /sys
done
job_start alice -i ethernet -N 2 -n 2 --user $alice
wait_for has_started alice 2

it "libfabric's providers go by the device that their variable names"
while read -r provider kind size count; do
	pingpong=(fi_pingpong -p "$provider" -e "$kind" -S "$size" -I "$count")
	meet 47592 "${pingpong[@]}"
	expect_bytes lane "$provider"
	meet 47592 env "FI_${provider^^}_IFACE=eth0" "${pingpong[@]}"
	expect_bytes own "$provider, set to another device"
done <<'END'
tcp msg 65536 2
net rdm 65536 2
sockets rdm 65536 2
udp dgram 1024 110
END

it 'UCX goes by those that its variable names'
# The nodes are on one machine: its memory would be nearer than any lane.
perf=(env UCX_TLS=tcp ucx_perftest -t tag_bw -s 65536 -n 2)
meet 13337 "${perf[@]}"
expect_bytes lane UCX
meet 13337 env UCX_NET_DEVICES=eth0 "${perf[@]}"
expect_bytes own 'UCX, set to another device'
job_end alice

story_end
