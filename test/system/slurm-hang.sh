#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A daemon of ours that is there and does not answer, at each hook of Slurm: the
# hook ends, with an outcome that is written down, and no job hangs.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
cluster_up -N 4 --nics 1 -s slingshot.vni_pool=1024-1031 -s manager.apply_timeout=30 \
	-s manager.revoke_timeout=2 -s node.epilog_timeout=5
slurm_up 4
# The end of a job need not wait for a node that hangs: read at each call.
sed -i '/^slurm {/a grace = 1' "$config"
cp "$config" "$work/settings"
# A hook that is to lose patience has settings of its own; no daemon has.
hasty=$work/hasty
mkdir "$hasty"
sed 's/\(apply\|revoke\|epilog\)_timeout *=.*/\1_timeout = 1/
	/^slurm {/a answer_timeout = 1' "$config" >"$hasty/fairlead.conf"

expect_runs() { # expect_runs TASKS: the job does now, and ends well
	wait_for have_started "$1"
	is "$(grep -c '^10[0-9][0-9]$' "$shared/tasks")" "$1" 'tasks in a lane'
	touch "$shared/end"
	wait_for is_job "$job" COMPLETED
	expect_slurm_clean 4
}
has_ended() { # has_ended HOOK [NODE]: the job's, well or not
	grep -q "^$1 $job [01] ${2:-}" "$slurm/log/hooks"
}
is_held() {
	[ "$(slurm_job "$job" JobState) $(slurm_job "$job" Priority)" = 'PENDING 0' ]
}
hurry() { # hurry HOOK [NODE]: it soon loses patience
	echo "[ \"\$SLURMD_NODENAME\" != '${2:-}' ] || FAIRLEAD_CLUSTER=$hasty" \
		>>"$slurm/$1.before"
}
hold_at() { # hold_at HOOK [NODE]: it waits before it begins, until let_go
	rm -f "$shared/at-$1" "$shared/let-go"
	cat >>"$slurm/$1.before" <<-END
		[ "\$SLURMD_NODENAME" != '${2:-}' ] || {
			touch $shared/at-$1
			until [ -e $shared/let-go ]; do sleep 0.05; done
		}
	END
}
let_go() {
	touch "$shared/let-go"
}
stop() { # stop PID: it does nothing until it goes on
	stopped=$1
	kill -STOP "$1"
}
resume() { # unless it is gone; and hooks are as always
	local hook
	kill -CONT "$stopped" 2>/dev/null || is_gone "$stopped"
	for hook in "$slurm"/*.before; do
		: >"$hook"
	done
	wait_for is_up n0 n1 n2 n3
	wait_for says_up n1
}
no_answer='no answer from the daemon within [0-9]+ ms'

it "Prolog, the node's agent hangs: that node is drained, the job held"
hold_at prolog n1
hurry prolog n1
hurry epilog n1
submit -N2 -w n0,n1
wait_for test -e "$shared/at-prolog"
stop "$(agent_pid n1)"
let_go
wait_for is_held
is "$(slurm_state n1)" drain 'n1'
has "$(drain_reason n1)" "^fairlead: $no_answer" 'reason'
wait_for are_nodes idle 3
resume
slurm_client scontrol update nodename=n1 state=resume
slurm_client scontrol release "$job"
try_again "$job"
expect_runs 2

it "Prolog, the node's guard hangs: nobody needs it, and the job runs"
hold_at prolog n1
submit -N2 -w n0,n1
wait_for test -e "$shared/at-prolog"
stop "$(guard_pid n1)"
let_go
wait_for have_started 2
resume
expect_runs 2

kill_and_restart() { # n1, where one of the two processes hangs
	kill_both n1
	restart n1
}

for who in agent guard; do
	it "Epilog, the node's $who hangs: the job ends, the node is drained, and mended later"
	hold_at epilog n1
	hurry epilog n1
	submit -N2 -w n0,n1
	wait_for have_started 2
	touch "$shared/end"
	wait_for test -e "$shared/at-epilog"
	stop "$(${who}_pid n1)"
	let_go
	wait_for is_job "$job" COMPLETED
	wait_for is_slurm_node n1 drain
	has "$(drain_reason n1)" "^fairlead: $no_answer" 'reason'
	wait_for is_quarantined 1
	wait_for are_nodes idle 3
	[ $who = agent ] || kill_and_restart
	resume
	wait_for is_quarantined 0
	slurm_client scontrol update nodename=n1 state=resume
	expect_slurm_clean 4
done

hang_at_end() { # the manager does, when the job that runs has ended
	hold_at epilog-slurmctld
	hurry epilog-slurmctld
	submit -N2
	wait_for have_started 2
	touch "$shared/end"
	wait_for test -e "$shared/at-epilog-slurmctld"
	stop "$(pid_of manager)"
	let_go
	wait_for is_job "$job" COMPLETED
	wait_for ran_hook epilog-slurmctld "$job" 1
	wait_for are_nodes idle 4
}

it 'EpilogSlurmctld, the manager hangs: the job ends; it finds the release when it goes on'
hang_at_end
resume
expect_slurm_clean 4

it '.. and reconcile mends it, when the manager is restarted instead'
hang_at_end
kill_manager
restart manager
resume
is "$(job_state "slurm/$job")" active 'the job at the manager'
reconcile
expect_out "slurm/$job/0 .*released"
expect_slurm_clean 4

it 'PrologSlurmctld, the manager hangs: srun ends, a batch job waits and runs later'
hurry prolog-slurmctld
hurry epilog-slurmctld
stop "$(pid_of manager)"
run as_user "$alice" srun -N2 true
is "$code" 1 'exit code of srun'
submit -N2
wait_for is_requeued "$job"
has "$(comment)" "^fairlead: $no_answer" 'comment'
wait_for are_nodes idle 4
wait_for ran_hook epilog-slurmctld "$job" 1
resume # it finds all that the hooks had asked for, long after they gave up
try_again "$job"
expect_runs 2

it 'PrologSlurmctld, the manager hangs while nodes make the lane: the same'
guard=$(guard_pid n1)
kill -STOP "$guard"
hurry prolog-slurmctld
hurry epilog-slurmctld
submit -N2 -w n0,n1
wait_for is_state applying
stop "$(pid_of manager)"
kill -CONT "$guard"
wait_for is_requeued "$job"
has "$(comment)" "^fairlead: $no_answer" 'comment'
wait_for are_nodes idle 4
wait_for has_ended epilog-slurmctld
resume
try_again "$job"
expect_runs 2

for who in agent guard; do
	it "PrologSlurmctld, a node's $who hangs: that node is drained, the job runs elsewhere"
	sed -i 's/apply_timeout *= .*/apply_timeout = 5/' "$config"
	expect_exit 0 fairlead manager reconfigure
	stop "$(${who}_pid n1)"
	submit -N3
	wait_for is_requeued "$job"
	wait_for is_slurm_node n1 drain
	has "$(drain_reason n1)" "^fairlead: the node did not answer in time \\(job $job\\)" 'reason'
	has "$(comment)" '^fairlead: .*n1: the node did not answer in time' 'comment'
	wait_for are_nodes idle 3
	cp "$work/settings" "$config"
	expect_exit 0 fairlead manager reconfigure
	resume
	slurm_client scontrol update nodename=n1 state=resume
	try_again "$job"
	expect_runs 3
done

story_end
