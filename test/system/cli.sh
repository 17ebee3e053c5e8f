#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What people and scripts read: tables, JSON, advice, metrics.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 3 --nics 2 -s slingshot.vni_pool=1024-1039 \
	-s manager.metrics=127.0.0.1:9471 -s manager.revoke_timeout=2

active=$(reserve jm/active 'n[0-1]')
fairlead apply "$active"
reserve jm/reserved n2 >/dev/null
stuck=$(reserve jm/stuck n1)
fairlead apply "$stuck"
nic n1 busy svc="$(service_of n1 cxi0 "$stuck")" nic=0 ms=forever
fairlead release "$stuck" >/dev/null
fairlead node drain n2 --reason 'new memory'

it 'every command of the manager has valid JSON'
while read -r command; do
	# shellcheck disable=SC2086  # a list of words is meant
	expect_exit 0 fairlead $command --json
	holds "$out" 'type == "object"'
done <<END
status
list
pools
quarantine list
node list
node query n[0-2] grants
node query n[0-2] devices
node query n[0-2] objects
node clean n[0,2]
explain $active
explain jm/stuck
manager reconfigure
node drain n2 --reason again
node undrain n2
key show $FAIRLEAD_CLUSTER/manager.key
cluster show
reserve jm/json --nodes n0
apply $((stuck + 1))
release $((stuck + 1))
END
fairlead node drain n2 --reason 'new memory'

it 'node clean tries again to take what is left, and leaves lanes in use'
before=$(objects n0)
expect_exit 75 fairlead node clean 'n[0-1]'
expect_out "left slingshot cxi0 [0-9]+ of grant $stuck"
is "$(objects n0)" "$before" 'what n0 has'

it 'every command of a node has valid JSON'
while read -r command; do
	# shellcheck disable=SC2086
	expect_exit 0 on n0 -- fairlead $command --json
	holds "$out" 'type == "object"'
done <<-END
	node status
	node devices
	node objects
	prolog jm/active
	epilog jm/none
	housekeeping jm/none
	clean --dry-run
	env jm/active --user $alice
END

it 'tables have a header, and none with --no-header'
for command in 'list' 'pools' 'quarantine list' 'node list'; do
	# shellcheck disable=SC2086
	expect_exit 0 fairlead $command
	with=$(wc -l <<<"$out")
	has "$(head -n 1 <<<"$out")" '^ *[A-Z]+( +[A-Z]+)+ *$' "header of $command"
	# shellcheck disable=SC2086
	expect_exit 0 fairlead $command --no-header
	is "$(wc -l <<<"$out")" $((with - 1)) "lines of $command"
done
expect_exit 0 fairlead list --no-header
expect_out "^ *$active +jm/active/0 +active +slingshot +.* n\[0-1\] +.*1024"
expect_exit 0 fairlead node list --no-header
expect_out '^n0 +up '
expect_out '^n2 .*new memory'
expect_exit 0 fairlead quarantine list --no-header
expect_out "slingshot +vni +1026 +$stuck .*n1 "
expect_exit 0 fairlead status
expect_out '^nodes: .*3 up'
expect_out '^jobs: .*1 active'

it 'lists can be narrowed'
is "$(json_of list --state active | gojq -r '.jobs[].key')" jm/active/0 'active'
is "$(json_of list --interconnect none | gojq '.jobs | length')" 0 'without interconnect'
is "$(json_of list --user 65000 | gojq '.jobs | length')" 0 'of nobody'

it 'explain and the event log are for people too'
expect_exit 0 fairlead explain jm/stuck
expect_out "Grant $stuck, for jm/stuck/0, is released"
expect_out 'It waits for confirm from n1'
expect_out 'In quarantine until the nodes have confirmed: vni 1026'
expect_exit 0 fairlead eventlog jm/active --human
expect_out ' applied'

it 'doctor finds nothing wrong, and then what is'
fairlead node undrain n2
expect_exit 0 fairlead doctor
expect_out "OK +configuration +$config is good"
expect_exit 0 env -u FAIRLEAD_CLUSTER fairlead cluster exec \
	--dir "$FAIRLEAD_CLUSTER" n0 -- fairlead doctor
expect_out "OK +configuration +$config is good"
foreign=$(on n0 -- "$tools/make-service" cxi1 1030 4242)
run on n0 -- fairlead doctor
expect_out "foreign identifier +n0: cxi1 .*$foreign, which is not Fairlead's"
chmod 644 "$FAIRLEAD_CLUSTER/manager.key"
expect_exit 1 fairlead doctor
expect_out 'FAIL.*manager.key'
expect_out 'chmod'
chmod 600 "$FAIRLEAD_CLUSTER/manager.key"
kill_pid "$(agent_pid n2)"
wait_for eval '! is_up n2'
run fairlead doctor
expect_out "WARN +nodes +1 are down +'fairlead node list' names them"
restart n2
on n0 -- fairlead clean --all --force >/dev/null
run on n0 -- env SLINGSHOT_VNIS=7 SLINGSHOT_DEVICES=cxi0 SLINGSHOT_SVC_IDS=9 \
	SLINGSHOT_TCS=0x0a fairlead doctor
expect_out 'inherited service 9 is not there'

it 'metrics over HTTP are Prometheus text, with pools, quarantine and times'
metrics=$(on manager -- curl -sS -D "$work/head" http://127.0.0.1:9471/metrics)
has "$(<"$work/head")" '200 OK' 'status'
has "$(tr -d '\r' <"$work/head")" '^Content-Type: text/plain' 'type'
python3 - "$metrics" <<'END'
import re
import sys

types, samples = {}, set()
name = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
label = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
value = r"(?:[-+]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|Inf)|NaN)"
sample = re.compile(rf"({name})(\{{{label}(?:,{label})*\}})? {value}")
for line in sys.argv[1].splitlines():
    if line.startswith("# TYPE "):
        _, _, family, kind = line.split()
        assert family not in types, f"{family} has two types"
        assert kind in ("counter", "gauge", "histogram"), line
        types[family] = kind
    elif not line.startswith("# HELP "):
        match = sample.fullmatch(line)
        assert match, f"no sample: {line}"
        assert match.group(0).rsplit(" ", 1)[0] not in samples, line
        samples.add(match.group(0).rsplit(" ", 1)[0])
        family = match.group(1)
        base = re.sub("_(bucket|sum|count)$", "", family)
        assert family in types or types.get(base) == "histogram", line
        if types.get(family) == "counter":
            assert family.endswith("_total"), line
END
has "$metrics" '^fairlead_identifiers\{interconnect="slingshot",pool="vni",set="quarantined"\} 1$' 'quarantine'
has "$metrics" '^fairlead_identifiers\{interconnect="slingshot",pool="vni",set="held"\} 2$' 'pool'
has "$metrics" '^fairlead_quarantine_oldest_seconds\{interconnect="slingshot",pool="vni"\} [0-9.]+$' 'age'
has "$metrics" '^fairlead_nodes\{state="up"\} 3$' 'nodes'
for operation in reserve apply release list; do
	has "$metrics" "^fairlead_request_seconds_bucket\\{operation=\"$operation\",le=\"0.1\"\\} [1-9]" "times of $operation"
done
for kind in apply revoke commit; do
	has "$metrics" "^fairlead_${kind}_seconds_count [1-9]" "times of $kind"
done
mapfile -t families < <(sed -n 's/^# TYPE fairlead_\([a-z_]*\) .*/\1/p' <<<"$metrics")
for family in "${families[@]}"; do
	grep -q "\*$family\*" "$root/doc/man/fairleadd.8.scd" ||
		fail "the manual does not know $family"
done
is "$(on manager -- curl -s -o "$work/body" -w '%{http_code}' http://127.0.0.1:9471/other)" \
	404 'status of another path'

it 'a daemon that is not there is 75, with a hint'
kill_manager
for command in status list 'reserve a/b --nodes n0' "release $active" 'node list' \
	"eventlog $active" pools; do
	# shellcheck disable=SC2086
	expect_exit 75 fairlead $command
	expect_hint 'fairleadd'
done

it 'a manager that is started again serves, whatever its nodes do'
kill_pid "$(agent_pid n2)"
expect_exit 0 fairlead cluster restart manager
expect_exit 0 fairlead status
restart n2
wait_for all_are_up

it 'help and completion offer programs that are commands, too'
expect_exit 0 fairlead --help
expect_out '  cluster +Emulate a cluster'
expect_out '  run +Run a job'
expect_exit 0 fairlead completion
bash -n <(printf '%s\n' "$out")

it 'release takes a grant, a key, or all attempts of a job'
reserve jm/many/0 n0 >/dev/null
reserve jm/many/1 n0 >/dev/null
expect_exit 0 fairlead release jm/many --json
holds "$out" '.grants | length == 2'
expect_exit 0 fairlead release jm/never
nic n1 clear
fairlead release "$active"
fairlead release jm/reserved
wait_for is_quarantined 0
expect_clean

it 'explain tells how what is over has ended; only what never was is an error'
expect_exit 0 fairlead explain jm/many
expect_out '^Grant [0-9]+, for jm/many/0, was released by an operator, '
expect_out '^Grant [0-9]+, for jm/many/1, was released'
expect_exit 0 fairlead explain "$stuck"
expect_out "^Grant $stuck, for jm/stuck/0, was released"
expect_out '^It belonged to .* and asked for slingshot on n1, '
expect_out '^It had vni 1026\.'
expect_out '^After its end n1 confirmed '
expect_exit 0 fairlead explain jm/active --json
holds "$out" '.grants[0] | .state == "gone" and .outcome == "released" and
	.had.vni == "1024" and .since < .applied and .applied < .ended'
expect_exit 1 fairlead explain jm/never
expect_error 'no such grant'

story_end
