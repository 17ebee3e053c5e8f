#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Daemons that are restarted or killed in the middle: no lane is lost under a job,
# none is left behind one, and jobs go on.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
cluster_up -N 3 --nics 1 -s slingshot.vni_pool=1024-1031 -s manager.revoke_timeout=2
slurm_up 3
shared=$work/shared # of the hooks and tasks of all users
mkdir -m 777 "$shared"

end() { # let it go; all is well
	touch "$shared/end"
	wait_for is_job "$job" COMPLETED
	expect_slurm_clean 3
}
hold_at() { # hold_at HOOK: the next one waits before it, until go_on
	rm -f "$shared/at-$1"* "$shared/go-on"
	cat >"$slurm/$1.before" <<-END
		touch $shared/at-$1 $shared/at-$1-\$SLURMD_NODENAME
		until [ -e $shared/go-on ]; do sleep 0.05; done
	END
}
go_on() { # go_on HOOK
	rm "$slurm/$1.before"
	touch "$shared/go-on"
}
save() { # save [JOB]: slurmctld writes its jobs a while after a change: what is now, too
	local mark=mark-$job-$RANDOM
	slurm_client scontrol update "jobid=${1:-$job}" "admincomment=$mark"
	wait_for grep -q "$mark" "$slurm/state/job_state"
}

for how in -TERM -KILL; do
	it "slurmctld is ended by $how under a running job, and started again"
	submit -N2 -w n0,n1
	wait_for have_started 2
	save
	slurm_stop $how slurmctld
	expect_objects 1 n0 n1
	slurmctld_up
	wait_for is_job "$job" RUNNING
	is "$(job_state "slurm/$job/0")" active 'the job at the manager'
	end

	it "slurmd is ended by $how under a running job, and started again"
	submit -N2 -w n0,n1
	wait_for have_started 2
	slurm_stop $how slurmd.n1
	slurmd_up n1
	wait_for is_job "$job" RUNNING
	end
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
expect_exit 0 on manager -- fairlead reconcile --slurm --config "$config"
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
	expect_exit 0 on manager -- fairlead reconcile --slurm --config "$config"
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

story_end
