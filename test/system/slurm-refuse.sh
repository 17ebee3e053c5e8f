#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A job that cannot have its lane is not run, and only a node that is to blame is
# taken out. Slurm's controller is no root here, but a submitter of the manager,
# which it reaches over TCP, as from another machine.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
slurm_user=nobody
slurm_manager=tcp://nobody@10.203.255.254:7172
cluster_up -N 4 --nics 1 -s slingshot.vni_pool=1024-1025 -s manager.revoke_timeout=2 \
	-s manager.listen_clients=10.203.255.254:7172 \
	-s "manager.munge_socket=$slurm/socket/s"
slurm_up 4
echo 'echo "$SLURMD_NODENAME ran $SLINGSHOT_VNIS" >>'"$work/ran" >"$work/task"
touch "$work/ran" && chmod 666 "$work/ran"

ran() { # ran REGEX: a task has, somewhere
	grep -Eq "$1" "$work/ran"
}
submit() { # submit [OPTION...]: a batch job of alice, into $job
	expect_exit 0 as_user "$alice" sbatch --parsable -o /dev/null "$@" \
		--wrap "srun sh $work/task"
	job=$out
}

it 'a pool that is empty: srun ends, a batch job waits, no node is to blame'
held=$(reserve jm/all n0 -o vnis=2)
run as_user "$alice" srun -N2 sh "$work/task"
is "$code" 1 'exit code of srun'
submit -N2
wait_for is_requeued "$job"
has "$(comment)" '^fairlead: failed to reserve 1 VNI \(0 available\)' 'comment'
wait_for are_nodes idle 4
is "$(wc -c <"$work/ran")" 0 'what ran'
expect_exit 0 fairlead release "$held"
try_again "$job"
wait_for is_job "$job" COMPLETED
ran 'n0 ran 102[45]$' || fail 'it did not run in a lane'
is "$(slurm_job "$job" Restarts)" 1 'restarts'
expect_slurm_clean 4

it 'what would be refused for ever is cancelled, with the reason'
for options in vnis=5 colour=red interconnect=quadrics; do
	submit -N2 --fairlead=$options
	wait_for is_job "$job" CANCELLED
	has "$(comment)" '^fairlead: .+' 'comment'
	run as_user "$alice" srun -N2 --fairlead=$options sh "$work/task"
	is "$code" 1 "exit code of srun with $options"
done
wait_for are_nodes idle 4
is "$(wc -l <"$work/ran")" 2 'what ran'
expect_slurm_clean 4

# With a slurm.conf of their own, and a plugin of their own, users hand what they
# want to the hooks.
sed "s|^PlugStackConfig=.*|PlugStackConfig=$work/own.plugstack|" "$SLURM_CONF" >"$work/own.conf"
echo "required $build/src/lanes/plugin/slurm/test/forge_spank.so $work/forged" >"$work/own.plugstack"
forge() { # forge NAME=VALUE...: a job whose hooks have SPANK_NAME; into $job
	printf '%s\0' "$@" >"$work/forged"
	expect_exit 0 as_user "$alice" env "SLURM_CONF=$work/own.conf" sbatch --parsable \
		--export=NONE -o /dev/null -N2 --wrap "touch $shared/forged"
	job=$out
}

it 'what a user hands to the hooks by a plugin of his own is refused likewise'
forge FAIRLEAD=vnis=1
wait_for is_job "$job" COMPLETED
has "$(event "slurm/$job" request)" vnis=1 'what hooks knew'
rm "$shared/forged"
long=$(printf 'a%.0s' {1..60000})
# 2.5 MB: slurmctld, which raises its limit of the stack to what it may, can run
# its hook, and no node can. Where it may not raise it, 1.1 MB, which all can.
count=42
[ "$(ulimit -Hs)" = unlimited ] || count=18
many=()
for ((i = 0; i < count; i++)); do
	many+=("MINE_$i=$long")
done
for forged in "vnis=1,user=$bob" "vnis=\$(touch $shared/forged)" \
	"';touch $shared/forged;\`touch $shared/forged\`\"" $'off\nPATH=/tmp' \
	$'\e[2J\1\377' "$long" many; do
	if [ "$forged" = many ]; then
		forge "${many[@]}"
	else
		forge "FAIRLEAD=$forged"
	fi
	wait_for is_job "$job" CANCELLED
	has "$(comment)" '^fairlead: .+' 'comment'
	run fairlead eventlog "slurm/$job" # refused by the hook: there is none
	lacks "$out" '"name": ?"apply' 'its events'
done
has "$(slurm_client scontrol show job "$job")" 'SPANK variables have [0-9]{6,} bytes' 'comment'
wait_for are_nodes idle 4
is "$(find "$shared" -name forged)" '' 'what ran'
expect_slurm_clean 4

het() { # het OPTION [OPTION]: alice's job of two components, into $job
	expect_exit 0 as_user "$alice" sbatch --parsable -o /dev/null -N1 "$1" : -N1 ${2:+"$2"} \
		--wrap "srun --het-group=0,1 sh $work/task"
	job=$out
}

it 'a first component without a lane, and others that want one: refused at once, with the reason'
het --fairlead=off --fairlead=vnis=1
wait_for is_job "$job" CANCELLED
has "$(comment)" "^fairlead: .* first component .*, $job, asks for none: give --fairlead" 'comment'
run as_user "$alice" srun -N1 --fairlead=off sh "$work/task" : -N1 --fairlead=vnis=1 sh "$work/task"
[ "$code" -ne 0 ] || fail 'srun ended well'
wait_for are_nodes idle 4
is "$(wc -l <"$work/ran")" 2 'what ran'
expect_slurm_clean 4

it 'and where a lane is no must (reserve_fatal), they go on without one'
sed -i 's/^\( *\)vni_pool.*/&\n\1reserve_fatal = false/' "$config"
sed -i 's/$/ default=may/' "$slurm/plugstack.conf"
het --fairlead=off
wait_for is_job "$job" COMPLETED
is "$(tail -n 2 "$work/ran" | grep -c 'ran $')" 2 'tasks that ran without a lane'
sed -i '/reserve_fatal/d' "$config"
sed -i 's/ default=may//' "$slurm/plugstack.conf"
rm "$work/ran"
touch "$work/ran" && chmod 666 "$work/ran"
expect_slurm_clean 4

it 'of an array only the one that is refused is cancelled'
# Written first: once there is a job, its hooks may run before our next line.
cat >"$slurm/prolog-slurmctld.before" <<END
[ "\${SLURM_ARRAY_TASK_ID:-}" != 1 ] || {
	until [ -e $shared/runs ]; do sleep 0.05; done
	export SPANK_FAIRLEAD=colour=red
}
END
expect_exit 0 as_user "$alice" sbatch --parsable -o /dev/null -n1 -a 0-1 --wrap \
	"touch $shared/runs; until [ -e $shared/end ]; do sleep 0.05; done"
job=$out
wait_for is_job "${job}_1" CANCELLED
rm "$slurm/prolog-slurmctld.before"
is "$(slurm_job "${job}_0" JobState)" RUNNING 'the other'
lacks "$(slurm_client scontrol show job "${job}_0")" AdminComment 'the other'
touch "$shared/end"
wait_for is_job "${job}_0" COMPLETED
rm "$shared/runs" "$shared/end"
expect_slurm_clean 4

it 'one node of four cannot: it is drained, the job runs elsewhere'
nic n1 fault errno=EIO op=alloc_svc nth=1 count=1
submit -N3
wait_for is_requeued "$job"
is "$(slurm_state n1)" drain 'n1'
has "$(drain_reason n1)" "^fairlead: .*cxi0: .* \\(job $job\\)" 'reason'
wait_for are_nodes idle 3
expect_objects 0 n0 n1 n2 n3
try_again "$job"
wait_for is_job "$job" COMPLETED
is "$(slurm_job "$job" NodeList)" 'n[0,2-3]' 'nodes'
wait_for are_nodes idle 3
slurm_client scontrol update nodename=n1 state=resume
expect_slurm_clean 4

it 'a node that is full is not to blame: the job waits, and no node is drained'
nic n1 fault errno=ENOSPC op=alloc_svc nth=1 count=5
submit -N2 -w n0,n1
wait_for is_requeued "$job"
has "$(comment)" '^fairlead: .*cxi0: ' 'comment'
wait_for are_nodes idle 4
try_again "$job"
wait_for is_job "$job" COMPLETED
expect_slurm_clean 4

it 'a node that an operator drains meanwhile keeps the reason'
cat >"$slurm/prolog-slurmctld.before" <<END
SLURM_CONF=$SLURM_CONF scontrol update nodename=n1 state=drain reason='new memory'
END
nic n1 fault errno=EIO op=alloc_svc nth=1 count=1
submit -N2 -w n1,n2
wait_for is_requeued "$job"
is "$(slurm_state n1)" drain 'n1'
has "$(drain_reason n1)" '^new memory ' 'reason'
rm "$slurm/prolog-slurmctld.before"
slurm_client scancel "$job"
slurm_client scontrol update nodename=n1 state=resume
expect_slurm_clean 4

it 'a node that is drained in Fairlead is drained in Slurm by the first job that needs it'
expect_exit 0 fairlead node drain n2 --reason 'new card'
run as_user "$alice" srun -N4 sh "$work/task"
is "$code" 1 'exit code of srun'
wait_for is_slurm_node n2 drain
has "$(drain_reason n2)" '^fairlead: drained nodes: n2 ' 'reason'
wait_for are_nodes idle 3
expect_exit 0 fairlead node undrain n2
slurm_client scontrol update nodename=n2 state=resume
expect_slurm_clean 4

it 'a node whose daemon is gone is drained by the first job that needs it'
kill_pid "$(pid_of n2 daemon)"
run as_user "$alice" srun -N4 sh "$work/task"
is "$code" 1 'exit code of srun'
wait_for is_slurm_node n2 drain
has "$(drain_reason n2)" '^fairlead: ' 'reason'
wait_for are_nodes idle 3
restart n2
wait_for is_up n2
slurm_client scontrol update nodename=n2 state=resume
expect_slurm_clean 4

it 'a node that lost the lane again is drained by its Prolog, the job held'
cat >"$slurm/prolog.before" <<END
[ "\$SLURMD_NODENAME" != n3 ] || $build/src/lanes/cli/fairlead epilog slurm/\$SLURM_JOB_ID
END
submit -N2 -w n2,n3
wait_for is_slurm_node n3 drain
has "$(drain_reason n3)" "^fairlead: this node has no lane of job slurm/$job" 'reason'
rm "$slurm/prolog.before"
wait_for are_nodes idle 3
slurm_client scancel "$job"
slurm_client scontrol update nodename=n3 state=resume
expect_slurm_clean 4

it 'a manager that is down: no job starts and none hangs; all is well when it is back'
kill_manager
run as_user "$alice" srun -N2 sh "$work/task"
is "$code" 1 'exit code of srun'
submit -N2
wait_for is_requeued "$job"
wait_for are_nodes idle 4
restart manager
wait_for is_up n0 n1 n2 n3
try_again "$job"
wait_for is_job "$job" COMPLETED
expect_slurm_clean 4

it 'a manager that is down for a moment only is waited for'
is_asking() { # the hook, which was let go
	pgrep -P "$(pgrep -fx "/bin/sh $slurm/prolog-slurmctld")" -fx "$slurm/hooks/prolog-slurmctld"
}
hold_at prolog-slurmctld
submit -N2
wait_for test -e "$shared/at-prolog-slurmctld"
kill_manager
go_on prolog-slurmctld
wait_for is_asking
restart manager
wait_for is_job "$job" COMPLETED
expect_slurm_clean 4

it 'a manager that is down at the end: the job ends, reconcile mends it'
hold_at epilog-slurmctld
submit -N2
wait_for test -e "$shared/at-epilog-slurmctld"
kill_manager
go_on epilog-slurmctld
wait_for ran_hook epilog-slurmctld "$job" 1
wait_for are_nodes idle 4
restart manager
wait_for is_up n0 n1 n2 n3
is "$(job_state "slurm/$job/0")" active 'the job at the manager'
submit -N1 --hold # in an empty list nothing is missing
expect_exit 77 on manager -- fairlead reconcile --slurm --config "$config"
expect_error "call this as Slurm's user, nobody"
expect_exit 0 on manager --user nobody -- fairlead reconcile --slurm --config "$config"
wait_for is_pool held ''
slurm_client scancel "$job"
expect_slurm_clean 4

story_end
