#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The software fabric manager, as clients meet it: credentials, certificates,
# faults on the line, kills, and requests that are none.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/fm-lib.sh
. "$(dirname "$0")/fm-lib.sh"

dir=$work/fm from=()
state=$work/fm.json
json='Content-Type: application/json'

fm_up() { # fm_up [OPTION...]
	rm -f "$dir/url"
	"$softfm" --dir "$dir" "$@" 2>>"$work/fm.log" &
	daemon=$!
	wait_for test -s "$dir/url"
}

fm_down() { # fm_down SIGNAL
	kill "-$1" "$daemon"
	wait "$daemon" || :
}

answers() { # answers STATUS http|admin ...
	local wanted=$1
	shift
	is "$("$@")" "$wanted" "the status of $2 $3"
}

job='{"jobID":"cl-a1","mcastLimit":2}'
tree='{"macs":["0:00:10","0:00:11"],"vni":5,"timeout":9,"jobID":"cl-a1","jobStepID":"0"}'

it 'takes an OAuth token, a password and a client certificate, and nothing else'
fm_up --state "$state" --token-life 1000
answers 401 http GET $jobs
secret=$(cat "$dir/auth/client-secret")
curl -sS --cacert "$dir/ca.pem" -o "$work/body" "$(cat "$dir/auth/endpoint")" -d \
	"grant_type=client_credentials&client_id=fairlead&client_secret=$secret&scope=openid"
token=$(gojq -r .access_token "$work/body")
answers 200 http GET $jobs -H "Authorization: Bearer $token"
answers 200 admin GET $jobs
answers 200 http GET $jobs --cert "$dir/client.pem" --key "$dir/client-key.pem"
answers 401 http GET $jobs -H "Authorization: Bearer x$token"
fm expire
answers 401 http GET $jobs -H "Authorization: Bearer $token"

it 'makes a tree for the token of a job'
answers 201 admin POST $jobs -d "$job"
session=$(gojq -r .sessionToken "$work/body")
answers 201 http POST $trees -H "$json" -H "Authorization: Bearer $session" -d "$tree"
is "$(gojq -r .hwRoot "$work/body")" 00:00:00:00:00:10 'the root'

it 'shows jobs and trees to a browser without their tokens'
answers 200 http GET /
has "$(<"$work/body")" cl-a1 'the page'
lacks "$(<"$work/body")" "$session" 'the page'

it 'has its state after kill -9, and the same certificate authority'
fm_down KILL
fm_up --state "$state"
answers 201 http POST $trees -H "$json" -H "Authorization: Bearer $session" -d "$tree"
is "$(gojq -r .hwRoot "$work/body")" 00:00:00:00:00:11 'the root'
answers 200 admin GET $jobs/cl-a1
is "$(gojq -c '.jobSteps["0"]' "$work/body")" '[0,1]' 'the trees'

it 'is late, loses answers before and after the deed, and hangs until it is cleared'
fm fault op=create delay=1
answers 201 admin POST $jobs -d "${job/a1/a2}"
fm fault op=create lost=before
expect_exit 52 admin POST $jobs -d "${job/a1/a3}"
answers 404 admin GET $jobs/cl-a3
fm fault op=create lost=after
expect_exit 52 admin POST $jobs -d "${job/a1/a3}"
answers 200 admin GET $jobs/cl-a3
fm fault op=get delay=forever
(trap - ERR && admin GET $jobs/cl-a3) >"$work/hung" 2>&1 &
hung=$!
wait_for grep -q 'op=get .*job=cl-a3 fault=yes' "$work/fm.log"
answers 200 admin GET $jobs/cl-a2
fm clear
code=0
wait "$hung" || code=$?
is $code 52 'exit code of who hung'

it 'says what a control command lacks'
expect_exit 1 fm fault op=nothing
expect_exit 1 fm fault status=503
expect_exit 1 fm vanish job=unknown
expect_exit 2 fm
expect_exit 75 "$softfm" ctl --dir "$work/none" dump
expect_error 'is a daemon running'
mkdir -m 700 "$work/private"
for folder in "$dir" "$work/private/fm"; do
	! $is_root || expect_exit 77 anybody "$softfm" ctl --dir "$folder" dump
done
expect_exit 2 "$softfm" --addresses 0
expect_exit 2 "$softfm" --prefix fabric
expect_exit 1 "$softfm" --dir "$dir" --state "$state"

it 'survives requests that are none'
answers 400 admin POST $jobs -d '{'
answers 415 http POST $jobs -u "cxi:$(cat "$dir/basic/passwd")" -d "$job"
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

coll() { # coll COMMAND...: what libfabric makes of the answers, in a line
	"$libfabric" "$@" | xargs || :
}

it 'answers libfabric as it expects: trees, refusals, busy, late and lost answers'
fm_up --addresses 4
answers 201 admin POST $jobs -d '{"jobID":"cl-g1","mcastLimit":3}'
FI_CXI_COLL_MCAST_TOKEN=$(gojq -r .sessionToken "$work/body")
export FI_CXI_COLL_MCAST_TOKEN FI_CXI_COLL_JOB_ID=cl-g1 FI_CXI_COLL_JOB_STEP_ID=0 \
	FI_CXI_COLL_FABRIC_MGR_URL FI_CXI_COLL_FABRIC_MGR_CACERT=$dir/ca.pem SLINGSHOT_VNIS=4034,5
FI_CXI_COLL_FABRIC_MGR_URL=$(cat "$dir/url")$trees
is "$(coll join=A:BC:DE,0:00:10 join=A:BC:DE,0:00:10 join=A:BC:DE join=0:00:11 join=0:00:12)" \
	'joined 0 A:BC:DE joined 1 0:00:10 prov_errno 2049 joined 2 0:00:11 prov_errno 2048' 'joins'
for fault in 'status=400:2049' 'status=401:2054' 'status=403:2054' 'status=404:2054' \
	'status=500:2054' 'status=503:2054' 'status=200:2050' 'lost=before:2054' \
	'status=507 code=1:2048' 'status=507 code=2:2048' 'status=507 code=3:2049' \
	'status=507 code=4:2054' 'delay=6000:2054' 'status=409 count=3:2048'; do
	# shellcheck disable=SC2086  # words of a command
	fm fault op=tree ${fault%:*}
	is "$(coll join=0:00:13)" "prov_errno ${fault#*:}" "a join with $fault"
done
answers 200 admin DELETE $jobs/cl-g1
is "$(coll join=0:00:13)" 'prov_errno 2054' 'with the token of a job that is over'
is "$(FI_CXI_COLL_MCAST_TOKEN='' coll join=0:00:13)" 'prov_errno 2054' 'without a token'
is "$(FI_CXI_COLL_FABRIC_MGR_URL=ftp://x coll join=0:00:13)" 'prov_errno 2052' 'without a URL'

it 'closes groups, also those without a step, and with one that is not ASCII'
answers 201 admin POST $jobs -d '{"jobID":"cl-g1","mcastLimit":9}'
FI_CXI_COLL_MCAST_TOKEN=$(gojq -r .sessionToken "$work/body")
(unset FI_CXI_COLL_JOB_STEP_ID && coll join=0:00:10)
FI_CXI_COLL_JOB_STEP_ID=1/ƒa/ƒb coll join=0:00:11
is "$(FI_CXI_COLL_JOB_STEP_ID="a'b" coll join=0:00:12)" 'prov_errno 2049' 'an apostrophe'
is "$(fm dump | gojq -c '.jobs[].jobSteps')" '{"(null)":[0],"1/ƒa/ƒb":[1]}' 'the steps'
fm fault op=untree status=409 count=2
is "$(coll join=0:00:12 close)" 'joined 2 0:00:12 closed 2' 'a group'
for status in 204 403 404 500; do
	fm fault op=untree status=$status
	is "$(coll join=0:00:12 close; coll close=2)" \
		$'joined 2 0:00:12 prov_errno 2052\nclosed 2' "a close with $status"
done
fm_down TERM

it 'serves a Slurm, also below a prefix, which links do not have'
fm_up --prefix /apis/fm --addresses 1 --duplicate same --token-may none --name fm.example
slurm_cluster=cl
slurm_login
slurm_step 1
slurm_step 2
reserve_as_other cl-g7
fm expire
slurm_reap 2
names_are cl-2 cl-g7
slurm_step_end 2 0
slurm_job_end 2
slurm_step_end 2 1
names_are cl-g7

it 'lets an administrator make and delete trees, with a slash at the end or without'
for slash in '' /; do
	answers 201 admin POST "$trees$slash" -d "${tree/cl-a1/cl-g7}"
	answers 507 admin POST "$trees$slash" -d "${tree/cl-a1/cl-g7}"
	is "$(gojq -r '"\(.status) \(.title) \(.detail) \(.message)"' "$work/body")" \
		'507 Insufficient Storage mcastLimit reached 01: mcastLimit reached' 'the body'
	answers 200 admin DELETE "$trees/0$slash"
	is "$(<"$work/body")" '{}' 'the body'
	answers 404 admin DELETE "$trees/0$slash"
done

it 'has documents of jobs; duplicates and session tokens are as its options say'
answers 200 admin POST $jobs -d '{"jobID":"cl-g7","mcastLimit":1}'
is "$(gojq -c 'del(.sessionToken)' "$work/body")" \
	"{\"documentSelfLink\":\"$jobs/cl-g7\",\"jobID\":\"cl-g7\",\"jobSteps\":{},\"mcastLimit\":1}" \
	'the document'
session=$(gojq -r .sessionToken "$work/body")
for request in "GET $jobs/cl-g7" "PATCH $jobs/cl-g7" "GET $jobs" "DELETE $jobs/cl-g7"; do
	# shellcheck disable=SC2086  # a method and a path
	answers 403 http $request -H "$json" -H "Authorization: Bearer $session" -d '{"jobSteps":{}}'
done
answers 200 admin GET $jobs/cl-g7
is "$(curl -sS --cacert "$dir/ca.pem" -o "$work/body" -w '%{http_code}' \
	--connect-to "fm.example:443:$(sed 's,.*//,,; s,/.*,,' "$dir/url")" https://fm.example/)" 200 \
	'the page, by another name'
fm_down TERM

it 'logs a line for each request, and no secret'
is "$(sed -n 's/.*request //p' "$work/fm.log" | tail -n 2 | xargs)" \
	'op=get status=200 job=cl-g7 op=page status=200 job=' 'the log'
for text in "$secret" "$session" "$token" "$(cat "$dir/basic/passwd")"; do
	lacks "$(<"$work/fm.log")" "$text" 'the log'
done

story_end
