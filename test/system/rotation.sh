#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The command key is rotated in its four steps, while jobs come and go.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 3 --nics 1 -s slingshot.vni_pool=1024-1039 \
	-s manager.apply_timeout=2 -s manager.revoke_timeout=1
key=$FAIRLEAD_CLUSTER/manager.key

states() { # of the keys: "1 active,2 staged"
	fairlead key show "$key" --json | gojq -r '[.keys[] | "\(.id) \(.state)"] | join(",")'
}
accepts() { # accepts NODE IDS: does it accept commands signed with these keys
	[ "$(on "$1" -- fairlead node status --json | gojq -c '.keys | sort')" = "[$2]" ]
}
spread() { # spread KEYS: new key files to the nodes, which reload them
	local node
	for node in n0 n1 n2; do
		fairlead key node $node --key "$key" --output "$work/$node.key" >/dev/null
		cat "$work/$node.key" >"$FAIRLEAD_CLUSTER/$node/run/node.key"
		kill -HUP "$(agent_pid $node)"
		wait_for accepts $node "$1"
	done
}
follow() { # follow ID NODE...: they have shown that they have that key
	local id=$1 node
	shift
	for node; do
		[ "$(json_of node list | gojq --arg n "$node" \
			'.nodes[] | select(.name == $n).key')" = "$id" ] || return
	done
}
works() { # works NAME: a job from its beginning to its end; the long one is there
	expect_exit 0 fairlead run -N 3 -n 3 --user $alice -- cxi-lni
	is "$(grep -c allocated <<<"$out")" 3 'LNIs'
	is "$(job_state jm/long)" active 'state of the long job'
	is_up n0 n1 n2
}

long=$(reserve jm/long 'n[0-2]')
fairlead apply "$long"
is "$(states)" '1 active' 'keys'
connections=$(json_of status | gojq -c .epoch)

it 'one: a key is staged; the manager knows it, nodes still have the old one'
expect_exit 0 fairlead key rotate --key "$key"
expect_hint 'key activate'
is "$(states)" '1 active,2 staged' 'keys'
fairlead manager reconfigure
works
expect_exit 1 fairlead key rotate --key "$key"

it 'two: nodes get new files, and accept both'
spread 1,2
works

it 'three: the staged key signs, the old one is retiring'
expect_exit 0 fairlead key activate --key "$key"
is "$(states)" '1 retiring,2 active' 'keys'
fairlead manager reconfigure
works
fairlead node drain n1 --reason test
fairlead node undrain n1

it 'nobody retires a key that idle nodes have still to do without'
run fairlead key retire --key "$key"
is "$code" 75 'exit code'
expect_error 'have not shown that they have key 2: n\[0-2\]'
is "$(states)" '1 retiring,2 active' 'keys'

it 'four: nodes get files without the old key, and show it, though no job comes'
spread 2
wait_for follow 2 n0 n1 n2

it 'then it is dropped'
expect_exit 0 fairlead key retire --key "$key"
fairlead manager reconfigure
is "$(states)" '2 active' 'keys'
works

it 'there was no pause: no node was lost, no manager started'
is "$(json_of status | gojq -c .epoch)" "$connections" 'epoch'
for node in n0 n1 n2; do
	lacks "$(<"$FAIRLEAD_CLUSTER/$node/log/fairleadd.log")" 'refused' "log of $node"
done

it 'what restarts then finds all as it should be'
restart manager
restart n1
works
expect_exit 0 fairlead release "$long"
expect_clean

it 'a node that was forgotten is refused, and can be mended'
fairlead key node n2 --key "$key" --output "$work/n2.good" >/dev/null
fairlead key rotate --key "$key" 2>/dev/null
fairlead manager reconfigure
for node in n0 n1; do
	fairlead key node $node --key "$key" --output "$work/$node.key" >/dev/null
	cat "$work/$node.key" >"$FAIRLEAD_CLUSTER/$node/run/node.key"
	kill -HUP "$(agent_pid $node)"
	wait_for accepts $node 2,3
done
fairlead key activate --key "$key" 2>/dev/null
fairlead manager reconfigure
grant=$(reserve jm/forgotten 'n[0-2]')
run fairlead apply "$grant"
[ "$code" -ne 0 ] || fail 'a node obeys a key that it does not have'
expect_error 'n2'
expect_objects 0 n0 n1 n2
spread 3
restart n2
wait_for is_up n0 n1 n2
wait_for is_quarantined 0
grant=$(reserve jm/mended 'n[0-2]')
expect_exit 0 fairlead apply "$grant"
fairlead release "$grant"
expect_clean

story_end
