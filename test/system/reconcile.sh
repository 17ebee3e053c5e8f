#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Grants of jobs that Slurm does not know any more are released, and those of
# jobs that it knows never are, whatever happens to the list of its jobs.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
slurm_cpus=4
cluster_up -N 4 --nics 1 -s slingshot.vni_pool=1024-1055
slurm_up 4

reconcile() { # reconcile [OPTION...]: where Slurm's commands work
	on manager -- fairlead reconcile --slurm "$@"
}

live() { # keys of live grants, in a line
	json_of list | gojq -r '[.jobs[] | select(.state == "active" or
		.state == "reserved").key] | sort | join(" ")'
}

has_grant() { # has_grant JOB
	[[ " $(live) " == *" slurm/$1/"* ]]
}

submit() { # submit [OPTION...]: a job of Alice's that stays; its id
	as_user "$alice" sbatch --parsable -o /dev/null "$@" --wrap 'sleep infinity'
}

runs() { # runs JOB: and has its grant
	is_job "$1" RUNNING && has_grant "$1"
}

it 'releases nothing on an empty list, and says what to do'
grant=$(reserve slurm/900/0 n3)
fairlead apply "$grant"
expect_exit 1 reconcile
expect_error 'Slurm lists no job at all'
expect_hint "'fairlead release GRANT'"
expect_out 'slurm/900/0 .*not released'
is "$(live)" slurm/900/0 'live grants'
expect_exit 1 reconcile --force
is "$(live)" slurm/900/0 'live grants'

it 'is content with an empty list where there is no grant'
fairlead release "$grant"
expect_exit 0 reconcile
expect_out "0 grants of 'slurm' are live"

it 'releases the grant of a job that Slurm never knew, on its nodes too'
job=$(submit -N2)
wait_for runs "$job"
fairlead apply "$(reserve slurm/921/0 n3)"
expect_objects 1 n3
expect_exit 0 reconcile --dry-run
expect_out 'slurm/921/0 .*would be released'
is "$(live)" "slurm/$job/0 slurm/921/0" 'live grants'
expect_exit 0 reconcile
expect_out 'slurm/921/0 .*released$'
lacks "$out" "slurm/$job/" 'what was released'
is "$(live)" "slurm/$job/0" 'live grants'
expect_objects 0 n3
expect_objects 1 n0 n1

it 'keeps grants of arrays, heterogeneous, suspended and waiting jobs'
array=$(submit --array=0-1)
het=$(submit -N1 : -N1)
wait_for runs "$array"
wait_for runs "$het"
waiting=$(submit --begin=now+1hour)
array_ids=$(slurm_client squeue -h -a -o %A -j "$array" | sort -u)
is "$(wc -w <<<"$array_ids")" 2 'jobs of the array'
for id in $array_ids; do
	wait_for runs "$id"
done
slurm_client scontrol suspend "$job"
wait_for is_job "$job" SUSPENDED
before=$(live)
is "$(wc -w <<<"$before")" 4 'live grants'
expect_exit 0 reconcile --json
holds "$out" '.live == 4 and .forgotten == [] and .foreign == [] and .without_grant == []'
is "$(live)" "$before" 'live grants'
slurm_client scontrol resume "$job"

it 'keeps the grant of a job whose EpilogSlurmctld is not over'
cat >"$slurm/epilog-slurmctld.before" <<-END
	echo \$SLURM_JOB_ID >>$work/ending
	flock -s $work/gate true
END
: >"$work/gate"
exec {gate}<"$work/gate"
flock -x "$gate"
ending=$(submit)
wait_for runs "$ending"
slurm_client scancel "$ending"
wait_for grep -qx "$ending" "$work/ending"
wait_for ran_hook epilog "$ending" 0
is_job "$ending" COMPLETING || fail "it is $(slurm_job "$ending" JobState)"
expect_exit 0 reconcile --json
holds "$out" '.live == 5 and .forgotten == []'
flock -u "$gate"
wait_for ran_hook epilog-slurmctld "$ending" 0
has_grant "$ending" && fail 'its own hook has not released it'
rm "$slurm/epilog-slurmctld.before"

it 'keeps the grant of a job that waits to be started again'
echo 'exit 1' >"$slurm/epilog-slurmctld.before"
slurm_client scontrol requeuehold "$job"
wait_for is_job "$job" PENDING
expect_exit 0 reconcile --json
holds "$out" '.live == 4 and .forgotten == []'
has_grant "$job" || fail 'the grant of the requeued job is gone'

it 'releases that of a job that is over, where EpilogSlurmctld has failed'
slurm_client scancel "$job"
wait_for is_job "$job" CANCELLED
has_grant "$job" || fail 'somebody else has released it'
expect_exit 0 reconcile
expect_out "slurm/$job/0 .*released$"
is "$(live)" "$(tr ' ' '\n' <<<"$before" | grep -v "slurm/$job/" | paste -sd ' ')" \
	'live grants'
rm "$slurm/epilog-slurmctld.before"

it 'touches no job that begins while it compares'
mkdir "$work/commands"
ln -s "$(command -v scontrol)" "$work/commands/scontrol"
cat >"$work/commands/squeue" <<-END
	#!/bin/sh
	# The real one; a job begins before each list.
	setpriv --reuid $alice --regid $(id -g "$alice") --clear-groups \
		env HOME=$work sbatch --parsable -o /dev/null --wrap 'sleep infinity' >>$work/begun
	for try in \$(seq 600); do
		[ -n "\$($(command -v squeue) -h -t PD,CF -j "\$(tail -n 1 $work/begun)")" ] || break
		sleep 0.1
	done
	exec $(command -v squeue) "\$@"
END
chmod 755 "$work/commands/squeue"
sed "s|^slurm {|&\n    commands = \"$work/commands\"|" "$config" >"$work/between.conf"
reserve slurm/922/0 n3 >"$work/forgotten"
expect_exit 0 reconcile --config "$work/between.conf" --json
is "$(wc -l <"$work/begun")" 2 'jobs that began'
holds "$out" '[.forgotten[].key] == ["slurm/922/0"] and .without_grant == []'
for id in $(<"$work/begun"); do
	wait_for runs "$id"
done

it 'reports jobs that run without a grant'
odd=$(head -n 1 "$work/begun")
fairlead release "slurm/$odd"
expect_exit 0 reconcile --json
holds "$out" '.without_grant == [$odd] and .forgotten == []' --arg odd "$odd"
expect_exit 0 reconcile
expect_out "1 running jobs have no grant: .*: $odd$"

it 'leaves alone what is named like no job of Slurm'"'"'s'
grant=$(reserve slurm/by-hand/0 n3)
expect_exit 0 reconcile
expect_out 'slurm/by-hand/0 .*left alone'
is "$(job_state "$grant")" reserved 'the reservation by hand'
fairlead release "$grant"

it 'releases no more than 8 and 5 % at once without --force'
before=$(live)
for id in {901..909}; do
	reserve "slurm/$id/0" n3 >"$work/forgotten"
done
expect_exit 1 reconcile
expect_error '9 of 13 grants, which are all'
expect_hint '--force'
is "$(live | wc -w)" 13 'live grants'
expect_exit 0 reconcile --dry-run --force
is "$(live | wc -w)" 13 'live grants'
expect_exit 0 reconcile --force
is "$(live)" "$before" 'live grants'

it 'is refused to a user who is not shown all jobs'
expect_exit 77 as_user "$alice" fairlead reconcile --slurm --force
expect_error "only root and Slurm's user, root\\(0\\)"

it 'releases nothing while Slurm is down, and says so'
reserve slurm/923/0 n3 >"$work/forgotten"
slurm_stop slurmctld
expect_exit 75 reconcile --force
expect_error 'Unable to contact slurm controller'
expect_hint 'nothing was released'
is "$(live)" "$(tr ' ' '\n' <<<"$before slurm/923/0" | sort | paste -sd ' ')" 'live grants'
slurmctld_up
wait_for slurm_client squeue -h
expect_exit 0 reconcile
expect_out 'slurm/923/0 .*released$'
is "$(live)" "$before" 'live grants'

it 'leaves nothing behind when all jobs are over'
mapfile -t begun <"$work/begun"
slurm_client scancel "$array" "$het" "$waiting" "${begun[@]}"
expect_slurm_clean 4
expect_exit 0 reconcile
expect_out "0 grants of 'slurm' are live"

job_manager_down
story_end
