#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a site may set for its jobs: none has a lane unless it asks for one
# (default_vnis = 0); one may go on without (reserve_fatal = false).
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
spank_arguments=default=none
cluster_up -N 4 --nics 1 -s manager.metrics=127.0.0.1:9471 \
	-s slingshot.vni_pool=1024-1025 -s slingshot.default_vnis=0
slurm_up 4

cat >"$work/show" <<'END'
#!/bin/sh
[ -z "$SLINGSHOT_VNIS" ] || cxi-lni || exit 1
echo "$SLURMD_NODENAME vnis=$SLINGSHOT_VNIS device=$UCX_NET_DEVICES"
END
chmod 755 "$work/show"

metrics() { # metrics REGEX: these lines of the manager's
	on manager -- curl -sS http://127.0.0.1:9471/metrics | grep -E "^fairlead_($1)"
}
ran_hooks() { # ran_hooks COUNT: of all jobs so far
	[ "$(wc -l <"$slurm/log/hooks")" -ge "$1" ]
}
expect_job_without() { # on all nodes, and its tasks find what they were started with
	local hooks
	hooks=$(wc -l <"$slurm/log/hooks")
	expect_exit 0 as_user "$alice" env UCX_NET_DEVICES=mlx5_0:1 srun -N4 "$work/show"
	is "$(grep -c '^n[0-3] vnis= device=mlx5_0:1$' <<<"$out")" 4 'tasks as without us'
	wait_for ran_hooks $((hooks + 10))
	is "$(tail -n +$((hooks + 1)) "$slurm/log/hooks" | grep -vc '^[a-z-]* [0-9]* 0 ')" \
		0 'hooks that failed'
	wait_for are_nodes idle 4
}

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
