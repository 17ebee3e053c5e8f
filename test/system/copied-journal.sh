#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A second manager starts on a copy of the journal, with the same key. It can
# reserve, but make no lane; the first one stops where it meets the epoch of the
# second, and is above it after a recovery. Lanes of running jobs outlive it.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 2 --nics 1 -s slingshot.vni_pool=1024-1031 \
	-s manager.revoke_timeout=2
state=$FAIRLEAD_CLUSTER/manager/state
second_socket=$FAIRLEAD_CLUSTER/manager/run/second.sock

second() { # second COMMAND...: asks the second manager
	FAIRLEAD_SOCKET=$second_socket fairlead "$@"
}
manager_of() { # manager_of NODE: as the node has it, as JSON
	on "$1" -- fairlead node status --json | gojq .manager
}
knows_epoch() { # knows_epoch EPOCH
	local node
	for node in n0 n1; do
		manager_of "$node" | gojq -e ".epoch == $1" || return
	done
}

grant=$(reserve jm/run 'n[0-1]')
fairlead apply "$grant"
first=$(json_of status | gojq .epoch)
kill_pid -TERM "$(pid_of manager)"
cp -a "$state" "$work/copy"

it 'a second manager on a copy of the journal warns in each answer, and makes no lane'
sed "s/:7171/:7272/; s,/manager.sock,/second.sock,; s,$state,$work/copy," "$config" \
	>"$work/second.conf"
start_by_hand manager "$fairleadd" --role manager --config "$work/second.conf"
wait_for second status
expect_exit 0 second status
expect_error 'another manager may be running'
holds "$(second status --json)" '.nodes.up == 0'
run second doctor --config "$work/second.conf" --json
holds "$out" '[.findings[] | select(.check == "manager" and .level == "FAIL"
	and (.text | test("no node has registered")))] != []'
FAIRLEAD_SOCKET=$second_socket reserve jm/second n0 >"$work/second.grant"
expect_exit 75 second apply "$(<"$work/second.grant")"
expect_error "n0: not connected"
expect_objects 1 n0 n1
wait_for knows_epoch $((first + 1))

it 'the first one meets its epoch, stops, and says how to go on'
stop_by_hand manager
fairlead cluster restart manager
wait_for eval 'fairlead status | grep -q halted'
expect_exit 1 reserve jm/halted n0
expect_error 'a node has obeyed a newer manager'
expect_hint 'fairlead manager recover'
expect_objects 1 n0 n1
expect_exit 1 restart manager
has "$err" "a node has obeyed a newer manager \\(epoch $((first + 1))\\)" 'why it does not start'
has "$err" 'fairlead manager recover' 'what to do'

it 'after a recovery it is above the second, and jobs have their lanes'
start_by_hand manager "$fairleadd" --role manager --config "$config" --recover
wait_for all_are_up
[ "$(json_of status | gojq .epoch)" -gt $((first + 1)) ]
wait_for knows_epoch "$(json_of status | gojq .epoch)"
holds "$(json_of status)" '.recovering | not'
is "$(job_state "$grant")" active 'the job'
stop_by_hand manager
restart manager
other=$(reserve jm/other 'n[0-1]')
fairlead apply "$other"
fairlead release "$grant"
fairlead release "$other"
expect_clean

story_end
