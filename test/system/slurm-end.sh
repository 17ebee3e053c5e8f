#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# However a job of Slurm ends, its lane goes: cancelled, requeued, on a card that
# does not let go, on a node that dies.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
slurm_kill_wait=60 # a task that does not want to end has time
slurm_user=nobody # the manager's user, whose commands may drain nodes
for script in drain undrain; do
	cat >"$work/$script" <<-END
		#!/bin/sh
		SLURM_CONF=$SLURM_CONF $root/pack/slurm/$script "\$@" &&
			echo "$script \$1" >>$work/calls
	END
	chmod 755 "$work/$script"
done
touch "$work/calls" && chmod 666 "$work/calls"
cluster_up -N 4 --nics 1 -s slingshot.vni_pool=1024-1027 -s manager.revoke_timeout=2 \
	-s node.epilog_timeout=1 -s node.housekeeping_timeout=2 \
	-s "manager.drain_command=$work/drain" -s "manager.undrain_command=$work/undrain"
slurm_up 4

submit() { # submit [OPTION...]: alice's, that stays; into $job
	rm -f "$shared/tasks"
	expect_exit 0 as_user "$alice" sbatch --parsable -o /dev/null "$@" --wrap \
		"srun sh -c 'echo \$SLINGSHOT_VNIS >>$shared/tasks; exec sleep 600'"
	job=$out
}

has_lines() { # has_lines COUNT FILE
	[ "$(wc -l <"$2")" -eq "$1" ]
}

it 'a running job that is cancelled'
submit -N2
wait_for have_started 2
slurm_client scancel "$job"
wait_for is_job "$job" CANCELLED
expect_slurm_clean 4

it 'tasks keep their lane until they have ended'
cat >"$work/checkpoint" <<END
trap 'until [ -e $shared/go-on ]; do sleep 0.05; done
	cxi-lni && echo saved >>$shared/saved; exit' TERM
echo \$SLINGSHOT_VNIS >>$shared/tasks
while :; do sleep 0.05; done
END
rm "$shared/tasks"
expect_exit 0 as_user "$alice" sbatch --parsable -o /dev/null -N2 --wrap "srun sh $work/checkpoint"
job=$out
wait_for have_started 2
slurm_client scancel "$job"
wait_for ran_hook epilog-slurmctld "$job" 0
is "$(job_state "slurm/$job")" releasing 'the job at the manager'
expect_objects 1 n0 n1
touch "$shared/go-on"
wait_for is_job "$job" CANCELLED
is "$(wc -l <"$shared/saved")" 2 'tasks that could use it'
rm "$shared/go-on"
expect_slurm_clean 4

het() { # het COMMAND OF COMPONENT 0, 1...: alice's script, each on its node; into $job
	local i
	rm -f "$shared"/{tasks,saved,go-on}
	for ((i = 0; i < $#; i++)); do
		[ $i -eq 0 ] || echo '#SBATCH hetjob'
		echo "#SBATCH -N1 -n1 -w n$i -o /dev/null"
	done | sed '1i #!/bin/sh' >"$work/het"
	for ((i = 0; i < $#; i++)); do
		echo "srun --overlap --het-group=$i ${*:i + 1:1} &"
	done >>"$work/het"
	cat >>"$work/het" <<-END
		until [ -e $shared/next ]; do sleep 0.05; done
		. $shared/next
	END
	rm -f "$shared/next"
	expect_exit 0 as_user "$alice" sbatch --parsable "$work/het"
	job=$out
	wait_for have_started $#
	is "$(sort -u "$shared/tasks" | wc -l)" 1 'lanes'
}
printf '#!/bin/sh\necho $SLINGSHOT_VNIS >>%s\nexec sleep 600\n' "$shared/tasks" >"$work/stay"
cat >"$work/use" <<END
#!/bin/sh
cxi-lni && echo \$SLURMD_NODENAME \$SLINGSHOT_VNIS >>$shared/saved
END
chmod 755 "$work/stay" "$work/use"

it 'a component that ends gives its node back, and leaves the lane to the others'
het "$work/stay" "$work/stay" "$work/stay"
slurm_client scancel "$job+1"
wait_for ran_hook epilog $((job + 1)) 0 n1
wait_for ran_hook epilog-slurmctld $((job + 1)) 0
expect_objects 0 n1
expect_objects 1 n0 n2
is "$(job_state "slurm/$job/0")" active 'the job at the manager'
echo "srun --overlap --het-group=0,2 $work/use; sleep 600" >"$work/next"
mv "$work/next" "$shared/next"
wait_for has_lines 2 "$shared/saved"
is "$(sort "$shared/saved")" "$(printf '%s\n' n0 n2 | sed "s/$/ $(head -n 1 "$shared/tasks")/")" \
	'tasks that could use it'
slurm_client scancel "$job"
wait_for is_job "$job" CANCELLED
expect_slurm_clean 4

it 'a leader that ends first ends the others, whose tasks keep the lane until then'
het "$work/stay" "sh $work/checkpoint" "$work/stay"
echo 'exit 0' >"$work/next"
mv "$work/next" "$shared/next"
wait_for ran_hook epilog-slurmctld "$job" 0
wait_for ran_hook epilog "$job" 0 n0
wait_for ran_hook epilog $((job + 2)) 0 n2
expect_objects 0 n0 n2
expect_objects 1 n1
touch "$shared/go-on"
wait_for has_lines 1 "$shared/saved"
wait_for is_job $((job + 1)) COMPLETED
rm "$shared/go-on"
expect_slurm_clean 4

it 'one that is cancelled before its lane is asked for'
hold_at prolog-slurmctld
submit -N2
wait_for test -e "$shared/at-prolog-slurmctld"
slurm_client scancel "$job"
go_on prolog-slurmctld
wait_for is_job "$job" CANCELLED
expect_slurm_clean 4
test ! -e "$shared/tasks" || fail 'it ran'

it 'one that is cancelled while the Prologs of its nodes run, which drains none'
hold_at prolog
submit -N2 -w n0,n1
wait_for test -e "$shared/at-prolog-n0" -a -e "$shared/at-prolog-n1"
slurm_client scancel "$job"
wait_for ran_hook epilog-slurmctld "$job" 0
go_on prolog
wait_for is_job "$job" CANCELLED
wait_for ran_hook prolog "$job" 0 n0
wait_for ran_hook prolog "$job" 0 n1
expect_slurm_clean 4
test ! -e "$shared/tasks" || fail 'it ran'

is_ending() { # is_ending JOB: Slurm has ended it, and its PrologSlurmctld
	[[ $(slurm_job "$1" JobState) = @(COMPLETING|CANCELLED) ]] &&
		! pgrep -fx "/bin/sh $slurm/prolog-slurmctld"
}
cancel_while_applying() { # a job of n0 and n1, whose daemon hangs until then
	local guard
	guard=$(guard_pid n1)
	kill -STOP "$guard"
	submit -N2 -w n0,n1
	wait_for is_state applying
	slurm_client scancel "$job"
	wait_for is_ending "$job"
	kill -CONT "$guard"
	wait_for is_job "$job" CANCELLED
	test ! -e "$shared/tasks" || fail 'it ran'
}

it 'one that is cancelled while nodes make its lane'
cancel_while_applying
# scancel ends PrologSlurmctld by SIGKILL, and sometimes EpilogSlurmctld too.
ran_hook epilog-slurmctld "$job" 0 || reconcile
expect_slurm_clean 4

it 'and where scancel ends EpilogSlurmctld too, reconcile takes the lane back'
echo 'kill -KILL $$' >"$slurm/epilog-slurmctld.before"
cancel_while_applying
rm "$slurm/epilog-slurmctld.before"
wait_for is_state active
reconcile
expect_out "slurm/$job/0 .*released"
expect_slurm_clean 4

it 'one that waits and is cancelled never had any'
submit -N2 --hold
slurm_client scancel "$job"
wait_for is_job "$job" CANCELLED
expect_exit 1 fairlead explain "slurm/$job"
expect_slurm_clean 4

it 'a requeue takes the lane back and makes another one'
submit -N2
wait_for have_started 2
before=$(<"$shared/tasks")
rm "$shared/tasks"
slurm_client scontrol requeue "$job"
wait_for is_requeued "$job"
wait_for is_pool held ''
try_again "$job"
wait_for have_started 2
is "$(sort -u "$shared/tasks" | wc -l)" 1 'lanes of the second start'
lacks "$(<"$shared/tasks")" "${before%%$'\n'*}" 'VNI of the second start'
is "$(job_state "slurm/$job/1")" active 'its second attempt'
expect_lane_events "slurm/$job/0" request cray-slingshot apply applied release revoked free
slurm_client scancel "$job"
expect_slurm_clean 4

it 'a card that does not let go: the job ends, the node is drained, and comes back'
sed -i '/^slurm {/a grace = 1' "$config" # hooks read it at each call
submit -N2 -w n0,n1
wait_for have_started 2
nic n1 busy svc="$(objects n1 | gojq '.[0].id')" nic=0 ms=forever
slurm_client scancel "$job"
wait_for is_job "$job" CANCELLED
wait_for is_slurm_node n1 drain
has "$(drain_reason n1)" '^fairlead: .*cxi0: .*busy' 'reason'
is "$(slurm_state n0)" idle 'n0'
wait_for is_quarantined 1
expect_objects 0 n0
nic n1 busy svc="$(objects n1 | gojq '.[0].id')" nic=0 ms=release
wait_for is_slurm_node n1 idle
expect_slurm_clean 4

was_called() { # was_called drain|undrain NODE: to the end
	grep -qx "$1 $2" "$work/calls"
}
for when in before after; do
	it "what an operator has drained, $when us, is not resumed by us"
	: >"$work/calls"
	submit -N1 -w n2
	wait_for have_started 1
	[ $when = after ] ||
		slurm_client scontrol update nodename=n2 state=drain reason='new memory'
	nic n2 busy svc="$(objects n2 | gojq '.[0].id')" nic=0 ms=forever
	slurm_client scancel "$job"
	wait_for was_called drain n2
	wait_for is_slurm_node n2 drain
	[ $when = before ] ||
		slurm_client scontrol update nodename=n2 state=drain reason='new memory'
	nic n2 busy svc="$(objects n2 | gojq '.[0].id')" nic=0 ms=release
	wait_for is_pool quarantined ''
	wait_for was_called undrain n2
	is "$(slurm_state n2)" drain 'n2'
	has "$(drain_reason n2)" '^new memory' 'reason'
	slurm_client scontrol update nodename=n2 state=resume
	expect_slurm_clean 4
done

it 'a node that dies in a job: quarantine until it has booted again'
submit -N2 -w n2,n3
wait_for have_started 2
slurm_stop -KILL slurmd.n3
steps=$(pids_on n3)
kill_pid "$(pid_of n3 daemon)"
for pid in $steps; do
	kill -9 "$pid" || true # one ends with another
done
slurm_client scontrol update nodename=n3 state=down reason='no power'
wait_for is_slurm_node n2 idle
wait_for is_quarantined 1
expect_objects 0 n2
reboot n3
wait_for says_up n3
wait_for is_quarantined 0
slurmd_up n3 # ReturnToService=2: it is idle by itself
expect_slurm_clean 4

story_end
