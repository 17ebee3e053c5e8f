#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A job manager takes a job through its life, step by step; its answers,
# the event log, and what is on the NICs of the nodes.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 4 --nics 2 -s slingshot.vni_pool=1024-1029

it 'the pool is what was configured'
expect_pool universe 1024-1029
expect_pool free 1024-1029
expect_pool held ''

it 'a reservation is a grant with a VNI'
expect_exit 0 reserve jm/main 'n[0-2]' --cores '4,70(x2)' --json
main=$(gojq .grant_id <<<"$out")
holds "$out" '.grant | startswith("fairlead-grant:1:")'
holds "$out" '.public | .grant_id == $g and .key == "jm/main/0" and
	.interconnect == "slingshot" and .nodes == "n[0-2]" and .uid == $u and
	.context == {reservation: {vnis: [1024]}, vnis: [1024]}' \
	--argjson g "$main" --argjson u "$alice"
expect_pool held 1024
expect_pool free 1025-1029
is "$(job_state "$main")" reserved 'state'
expect_objects 0 n0 n1 n2 n3

it 'the same request again is the same grant, and nothing is done twice'
is "$(reserve jm/main 'n[0-2]' --cores '4,70,70')" "$main" 'grant'
expect_pool held 1024
expect_events jm/main request cray-slingshot

it 'another request under the key is refused'
expect_exit 1 reserve jm/main 'n[0-2]' --cores 5
expect_error "jm/main/0.*another request"
expect_pool held 1024

it 'apply makes one service on each NIC of each node of the job'
expect_exit 0 fairlead apply "$main"
is "$err" '' 'warnings'
is "$(job_state "$main")" active 'state'
expect_objects 2 n0 n1 n2
expect_objects 0 n3

it 'an apply again does nothing more'
expect_exit 0 fairlead apply "$main"
expect_objects 2 n0 n1 n2
expect_events jm/main request cray-slingshot apply applied

# The document's table: reserved k x cores, maximum fixed; clamped to what a
# Cassini has (1024 TXQs, 512 TGQs), TLEs both the same and at least 8.
service='[.devices[].services[] | select(.id > 2)]'
limits() { # limits CORES TLES
	gojq -nc --argjson c "$1" --argjson t "$2" '{
		PTE: {max: 2048, res: (6 * $c)}, TXQ: {max: 1024, res: (2 * $c)},
		TGQ: {max: 512, res: $c}, EQ: {max: 2047, res: (2 * $c)},
		CT: {max: 2047, res: $c}, LE: {max: 16384, res: (16 * $c)},
		TLE: {max: $t, res: $t}, AC: {max: 1022, res: (2 * $c)}}'
}

it 'a service is for the owner and the VNI, in the classes and limits of the document'
for node in n0 n1; do
	cores=4 tles=8
	[ $node = n0 ] || cores=70 tles=70
	holds "$(nic $node dump | gojq "$service")" 'length == 2 and all(.[];
		.enabled and .restricted_members and .restricted_vnis and
		.restricted_tcs and .resource_limits and (.system | not) and
		.members == [{type: "uid", id: $u}] and .vnis == [1024] and
		(.tcs | sort) == ["BEST_EFFORT", "LOW_LATENCY"] and
		(.limits | map_values(del(.in_use))) == $l)' \
		--argjson u "$alice" --argjson l "$(limits $cores $tles)"
done
holds "$(objects n0)" 'all(.[]; .uid == $u and .ids == [1024] and
	.grant_id == $g and (.detail | test("tcs=0x0a"))) and
	[.[].device] == ["cxi0", "cxi1"]' \
	--argjson u "$alice" --argjson g "$main"

it 'the node knows its grant, and its prolog confirms it'
expect_exit 0 on n1 -- fairlead prolog jm/main --json
holds "$out" '.grants | length == 1 and .[0].grant_id == $g and
	.[0].state == "applied" and .[0].ids == [1024]' --argjson g "$main"
expect_exit 75 on n3 -- fairlead prolog jm/main --timeout 0.1
expect_error 'no lane of the job was applied here within 100 ms'
expect_hint 'fairlead explain JOB'

it 'release takes it all back, and the VNI is free'
expect_exit 0 fairlead release "$main"
is "$out$err" '' 'output'
expect_clean
expect_pool free 1024-1029
expect_exit 0 fairlead release "$main"

it 'the event log is the document'"'"'s: an object a line, readable by gojq'
expect_events jm/main request cray-slingshot apply applied release revoked free
log=$(fairlead eventlog jm/main)
is "$(grep -cE '^\{"timestamp":[0-9]{10}\.[0-9]{6},"name":"[a-z-]+","context":\{.*\}\}$' <<<"$log")" \
	7 'lines of the form'
holds "$(gojq -s . <<<"$log")" '[.[].timestamp] | . == sort'
holds "$(event jm/main cray-slingshot)" \
	'. == [{reservation: {vnis: [1024]}, vnis: [1024]}]'
holds "$(event jm/main request)" '.[0] | .key == "jm/main/0" and .uid == $u and
	.grant_id == $g and .nodes == "n[0-2]" and .interconnect == "slingshot"' \
	--argjson u "$alice" --argjson g "$main"
holds "$(event jm/main apply)" '. == [{nodes: 3}]'
holds "$(event jm/main release)" '. == [{reason: "operator"}]' # root's word
holds "$(event jm/main revoked)" '. == [{nodes: 3}]'
holds "$(event jm/main free)" '. == [{pool: "vni", ids: "1024"}]'

it 'a released key never gives a new grant'
expect_exit 1 reserve jm/main 'n[0-2]' --cores '4,70(x2)'
expect_error 'jm/main/0.*released'
expect_exit 0 reserve jm/main/1 n0
fairlead release "$out"

it 'VNIs go round robin'
for i in 1 2 3; do
	grant=$(reserve jm/robin$i n0)
	is "$(vnis_of "$grant")" $((1025 + i)) "VNI of job $i"
	fairlead release "$grant"
done
first=$(reserve jm/first n0)
second=$(reserve jm/second n1)
is "$(vnis_of "$first") $(vnis_of "$second")" '1029 1024' 'around the end'
fairlead release "$first"
fairlead release "$second"

it 'a job has 0 to 4 VNIs'
for count in 0 1 2 3 4; do
	grant=$(reserve jm/count$count n0 -o vnis=$count)
	fairlead apply "$grant"
	is "$(vnis_of "$grant" | tr ',' '\n' |
		awk -F- 'NF { n += ($2 ? $2 : $1) - $1 + 1 } END { print n + 0 }')" \
		$count "VNIs with vnis=$count"
	[ $count -eq 0 ] || holds "$(nic n0 dump | gojq "$service")" \
		'length == 2 and all(.[]; .vnis | length == $c)' --argjson c $count
	[ $count -gt 0 ] || expect_objects 0 n0
	fairlead release "$grant"
done
holds "$(event jm/count0 cray-slingshot)" '.[0]["empty-reason"] == "none requested"'
expect_clean

it 'a job can have its lane turned off'
grant=$(reserve jm/off n0 -o off)
expect_exit 0 fairlead apply "$grant"
expect_pool held ''
expect_objects 0 n0
holds "$(event jm/off cray-slingshot)" '. == [{reservation: {vnis: []}, vnis: [],
	"empty-reason": "disabled by user request"}]'
fairlead release "$grant"

it 'no interconnect at all is one too'
grant=$(reserve jm/none n0 -i none)
expect_exit 0 fairlead apply "$grant"
expect_objects 0 n0
fairlead release "$grant"
expect_events jm/none request none applied release

it 'the journal replays to what the manager has'
expect_clean
expect_replay

story_end
