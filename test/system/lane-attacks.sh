#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Lanes on Ethernet that daemons made, and everybody who shall not use them: on
# the lane's nodes, on others, and on a host that is none of them. Each attack is
# shown to work when the rules are gone, then to fail; who may, gets through all
# along. test/lane has more of them, between namespaces without daemons.
#
# lane-attacks.sh host|netns: how the lanes are isolated.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

isolation=${1:-host}
interconnect=ethernet
need_root 'users who are kept out, and lanes for them'
need_others
[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
carol=2003 # has no job
probe=$build/test/lane/lane-probe
# Packets then pass in the order in which they were sent.
one_cpu=(taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')")
PORT=7000 # of whoever listens

# n0 and n1 have Alice's job, n0 and n2 Bob's, and n3 none.
cluster_up -N 4 --nics 1 --rails 2 -s ethernet.vni_pool=4242-4249

# IPv4 is tried on the first rail, which has it for its underlay, too, and IPv6 on
# the second, whose underlay has IPv6. test/lane has the other pairs.
underlay() { # underlay NODE: its address on the family's rail
	[ "$family" = 6 ] && echo "fd00:205::$((${1#n} + 1))" || echo "10.204.0.$((${1#n} + 1))"
}
family=6
for node in n0 n1 n2 n3; do
	# As a site may have it, which these attacks want.
	on $node -- sh -ec 'ip -4 address flush dev eth2
		ip address add "$1/64" dev eth2 nodad
		sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
			net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1' sh "$(underlay $node)"
	restart $node
done
wait_for is_up n0 n1 n2 n3
a=$(reserve jm/a 'n[0-1]' -o "isolation=$isolation")
b=$(fairlead reserve jm/b --nodes 'n[0,2]' --user $bob -i ethernet \
	-o "isolation=$isolation")
run fairlead apply "$a"
[ "$code" -eq 0 ] || ! grep -q 'the kernel' <<<"$err" || skip_all "$err"
is "$code" 0 "apply ($err)"
expect_exit 0 fairlead apply "$b"

# --- who, where ---

declare -A vni=([A]=$(vnis_of "$a") [B]=$(vnis_of "$b")) grant=([A]=$a [B]=$b)
declare -A ip4=() ip6=() # by lane and node, "A n1"
declare -A mac=()        # .. and family, "A n1 6"
declare -A rail_name=([4]='' [6]=r1) port=([4]=4789 [6]=4790)

# inside LANE: into $inside, how processes of the job come to its devices
inside() {
	inside=()
	[ "$isolation" = host ] || inside=(--netns "/run/fairlead/netns/${grant[$1]}")
}

# ask LANE NODE FAMILY OPTION... of 'ip', with the device on its rail as the last
ask() {
	local enter=()
	[ "$isolation" = host ] || enter=(nsenter "--net=/run/fairlead/netns/${grant[$1]}")
	on "$2" -- "${enter[@]}" ip -brief "${@:4}" dev "fl${vni[$1]}${rail_name[$3]}"
}

# shellcheck disable=SC2034  # address() looks at them
learn() { # learn LANE NODE
	ip4["$1 $2"]=$(ask "$1" "$2" 4 -4 address show | awk '{ sub("/.*", "", $3); print $3 }')
	ip6["$1 $2"]=$(ask "$1" "$2" 6 -6 address show | awk '{ sub("/.*", "", $3); print $3 }')
	mac["$1 $2 4"]=$(ask "$1" "$2" 4 link show | awk '{ print $3 }')
	mac["$1 $2 6"]=$(ask "$1" "$2" 6 link show | awk '{ print $3 }')
}
learn A n0 && learn A n1 && learn B n0 && learn B n2

address() { # address LANE NODE: of the family that is tried
	local -n addresses=ip$family
	printf '%s\n' "${addresses["$1 $2"]}"
}

as() { # as UID NODE ARGUMENT...: what this user's program does
	on "$2" -- "${one_cpu[@]}" "$probe" --uid "$1" "${@:3}"
}

owner() { # owner A|B NODE ARGUMENT...: .. of the job
	local uid=$alice
	[ "$1" = A ] || uid=$bob
	inside "$1"
	as $uid "$2" "${inside[@]}" "${@:3}"
}

# --- does it come? ---

receive() { # receive COMMAND...: in the background; it is ready, or has ended
	: >"$work/received"
	"$@" >"$work/received" 3>&- &
	receiver=$!
	wait_for eval "grep -q ready '$work/received' || is_gone $receiver"
}

# comes TO_LANE TO_NODE HONEST_NODE COMMAND...: the attack's text is there before
# the owner's, which always is.
comes() {
	local to
	to=$(address "$1" "$2")
	receive owner "$1" "$2" udp-receive "$to" $PORT
	"${@:4}" >>"$work/attacks" || true
	owner "$1" "$3" udp-send "$to" $PORT honest >/dev/null
	wait $receiver || fail "the owner cannot receive: $(<"$work/received")"
	grep -q 'received: forged' "$work/received" && return 0
	grep -q 'received: honest' "$work/received" ||
		fail "the owner got $(<"$work/received")"
	return 1
}

# connects TO_LANE TO_NODE HONEST_NODE COMMAND...: then the owner does
connects() {
	local to result=0
	to=$(address "$1" "$2")
	receive owner "$1" "$2" tcp-listen "$to" $PORT
	"${@:4}" >>"$work/attacks" || result=$?
	if ! is_gone $receiver; then
		owner "$1" "$3" tcp-connect "$to" $PORT >/dev/null ||
			[ $result -eq 0 ] || fail 'the owner cannot connect'
	fi
	wait $receiver
	return $result
}

forge() { # forge UID NODE TO_NODE LANE: VXLAN by hand
	as "$1" "$2" raw-vxlan "$(underlay "$3")" "${port[$family]}" "${vni[$4]}" \
		"${mac["$4 $3 $family"]}" "$(address "$4" n0)" "$(address "$4" "$3")" $PORT forged
}

# squats UID ADDRESS: who listens on n1 gets what Alice sends from n0 to herself
squats() {
	receive as "$1" n1 udp-receive "$2" $PORT
	owner A n0 udp-send "$(address A n1)" $PORT forged >/dev/null || true
	# Who listens everywhere gets what comes by other ways.
	is_gone $receiver ||
		as 0 n1 udp-send "$(any_other)" $PORT honest >/dev/null || true
	wait $receiver && grep -q 'received: forged' "$work/received"
}
any_other() { [ "$family" = 6 ] && echo ::1 || echo 127.0.0.1; }
anywhere() { [ "$family" = 6 ] && echo :: || echo 0.0.0.0; }

# --- the attacks: true when they work ---

send() { # send UID NODE LANE TO_NODE [OPTION...]
	as "$1" "$2" "${@:5}" udp-send "$(address "$3" "$4")" $PORT forged
}
connect() { # connect UID NODE LANE TO_NODE
	as "$1" "$2" tcp-connect "$(address "$3" "$4")" $PORT
}

other_user_sends() { comes A n1 n0 send $carol n0 A n1; }
other_user_connects() { connects A n1 n0 connect $carol n0 A n1; }
neighbour_sends() { comes A n1 n0 send $carol n1 A n1; }
neighbour_connects() { connects A n1 n0 connect $carol n1 A n1; }
other_owner_sends() { comes A n1 n0 send $bob n0 A n1; }
other_owner_connects() { connects A n1 n0 connect $bob n0 A n1; }
other_owner_crosses() { comes A n0 n1 send $bob n0 A n0 --from "$(address B n0)"; }
other_user_forges() { comes A n1 n0 forge $carol n0 n1 A; }
other_owner_forges() { comes A n1 n0 forge $bob n0 n1 A; }
owner_forges() { comes B n2 n0 forge $alice n0 n2 B; }
other_node_forges() { comes A n1 n0 forge $bob n2 n1 A; }
outsider_forges() { comes A n1 n0 forge $carol n3 n1 A; }
root_outside_forges() { comes A n1 n0 forge 0 n3 n1 A; }
other_user_takes_port() { squats $carol "$(address A n1)"; }
other_user_takes_port_everywhere() { squats $carol "$(anywhere)"; }
job_reaches_root() { squats 0 "$(anywhere)"; }
lends_source_to_lane() { comes B n2 n0 send $bob n0 B n2 --from "$(address A n0)"; }
lends_source_to_underlay() {
	local at
	at=$(underlay n1)
	receive as 0 n1 udp-receive "$at" $PORT
	as $carol n0 --from "$(address A n0)" udp-send "$at" $PORT forged >>"$work/attacks" || true
	as 0 n0 udp-send "$at" $PORT honest >/dev/null
	wait $receiver && grep -q 'received: forged' "$work/received"
}
# sends_by_n1 NODE: root of n3, who has no lane, to Alice's address there
sends_by_n1() {
	# shellcheck disable=SC2016  # expanded by the shell inside
	on n3 -- "${one_cpu[@]}" sh -c 'ip route add "$0" via "$1" && shift &&
		{ "$@"; ip route del "$0"; }' "$(address A "$1")" "$(underlay n1)" \
		"$probe" --uid 0 udp-send "$(address A "$1")" $PORT forged
}
other_device_takes() { comes A n1 n0 sends_by_n1 n1; }
node_forwards() { comes A n0 n1 sends_by_n1 n0; }

by_socket='other_user_sends other_user_connects neighbour_sends neighbour_connects
	other_owner_sends other_owner_connects other_owner_crosses'
by_listening='other_user_takes_port other_user_takes_port_everywhere job_reaches_root'
by_vxlan='other_user_forges other_owner_forges owner_forges other_node_forges
	outsider_forges'
from_outside=root_outside_forges
by_address='lends_source_to_lane lends_source_to_underlay other_device_takes node_forwards'

# expect_attacks works|fails ATTACK...
expect_attacks() {
	local wanted=$1 attack got
	shift
	for attack; do
		for family in 4 6; do
			got=fails
			! $attack || got=works
			is "$got" "$wanted" "$attack, IPv$family"
		done
	done
}

# --- who may ---

passes() { # passes LANE FROM TO: its owner
	comes "$1" "$3" "$2" owner "$1" "$2" udp-send "$(address "$1" "$3")" $PORT forged &&
		connects "$1" "$3" "$2" owner "$1" "$2" tcp-connect "$(address "$1" "$3")" $PORT
}

expect_passage() {
	for family in 4 6; do
		for way in 'A n0 n1' 'A n1 n0' 'A n1 n1' 'B n2 n0'; do
			# shellcheck disable=SC2086  # three words
			passes $way || fail "an owner does not get through: $way, IPv$family"
		done
	done
}

# --- rules: gone, and there ---

flush() { # flush NODE...: as an administrator does it
	local node
	for node; do
		on "$node" -- nft flush ruleset
	done
}
open_up() { # open_up NODE...: programs, too, which daemons would hold
	local node
	for node; do
		kill_pid "$(agent_pid "$node")"
	done
	flush "$@"
	for node; do
		on "$node" -- find /sys/fs/bpf -mindepth 2 -type f -delete
	done
	# Programs are detached some time later.
	for node in n0 n1 n2; do
		wait_for as $carol "$node" udp-send "10.204.0.9" 4789 x
	done
}

it 'the owner gets through, on all nodes of the job, and on one'
expect_passage

it 'without rules every attack works'
open_up n0 n1 n2 n3
# shellcheck disable=SC2086  # lists
if [ "$isolation" = host ]; then
	expect_attacks works $by_socket $by_listening $by_vxlan $from_outside $by_address
else
	expect_attacks works $by_vxlan $from_outside
	expect_attacks fails $by_socket $by_listening $by_address
fi
expect_passage

it 'a start writes them again, for the lanes that are there'
for node in n0 n1 n2 n3; do
	restart $node
done
wait_for is_up n0 n1 n2 n3
expect_passage

it 'with rules and programs each fails'
# shellcheck disable=SC2086
expect_attacks fails $by_socket $by_listening $by_vxlan $from_outside $by_address
expect_passage

it 'an administrator who flushes all rules opens what only they close'
# With the next lease they would be back.
kill_manager
flush n0 n1 n2 n3
# shellcheck disable=SC2086
expect_attacks works $from_outside
# shellcheck disable=SC2086
expect_attacks fails $by_socket $by_listening $by_vxlan
expect_passage

it 'the next lane of a node brings them back, for all that are there'
restart manager
wait_for is_up n0 n1 n2 n3
flush n0 n1 n2 n3
c=$(reserve jm/c 'n[0-3]')
expect_exit 0 fairlead apply "$c"
expect_exit 0 fairlead release "$c"
# shellcheck disable=SC2086
expect_attacks fails $by_socket $by_vxlan $from_outside
expect_passage

it 'released, nothing is left on any node'
expect_exit 0 fairlead release "$a"
expect_exit 0 fairlead release "$b"
expect_clean
for node in n0 n1 n2 n3; do
	is "$(on $node -- ip -brief link show type vxlan)" '' "devices on $node"
	lacks "$(on $node -- nft -s list table inet fairlead)" 'fl42' "rules on $node"
done

story_end
