#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs of Flux are canceled at any moment, and manager, brokers and plugin are
# ended at any moment and come back: a lane is whole or gone, and given once.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/flux-lib.sh
. "$(dirname "$0")/flux-lib.sh"

need_flux
flux_cores=0-31
cluster_up -N 4 --nics 1 -s slingshot.vni_pool=1024-1031 -s manager.revoke_timeout=2
flux_up 4 '[exec]' 'kill-timeout = "1s"'

stop() { # stop PID: it does nothing until it goes on
	kill -STOP "$1"
}
go_on() {
	kill -CONT "$1"
}
is_step() { # is_step JOB STEP: of the plugin's lane
	[ "$(fx jobtap query fairlead-jobtap.so |
		gojq -r --arg j "$(plain "$1")" '.jobs[$j].step')" = "$2" ]
}
is_state() { # is_state JOB STATE: of its grant
	[ "$(job_state "flux/$(plain "$1")")" = "$2" ]
}
manager_again() { # killed where it is, and started
	kill_manager
	restart manager
	wait_for is_up n0 n1 n2 n3
}
status_of() { # status_of JOB prolog|epilog
	flux_event "$1" "$2-finish" | gojq -c '[.[].status]'
}
expect_ran() { # expect_ran JOB TASKS: to its end, in a lane
	await_event "$1" clean
	is "$(note_of "$1")" '' 'why it was refused'
	is "$(status_of "$1" prolog)" '[0]' 'the prolog action'
	is "$(fx job attach "$1" | grep -c 'vnis=10[0-9][0-9] service=[0-9]')" "$2" 'tasks'
}

# --- cancel ---

it 'cancel: a job that has no nodes yet was not asked for'
hold 4 -N4 --exclusive
first=$job
submit -N4 "$work/show"
await_event "$job" priority
fx cancel "$job"
await_event "$job" clean
is "$(entries "$job" | gojq -rs '[.[].name] | map(select(test("prolog|epilog|cray"))) | length')" 0 \
	'events of ours'
fx cancel "$first"
expect_flux_clean 4

it 'cancel: while the manager is asked'
stop "$(pid_of manager)"
submit -N2 "$work/show"
await_event "$job" prolog-start
fx cancel "$job"
await_event "$job" prolog-finish
go_on "$(pid_of manager)"
await_event "$job" clean
expect_flux_events "$job" prolog-start exception epilog-start prolog-finish epilog-finish \
	free clean
is "$(status_of "$job" epilog)" '[0]' 'the epilog action'
expect_flux_clean 4

it 'cancel: while the nodes make the lane'
guard=$(guard_pid n1)
stop "$guard"
submit -N2 --requires=hosts:n0,n1 "$work/show"
wait_for is_state "$job" applying
fx cancel "$job"
await_event "$job" epilog-start
go_on "$guard"
await_event "$job" clean
expect_flux_events "$job" prolog-start exception epilog-start prolog-finish \
	epilog-finish free clean
expect_flux_clean 4

it 'cancel: while the lane is taken back, changes nothing'
hold 2 -N2 --requires=hosts:n0,n1
stop "$(pid_of manager)"
fx cancel "$job"
await_event "$job" epilog-start
fx job raise --type=again "$job"
go_on "$(pid_of manager)"
await_event "$job" clean
is "$(status_of "$job" epilog)" '[0]' 'the epilog action'
expect_flux_clean 4

it 'cancel: a lane is not touched while tasks that do not want to end are in it'
printf '#!/bin/sh\ntrap "" TERM\n%s/show\nsleep inf | cxi-lni --hold\n' "$work" >"$work/stubborn"
chmod 755 "$work/stubborn"
: >"$work/stubborn.out"
chown "$alice" "$work/stubborn.out"
submit --output="$work/stubborn.out" "$work/stubborn"
wait_for grep -q allocated "$work/stubborn.out"
fx cancel "$job"
await_event "$job" clean
expect_flux_events "$job" prolog-start cray-slingshot prolog-finish start exception \
	epilog-start finish epilog-finish free clean
holds "$(event "flux/$(plain "$job")" revoked)" '.[0].busy == null'
expect_flux_clean 4

it 'more jobs at once than can be asked for: each is, in turn'
stop "$(pid_of manager)"
fx submit --cc=1-100 "$work/show" >"$work/many"
while read -r job; do
	await_event "$job" prolog-start
done <"$work/many"
go_on "$(pid_of manager)"
lanes=0
while read -r job; do
	await_event "$job" clean
	case $(status_of "$job" prolog) in
	'[0]') lanes=$((lanes + 1)) ;;
	*) is "$(note_of "$job")" 'failed to reserve 1 VNI (0 available)' 'the reason' ;;
	esac
done <"$work/many"
[ $lanes -ge 8 ] || fail "$lanes of 8 lanes were given"
expect_flux_clean 4

# --- the manager ---

it 'the manager is killed while it is asked: the job gets its lane from the next one'
stop "$(pid_of manager)"
submit -N2 "$work/show"
await_event "$job" prolog-start
manager_again
expect_ran "$job" 2
expect_flux_clean 4

it 'it is killed while nodes make the lane: that one is undone, and another is made'
guard=$(guard_pid n1)
stop "$guard"
submit -N2 --requires=hosts:n0,n1 "$work/show"
wait_for is_state "$job" applying
kill_manager
go_on "$guard"
restart manager
wait_for is_up n0 n1 n2 n3
expect_ran "$job" 2
expect_flux_clean 4

it 'it is killed while the lane is taken back: the job ends when that is done'
hold 2 -N2
stop "$(pid_of manager)"
fx cancel "$job"
await_event "$job" epilog-start
manager_again
await_event "$job" clean
is "$(status_of "$job" epilog)" '[0]' 'the epilog action'
expect_flux_clean 4

it 'it is killed under jobs that run: they notice nothing'
hold 2 -N2
manager_again
fx cancel "$job"
await_event "$job" clean
is "$(status_of "$job" epilog)" '[0]' 'the epilog action'
expect_flux_clean 4

# --- the plugin ---

reload() { # the plugin is taken out, and loaded into the job manager again
	fx jobtap load --remove=fairlead-jobtap.so "$plugins/fairlead-jobtap.so"
}

it 'the plugin is loaded again: a job in its prolog goes on, with the same lane'
guard=$(guard_pid n1)
stop "$guard"
submit -N2 --requires=hosts:n0,n1 "$work/show"
wait_for is_state "$job" applying
reload
go_on "$guard"
expect_ran "$job" 2
is "$(flux_event "$job" cray-slingshot | gojq length)" 1 'events'
expect_flux_clean 4

it 'a job that runs keeps its lane, and gives it back'
hold 2 -N2
reload
wait_for is_step "$job" ready
fx cancel "$job"
await_event "$job" clean
is "$(status_of "$job" epilog)" '[0]' 'the epilog action'
expect_flux_clean 4

it 'a job in its epilog ends'
hold 2 -N2
stop "$(pid_of manager)"
fx cancel "$job"
await_event "$job" epilog-start
reload
go_on "$(pid_of manager)"
await_event "$job" clean
is "$(status_of "$job" epilog)" '[0]' 'the epilog action'
expect_flux_clean 4

it 'one whose eventlog cannot be read keeps its lane until its tasks are over'
: >"$work/stubborn.out"
submit --output="$work/stubborn.out" "$work/stubborn"
wait_for grep -q allocated "$work/stubborn.out"
log=$(flux job id --to=kvs "$job").eventlog
fx kvs get --raw "$log" >"$work/eventlog"
fx kvs put --raw "$log=damaged"
reload
wait_for is_step "$job" ready
fx kvs put --raw "$log=$(<"$work/eventlog")"$'\n'
has "$(fx dmesg)" "$(plain "$job"): cannot read its eventlog" 'dmesg'
fx cancel "$job"
await_event "$job" clean
expect_flux_events "$job" prolog-start cray-slingshot prolog-finish start exception \
	epilog-start finish epilog-finish free clean
holds "$(event "flux/$(plain "$job")" revoked)" '.[0].busy == null'
expect_flux_clean 4

it 'a job that began without the plugin goes on without, one canceled then is let go'
fx jobtap remove fairlead-jobtap.so
hold 2 -N2 --requires=hosts:n0,n1
without=$job
fx jobtap load "$plugins/fairlead-jobtap.so"
stop "$(pid_of manager)"
submit -N2 --requires=hosts:n2,n3 "$work/show"
await_event "$job" prolog-start
fx jobtap remove fairlead-jobtap.so
fx cancel "$job"
await_event "$job" exception
go_on "$(pid_of manager)"
fx jobtap load "$plugins/fairlead-jobtap.so"
await_event "$job" clean
is "$(status_of "$job" prolog)" '[1]' 'the prolog action'
fx cancel "$without"
await_event "$without" clean
is "$(flux_events "$without")" 'start exception finish free clean' 'events of the other'
expect_flux_clean 4

it 'settings that are wrong are refused, the old ones stay'
cp "$flux/conf/flux.toml" "$work/good.toml"
write_flux_conf 4 'colour = "red"'
expect_exit 1 fx config reload
expect_error "fairlead: there is no setting 'colour'"
expect_exit 1 fx jobtap load --remove=fairlead-jobtap.so "$plugins/fairlead-jobtap.so" \
	default=maybe
expect_error 'default=maybe is not must, may or none'
write_flux_conf 4
fx config reload

it 'with default none, who does not ask costs nothing, who asks has a lane'
write_flux_conf 4 'default = "none"'
write_shell_conf 'default = "none"'
fx jobtap load --remove=fairlead-jobtap.so "$plugins/fairlead-jobtap.so" 2>/dev/null ||
	fx jobtap load "$plugins/fairlead-jobtap.so"
fx config reload
expect_exit 0 fx run -N4 --env=UCX_NET_DEVICES=mlx5_0:1 \
	sh -c "$work/show; echo \$UCX_NET_DEVICES"
is "$(grep -c 'vnis= service= ' <<<"$out")" 4 'tasks'
is "$(grep -c 'mlx5_0:1' <<<"$out")" 4 'tasks'
expect_flux_events "$(fx job last)" start finish free clean
expect_exit 0 fx run -N4 -o cray-slingshot.vnicount=1 "$work/show"
is "$(grep -c 'vnis=10[0-9][0-9] ' <<<"$out")" 4 'tasks'
write_flux_conf 4
write_shell_conf
fx config reload
expect_flux_clean 4

# --- Flux ---

it 'Flux is shut down under a job: it ends, and nothing is left'
hold 2 -N2
old=$job
flux_stop
is "$(json_of list | gojq '.jobs | length')" 0 'jobs'
expect_clean
broker_up "${flux_nodes[@]}"
wait_for is_flux_up
await_event "$old" clean
expect_exit 0 fx run -N2 "$work/show"
expect_flux_clean 4

it 'it is killed under a job that runs: that is lost, and its lane is given back'
hold 2 -N2
flux_sync
flux_kill
is_state "$job" active || fail 'the lane did not outlive Flux'
broker_up "${flux_nodes[@]}"
wait_for is_flux_up
await_event "$job" clean
is "$(status_of "$job" epilog)" '[0]' 'the epilog action'
expect_flux_clean 4

it 'it is killed while a job waits for its lane: that gets it from the next one, once'
guard=$(guard_pid n1)
stop "$guard"
submit -N2 --requires=hosts:n0,n1 "$work/show"
wait_for is_state "$job" applying
flux_sync
flux_kill
broker_up "${flux_nodes[@]}"
wait_for is_flux_up
wait_for is_step "$job" apply
go_on "$guard"
expect_ran "$job" 2
is "$(flux_event "$job" cray-slingshot | gojq length)" 1 'events'
is "$(json_of explain "flux/$(plain "$job")" | gojq '.grants | length')" 1 'grants'
expect_flux_clean 4

it 'it is killed while a lane is taken back: that is done, and the job ends'
hold 2 -N2
stop "$(pid_of manager)"
fx cancel "$job"
await_event "$job" epilog-start
await_event "$job" finish
flux_sync
flux_kill
go_on "$(pid_of manager)"
broker_up "${flux_nodes[@]}"
wait_for is_flux_up
await_event "$job" clean
is "$(status_of "$job" epilog)" '[0]' 'the epilog action'
expect_flux_clean 4

it 'it is killed and has forgotten a job: reconcile mends it'
flux_sync
hold 2 -N2
old=$(plain "$job")
flux_kill
broker_up "${flux_nodes[@]}"
wait_for is_flux_up
hold 1
is "$(job_state "flux/$old")" active 'its grant'
expect_exit 0 fairlead reconcile --flux --config "$config"
expect_out "flux/$old/0 .*released"
fx cancel "$job"
expect_flux_clean 4

story_end
