#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The pool and the networks of lanes on Ethernet change while jobs run: those keep
# their VNIs and addresses, and nobody gets what clashes with them.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

interconnect=ethernet
need_root 'lanes of users'
need_others
[ -x /usr/sbin/nft ] || skip_all 'there is no /usr/sbin/nft (package nftables)'
probe=$build/test/lane/lane-probe
cluster_up -N 3 --nics 1 -s ethernet.vni_pool=4096-4103

set_value() { # set_value NAME VALUE: of the section
	sed -i "/^driver \"ethernet\"/,/^}/ s|^ *$1 = .*|    $1 = \"$2\"|" "$config"
}
addresses() { # addresses NODE: of lanes, with their devices
	on "$1" -- ip -brief address show type vxlan | awk '{ print $1, $3, $4 }'
}
passes() { # passes: the first job's owner, from n0 to n1
	: >"$work/listener"
	on n1 -- "$probe" --uid $alice tcp-listen 100.64.0.2 7000 >"$work/listener" 3>&- &
	wait_for grep -q ready "$work/listener"
	expect_exit 0 on n0 -- "$probe" --uid $alice tcp-connect 100.64.0.2 7000
	wait $!
}

one=$(reserve jm/one 'n[0-1]')
expect_exit 0 fairlead apply "$one"
before=$(addresses n0)
is "$before" 'fl4096 100.64.0.1/22 fd46:4c00:0:1000::1/64' 'addresses'

it 'a pool that moves leaves what is in use draining, with its addresses'
# Of VNIs that share their IPv4 networks with the old ones: 1024 is their number.
set_value vni_pool 5120-5123
expect_exit 0 fairlead manager reconfigure
expect_out 'draining 4096'
expect_pool draining 4096
expect_pool free 5120-5123
passes
for where in manager n0 n1; do
	restart $where
done
wait_for is_up n0 n1 n2
expect_pool draining 4096
is "$(addresses n0)" "$before" 'addresses'
passes

it 'a VNI whose network a node has already is refused there, and says why'
two=$(reserve jm/two 'n[1-2]')
is "$(vnis_of "$two")" 5120 'VNI'
expect_exit 1 fairlead apply "$two"
expect_error 'n1: .*fl4096'
is "$(addresses n1 | wc -l) $(addresses n2 | wc -l)" '1 0' 'devices'
passes

it 'the next one is not, nor is it where no node has it'
three=$(reserve jm/three 'n[0-2]')
is "$(vnis_of "$three")" 5121 'VNI'
expect_exit 0 fairlead apply "$three"
is "$(addresses n0)" "$before
fl5121 100.64.4.1/22 fd46:4c00:0:1401::1/64" 'addresses'
expect_exit 0 fairlead release "$three"

it 'networks that change are those of the jobs that follow, where nothing overlaps'
set_value vni_pool 5120
sed -i '/^driver "ethernet"/a\    ipv4_lane_size = "20"' "$config"
expect_exit 0 fairlead manager reconfigure
expect_out 'ipv4_lane_size'
four=$(reserve jm/four 'n[0-2]')
expect_exit 1 fairlead apply "$four"
expect_error "n\\[0-1\\]: .*VNI 5120 overlaps that of device fl4096"
set_value vni_pool 5123
expect_exit 0 fairlead manager reconfigure
five=$(reserve jm/five 'n[0-2]')
expect_exit 0 fairlead apply "$five"
is "$(addresses n0)" "$before
fl5123 100.64.48.1/20 fd46:4c00:0:1403::1/64" 'addresses'
passes
expect_exit 0 fairlead release "$five"
sed -i '/ipv4_lane_size/d' "$config"
set_value vni_pool 5120-5123
expect_exit 0 fairlead manager reconfigure

it 'released, the draining VNI is gone, and does not come back'
expect_exit 0 fairlead release "$one"
expect_pool draining ''
expect_pool universe 5120-5123
expect_clean

it 'a pool with two VNIs of one network is refused whole'
set_value vni_pool 4096-5120
expect_exit 1 fairlead manager reconfigure
expect_error 'vni_pool.*(4096.*5120|network)'
expect_pool universe 5120-5123

story_end
