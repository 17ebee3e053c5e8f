#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Lanes on Elan, from a request to the contexts of tasks: keys are sealed by the
# manager, opened by the guards, and left with a fairlead-rms on each node. What a
# job manager does there is elan3-job's part.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'other users have no part in a cluster of a user'
need_others
interconnect=elan3
job=$tools/elan3-job

rms_kill() { # rms_kill NODE: as kill -9 does; its socket is left behind
	kill_pid "$(pid_of "$1" rms)"
}

# tasks_start NODE PROGRAM FIRST LAST RANK...: the job manager's part
tasks_start() {
	: >"$work/tasks-$1"
	on "$1" -- "$job" run "${@:2:3}" $alice "${@:5}" >"$work/tasks-$1" 3>&- &
	wait_for say_all "$1" $(($# - 4))
}

say_all() { # say_all NODE TASKS: have said who they are
	[ "$(grep -c '^rank' "$work/tasks-$1")" -eq "$2" ]
}

members() { # members NODE PROGRAM
	on "$1" -- "$job" members "$2"
}

# pool_of NAME MEMBER: an id set, or what is not there
pool_of() {
	json_of pools | gojq -r ".pools.elan3.$1.$2"
}

is_context() { # is_context MEMBER SET
	[ "$(pool_of context "$1")" = "$2" ]
}

printf 'eip [4-6] n[0-2]\n' >"$work/elanhosts"
chmod 644 "$work/elanhosts"
cluster_up -N 3 --nics 1 -s "elan3.elanhosts=$work/elanhosts" -s elan3.rails=2

it 'without a fairlead-rms there is no lane, and the nodes say what to do'
for node in n0 n1 n2; do
	rms_kill $node
	kill_pid "$(pid_of $node daemon)"
	start_by_hand $node "$fairleadd" --role node --config "$config"
	wait_for says_up $node
done
grant=$(reserve run/none n0 -n 1)
expect_exit 1 fairlead apply "$grant"
expect_error 'has not reported its place in the Elan'
expect_exit 1 on n0 -- fairlead doctor --config "$config"
has "$out" 'fairlead-rms.*start fairlead-rms.service' 'what doctor says'
for node in n0 n1 n2; do
	stop_by_hand $node
	restart $node
done
expect_exit 0 on n0 -- fairlead doctor --config "$config"
has "$out" 'elan1 of elan3: usable, ElanID 4' 'what doctor says'

it 'a job on two rails has a capability for each, on its nodes alone'
one=$(reserve run/one 'n[0-1]' -o rails=0:1 -n 2)
expect_exit 0 fairlead apply "$one"
program=$(pool_of program held)
is "$(pool_of context held)" 1024-1025 'contexts'
expect_objects 2 n0 n1
expect_objects 0 n2
expect_exit 0 on n1 -- fairlead env --user $alice run/one
has "$out" "FAIRLEAD_RMS_PROGRAM=.?$program" 'the program'
has "$out" 'RMS_NNODES=.?2' 'nodes'
has "$out" 'RMS_NPROCS=.?4' 'processes'
has "$out" 'RMS_NODEID=.?1' 'the node'

it 'its tasks have the contexts of their ranks on both rails'
tasks_start n0 "$program" 1024 1025 0 1
tasks_start n1 "$program" 1024 1025 2 3
is "$(sort "$work/tasks-n0" "$work/tasks-n1")" \
	'rank 0 node 0 of 2 processes 4 rail 0 context 1024 rail 1 context 1024
rank 1 node 0 of 2 processes 4 rail 0 context 1025 rail 1 context 1025
rank 2 node 1 of 2 processes 4 rail 0 context 1024 rail 1 context 1024
rank 3 node 1 of 2 processes 4 rail 0 context 1025 rail 1 context 1025' 'ranks'

it 'whoever they fork is in their program, in whatever session'
is "$(members n1 "$program")" 9 'members'

it 'nobody else gets its capabilities: another user, another program of its owner'
expect_exit 13 on n1 -- "$job" claim "$program" $bob
expect_exit 0 on n1 -- "$job" kill $((900000 + bob))
for who in $bob $alice; do
	other=$((900000 + who))
	# Nothing was left for a program of this number.
	expect_exit 22 on n1 -- "$job" claim "$other" "$who"
	expect_exit 0 on n1 -- "$job" kill "$other"
done

it 'while they hold it nothing of it is given again'
expect_exit 0 fairlead release "$one"
wait_for is_context quarantined 1024-1025
two=$(reserve run/two 'n[0-1]' -n 2)
expect_exit 0 fairlead apply "$two"
is "$(pool_of context held)" 1026-1027 'contexts of the next job'
[ "$(pool_of program held)" != "$program" ] || fail 'the program was given again'

it 'fairlead-rms and guards die meanwhile, and lose nothing of it'
rms_kill n1
kill_pid "$(guard_pid n1)"
restart n1
is "$(members n1 "$program")" 9 'members'
is "$(pool_of context quarantined)" 1024-1025 'contexts'

it 'the program is killed as a whole, and all comes back'
expect_exit 0 on n0 -- "$job" kill "$program"
expect_exit 0 on n1 -- "$job" kill "$program"
wait_for is_context quarantined ''
expect_exit 0 fairlead release "$two"
wait_for is_context free 1024-2046
expect_objects 0 n0 n1

it 'keys are locked in memory'
locked_kb() { # locked_kb PID
	sed -n 's/^VmLck:[\t ]*\([0-9]*\) kB$/\1/p' "/proc/$1/status"
}
if [ "$sanitizer" = none ]; then
	for pid in "$(pid_of manager)" "$(agent_pid n2)" "$(guard_pid n2)" \
		"$(pid_of n2 rms)"; do
		[ "$(locked_kb "$pid")" -gt 0 ] || fail "process $pid has locked no memory"
	done
else
	skip_claim 'sanitizers lock no memory'
fi

it 'no daemon leaves a core file'
abort() { # abort PID: with a core file, if it may leave one
	prlimit --pid "$1" --core=unlimited
	kill -ABRT "$1"
	wait_for is_gone "$1"
}
rms=$(pid_of n2 rms)
folder=$(readlink "/proc/$rms/cwd")
on n2 -- sh -c "cd '$folder' && exec sleep infinity" 3>&- &
wait_for pgrep -P $!
cores() {
	on n2 -- find "$folder" -maxdepth 1 -name 'core*' -type f
}
before=$(cores)
abort "$(pgrep -P $!)"
if [ "$(cores)" = "$before" ]; then
	skip_claim "cores are elsewhere here: $(</proc/sys/kernel/core_pattern)"
else
	on n2 -- find "$folder" -maxdepth 1 -name 'core*' -type f -newer "$work/elanhosts" -delete
	abort "$rms"
	is "$(cores)" "$before" 'core files'
fi

story_end
