# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Tests of the command, as stories:
#
#	begin 'what is to be so'
#	answer status '{"epoch":3}'        # what the daemon will say
#	run status --json                  # fairlead status --json
#	expect_status 0
#	expect_json '.epoch == 3'
#
# The output is TAP. FAIRLEAD and FAKE name the programs.

: "${FAIRLEAD:?}" "${FAKE:?}"
export TZ=UTC LC_ALL=C.UTF-8 TERM=dumb
unset FAIRLEAD_JOB FAIRLEAD_CLUSTER FAIRLEAD_SOCKET FAIRLEAD_NODE_SOCKET FAIRLEAD_JOBS_DIR
unset SLINGSHOT_VNIS SLINGSHOT_DEVICES SLINGSHOT_SVC_IDS SLINGSHOT_TCS

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
failed=0
story=
problems=0

end_story() {
	[ -n "$story" ] || return 0
	count=$((count + 1))
	if [ "$problems" -eq 0 ]; then
		echo "ok $count - $story"
	else
		echo "not ok $count - $story"
		failed=$((failed + 1))
	fi
}

begin() {
	end_story
	story=$1
	problems=0
	: >"$work/script"
	: >"$work/log"
}

finish() {
	end_story
	echo "1..$count"
	[ "$failed" -eq 0 ]
}

problem() {
	problems=$((problems + 1))
	printf '%s\n' "$*" | sed 's/^/# /'
	for file in out err log; do
		sed "s/^/#   $file: /" "$work/$file"
	done
}

# answer OP JSON: see fake_daemon.c
answer() {
	printf '%s %s\n' "$1" "$2" >>"$work/script"
}

# run [ARGUMENT...]: fairlead, with its stdin
run() {
	status=0
	"$FAKE" "$work/script" "$work/log" "$FAIRLEAD" "$@" \
		>"$work/out" 2>"$work/err" || status=$?
}

expect_status() {
	[ "$status" -eq "$1" ] || problem "exit code is $status, not $1"
}

# The whole standard output
expect_out() {
	printf '%s\n' "$1" >"$work/wanted"
	cmp -s "$work/wanted" "$work/out" || problem "stdout is not: $1"
}

expect_no_out() {
	[ ! -s "$work/out" ] || problem "stdout is not empty"
}

# A line of the standard output, as an extended regular expression
expect_line() {
	grep -qE -- "^$1\$" "$work/out" || problem "stdout has no line: $1"
}

expect_err() {
	grep -qF -- "$1" "$work/err" || problem "stderr does not say: $1"
}

expect_no_err() {
	[ ! -s "$work/err" ] || problem "stderr is not empty"
}

# The standard output is one JSON text for which the filter is true
expect_json() {
	gojq -e "$1" "$work/out" >"$work/said-of-json" 2>&1 ||
		problem "not so in the JSON: $1"
}

# Of doctor --json
# expect_finding LEVEL CHECK TEXT [ADVICE]
expect_finding() {
	# shellcheck disable=SC2016  # it is gojq that expands
	gojq -e --arg level "$1" --arg check "$2" --arg text "$3" \
		--arg advice "${4:-}" 'any(.findings[]; .level == $level and
		.check == $check and (.text | contains($text)) and
		(.advice | contains($advice)))' "$work/out" >/dev/null 2>&1 ||
		problem "no finding: $1, $2: $3 ($4)"
}

# A filter on the array of all requests
expect_sent() {
	gojq -s -e "$1" "$work/log" >"$work/said-of-json" 2>&1 ||
		problem "not so in what was sent: $1"
}

# A command line that is wrong: nothing is asked, and the help is named
expect_misuse() {
	expect_status 2
	expect_no_out
	expect_err "$1"
	expect_err '--help'
	[ ! -s "$work/log" ] || problem "the daemon was asked"
}
