#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `fairlead run` on Elan: all that a job manager does there, step by step; and
# what is left when it is killed between two of them.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'other users have no part in a cluster of a user'
need_others
interconnect=elan3

pool_of() { # pool_of NAME MEMBER: an id set
	json_of pools | gojq -r ".pools.elan3.$1.$2"
}

is_pool_of() { # is_pool_of NAME MEMBER SET
	[ "$(pool_of "$1" "$2")" = "$3" ]
}

# What of jobs is on the nodes: programs, deposits, cgroups, and processes that
# say so.
remains() {
	local node
	for node in n0 n1; do
		on $node -- ls /run/fairlead-rms/state | grep -E 'program|deposit' || true
		objects $node | gojq -c '.[]'
	done
	find "$cgroup"/n[0-9] -mindepth 1 -type d
	pgrep -f "^stays-$$ " || true
}

# A job whose tasks leave something behind that hides, and stay.
cat >"$work/task" <<-END
	#!/bin/bash
	(exec -a 'stays-$$ ' sleep infinity) &
	setsid bash -c "(exec -a 'stays-$$ ' sleep infinity) & exit" &
	wait \$!
	echo "started \$RMS_RANK of \$RMS_NPROCS node \$RMS_NODEID of \$RMS_NNODES" \\
		"procid \$RMS_PROCID rank \$FAIRLEAD_RANK in \$(sed -n 's/^0:://p' /proc/self/cgroup)"
	[ \$# -eq 0 ] || exec "\$@"
END
chmod 755 "$work/task"

stay_count() {
	pgrep -c -f "^stays-$$ " || true
}

cluster_up -N 2 --nics 1 -s elan3.rails=2 -s elan3.contexts=1024-1031
[ -n "$cgroup" ] || skip_all 'there are no cgroups of version 2 that can be written'

it 'each task is in the program of its node, and knows its rank'
expect_exit 0 fairlead run -i elan3 -v --user $alice -N 2 -n 4 -o rails=0:1 -- "$work/task"
program=$(event run/1 elan3 | gojq '.[0].reservation.program')
is "$(sed -nE 's/^(n[01]\.[01]): started (.*) in .*(fairlead-rms-[0-9]+).*/\1 \2 \3/p' <<<"$out" | sort)" \
	"n0.0 0 of 4 node 0 of 2 procid 0 rank 0 fairlead-rms-$program
n0.1 1 of 4 node 0 of 2 procid 1 rank 1 fairlead-rms-$program
n1.0 2 of 4 node 1 of 2 procid 2 rank 2 fairlead-rms-$program
n1.1 3 of 4 node 1 of 2 procid 3 rank 3 fairlead-rms-$program" 'the tasks'
# Where a short program's time goes is the clock's to say.
expect_error "program $program has used ([1-9][0-9]* ms, [0-9]+|0 ms, [1-9][0-9]*) ms in the kernel"

it 'nothing of it is left then, whatever its tasks left behind'
is "$(remains)" '' 'what is on the nodes'
is_pool_of context free 1024-1031

it 'ranks go over the nodes as the layout says'
expect_exit 0 fairlead run -i elan3 -N 2 -n 4 -o layout=cyclic -- "$work/task"
is "$(sed -nE 's/^(n[01]\.[01]): started ([0-9]).*/\1 \2/p' <<<"$out" | sort | paste -sd,)" \
	'n0.0 0,n0.1 2,n1.0 1,n1.1 3' 'ranks'

it 'the highest code of a task is its own, and a program that is not there is said'
expect_exit 7 fairlead run -i elan3 -N 2 -n 4 -- sh -c 'exit $((RMS_RANK + 4))'
expect_exit 127 fairlead run -i elan3 -N 2 -- /no/such/program

it 'other interconnects of the same nodes have no program'
expect_exit 0 fairlead run -i none -N 2 -- "$work/task"
lacks "$out" 'fairlead-rms' 'where its tasks are'
expect_exit 0 fairlead run -i slingshot -N 2 -- sh -c 'echo "$SLINGSHOT_VNIS $RMS_RANK."'
expect_out '[0-9] \.'

# A job that stays; its pid is $run.
start_run() {
	local words=(fairlead run)
	[ -z "${FAIRLEAD_RUN_STOP-}" ] || words=("$build/src/emu/commands/run-stops")
	"${words[@]}" -i elan3 --user $alice -N 2 -n 2 -- "$work/task" \
		sleep infinity >"$work/run.out" 2>"$work/run.err" 3>&- &
	run=$!
}

it 'a signal reaches all that tasks have forked, in whatever session'
start_run
wait_for eval "[ \"\$(grep -c started '$work/run.out')\" -eq 2 ]"
wait_for eval '[ "$(stay_count)" -eq 4 ]'
kill -s TERM $run
code=0
wait $run || code=$?
is "$code" 143 'exit code'
is "$(remains)" '' 'what is on the nodes'

it 'without a fairlead-rms on a node no task of the job runs'
expect_exit 0 kill_pid "$(pid_of n1 rms)"
expect_exit 1 fairlead run -i elan3 -N 2 -- touch "$work/ran"
expect_error 'n1.*fairlead-rms'
test ! -e "$work/ran"
restart n1
wait_for is_pool_of context free 1024-1031

for step in reserved begun applied created claimed started waited ended; do
	it "killed when it has $step, it leaves nothing that is not taken back"
	FAIRLEAD_RUN_STOP=$step start_run
	if [ $step = waited ] || [ $step = ended ]; then
		wait_for eval "[ \"\$(grep -c started '$work/run.out')\" -eq 2 ]"
		wait_for eval '[ "$(stay_count)" -eq 4 ]'
		kill -s TERM $run
	fi
	wait_for grep -q "^stopped at $step" "$work/run.err"
	[ $step != started ] || wait_for eval '[ "$(stay_count)" -eq 4 ]'
	key=$(json_of list | gojq -r '.jobs[0].key')
	kill_pid $run
	# Its part of the nodes ends by itself; the lane is there, and the job's.
	wait_for eval '! on n0 -- ls /run/fairlead-rms/state | grep program &&
		! on n1 -- ls /run/fairlead-rms/state | grep program &&
		! find "$cgroup"/n[01] -mindepth 1 -type d | grep .'
	is "$(stay_count)" 0 'processes'
	is "$(pool_of context held)" 1024 'contexts that are held'
	expect_exit 0 fairlead release "$key"
	is "$(remains)" '' 'what is on the nodes'
	wait_for is_pool_of context free 1024-1031
	wait_for is_pool_of program quarantined ''
done

it 'while a process of it lives its identifiers are not given again'
FAIRLEAD_RUN_STOP=started start_run
wait_for grep -q '^stopped at started' "$work/run.err"
wait_for eval '[ "$(stay_count)" -eq 4 ]'
program=$(pool_of program held)
key=$(json_of list | gojq -r '.jobs[0].key')
kill_pid "$(pgrep -P $run -x run-stops)" # who ends what is left
kill_pid $run
expect_exit 0 fairlead release "$key"
wait_for is_pool_of context quarantined 1024
is "$(pool_of program quarantined)" "$program" 'the program'
start_run
wait_for eval "[ \"\$(grep -c started '$work/run.out')\" -eq 2 ]"
is "$(pool_of context held)" 1025 'the contexts of the next one'
[ "$(pool_of program held)" != "$program" ] || fail 'it has the same program'
kill -s TERM $run
wait $run || true
for node in n0 n1; do
	expect_exit 0 on $node -- "$tools/elan3-job" kill "$program"
done
wait_for is_pool_of context free 1024-1031
wait_for is_pool_of program quarantined ''
is "$(remains | grep -v '/job-')" '' 'what is on the nodes'

story_end
