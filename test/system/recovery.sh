#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the manager knows outlives it: over restarts and crashes, a full disk, a
# damaged journal and an old backup. When it cannot know, it says so.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 2 --nics 2 -s slingshot.vni_pool=1024-1039 \
	-s manager.revoke_timeout=2
state=$FAIRLEAD_CLUSTER/manager/state

# All that may not change with a restart.
knowledge() {
	json_of list
	json_of pools
	json_of quarantine list
	json_of node list | gojq '[.nodes[] | {name, incarnation, drained, reason, grants, pending}]'
	fairlead eventlog jm/active
}
epoch() {
	json_of status | gojq .epoch
}
refuses_to_start() { # refuses_to_start REGEX...: of what it says
	local regex
	expect_exit 1 restart manager
	for regex; do
		has "$err" "$regex" 'why it does not start'
	done
}
stop_manager() {
	kill_pid -TERM "$(pid_of manager)"
}

active=$(reserve jm/active 'n[0-1]' -o vnis=2)
fairlead apply "$active"
reserve jm/reserved n0 >/dev/null
stuck=$(reserve jm/stuck 'n[0-1]')
fairlead apply "$stuck"
nic n1 busy svc="$(service_of n1 cxi0 "$stuck")" nic=0 ms=forever
fairlead release "$stuck" >/dev/null
fairlead release "$(reserve jm/moves-the-cursor n0)"
fairlead node drain n0 --reason 'new memory'

it 'a restart keeps jobs, quarantine, drains, events, and takes a higher epoch'
before=$(knowledge)
first=$(epoch)
restart manager
is "$(knowledge)" "$before" 'knowledge'
is "$(epoch)" $((first + 1)) 'epoch'

it 'so does a kill -9'
kill_manager
expect_exit 75 fairlead status
expect_hint 'is fairleadd running'
restart manager
is "$(knowledge)" "$before" 'knowledge'
is "$(epoch)" $((first + 2)) 'epoch'
fairlead node undrain n0

it 'round robin goes on where it was'
grant=$(reserve jm/next n0)
is "$(vnis_of "$grant")" 1029 'VNI'
fairlead release "$grant"

it 'a second manager with the same state is refused'
sed "s/:7171/:7272/; s,/manager.sock,/second.sock," "$config" >"$work/second.conf"
expect_exit 1 on manager -- "$fairleadd" --role manager --config "$work/second.conf"
expect_error "another manager \\(process $(pid_of manager)\\) has the journal directory .$state.: stop it"
is "$(epoch)" $((first + 2)) 'epoch'
fairlead release "$(reserve jm/still n0)"

it 'a journal that was damaged is refused, with its name and what to do'
stop_manager
cp -a "$state" "$work/good"
sqlite3 "$state/journal.db" 'pragma wal_checkpoint(truncate)' >/dev/null
sqlite3 "$state/journal.db" \
	"update job set body = zeroblob(length(body)) where grant_id = $active"
refuses_to_start "journal.db' is damaged: row $active/0 'jm/active/0' of 'job' does not match its digest" \
	'put a backup there' 'fairlead manager recover'
expect_exit 75 fairlead manager recover
expect_hint 'fairleadd --role manager --recover'
is "$(sqlite3 "$state/journal.db" 'select count(*) from job')" 3 'jobs that are left'

it 'so is one whose pages are garbage'
rm -rf "$state"
cp -a "$work/good" "$state"
rm -f "$state/journal.db-wal" "$state/journal.db-shm"
dd if=/dev/urandom of="$state/journal.db" bs=4096 seek=1 count=6 conv=notrunc 2>"$work/dd"
refuses_to_start "journal.db' is damaged: " 'put a backup there' 'fairlead manager recover'

it 'and one that is not a journal at all'
echo 'my notes' >"$state/journal.db"
refuses_to_start "journal.db'" 'put a backup there' 'fairlead manager recover'

it 'with the good one back all is as before'
rm -rf "$state"
cp -a "$work/good" "$state"
restart manager
is "$(vnis_of jm/active)" 1024-1025 'VNIs'
expect_pool quarantined 1027
expect_replay

it 'an old backup is refused: the epoch beside it is higher'
stop_manager
rm -rf "$work/backup"
cp -a "$state" "$work/backup"
restart manager
after=$(reserve jm/after-backup 'n[0-1]')
fairlead apply "$after"
stop_manager
cp -a "$work/backup"/journal.db* "$state/"
refuses_to_start 'journal.*(old|older).*epoch|epoch.*journal' 'recover'
expect_exit 75 fairlead status

it 'put back together with its epoch it meets the nodes, and stops'
rm -rf "$state"
cp -a "$work/backup" "$state"
start_by_hand manager "$fairleadd" --role manager --config "$config"
wait_for eval 'fairlead status | grep -q halted'
expect_exit 1 reserve jm/halted n0
expect_error 'the manager has stopped: a node has obeyed a newer manager, so this journal is old'
expect_hint 'fairlead manager recover'
expect_objects 5 n1
expect_exit 1 fairlead manager recover
expect_hint 'fairleadd --role manager --recover'

it 'a recovery counts everything as used until each node has reported'
stop_by_hand manager
kill_pid "$(agent_pid n1)"
start_by_hand manager "$fairleadd" --role manager --config "$config" --recover
wait_for is_up n0
holds "$(json_of status)" '.recovering and .awaited == "n1"'
expect_exit 0 fairlead manager recover
expect_out 'waiting for: n1'
expect_exit 75 reserve jm/early n0
expect_error 'failed to reserve 1 VNI'
[ "$(epoch)" -gt $((first + 5)) ]

it 'it goes on when the last node is there, or was waived by name'
expect_exit 1 fairlead manager waive n7
expect_error 'n7'
expect_exit 0 fairlead manager waive n1
expect_out 'the recovery is complete'
holds "$(json_of status)" '.recovering | not'
expect_exit 1 fairlead manager recover
is "$(vnis_of jm/active)" 1024-1025 'VNIs of the job of the backup'

it 'what a node has and the journal does not know is withheld and listed'
expect_pool withheld "$(on n0 -- fairlead node status --json |
	gojq -r --argjson g "$after" '.grants[] | select(.grant_id == $g).ids[0]')"
holds "$(json_of node list)" '.nodes[] | select(.name == "n0") | .withheld | length > 0'
grant=$(reserve jm/later n0)
[ "$grant" -gt 4294967295 ] || fail "grant id $grant after a recovery"
fairlead release "$grant"
stop_by_hand manager
start_by_hand n1 "$fairleadd" --role node --config "$config"
restart manager
fairlead release jm/active >/dev/null
fairlead release jm/reserved

it 'a full disk: the client gets the error and what to do, the daemon stays up'
kill_manager
on manager -- sh -c "cp -a $state $work/full && mount -t tmpfs -o size=2m tmpfs $state &&
	chmod 700 $state && cp -a $work/full/. $state/ && chown --reference=$work/full $state"
restart manager
pid=$(pid_of manager)
grant=$(reserve jm/before-full n0)
on manager -- sh -c "cat /dev/zero >$state/filler" 2>/dev/null || true
full=false
for ((i = 0; i < 200; i++)); do
	run reserve "jm/full$i" n0
	[ "$code" -ne 0 ] && full=true && break
done
$full || fail 'the disk is never full'
is "$code" 1 'exit code'
expect_error '(No space left|full)'
expect_hint 'space'
expect_exit 75 fairlead list
expect_error 'make room on the disk'

it 'when there is room again it works, and nothing was lost'
on manager -- rm "$state/filler"
insist reserve "jm/full$i" n0
is "$code" 0 "exit code ($err)"
is "$(pid_of manager)" "$pid" 'process'
is "$(job_state "$grant")" reserved 'state of what was there before'
for ((; i >= 0; i--)); do
	is "$(job_state "jm/full$i")" reserved 'state of what was acknowledged'
	fairlead release "jm/full$i"
done
fairlead release "$grant"
nic n1 clear
wait_for is_quarantined 0
expect_replay

story_end
