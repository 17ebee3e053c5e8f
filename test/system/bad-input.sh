#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Requests, clients, nodes and hosts on the network that do what they should
# not: a clear error for who can read it, nothing lost, and the daemons stay up.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 3 --nics 1 -s slingshot.vni_pool=1024-1027 \
	-s manager.apply_timeout=5 -s manager.revoke_timeout=2
address=10.203.255.254:7171
started=$(pid_of manager)
n2_boot=$(tr -d '\n-' <"$FAIRLEAD_CLUSTER/n2/run/softnic/boot_id")
socket=$FAIRLEAD_SOCKET

client() { # client ACTION...
	"$wire" client "$socket" "$@"
}
hex() { # hex FORMAT: of what printf makes of it
	# shellcheck disable=SC2059  # a format is meant
	printf "$1" | od -An -v -tx1 | tr -d ' \n'
}
refused() { # refused REGEX REQUEST...: 'fairlead reserve' with this error
	local regex=$1
	shift
	expect_exit 1 fairlead reserve "$@"
	expect_error "$regex"
}

it 'requests that make no sense are refused with the reason'
refused "n9" jm/1 --nodes 'n[0-1],n9'
refused 'n1.*twice' jm/1 --nodes 'n[0-1],n1'
refused 'host list|nodes' jm/1 --nodes 'n[0-'
refused 'vnis' jm/1 --nodes n0 -o vnis=5
refused 'vnis' jm/1 --nodes n0 -o vnis=x
refused 'speed' jm/1 --nodes n0 -o speed=high
refused 'elan3' jm/1 --nodes n0 -i elan3
refused 'cores' jm/1 --nodes 'n[0-1]' --cores '4(x3)'
refused 'cores' jm/1 --nodes n0 --cores 70000
for key in 'jm/a b' 'jm/ä' 'jm/..' 'jm/' '/1' 'jm' 'jm/1/01' 'jm/1/-1' 'jm/1/2/3' \
	"jm/$(printf 'x%.0s' {1..65})" "$(printf 'x%.0s' {1..33})/1"; do
	run fairlead reserve "$key" --nodes n0
	[ "$code" -eq 1 ] || [ "$code" -eq 2 ] || fail "key '$key': exit $code"
	has "$err" '^fairlead: .' "key '$key'"
done
is "$(client ask '{"v":1,"id":1,"op":"reserve","request":{"key":"jm/1","uid":1,"gid":1,"nodes":"n0","colour":"red"}}' |
	gojq -c '[.id, .result, (.error | test("colour"))]')" '[1,-22,true]' 'unknown member'
expect_pool held ''

it 'a failed reservation leaves its reason in the event log, and the key free'
expect_events jm/1 request exception release
holds "$(event jm/1 exception)" '.[0].severity == 0 and (.[0].note | length > 0)'
holds "$(event jm/1 release)" '. == [{reason: "reserve-failed"}]'
expect_exit 0 reserve jm/1 n0
fairlead release "$out"

it 'an exhausted pool is 75: try again later'
for i in 0 1 2 3; do
	reserve "jm/pool$i" n0 >/dev/null
done
expect_exit 75 reserve jm/pool4 n0 -o vnis=2
expect_error 'failed to reserve 2 VNIs \(0 available\)'
fairlead release jm/pool0
fairlead release jm/pool1
expect_exit 0 reserve jm/pool4 n0 -o vnis=2
for i in 2 3 4; do
	fairlead release "jm/pool$i"
done
expect_clean

it 'frames that are no requests are answered, and cost the connection'
for bytes in \
	00000000 01001000 ffffffff "$(hex '\003\000\000\000{]}')" \
	"$(hex '\002\000\000\000[]')" "$(hex '\015\000\000\000{"v":1,"v":1}')"; do
	expect_exit 0 client raw "$bytes"
	is "$(tail -n 1 <<<"$out")" closed "end after $bytes"
	holds "$(head -n 1 <<<"$out")" '.id == 0 and .result < 0 and (.error | length > 0)'
done

it 'requests that are none are refused one by one'
expect_exit 0 client ask '{"v":1,"id":1,"op":"frobnicate"}' \
	'{"v":2,"id":2,"op":"status"}' '{"v":1,"id":3}' \
	'{"v":1,"id":4,"op":"apply","grant_id":-1}' \
	'{"v":1,"id":5,"op":"apply","grant_id":"1"}' \
	'{"v":1,"id":6,"op":"apply","grant_id":4711}' \
	'{"v":1,"id":7,"op":"status","extra":1}' '{"v":1,"id":8,"op":"status"}'
holds "$(gojq -s 'sort_by(.id)' <<<"$out")" '[.[].id] == [1,2,3,4,5,6,7,8] and
	all(.[:7][]; .result < 0 and (.error | length > 0)) and .[7].result == 0 and
	(.[1].error | test("1")) and (.[6].error | test("extra"))'

it 'half a request and then silence: others are served, and it is dropped'
client half >"$work/half" 2>&1 3>&- &
half=$!
wait_for grep -q silent "$work/half"
for i in 1 2 3; do
	fairlead status >/dev/null
done
wait $half
grep -q closed "$work/half"
has "$(tail -n 1 "$work/half")" '^after (9|1[0-5]) s$' 'when it was dropped'

it 'a request over the size limit is refused by the command and by the daemon'
expect_exit 0 client raw "$(printf '%08x' 1048577 | sed 's/\(..\)\(..\)\(..\)\(..\)/\4\3\2\1/')"
holds "$(head -n 1 <<<"$out")" '.id == 0 and .result < 0'
gojq -n '{key: "jm/big", uid: 1, gid: 1, nodes: ([range(140000) | "n\(. * 2)"] | join(","))}' \
	>"$work/big.json"
expect_exit 1 fairlead reserve --request "$work/big.json"
expect_error '(size|large|long|limit|over|most|maximum)'

it 'more than the limit of requests on a connection get "try again"'
mapfile -t many < <(for ((i = 1; i <= 300; i++)); do
	printf '{"v":1,"id":%d,"op":"node-query","nodes":"n[0-2]","what":"devices"}\n' "$i"
done)
expect_exit 0 client ask "${many[@]}"
holds "$(gojq -s . <<<"$out")" 'length == 300 and all(.[]; .result == 0 or .result == -11)
	and any(.[]; .result == 0)'

it 'as many connections as there may be, and one more is turned away'
ulimit -n 4096
mkfifo "$work/fifo"
exec 9<>"$work/fifo" # held open: the input does not end
"$wire" client "$socket" hoard 1024 >"$work/hoard" 2>&1 <"$work/fifo" 3>&- 9>&- &
hoard=$!
wait_for grep -q 'open 1024' "$work/hoard"
run fairlead status --timeout 5
[ "$code" -ne 0 ] || fail 'a connection beyond the limit was served'
kill $hoard
wait $hoard 2>/dev/null || true
wait_for fairlead status

it 'the node'"'"'s own socket takes no nonsense either'
node_socket=/run/fairlead/node.sock
expect_exit 0 on n0 -- "$wire" client $node_socket raw ffffffff
is "$(tail -n 1 <<<"$out")" closed 'end'
expect_exit 0 on n0 -- "$wire" client $node_socket ask \
	'{"v":1,"id":1,"op":"reserve"}' '{"v":1,"id":2,"op":"node-status"}'
holds "$(gojq -s 'sort_by(.id)' <<<"$out")" '.[0].result < 0 and .[1].result == 0'

it 'a node with the wrong key is refused with the reason'
expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key register \
	key="$(printf '5a%.0s' {1..32})" mac=right
expect_out 'refused: .*not signed with this node.s key'
expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key register mac=spoiled
expect_out 'refused: .*not signed'
is_up n0 n1 n2

it 'a daemon with the wrong key stays off, and its own status says why'
kill_pid "$(agent_pid n2)"
cp "$FAIRLEAD_CLUSTER/n1/run/node.key" "$work/n1.key"
cp -p "$FAIRLEAD_CLUSTER/n2/run/node.key" "$work/n2.key"
sed "s/^confirm \([0-9]*\) .*/confirm \1 $(printf '5a%.0s' {1..32})/" "$work/n2.key" \
	>"$FAIRLEAD_CLUSTER/n2/run/node.key"
start_by_hand n2 "$fairleadd" --role node --config "$config"
wait_for on n2 -- fairlead node status
wait_for eval 'on n2 -- fairlead node status --json | gojq -e ".manager.error | test(\"not signed\")"'
says_up n2 && fail 'the node is up'
holds "$(on n2 -- fairlead node status --json)" '.manager.state == "refused"'
cp -p "$work/n2.key" "$FAIRLEAD_CLUSTER/n2/run/node.key"
stop_by_hand n2
restart n2

it 'a registration cannot be played back, nor made for another node'
expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key register \
	nonce="$(printf '00%.0s' {1..32})"
expect_out 'refused: .*another challenge'
expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key register name=n0
expect_out 'refused: .*not signed with this node.s key'
expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key register name=n9
expect_out 'refused: '
is_up n0 n1 n2

it 'a forged confirmation frees nothing'
grant=$(reserve jm/forged 'n[0-1]')
fairlead apply "$grant"
nic n0 busy svc="$(service_of n0 cxi0 "$grant")" nic=0 ms=forever
fairlead release "$grant" >/dev/null
is_quarantined 1 || fail 'nothing is in quarantine'
# without a key; with another node's key; with one's own as another
expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key confirm \
	grant="$grant" result=0 name=n0 mac=spoiled
lacks "$out" '^ack' 'the answer'
expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key confirm \
	grant="$grant" result=0 name=n0
lacks "$out" '^ack' 'the answer'
expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key confirm \
	grant="$grant" result=0 name=n0 before=register incarnation="$n2_boot"
is_quarantined 1 || fail 'a forged confirmation has freed a VNI'
restart n2

it 'nor does a true one of an incarnation that is gone'
expect_exit 0 on n0 -- "$wire" node $address /run/fairlead/node.key confirm \
	grant="$grant" result=0
is_quarantined 1 || fail 'a confirmation of another incarnation has freed a VNI'
nic n0 clear
wait_for is_quarantined 0
expect_clean

it 'a node that lies about the epoch stops nobody'
epoch=$(json_of status | gojq .epoch)
proof=$(python3 -c 'import struct
print((b"FRLC" + struct.pack("<HBBIQQQQQ", 1, 1, 0, 1, 1 << 60, 7, 1, 0, 0)
       + bytes(32) + bytes(64)).hex())')
expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key register \
	proof="$proof" incarnation="$n2_boot"
expect_out "^hello epoch $epoch$"
restart n2
expect_exit 0 reserve jm/lied 'n[0-2]'
expect_exit 0 fairlead apply "$out"
expect_exit 0 fairlead release jm/lied

it 'what is no message of the node protocol costs the connection only'
for frame in '1 00' '2 00' '3 00' '4 00' '9 00' '2 '"$(printf 'ff%.0s' {1..200})"; do
	# shellcheck disable=SC2086
	expect_exit 0 on n2 -- "$wire" node $address /run/fairlead/node.key frame $frame
done
is_up n0 n1
wait_for is_up n2

it 'after all of this it is the same process, with nothing lost or left'
is "$(pid_of manager)" "$started" 'process'
expect_clean
expect_exit 0 fairlead run -N 3 -n 3 --user $alice -- cxi-lni
is "$(grep -c allocated <<<"$out")" 3 'LNIs'

story_end
