#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `make demo` shows what the README says, as root and as anybody.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

demo() { # demo COMMAND...
	expect_exit 0 "$@"
	has "$(tail -n 1 <<<"$out")" 'complete: everything was as expected' 'the last line'
	for title in 'A cluster of four nodes' 'Two jobs side by side' 'Nobody else can use a lane' \
		'undone on all nodes' 'killed and restarted' 'quarantine' 'plain Ethernet' 'Multicast trees' \
		'Quadrics Elan' 'Nothing is left'; do
		has "$out" "== [0-9]+\. .*$title" 'the titles'
	done
}

has_mpi() {
	command -v mpirun.openmpi >/dev/null && [ -x "$tools/mpi-ring" ]
}

# in_closed_home COMMAND...: with the checkout below a directory that only root can
# enter, where it is the working directory; the build is not where it was
in_closed_home() {
	mkdir -m 700 "$work/home"
	mkdir "$work/home/fairlead"
	# shellcheck disable=SC2016  # expanded by the shell inside
	unshare --mount sh -c 'mount --bind "$1" "$2" && mount -t tmpfs none "$3" &&
		cd "$2" && shift 3 && exec "$@"' sh "$root" "$work/home/fairlead" "$build" "$@"
}

if $is_root; then
	it 'as root: all of it, with two users, who cannot enter the checkout'
	demo in_closed_home examples/demo "${build#"$root"/}"
	lacks "$out" 'Left out' 'the demo'
	has "$out" 'EPERM' 'what Bob gets'
	has "$out" ', refused: send 2' 'what the node has counted'
	if has_mpi; then
		has "$out" '^rank 3 of 4 on n1 as 2001: right$' 'the MPI job'
		has "$out" '^  shm +[1-9]' 'what went by shared memory'
		has "$out" '^  tcp;ofi_rxm:fl[0-9]+ +[1-9]' 'what went by the lane'
	else
		has "$out" 'An MPI program is left out: it needs the package' 'what it says'
	fi
fi

if $is_root && has_mpi; then
	it 'a failure shows what was expected and seen, and keeps the logs'
	mkdir "$work/bin"
	printf '#!/bin/sh\necho "no MPI today" >&2\nexit 1\n' >"$work/bin/mpirun.openmpi"
	chmod 755 "$work/bin/mpirun.openmpi"
	expect_exit 1 env PATH="$work/bin:$PATH" "$root/examples/demo" "$build"
	has "$out" '^FAILED in part 7\. .*plain Ethernet$' 'the part'
	has "$out" "^  MPI: expected four ranks that report 'right'$" 'what was expected'
	has "$out" '^    no MPI today$' 'what was seen'
	kept=$(sed -n 's/^  - Read \(.*\): .*/\1/p' <<<"$out")
	has "$(<"$kept/n3/fairleadd.log")" 'registered' 'the log of a node'
	has "$(<"$kept/manager/fairleadd.log")" 'serving version' 'the log of the manager'
	[ -s "$kept/doctor" ]
	rm -r "$kept"
fi

pass_claim
need_somebody
it 'as a plain user: all but what needs a second one, and it says so'
demo somebody "$root/examples/demo" "$build"
has "$out" 'You are not root' 'what it says'
pass_claim
printf '1..%d\n' "$claim_count" >&3
