#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages on Elan: holders of a capability send to each other on each of its
# rails; messages of others are dropped.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'other users have no part in a cluster of a user'
need_others
interconnect=elan3
talk=$tools/elan3-talk
datagrams=$root/test/system/elan3-datagrams.py
port=7174

cluster_up -N 3 --nics 1 -s elan3.rails=2

run_talk() { # run_talk TASKS [OPTION...]: on all nodes, by `run`
	run fairlead run -i elan3 -v --user $alice -N 3 -n "$1" "${@:2}" -- "$talk" all 4
}

it 'ranks of three nodes send all to all, on two rails'
run_talk 6 -o rails=0:1
is "$code" 0 "exit ($err)"
is "$(cut -d' ' -f2- <<<"$out" | sort)" "$(for rank in 0 1 2 3 4 5; do
	echo "rank $rank had 48 messages on 2 rails"
done)" 'what ranks had'
expect_error 'has sent 288 messages of [0-9]{6} bytes'

it 'so they do in other layouts, and by one capability for both rails'
run_talk 7 -o rails=0+1,layout=cyclic
is "$code" 0 "exit ($err)"
is "$(grep -c 'had 56 messages on 2 rails' <<<"$out")" 7 'ranks'
expect_exit 0 fairlead run -i elan3 -N n2,n0 -n 3 -o rails=1 -- "$talk" all 2
is "$(grep -c 'had 6 messages on 1 rails' <<<"$out")" 3 'ranks'

# stay NAME [OPTION...]: a job that has done one round, and waits for $work/NAME
# to go to do another one
stay() {
	touch "$work/$1"
	fairlead run -i elan3 --user $alice -N n0,n1 -n 2 "${@:2}" -- "$talk" stay \
		"$work/$1" >"$work/$1.out" 2>"$work/$1.err" 3>&- &
	wait_for eval "[ \"\$(grep -c had '$work/$1.out')\" -eq 2 ]"
}

it 'recorded, repeated and forged messages of adapters are dropped'
on n1 -- "$datagrams" record "$work/record" $port >"$work/recorder" 3>&- &
recorder=$!
wait_for grep -q ready "$work/recorder"
stay strange
strange=$!
wait_for test -s "$work/record"
kill $recorder
wait $recorder || true
cp "$work/record" "$work/kept"
for address in 10.203.0.1 10.203.0.2; do
	for node in n2 n1; do
		expect_exit 0 on $node -- "$datagrams" play "$work/kept" $address $port
		[ "$out" -ge 4 ] || fail "no more than $out datagrams were there"
	done
done
rm "$work/strange"
wait $strange || fail "it ended with $?: $(cat "$work/strange.err")"
is "$(sort "$work/strange.out" | uniq -c | awk '{ print $1, $4, $6 }')" "$(
	printf '1 0 2\n1 0 4\n1 1 2\n1 1 4')" 'messages that ranks had'

it 'what was kept is nothing to a later job with the same contexts'
stay later
later=$!
for node in 1 2; do
	on n2 -- "$datagrams" play "$work/kept" 10.203.0.$node $port
done
rm "$work/later"
wait $later || fail "it ended with $?: $(cat "$work/later.err")"

it 'jobs beside each other do not hear each other'
stay one
one=$!
stay two
two=$!
rm "$work/one" "$work/two"
wait $one || fail "$(<"$work/one.err")"
wait $two || fail "$(<"$work/two.err")"

it 'there is no rank but those of the job'
expect_exit 22 fairlead run -i elan3 -N 1 -- "$talk" tries 1 1000
# Its task is not attached, and never will be.
expect_exit 110 fairlead run -i elan3 -N 2 -- sh -c \
	"[ \$RMS_RANK -eq 1 ] || exec $talk tries 1 200"

it 'a port is dead when its fairlead-rms is, and a later job has others'
stay dead
dead=$!
kill_pid "$(pid_of n1 rms)"
rm "$work/dead"
wait_for grep -Eq 'rank 1: rms_(send|recv): Connection reset' "$work/dead.err"
kill -s TERM $dead # rank 0 waits for it
wait $dead || true
restart n1
wait_for eval '[ -z "$(json_of pools | gojq -r .pools.elan3.context.quarantined)" ]'
run_talk 3
is "$code" 0 "exit ($err)"

story_end
