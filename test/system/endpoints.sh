#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How manager and nodes reach each other: by collectives, whatever becomes of
# the links by which nodes register. A lane outlives all of it.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 3 --nics 1 -s slingshot.vni_pool=1024-1031
manager_place=$(fairlead cluster show --json | gojq .fabric)

links() { # how many connections of nodes the manager has
	nsenter -t "$manager_place" -n ss -Htn state established 'sport = :7171' | wc -l
}
has_links() { # has_links COUNT
	[ "$(links)" -eq "$1" ]
}
address() { # address NODE: of its endpoint, as the kernel has it
	on "$1" -- ss -Htln | awk '{ print $4 }' | grep '^10\.'
}

it 'a node that rests has no connection, is up, and obeys'
wait_for has_links 0
is_up n0 n1 n2
grant=$(reserve jm/long 'n[0-2]')
expect_exit 0 fairlead apply "$grant"
expect_objects 1 n0 n1 n2
is "$(links)" 0 'links'

it 'a daemon that starts again is found at its new address'
before=$(address n1)
[ -n "$before" ] || fail 'the endpoint of n1 listens nowhere'
restart n1
[ "$(address n1)" != "$before" ] || fail 'its address is the same'
short=$(reserve jm/short 'n[0-2]')
expect_exit 0 fairlead apply "$short"
expect_objects 2 n0 n1 n2
expect_exit 0 fairlead release "$short"
expect_objects 1 n0 n1 n2

it 'the end of the manager, and of its groups, ends no lane'
kill_manager
expect_objects 1 n0 n1 n2
restart manager
is "$(job_state "$grant")" active 'state'
expect_objects 1 n0 n1 n2

it 'the manager that comes after it takes the lane back by a group of its own'
expect_exit 0 fairlead release "$grant"
expect_clean

story_end
