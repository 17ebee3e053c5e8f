#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A cluster of somebody who is not root: the same stories, in user namespaces.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_somebody

for story in main-job environment reboot run; do
	it "the story '$story', as a plain user"
	expect_exit 0 somebody "$root/test/system/$story.sh" 3>&-
	lacks "$(grep -v 'SKIP libfabric here has no cxi provider' <<<"$out")" '^not ok|SKIP' "$story"
	has "$(tail -n 1 <<<"$out")" '^1\.\.[0-9]+$' "the end of $story"
done

it 'what this mode cannot do is said'
cat >"$work/second-user" <<'END'
fairlead cluster up --quiet -N 1 --nics 1 >/dev/null || exit 1
fairlead run -N 1 --user 2002 -- true
echo "exit $?"
fairlead cluster exec --user 2002 n0 -- true
echo "exit $?"
fairlead cluster down
END
expect_exit 0 somebody env FAIRLEAD_CLUSTER="/tmp/$(basename "$work").user" \
	sh "$work/second-user"
is "$(grep exit <<<"$out" | paste -sd' ')" 'exit 77 exit 77' 'exit codes'
expect_error 'only that user exists in it'
pass_claim
printf '1..%d\n' "$claim_count" >&3
