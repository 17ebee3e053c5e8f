#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `make demo` shows what the README says, as root and as anybody.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

demo() { # demo COMMAND...: by which it is run
	local said=$work/demo
	expect_exit 0 "$@" "$root/examples/demo" "$build"
	printf '%s\n' "$out" >"$said"
	is "$(tail -n 1 "$said")" 'All as it should be.' 'the last line'
	for title in 'A cluster of four nodes' 'Two jobs side by side' 'Nobody else gets in' \
		'undone on all' 'killed and started again' 'quarantine' 'Nothing is left'; do
		has "$out" "== [1-7]\. .*$title" 'the titles'
	done
}

if $is_root; then
	it 'as root: all of it, with two users'
	demo env
	lacks "$out" 'Left out' 'the demo'
	has "$out" 'EPERM' 'what Bob gets'
fi

it 'as a plain user: all but what needs a second one, and it says so'
if ! setpriv --reuid 2005 --regid 2005 --clear-groups unshare -Ur true 2>/dev/null &&
	! unshare -Ur true 2>/dev/null; then
	printf '# left out: users may not make namespaces here\n'
elif $is_root; then
	demo setpriv --reuid 2005 --regid 2005 --clear-groups env HOME=/ \
		PATH="$PATH" TMPDIR=/tmp
	has "$out" 'You are not root' 'what it says'
else
	demo env
	has "$out" 'You are not root' 'what it says'
fi
pass_claim
printf '1..%d\n' "$claim_count" >&3
