#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A node loses its journal while jobs run: removed, or damaged. It tells
# the jobs' objects on its NICs from those of no job.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 2 --nics 2 -s slingshot.vni_pool=1024-1031 \
	-s manager.revoke_timeout=2
journal=$FAIRLEAD_CLUSTER/n1/run/node/journal

withheld_on() { # withheld_on NODE: as JSON
	json_of node list | gojq -e --arg n "$1" '.nodes[] | select(.name == $n).withheld'
}

is_withheld_on() { # is_withheld_on NODE COUNT
	[ "$(withheld_on "$1" | gojq length)" -eq "$2" ]
}

forget_journal() { # its daemon ends, the file goes, another daemon begins
	kill_pid "$(agent_pid n1)"
	rm "$journal"
	restart n1
	wait_for is_up n1
}

it 'what a removed journal had is reported as its job'"'"'s'
grant=$(reserve jm/run 'n[0-1]')
fairlead apply "$grant"
test -s "$journal"
forget_journal
wait_for is_withheld_on n1 2
holds "$(withheld_on n1)" 'all(.[]; .grant_id == $g and
	(.why | test("is of grant \($g) \\(jm/run/0\\), which the node.s journal lost")))' \
	--argjson g "$grant"
expect_objects 2 n1
holds "$(json_of explain jm/run)" 'any(.grants[0].holds[];
	.nodes == "n1" and .state == "lost")'
holds "$(event jm/run exception)" 'length == 1 and .[0].severity > 0'
expect_exit 0 fairlead node list
expect_out 'journal lost'

it 'the doctor lists it, and advises to destroy nothing'
run fairlead doctor
expect_out 'WARN +lost lane +n1 does not have the lane of grant '
expect_out 'WARN +withheld identifiers +n1 uses .*: object .* on cxi1, .* is of grant '
lacks "$out" 'foreign identifier|unknown object ' 'the findings'

it 'on the node itself nobody can know; what is advised says what it takes'
run on n1 -- env FAIRLEAD_SOCKET=/none fairlead doctor
expect_out 'clean --object cxi0/'
expect_out "takes the lanes of all running jobs too"

it 'an epilog there says that the node knows nothing of the job'
for hook in epilog housekeeping; do
	expect_exit 0 on n1 -- fairlead "$hook" jm/run
	is "$out" '' 'what was taken back'
	expect_error "this node knows nothing of job 'jm/run'"
done
expect_objects 2 n1

it 'its VNIs are not given to another job, and the release takes all back'
other=$(reserve jm/other n1)
fairlead apply "$other"
[ "$(vnis_of "$other")" != "$(vnis_of "$grant")" ]
expect_exit 0 fairlead release "$grant"
is "$out" '' 'quarantine'
expect_objects 0 n0
expect_objects 2 n1
wait_for is_pool withheld ''
fairlead release "$other"
expect_clean

it 'a node without its journal makes lanes as before'
grant=$(reserve jm/after 'n[0-1]')
fairlead apply "$grant"
expect_objects 2 n0 n1
expect_exit 0 on n1 -- fairlead epilog jm/after
expect_out "revoked $grant"
is "$err" '' 'warnings'
fairlead release "$grant"
expect_clean

it 'a damaged journal is named, and refused'
grant=$(reserve jm/torn 'n[0-1]')
fairlead apply "$grant"
kill_pid "$(agent_pid n1)"
printf '\377' | dd of="$journal" bs=1 seek=40 conv=notrunc status=none
run restart n1
[ "$code" -ne 0 ] || fail 'a damaged journal was taken'
has "$(cat "$FAIRLEAD_CLUSTER"/n1/log/*.log)" \
	"/journal': the journal was damaged at byte .*; move it away" 'the log'
expect_objects_of() { # expect_objects_of NODE COUNT: by its NIC, without a daemon
	is "$(nic "$1" dump | gojq '[.devices[].services[] | select(.id > 2)] | length')" \
		"$2" "services on $1"
}
expect_objects_of n1 2

it 'moved away as it says, what the node held is released'
rm "$journal"
restart n1
wait_for is_up n1
wait_for is_withheld_on n1 2
expect_exit 0 fairlead release "$grant"
wait_for is_pool withheld ''
expect_clean

it 'an object that is nobody'"'"'s is destroyed alone'
grant=$(reserve jm/stays n0)
fairlead apply "$grant"
foreign=$(on n0 -- "$tools/make-service" cxi1 1030 4242)
expect_exit 77 on n0 -- fairlead clean \
	--object "cxi0/$(service_of n0 cxi0 "$grant")"
expect_error "is of grant $grant: release that"
expect_exit 0 on n0 -- fairlead clean --object "cxi1/$foreign" --dry-run
expect_objects 3 n0
expect_exit 0 on n0 -- fairlead clean --object "cxi1/$foreign"
expect_out "destroyed slingshot cxi1 $foreign"
expect_objects 2 n0
fairlead release "$grant"
expect_clean

story_end
