#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs of a stock Slurm have their lanes by configuration alone: of every kind
# and size, of plain users, several on a node; and nothing is left of them. A site
# may set that none has one unless it asks, or that one may go on without.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"
# shellcheck source=test/system/fm-lib.sh
. "$(dirname "$0")/fm-lib.sh"

need_slurm
cluster_up -N 4 --nics 1 -s slingshot.vni_pool=1024-1031 \
	-s manager.metrics=127.0.0.1:9471 -s softfm,slingshot.hwcoll_trees=4
slurm_up 4

# What a task knows of its lane; fails where its service does not let it in.
cat >"$work/show" <<'END'
#!/bin/sh
[ -z "$SLINGSHOT_VNIS" ] || cxi-lni || exit 1
echo "$SLURMD_NODENAME vnis=$SLINGSHOT_VNIS device=$UCX_NET_DEVICES service=$SLINGSHOT_SVC_IDS"
END
chmod 755 "$work/show"

service() { # service NODE: the only one there is
	objects "$1" | gojq -r '.[0].id'
}

it 'gives srun of a plain user a lane on every node'
expect_exit 0 as_user "$alice" srun -N2 -n4 -l "$work/show"
is "$(grep -c 'n0 vnis=1024 .*service=[0-9]' <<<"$out")" 2 'tasks on n0'
is "$(grep -c 'n1 vnis=1024 .*service=[0-9]' <<<"$out")" 2 'tasks on n1'
expect_slurm_clean 4
expect_lane_events slurm/1 request cray-slingshot apply applied release revoked free

it 'gives sbatch one, in the script and in its steps'
cat >"$work/batch" <<END
#!/bin/sh
#SBATCH --fairlead=vnis=2
echo "script \$SLINGSHOT_VNIS"
srun -N2 --overlap $work/show
srun -N1 -n1 --overlap $work/show
END
chmod 755 "$work/batch"
touch "$work/batch.out" && chmod 666 "$work/batch.out"
expect_exit 0 as_user "$alice" sbatch --wait -N2 -o "$work/batch.out" "$work/batch"
out=$(<"$work/batch.out")
has "$out" 'script 1025,1026' 'the script'
is "$(grep -c 'n0 vnis=1025,1026 ' <<<"$out")" 2 'steps on n0'
is "$(grep -c 'n1 vnis=1025,1026 ' <<<"$out")" 1 'steps on n1'
expect_slurm_clean 4

it 'gives salloc one, for as long as it is there'
expect_exit 0 as_user "$alice" salloc -N2 sh -c "srun $work/show; srun -n1 $work/show"
is "$(grep -c 'vnis=1027 ' <<<"$out")" 3 'tasks of two steps'
expect_slurm_clean 4

it 'takes what the user asks for, and nothing that is no option'
expect_exit 0 as_user "$alice" srun --fairlead=vnis=3,tcs=BEST_EFFORT "$work/show"
expect_out 'vnis=1028,1029,1030 '
expect_exit 0 as_user "$alice" srun --fairlead=off "$work/show"
expect_out 'vnis= .*service=$'
expect_exit 0 as_user "$alice" srun --fairlead=vnis=0 "$work/show"
expect_out 'vnis= .*service=$'
for text in '' 'vnis=$(id)' 'a b' ',' "$(head -c 600 /dev/zero | tr '\0' a)"; do
	run as_user "$alice" srun --fairlead="$text" "$work/show"
	[ "$code" -ne 0 ] || fail "taken: '$text'"
	expect_error 'fairlead'
done
expect_slurm_clean 4

ran_hooks() { # ran_hooks COUNT: of all jobs so far
	[ "$(wc -l <"$slurm/log/hooks")" -ge "$1" ]
}

it 'HR06: who asks for multicast trees and gets none finds why in the job, which runs'
expect_exit 0 as_user "$alice" sbatch -W --parsable -N1 --fairlead=hwcoll=on -o /dev/null \
	--wrap 'exec printenv SLINGSHOT_VNIS'
job=${out%%$'\n'*}
has "$(comment)" '^fairlead: no external reservation: hwcoll: a job of one node has no use for a tree' \
	'the comment'
expect_slurm_clean 4

it 'HT06: a step of a job with multicast trees has its id, and others have none'
cat >"$work/steps" <<'END'
#!/bin/sh
printenv FI_CXI_COLL_JOB_STEP_ID
srun -N2 printenv FI_CXI_COLL_JOB_STEP_ID
srun -N2 printenv FI_CXI_COLL_JOB_STEP_ID
srun -N2 --fairlead=off printenv FI_CXI_COLL_JOB_STEP_ID || echo none
END
chmod 755 "$work/steps"
expect_exit 0 as_user "$alice" srun -N2 --fairlead=hwcoll=on printenv FI_CXI_COLL_JOB_STEP_ID
is "$out" $'0\n0' 'ids of a step'
expect_exit 0 as_user "$alice" sbatch -W --parsable -N2 --fairlead=hwcoll=on -o "$shared/ids" \
	"$work/steps"
is "$(grep -v srun "$shared/ids" | tr '\n' ' ')" '4294967291 0 0 1 1 none ' 'ids of steps'
expect_exit 1 as_user "$alice" srun -N2 printenv FI_CXI_COLL_JOB_STEP_ID
expect_slurm_clean 4

clean_ups_on() { # clean_ups_on NODE: the user ids of each that waits
	local network pid
	network=$(readlink "/proc/$(pid_of "$1" holder)/ns/net")
	for pid in $(pgrep -f '^fairlead-step-clean --wait'); do
		[ "$(readlink "/proc/$pid/ns/net")" != "$network" ] ||
			awk '$1 == "Uid:" { print $2, $3, $4, $5 }' "/proc/$pid/status"
	done
}

it 'HC01 HC03: the trees of a step go after it, also of one that aborts or is killed'
cat >"$work/aborting" <<END
#!/bin/sh
$libfabric join=0:00:10,0:00:11
srun -N2 sh -c '[ \$SLURM_PROCID != 0 ] || $libfabric join=0:00:12,0:00:13; exit 3'
echo "ended \$?"
until [ -e $shared/abort ]; do sleep 0.05; done
srun -N2 sh -c '[ \$SLURM_PROCID != 0 ] || $libfabric join=0:00:14,0:00:15; kill -9 \$\$'
echo "ended \$?"
until [ -e $shared/stay ]; do sleep 0.05; done
srun -N2 sh -c '[ \$SLURM_PROCID != 0 ] || $libfabric join=0:00:16,0:00:17; exec sleep inf'
echo "ended \$?"
exec sleep inf
END
chmod 755 "$work/aborting"
expect_exit 0 as_user "$alice" sbatch --parsable -N2 --fairlead=hwcoll=on -o "$shared/trees" \
	"$work/aborting"
job=$out
wait_for grep -qx 'ended 3' "$shared/trees"
wait_for are_steps 4294967291
have_joined 2 "$shared/trees"
touch "$shared/abort"
wait_for grep -qx 'ended 137' "$shared/trees"
wait_for are_steps 4294967291
have_joined 3 "$shared/trees"
touch "$shared/stay"
wait_for are_steps 2 4294967291
expect_no_token "$FAIRLEAD_CLUSTER"/*/log/* "$slurm"/log/*
clean_ups=$(clean_ups_on n0)
is "$(wc -l <<<"$clean_ups")" 2 'clean-ups, of the script and the step'
is "$(sort -u <<<"$clean_ups")" "$alice $alice $alice $alice" 'their users'
is "$(clean_ups_on n1)" '' 'clean-ups on the second node'
slurm_client scancel "$job.2"
wait_for are_steps 4294967291
slurm_client scancel "$job"
expect_slurm_clean 4
expect_names ''

it 'HC02: a step does not fail when the fabric manager is down at its end'
cat >"$work/down" <<END
#!/bin/sh
[ \$SLURM_PROCID != 0 ] || $libfabric join=0:00:10,0:00:11
until [ -e $shared/down ]; do sleep 0.05; done
exit 5
END
chmod 755 "$work/down"
{ trap - ERR && as_user "$alice" srun -N2 --fairlead=hwcoll=on "$work/down"; } \
	>"$work/down.out" 2>&1 3>&- &
down=$!
wait_for are_steps 0
kill_fm
touch "$shared/down"
code=0
wait "$down" || code=$?
is "$code" 5 'exit code'
lacks "$(<"$work/down.out")" step-clean 'what srun says'
fairlead cluster restart softfm
expect_names ''
expect_slurm_clean 4

it 'gives none to who is to go without, and touches nothing for it'
before=$(fairlead list --json | gojq .)
hooks=$(wc -l <"$slurm/log/hooks")
log=$(wc -l <"$FAIRLEAD_CLUSTER/manager/log/fairleadd.log")
expect_exit 0 as_user "$alice" srun -N4 --fairlead=off true
wait_for ran_hooks $((hooks + 10))
is "$(fairlead list --json | gojq .)" "$before" 'jobs of the manager'
is "$(wc -l <"$FAIRLEAD_CLUSTER/manager/log/fairleadd.log")" "$log" 'log of the manager'
expect_slurm_clean 4

start_job() { # start_job USER [OPTION...]: a job that stays, into $job
	local user=$1
	shift
	touch "$work/hold.out" && chmod 666 "$work/hold.out"
	expect_exit 0 as_user "$user" sbatch --parsable --open-mode=append -o "$work/hold.out" "$@" \
		--wrap "$work/show; exec sleep 600"
	job=$out
	wait_for is_job "$job" RUNNING
}
wait_out() { # wait_out COUNT REGEX
	[ "$(grep -Ec "$2" "$work/hold.out")" -eq "$1" ]
}

it 'keeps jobs on one node apart'
start_job "$alice" -w n0 -n1
first=$job
wait_for wait_out 1 'n0 vnis='
start_job "$bob" -w n0 -n1
wait_for wait_out 2 'n0 vnis='
is "$(grep -o 'vnis=[0-9]*' "$work/hold.out" | sort -u | wc -l)" 2 'lanes'
expect_objects 2 n0
is "$(objects n0 | gojq -c 'map(.uid) | sort')" "[$alice,$bob]" 'owners'
path=$(env_file n0 "slurm/$first/0")
is "$(stat -c '%u %a' "$path")" "$alice 600" 'owner of the environment'
run on n0 --user "$bob" -- cat "/run/fairlead/jobs/slurm/$first/0"
[ "$code" -ne 0 ] || fail 'bob has read the environment of alice'
slurm_client scancel "$first" "$job"
rm "$work/hold.out"
expect_slurm_clean 4

it 'gives each element of an array its own'
touch "$work/hold.out" && chmod 666 "$work/hold.out"
expect_exit 0 as_user "$alice" sbatch --parsable --open-mode=append --wait -n1 \
	-a 1-4 -o "$work/hold.out" "$work/show"
is "$(grep -c 'vnis=10' "$work/hold.out")" 4 'elements'
expect_slurm_clean 4

it 'gives the components of a heterogeneous job one lane'
expect_exit 0 as_user "$alice" srun -N1 "$work/show" : -N2 "$work/show"
is "$(grep -c 'vnis=10' <<<"$out")" 3 'tasks'
is "$(grep -o 'vnis=[0-9]*' <<<"$out" | sort -u | wc -l)" 1 'lanes'
expect_slurm_clean 4

it 'shrinks with a job, and ends on the nodes that leave'
touch "$work/resize.out" && chmod 666 "$work/resize.out"
cat >"$work/resize" <<END
#!/bin/sh
cd $work/spool && scontrol update jobid=\$SLURM_JOB_ID NumNodes=2 && . ./slurm_job_\${SLURM_JOB_ID}_resize.sh
exec srun sh -c 'until [ -e $work/shrunk ]; do sleep 0.05; done; exec $work/show'
END
mkdir -m 777 "$work/spool"
chmod 755 "$work/resize"
expect_exit 0 as_user "$alice" sbatch --parsable -N4 -o "$work/resize.out" "$work/resize"
job=$out
wait_for ran_hook epilog "$job" 0 n3
wait_for ran_hook epilog "$job" 0 n2
expect_objects 0 n2 n3
expect_objects 1 n0 n1
touch "$work/shrunk"
wait_for is_job "$job" COMPLETED
is "$(grep -c 'n[01] vnis=10' "$work/resize.out")" 2 'tasks'
expect_slurm_clean 4

metrics() { # metrics REGEX: these lines of the manager's
	on manager -- curl -sS http://127.0.0.1:9471/metrics | grep -E "^fairlead_($1)"
}
expect_job_without() { # on all nodes, and its tasks find what they were started with
	local hooks
	hooks=$(wc -l <"$slurm/log/hooks")
	expect_exit 0 as_user "$alice" env UCX_NET_DEVICES=mlx5_0:1 srun -N4 "$work/show"
	is "$(grep -c '^n[0-3] vnis= device=mlx5_0:1 service=$' <<<"$out")" 4 'tasks as without us'
	wait_for ran_hooks $((hooks + 10))
	is "$(tail -n +$((hooks + 1)) "$slurm/log/hooks" | grep -vc '^[a-z-]* [0-9]* 0 ')" \
		0 'hooks that failed'
	wait_for are_nodes idle 4
}

sed -i '/vni_pool/s/.*/    vni_pool = "1024-1025"\n    default_vnis = 0/' "$config"
expect_exit 0 fairlead manager reconfigure
spank_arguments=default=none
write_conf 4

it 'default_vnis = 0: who does not ask has no lane, and nobody is asked for it'
before=$(metrics 'request_|commit_')
has "$before" 'request_seconds_count.*reserve' 'what is compared'
has "$before" 'commit_bytes_total' 'what is compared'
expect_job_without
is "$(metrics 'request_|commit_')" "$before" 'requests and commits of the manager'
expect_slurm_clean 4

it 'so no daemon holds up such a job, though all hang'
daemons=$(pid_of manager)
for node in n0 n1 n2 n3; do
	daemons+=" $(agent_pid $node) $(guard_pid $node)"
done
# shellcheck disable=SC2086  # a list
kill -STOP $daemons
expect_job_without
# shellcheck disable=SC2086  # a list
kill -CONT $daemons
wait_for is_up n0 n1 n2 n3
expect_slurm_clean 4

it 'and who asks has one'
expect_exit 0 as_user "$alice" srun -N4 --fairlead=vnis=1 "$work/show"
is "$(grep -c 'vnis=102[45] ' <<<"$out")" 4 'tasks in a lane'
expect_slurm_clean 4

# A job with Slurm's own reservation, of its hpe_slingshot: a service for the user,
# and variables of each step. In a step a Flux, or a run without one.
slurm_cluster=story
service=$(on n0 -- "$tools/make-service" cxi0 2000 "$alice")
cat >"$work/own" <<END
#!/bin/sh
until [ -e $shared/own ]; do sleep 0.05; done
srun --task-prolog=$work/task-prolog $work/own-step
until [ -e $shared/own.end ]; do sleep 0.05; done
END
cat >"$work/task-prolog" <<END
#!/bin/sh
cat $shared/own
echo "export FI_CXI_COLL_JOB_STEP_ID=\$SLURM_STEP_ID"
END
echo 'plugin.load { file = "*.so", conf = {} }
plugin.load { file = "'"$build/src/lanes/plugin/flux/fairlead-shell.so"'", conf = {} }' \
	>"$work/shell.lua"
instance="flux start -Sconf.shell_initrc=$work/shell.lua flux run"
anybody flux --version >/dev/null 2>&1 || instance='fairlead run --inherit --'
cat >"$work/own-step" <<END
#!/bin/sh
show='env | grep -E "^(SLINGSHOT|FI_CXI)_" | sort'
$libfabric join=0:00:10,0:00:11
sh -c "\$show >$shared/env.slurm"
$instance sh -c "\$show >$shared/env.instance; $libfabric join=0:00:12,0:00:13; exit 3"
echo "ended \$?"
fairlead run --inherit -- sh -c "\$show >$shared/env.run; exec $libfabric join=0:00:14,0:00:15 abort"
echo "ended \$?"
END
chmod 755 "$work"/{own,own-step,task-prolog}
expect_exit 0 as_user "$alice" sbatch --parsable -w n0 -o "$shared/own.out" "$work/own"
job=$out
slurm_login
slurm_step "$job"
cat >"$work/variables" <<END
export SLINGSHOT_VNIS=2000
export SLINGSHOT_DEVICES=cxi0
export SLINGSHOT_SVC_IDS=$service
export SLINGSHOT_TCS=0x0a
export FI_CXI_COLL_JOB_ID=story-$job
export FI_CXI_COLL_MCAST_TOKEN=$slurm_session
export FI_CXI_COLL_FABRIC_MGR_URL=$(cat "$dir/url")$trees
export FI_CXI_COLL_FABRIC_MGR_CACERT=$dir/ca.pem
export FI_CXI_HWCOLL_ADDRS_PER_JOB=4
export FI_CXI_HWCOLL_MIN_NODES=1
END
mv "$work/variables" "$shared/own"

it 'HL01: an instance inside a job passes on what Slurm itself has reserved for it'
wait_for grep -qx 'ended 137' "$shared/own.out"
grep -qx 'ended 3' "$shared/own.out"
is "$(sort "$shared/own" | sed 's/^export //')" \
	"$(grep -v STEP_ID "$shared/env.slurm")" 'variables of the step'
for name in instance run; do
	is "$(grep -v STEP_ID "$shared/env.$name")" "$(grep -v STEP_ID "$shared/env.slurm")" \
		"variables inside, of $name"
	grep -Eqx 'FI_CXI_COLL_JOB_STEP_ID=0/[[:alnum:]]+' "$shared/env.$name"
done
is "$(json_of list | gojq '.jobs | length')" 0 'jobs of the manager'
expect_names "story-$job"

it 'HL02: the trees inside go with the token of Slurm'\''s reservation, and those of the step stay'
wait_for are_steps 0
have_joined 3 "$shared/own.out"
is "$(grep -c "op=patch status=200 job=story-$job" "$FAIRLEAD_CLUSTER/manager/log/softfm.log")" 2 \
	'steps that were cleaned up'

it 'HL03: nobody but Slurm releases its reservation'
touch "$shared/own.end"
wait_for is_job "$job" COMPLETED
restart manager
expect_exit 0 fairlead run -N 2 -o vnis=1,hwcoll=on -- true # the manager has listed what there is
expect_names "story-$job"
lacks "$(<"$FAIRLEAD_CLUSTER/manager/log/softfm.log")" "op=delete .*job=story-" 'what was released'
slurm_step_end "$job" 0
slurm_job_end "$job"
expect_names ''
on n0 -- fairlead clean --all >/dev/null
wait_for is_pool withheld ''
expect_slurm_clean 4

it 'reserve_fatal = false: a job has a lane as long as there are any'
sed -i 's/default_vnis *= .*/reserve_fatal = false/' "$config"
expect_exit 0 fairlead manager reconfigure
spank_arguments=default=may
write_conf 4
expect_exit 0 as_user "$alice" srun -N2 "$work/show"
is "$(grep -c 'vnis=102[45] ' <<<"$out")" 2 'tasks in a lane'
expect_slurm_clean 4

it 'and goes on without when there are none, with the reason in its event'
held=$(reserve jm/all n0 -o vnis=2)
touch "$work/show.out" && chmod 666 "$work/show.out"
expect_exit 0 as_user "$alice" sbatch --parsable --wait -N2 -o "$work/show.out" \
	--wrap "srun $work/show"
job=$out
is "$(grep -c '^n[01] vnis= ' "$work/show.out")" 2 'tasks without a lane'
has "$(<"$work/show.out")" 'fairlead: warning: .* the tasks run without one' 'what users read'
is "$(slurm_job "$job" Restarts)" 0 'restarts'
has "$(event "slurm/$job" cray-slingshot | gojq -c .)" \
	'failed to reserve 1 VNI \(0 available\)' 'the event'
wait_for are_nodes idle 4
expect_exit 0 fairlead release "$held"
expect_slurm_clean 4

story_end
