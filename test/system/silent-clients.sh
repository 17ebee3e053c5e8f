#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whoever reaches a daemon's ports can connect, and send nothing. With few
# descriptors and many silent clients the daemons serve other clients, find
# each other, and do not spin.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

LIMIT=300 # descriptors of a daemon
CROWD=500 # silent clients at one port

cluster_up -N 2 --nics 1 -s slingshot.vni_pool=1024-1031

restart_small() { # restart_small NODE|manager: with few descriptors
	(ulimit -n $LIMIT && restart "$1")
}
endpoint() { # endpoint NODE|manager: "ADDRESS PORT" of its endpoint
	on "$1" -- ss -Htln | awk '{ print $4 }' | grep '^10\.' | grep -v ':7171$' | tr : ' '
}
has_accepted() { # has_accepted WHERE PORT: nobody waits, so the listener is quiet
	[ "$(on "$1" -- ss -Htln "sport = :$2" | awk '{ print $2 }')" -eq 0 ]
}
crowd() { # crowd NODE|manager ADDRESS PORT [HEX]: silent clients, until the story ends
	local file=$work/crowd.$1.$3
	on "$1" -- "$root/test/system/crowd.py" "$2" "$3" $CROWD ${4:+"$4"} \
		>"$file" 3>&- &
	wait_for grep -q here "$file"
	wait_for has_accepted "$1" "$3"
}
crowd_at_endpoint() { # crowd_at_endpoint NODE|manager [HEX]
	local place
	read -ra place <<<"$(endpoint "$1")"
	[ ${#place[@]} -eq 2 ] || fail "the endpoint of $1 listens at: ${place[*]}"
	crowd "$1" "${place[@]}" "${@:2}"
}
# Who has accepted all that there are is not woken to accept once more.
count_accepts() { # count_accepts PID COMMAND...: by how many calls of accept
	local trace=$work/trace.$1 pid
	strace -f -qq -e trace=accept,accept4 -o "$trace" -p "$1" 3>&- &
	pid=$!
	wait_for grep -q "^TracerPid:.$pid\$" "/proc/$1/status"
	"${@:2}"
	kill $pid
	wait $pid || true
	accepts=$(grep -c 'accept' "$trace") || true
}

it 'a node with many silent clients serves others, and does not spin'
restart_small n0
wait_for says_up n0
crowd_at_endpoint n0
for _ in {1..10}; do
	expect_exit 0 on n0 -- fairlead node status
done
if strace -o /dev/null true 2>/dev/null; then
	count_accepts "$(agent_pid n0)" expect_exit 0 on n0 -- fairlead node status
	[ "$accepts" -le 4 ] || fail "$accepts calls of accept for one client"
else
	printf '# calls of accept are not counted: strace may not trace here\n' >&3
fi

it 'a peer that sends too little to be a member counts as silent'
crowd_at_endpoint n0 0102
expect_exit 0 on n0 -- fairlead node status

it 'a manager that starts now reaches the node'
restart_small manager
wait_for is_up n0 n1
grant=$(reserve jm/one 'n[0-1]')
expect_exit 0 fairlead apply "$grant"
expect_objects 1 n0 n1

it 'a manager with many silent clients serves others and finds its nodes'
crowd manager 10.203.255.254 7171
crowd_at_endpoint manager
restart n1
wait_for says_up n1
for _ in {1..10}; do
	expect_exit 0 fairlead status
done
expect_exit 0 fairlead release "$grant"
expect_clean

story_end
