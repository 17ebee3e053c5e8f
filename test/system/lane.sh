#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Lanes on plain Ethernet, with traffic: whose they are, and that they outlive
# daemons, and do not outlive their job or their node.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'other users have no part in a cluster of a user'
need_others
[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
probe=$build/test/lane/lane-probe

# in_job NODE GRANT COMMAND...: as lane-probe of its owner; needs no manager
in_job() {
	# shellcheck disable=SC2016  # expanded by the shell inside
	on "$1" -- sh -c '[ ! -e "$1" ] || echo $$ >"$1" || exit 9; shift; exec "$@"' sh \
		"/run/cgroup/job-$2/cgroup.procs" "$probe" --uid $alice "${@:3}"
}

listen() { # listen NODE ADDRESS GRANT: a task of the job, until one of it connects
	: >"$work/listener"
	in_job "$1" "$3" tcp-listen "$2" 7000 >"$work/listener" 2>&1 3>&- &
	listener=$!
	wait_for grep -q ready "$work/listener"
}

reaches() { # reaches NODE ADDRESS GRANT: what listens there
	expect_exit 0 in_job "$1" "$3" tcp-connect "$2" 7000
	is "$out" connected "from $1 to $2"
	wait "$listener"
	is "$(tail -n 1 "$work/listener")" accepted "from $1 to $2"
}

# passes FROM TO ADDRESS GRANT: tasks of the job can talk, at this address of TO
passes() {
	listen "$2" "$3" "$4"
	reaches "$1" "$3" "$4"
}

# expect_refused NODE --user U|--job J PROBE...
expect_refused() {
	expect_exit 1 on "$1" "$2" "$3" "$probe" "${@:4}"
	has "$out" '^refused' "$*"
}

devices() { # devices NODE: of lanes, with their numbers in the kernel
	on "$1" -- ip -o link show type vxlan | cut -d: -f1,2 | paste -sd,
}

grant_of() { # grant_of JOB NUMBER
	json_of list | gojq --arg k "run/$1/0" '.jobs[] | select(.key == $k).grant_id'
}

expect_no_lane() { # expect_no_lane NODE...: nothing of any lane is there
	local node
	for node; do
		is "$(devices "$node")" '' "devices on $node"
		lacks "$(on "$node" -- nft list table inet fairlead)" 'fl[0-9]' "rules on $node"
		is "$(on "$node" -- sh -c 'ls /run/fairlead/netns 2>/dev/null')" '' \
			"networks on $node"
	done
	is "$(json_of pools | gojq -r '.pools.ethernet.vni | .held + .quarantined')" '' 'VNIs'
}

cluster_up -N 3 --nics 1 --rails 2

it 'a job has a device on each rail, and its environment names them'
job_start one -i ethernet -N 2 -n 4 --user $alice
wait_for has_started one 4
one=$(grant_of 1)
is "$(job_variable one n0.1 FAIRLEAD_INTERFACES)" fl4096,fl4096r1 'devices'
is "$(job_variable one n1.0 FAIRLEAD_ADDRESSES)" 100.64.0.2,100.80.0.2 'addresses'
is "$(job_variable one n1.0 FAIRLEAD_ISOLATION)" host 'isolation'
for name in TCP NET SOCKETS UDP; do
	is "$(job_variable one n1.0 FI_${name}_IFACE)" fl4096 "libfabric's device, $name"
done
for name in OMPI_MCA_btl_tcp_if_include UCX_NET_DEVICES; do
	is "$(job_variable one n1.0 $name)" fl4096,fl4096r1 "$name"
done
has "$(devices n0)" '^[0-9]+: fl4096,[0-9]+: fl4096r1$' 'devices of n0'
is "$(devices n2)" '' 'devices of a node that is not in the job'

it 'its tasks reach each other on both rails, by IPv4 and IPv6'
passes n0 n1 100.64.0.2 "$one"
passes n1 n0 100.80.0.1 "$one"
passes n0 n1 fd46:4c00:0:1000::2 "$one"
passes n1 n1 100.64.0.2 "$one"

it 'nobody else does: no other user, and no other job of its owner'
job_start two -i ethernet -N 2 -n 2 --user $bob
wait_for has_started two 2
listen n1 100.64.0.2 "$one"
for node in n0 n1; do
	expect_refused $node --user $bob tcp-connect 100.64.0.2 7000
	expect_refused $node --job run/2 tcp-connect 100.64.0.2 7000
	expect_refused $node --job run/2 udp-send 100.64.0.2 7000 hello
	expect_refused $node --job run/2 udp-send fd46:4c00:0:1000::2 7000 hello
	expect_refused $node --job run/2 raw-vxlan 10.204.0.2 4789 4096 \
		02:00:10:00:00:02 100.64.0.1 100.64.0.2 7000 hello
done
if [ -n "$cgroup" ]; then
	expect_refused n1 --job run/2 udp-receive 100.64.0.2 7000
	expect_refused n0 --user $alice tcp-connect 100.64.0.2 7000
fi
reaches n0 100.64.0.2 "$one"
job_end two

it 'daemons of a node die: traffic goes on, and the next ones find the lane'
before=$(devices n1)
kill_pid "$(guard_pid n1)"
passes n0 n1 100.64.0.2 "$one"
wait_for eval '! pid_of n1 daemon >/dev/null || is_gone "$(pid_of n1 daemon)"'
passes n1 n0 100.80.0.1 "$one"
restart n1
is "$(devices n1)" "$before" 'devices'
kill_pid "$(agent_pid n0)"
passes n0 n1 100.64.0.2 "$one"
restart n0
passes n0 n1 100.64.0.2 "$one"

it 'the manager dies: traffic goes on, and the next one takes the lane back'
kill_manager
passes n0 n1 100.64.0.2 "$one"
restart manager
listen n1 100.64.0.2 "$one"
expect_refused n0 --user $bob tcp-connect 100.64.0.2 7000
reaches n0 100.64.0.2 "$one"
job_end one
expect_no_lane n0 n1 n2

it 'with isolation=netns a task sees its lane, and nothing else'
job_start apart -i ethernet -o isolation=netns -N 2 -n 2 --user $alice
wait_for has_started apart 2
apart=$(json_of list | gojq -r '.jobs[0] | "\(.key) \(.grant_id)"')
read -r key grant <<<"$apart"
is "$(job_variable apart n0.0 FAIRLEAD_ISOLATION)" "netns:/run/fairlead/netns/$grant" \
	'isolation'
interface=$(job_variable apart n0.0 FAIRLEAD_INTERFACES)
address=$(job_variable apart n1.0 FAIRLEAD_ADDRESSES)
expect_exit 0 on n0 --job "$key" ip -brief address
is "$(grep -o '^[a-z0-9]*' <<<"$out" | sort | paste -sd,)" "$interface,lo" 'devices'
has "$out" '^lo +UNKNOWN +127.0.0.1/8' 'loopback'
is "$(devices n0)" '' 'devices that others see'
: >"$work/listener"
on n1 --job "$key" "$probe" tcp-listen "${address%,*}" 7000 >"$work/listener" 2>&1 3>&- &
wait_for grep -q ready "$work/listener"
expect_refused n0 --user $alice tcp-connect "${address%,*}" 7000
expect_exit 0 on n0 --job "$key" "$probe" tcp-connect "${address%,*}" 7000
wait $!
job_end apart
expect_no_lane n0 n1

it 'a node that crashes has no lane any more, and the release takes the rest'
job_start crash -i ethernet -N 2 -n 2 --user $alice
wait_for has_started crash 2
reboot n1
is "$(devices n1)" '' 'devices of n1'
is "$(devices n0 | grep -c fl)" 1 'lines of devices of n0'
job_let_go crash
job_wait crash
[ "$code" -gt 128 ] || fail "exit $code of a job whose task was killed"
expect_no_lane n0 n1

it 'the next job on that node has a lane that works'
job_start after -i ethernet -N 'n[1-2]' -n 2 --user $alice
wait_for has_started after 2
read -r grant address <<<"$(json_of list | gojq -r '.jobs[0].grant_id') \
	$(job_variable after n2.0 FAIRLEAD_ADDRESSES)"
passes n1 n2 "${address%,*}" "$grant"
passes n1 n2 "${address#*,}" "$grant"
job_end after
expect_no_lane n0 n1 n2

story_end
