#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of each process before each of the calls by which it changes anything
# outside itself, while a lane is reserved, made and taken back. After a restart
# nothing that was acknowledged is lost, and nothing is left. A node's daemon is
# started again while the manager still waits for it, or when it has given up:
# in turn, or both when FAIRLEAD_TEST is long. Only then is each point visited;
# else every third of manager and guard is: what they write has tests that visit
# its points (crash_test of lanes/manager/store and lanes/node/guard, ethernet_crash_test).
#
# kill-points.sh [manager|guard|agent [INTERCONNECT]]: whose points; all of them by
# default. Most of the time is waiting, so that the tests have a story for each.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

POINTS_MAX=500 # far more than any step here has

interconnect=${2:-slingshot}
objects=2 # of a lane on a node
case ${FAIRLEAD_TEST:-short}:${1:-} in
long:* | *:agent) stride=1 ;;
*) stride=3 ;;
esac
options=()
if [ "$interconnect" = ethernet ]; then
	need_root 'rules, programs and classes of nodes'
	[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
	objects=1
	options=(-s ethernet.vni_pool=1024-1087 -s ethernet.shaping=true
		-s ethernet.link_rate=10G)
fi
cluster_up -N 2 --nics 2 -s slingshot.vni_pool=1024-1087 "${options[@]}" \
	-s manager.apply_timeout=2 -s manager.revoke_timeout=2
"$tools/kill-at" "$(pid_of n1 holder)" 1 >"$work/attach" 2>&1 3>&- &
tracer=$!
wait_for test -s "$work/attach"
kill $tracer 2>/dev/null || true
wait $tracer 2>/dev/null || true
grep -q attached "$work/attach" || skip_all "not permitted to trace processes"

# Run a command; PROCESS is killed before the N-th effect that it has meanwhile,
# and started again. Into $was_killed and $where, and as `run`.
was_killed=false
crash() { # crash PROCESS N COMMAND...
	local who=$1 nth=$2 mender=
	rm -f "$work/crash"
	"$tools/kill-at" "$(process "$who")" "$nth" >"$work/crash" 2>&1 3>&- &
	tracer=$!
	wait_for grep -q attached "$work/crash"
	if $at_once; then
		(wait_for is_gone $tracer && mend "$who") 3>&- &
		mender=$!
	fi
	shift 2
	run "$@"
	kill $tracer 2>/dev/null || true
	wait $tracer 2>/dev/null || true
	where=$(sed -n 's/^killed at //p' "$work/crash")
	was_killed=true
	[ -n "$where" ] || was_killed=false
	if [ -n "$mender" ]; then
		wait $mender
	else
		mend "$who"
	fi
}

process() { # process manager|agent|guard
	case $1 in
	manager) pid_of manager ;;
	agent) agent_pid n1 ;;
	guard) guard_pid n1 ;;
	esac
}

mend() { # mend PROCESS: start it again, if it has died
	! grep -q killed "$work/crash" || case $1 in
	manager) restart manager ;;
	*) restart n1 ;;
	esac
}

# What the kernel has for lanes on Ethernet, but for what counts packets.
kernel_of() { # kernel_of NODE
	on "$1" -- sh -c 'ip -brief link show type vxlan; nft -s list table inet fairlead
		tc class show dev eth1; ls /run/fairlead/netns 2>&1; find /sys/fs/bpf | wc -l'
}

expect_nothing() { # expect_nothing: after a release
	wait_for is_quarantined 0
	expect_pool held ''
	expect_objects 0 n0 n1
	[ "$interconnect" = slingshot ] || is "$(kernel_of n1)" "$kernel" 'what n1 has'
	is "$(find "$FAIRLEAD_CLUSTER"/n[01]/run/jobs -type f)" '' 'environment files'
}

# Is it started again at once, or afterwards? A manager that is away answers
# nobody: there is no difference.
ways() { # ways PROCESS N
	if [ "$1" = manager ]; then
		echo false
	elif [ "${FAIRLEAD_TEST:-short}" = long ]; then
		echo true false
	elif [ $(($2 % 2)) -eq 1 ]; then
		echo true
	else
		echo false
	fi
}

# sweep PROCESS STEP: kill before the 1st, 2nd, ... effect, until the step ends
# before its turn has come
sweep() {
	local who=$1 step=$2 nth places=''
	for ((nth = 1; nth <= POINTS_MAX; nth += stride)); do
		for at_once in $(ways "$who" "$nth"); do
			"$step" "$who" "$nth" "kp/$who.$step.$nth.$at_once"
		done
		$was_killed || break
		places+=" $where"
	done
	[ $nth -gt 1 ] || fail "$who had no effect during $step"
	[ $nth -lt $POINTS_MAX ] || fail "$who never survived $step"
	printf '# %s: killed at%s\n' "$claim" "$places"
	expect_clean
}

reserving() { # reserving PROCESS N KEY
	local acknowledged=''
	crash "$1" "$2" reserve "$3" 'n[0-1]'
	[ "$code" -ne 0 ] || acknowledged=$out
	$was_killed || [ "$code" -eq 0 ] || fail "exit $code without a crash: $err"
	expect_exit 0 reserve "$3" 'n[0-1]'
	[ -z "$acknowledged" ] || is "$out" "$acknowledged" 'grant that was acknowledged'
	is "$(json_of list | gojq '.jobs | length')" 1 'grants'
	is "$(pool held)" "$(vnis_of "$3")" 'VNIs held'
	expect_exit 0 fairlead release "$3"
	expect_nothing
}

applying() { # applying PROCESS N KEY
	local grant acknowledged
	grant=$(reserve "$3" 'n[0-1]')
	crash "$1" "$2" fairlead apply "$grant"
	acknowledged=$code
	$was_killed || [ "$code" -eq 0 ] || fail "exit $code without a crash: $err"
	insist fairlead apply "$grant"
	if [ "$acknowledged" -eq 0 ] || [ "$code" -eq 0 ]; then
		is "$code" 0 "an apply again ($err)"
		is "$(job_state "$grant")" active 'state'
		expect_objects $objects n0 n1
	else
		has "$err" 'released' 'the error of an apply that was undone'
	fi
	insist fairlead release "$grant"
	is "$code" 0 "release ($err)"
	expect_nothing
}

releasing() { # releasing PROCESS N KEY
	local grant acknowledged
	grant=$(reserve "$3" 'n[0-1]')
	fairlead apply "$grant"
	crash "$1" "$2" fairlead release "$grant"
	acknowledged=$code
	$was_killed || [ "$code" -eq 0 ] || fail "exit $code without a crash: $err"
	[ "$acknowledged" -ne 0 ] ||
		is "$(json_of list | gojq '[.jobs[] | select(.state != "released")] | length')" \
			0 'jobs that are not over, of a release that was acknowledged'
	insist fairlead release "$grant"
	is "$code" 0 "release ($err)"
	expect_nothing
}

if [ "$interconnect" = ethernet ]; then
	# The first lane of a node makes what is for all of them.
	first=$(reserve kp/first 'n[0-1]')
	fairlead apply "$first"
	fairlead release "$first"
	kernel=$(kernel_of n1)
fi
for who in ${1:-manager guard agent}; do
	case $who in
	manager)
		it 'the manager, while a lane is reserved'
		sweep manager reserving
		it 'the manager, while a lane is made'
		sweep manager applying
		it 'the manager, while a lane is taken back'
		sweep manager releasing
		;;
	*)
		it "the $who of a node, while a lane is made"
		sweep "$who" applying
		it "the $who of a node, while a lane is taken back"
		sweep "$who" releasing
		;;
	esac
done

it 'the journal still replays to what the manager has'
expect_replay

story_end
