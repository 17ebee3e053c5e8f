#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The configuration changes while jobs run: what is in use is never forgotten.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 3 --nics 1 -s slingshot.vni_pool=1024-1031

set_value() { # set_value NAME VALUE: in the first place where it stands
	sed -i "0,/^ *$1 = .*/s//    $1 = \"$2\"/" "$config"
}

one=$(reserve jm/one 'n[0-2]')
two=$(reserve jm/two n0)
fairlead apply "$one"
fairlead apply "$two"

it 'nothing changed is said, and changes nothing'
expect_exit 0 fairlead manager reconfigure
expect_out 'nothing has changed'

it 'a pool that shrinks leaves what is in use draining'
set_value vni_pool 1025-1026
expect_exit 0 fairlead manager reconfigure
is "$out" "slingshot: vni_pool: 1024-1031 -> 1025-1026
slingshot: pool vni: draining 1024" 'changes'
is "$(fairlead manager reconfigure | wc -l)" 1 'lines when nothing new has changed'
expect_pool universe 1025-1026
expect_pool draining 1024
expect_pool held 1024-1025
expect_pool free 1026

it 'a draining VNI stays its job'"'"'s, over a restart too, and does not come back'
restart manager
expect_pool draining 1024
is "$(vnis_of "$one")" 1024 'VNI'
expect_objects 2 n0
fairlead release "$one"
expect_pool draining ''
expect_pool held 1025
expect_pool free 1026
next=$(reserve jm/next n0)
is "$(vnis_of "$next")" 1026 'VNI'
expect_exit 75 reserve jm/full n0
fairlead release "$next"

it 'a pool that grows has room at once, on SIGHUP too'
set_value vni_pool 1025-1028,2000
kill -HUP "$(pid_of manager)"
wait_for is_pool universe 1025-1028,2000
expect_pool free 1026-1028,2000
is "$(vnis_of "$two")" 1025 'VNI of the other job'

it 'other settings change too, for the jobs that follow'
set_value vni_pool '1025-1040'
sed -i '/vni_pool/a default_vnis = 2\ntraffic_classes = "BULK_DATA"\nper_core_txqs = 1' "$config"
expect_exit 0 fairlead manager reconfigure
expect_out 'default_vnis'
expect_out 'traffic_classes'
expect_exit 0 fairlead run -N 1 -n 2 --user $alice -- printenv SLINGSHOT_TCS SLINGSHOT_VNIS
has "$out" 'n0.0: 0x04' 'classes'
has "$out" 'n0.0: [0-9]+,[0-9]+$' 'VNIs'

it 'what needs a restart is said, and ignored until then'
set_value listen 10.203.255.254:7999
expect_exit 0 fairlead manager reconfigure
expect_out 'listen.*needs a restart'
is_up n0 n1 n2
set_value listen 10.203.255.254:7171

it 'a node names what it does not take without one either'
sed -i '/vni_pool/a require_devices = false' "$config"
kill -HUP "$(agent_pid n1)"
wait_for eval 'on n1 -- fairlead node status |
	grep -q "require_devices: .false. instead of .true. needs a restart"'
is "$(on n1 -- fairlead node status --json | gojq -c '.restart | length')" 1 'lines'
has "$(<"$FAIRLEAD_CLUSTER/n1/log/fairleadd.log")" \
	'ignored until a restart setting=.driver .slingshot. require_devices' 'log'
sed -i '/require_devices = false/d' "$config"
kill -HUP "$(agent_pid n1)"
wait_for eval '[ "$(on n1 -- fairlead node status --json | gojq -c .restart)" = "[]" ]'

it 'a configuration with an error is refused whole'
before=$(json_of pools)
set_value vni_pool 3000-3010
sed -i 's/^ *nodes = .*/    nodes = "n[0-1],n1"/' "$config"
expect_exit 1 fairlead manager reconfigure
expect_error 'nodes'
is "$(json_of pools)" "$before" 'pools'
sed -i 's/^ *nodes = .*/    nodes = "n[0-2]"/' "$config"
set_value vni_pool 1025-1040
fairlead manager reconfigure

it 'a node that leaves is kept as leaving while it holds something'
both=$(reserve jm/both 'n[1-2]')
fairlead apply "$both"
sed -i 's/^ *nodes = .*/    nodes = "n[0-1]"/' "$config"
expect_exit 0 fairlead manager reconfigure
expect_out 'n2'
is "$(node_state n2)" leaving 'state'
expect_exit 1 reserve jm/left n2
expect_error 'n2'
expect_exit 0 fairlead release "$both"
is "$out" '' 'quarantine'
expect_objects 0 n2
wait_for eval '[ -z "$(node_state n2)" ]'

it 'a node that comes is used at once'
sed -i 's/^ *nodes = .*/    nodes = "n[0-3]"/' "$config"
expect_exit 0 fairlead manager reconfigure
wait_for is_up n2
is "$(node_state n3)" down 'state of a node that is not there yet'
expect_exit 0 fairlead run -N n2 --user $alice -- cxi-lni
expect_out allocated

it 'interconnects are turned off and on, but not while they hold something'
sed 's/^driver "slingshot" {/driver "none" {}\n&/; s/interconnect = .*/interconnect = "none"/' \
	"$config" | sed '/^driver "slingshot" {/,/^}/d' >"$work/off.conf"
cp "$config" "$work/on.conf"
cat "$work/off.conf" >"$config"
expect_exit 1 fairlead manager reconfigure
expect_error "slingshot.*grants"
fairlead release "$two"
expect_exit 0 fairlead manager reconfigure
expect_exit 1 reserve jm/off n0 -i slingshot
expect_error 'slingshot'
cat "$work/on.conf" >"$config"
expect_exit 0 fairlead manager reconfigure
expect_exit 0 reserve jm/on n0
fairlead release jm/on

story_end
