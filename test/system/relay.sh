#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Somebody sits between a node and the manager: plays commands back, doubles,
# holds and changes them, cuts the connection. Authority is in the message, so
# that all it can do is to be late.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 2 --nics 1 -s slingshot.vni_pool=1024-1031 \
	-s manager.apply_timeout=3 -s manager.revoke_timeout=2

# Node n1 reaches the manager through a relay of its own.
kill_pid "$(agent_pid n1)"
mkfifo "$work/told"
exec {told}<>"$work/told"
on n1 -- "$wire" relay 127.0.0.1:7171 10.203.255.254:7171 <"$work/told" \
	>"$work/relay" 2>&1 3>&- &
wait_for grep -q listening "$work/relay"
sed 's/manager = ".*"/manager = "127.0.0.1:7171"/' "$config" >"$work/relayed.conf"
start_by_hand n1 "$fairleadd" --role node --config "$work/relayed.conf"
wait_for is_up n1

relay() { # relay WORD...: and wait until it is done
	local before
	before=$(grep -c '^done' "$work/relay" || true)
	printf '%s\n' "$*" >&"$told"
	wait_for eval "[ \"\$(grep -c '^done' '$work/relay')\" -gt $before ]"
}
lines() { # lines REGEX: how many the relay has printed
	grep -cE "$1" "$work/relay" || true
}
after() { # after COUNT REGEX: until the relay has printed one more
	wait_for eval "[ \"\$(grep -cE '$2' '$work/relay')\" -gt $1 ]"
}

it 'through a relay all is as without'
grant=$(reserve jm/relayed 'n[0-1]')
expect_exit 0 fairlead apply "$grant"
expect_objects 1 n0 n1

it 'a command that comes twice is answered twice, and done once'
seen=$(lines "confirm apply grant $grant result 0")
relay again apply
after "$seen" "confirm apply grant $grant result 0"
expect_objects 1 n1
fairlead release "$grant"
expect_clean

it 'a command that is played back after the release is stale'
relay again apply
after 0 "confirm apply grant $grant result -116"
expect_objects 0 n1
test ! -e "$(env_file n1 jm/relayed/0)"
seen=$(lines "confirm revoke grant $grant result 0")
relay again revoke
after "$seen" "confirm revoke grant $grant result 0"
expect_clean

it 'so it is on another connection, and after the node'"'"'s daemon was restarted'
opened=$(lines '^open')
relay cut
after "$opened" '^open'
wait_for is_up n1
seen=$(lines "confirm apply grant $grant result -116")
relay again hello
relay again apply
after "$seen" "confirm apply grant $grant result -116"
opened=$(lines '^open')
kill_pid "${by_hand[n1]}"
start_by_hand n1 "$fairleadd" --role node --config "$work/relayed.conf"
after "$opened" '^open'
wait_for is_up n1
seen=$(lines "confirm apply grant $grant result -116")
relay again apply
after "$seen" "confirm apply grant $grant result -116"
expect_objects 0 n1

it 'a confirmation that is played back frees nothing'
grant=$(reserve jm/twice 'n[0-1]')
fairlead apply "$grant"
relay confirm again
relay confirm again
is "$(job_state "$grant")" active 'state'
expect_pool held "$(vnis_of "$grant")"
fairlead release "$grant"

it 'a command that was altered is not obeyed'
relay alter apply
grant=$(reserve jm/altered 'n[0-1]')
expect_exit 1 fairlead apply "$grant"
expect_error '(failed on . of . nodes: |; )n1: the node did not answer in time'
grep -q 'altered apply' "$work/relay"
relay heal apply
expect_objects 0 n0 n1
wait_for is_quarantined 0
expect_clean

it 'a command that comes too late finds a tombstone'
relay hold apply
grant=$(reserve jm/late 'n[0-1]')
expect_exit 1 fairlead apply "$grant"
expect_error '(failed on . of . nodes: |; )n1: the node did not answer in time'
wait_for is_quarantined 0
seen=$(lines "confirm apply grant $grant result -116")
relay let apply
after "$seen" "confirm apply grant $grant result -116"
expect_objects 0 n1
expect_clean

it 'a revoke that is late leaves the VNI in quarantine, until it comes'
grant=$(reserve jm/held 'n[0-1]')
fairlead apply "$grant"
relay hold revoke
expect_exit 0 fairlead release "$grant"
expect_out 'stays in quarantine until n1 has confirmed'
expect_objects 1 n1
is_quarantined 1 || fail 'nothing is in quarantine'
relay let revoke
wait_for is_quarantined 0
expect_clean

it 'a connection that is cut in the middle is made again, and nothing is lost'
grant=$(reserve jm/cut 'n[0-1]')
fairlead apply "$grant"
relay hold revoke
fairlead release "$grant" >/dev/null
relay cut
wait_for is_quarantined 0
wait_for is_up n1
expect_clean

story_end
