#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A manager and nodes that are one version of the protocol apart, as they are
# while a cluster is being updated: either way round, and mixed.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 2 --nics 2 -s slingshot.vni_pool=1024-1039

# The command finds its programs beside itself: here beside a newer daemon.
newer=$work/newer
mkdir -p "$newer/lanes/daemon" "$newer/emu/commands"
cp "$build/src/emu/commands/fairlead-cluster" "$newer/emu/commands"
ln -s "$build/src/lanes/client" "$newer/lanes/client"
ln -s "$build/src/emu/cxi" "$newer/emu/cxi"
ln -s "$tools/fairleadd-2" "$newer/lanes/daemon/fairleadd"

update() { # update NODE|manager: restart it as version 2
	"$newer/emu/commands/fairlead-cluster" restart "$1"
	has "$(readlink "/proc/$(pid_of "$1" daemon)/exe")" 'fairleadd-2$' "program of $1"
}
downgrade() { # downgrade NODE|manager
	restart "$1"
	has "$(readlink "/proc/$(pid_of "$1" daemon)/exe")" 'fairleadd$' "program of $1"
}
works() { # a job's life, and what is asked, told and confirmed besides
	local grant
	grant=$(reserve "jm/$1" 'n[0-1]' -o vnis=2)
	expect_exit 0 fairlead apply "$grant"
	expect_objects 4 n0 n1 # this and the long job
	expect_exit 0 fairlead node query 'n[0-1]' objects
	nic n1 busy svc="$(service_of n1 cxi0 "$grant")" nic=0 ms=forever
	fairlead release "$grant" >/dev/null
	is_quarantined 2 || fail 'nothing is in quarantine'
	nic n1 clear
	wait_for is_quarantined 0
	fairlead node drain n1 --reason test
	fairlead node undrain n1
	is "$(job_state jm/long)" active 'state of the long job'
}

long=$(reserve jm/long 'n[0-1]')
fairlead apply "$long"

it 'both of version 1'
works old

it 'a newer node and an older manager'
update n1
works newer-node

it 'a newer manager, with one node of each version'
update manager
works newer-manager

it 'a newer manager and older nodes'
downgrade n1
works older-nodes

it 'both of version 2'
update n0
update n1
works new

it 'and back to version 1: its journals are read'
downgrade manager
downgrade n0
downgrade n1
works back
fairlead release "$long"
expect_clean

it 'a node that shares no version stays off, and says so'
kill_pid "$(agent_pid n1)"
start_by_hand n1 "$tools/fairleadd-2-only" --role node --config "$config"
wait_for eval 'on n1 -- fairlead node status --json | gojq -e ".manager.error | test(\"version\")"'
says_up n1 && fail 'the node is up'
stop_by_hand n1
restart n1
says_up n1

story_end
