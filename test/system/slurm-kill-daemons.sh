#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Our daemons end in the middle, and are started again: while the nodes make a
# lane, and under a running job. No lane is lost, none is left behind, jobs go on.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
cluster_up -N 3 --nics 1 -s slingshot.vni_pool=1024-1031 -s manager.apply_timeout=60 \
	-s manager.revoke_timeout=2
slurm_up 3
shared=$work/shared # of the hooks and tasks of all users
mkdir -m 777 "$shared"

cat >"$work/task" <<END
#!/bin/sh
echo \$SLINGSHOT_VNIS >>$shared/tasks
until [ -e $shared/end ]; do sleep 0.05; done
cxi-lni && echo used >>$shared/used
END
chmod 755 "$work/task"

submit() { # submit [OPTION...]: alice's, that stays until it is let go; into $job
	rm -f "$shared/tasks" "$shared/end" "$shared/used"
	expect_exit 0 as_user "$alice" sbatch --parsable -o /dev/null "$@" \
		--wrap "srun $work/task"
	job=$out
}
end() { # let it go; its two tasks could use their lane until then
	touch "$shared/end"
	wait_for is_job "$job" COMPLETED
	is "$(wc -l <"$shared/used")" 2 'tasks that could use the lane'
	expect_slurm_clean 3
}
is_state() { # is_state STATE [KEY]: of the job's grant, or of that one
	[ "$(job_state "${2:-slurm/$job}")" = "$1" ]
}
comment() {
	slurm_client scontrol show job "$job" | sed -n 's/^ *AdminComment=//p'
}
is_undrained() { # is_undrained NODE...: in Slurm
	local node
	for node; do
		[[ $(slurm_state "$node") != d* ]] || return 1
	done
}
is_made() { # is_made NODE: the lane of the only job that has one
	[ "$(object_count "$1")" -eq 1 ]
}
hold_apply() { # a job of n0 and n1 [OPTION...]: n0 has its lane, n1 does nothing yet
	guard=$(guard_pid n1)
	kill -STOP "$guard"
	submit -N2 "$@"
	wait_for is_state applying
	wait_for is_made n0
}
expect_used() { # the lane is, by the job that runs, and nobody is drained
	is_undrained n0 n1 n2 || fail "drained: $(node_states)"
	end
}
expect_runs() { # expect_runs ATTEMPT: the job does, and ends well; nobody is drained
	wait_for have_started 2
	is "$(job_state "slurm/$job/$1")" active 'its attempt'
	expect_used
}

it 'the manager is killed while nodes make a lane: that is undone, and the job has another'
hold_apply -w n0,n1
kill_manager
kill -CONT "$guard"
restart manager
wait_for have_started 2
is "$(slurm_job "$job" Restarts)" 0 'restarts'
wait_for is_state gone "slurm/$job/0"
expect_used

it "a node's agent is killed while it makes a lane: it is asked again, and the job runs"
hold_apply -w n0,n1
kill_pid "$(agent_pid n1)"
kill -CONT "$guard"
wait_for is_gone "$guard"
restart n1
expect_runs 0

it '.. and its guard alone, after which the agent ends'
hold_apply -w n0,n1
agent=$(agent_pid n1)
kill_pid "$guard"
wait_for is_gone "$agent"
restart n1
expect_runs 0

nic=$(pid_of n1 softnic)
die_half_made() { # n1's daemons do, while they make the lane of a new job
	expect_objects 0 n0 n1
	kill -STOP "$nic"
	submit -N2 -w n0,n1
	wait_for grep -aq "slurm/$job/" "$FAIRLEAD_CLUSTER/n1/run/node/journal"
	wait_for is_made n0
	kill_both n1
	kill -CONT "$nic"
	wait_for nic n1 dump # it has done what the dead had asked for
	restart n1
	wait_for is_requeued "$job"
}

it '.. and both, with the lane half made: it is undone, no node is drained, the job runs later'
die_half_made
is_undrained n1 || fail "drained: $(drain_reason n1)"
has "$(comment)" '^fairlead: .* n1: the grant was revoked' 'comment'
try_again "$job"
expect_runs 1

it '.. and both, with three lanes half made: that node is drained'
for count in 1 2 3; do
	[ "$count" = 1 ] || is_undrained n1 || fail "drained: $(drain_reason n1)"
	die_half_made
	slurm_client scancel "$job"
done
wait_for is_slurm_node n1 drain
has "$(drain_reason n1)" \
	"^fairlead: the node restarted during three applies; see its log \\(job $job\\)" 'reason'
slurm_client scontrol update nodename=n1 state=resume
expect_slurm_clean 3

it '.. and both, for good: that node is drained, and the job runs elsewhere'
cp "$config" "$work/settings"
sed -i 's/apply_timeout *= .*/apply_timeout = 5/' "$config"
expect_exit 0 fairlead manager reconfigure
slurm_client scontrol update nodename=n2 state=drain reason='not now'
hold_apply
kill_both n1
wait_for is_requeued "$job"
wait_for is_slurm_node n1 drain
has "$(drain_reason n1)" "^fairlead: the node did not answer in time \\(job $job\\)" 'reason'
slurm_client scontrol update nodename=n2 state=resume
cp "$work/settings" "$config"
expect_exit 0 fairlead manager reconfigure
try_again "$job"
wait_for have_started 2
is "$(slurm_job "$job" NodeList)" 'n[0,2]' 'nodes'
restart n1
wait_for says_up n1
slurm_client scontrol update nodename=n1 state=resume
end

it "a node's guard is killed under a running job, after which the agent ends"
submit -N2 -w n0,n1
wait_for have_started 2
agent=$(agent_pid n1)
kill_pid "$(guard_pid n1)"
wait_for is_gone "$agent"
restart n1
wait_for says_up n1
expect_objects 1 n0 n1
expect_runs 0

for how in -TERM -KILL; do
	it "the manager is ended by $how under a running job, and started again"
	submit -N2 -w n0,n1
	wait_for have_started 2
	pid=$(pid_of manager)
	kill $how "$pid"
	wait_for is_gone "$pid"
	restart manager
	wait_for is_up n0 n1 n2
	expect_objects 1 n0 n1
	expect_runs 0

	it "a node's fairleadd is ended by $how under a running job, and started again"
	submit -N2 -w n0,n1
	wait_for have_started 2
	pid=$(agent_pid n1)
	kill $how "$pid"
	wait_for is_gone "$pid"
	restart n1
	wait_for says_up n1
	expect_objects 1 n0 n1
	expect_runs 0
done

story_end
