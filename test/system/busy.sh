#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A card that will not let go: the job ends, its VNI waits, the node is drained
# when it takes too long, and all of it is undone when the card is free again.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

drained=$work/drained
undrained=$work/undrained
for hook in drained undrained; do
	cat >"$work/$hook-hook" <<-END
		#!/bin/sh
		if [ -e $work/cut-off ]; then
			kill -9 \$PPID
			exit 0
		fi
		printf '%s|%s|%s\\n' "\$#" "\$1" "\$2" >>$work/$hook
	END
	: >"$work/$hook"
	chmod 755 "$work/$hook-hook"
	chmod 666 "$work/$hook"
done
cluster_up -N 2 --nics 2 -s slingshot.vni_pool=1024-1026 \
	-s manager.revoke_timeout=2 -s "manager.drain_command=$work/drained-hook" \
	-s "manager.undrain_command=$work/undrained-hook" \
	-s manager.metrics=127.0.0.1:9471 -s node.epilog_timeout=1 -s node.housekeeping_timeout=2

grant=$(reserve jm/busy 'n[0-1]')
fairlead apply "$grant"
service=$(service_of n1 cxi0 "$grant")
mkfifo "$work/hold"
exec {hold}<>"$work/hold"
on n1 --user $alice -- cxi-lni --device cxi0 --service "$service" --hold \
	<"$work/hold" >"$work/holder" 3>&- {hold}>&- &
holder=$!
wait_for grep -q allocated "$work/holder"
holder_pid=$(pgrep -P $holder -x cxi-lni)
busy_text="cxi0: service $service \\(VNI 1024\\) is busy, the NIC is open in pid [0-9]+ \\(cxi-lni\\)"

it 'a dry run says who is in the way, and touches nothing'
expect_exit 75 on n1 -- fairlead epilog jm/busy --dry-run
expect_out "^busy $grant: "
expect_out "cxi0: service $service \\(VNI 1024\\) (is|may be) busy, the NIC is open in pid $holder_pid \\(cxi-lni\\)"
expect_hint 'it would be retried'
expect_objects 2 n0 n1

it 'the epilog tries quickly, warns, and does not fail the job'
expect_exit 75 on n1 -- fairlead epilog jm/busy
expect_out "^busy $grant: $busy_text"
is "$(objects n1 | gojq -c '[.[].device]')" '["cxi0"]' 'what is left'
is_drained n1 && fail 'the node is drained'

it 'a release ends the job; the VNI waits in quarantine'
expect_exit 0 fairlead release "$grant"
expect_out "grant $grant is released; vni 1024 stays in quarantine until n1 has confirmed"
expect_error "^fairlead: warning: n1: $busy_text"
expect_pool held ''
expect_pool quarantined 1024
expect_objects 0 n0
holds "$(json_of quarantine list)" '.identifiers | length == 1 and (.[0] |
	.interconnect == "slingshot" and .pool == "vni" and .id == 1024 and
	.grant_id == $g and (.nodes | tostring | test("n1")) and (.why | test($t)))' \
	--argjson g "$grant" --arg t "$busy_text"
holds "$(event jm/busy revoked)" '.[0].busy | length == 1 and .[0].nodes == "n1"
	and (.[0].text | test($t))' --arg t "$busy_text"
holds "$(event jm/busy quarantine)" '.[0].pool == "vni" and .[0].ids == "1024"'

it 'explain says what it waits for'
expect_exit 0 fairlead explain jm/busy --json
holds "$out" '.grants[0] | .state == "released" and .quarantined.vni == "1024" and
	any(.waits[]; .what == "confirm" and .nodes == "n1") and
	any(.holds[]; .nodes == "n0" and .state == "revoked")'

it 'the VNI is not handed out, however often the pool goes round'
for i in 1 2 3 4 5; do
	other=$(reserve jm/other$i n0)
	has "$(vnis_of "$other")" '^102[56]$' 'VNI'
	fairlead release "$other"
done
one=$(reserve jm/one n0)
two=$(reserve jm/two n0)
expect_exit 75 reserve jm/three n0
expect_error 'failed to reserve 1 VNIs? \(0 available\)'
fairlead release "$one"
fairlead release "$two"

it 'housekeeping tries long, then the node is drained: service, NIC, VNI, process'
expect_exit 75 on n1 -- fairlead housekeeping jm/busy
expect_out "^busy $grant: $busy_text"
expect_hint 'this node is drained'
[ -s "$drained" ] || fail 'the drain was not in force yet'
is_drained n1 || fail 'the node is not drained'
reason=$(json_of node list | gojq -r '.nodes[] | select(.name == "n1").reason')
has "$reason" "$busy_text" 'the reason'
has "$reason" "pid $holder_pid " 'the process'
expect_exit 1 reserve jm/on-drained n1
expect_error 'drained nodes: n1'

it 'the site'"'"'s command is called with node and reason'
wait_for test -s "$drained"
is "$(<"$drained")" "2|n1|$reason" 'calls'
is "$(<"$undrained")" '' 'calls of the other one'

it 'a drained node keeps its jobs, and others get new ones'
other=$(reserve jm/elsewhere n0)
expect_exit 0 fairlead apply "$other"
fairlead release "$other"

it 'when the card is free, the rest is done: VNI free, node undrained'
exec {hold}>&-
wait $holder
wait_for is_quarantined 0
wait_for eval '! is_drained n1'
wait_for test -s "$undrained"
has "$(<"$undrained")" '^[12]\|n1\|' 'calls'
is "$(wc -l <"$drained") $(wc -l <"$undrained")" '1 1' 'how often'
expect_objects 0 n0 n1
holds "$(event jm/busy confirm)" '.[0] | .nodes == "n1" and .how == "revoked"'
has "$(events jm/busy)" ' free$' 'events'
reserve jm/again n1 >/dev/null
fairlead release jm/again

it 'an operator'"'"'s drain is an operator'"'"'s to end'
expect_exit 2 fairlead node drain n0
expect_exit 0 fairlead node drain n0 --reason 'new memory'
holds "$(json_of node list)" '.nodes[] | select(.name == "n0") |
	.drained and .reason == "new memory"'
expect_exit 1 reserve jm/drained 'n[0-1]'
expect_error 'drained nodes: n0'
restart manager
is_drained n0 || fail 'the drain was forgotten'
expect_exit 0 fairlead node undrain n0
is_drained n0 && fail 'the node is still drained'

cut_off() { # cut_off COMMAND...: the manager dies while it tells the site
	local pid
	pid=$(pid_of manager)
	: >"$work/cut-off"
	run "$@"
	wait_for is_gone "$pid"
	rm "$work/cut-off"
	restart manager
}

it 'a notification that a crash prevented is sent after it'
drained_count=$(wc -l <"$drained")
cut_off fairlead node drain n0 --reason 'new disk'
is_drained n0 || fail 'the drain was forgotten'
wait_for grep -q '^2|n0|new disk$' "$drained"
is "$(wc -l <"$drained")" $((drained_count + 1)) 'calls'
undrained_count=$(wc -l <"$undrained")
cut_off fairlead node undrain n0
is_drained n0 && fail 'the node is still drained'
wait_for grep -q '^2|n0|new disk$' "$undrained"
is "$(wc -l <"$undrained")" $((undrained_count + 1)) 'calls'
wait_for eval '[ "$(json_of node list | gojq "[.nodes[] | select(.drain_pending)] | length")" -eq 0 ]'

it 'a busy card of a driver that only finishes its work comes free by itself'
grant=$(reserve jm/late 'n[0-1]')
fairlead apply "$grant"
nic n0 busy svc="$(service_of n0 cxi1 "$grant")" nic=1 ms=4000
expect_exit 0 fairlead release "$grant"
is_quarantined 1 || fail 'nothing is in quarantine'
wait_for is_quarantined 0
expect_clean

it 'the user of fairlead run learns what his job leaves behind, and why'
job_start busy -N 2
wait_for has_started busy 2
grant=$(json_of list | gojq '.jobs[].grant_id')
nic n1 busy svc="$(service_of n1 cxi0 "$grant")" nic=0 ms=forever
job_end busy
has "$(<"$work/busy.err")" '^fairlead: warning: n1: cxi0: service [0-9]+ \(VNI [0-9]+\) is busy' \
	'what the user reads'
nic n1 clear
wait_for is_quarantined 0
expect_clean

it 'hooks can be asked what they would do'
grant=$(reserve jm/dry 'n[0-1]')
fairlead apply "$grant"
expect_exit 0 on n0 -- fairlead prolog jm/dry --dry-run --json
holds "$out" '.grants[0].grant_id == $g and
	.warnings == ["jm/dry/0: its lane is here, and nothing would be done"]' \
	--argjson g "$grant"
expect_exit 0 on n0 -- fairlead epilog jm/dry --dry-run
expect_out "^would revoke $grant"
expect_exit 0 on n0 -- fairlead housekeeping jm/dry --dry-run
expect_exit 0 on n0 -- fairlead clean --all --dry-run
expect_objects 2 n0 n1
fairlead release "$grant"

it 'a lane that is cleaned away under a job leaves a trace'
grant=$(reserve jm/traces 'n[0-1]')
fairlead apply "$grant"
expect_exit 0 fairlead apply "$grant"
expect_exit 75 on n1 -- fairlead clean --all
expect_error "1 lane is in use on this node, such as that of job 'jm/traces/0' [(]grant ${grant}[)]"
expect_objects 2 n0 n1
expect_exit 0 on n1 -- fairlead clean --all --force
wait_for eval '[ "$(event "$grant" confirm)" != "[]" ]'
holds "$(event "$grant" confirm)" '. == [{nodes: "n1", how: "lost"}]'
holds "$(event "$grant" exception)" 'length == 1 and .[0].severity > 0 and
	(.[0].note | test("^node n1 has lost the lane: .fairlead clean --all. has taken it$"))'
expect_exit 0 fairlead list
expect_out "^ *$grant +jm/traces/0 +active .* n1 +vni"
expect_exit 0 fairlead explain "$grant"
expect_out '^Its lane is lost on n1\.$'
expect_out '^n1 +lost$'
holds "$(json_of node list)" '[.nodes[] | select(.name == "n1").lost] ==
	[[{grant_id: $g, key: "jm/traces/0"}]]' --argjson g "$grant"
run fairlead doctor
expect_out "WARN +lost lane +n1 does not have the lane of grant $grant jm/traces/0"
has "$(on manager -- curl -sS http://127.0.0.1:9471/metrics)" \
	'^fairlead_lanes_lost_total 1$' 'metrics'
expect_exit 1 fairlead apply "$grant"
expect_error 'the lane was applied, and is gone from n1'
grep -q 'request of an operator uid=0 request=.*"op":"clean".*"all":true' \
	"$FAIRLEAD_CLUSTER"/n1/log/*.log || fail 'nobody knows who cleaned'
fairlead release "$grant"
expect_clean

stick() { # stick KEY: of a job on n1 that is over, a VNI that waits; into $vni
	grant=$(reserve "$1" n1)
	fairlead apply "$grant"
	vni=$(vnis_of "$grant")
	nic n1 busy svc="$(service_of n1 cxi0 "$grant")" nic=0 ms=forever
	fairlead release "$grant" >/dev/null
	is_quarantined 1 || fail 'nothing is in quarantine'
}
unstick() { # an operator freed it; the node reports later
	is_quarantined 0 || fail 'it still waits'
	holds "$(event "$grant" confirm)" 'length == 1 and .[0].how == "waived"'
	nic n1 clear
	wait_for eval '[ "$(object_count n1)" -eq 0 ]'
	expect_clean
}

it 'an operator can free an identifier by word, but not what a node that is up may hold'
stick jm/word
expect_exit 75 fairlead quarantine release -i slingshot vni "$vni"
expect_error 'nodes that are up may still hold it: n1'
expect_hint 'when they have confirmed'
expect_pool quarantined "$vni"
kill_pid "$(agent_pid n1)"
wait_for eval '! is_up n1'
expect_exit 0 fairlead quarantine release -i slingshot vni "$vni"
expect_out "freed of slingshot: vni $vni"
restart n1
unstick

it 'what is forced stays withheld until the node says that it is gone'
stick jm/forced
expect_exit 0 fairlead quarantine release -i slingshot vni "$vni" --force
expect_out "withheld of slingshot: vni $vni, until"
expect_pool withheld "$vni"
for i in 1 2 3; do
	other=$(reserve "jm/beside$i" n0)
	[ "$(vnis_of "$other")" != "$vni" ] || fail 'two jobs have one VNI'
	fairlead release "$other"
done
holds "$(event "$grant" confirm)" '.[0].how == "waived" and .[0].uid == $u' \
	--argjson u "$(id -u)"
nic n1 clear
wait_for eval '[ "$(object_count n1)" -eq 0 ]'
wait_for eval '! is_drained n1'
expect_pool withheld ''
expect_clean

expect_exit 1 fairlead quarantine release -i slingshot vni 1024

it 'or fence a node that is gone, but not one that is up'
stick jm/fence
expect_exit 75 fairlead node fence n1
expect_error "node 'n1' is up and can confirm by itself"
expect_hint 'take the node down first'
kill_pid "$(agent_pid n1)"
wait_for eval '! is_up n1'
expect_exit 0 fairlead node fence n1
expect_out "freed of slingshot: vni $vni"
restart n1
unstick

it 'doctor names a node whose default service is open to everybody'
kill_pid "$(pid_of n1 daemon)"
kill_pid "$(pid_of n1 softnic)"
owner=()
$is_root || owner=(--owner-is-root)
on n1 -- "$softnic" --dir /run/fairlead/softnic --nics 2 --default-service on \
	"${owner[@]}" >"$work/softnic.log" 3>&- &
wait_for nic n1 dump
restart n1
expect_exit 0 on n1 -- fairlead doctor
expect_out 'WARN +default service +n1: .* is enabled on 2 devices'
expect_exit 0 fairlead doctor --json
holds "$out" 'any(.findings[]; .level == "WARN" and .check == "default service" and
	(.text | test("^n1: .* is enabled")))'

story_end
