#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# All nodes or none: a lane that cannot be made somewhere is undone everywhere,
# and the job gets one error that names who failed and why. What is only scarce
# is scaled back, with a warning.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 3 --nics 2 -s slingshot.vni_pool=1024-1063 \
	-s manager.apply_timeout=3 -s manager.revoke_timeout=2

# A failed apply is released: nothing of the job is left, and its log says why.
expect_undone() { # expect_undone KEY REGEX
	expect_pool held ''
	expect_objects 0 n0 n1 n2
	expect_events "$1" request cray-slingshot apply exception release revoked free
	holds "$(event "$1" release)" '. == [{reason: "apply-failed"}]'
	holds "$(event "$1" exception)" 'length == 1 and .[0].type == "cray-slingshot"
		and .[0].severity == 0 and (.[0].note | test($r))' --arg r "$2"
}

it 'an error of one NIC on one node undoes the lane on all'
nic n1 fault errno=EIO op=alloc_svc nth=1 count=1
grant=$(reserve jm/one 'n[0-2]')
expect_exit 1 fairlead apply "$grant"
expect_error '(failed on . of . nodes: |; )n1: cxi0: .*(EIO|Input/output error)'
lacks "$err" 'n[02]:' 'nodes without fault'
expect_undone jm/one 'n1: cxi0'

it 'so does one of the second NIC, after the first had its service'
undone=$(nic n2 dump | gojq .operations.destroy_svc.calls)
nic n2 fault errno=ENOSPC op=alloc_svc nth=1 count=99 nic=1
grant=$(reserve jm/two 'n[0-2]')
expect_exit 1 fairlead apply "$grant"
expect_error '(failed on . of . nodes: |; )n2: cxi1: no capacity for a service'
expect_undone jm/two 'n2: cxi1'
is "$(nic n2 dump | gojq .operations.destroy_svc.calls)" $((undone + 1)) 'services undone'
nic n2 clear

it 'a NIC whose room is taken away at the last moment is tried again'
nic n2 fault errno=ENOSPC op=alloc_svc nth=1 count=1 nic=1
grant=$(reserve jm/again 'n[0-2]')
expect_exit 0 fairlead apply "$grant"
fairlead release "$grant"

it 'nodes that fail alike are named together, others by themselves'
nic n0 fault errno=EIO op=alloc_svc nth=1 count=1
nic n1 fault errno=EIO op=alloc_svc nth=1 count=1
nic n2 fault errno=EPERM op=alloc_svc nth=1 count=1
grant=$(reserve jm/three 'n[0-2]')
expect_exit 1 fairlead apply "$grant"
expect_error '(failed on . of . nodes: |; )n\[0-1\]: cxi0: '
expect_error '(failed on . of . nodes: |; )n2: cxi0: '
expect_undone jm/three 'n\[0-1\]: .*n2: '

it 'what cannot be undone at once waits, and comes free when it is gone'
nic n0 fault errno=EIO op=alloc_svc nth=1 count=1 nic=1
nic n0 fault errno=EBUSY op=destroy_svc nth=1 count=1
grant=$(reserve jm/slow 'n[0-2]')
expect_exit 1 fairlead apply "$grant"
wait_for is_pool held ''
wait_for is_quarantined 0
expect_objects 0 n0 n1 n2
has "$(events jm/slow)" ' free$' 'events'

it 'a VNI that somebody else uses is refused, and withheld'
next=$(reserve jm/probe n0)
vni=$(($(vnis_of "$next") + 1))
fairlead release "$next"
foreign=$(on n1 -- "$tools/make-service" cxi0 "$vni" 4242)
grant=$(reserve jm/foreign 'n[0-2]')
is "$(vnis_of "$grant")" "$vni" 'VNI'
expect_exit 1 fairlead apply "$grant"
expect_error "n1: cxi0: VNI $vni is in use by service $foreign, which is not ours"
expect_objects 0 n0 n2
expect_objects 1 n1
holds "$(event jm/foreign exception)" '.[0].note | test("which is not ours")'
wait_for is_pool withheld "$vni"
expect_exit 0 fairlead node list --json
holds "$out" '.nodes[] | select(.name == "n1").withheld[0].ids | tostring | test($v)' \
	--arg v "$vni"
expect_exit 0 on n1 -- fairlead clean --json
holds "$out" '.destroyed == []'
expect_objects 1 n1
expect_exit 0 on n1 -- fairlead clean --all --json
holds "$out" '.destroyed | length == 1'
expect_objects 0 n1

it 'it comes free again when the other one is gone, and nobody restarts'
wait_for is_pool withheld ''

it 'a node that does not answer fails the apply, and waits in quarantine'
kill -STOP "$(guard_pid n2)"
grant=$(reserve jm/dead 'n[0-2]')
vni=$(vnis_of "$grant")
expect_exit 1 fairlead apply "$grant"
expect_error '(failed on . of . nodes: |; )n2: the node did not answer in time'
expect_objects 0 n0 n1
expect_pool held ''
expect_pool quarantined "$vni"
holds "$(json_of quarantine list)" '.identifiers | length == 1 and
	.[0].id == $v and (.[0].nodes | tostring | test("n2"))' --argjson v "$vni"
next=$(reserve jm/next n0)
[ "$(vnis_of "$next")" != "$vni" ]
fairlead release "$next"
kill -CONT "$(guard_pid n2)"
wait_for is_quarantined 0
expect_objects 0 n2

it 'a node that is not connected fails the apply at once'
kill_pid "$(agent_pid n2)"
wait_for eval '! is_up n2'
grant=$(reserve jm/gone 'n[0-2]')
expect_exit 75 fairlead apply "$grant"
expect_error '(failed on . of . nodes: |; )n2: not connected'
expect_objects 0 n0 n1
wait_for is_pool held ''
restart n2
wait_for is_quarantined 0
expect_clean

it 'the fourth job on a node has no TLE pool: scaled back, with a warning'
grants=()
for i in 1 2 3; do
	grants+=("$(reserve jm/tle$i n0 --cores 2)")
	expect_exit 0 fairlead apply "${grants[-1]}"
	is "$err" '' 'warnings'
done
grants+=("$(reserve jm/tle4 'n[0-1]' --cores 2)")
expect_exit 0 fairlead apply "${grants[-1]}" --json
for device in cxi0 cxi1; do
	expect_error "^fairlead: n0: $device: wanted 2 TLEs, reserved 0 \(all 4 pools are taken\)"
done
lacks "$err" 'n1' 'the warnings'
holds "$(event jm/tle4 applied)" '.[0].warnings | length > 0 and
	all(.[]; .nodes == "n0" and (.text | test("TLEs")))'
holds "$(nic n0 dump)" '[.devices[].services[] | select(.id > 2).limits.TLE.res] |
	sort == [0, 0, 8, 8, 8, 8, 8, 8]'
for grant in "${grants[@]}"; do
	fairlead release "$grant"
done

it 'so is one that wants more than is free, and it says what'
first=$(reserve jm/les1 n0 --cores 900)
expect_exit 0 fairlead apply "$first"
expect_error 'n0: cxi0: wanted 2048 PTEs, reserved 1843 \(10% of 2048 are kept for other jobs\)'
second=$(reserve jm/les2 n0 --cores 900)
expect_exit 0 fairlead apply "$second"
expect_error 'n0: cxi0: wanted 14400 LEs, reserved 960 \(960 of 16384 are free\)'
expect_error 'n0: cxi0: wanted 900 TGQs, reserved 51 \(51 of 512 are free\)'
expect_error 'n0: cxi1: wanted 1800 EQs'
fairlead release "$second"

it 'too little for a job that says so is refused, and leaves nothing'
second=$(reserve jm/les3 n0 --cores 900 -o minimum=10% -o below_minimum=refuse)
expect_exit 1 fairlead apply "$second"
expect_error 'n0: cxi0: wanted 2048 PTEs, reserved 197 .*, the minimum is 205: too little to start'
fairlead release "$first"

it 'limits of a job that are 0 leave the few pools to others'
grants=()
for i in 1 2 3 4 5; do
	grants+=("$(reserve jm/none$i n0 -o per_core_tles=0)")
	expect_exit 0 fairlead apply "${grants[-1]}"
	is "$err" '' 'warnings'
done
for grant in "${grants[@]}"; do
	fairlead release "$grant"
done

it 'a NIC that disappears takes its services along, and holds nothing up'
grant=$(reserve jm/nic n0)
fairlead apply "$grant"
nic n0 remove nic=1
expect_exit 0 fairlead release "$grant"
expect_pool quarantined ''
expect_pool held ''
nic n0 restore nic=1
expect_clean

story_end
