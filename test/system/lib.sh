# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The verbs of the system tests: whole programs, on an emulated cluster.
#
# A story is a script that includes this file. It speaks TAP: `it SENTENCE`
# opens a claim, the verbs below it are what proves it, and the first one that
# does not hold ends the story. Each story has a cluster, directory and names of
# its own, so that stories run side by side. `story_end` takes the cluster down
# and makes sure that nothing of it is left: no process, namespace, mount, file.
#
# Nothing here waits for time to pass. `wait_for` waits for an event; its bound
# is generous, and reaching it is a failure.
#
# Standard output of a story is not TAP: descriptor 3 is.
# shellcheck disable=SC2034  # stories use what is set here

set -Eeuo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(realpath "${FAIRLEAD_BUILD:-$root/build}")

# anybody COMMAND...: as an unknown user; only root can
anybody() {
	setpriv --reuid 2005 --regid 2005 --clear-groups "$@"
}

# Other users have parts in root's stories. In a closed home, such as root's
# own, they could not reach the checkout: there each story sees it at /mnt.
if [ "$(id -u)" -eq 0 ] && [ "$root" != /mnt ] && ! anybody test -x "$build" &&
	[[ $build == "$root"/* ]]; then
	# shellcheck disable=SC2016  # expanded by the shell inside
	exec unshare --mount sh -c 'mount --bind "$1" /mnt && export FAIRLEAD_BUILD="$2" &&
		cd / && shift 2 && exec "$@"' sh "$root" "/mnt/${build#"$root"/}" \
		"/mnt/test/system/$(basename "$0")" "$@"
fi
exec 3>&1 1>&2 </dev/null

WAIT_S=60 # the bound of wait_for, far beyond what anything here needs

tools=$build/test/system
softnic=$build/src/emu/cxi/daemon/fairlead-softnic
fairleadd=$build/src/lanes/daemon/fairleadd
wire=$root/test/system/wire.py
PATH=$build/src/lanes/cli:$PATH
export FAIRLEAD_STEP_CLEAN=$build/src/lanes/driver/slingshot/fairlead-step-clean
LC_ALL=C
export PATH LC_ALL

is_root=true
[ "$(id -u)" -eq 0 ] || is_root=false
interconnect=slingshot # of the story's jobs and pools
alice=2001 bob=2002 # owners of jobs; nobody needs to know their names
$is_root || alice=0 bob=0

# --- TAP ---

claim=
claim_count=0

pass_claim() {
	expect_no_reports
	[ -n "$claim" ] || return 0
	claim_count=$((claim_count + 1))
	printf 'ok %d - %s\n' "$claim_count" "$claim" >&3
	claim=
}

it() { # it SENTENCE
	pass_claim
	claim=$*
	printf '# %s\n' "$claim"
}

show_logs() {
	local log
	for log in "$FAIRLEAD_CLUSTER"/*/log/*.log "$work"/{slurm,flux}/log/* "$reports"/*; do
		[ -s "$log" ] || continue
		printf -- '--- %s\n' "$log"
		case $log in
		"$reports"/*) head -n 60 "$log" ;;
		*) tail -n 25 "$log" ;;
		esac
	done
}

fail() { # fail WHAT...: end the story
	trap - ERR
	[ "$BASH_SUBSHELL" -eq 0 ] || exit 1
	printf '# FAILED: %s\n' "$*"
	local i
	for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
		printf '#   %s:%s\n' "${BASH_SOURCE[i]##*/}" "${BASH_LINENO[i - 1]}"
	done
	show_logs
	printf 'not ok %d - %s\n' "$((claim_count + 1))" \
		"${claim:-the story begins}" >&3
	exit 1
}
trap 'fail "command failed: $BASH_COMMAND"' ERR

skip_all() { # skip_all REASON: this system cannot run the (rest of the) story
	expect_no_reports
	trap - EXIT ERR
	clean_up
	if [ "$claim_count" -eq 0 ]; then
		printf '1..0 # SKIP %s\n' "$*" >&3
	else
		printf 'ok %d - the rest # SKIP %s\n1..%d\n' "$((claim_count + 1))" \
			"$*" "$((claim_count + 1))" >&3
	fi
	exit 0
}

skip_claim() { # skip_claim REASON: this system cannot show what was claimed last
	claim_count=$((claim_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$claim_count" "$claim" "$*" >&3
	claim=
}

need_root() { # need_root WHAT FOR
	$is_root || skip_all "needs root: $*"
}

# somebody COMMAND...: as a user who is not root
somebody() {
	if $is_root; then
		anybody env HOME=/ TMPDIR=/tmp FAIRLEAD_BUILD="$build" "$@"
	else
		"$@"
	fi
}

# need_others: users who are not root can reach the build
need_others() {
	somebody test -x "$build/src/lanes/cli/fairlead" ||
		skip_all "only its owner can reach what is in $root"
}

# need_somebody: .. and can make namespaces
need_somebody() {
	need_others
	somebody unshare -Ur true 2>/dev/null ||
		skip_all 'users may not make namespaces here'
}

# --- conditions ---

is() { # is GOT WANTED WHAT
	[ "$1" = "$2" ] || fail "$3: '$1' is not '$2'"
}

has() { # has TEXT REGEX WHAT
	grep -Eq -- "$2" <<<"$1" || fail "$3: no '$2' in: $1"
}

lacks() { # lacks TEXT REGEX WHAT
	! grep -Eq -- "$2" <<<"$1" || fail "$3: '$2' in: $1"
}

holds() { # holds JSON FILTER [JQ ARGUMENT...]: true of this JSON
	local json=$1 filter=$2
	shift 2
	gojq -e "$@" "$filter" <<<"$json" >/dev/null ||
		fail "not true: $filter of $(gojq -c . <<<"$json" 2>&1 || echo "$json")"
}

out='' err='' code=0
run() { # run COMMAND...: into $out, $err and $code
	code=0
	out=$(trap - ERR && "$@" 2>"$work/err" 3>&-) || code=$?
	err=$(<"$work/err")
}

expect_exit() { # expect_exit CODE COMMAND...
	local wanted=$1
	shift
	run "$@"
	[ "$code" -eq "$wanted" ] ||
		fail "exit $code, not $wanted: $* -- $out -- $err"
}

expect_error() { # expect_error REGEX: of the command before
	has "$err" "$1" "the error"
}

expect_hint() { # expect_hint REGEX
	has "$err" "^hint: .*$1" "the hint"
}

expect_out() { # expect_out REGEX
	has "$out" "$1" "the output"
}

insist() { # insist COMMAND...: as `run`, until the answer is not "try again later"
	local end=$((SECONDS + WAIT_S)) ms=20
	run "$@"
	while [ "$code" -eq 75 ]; do
		[ $SECONDS -lt $end ] || fail "still busy after $WAIT_S seconds: $*"
		pause
		run "$@"
	done
}

# Between two looks of who waits: $ms, and a quarter longer the next time. Who
# looks all the time keeps the processors from what is waited for.
pause() {
	local seconds
	printf -v seconds 0.%03d "$ms"
	sleep "$seconds"
	ms=$((ms < 200 ? ms * 5 / 4 : ms))
}

wait_for() { # wait_for COMMAND...: until it succeeds
	local end=$((SECONDS + WAIT_S)) ms=20
	until (trap - ERR && "$@") >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "waited in vain for: $*"
		pause
	done
}

# --- the cluster ---

work=$(mktemp -d /tmp/fairlead-system.XXXXXX)
chmod 755 "$work"
export FAIRLEAD_CLUSTER=$work/cluster
export FAIRLEAD_SOCKET=$FAIRLEAD_CLUSTER/manager/run/manager.sock
config=$FAIRLEAD_CLUSTER/fairlead.conf
networks=() # of all places that were ever made, as /proc shows them
cgroup=     # of the cluster; empty: this system lets it have none

# What a sanitizer finds is a file here, whichever process it was in, and
# whether or not somebody looked at how that ended. A claim has none.
sanitizer=$(gojq -r '.[] | select(.name == "b_sanitize").value' \
	"$build/meson-info/intro-buildoptions.json")
reports=$work/reports
mkdir -m 1777 "$reports"
for name in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS; do
	export "$name=${!name:+${!name}:}log_path=$reports/report"
done

expect_no_reports() {
	[ -z "$(ls "$reports")" ] || fail "a sanitizer ($sanitizer) has found something"
}

remember_places() {
	local pid network
	cgroup=$(fairlead cluster show --json | gojq -r .cgroup)
	for pid in $(fairlead cluster show --json | gojq '.fabric, .nodes[].holder'); do
		network=$(readlink "/proc/$pid/ns/net")
		[[ " ${networks[*]} " != *" $network "* ]] || continue
		networks+=("$network")
		# Kept until the story ends: else its number is somebody else's at once.
		sleep infinity 3>&- 4<"/proc/$pid/ns/net" &
	done
}

cluster_up() { # cluster_up [OPTION...]: as of 'fairlead cluster up'
	if ! $is_root && ! unshare -Ur true 2>/dev/null; then
		skip_all "not root, and users may not make namespaces here"
	fi
	fairlead cluster up --quiet "$@" >/dev/null
	remember_places
}

cluster_down() {
	[ ! -e "$FAIRLEAD_CLUSTER/cluster.json" ] || fairlead cluster down
}

on() { # on NODE|manager [--user U|--job J] -- COMMAND...
	local where=$1
	shift
	if [ "$1" = --user ] && [ "$3" = --job ]; then
		fairlead cluster exec --user "$2" --job "$4" "$where" "${@:5}"
	elif [ "$1" = --user ] || [ "$1" = --job ]; then
		fairlead cluster exec "$1" "$2" "$where" "${@:3}"
	else
		fairlead cluster exec "$where" "$@"
	fi
}

all_are_up() {
	[ "$(json_of status | gojq .nodes.up)" -ge \
		"$(json_of cluster show | gojq '.nodes | length')" ]
}

restart() { # restart NODE|manager: and wait until the nodes have registered
	fairlead cluster restart "$1" || return
	[ "$1" != manager ] || wait_for all_are_up
}

reboot() { # reboot NODE: its place is another then
	fairlead cluster reboot "$1" && remember_places
}

pid_of() { # pid_of manager | NODE daemon|softnic|holder
	if [ "$1" = manager ]; then
		fairlead cluster show --json | gojq -e .manager
	else
		fairlead cluster show --json |
			gojq -e --arg n "$1" --arg p "$2" '.nodes[] | select(.name == $n)[$p]'
	fi
}

# Other threads may outlive the first one, and keep its sockets ("Zl").
is_gone() { # is_gone PID: or only waits for its parent
	case $(ps -o stat= -p "$1") in
	Z*l*) return 1 ;;
	'' | Z*) return 0 ;;
	esac
	return 1
}

kill_pid() { # kill_pid [SIGNAL] PID: and wait until it is gone
	[ $# -eq 2 ] || set -- -KILL "$1"
	kill "$1" "$2"
	wait_for is_gone "$2"
}

kill_manager() {
	kill_pid "$(pid_of manager)"
}

# The two processes of a node: the guard is the one that is (in a cluster of a
# user: stays) root with a capability, and the child of the agent.
agent_pid() { # agent_pid NODE
	pid_of "$1" daemon
}

guard_pid() { # guard_pid NODE
	ps -o pid= --ppid "$(pid_of "$1" daemon)" | tr -d ' '
}

kill_both() { # kill_both NODE: these two
	local agent guard
	agent=$(agent_pid "$1")
	guard=$(guard_pid "$1")
	kill -KILL "$agent" "$guard"
	wait_for is_gone "$agent"
	wait_for is_gone "$guard"
}

# A daemon that 'fairlead cluster' does not know of, and does not wait for.
declare -A by_hand=()
start_by_hand() { # start_by_hand NODE|manager PROGRAM [OPTION...]
	local where=$1
	shift
	on "$where" -- "$@" >>"$work/$where.log" 2>&1 3>&- &
	wait_for pgrep -P $!
	by_hand[$where]=$(pgrep -P $!)
}

stop_by_hand() { # stop_by_hand NODE|manager
	kill "${by_hand[$1]}"
	wait_for is_gone "${by_hand[$1]}"
}

nic() { # nic NODE COMMAND...: tell its software NIC
	local node=$1
	shift
	on "$node" -- "$softnic" ctl --dir /run/fairlead/softnic "$@"
}

# --- what the programs say ---

json_of() { # json_of COMMAND...: its answer
	fairlead "$@" --json
}

node_state() { # node_state NODE
	json_of node list | gojq -r --arg n "$1" '.nodes[] | select(.name == $n).state'
}

is_up() { # is_up NODE...
	local node
	for node; do
		[ "$(node_state "$node")" = up ] || return 1
	done
}

# To the manager it is up for as long as its lease, whoever runs there.
says_up() { # says_up NODE: by its own word, it has registered
	[ "$(on "$1" -- fairlead node status --json | gojq -r .manager.state)" = up ]
}

is_drained() { # is_drained NODE
	json_of node list |
		gojq -e --arg n "$1" '.nodes[] | select(.name == $n).drained' >/dev/null
}

pool() { # pool universe|free|held|quarantined|withheld|draining: an id set
	json_of pools | gojq -r ".pools.$interconnect.vni.$1"
}

is_pool() { # is_pool MEMBER SET
	[ "$(pool "$1")" = "$2" ]
}

expect_pool() { # expect_pool MEMBER SET
	is "$(pool "$1")" "$2" "VNIs $1"
}

quarantined() { # how many identifiers wait
	json_of quarantine list | gojq '.identifiers | length'
}

is_quarantined() { # is_quarantined COUNT
	[ "$(quarantined)" -eq "$1" ]
}

objects() { # objects NODE: services that are not the system's, as JSON
	on "$1" -- fairlead node objects --json | gojq '[.objects[] |
		select((.flags | index("system") or index("default")) | not)]'
}

object_count() { # object_count NODE
	objects "$1" | gojq length
}

expect_objects() { # expect_objects COUNT NODE...
	local count=$1 node
	shift
	for node; do
		is "$(object_count "$node")" "$count" "objects on $node"
	done
}

service_of() { # service_of NODE DEVICE GRANT: its id
	objects "$1" | gojq -e --arg d "$2" --argjson g "$3" \
		'.[] | select(.device == $d and .grant_id == $g).id'
}

job_state() { # job_state GRANT|KEY: "gone" when it holds nothing
	json_of explain "$1" | gojq -r '.grants[0].state'
}

vnis_of() { # vnis_of GRANT|KEY: while it holds them
	json_of explain "$1" | gojq -r '.grants[0].ids.vni // ""'
}

events() { # events GRANT|KEY|JOB: their names, in a line
	fairlead eventlog "$1" | gojq -rs '[.[].name] | join(" ")'
}

expect_events() { # expect_events GRANT|KEY|JOB NAME...
	local job=$1
	shift
	is "$(events "$job")" "$*" "events of $job"
}

event() { # event GRANT|KEY|JOB NAME: the contexts of these events, as an array
	fairlead eventlog "$1" | gojq -s --arg n "$2" '[.[] | select(.name == $n).context]'
}

env_file() { # env_file NODE KEY: where its variables are, seen from outside
	printf '%s/%s/run/jobs/%s\n' "$FAIRLEAD_CLUSTER" "$1" "$2"
}

# Nothing is held, made, or waits, on any node of the cluster.
expect_clean() {
	local node
	expect_pool held ''
	expect_pool quarantined ''
	expect_pool withheld ''
	is "$(json_of list | gojq '.jobs | length')" 0 'jobs'
	for node in $(json_of node list | gojq -r '.nodes[].name'); do
		expect_objects 0 "$node"
		is "$(find "$FAIRLEAD_CLUSTER/$node/run/jobs" -type f 2>/dev/null)" '' \
			"environment files on $node"
	done
}

# The journal's events, replayed, are what its tables say. The manager is
# stopped for it, and started again.
expect_replay() {
	kill_pid -TERM "$(pid_of manager)"
	expect_exit 0 on manager -- "$fairleadd" --check-journal --config "$config"
	restart manager
}

# --- jobs ---

reserve() { # reserve KEY NODES [OPTION...]: Alice's; its grant id
	local key=$1 nodes=$2
	shift 2
	fairlead reserve "$key" --nodes "$nodes" --user $alice \
		--interconnect "$interconnect" "$@"
}

declare -A job_pids=() job_locks=()

# A job that shows its lane, tries it, and stays until it is let go.
job_start() { # job_start NAME [OPTION OF 'fairlead run'...]
	local name=$1 lock
	shift
	cat >"$work/$name.job" <<-END
		#!/bin/sh
		env | grep -E '^(SLINGSHOT|FAIRLEAD|FI|OMPI_MCA|UCX)_' | sort
		[ -z "\$SLINGSHOT_SVC_IDS" ] || cxi-lni || exit 1
		echo started
		exec flock -s $work/$name.go true
	END
	: >"$work/$name.go"
	chmod 755 "$work/$name.job"
	chmod 644 "$work/$name.go"
	exec {lock}<"$work/$name.go"
	flock -x "$lock"
	job_locks[$name]=$lock
	fairlead run "$@" -- "$work/$name.job" >"$work/$name.out" \
		2>"$work/$name.err" 3>&- &
	job_pids[$name]=$!
}

has_started() { # has_started NAME TASKS
	[ "$(grep -c started "$work/$1.out")" -eq "$2" ]
}

job_let_go() { # job_let_go NAME
	flock -u "${job_locks[$1]}"
}

job_wait() { # job_wait NAME: its end; like expect_exit, without expecting
	code=0
	wait "${job_pids[$1]}" || code=$?
	out=$(<"$work/$1.out")
	err=$(<"$work/$1.err")
}

job_end() { # job_end NAME: let it go; it ends well
	job_let_go "$1"
	job_wait "$1"
	[ "$code" -eq 0 ] || fail "job $1 ended with $code: $out -- $err"
}

# What the task LABEL ("n0.1") of a job had in a variable.
job_variable() { # job_variable NAME LABEL VARIABLE
	sed -n "s/^$2: $3=//p" "$work/$1.out"
}

# --- the end ---

left_behind() { # what is still there of the story, one thing a line
	local network
	find /proc -mindepth 3 -maxdepth 3 -path '/proc/[0-9]*/ns/net' \
		-printf '%l %p\n' 2>/dev/null >"$work/namespaces" || true
	for network in "${networks[@]}"; do
		grep -F -- "$network" "$work/namespaces" || true
	done
	grep -lsF -- "$work" /proc/[0-9]*/mountinfo || true
	grep -lszF -f <(printf '%s' "$FAIRLEAD_CLUSTER") /proc/[0-9]*/cmdline || true
	[ ! -e "$FAIRLEAD_CLUSTER" ] || echo "$FAIRLEAD_CLUSTER"
	[ -z "$cgroup" ] || [ ! -e "$cgroup" ] || echo "$cgroup"
}

clean_up() {
	local pid
	[ "$BASHPID" -eq $$ ] || return 0 # a background job that was ended
	! declare -F job_manager_down >/dev/null || job_manager_down || true
	for pid in $(jobs -p); do
		kill -9 "$pid" 2>/dev/null || true
	done
	wait 2>/dev/null || true
	if [ -e "$FAIRLEAD_CLUSTER/cluster.json" ]; then
		fairlead cluster down || printf '# the cluster does not end\n'
	fi
	rm -rf "$work"
}
trap 'trap - ERR; clean_up' EXIT

story_end() {
	it 'nothing is left: no process, namespace, mount, cgroup or file'
	cluster_down
	is "$(left_behind)" '' 'left behind'
	pass_claim
	printf '1..%d\n' "$claim_count" >&3
}
