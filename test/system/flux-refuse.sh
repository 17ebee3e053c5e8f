#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A job of Flux that cannot have its lane runs no task, and only a node that is to
# blame is taken out; a job whose lane does not go is over all the same.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/flux-lib.sh
. "$(dirname "$0")/flux-lib.sh"

need_flux
printf 'eip [0-3] n[0-3]\n' >"$work/elanhosts"
chmod 644 "$work/elanhosts"
cluster_up -N 4 --nics 1 -s slingshot.vni_pool=1024-1025 -s manager.revoke_timeout=2 \
	-s node.epilog_timeout=1 -s "elan3.elanhosts=$work/elanhosts"
flux_up 4
: >"$work/ran"
chown "$alice" "$work/ran"
printf '#!/bin/sh\necho "$(hostname) ran $SLINGSHOT_VNIS" >>%s\n' "$work/ran" >"$work/task"
chmod 755 "$work/task"

ran() { # how many tasks have
	wc -l <"$work/ran"
}
denied() { # denied [OPTION...]: such a job is refused, in $job; nothing has run
	local before
	before=$(ran)
	expect_exit 1 fx run "$@" "$work/task"
	is "$(ran)" "$before" 'tasks that ran'
	job=$(fx job last)
	await_event "$job" clean
	has "$(flux_events "$job")" '^prolog-start .*exception .*prolog-finish .*free clean$' 'events'
	lacks "$(flux_events "$job")" ' start ' 'events'
}
patience() { # patience [SECONDS]: how long the plugin waits; its own, when not said
	write_flux_conf 4 ${1:+"prolog-timeout = '$1s'" "epilog-timeout = '$1s'"}
	fx config reload
}
reconcile() {
	expect_exit 0 fairlead reconcile --flux --config "$config"
}

it 'a pool that is empty: no task runs, no node is to blame'
held=$(reserve jm/all n0 -o vnis=2)
denied -N2
expect_error 'type=cray-slingshot severity=0 failed to reserve 1 VNI \(0 available\)'
expect_flux_events "$job" prolog-start exception prolog-finish free clean
holds "$(flux_event "$job" prolog-finish)" '.[0].status == 1'
is "$(drained)" '' 'drained nodes'
wait_for is_idle 4

it 'where that is not fatal the job runs without, and says why'
sed -i '/^driver "slingshot"/a reserve_fatal = false' "$config"
expect_exit 0 fairlead manager reconfigure
write_shell_conf 'default = "may"'
expect_exit 0 fx run -N2 "$work/show"
is "$(grep -c 'vnis= service= ' <<<"$out")" 2 'tasks'
job=$(fx job last)
holds "$(flux_event "$job" cray-slingshot)" '.[0] | .vnis == [] and
	(."empty-reason" | test("failed to reserve")) and (.fairlead.has_lane | not)'
expect_flux_events "$job" prolog-start cray-slingshot prolog-finish start finish \
	epilog-start epilog-finish free clean
sed -i '/reserve_fatal/d' "$config"
expect_exit 0 fairlead manager reconfigure
write_shell_conf
expect_exit 0 fairlead release "$held"
expect_flux_clean 4

it 'what only the interconnect knows to be wrong is refused with its words'
denied -o fairlead=vnis=5
expect_error "option 'vnis=5' needs a number from 0 to 4"
denied -o fairlead=colour=red
expect_error "has no option 'colour'"
denied -o fairlead=interconnect=quadrics
expect_error 'quadrics'
expect_flux_clean 4

it 'a lane that its shell cannot start tasks in is refused, and none runs without'
refused() { # refused OPTIONS TEXT: at submission
	expect_exit 1 fx submit -o "fairlead=$1" "$work/task"
	expect_error "$2"
}
refused interconnect=ethernet,isolation=netns \
	"cannot start tasks in such a lane of 'ethernet'"
refused interconnect=elan3 "cannot start tasks in such a lane of 'elan3'"
refused rails=0,interconnect=elan3 "interconnect=' names another one"
interconnect_is() { # interconnect_is NAME: of jobs that do not say
	sed -i "s/^\( *interconnect *= *\)\".*\"/\1\"$1\"/" "$config"
	expect_exit 0 fairlead manager reconfigure
}
interconnect_is elan3
denied -N2
expect_error "type=cray-slingshot severity=0 Flux cannot start tasks in such a lane of 'elan3'"
expect_flux_events "$job" prolog-start exception epilog-start prolog-finish \
	epilog-finish free clean
expect_events "flux/$(plain "$job")" request elan3 release free free
expect_exit 0 fx run -o fairlead=interconnect=slingshot "$work/show"
expect_out 'vnis=10'
interconnect_is ethernet
sed -i 's/isolation = "host,netns"/isolation = "netns,host"/' "$config"
expect_exit 0 fairlead manager reconfigure
denied -N2
expect_error "severity=0 Flux cannot start tasks in such a lane of 'ethernet'"
sed -i 's/isolation = "netns,host"/isolation = "host,netns"/' "$config"
interconnect_is slingshot
is "$(drained)" '' 'drained nodes'
expect_flux_clean 4

it 'one node of four cannot: it is drained with the reason, and jobs run elsewhere'
nic n1 fault errno=EIO op=alloc_svc nth=1 count=1
denied -N4
expect_error 'n1: cxi0: '
wait_for has_drained "^n1 fairlead: cxi0: .* \\(job $(plain "$job")\\)\$"
is "$(drained | wc -l)" 1 'drained nodes'
expect_flux_events "$job" prolog-start exception epilog-start \
	prolog-finish epilog-finish free clean
expect_flux_clean 3
expect_exit 0 fx run -N3 "$work/task"
is "$(cut -d' ' -f1 "$work/ran" | sort | tr '\n' ' ')" 'n0 n2 n3 ' 'nodes'
fx resource undrain n1
expect_flux_clean 4

it 'a node that is full is not to blame: it stays, and takes the next job'
nic n1 fault errno=ENOSPC op=alloc_svc nth=1 count=5
denied -N4
expect_error 'n1: cxi0: '
is "$(drained)" '' 'drained nodes'
expect_flux_clean 4
nic n1 clear
before=$(ran)
expect_exit 0 fx run -N4 "$work/task"
is "$(ran)" $((before + 4)) 'tasks that ran'
expect_flux_clean 4

it 'one that an operator drains meanwhile keeps the reason'
guard=$(guard_pid n1)
kill -STOP "$guard"
nic n1 fault errno=EIO op=alloc_svc nth=1 count=1
submit -N4 "$work/task"
is_applying() { [ "$(job_state "flux/$(plain "$job")")" = applying ]; }
wait_for is_applying
expect_exit 0 fx resource drain n1 'new memory'
kill -CONT "$guard"
await_event "$job" clean
has "$(note_of "$job")" 'n1: cxi0: ' 'why it was refused'
is "$(drained)" 'n1 new memory' 'drained nodes'
fx resource undrain n1
expect_flux_clean 4

it 'a node that is drained in Fairlead is drained by the first job that needs it'
expect_exit 0 fairlead node drain n2 --reason 'its card is changed'
denied -N4
wait_for has_drained '^n2 fairlead: .*n2.* \(job f'
is "$(drained | wc -l)" 1 'drained nodes'
expect_exit 0 fairlead node undrain n2
fx resource undrain n2
expect_flux_clean 4

it 'so is one whose daemon is gone'
# Before that the job is tried again, for the node may be coming back.
is_old() { [ "$(json_of status | gojq .uptime_s)" -ge 30 ]; }
WAIT_S=60 wait_for is_old
sed -i '/^manager {/a apply_timeout = 2' "$config"
expect_exit 0 fairlead manager reconfigure
kill_pid "$(pid_of n3 daemon)"
denied -N4
wait_for has_drained '^n3 fairlead: '
is "$(drained | wc -l)" 1 'drained nodes'
restart n3
fx resource undrain n3
wait_for is_up n3
expect_flux_clean 4

it 'where no node is connected it is the manager that is cut off, and none is drained'
for node in "${flux_nodes[@]}"; do
	kill_pid "$(pid_of "$node" daemon)"
done
is_none_up() { json_of node list | gojq -e 'all(.nodes[]; .state == "down")' >/dev/null; }
wait_for is_none_up
denied -N4
expect_error 'failed on 4 of 4 nodes'
is "$(drained)" '' 'drained nodes'
for node in "${flux_nodes[@]}"; do
	restart "$node"
done
wait_for is_up "${flux_nodes[@]}"
sed -i '/apply_timeout/d' "$config"
expect_exit 0 fairlead manager reconfigure
expect_exit 0 fx run -N4 "$work/show"
is "$(grep -c 'vnis=10' <<<"$out")" 4 'tasks'
expect_flux_clean 4

it 'drain and undrain of a site, for fairlead.conf, leave others'\'' reasons alone'
tool() { # tool drain|undrain NODE REASON
	local name=$1
	shift
	on n0 --user "$alice" -- "$root/pack/flux/$name" "$@"
}
expect_exit 0 tool drain n1 'a card is busy'
is "$(drained)" 'n1 fairlead: a card is busy' 'drained nodes'
expect_exit 0 tool drain n1 'a card is still busy'
expect_exit 0 tool undrain n1 'a card is busy'
is "$(drained)" 'n1 fairlead: a card is still busy' 'drained nodes'
expect_exit 0 tool undrain n1 'a card is still busy'
is "$(drained)" '' 'drained nodes'
expect_exit 0 tool undrain n1 'a card is still busy'
for reason in 'an operator says so' ''; do
	expect_exit 0 fx resource drain n1 ${reason:+"$reason"}
	expect_exit 0 tool drain n1 'a card is busy'
	expect_exit 0 tool undrain n1 'a card is busy'
	is "$(drained)" "n1 $reason" 'drained nodes'
	expect_exit 0 fx resource undrain n1
done

it 'a card that does not let go: a warning, the nodes are free, the VNI waits'
hold 1 --requires=hosts:n1
vni=$(flux_event "$job" cray-slingshot | gojq '.[0].vnis[0]')
grant=$(flux_event "$job" cray-slingshot | gojq '.[0].fairlead.grant_id')
mkfifo "$work/hold.pipe"
exec {pipe}<>"$work/hold.pipe"
on n1 --user "$alice" -- cxi-lni --device cxi0 --service "$(service_of n1 cxi0 "$grant")" \
	--hold <"$work/hold.pipe" >"$work/holder" 3>&- {pipe}>&- &
holder=$!
wait_for grep -q allocated "$work/holder"
fx cancel "$job"
await_event "$job" clean
holds "$(flux_event "$job" epilog-finish)" '.[0].status == 0'
holds "$(flux_event "$job" exception)" 'any(.[]; .type == "cray-slingshot" and .severity == 4
	and (.note | test("^the lane is not gone from all nodes, which try again: n1: cxi0: ")))'
wait_for is_idle 4
expect_pool quarantined "$vni"
expect_exit 0 fx run --requires=hosts:n1 "$work/show"
lacks "$out" "vnis=$vni " 'a task'
exec {pipe}>&-
wait $holder
expect_flux_clean 4

it 'a node that has lost the lane lets no task of the job start'
cat >"$flux/shell.lua.gate" <<END
os.execute ("echo here >>$work/here; flock -s $work/gate true")
END
cat "$flux/shell.lua.gate" "$flux/shell.lua" >"$flux/shell.lua.new"
mv "$flux/shell.lua" "$flux/shell.lua.old"
mv "$flux/shell.lua.new" "$flux/shell.lua"
: >"$work/gate"
: >"$work/here"
chown "$alice" "$work/gate" "$work/here"
exec {gate}<"$work/gate"
flock -x "$gate"
submit -N2 --requires=hosts:n0,n1 "$work/task"
before=$(ran)
arrived() { [ "$(wc -l <"$work/here")" -eq 2 ]; }
wait_for arrived
rm "$(env_file n1 "flux/$(plain "$job")/0")"
flock -u "$gate"
await_event "$job" clean
is "$(ran)" "$before" 'tasks that ran'
has "$(flux_event "$job" exception | gojq -r '.[0].note')" \
	"no task starts on this node without the job's lane: .*fairlead explain flux/$(plain "$job")" \
	'exception'
mv "$flux/shell.lua.old" "$flux/shell.lua"
expect_flux_clean 4

it 'a manager that is down: a job is denied in time, who wants no lane runs'
patience 3
kill_manager
denied -N2
expect_error 'no daemon listens at .* \(gave up after 3 s\)'
expect_flux_events "$job" prolog-start exception prolog-finish free clean
holds "$(fx jobtap query fairlead-jobtap.so)" '(.manager.is_up | not) and
	(.manager.trouble | test("no daemon listens"))'
expect_exit 0 fx run -N2 -o cray-slingshot=off "$work/show"
is "$(drained)" '' 'drained nodes'
patience
restart manager
wait_for is_up n0 n1 n2 n3
expect_exit 0 fx run -N2 "$work/show"
is "$(grep -c 'vnis=10' <<<"$out")" 2 'tasks'
expect_flux_clean 4

it 'a manager that hangs is as good as none; what it does later is mended'
patience 3
kill -STOP "$(pid_of manager)"
denied -N2
expect_error 'gave up after 3 s'
holds "$(flux_event "$job" epilog-finish)" '.[0].status == 1'
wait_for is_idle 4
patience
kill -CONT "$(pid_of manager)"
hold 1
reconcile
fx cancel "$job"
expect_flux_clean 4

it 'a manager that is down at the end of a job: the job ends, reconcile mends it'
hold 2 -N2
old=$job
patience 3
kill_manager
fx cancel "$old"
await_event "$old" clean
holds "$(flux_event "$old" epilog-finish)" '.[0].status == 1'
wait_for is_idle 4
has "$(fx dmesg)" "$(plain "$old"): the lane was not given back: .*reconcile --flux" 'dmesg'
patience
restart manager
wait_for is_up n0 n1 n2 n3
is "$(job_state "flux/$(plain "$old")")" active 'the grant'
hold 1
reconcile
expect_out "flux/$(plain "$old")/0 .*released"
is "$(job_state "flux/$(plain "$job")")" active 'the grant of another'
fx cancel "$job"
expect_flux_clean 4

story_end
