# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What every Slurm of a story has: programs, users, munged, the settings of
# slurm.conf that are the same, and what users do and Slurm says. For slurm-lib.sh
# and slurm-private.sh, after lib.sh; they have slurm_client, which runs a command
# where the controller is, for a bounded time.
# shellcheck disable=SC2034,SC2154  # who includes this uses it; lib.sh sets

# Users with a name, as Slurm wants them, and without rights.
alice=$(id -u games) bob=$(id -u news)
slurm=$work/slurm
spank=$build/src/lanes/plugin/slurm/spank_fairlead.so
export SLURM_CONF=$slurm/slurm.conf
export FAIRLEAD_MUNGE_SOCKET=$slurm/socket/s

need_slurm() {
	need_root 'a Slurm of its own'
	local program
	for program in slurmctld slurmd srun munged; do
		command -v $program >/dev/null || skip_all "no $program here"
	done
	[ -e "$spank" ] || skip_all 'the SPANK plugin is not built'
	[ "$sanitizer" = none ] ||
		skip_all "Slurm's programs cannot load what is built for a sanitizer"
}

munge_up() {
	mkdir -p "$slurm"/{munge,socket,log,state}
	head -c 128 /dev/urandom >"$slurm/munge/key"
	chmod 600 "$slurm/munge/key"
	chown -R munge: "$slurm/munge" "$slurm/socket"
	chmod 700 "$slurm/munge"
	chmod 755 "$slurm/socket"
	runuser -u munge -- munged --key-file="$slurm/munge/key" \
		--socket="$slurm/socket/s" --pid-file="$slurm/munge/pid" \
		--log-file="$slurm/munge/log" --seed-file="$slurm/munge/seed" \
		>>"$slurm/log/munged" 2>&1 3>&-
}

common_conf() {
	cat <<-END
		AuthType=auth/munge
		AuthInfo=socket=$slurm/socket/s
		CredType=cred/munge
		StateSaveLocation=$slurm/state
		SlurmdSpoolDir=$slurm/spool.%n
		SlurmctldPidFile=$slurm/slurmctld.pid
		SlurmdPidFile=$slurm/slurmd.%n.pid
		SlurmctldLogFile=$slurm/log/slurmctld.log
		SlurmdLogFile=$slurm/log/slurmd.%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		MpiDefault=none
		ReturnToService=2
		SchedulerType=sched/backfill
		SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1,permit_job_expansion
		KillWait=${slurm_kill_wait:-2}
		SlurmdTimeout=300
		PlugStackConfig=$slurm/plugstack.conf
		SlurmdParameters=config_overrides
		PropagateResourceLimits=NONE
	END
}

# Also called by lib.sh, when a story fails.
job_manager_down() {
	local file pid
	for file in "$slurm"/*.pid "$slurm/munge/pid"; do
		[ -e "$file" ] || continue
		pid=$(<"$file")
		kill "$pid" 2>/dev/null || continue
		wait_for is_gone "$pid"
	done
}

# --- what users do ---

as_user() { # as_user UID COMMAND...: a plain user's Slurm command
	local uid=$1
	shift
	slurm_client setpriv --reuid "$uid" --regid "$(id -g "$uid")" \
		--clear-groups env HOME="$work" "$@"
}

# --- what Slurm says ---

node_states() { # node_states: "n0 idle", a line each
	slurm_client sinfo -h -N -o '%N %t'
}

are_nodes() { # are_nodes STATE COUNT
	[ "$(node_states | grep -c " $1\$")" -eq "$2" ]
}

slurm_job() { # slurm_job ID FIELD: of scontrol show job
	slurm_client scontrol -o show job "$1" | head -n 1 | tr ' ' '\n' |
		sed -n "s/^$2=//p"
}

is_job() { # is_job ID STATE
	[ "$(slurm_job "$1" JobState)" = "$2" ]
}

is_requeued() { # is_requeued JOB
	[ "$(slurm_job "$1" JobState) $(slurm_job "$1" Reason)" = 'PENDING BeginTime' ]
}

# Now, and not in two minutes. Slurm takes the credential of a job that starts in
# the very second in which it was ended for the old one, which is revoked.
try_again() { # try_again JOB
	wait_for slurm_client scontrol update "jobid=$1" starttime=now+2
}
