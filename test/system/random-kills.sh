#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs come and go on a cluster whose processes die at random. No VNI is in two
# jobs at a time, no acknowledged reservation is lost, and when the jobs are
# over nothing is left. FAIRLEAD_SEED chooses another run, FAIRLEAD_ROUNDS a
# longer one.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

seed=${FAIRLEAD_SEED:-1}
rounds=${FAIRLEAD_ROUNDS:-5}
[ "${FAIRLEAD_TEST:-short}" = short ] || rounds=${FAIRLEAD_ROUNDS:-100}
RANDOM=$seed
workers=3 jobs_each=5 nodes=3
printf '# seed %d, %d rounds\n' "$seed" "$rounds"

cluster_up -N $nodes --nics 2 -s slingshot.vni_pool=1024-1039 \
	-s manager.apply_timeout=3 -s manager.revoke_timeout=1
mkdir "$work/held"

# As a job manager does: the same again until there is an answer. Into $out.
ask() { # ask COMMAND...: 0, or the answer's exit code
	local code
	while :; do
		code=0
		out=$("$@" 2>"$work/worker.$BASHPID") || code=$?
		[ "$code" -eq 75 ] || return "$code"
		[ ! -e "$work/stop" ] || return 75
		sleep 0.05
	done
}
complain() {
	printf '%s\n' "$*" >>"$work/violations"
}
# One job from its beginning to its end.
job() { # job KEY NODES VNIS
	local grant again vni
	ask reserve "$1" "$2" -o "vnis=$3" || {
		complain "$1: reserve: $(<"$work/worker.$BASHPID")"
		return
	}
	grant=$out
	ask reserve "$1" "$2" -o "vnis=$3" && again=$out &&
		[ "$again" != "$grant" ] && complain "$1: grant $grant, then $again"
	if ask fairlead apply "$grant"; then
		ask fairlead explain "$grant" --json &&
			for vni in $(gojq -r '.grants[0].ids.vni // "" | split(",")[] |
				split("-") | [range(.[0] | tonumber; (.[-1] | tonumber) + 1)][]' <<<"$out"); do
				mkdir "$work/held/$vni" 2>/dev/null ||
					complain "$1: VNI $vni is held by $(cat "$work/held/$vni/"*) too"
				printf '%s\n' "$1" >"$work/held/$vni/$BASHPID"
				vnis="${vnis:-} $vni"
			done
	fi
	for vni in ${vnis:-}; do
		rm -r "$work/held/$vni"
	done
	vnis=
	ask fairlead release "$grant" || complain "$1: release: $(<"$work/worker.$BASHPID")"
}
worker() { # worker ROUND NUMBER SEED
	local i
	trap - ERR EXIT
	RANDOM=$3
	for ((i = 0; i < jobs_each; i++)); do
		job "rk/$1.$2.$i" "n[0-$((RANDOM % nodes))]" $((RANDOM % 3 + 1))
	done
}
are_gone() { # are_gone PID...
	local pid
	for pid; do
		is_gone "$pid" || return 1
	done
}
victim() { # a process at random, and before which of its effects: $who $pid $nth
	who=n$((RANDOM % nodes))
	case $((RANDOM % 3)) in
	0)
		who=manager pid=$(pid_of manager) nth=$((RANDOM % 100 + 1))
		;;
	1)
		pid=$(agent_pid $who) nth=$((RANDOM % 8 + 1))
		;;
	2)
		pid=$(guard_pid $who) nth=$((RANDOM % 60 + 1))
		;;
	esac
}

for ((round = 0; round < rounds; round++)); do
	it "round $round: whatever dies, nothing is lost, doubled or left"
	pids=()
	for ((w = 0; w < workers; w++)); do
		worker $round $w $((seed + round * workers + w)) 3>&- &
		pids+=($!)
	done
	for ((kill = 0; kill < 3; kill++)); do
		victim
		"$tools/kill-at" "$pid" "$nth" >"$work/kill" 2>&1 3>&- &
		tracer=$!
		wait_for eval "is_gone $pid || are_gone ${pids[*]}"
		kill $tracer 2>/dev/null || true
		wait $tracer 2>/dev/null || true
		printf '# %s %s: %s\n' "$who" "$pid" "$(tail -n 1 "$work/kill")"
		is_gone "$pid" || continue
		restart "$who"
	done
	for pid in "${pids[@]}"; do
		wait_for is_gone "$pid"
		wait "$pid"
	done
	wait_for is_quarantined 0
	[ ! -e "$work/violations" ] || fail "seed $seed: $(<"$work/violations")"
	expect_clean
done

it 'the journal replays to what the manager has'
expect_replay

story_end
