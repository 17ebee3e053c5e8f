#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `make demo` shows what the README says, as root and as anybody.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

demo() { # demo COMMAND...
	local said=$work/demo
	expect_exit 0 "$@"
	printf '%s\n' "$out" >"$said"
	is "$(tail -n 1 "$said")" 'All as it should be.' 'the last line'
	for title in 'A cluster of four nodes' 'Two jobs side by side' 'Nobody else gets in' \
		'undone on all' 'killed and started again' 'quarantine' 'plain Ethernet' \
		'A capability: Quadrics Elan' 'Nothing is left'; do
		has "$out" "== [1-9]\. .*$title" 'the titles'
	done
}

if $is_root; then
	it 'as root: all of it, with two users'
	demo "$root/examples/demo" "$build"
	lacks "$out" 'Left out' 'the demo'
	has "$out" 'EPERM' 'what Bob gets'
	has "$out" ', refused: send 2' 'what the node has counted'
	if command -v mpirun.openmpi >/dev/null && [ -x "$tools/mpi-ring" ]; then
		has "$out" '^rank 3 of 4 on n1 as 2001: right$' 'the MPI job'
		has "$out" '^  shm +[1-9]' 'what went by shared memory'
		has "$out" '^  tcp;ofi_rxm:fl[0-9]+ +[1-9]' 'what went by the lane'
	else
		has "$out" 'It is not an MPI job here: that needs' 'what it says'
	fi
fi

pass_claim
need_somebody
it 'as a plain user: all but what needs a second one, and it says so'
demo somebody "$root/examples/demo" "$build"
has "$out" 'You are not root' 'what it says'
pass_claim
printf '1..%d\n' "$claim_count" >&3
