#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Somebody sits between a node and the manager, where the node registers: plays
# messages back, holds and changes them, cuts the connection. Authority is in
# the message, so that all it can do is to be late.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 2 --nics 1 -s slingshot.vni_pool=1024-1031 \
	-s manager.apply_timeout=3 -s manager.revoke_timeout=2

# Node n1 reaches the manager through a relay of its own, on its own machine,
# and says where others reach it.
kill_pid "$(agent_pid n1)"
mkfifo "$work/requests"
exec {requests}<>"$work/requests"
on n1 -- "$wire" relay 127.0.0.1:7171 10.203.255.254:7171 <"$work/requests" \
	>"$work/relay" 2>&1 3>&- &
wait_for grep -q listening "$work/relay"
sed -e 's/manager = ".*"/manager = "127.0.0.1:7171"/' \
	-e 's/^fabric {/&\n    listen = "10.203.0.2"/' "$config" >"$work/relayed.conf"

relay() { # relay WORD...: and wait until it is done
	local before
	before=$(grep -c '^done' "$work/relay" || true)
	printf '%s\n' "$*" >&"$requests"
	wait_for eval "[ \"\$(grep -c '^done' '$work/relay')\" -gt $before ]"
}
lines() { # lines REGEX: how many the relay has printed
	grep -cE "$1" "$work/relay" || true
}
after() { # after COUNT REGEX: until the relay has printed one more
	wait_for eval "[ \"\$(grep -cE '$2' '$work/relay')\" -gt $1 ]"
}
begin() { # begin: the node's daemon, which registers
	local opened
	opened=$(lines '^open')
	start_by_hand n1 "$fairleadd" --role node --config "$work/relayed.conf"
	after "$opened" '^open'
	wait_for says_up n1
}
again() { # again: another daemon, and so another connection
	kill_pid "${by_hand[n1]}"
	begin
}
drained_there() { # drained_there true|false: as the node has it
	on n1 -- fairlead node status --json | gojq -e ".drained == $1" >/dev/null
}
begin

it 'through a relay all is as without, and no command for a job goes by it'
grant=$(reserve jm/relayed 'n[0-1]')
expect_exit 0 fairlead apply "$grant"
expect_objects 1 n0 n1
expect_exit 0 fairlead node query n1 objects
fairlead release "$grant"
expect_clean
is "$(lines '^command (apply|revoke|query|clean|lease) ')" 0 'commands'

it 'a greeting that is played back is obeyed by nobody'
again
relay again hello
relay again hello
grant=$(reserve jm/greeted 'n[0-1]')
expect_exit 0 fairlead apply "$grant"
fairlead release "$grant"
expect_clean

it 'a confirmation that is played back frees nothing'
again
grant=$(reserve jm/first n1)
fairlead apply "$grant"
seen=$(lines "^confirm own grant $grant result 0")
on n1 -- fairlead epilog jm/first
after "$seen" "^confirm own grant $grant result 0"
fairlead release "$grant"
expect_clean
grant=$(reserve jm/second n1)
fairlead apply "$grant"
relay confirm again
relay confirm again
is "$(job_state "$grant")" active 'state'
expect_pool held "$(vnis_of "$grant")"
fairlead release "$grant"
expect_clean

it 'a confirmation is sent until it is acknowledged'
relay hold ack
grant=$(reserve jm/pending n1)
fairlead apply "$grant"
seen=$(lines "^confirm own grant $grant result 0")
on n1 -- fairlead epilog jm/pending
after "$((seen + 2))" "^confirm own grant $grant result 0"
relay let ack
fairlead release "$grant"
expect_clean

it 'an altered drain is not obeyed, and sent again at each registration'
relay alter drain
fairlead node drain n1 --reason test
again
after 0 '^altered drain'
drained_there false
is_drained n1
relay heal drain
again
wait_for drained_there true
fairlead node undrain n1
again
wait_for drained_there false

it 'a connection that is cut is made again, and nothing is lost'
grant=$(reserve jm/cut 'n[0-1]')
fairlead apply "$grant"
opened=$(lines '^open')
relay cut
expect_exit 0 fairlead release "$grant"
after "$opened" '^open'
wait_for says_up n1
expect_clean

story_end
