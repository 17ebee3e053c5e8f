#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A node crashes and comes back: its part of every lane is gone, and that is
# known for sure. The restart of a daemon says nothing of the kind.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 3 --nics 2 -s slingshot.vni_pool=1024-1031 \
	-s manager.revoke_timeout=8

incarnation() { # incarnation NODE
	json_of node list | gojq -r --arg n "$1" '.nodes[] | select(.name == $n).incarnation'
}

it 'the restart of a daemon keeps lanes, and frees nothing'
grant=$(reserve jm/kept 'n[0-2]')
fairlead apply "$grant"
before=$(incarnation n1)
restart n1
is "$(incarnation n1)" "$before" 'incarnation'
is "$(job_state "$grant")" active 'state'
expect_objects 2 n0 n1 n2
test -e "$(env_file n1 jm/kept/0)"
kill_pid "$(guard_pid n1)"
wait_for is_gone "$(agent_pid n1 2>/dev/null || echo 0)"
restart n1
expect_objects 2 n1
expect_pool held 1024
expect_events jm/kept request cray-slingshot apply applied

it 'a reboot is known by another incarnation, and is in the event log'
reboot n1
[ "$(incarnation n1)" != "$before" ] || fail 'the same incarnation'
holds "$(event jm/kept node-reset)" '. == [{node: "n1", incarnation: $i}]' \
	--arg i "$(incarnation n1)"
expect_objects 2 n0 n2
expect_objects 0 n1
test ! -e "$(env_file n1 jm/kept/0)"
holds "$(json_of explain jm/kept)" '.grants[0] | .state == "active" and
	any(.holds[]; .nodes == "n1" and .state == "lost") and
	any(.holds[]; .nodes == "n[0,2]" and .state == "applied")'
expect_pool held 1024

it 'the identifiers come free with the release'
expect_exit 0 fairlead release "$grant"
is "$out" '' 'quarantine'
expect_pool quarantined ''
expect_events jm/kept request cray-slingshot apply applied node-reset release \
	revoked free
expect_clean

it 'nothing of what the kernel had for a node comes through a reboot'
on n1 -- ip link add left type bridge
on n1 -- sh -c 'mkdir /run/left && touch /run/fairlead/left'
[ -z "$cgroup" ] || mkdir "$cgroup/n1/left"
on n1 -- unshare --net bash -c "exec -a left-$$ sleep infinity" 3>&- &
wait_for pgrep -f "^left-$$ "
reboot n1
expect_exit 1 on n1 -- ip link show left
expect_exit 2 on n1 -- ls /run/left
expect_exit 2 on n1 -- ls /run/fairlead/left
[ -z "$cgroup" ] || test ! -e "$cgroup/n1/left"
expect_exit 1 pgrep -f "^left-$$ "
expect_exit 0 on n1 -- ip -brief address show eth1
expect_out '10.204.0.2/16'

it 'a reboot fences what was busy'
grant=$(reserve jm/stuck 'n[0-1]')
fairlead apply "$grant"
nic n1 busy svc="$(service_of n1 cxi0 "$grant")" nic=0 ms=forever
fairlead release "$grant" >/dev/null
expect_pool quarantined "$(json_of quarantine list | gojq -r '.identifiers[0].id')"
reboot n1
wait_for is_quarantined 0
holds "$(event jm/stuck confirm)" 'length == 1 and .[0].how == "fenced" and
	.[0].nodes == "n1"'
expect_clean

it 'a node that dies for good keeps its identifiers in quarantine until it is fenced'
grant=$(reserve jm/dead 'n[0-2]')
fairlead apply "$grant"
kill_pid "$(agent_pid n2)"
fairlead release "$grant" >/dev/null
is_quarantined 1 || fail 'nothing is in quarantine'
# Until its lease is over it counts as up, and has not answered.
holds "$(event jm/dead revoked)" '.[0].busy[0].nodes == "n2"'
wait_for eval '! is_up n2'
holds "$(json_of explain jm/dead)" \
	'any(.grants[0].holds[]; .nodes == "n2" and .state == "unreachable")'
expect_exit 0 fairlead node fence n2
expect_out 'freed of slingshot: vni'
is_quarantined 0 || fail 'it still waits'
restart n2
wait_for eval '[ "$(object_count n2)" -eq 0 ]'
expect_clean

it 'a reboot while the manager is away is seen when it is back'
grant=$(reserve jm/away 'n[0-1]')
fairlead apply "$grant"
kill_manager
reboot n1 2>/dev/null || true # nobody is there to register with
restart manager
wait_for is_up n0 n1 n2
wait_for eval '[ "$(event jm/away node-reset | gojq length)" -eq 1 ]'
expect_exit 0 fairlead release "$grant"
expect_clean

it 'the tasks of a job on a node that crashed are gone, the others go on'
job_start split -N 3 -n 3 --user $alice
wait_for has_started split 3
reboot n2
kill -0 "${job_pids[split]}"
job_let_go split
job_wait split
[ "$code" -gt 128 ] || fail "exit $code of a job whose task was killed"
expect_clean

story_end
