#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many lanes on a node at once, made and taken back by many clients at once, and
# found again by a daemon that starts in between.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

interconnect=ethernet
LANES=50
[ "${FAIRLEAD_TEST:-short}" != long ] || LANES=500
CLIENTS=5
need_root 'lanes of many users'
need_others
[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
probe=$build/test/lane/lane-probe
cluster_up -N 2 --nics 1 -s ethernet.vni_pool=4242-5141

# share CLIENT: the jobs of a client
share() {
	seq "$1" $CLIENTS $((LANES - 1))
}

# in_parallel COMMAND: by all clients; each must succeed with all of its jobs
in_parallel() {
	local client pids=()
	for ((client = 0; client < CLIENTS; client++)); do
		"$1" $client 3>&- &
		pids+=($!)
	done
	for client in "${pids[@]}"; do
		wait "$client" || fail "a client could not $1"
	done
}

# Each job is another user's.
make() { # make CLIENT
	local job
	for job in $(share "$1"); do
		fairlead reserve "jm/$job" --nodes 'n[0-1]' --user $((3000 + job)) \
			--interconnect ethernet >"$work/grant.$job" &&
			fairlead apply "$(<"$work/grant.$job")" || return 1
	done
}

take_back() { # take_back CLIENT
	local job
	for job in $(share "$1"); do
		fairlead release "$(<"$work/grant.$job")" || return 1
	done
}

lanes_on() { # lanes_on NODE: their devices that are up
	on "$1" -- ip -o link show type vxlan up | wc -l
}

address_of() { # address_of NODE JOB
	sed -n 's/^FAIRLEAD_ADDRESSES=//p' "$(env_file "$1" "jm/$2/0")"
}

# its_owners JOB: its owner gets through from n0 to n1, and the next user does not
its_owners() {
	local owner=$((3000 + $1)) address
	address=$(address_of n1 "$1")
	: >"$work/listener"
	on n1 -- "$probe" --uid $owner tcp-listen "$address" 7000 >"$work/listener" 3>&- &
	wait_for grep -q ready "$work/listener"
	expect_exit 1 on n0 -- "$probe" --uid $((owner + 1)) tcp-connect "$address" 7000
	expect_exit 0 on n0 -- "$probe" --uid $owner tcp-connect "$address" 7000
	wait $!
}

it 'clients make many lanes at once'
in_parallel make
is "$(lanes_on n0) $(lanes_on n1)" "$LANES $LANES" 'devices'
is "$(json_of list | gojq '[.jobs[] | select(.state == "active")] | length')" $LANES 'jobs'
is "$(for ((i = 0; i < LANES; i++)); do address_of n0 $i; done | sort -u | wc -l)" $LANES \
	'addresses'

it 'each is its own owner'"'"'s'
for job in 0 17 $((LANES - 1)); do
	its_owners $job
done

it 'a daemon that was killed finds all of them again'
before=$(on n1 -- ip -o link show type vxlan | cut -d: -f1,2)
kill_pid "$(guard_pid n1)"
restart n1
wait_for is_up n1
is "$(on n1 -- ip -o link show type vxlan | cut -d: -f1,2)" "$before" 'devices'
expect_objects $LANES n1
for job in 1 18 $((LANES - 2)); do
	its_owners $job
done

it 'clients take them back at once, and nothing is left'
in_parallel take_back
wait_for is_quarantined 0
is "$(lanes_on n0) $(lanes_on n1)" '0 0' 'devices'
for node in n0 n1; do
	lacks "$(on $node -- nft -s list table inet fairlead)" 'fl[0-9]' "rules on $node"
done
expect_clean

story_end
