#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The software fabric manager, as clients meet it: credentials, certificates,
# faults on the line, kills, and requests that are none.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

softfm=$build/src/emu/fm/fairlead-softfm
dir=$work/fm
state=$work/fm.json
json='Content-Type: application/json'

fm_up() { # fm_up [OPTION...]
	rm -f "$dir/url"
	"$softfm" --dir "$dir" "$@" 2>>"$work/fm.log" &
	fm=$!
	wait_for test -s "$dir/url"
	url=$(cat "$dir/url")
}

fm_down() { # fm_down SIGNAL
	kill "-$1" "$fm"
	wait "$fm" || :
}

ask() { # ask METHOD PATH [CURL-ARGUMENT...]: the status; the body is in $work/body
	local method=$1 path=$2
	shift 2
	curl -sS --cacert "$dir/ca.pem" -X "$method" -o "$work/body" \
		-w '%{http_code}\n' "$@" "$url$path"
}

answers() { # answers STATUS ask|admin ...
	local wanted=$1
	shift
	is "$("$@")" "$wanted" "the status of $2 $3"
}

admin() {
	ask "$@" -u "cxi:$(cat "$dir/basic/passwd")" -H "$json"
}

ctl() {
	"$softfm" ctl --dir "$dir" "$@"
}

jobs=/fabric/collectives/jobs
trees=/fabric/collectives/multicasts
job='{"jobID":"cl-a1","mcastLimit":2}'
tree='{"macs":["0:00:10","0:00:11"],"vni":5,"timeout":9,"jobID":"cl-a1","jobStepID":"0"}'

it 'takes an OAuth token, a password and a client certificate, and nothing else'
fm_up --state "$state" --token-life 1000
answers 401 ask GET $jobs
secret=$(cat "$dir/auth/client-secret")
curl -sS --cacert "$dir/ca.pem" -o "$work/body" "$(cat "$dir/auth/endpoint")" -d \
	"grant_type=client_credentials&client_id=fairlead&client_secret=$secret&scope=openid"
token=$(gojq -r .access_token "$work/body")
answers 200 ask GET $jobs -H "Authorization: Bearer $token"
answers 200 admin GET $jobs
answers 200 ask GET $jobs --cert "$dir/client.pem" --key "$dir/client-key.pem"
answers 401 ask GET $jobs -H "Authorization: Bearer x$token"
ctl expire
answers 401 ask GET $jobs -H "Authorization: Bearer $token"

it 'makes a tree for the token of a job'
answers 201 admin POST $jobs -d "$job"
session=$(gojq -r .sessionToken "$work/body")
answers 201 ask POST $trees -H "$json" -H "Authorization: Bearer $session" -d "$tree"
is "$(gojq -r .hwRoot "$work/body")" 00:00:00:00:00:10 'the root'

it 'shows jobs and trees to a browser without their tokens'
answers 200 ask GET /
has "$(<"$work/body")" cl-a1 'the page'
lacks "$(<"$work/body")" "$session" 'the page'

it 'has its state after kill -9, and the same certificate authority'
fm_down KILL
fm_up --state "$state"
answers 201 ask POST $trees -H "$json" -H "Authorization: Bearer $session" -d "$tree"
is "$(gojq -r .hwRoot "$work/body")" 00:00:00:00:00:11 'the root'
answers 200 admin GET $jobs/cl-a1
is "$(gojq -c '.jobSteps["0"]' "$work/body")" '[0,1]' 'the trees'

it 'is late, loses answers before and after the deed, and hangs until it is cleared'
ctl fault op=create delay=1
answers 201 admin POST $jobs -d "${job/a1/a2}"
ctl fault op=create lost=before
expect_exit 52 admin POST $jobs -d "${job/a1/a3}"
answers 404 admin GET $jobs/cl-a3
ctl fault op=create lost=after
expect_exit 52 admin POST $jobs -d "${job/a1/a3}"
answers 200 admin GET $jobs/cl-a3
ctl fault op=get delay=forever
(trap - ERR && admin GET $jobs/cl-a3) >"$work/hung" 2>&1 &
hung=$!
wait_for grep -q 'op=get .*job=cl-a3 fault=yes' "$work/fm.log"
answers 200 admin GET $jobs/cl-a2
ctl clear
code=0
wait "$hung" || code=$?
is $code 52 'exit code of who hung'

it 'says what a control command lacks'
expect_exit 1 ctl fault op=nothing
expect_exit 1 ctl fault status=503
expect_exit 1 ctl vanish job=unknown
expect_exit 2 ctl
expect_exit 75 "$softfm" ctl --dir "$work/none" dump
expect_exit 2 "$softfm" --addresses 0
expect_exit 2 "$softfm" --prefix fabric
expect_exit 1 "$softfm" --dir "$dir" --state "$state"

it 'survives requests that are none'
answers 400 admin POST $jobs -d '{'
answers 415 ask POST $jobs -u "cxi:$(cat "$dir/basic/passwd")" -d "$job"
head -c 5000000 /dev/zero >"$work/zeros"
answers 413 admin POST $jobs --data-binary "@$work/zeros"
answers 405 admin PUT $jobs
answers 404 admin GET "$jobs/%2e%2e%2f%00"
answers 200 admin GET $jobs

it 'forgets without a state file'
fm_down TERM
fm_up
answers 200 admin GET $jobs
is "$(gojq -c .documentLinks "$work/body")" '[]' 'the list'

it 'is refused by who knows only its authority, when another one signed'
fm_down TERM
fm_up --foreign-ca
expect_exit 60 admin GET $jobs
fm_down TERM

it 'logs no secret'
for text in "$secret" "$session" "$token" "$(cat "$dir/basic/passwd")"; do
	lacks "$(<"$work/fm.log")" "$text" 'the log'
done

story_end
