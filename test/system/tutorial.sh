#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# doc/tutorial.md, as it stands there: each command is run and prints each line that
# the page shows below it, times and incarnations aside.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'the tutorial has jobs of two users'
page=$root/doc/tutorial.md
cd "$work"

# What differs from run to run is replaced by a word; columns are one space apart.
plain() {
	sed -E 's/\b[0-9a-f]{8}\b/INCARNATION/; s/\b[0-9]+\.[0-9]+\.[0-9]+\b/VERSION/
		s/20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8}/DATE/g
		s/\b[0-9]+ (ms|s|min)\b/TIME/g; s/ +/ /g; s/ $//'
}

# The page as lines: '# HEADING', '$ COMMAND', '? CONDITION', '> OUTPUT'.
script() {
	awk '
		/^```/ { inside = !inside; next }
		/^## / { print "# " substr($0, 4) }
		/^<!-- wait: / { sub(/^<!-- wait: /, ""); sub(/ -->$/, ""); print "? " $0 }
		inside && /^\$ / { print; next }
		inside { print "> " $0 }
	' "$page"
}

shows() { # shows LINE: the last command has printed it; '...' stands for anything
	local line wanted
	wanted=$(plain <<<"$1")
	while IFS= read -r line; do
		[ "$line" != "$wanted" ] || return 0
		[[ $wanted != *...* ]] || [[ $line != "${wanted%%...*}"*"${wanted#*...}" ]] || return 0
	done <seen
	return 1
}

lines=0
while IFS= read -r line <&4; do
	text=${line#??}
	case $line in
	'# '*) it "$text" ;;
	'$ pack/'* | '$ export PATH='*) ;; # the build that is tested
	'$ '*)
		eval "$text" >output 2>error 3>&- 4>&- ||
			fail "'$text' exits with $?: $(cat output error)"
		plain <output >seen
		;;
	'? '*) wait_for eval "$text" ;;
	'> '*)
		shows "$text" || fail "the page has: $text" "and not: $(cat output)"
		lines=$((lines + 1))
		;;
	esac
done 4< <(script)
[ "$lines" -gt 20 ] || fail "$page shows $lines lines only"

it 'nothing is left: no process, namespace, mount, cgroup or file'
is "$(left_behind)" '' 'left behind'
pass_claim
printf '1..%d\n' "$claim_count" >&3
