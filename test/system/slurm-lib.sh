# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The verbs of stories with a real Slurm: munged, slurmctld in the manager's
# place and a slurmd in each emulated node, with our hooks. Included after
# lib.sh. Each story's Slurm has directories, a MUNGE key and networks of its
# own, so that stories run side by side.
# shellcheck disable=SC2034,SC2154  # stories use what is set here; lib.sh sets

# shellcheck source=test/system/slurm-base.sh
. "$root/test/system/slurm-base.sh"

# --- the daemons ---

# Slurm's hooks have no arguments: as /usr/lib/fairlead/slurm has them, but for
# this build and this cluster. Slurm may kill who calls them.
write_hooks() {
	local hook
	mkdir -p "$slurm/hooks"
	for hook in prolog-slurmctld prolog epilog epilog-slurmctld; do
		# A story may have something happen before the hook: $slurm/HOOK.before
		ln -s "$build/src/lanes/cli/fairlead-slurm" "$slurm/hooks/$hook"
		cat >"$slurm/$hook" <<-END
			#!/bin/sh
			export FAIRLEAD_CLUSTER=$FAIRLEAD_CLUSTER PATH=/usr/bin:/bin
			export FAIRLEAD_MUNGE_SOCKET=$FAIRLEAD_MUNGE_SOCKET
			export ${ASAN_OPTIONS:+ASAN_OPTIONS=$ASAN_OPTIONS}
			eval "\$(cat $slurm/$hook.before 2>/dev/null)" # which may go meanwhile
			$slurm/hooks/$hook 2>>$slurm/log/$hook
			code=\$?
			echo "$hook \$SLURM_JOB_ID \$code \$SLURMD_NODENAME" >>$slurm/log/hooks
			exit \$code
		END
		chmod 755 "$slurm/$hook"
		: >>"$slurm/log/$hook"
	done
	: >>"$slurm/log/hooks"
	chmod 666 "$slurm"/log/*
}

write_conf() { # write_conf NODES [LINE...]
	local count=$1 i
	shift
	cat >"$SLURM_CONF" <<-END
		ClusterName=story
		SlurmctldHost=fabric(10.203.255.254)
		SlurmUser=${slurm_user:-root}
		PrologFlags=Alloc,DeferBatch
		PrologSlurmctld=$slurm/prolog-slurmctld
		Prolog=$slurm/prolog
		Epilog=$slurm/epilog
		EpilogSlurmctld=$slurm/epilog-slurmctld
		$(common_conf)
	END
	for ((i = 0; i < count; i++)); do
		printf 'NodeName=n%d NodeAddr=10.203.0.%d CPUs=%d RealMemory=256\n' \
			"$i" "$((i + 1))" "${slurm_cpus:-2}" >>"$SLURM_CONF"
	done
	echo "PartitionName=all Nodes=n[0-$((count - 1))] Default=YES State=UP" \
		>>"$SLURM_CONF"
	[ $# -eq 0 ] || printf '%s\n' "$@" >>"$SLURM_CONF"
	cat >"$slurm/plugstack.conf" <<-END
		optional $spank ${spank_arguments:-}
	END
}

slurmctld_up() { # slurmctld_up [OPTION...]
	on manager -- slurmctld -f "$SLURM_CONF" "$@" >>"$slurm/log/start" 2>&1 3>&-
}

slurmd_up() { # slurmd_up NODE...
	local node
	for node; do
		on "$node" -- slurmd -f "$SLURM_CONF" -N "$node" >>"$slurm/log/start" 2>&1 3>&-
	done
}

# Where slurm.conf is; and who is not root has to be a submitter of the manager.
configure_manager() {
	local user=${slurm_user:-root}
	printf 'slurm {\n    conf = "%s"\n    manager = "%s"\n}\n' "$SLURM_CONF" \
		"${slurm_manager:-}" >>"$config"
	[ "$user" = root ] || sed -i \
		"/submitter \"run\"/a submitter \"slurm\" { uid = $(id -u "$user") }" "$config"
	expect_exit 0 fairlead manager reconfigure
}

slurm_up() { # slurm_up NODES [LINE OF slurm.conf...]: after cluster_up
	local i
	shared=$work/shared # of the hooks and tasks of all users
	mkdir -m 777 "$shared"
	munge_up
	write_hooks
	write_conf "$@"
	chown -R "${slurm_user:-root}" "$slurm/state"
	configure_manager
	slurmctld_up -c
	for ((i = 0; i < $1; i++)); do
		slurmd_up "n$i"
	done
	wait_for are_nodes idle "$1"
}

slurm_pid() { # slurm_pid slurmctld|slurmd.NODE
	cat "$slurm/$1.pid"
}

slurm_stop() { # slurm_stop [SIGNAL] slurmctld|slurmd.NODE: and wait
	[ $# -eq 2 ] || set -- -TERM "$1"
	kill_pid "$1" "$(slurm_pid "$2")"
}

pids_on() { # pids_on NODE: what of Slurm runs there, its tasks too
	local network pid
	network=$(readlink "/proc/$(pid_of "$1" holder)/ns/net")
	for pid in $(pgrep 'slurm|sleep'); do
		[ "$(readlink "/proc/$pid/ns/net")" != "$network" ] || echo "$pid"
	done
}

# --- jobs that stay ---

submit() { # submit [OPTION...]: alice's, until $shared/end is there; into $job
	rm -f "$shared/tasks" "$shared/end"
	expect_exit 0 as_user "$alice" sbatch --parsable -o /dev/null "$@" --wrap \
		"srun sh -c 'echo \$SLINGSHOT_VNIS >>$shared/tasks; until [ -e $shared/end ]; do sleep 0.05; done'"
	job=$out
}

have_started() { # have_started TASKS: each has a line in $shared/tasks
	[ "$(wc -l <"$shared/tasks")" -eq "$1" ]
}

is_state() { # is_state STATE [KEY]: of the job's grant, or of that one
	[ "$(job_state "${2:-slurm/$job}")" = "$1" ]
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

reconcile() { # as its timer does it
	expect_exit 0 on manager -- fairlead reconcile --slurm --config "$config"
}

# --- what Slurm says ---

slurm_client() { # slurm_client COMMAND...: in the controller's place, bounded
	on manager -- timeout 120 "$@"
}

slurm_state() { # slurm_state NODE: idle, drain, drng, alloc, mix, down*
	slurm_client sinfo -h -n "$1" -o %t
}

is_slurm_node() { # is_slurm_node NODE STATE
	[ "$(slurm_state "$1")" = "$2" ]
}

drain_reason() { # drain_reason NODE
	slurm_client scontrol show node "$1" | sed -n 's/^ *Reason=//p'
}

comment() { # of the job, by our hooks
	slurm_client scontrol show job "$job" | sed -n 's/^ *AdminComment=//p'
}

ran_hook() { # ran_hook HOOK JOB CODE [NODE]
	grep -q "^$1 $2 $3 ${4:-}" "$slurm/log/hooks"
}

# The Epilog of a node may come before the release; then the node confirms.
expect_lane_events() { # expect_lane_events GRANT|KEY|JOB NAME...: but for confirm
	local job=$1
	shift
	is "$(events "$job" | sed 's/ confirm//g')" "$*" "events of $job"
}

# Nothing of any job is there: nodes idle (or as they are drained), pool whole.
expect_slurm_clean() { # expect_slurm_clean IDLE
	wait_for are_nodes idle "$1"
	wait_for is_pool held ''
	wait_for is_pool quarantined ''
	expect_clean
}
