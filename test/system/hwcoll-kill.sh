#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of manager, fabric manager and step at each of the requests of a job
# with multicast trees; fabric managers that are away, tokens that expire and
# reservations that vanish. Whatever dies, jobs go on and nothing is left.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/fm-lib.sh
. "$(dirname "$0")/fm-lib.sh"

cluster_up -N 2 -s softfm,slingshot.hwcoll_trees=4,slingshot.hwcoll_wait=1
log=$FAIRLEAD_CLUSTER/manager/log/softfm.log

hung() { # hung OP: how many requests got no answer
	grep -c "op=$1 .*fault=yes" "$log" || :
}
has_hung() { # has_hung OP COUNT: more than these
	[ "$(hung "$1")" -gt "$2" ]
}

# hang OP WHEN COMMAND...: run it; return when the request of this operation has
# come, and waits for its answer: before or after its effect
running=
hang() {
	local op=$1 lost=() before
	before=$(hung "$op")
	[ "$2" = after ] || lost=(lost=before)
	fm fault "op=$op" delay=forever "${lost[@]}"
	shift 2
	"$@" 3>&- >>"$work/hanging" 2>&1 &
	running=$!
	wait_for has_hung "$op" "$before"
}

kill_manager_or_fm() { # kill_manager_or_fm manager|softfm: and start it again
	if [ "$1" = manager ]; then
		kill_manager
		fm clear
		restart manager
	else
		kill_fm
		fairlead cluster restart softfm
	fi
	wait $running 2>/dev/null || :
}

is_reached() { # the fabric manager, as far as the manager knows
	json_of status | gojq -e '.external.slingshot.connection == "up"'
}

number=0
hang_job() { # hang_job VICTIM OP WHEN: a job's life, with a kill at this request
	local grant reserve=(reserve "kill/$((++number))" 'n[0-1]' -o hwcoll=on)
	printf '# %s\n' "$*"
	wait_for is_reached
	case $2 in
	create | token)
		[ "$2" != token ] || fm expire
		hang "$2" "$3" "${reserve[@]}"
		kill_manager_or_fm "$1"
		insist "${reserve[@]}"
		grant=$out
		;;
	list)
		grant=$("${reserve[@]}")
		hang list "$3" fairlead cluster restart manager
		wait $running
		kill_manager_or_fm "$1"
		wait_for all_are_up
		;;
	delete) grant=$("${reserve[@]}") ;;
	esac
	expect_exit 0 fairlead apply "$grant"
	if [ "$2" = delete ]; then
		hang delete "$3" fairlead release "$grant"
		wait $running # for no fabric manager
		expect_pool held ''
		kill_manager_or_fm "$1"
	else
		expect_exit 0 fairlead release "$grant"
	fi
	expect_names ''
}

for victim in manager softfm; do
	it "HS05 HE04 HE05: kill -9 of the $victim at each request: the job goes on, nothing is left"
	for point in 'token before' 'list before' 'create before' 'create after' \
		'delete before' 'delete after'; do
		# shellcheck disable=SC2086  # two words
		hang_job $victim $point
	done
	expect_pool held ''
done

# --- steps ---

mkfifo -m 666 "$work/go"
cat >"$work/outer" <<END
#!/bin/sh
[ "\$FAIRLEAD_RANK" = 0 ] || exit 0
"$libfabric" join=0:00:20,0:00:21
fairlead run --inherit -n 1 -- sh -c 'echo \$PPID \$\$; exec "$libfabric" "\$0" "\$@"' "\$@"
echo inner \$?
cat $work/go
END
chmod 755 "$work/outer"

outer=
outer_start() { # outer_start COMMAND...: of libfabric, in an inner run
	: >"$work/outer.out" # now: it is read at once
	fairlead run -N 2 -o hwcoll=on -- "$work/outer" "$@" 3>&- >"$work/outer.out" 2>&1 &
	outer=$!
}

outer_end() { # it ends well, and what is left of it ends with it
	echo >"$work/go"
	wait $outer
	expect_names ''
}

has_trees() { # has_trees COUNT
	[ "$(fm dump | gojq '.multicasts | length')" = "$1" ]
}

inner_pids() { # launcher and program
	sed -n 's/^n0.0: \(n0.0: \)*\([0-9]* [0-9]*\)$/\2/p' "$work/outer.out"
}

it 'HC03: kill -9 of a step while its tree is made: it goes with the step'
fm fault op=tree nth=2 delay=4000
outer_start join=0:00:22
wait_for has_trees 2
read -r _ program <<<"$(inner_pids)"
kill -9 "$program"
wait_for grep -q 'inner ' "$work/outer.out"
wait_for has_trees 1
is "$(steps)" 0 'steps with trees'
fm clear
outer_end

it 'HC02: kill -9 of its launcher: its trees go with the job'
outer_start join=0:00:22 "wait=sleep infinity"
wait_for has_trees 2
read -r launcher program <<<"$(inner_pids)"
kill -9 "$launcher"
wait_for grep -q 'inner ' "$work/outer.out"
kill -9 "$program" 2>/dev/null || true
outer_end

it 'HC02: a run does not wait for its clean-up; kill -9 of that: its trees go with the job'
cleaner() { # that of this story's job
	local pid
	for pid in $(pgrep -x fairlead-step-c); do
		! grep -qsaF "$dir" "/proc/$pid/environ" || echo "$pid"
	done | grep .
}
before=$(hung patch)
fm fault op=patch delay=forever lost=before
outer_start join=0:00:22
wait_for has_hung patch "$before"
wait_for grep -q 'inner 0' "$work/outer.out"
kill -9 "$(cleaner)" # it waits still
has_trees 2
fm clear
outer_end

# --- fabric managers that are away, tokens, reservations that vanish ---

it 'HE06: a session token that has expired fails no step and no job'
fm fault op=patch status=401
fm fault op=get status=401
outer_start join=0:00:22
wait_for grep -q 'inner 0' "$work/outer.out"
has_trees 2
outer_end

it 'HR01: an access token that has expired is fetched again, whatever the request'
grant=$(reserve jm/expired 'n[0-1]' -o hwcoll=on)
fm expire
fairlead release "$grant"
expect_names ''
fm expire
reserve_as_other emulated-g1
restart manager
expect_names ''

it 'HE02: a fabric manager that is down for the whole life of a job, and of the manager'
kill_fm
kill_manager
restart manager
expect_exit 0 fairlead run -N 2 -o hwcoll=on -- env
expect_error 'no external reservation'
lacks "$out" FI_CXI_ 'the environment'
expect_pool held ''
expect_pool quarantined ''
fairlead cluster restart softfm
wait_for is_reached
expect_names ''

it 'HS03: trees and token of a reservation that vanishes are gone, and its job ends well'
outer_start join=0:00:22 "wait=cat $work/go" join=0:00:23
wait_for has_trees 2
name=$(names)
fm vanish job="$name"
echo >"$work/go"
wait_for grep -q 'inner 1' "$work/outer.out"
grep -q 'prov_errno 2054' "$work/outer.out"
outer_end

it 'HS03: and a warning is enough where the setting says so'
sed -i '/hwcoll_trees/a hwcoll_loss_is_fatal = false' "$config"
fairlead manager reconfigure
grant=$(reserve jm/lost 'n[0-1]' -o hwcoll=on)
fairlead apply "$grant"
fm vanish job="emulated-g$grant"
restart manager
has_warning() {
	event "$grant" exception | gojq -e '.[] | select(.severity > 0) |
		tostring | test("external reservation has vanished")'
}
wait_for has_warning
fairlead release "$grant"
expect_clean

# --- a journal that was lost ---

it 'HS04: a recovery leaves the reservation of a lane that nodes have, until it is gone'
state=$FAIRLEAD_CLUSTER/manager/state
kill_manager
cp -a "$state" "$work/old"
restart manager
grant=$(reserve jm/forgotten 'n[0-1]' -o hwcoll=on)
fairlead apply "$grant"
kill_manager
rm -rf "$state"
cp -a "$work/old" "$state"
fairlead cluster restart manager
wait_for eval 'fairlead status | grep -q halted'
kill_manager
start_by_hand manager "$fairleadd" --role manager --config "$config" --recover
wait_for all_are_up
wait_for is_reached
stop_by_hand manager
restart manager
wait_for is_reached
names_are "emulated-g$grant"
reboot n0
reboot n1
wait_for all_are_up
fairlead manager reconfigure
expect_names ''

story_end
