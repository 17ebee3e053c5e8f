#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A cluster at work for long: jobs, changes of the configuration, clients that
# die, a node that dies again and again, and then a manager that does. What
# lives on all the while has no more descriptors than when it was warm, and no
# more memory than what it has to remember. FAIRLEAD_ROUNDS makes it longer or
# shorter, FAIRLEAD_SEED another one.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

[ "${FAIRLEAD_TEST:-short}" = long ] || [ -n "${FAIRLEAD_ROUNDS:-}" ] ||
	skip_all 'takes long: FAIRLEAD_TEST=long runs it'
need_root 'to count what processes of other users have open'
[ "$sanitizer" = none ] ||
	skip_all "with a sanitizer ($sanitizer) memory says nothing"

seed=${FAIRLEAD_SEED:-1}
rounds=${FAIRLEAD_ROUNDS:-200}
warm_rounds=$((rounds / 10 + 3))
RANDOM=$seed
workers=3 jobs_each=8
jobs_done=0
slack_kib=1024       # of the allocator's
cache_kib=8192       # of the manager's journal, which fills with time
remembered_bytes=512 # of a grant that is over, at most
printf '# seed %d, %d rounds\n' "$seed" "$rounds"

cluster_up -N 3 --nics 2 -s slingshot.vni_pool=1024-1055 \
	-s manager.apply_timeout=3 -s manager.revoke_timeout=1 \
	-s manager.metrics=127.0.0.1:9471 -s manager.drain_command=/bin/true

# --- one round ---

# As a job manager does: the same again until there is an answer.
ask() { # ask COMMAND...: 0, or the answer's exit code; into $out
	local code
	while :; do
		code=0
		out=$("$@" 2>"$work/worker.$BASHPID") || code=$?
		[ "$code" -eq 75 ] || return "$code"
		sleep 0.05
	done
}
job() { # job KEY NODES VNIS
	local grant
	ask reserve "$1" "$2" -o "vnis=$3" || return 1
	grant=$out
	# Where a node dies meanwhile it fails; that is no harm.
	ask fairlead apply "$grant" || true
	ask fairlead explain "$grant" || return 1
	ask fairlead release "$grant" || return 1
	ask fairlead eventlog "$grant" || return 1
}
worker() { # worker NAME SEED
	local i
	trap - ERR EXIT
	RANDOM=$2
	for ((i = 0; i < jobs_each; i++)); do
		job "soak/$1.$i" "n[0-$((RANDOM % 3))]" $((RANDOM % 3)) ||
			printf '%s: %s\n' "$1.$i" "$(<"$work/worker.$BASHPID")" \
				>>"$work/violations"
		fairlead list >/dev/null 2>&1 &
		kill -9 $! 2>/dev/null || true
		wait $! 2>/dev/null || true
	done
}
reconfigure() { # reconfigure ROUND: the manager, and a node
	if (($1 % 2)); then
		sed -i 's/1024-1055/1024-1063/; s/revoke_timeout = 1$/revoke_timeout = 2/' "$config"
	else
		sed -i 's/1024-1063/1024-1055/; s/revoke_timeout = 2$/revoke_timeout = 1/' "$config"
	fi
	insist fairlead manager reconfigure
	[ "$code" -eq 0 ] || fail "reconfigure: $err"
	kill -HUP "$(agent_pid n0)"
}
n2_dies() { # n2_dies ROUND: its agent, its guard, or all of it
	case $(($1 % 3)) in
	0) kill_pid "$(agent_pid n2)" && restart n2 ;;
	1) kill_pid "$(guard_pid n2)" && restart n2 ;;
	2) reboot n2 ;;
	esac
}
manager_dies() {
	kill_manager
	restart manager
}
look() { # what people and monitoring do
	on manager -- curl -sf http://127.0.0.1:9471/metrics >/dev/null
	fairlead status >/dev/null
	fairlead node list >/dev/null
	fairlead node query 'n[0-1]' objects >/dev/null
	fairlead node drain n1 --reason soak
	fairlead node undrain n1
}
round() { # round NUMBER DEATH...: jobs, while something dies
	local w pids=()
	for ((w = 0; w < workers; w++)); do
		worker "$1.$w" $((seed + $1 * workers + w)) 3>&- &
		pids+=($!)
	done
	reconfigure "$1"
	"${@:2}"
	for w in "${pids[@]}"; do
		wait_for is_gone "$w"
		wait "$w"
	done
	[ ! -e "$work/violations" ] || fail "seed $seed: $(<"$work/violations")"
	wait_for is_up n0 n1 n2
	look
	wait_for is_quarantined 0
	jobs_done=$((jobs_done + workers * jobs_each))
}

# --- what is measured ---

declare -A pids_then=() memory_then=() open_then=()
memory_of() { # memory_of PID: KiB that are its own
	awk '/^RssAnon:/ { print $2 }' "/proc/$1/status"
}
open_of() { # open_of PID: descriptors
	find "/proc/$1/fd" -mindepth 1 -maxdepth 1 | wc -l
}
processes() { # processes [manager]: name and pid, a line each
	local node
	for node in n0 n1; do
		printf '%s-agent %s\n%s-guard %s\n%s-softnic %s\n' \
			$node "$(agent_pid $node)" $node "$(guard_pid $node)" \
			$node "$(pid_of $node softnic)"
	done
	[ $# -eq 0 ] || printf 'manager %s\n' "$(pid_of manager)"
}
measure() { # measure [manager]: as it is when warm
	local name pid
	pids_then=() jobs_done=0
	while read -r name pid; do
		pids_then[$name]=$pid
		memory_then[$name]=$(memory_of "$pid")
		open_then[$name]=$(open_of "$pid")
	done < <(processes "$@")
	[ ${#pids_then[@]} -ge 6 ] || fail "there are ${#pids_then[@]} processes"
}
is_as_open() { # is_as_open NAME PID
	[ "$(open_of "$2")" -le "${open_then[$1]}" ]
}
expect_no_growth() { # expect_no_growth [manager]
	local name pid memory most
	while read -r name pid; do
		is "$pid" "${pids_then[$name]}" "pid of $name, which should not have died"
		memory=$(memory_of "$pid")
		most=$((memory_then[$name] + slack_kib + jobs_done * remembered_bytes / 1024))
		[ "$name" != manager ] || most=$((most + cache_kib))
		printf '# %s: %d KiB, then %d; %d descriptors, then %d; %d jobs\n' \
			"$name" "${memory_then[$name]}" "$memory" \
			"${open_then[$name]}" "$(open_of "$pid")" "$jobs_done"
		wait_for is_as_open "$name" "$pid"
		[ "$memory" -le $most ] ||
			fail "$name has grown from ${memory_then[$name]} to $memory KiB in $jobs_done jobs"
	done < <(processes "$@")
}

it 'jobs run while a node dies and the configuration changes'
for ((n = 0; n < warm_rounds; n++)); do
	round $n n2_dies $n
done
expect_clean

it 'neither the manager nor the other nodes grow by that'
measure manager
for ((; n < warm_rounds + rounds; n++)); do
	round $n n2_dies $n
done
expect_no_growth manager
expect_clean

it 'nor do nodes whose manager dies again and again'
for ((; n < 2 * warm_rounds + rounds; n++)); do
	round $n manager_dies
done
measure
for ((; n < 2 * warm_rounds + rounds + rounds / 4; n++)); do
	round $n manager_dies
done
expect_no_growth
expect_clean

it 'the journal replays to what the manager has'
expect_replay

story_end
