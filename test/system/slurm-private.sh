# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The verbs of stories with a real Slurm of two nodes and without our daemons:
# munged, slurmctld and two slurmd on the loopback of a network of the story's
# own, in a folder of its own. What the daemons of nodes write for a job when its
# lane is applied, PrologSlurmctld writes here; each node sees its own files only.
#
# Included before lib.sh: root's story runs again in namespaces whose processes
# do not outlive it.
# shellcheck disable=SC2034,SC2154  # stories use what is set here; lib.sh sets

if [ "$(id -u)" -eq 0 ] && [ "${1:-}" != in-namespaces ] &&
	unshare --net --uts --pid --fork --mount-proc true; then
	# The name of this host is to be found, and is not where nothing but loopback is.
	# shellcheck disable=SC2016  # expanded by the shell inside
	exec unshare --net --uts --pid --fork --kill-child --mount-proc sh -c 'hostname localhost && ip link set lo up &&
		ip address add 192.0.2.1/32 dev lo && exec "$@"' sh "$0" in-namespaces
fi

private_begin() { # after lib.sh
	# shellcheck source=test/system/slurm-base.sh
	. "$root/test/system/slurm-base.sh"
	plugin=$spank jobs=$work/jobs
	need_slurm
	[ "$(hostname)" = localhost ] || skip_all 'root may not make namespaces here'
	need_others
	mkdir -p "$slurm" "$jobs"
	mkdir -m 1777 "$work/out"
	chmod 711 "$jobs"
	plugstack "optional $plugin jobs_dir=$jobs"
	munge_up
	write_hooks
	write_conf
	slurmctld -f "$SLURM_CONF" -c >>"$slurm/log/start" 2>&1 3>&-
	slurmd_up n0
	slurmd_up n1
	wait_for are_nodes idle 2
}

plugstack() { # plugstack [LINE...]: read by each command and each step
	printf '%s\n' "$@" >"$slurm/plugstack.conf"
}

# A node's lane of a job is a file with who the job is, which start of it this
# is, and which node. $slurm/no-lane: there is none; $slurm/spoil: what is done
# to each $file then.
write_hooks() {
	cat >"$slurm/prolog-slurmctld" <<-END
		#!/bin/sh
		PATH=/usr/sbin:/usr/bin:/sbin:/bin
		printf '%s %s\n' "\$SLURM_JOB_ID" "\${SPANK_FAIRLEAD-nothing}" \
			>>$slurm/log/options
		[ ! -e $slurm/no-lane ] || exit 0
		case \$SLURM_JOB_NODELIST in
		n0 | n1) nodes=\$SLURM_JOB_NODELIST ;;
		*) nodes='n0 n1' ;;
		esac
		for node in \$nodes; do
			jobs=$slurm/jobs.\$node/slurm
			job=\$jobs/\${SLURM_HET_JOB_ID:-\$SLURM_JOB_ID}
			file=\$job/\$SLURM_JOB_RESTART_COUNT
			mkdir -p "\$job" && chmod 711 "\$jobs" && chmod 755 "\$job" || exit
			printf 'SLINGSHOT_VNIS=%s\nFI_TCP_IFACE=%s\nUCX_NET_DEVICES\n' \
				"\${file#"\$jobs/"}" "\$node" >"\$file.new" || exit
			chmod 600 "\$file.new" || exit
			chown "\$SLURM_JOB_UID:\$SLURM_JOB_GID" "\$file.new" || exit
			mv "\$file.new" "\$file" || exit
			[ ! -e $slurm/spoil ] || . $slurm/spoil
		done
	END
	cat >"$slurm/epilog" <<-END
		#!/bin/sh
		/bin/rm -rf $jobs/slurm/\${SLURM_HET_JOB_ID:-\$SLURM_JOB_ID}
	END
	chmod 755 "$slurm/prolog-slurmctld" "$slurm/epilog"
	: >"$slurm/log/options"
}

write_conf() {
	local host
	host=$(hostname -s)
	cat >"$SLURM_CONF" <<-END
		ClusterName=private
		SlurmctldHost=$host(127.0.0.1)
		SlurmUser=root
		CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
		$(common_conf)
		PrologFlags=Alloc,DeferBatch
		PrologSlurmctld=$slurm/prolog-slurmctld
		Epilog=$slurm/epilog
		NodeName=n0 NodeHostname=$host NodeAddr=127.0.0.1 Port=6900 CPUs=4 RealMemory=256
		NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=6901 CPUs=4 RealMemory=256
		PartitionName=all Nodes=n[0-1] Default=YES State=UP
	END
}

slurmd_up() { # slurmd_up NODE: where $jobs are its own
	mkdir -p "$slurm/jobs.$1"
	chmod 711 "$slurm/jobs.$1"
	# shellcheck disable=SC2016  # expanded by the shell inside
	unshare --mount sh -c 'mount --bind "$1" "$2" && exec slurmd -f "$3" -N "$4"' \
		sh "$slurm/jobs.$1" "$jobs" "$SLURM_CONF" "$1" \
		>>"$slurm/log/start" 2>&1 3>&-
}

private_end() {
	it 'nothing is left: no process, mount or file'
	job_manager_down
	is "$(left_behind)" '' 'left behind'
	is "$(other_processes)" '' 'processes'
	is "$(find "$slurm"/jobs.* -type f)" '' 'environment files'
	pass_claim
	printf '1..%d\n' "$claim_count" >&3
}

other_processes() { # in this place, but for the story's own
	local story=${0##*/}
	# shellcheck disable=SC2009  # all but a few, by name
	ps -eo pid=,comm= | grep -vE " (${story:0:15}|ps|grep)\$" || true
}

# --- what users do ---

slurm_client() { # slurm_client COMMAND...: bounded
	timeout 120 "$@"
}

submit() { # submit UID [OPTION...]: a script, on standard input; its job id
	local uid=$1
	shift
	as_user "$uid" sbatch --parsable -o "$work/out/%j" "$@"
}

# --- what Slurm says ---

job_count() { # how many were ever submitted, of those that Slurm remembers
	slurm_client scontrol -o show job | grep -c '^JobId=' || true
}

option_of() { # option_of JOB: what its hooks knew of --fairlead, each once
	sed -n "s/^$1 //p" "$slurm/log/options" | sort -u
}
