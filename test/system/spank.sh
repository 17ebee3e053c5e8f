#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The SPANK plugin in a real Slurm: tasks have their lane's variables, or do not
# run; what users ask for reaches the hooks, or is refused.
# shellcheck source=test/system/slurm-private.sh
. "$(dirname "$0")/slurm-private.sh"
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2016  # for the shells of tasks

private_begin

# What a task has: node, its variables, and one that is to be unset. Tasks have
# inherited other values.
task='echo "$SLURMD_NODENAME: ${SLINGSHOT_VNIS-none} ${FI_TCP_IFACE-none} ${UCX_NET_DEVICES-unset}"'
inherited=(SLINGSHOT_VNIS=7 FI_TCP_IFACE=eth7 UCX_NET_DEVICES=mlx7)
as_alice() {
	as_user "$alice" env "${inherited[@]}" "$@"
}
untouched='7 eth7 mlx7'
sorted() {
	sort <<<"$out"
}

it 'gives the tasks of a plain user the variables of each node'
expect_exit 0 as_alice srun -N2 --fairlead=vnis=2,tcs=LOW_LATENCY sh -c "$task"
is "$(sorted)" $'n0: 1/0 n0 unset\nn1: 1/0 n1 unset' 'tasks'
is "$err" '' 'what srun says'
is "$(option_of 1)" 'vnis=2,tcs=LOW_LATENCY' 'what hooks know'
wait_for are_nodes idle 2

it 'gives them to batch scripts and their steps, by #SBATCH as well'
id=$(submit "$alice" -N2 <<END
#!/bin/sh
#SBATCH --fairlead=vnis=1
$task
export ${inherited[*]}
srun -N2 sh -c '$task'
END
)
wait_for is_job "$id" COMPLETED
is "$(sort "$work/out/$id")" "n0: $id/0 n0 unset
n0: $id/0 n0 unset
n1: $id/0 n1 unset" 'script and step'
is "$(option_of "$id")" vnis=1 'what hooks know'

it 'gives them to the steps of an allocation, and to its shell on a node'
expect_exit 0 as_alice salloc -N2 --fairlead=vnis=1 srun sh -c "$task"
has "$(sorted)" '^n0: [0-9]+/0 n0 unset' 'step on n0'
has "$(sorted)" '^n1: [0-9]+/0 n1 unset' 'step on n1'
expect_exit 0 as_alice salloc -N1 --fairlead=vnis=1 \
	srun --interactive sh -c "$task"
expect_out '^n[01]: [0-9]+/0 n[01] unset'

it 'gives each job of an array its own'
id=$(submit "$alice" --array=0-1 <<<"#!/bin/sh
echo \$SLURM_JOB_ID; $task")
wait_for is_job "$id" COMPLETED
for i in 0 1; do
	wait_for is_job "${id}_$i" COMPLETED
done
for i in $(slurm_client scontrol -o show job "$id" | grep -o '^JobId=[0-9]*'); do
	has "$(<"$work/out/${i#JobId=}")" ": ${i#JobId=}/0 " 'task'
done

it 'gives them to two steps at once'
mkfifo "$work/first" "$work/second"
chmod 666 "$work/first" "$work/second"
id=$(submit "$alice" -N1 -n2 --fairlead=vnis=1 <<END
#!/bin/sh
srun -n1 --overlap sh -c '$task; echo >$work/first; read -r _ <$work/second' &
srun -n1 --overlap sh -c '$task; read -r _ <$work/first; echo >$work/second' &
wait
END
)
wait_for is_job "$id" COMPLETED
is "$(grep -c ": $id/0 n[01] unset" "$work/out/$id")" 2 'steps'

it 'gives components of a heterogeneous job what their leader has'
expect_exit 0 as_alice srun -N1 -n1 --fairlead=vnis=1 sh -c "$task" : \
	-N1 -n1 --fairlead=vnis=1 sh -c "$task; echo \$SLURM_JOB_ID"
id=$(grep -xE '[0-9]+' <<<"$out")
is "$(sorted | grep :)" "n0: $id/0 n0 unset
n1: $id/0 n1 unset" 'components'
is "$(option_of "$((id + 1))")" vnis=1 'what hooks know of the second'

it 'gives a requeued job those of this start'
mkfifo "$work/forever"
chmod 666 "$work/forever"
id=$(submit "$alice" -N1 --requeue --open-mode=append <<END
#!/bin/sh
$task
[ "\$SLURM_RESTART_COUNT" = 1 ] || read -r _ <$work/forever
END
)
wait_for grep -q ": $id/0 " "$work/out/$id"
slurm_client scontrol requeue "$id"
wait_for is_requeued "$id"
try_again "$id"
wait_for grep -q ": $id/1 " "$work/out/$id"
wait_for is_job "$id" COMPLETED

it 'leaves a step out that wants to be, also of what it has inherited'
expect_exit 0 as_alice srun -N1 --fairlead=off sh -c "$task"
expect_out ': none none unset'
wait_for are_nodes idle 2

touch "$slurm/no-lane"
missing="fairlead: job 'slurm/[0-9]+' has no lane on this node"

it 'without a lane that was asked for no task runs, and the user knows why'
expect_exit 1 as_alice srun -N2 --fairlead=vnis=1 sh -c "$task"
is "$out" '' 'what ran'
expect_error "^slurmstepd-n0: error: $missing.*when it is submitted"
expect_error "^slurmstepd-n1: error: $missing.*fairlead explain slurm/"
expect_error 'task 0: Exited with exit code 1'
wait_for are_nodes idle 2

it '.. nor without one that all have'
expect_exit 1 as_alice srun -N1 -n3 sh -c "$task"
is "$out" '' 'what ran'
expect_error "$missing.*--fairlead=off"
is "$(grep -cE "$missing" <<<"$err")" 1 'said once a node'
wait_for are_nodes idle 2

it '.. and a batch job has failed'
id=$(submit "$alice" -N2 <<<"#!/bin/sh
$task")
wait_for is_job "$id" FAILED
is "$(slurm_job "$id" ExitCode)" 1:0 'exit code'
has "$(<"$work/out/$id")" "error: $missing" 'its output'
lacks "$(<"$work/out/$id")" '^n0:' 'its output'
wait_for are_nodes idle 2

it '.. likewise where the plugin is required'
plugstack "required $plugin jobs_dir=$jobs"
expect_exit 1 as_alice srun -N1 sh -c "$task"
is "$out" '' 'what ran'
expect_error "$missing"
wait_for are_nodes idle 2
plugstack "optional $plugin jobs_dir=$jobs"

it '.. unless it asks for none'
expect_exit 0 as_alice srun -N1 --fairlead=off sh -c "$task"
expect_out ": $untouched"
is "$err" '' 'what srun says'

it 'warns where there may be none'
plugstack "optional $plugin jobs_dir=$jobs default=may"
expect_exit 0 as_alice srun -N1 -n2 --fairlead=vnis=1 sh -c "$task"
expect_out ": $untouched"
is "$(grep -cE "^(slurmstepd-n.: )?fairlead: warning: job .* has no lane" <<<"$err")" \
	1 'warnings'

it 'changes nothing for who asks for nothing, where nothing is the rule'
plugstack "optional $plugin jobs_dir=$jobs default=none"
expect_exit 0 as_alice srun -N1 sh -c "$task"
expect_out ": $untouched"
is "$err" '' 'what srun says'
expect_exit 1 as_alice srun -N1 --fairlead=vnis=1 sh -c "$task"
expect_error "$missing"
rm "$slurm/no-lane"

it 'believes no file that the daemon would not have made'
for spoil in "chown $bob \$file" "chmod 644 \$file" "truncate -s -1 \$file" \
	"mv \$file $work/out/file; ln -s $work/out/file \$file" \
	"ln -f \$file $work/link" "chmod 777 \$job"; do
	printf '%s\n' "$spoil" >"$slurm/spoil"
	for option in '' --fairlead=vnis=1 --fairlead=off; do
		# shellcheck disable=SC2086  # none, or one
		expect_exit 1 as_alice srun -N1 $option sh -c "$task"
		is "$out" '' "what ran after: $spoil"
		expect_error 'error: fairlead: .*tell your administrator'
	done
	rm -f "$work/link" "$work/out/file"
done
rm "$slurm/spoil"
wait_for are_nodes idle 2
plugstack "optional $plugin jobs_dir=$jobs"

it 'refuses what cannot be meant, before there is a job'
before=$(job_count)
long=$(printf 'a%.0s' {1..512})
refused() { # refused COMMAND...: by the option's check
	run "$@"
	[ "$code" -ne 0 ] || fail "taken: $*"
	expect_error 'error: fairlead: --fairlead: '
}
for option in '' ' ' 'a b' ';reboot' '$(id)' '`id`' 'A=1' '=x' 'a,,b' 'a,' ',a' \
	$'a\nb' $'\e[2J' 'a=/etc' 'a=../b' "a='b'" 'a=%n%s' ä interconnect= "$long"; do
	refused as_alice srun "--fairlead=$option" true
	refused as_alice salloc "--fairlead=$option" true
	refused submit "$alice" "--fairlead=$option" <<<$'#!/bin/sh\ntrue'
done
refused submit "$alice" <<<$'#!/bin/sh\n#SBATCH --fairlead=$(id)\ntrue'
is "$(job_count)" "$before" 'jobs'
expect_exit 0 as_alice srun "--fairlead=${long%a}" sh -c 'echo $SLURM_JOB_ID'
is "$(option_of "$out")" "${long%a}" 'what hooks know of the longest'

it 'takes no word of a forged environment'
as_user "$bob" srun -n1 sh -c "echo \$SLURM_JOB_ID; read -r _ <$work/forever" \
	>"$work/bob" 2>"$work/bob.err" 3>&- &
pid=$!
wait_for grep -q . "$work/bob"
of_bob=$(<"$work/bob")
expect_exit 0 as_alice env 'SPANK_FAIRLEAD=$(id)' 'SLURM_SPANK_FAIRLEAD=$(id)' \
	'SPANK__SLURM_SPANK_OPTION_fairlead_fairlead=$(id)' \
	srun -N1 sh -c "$task; echo \$SLURM_JOB_ID"
id=$(grep -xE '[0-9]+' <<<"$out")
expect_out ": $id/0 n"
is "$(option_of "$id")" nothing 'what hooks know'
expect_exit 0 as_alice srun -N1 \
	"--export=ALL,SLURM_JOB_ID=$of_bob,SLURM_JOBID=$of_bob,SLURM_HET_JOB_ID=$of_bob" \
	sh -c "$task"
lacks "$out" ": $of_bob/" 'whose lane it is'
expect_out ': [0-9]+/0 n'
refused as_alice env \
	'SLURM_SPANK__SLURM_SPANK_OPTION_fairlead_fairlead=$(id)' srun true
expect_exit 1 as_alice srun -N1 \
	'--export=ALL,_SLURM_SPANK_OPTION_fairlead_fairlead=a;b' sh -c "$task"
expect_error "error: fairlead: --fairlead: 'a;b'.*no task"
is "$out" '' 'what ran'

it 'what a user has loaded in a command is not loaded for the tasks'
mkdir "$work/evil"
echo 'this is no library' >"$work/evil/libfairlead.so.0"
expect_exit 0 as_alice env LD_LIBRARY_PATH="$work/evil" \
	LD_PRELOAD="$work/evil/libfairlead.so.0" srun -N1 sh -c "$task"
expect_out ': [0-9]+/0 n'
echo >"$work/forever"
wait "$pid" || fail "Bob's job has failed: $(<"$work/bob.err")"

it 'jobs go on, without the option, where the plugin cannot be loaded'
plugstack "optional $work/evil/libfairlead.so.0"
expect_exit 0 as_alice srun -N2 true
run as_alice srun --fairlead=off true
[ "$code" -ne 0 ] || fail 'the option is there'
wait_for are_nodes idle 2

it 'a wrong line of plugstack.conf is named'
plugstack "optional $plugin jobs_dir=$jobs default=yes"
expect_exit 1 as_alice srun -N1 sh -c "$task"
is "$out" '' 'what ran'
expect_error 'srun: error: fairlead: plugstack.conf: default=yes is not must'
expect_error 'slurmstepd-n.: error: fairlead: plugstack.conf: default=yes is not'
plugstack "optional $plugin jobs_dir=$jobs node_socket=/run/fairlead/node.sock"
expect_exit 1 as_alice srun -N1 sh -c "$task"
is "$out" '' 'what ran'
expect_error 'srun: error: fairlead: plugstack.conf: node_socket=/run/fairlead/node.sock is not default='
wait_for are_nodes idle 2

it 'no daemon of Slurm has ended of it'
for daemon in slurmctld slurmd.n0 slurmd.n1; do
	kill -0 "$(<"$slurm/$daemon.pid")"
done
is "$(find "$slurm" "$work/out" -name 'core*')" '' 'cores'

private_end
