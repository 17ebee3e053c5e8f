# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Who speaks to a software fabric manager in stories: its control, an
# administrator, and a Slurm with its hpe_slingshot plugin, request by request.
# shellcheck disable=SC2034,SC2154  # stories use what is set here; lib.sh sets

softfm=$build/src/emu/fm/fairlead-softfm
dir=$FAIRLEAD_CLUSTER/softfm # of the fabric manager
jobs=/fabric/collectives/jobs
trees=/fabric/collectives/multicasts
libfabric=$root/test/system/libfabric-coll.sh
from=(on manager --) # where requests come from

fm() { # fm COMMAND...
	"$softfm" ctl --dir "$dir" "$@"
}

names() { # of all reservations, in a line
	fm dump | gojq -r '.jobs | keys | join(" ")'
}

names_are() { # names_are NAME...
	[ "$(names)" = "$*" ]
}

expect_names() { # expect_names NAME...
	wait_for names_are "$@"
}

steps() { # the steps that have trees, in a line
	fm dump | gojq -r '[.jobs[].jobSteps | keys[]] | join(" ")'
}

are_steps() { # are_steps STEP...: these have trees, and no others
	[ "$(steps)" = "$*" ]
}

have_joined() { # have_joined COUNT FILE: so many trees were made, says the file
	[ "$(grep -c joined "$2")" -eq "$1" ]
}

expect_no_token() { # expect_no_token FILE...: of a job that is there; nor in an argument
	fm dump | gojq -r '.jobs[].sessionToken' >"$work/token"
	[ -s "$work/token" ] && [ -e "$1" ]
	# Its exit code is that of an error as soon as one process has ended.
	is "$(grep -salFf "$work/token" "$@" /proc/[0-9]*/cmdline || :)" '' 'where a token is'
}

token_of() { # token_of NAME: of a reservation
	fm dump | gojq -r --arg n "$1" '.jobs[$n].sessionToken // ""'
}

kill_fm() {
	kill_pid "$(fairlead cluster show --json | gojq -e .softfm)"
}

# A variable of a job's first task: of the options after it.
variable() { # variable NAME OPTIONS
	fairlead run -N 2 -o "$2" -- env | sed -n "s/^n0.0: $1=//p"
}

# http METHOD PATH [CURL-ARGUMENT...]: the status; the body is in $work/body
http() {
	local method=$1 path=$2
	shift 2
	"${from[@]}" curl -sS --cacert "$dir/ca.pem" -X "$method" -o "$work/body" \
		-w '%{http_code}\n' "$@" "$(cat "$dir/url")$path"
}

admin() { # admin METHOD PATH [CURL-ARGUMENT...]: with the password
	http "$@" -u "cxi:$(cat "$dir/basic/passwd")" -H 'Content-Type: application/json'
}

reserve_as_other() { # reserve_as_other NAME: an administrator's reservation
	is "$(admin POST "$jobs" -d "{\"jobID\":\"$1\",\"mcastLimit\":1}")" 201 "status of $1"
}

# --- Slurm ---

slurm_cluster=emulated
slurm_token='' slurm_session=''

slurm_curl() { # slurm_curl CURL-ARGUMENT...: certificates are not verified by default
	"${from[@]}" curl -sS --insecure --max-time 10 -o "$work/slurm-body" -w '%{http_code}' "$@"
}

# As slurmctld and each step manager do when they start.
slurm_login() {
	local status
	status=$(slurm_curl -d "grant_type=client_credentials&client_id=$(cat "$dir/auth/client-id")&client_secret=$(cat "$dir/auth/client-secret")&scope=openid" \
		"$(cat "$dir/auth/endpoint")") || return
	[ "$status" = 200 ] || return
	slurm_token=$(gojq -er .access_token "$work/slurm-body")
}

# Once more with a new token after 401 and 403. An empty body is an error, but of
# a DELETE, which is chunked and has none.
slurm_ask() { # slurm_ask METHOD PATH [BODY]: into $status
	local body=(${3:+-d "$3"}) again
	[ "$1" != DELETE ] ||
		body=(-H 'Transfer-Encoding: chunked' -H 'Expect: 100-continue' -T -)
	for again in true false; do
		status=$(slurm_curl -X "$1" -H 'Content-Type: application/json' \
			-H "Authorization: Bearer $slurm_token" "${body[@]}" "$(cat "$dir/url")$2" \
			</dev/null) || return
		$again && [[ $status == 40[13] ]] || break
		slurm_login || return
	done
	[ "$1" = DELETE ] || gojq -e . "$work/slurm-body" >/dev/null
}

slurm_step() { # slurm_step JOB: what each step with enough nodes does
	slurm_ask GET "$jobs/$slurm_cluster-$1" || return
	if [ "$status" = 404 ]; then
		slurm_ask POST "$jobs" "{\"jobID\": \"$slurm_cluster-$1\", \"mcastLimit\": 4}" || return
	fi
	[[ $status == 2* ]] || return
	slurm_session=$(gojq -er .sessionToken "$work/slurm-body")
}

slurm_step_end() { # slurm_step_end JOB STEP
	slurm_ask PATCH "$jobs/$slurm_cluster-$1" "{\"jobSteps\": {\"$2\": null}}" || return
	[[ $status == 2* || $status == 404 ]]
}

slurm_job_end() { # slurm_job_end JOB
	slurm_ask DELETE "$jobs/$slurm_cluster-$1" && [[ $status == 2* ]]
}

# What the thread of slurmctld does every 30 s. It skips as many characters of a
# link as "/fabric/collectives/jobs/" has, and one more after the cluster's name.
slurm_reap() { # slurm_reap JOB...: these are known and run
	local link name
	slurm_ask GET "$jobs/" || return
	gojq -e '.documentLinks | type == "array"' "$work/slurm-body" >/dev/null || return # it aborts
	for link in $(gojq -r '.documentLinks[]' "$work/slurm-body"); do
		name=${link:25}
		[[ $name == "$slurm_cluster"* ]] || continue
		name=${name:${#slurm_cluster}+1}
		[[ $name =~ ^[+-]?[0-9]*$ ]] || continue
		[[ " $* " == *" $name "* ]] || slurm_ask DELETE "$jobs/$slurm_cluster-${name:-0}" || return
	done
}
