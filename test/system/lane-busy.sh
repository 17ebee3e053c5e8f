#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is left of a lane on Ethernet because something of somebody else's hangs on
# it: the job ends, its VNI waits, the node is drained when it takes too long, and
# all of it is undone when the thing is gone. What does not hold a lane, does not.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

interconnect=ethernet
need_root 'classes and mounts of an administrator'
[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
cluster_up -N 2 --nics 1 -s ethernet.vni_pool=4242-4244 \
	-s ethernet.shaping=true -s ethernet.link_rate=10G -s ethernet.rate_reserved=500M \
	-s manager.revoke_timeout=2 -s node.epilog_timeout=1 \
	-s node.housekeeping_timeout=2

grant=$(reserve jm/busy 'n[0-1]' -o reserved=100M)
expect_exit 0 fairlead apply "$grant"
expect_exit 0 on n1 -- tc class show dev eth1
class=$(sed -n 's/^class htb \(464c:[0-9a-f]*\) parent 464c:1 .*rate 100Mbit.*/\1/p' <<<"$out")
has "$class" '^464c:' 'the class of the lane'
on n1 -- tc class add dev eth1 parent "$class" classid 464c:9999 htb rate 1mbit
busy_text="eth1: lane 4242 \\(VNI 4242\\) cannot be taken: .*class"

it 'a dry run says what is in the way, and touches nothing'
expect_exit 75 on n1 -- fairlead epilog jm/busy --dry-run
expect_out "^busy $grant: $busy_text"
expect_objects 1 n0 n1
has "$(on n1 -- ip -brief link show dev fl4242)" '[<,]UP[,>]' 'the device'

it 'a release ends the job; the VNI waits in quarantine'
expect_exit 0 fairlead release "$grant"
expect_out "grant $grant is released; vni 4242 stays in quarantine until n1 has confirmed"
expect_pool held ''
expect_pool quarantined 4242
expect_objects 0 n0
holds "$(json_of quarantine list)" '.identifiers | length == 1 and (.[0] |
	.interconnect == "ethernet" and .id == 4242 and .grant_id == $g and
	(.nodes | tostring | test("n1")) and (.why | test($t)))' \
	--argjson g "$grant" --arg t "$busy_text"

it 'what is left carries nothing: it is down'
lacks "$(on n1 -- ip -brief link show dev fl4242)" '[<,]UP[,>]' 'the device'
is "$(on n0 -- ip -brief link show type vxlan)" '' 'devices of n0'

it 'the VNI is not handed out, however often the pool goes round'
for i in 1 2 3 4 5; do
	other=$(reserve jm/other$i n0)
	has "$(vnis_of "$other")" '^424[34]$' 'VNI'
	fairlead release "$other"
done

it 'it waits over a restart of the node'"'"'s daemon, and a kill of it'
kill_pid "$(guard_pid n1)"
restart n1
wait_for is_up n1
expect_pool quarantined 4242
expect_objects 1 n1

it 'housekeeping tries long, then the node is drained: lane, NIC, what is in the way'
expect_exit 75 on n1 -- fairlead housekeeping jm/busy
expect_out "^busy $grant: $busy_text"
wait_for is_drained n1
has "$(json_of node list | gojq -r '.nodes[] | select(.name == "n1").reason')" \
	"$busy_text" 'the reason'
expect_exit 1 reserve jm/on-drained n1
expect_error 'drained nodes: n1'

it 'when the class is gone, the rest is done: VNI free, node undrained'
on n1 -- tc class del dev eth1 classid 464c:9999
wait_for is_quarantined 0
wait_for eval '! is_drained n1'
expect_objects 0 n0 n1
is "$(on n1 -- ip -brief link show type vxlan)" '' 'devices of n1'
lacks "$(on n1 -- tc class show dev eth1)" "^class htb $class " 'classes of n1'
expect_clean

# in_namespace GRANT: a process of the job that stays, in the job's network
in_namespace() {
	on n1 -- nsenter "--net=/run/fairlead/netns/$1" \
		sh -c 'echo started; exec flock -s '"$work/stay"' true' >"$work/inside" 3>&- &
	inside=$!
	wait_for grep -q started "$work/inside"
}

it 'a process that stays in the job'"'"'s network holds nothing of the lane'
: >"$work/stay"
exec {stay}<"$work/stay"
flock -x "$stay"
grant=$(reserve jm/stays 'n[0-1]' -o isolation=netns)
expect_exit 0 fairlead apply "$grant"
in_namespace "$grant"
on n1 -- mkdir /run/fairlead/kept
on n1 -- touch /run/fairlead/kept/file
on n1 -- mount --bind "/run/fairlead/netns/$grant" /run/fairlead/kept/file
expect_exit 0 fairlead release "$grant"
is "$out" '' 'what waits'
is "$(on n1 -- nsenter --net=/run/fairlead/kept/file ip -brief link show type vxlan)" '' \
	'devices in the network that somebody keeps'
expect_clean
flock -u "$stay"
wait $inside
on n1 -- umount /run/fairlead/kept/file
on n1 -- rm -r /run/fairlead/kept

it 'a lane in the network of a job is seen and cleaned, also when no journal knows it'
grant=$(reserve jm/lost 'n[0-1]' -o isolation=netns)
vni=$(vnis_of "$grant")
expect_exit 0 fairlead apply "$grant"
expect_objects 1 n0 n1
holds "$(objects n1)" '.[0].grant_id == $g and (.[0].detail | test("isolation=netns"))' \
	--argjson g "$grant"
kill_pid "$(agent_pid n1)"
rm "$FAIRLEAD_CLUSTER/n1/run/node/journal"
restart n1
wait_for is_up n1
holds "$(objects n1)" '.[0].grant_id == 0 and .[0].ids == [$v]' --argjson v "$vni"
expect_exit 0 on n1 -- fairlead clean --object "eth1/$vni"
expect_out "destroyed ethernet eth1 $vni"
expect_objects 0 n1
is "$(on n1 -- ls /run/fairlead/netns)" '' 'networks of jobs'
expect_exit 0 fairlead release "$grant"
wait_for is_pool withheld ''
expect_clean

it 'a mount over the network of a job is in the way, until the node has tried again'
grant=$(reserve jm/over 'n[0-1]' -o isolation=netns)
expect_exit 0 fairlead apply "$grant"
on n1 -- mount --bind /etc/hostname "/run/fairlead/netns/$grant"
expect_exit 0 fairlead release "$grant"
wait_for is_quarantined 0
is "$(on n1 -- ls /run/fairlead/netns)" '' 'networks of jobs'
is "$(on n1 -- grep -c "netns/$grant" /proc/self/mountinfo || true)" 0 'mounts'
expect_clean

story_end
