#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Daemons, Slurm's and ours, that end in the middle and are started again: under a
# running job, in its hooks, and while the nodes make a lane. No lane is lost, none
# is left behind, and jobs go on.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
cluster_up -N 3 --nics 1 -s slingshot.vni_pool=1024-1031 -s manager.apply_timeout=60 \
	-s manager.revoke_timeout=2
slurm_up 3

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
end() { # let it go; its tasks could use their lane until then
	touch "$shared/end"
	wait_for is_job "$job" COMPLETED
	is "$(wc -l <"$shared/used")" "$(wc -l <"$shared/tasks")" 'tasks that could use the lane'
	expect_slurm_clean 3
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

save() { # save [JOB]: slurmctld writes its jobs a while after a change: what is now, too
	local mark=mark-$job-$RANDOM
	slurm_client scontrol update "jobid=${1:-$job}" "admincomment=$mark"
	wait_for grep -q "$mark" "$slurm/state/job_state"
}

for how in -TERM -KILL; do
	for daemon in slurmctld slurmd "the manager" "a node's fairleadd"; do
		it "$daemon is ended by $how under a running job, and started again"
		submit -N2 -w n0,n1
		wait_for have_started 2
		case $daemon in
		slurmctld)
			save
			slurm_stop $how slurmctld
			expect_objects 1 n0 n1
			slurmctld_up
			;;
		slurmd)
			slurm_stop $how slurmd.n1
			slurmd_up n1
			;;
		*manager)
			kill_pid $how "$(pid_of manager)"
			restart manager
			wait_for is_up n0 n1 n2
			;;
		*)
			kill_pid $how "$(agent_pid n1)"
			restart n1
			wait_for says_up n1
			;;
		esac
		wait_for is_job "$job" RUNNING
		expect_objects 1 n0 n1
		expect_runs 0
	done
done

it 'slurmctld is killed in PrologSlurmctld: it runs again, and finds the lane'
hold_at prolog-slurmctld
submit -N2 -w n0,n1
wait_for test -e "$shared/at-prolog-slurmctld"
save
slurm_stop -KILL slurmctld
go_on prolog-slurmctld
slurmctld_up
wait_for have_started 2
is "$(slurm_job "$job" Restarts)" 0 'restarts'
is "$(json_of list | gojq '.jobs | length')" 1 'grants'
end

it 'slurmctld forgets a job that it had started: reconcile gives its lane back'
hold_at prolog-slurmctld
submit -N2 -w n0,n1
wait_for test -e "$shared/at-prolog-slurmctld"
slurm_stop -KILL slurmctld
used=$job
rm -f "$slurm"/state/job_state*
go_on prolog-slurmctld
expect_exit 0 reserve "slurm/$job/0" 'n[0-1]'
slurmctld_up
submit -N1 --hold
reconcile
wait_for is_pool held ''
slurm_client scancel "$job"
expect_slurm_clean 3

it 'a key that was used before job ids restarted is no trouble'
next=$((job + 1))
for attempt in 0 65536; do
	run reserve "slurm/$next/$attempt" n0 # or it was used before ids restarted
	[ "$code" -ne 0 ] || fairlead release "$out"
done
submit -N2 -w n0,n1
is "$job" "$next" 'id of the job'
wait_for have_started 2
is "$(job_state "slurm/$job/131072")" active 'its third key'
end

# A slurmd may run no Prolog for an id that it has had a moment ago.
while [ "$job" -lt "$used" ]; do
	submit -N1 --hold
	slurm_client scancel "$job"
done

it 'the manager is killed in the middle of the end'
hold_at epilog-slurmctld
submit -N2 -w n0,n1
wait_for have_started 2
touch "$shared/end"
wait_for test -e "$shared/at-epilog-slurmctld"
kill_manager
restart manager
go_on epilog-slurmctld
end

it "a node's fairleadd is killed as the Epilog begins, and is waited for"
hold_at epilog
submit -N1 -w n1
wait_for have_started 1
touch "$shared/end"
wait_for test -e "$shared/at-epilog"
kill_pid "$(pid_of n1 daemon)"
go_on epilog
restart n1
end

it 'it is killed as the Prolog begins, and is waited for'
hold_at prolog
submit -N1 -w n1
wait_for test -e "$shared/at-prolog"
kill_pid "$(pid_of n1 daemon)"
go_on prolog
restart n1
wait_for have_started 1
end

# How often the hook of n1 was in want of something, and waited for it.
has_waited() { # has_waited COUNT
	local pid
	pid=$(pgrep -fx "$slurm/hooks/prolog") || return 1
	[ "$(sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$pid/status")" -ge "$1" ]
}

it 'others crowd at the socket of the node as the Prolog begins: it waits for its turn'
hold_at prolog
submit -N1 -w n1
wait_for test -e "$shared/at-prolog"
kill -STOP "$(agent_pid n1)"
on n1 --user "$bob" -- "$root/test/system/crowd.py" /run/fairlead/node.sock \
	>"$work/crowd" 3>&- &
wait_for grep -q here "$work/crowd"
go_on prolog
wait_for has_waited 20
kill -CONT "$(agent_pid n1)"
wait_for have_started 1
kill "$(pgrep -fx "python3 $root/test/system/crowd.py /run/fairlead/node.sock")"
end

in_epilogs() { # alice's job of n0 and n1 has ended, and its epilogs are held
	hold_at epilog
	submit -N2 -w n0,n1
	wait_for have_started 2
	save
	cp "$slurm/state/job_state" "$work/job_state"
	touch "$shared/end"
	wait_for test -e "$shared/at-epilog-n0" -a -e "$shared/at-epilog-n1"
	wait_for ran_hook epilog-slurmctld "$job" 0
	is "$(slurm_job "$job" JobState)" COMPLETING 'the job'
	expect_objects 1 n0 n1
}
submit -N1 --hold
held=$job # what is over cannot be marked
for order in before after; do
	it "slurmctld is killed while epilogs run, which end $order it is started again"
	in_epilogs
	save "$held"
	slurm_stop -KILL slurmctld
	[ $order = after ] || go_on epilog
	slurmctld_up
	[ $order = before ] || go_on epilog
	end

	it "and with a state of before the end: Slurm takes the job for running ($order)"
	in_epilogs
	slurm_stop -KILL slurmctld
	cp "$work/job_state" "$slurm/state/job_state"
	[ $order = after ] || go_on epilog
	slurmctld_up
	[ $order = before ] || go_on epilog
	wait_for ran_hook epilog "$job" 0 n0
	wait_for ran_hook epilog "$job" 0 n1
	wait_for is_pool held ''
	reconcile
	expect_out "running jobs have no grant.* $job\$"
	slurm_client scancel "$job"
	wait_for is_job "$job" CANCELLED
	expect_slurm_clean 3
done
slurm_client scancel "$held"

it 'a node without its fairleadd at the end is drained, and mended later'
submit -N2 -w n1,n2
wait_for have_started 2
kill_pid "$(pid_of n2 daemon)"
touch "$shared/end"
wait_for is_job "$job" COMPLETED
wait_for is_slurm_node n2 drain
has "$(drain_reason n2)" '^fairlead: no daemon listens' 'reason'
wait_for is_quarantined 1
restart n2
wait_for says_up n2
wait_for is_quarantined 0
slurm_client scontrol update nodename=n2 state=resume
expect_slurm_clean 3

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
has "$(drain_reason n1)" "^fairlead: the node cannot be reached \\(job $job\\)" 'reason'
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

story_end
