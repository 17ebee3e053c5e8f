#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two users on the same nodes: each has a lane, and nothing of the other's.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'a second user'
need_others
jm=2003 other_jm=2004
cluster_up -N 2 --nics 2 -s slingshot.vni_pool=1024-1031
sed -i "/^manager {/a submitter \"jm\" { uid = $jm }\\nsubmitter \"other\" { uid = $other_jm }" \
	"$config"
fairlead manager reconfigure

as() { # as UID COMMAND...: where the manager's socket is
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
}

job_start alice -N 2 -n 2 --user $alice
job_start bob -N 2 -n 2 --user $bob
wait_for has_started alice 2
wait_for has_started bob 2
alice_job=$(gojq -r '.jobs[] | select(.uid == $u).key' --argjson u $alice <<<"$(json_of list)")
alice_grant=$(json_of explain "$alice_job" | gojq '.grants[0].grant_id')
alice_service=$(service_of n0 cxi0 "$alice_grant")
bob_job=$(gojq -r '.jobs[] | select(.uid == $u).key' --argjson u $bob <<<"$(json_of list)")

it 'both jobs have a lane, and not the same one'
is "$(grep -c 'allocated on' "$work/alice.out")" 4 'LNIs of Alice'
is "$(grep -c 'allocated on' "$work/bob.out")" 4 'LNIs of Bob'
[ "$(vnis_of "$alice_job")" != "$(vnis_of "$bob_job")" ]

it 'the owner gets in, everybody else gets EPERM, root as well'
expect_exit 0 on n0 --user $alice -- cxi-lni --device cxi0 --service "$alice_service"
expect_out 'LNI [0-9]+ allocated on cxi0'
for user in $bob 0; do
	expect_exit 1 on n0 --user "$user" -- cxi-lni --device cxi0 --service "$alice_service"
	expect_out "cxi0 service $alice_service: EPERM"
done

it 'the environment file is the owner'"'"'s, and nobody else reads it'
file=$(env_file n0 "$alice_job")
is "$(stat -c '%a %u' "$file")" "600 $alice" 'mode and owner'
expect_exit 1 on n0 --user $bob -- cat "/run/fairlead/jobs/$alice_job"
expect_error 'Permission denied'
expect_exit 0 on n0 --user $alice -- fairlead env "$alice_job" --json
holds "$out" '.mode == "reservation"'
expect_exit 77 on n0 --user $bob -- fairlead env "$alice_job" --user $alice
for directory in run/jobs run/jobs/run; do
	has "$(stat -c '%a %u' "$FAIRLEAD_CLUSTER/n0/$directory")" '^[0-7]*[0145][0145] 0$' \
		"nobody else writes $directory"
done

it 'a user does not inherit what is another'"'"'s'
expect_exit 1 on n0 --user $bob -- env "SLINGSHOT_VNIS=$(vnis_of "$alice_job")" \
	SLINGSHOT_DEVICES=cxi0 "SLINGSHOT_SVC_IDS=$alice_service" SLINGSHOT_TCS=0x0a \
	fairlead env --inherit sub/1
expect_error "inherited service $alice_service is not for uid $bob"

it 'a user cannot reserve, apply or release'
expect_exit 77 as $bob fairlead reserve jm/1 --nodes n0
expect_exit 77 as $bob fairlead apply "$alice_grant"
expect_exit 77 as $bob fairlead release "$alice_job"
expect_exit 77 as $alice fairlead release "$alice_job"
is "$(job_state "$alice_job")" active 'state of the job'

it 'nor do what is an operator'"'"'s'
for command in 'node drain n0 --reason no' 'node undrain n0' 'node fence n0' \
	'manager reconfigure' 'quarantine release vni 1024' 'manager waive n0' \
	'node query n0 objects'; do
	# shellcheck disable=SC2086  # a list of words is meant
	expect_exit 77 as $bob fairlead $command
done
for command in "prolog $alice_job" "epilog $alice_job" housekeeping clean \
	'clean --all'; do
	# shellcheck disable=SC2086
	expect_exit 77 on n0 --user $bob -- fairlead $command
done
expect_objects 4 n0 n1

it 'nor run a job on the cluster of another'
expect_exit 77 as $bob fairlead run -N 1 -- true
expect_error 'Permission denied'
expect_hint 'the user who made the cluster'

it 'a user sees its own jobs only'
holds "$(as $bob fairlead list --json)" '[.jobs[].key] == [$k]' --arg k "$bob_job"
holds "$(fairlead list --json)" '.jobs | length == 2'
expect_exit 77 as $bob fairlead explain "$alice_job"
expect_exit 77 as $bob fairlead eventlog "$alice_job"
expect_exit 0 as $bob fairlead explain "$bob_job"
expect_exit 0 as $bob fairlead eventlog "$bob_job"
for command in status pools 'node list' 'quarantine list'; do
	# shellcheck disable=SC2086
	expect_exit 0 as $bob fairlead $command --json
	lacks "$out" "$alice_job" "$command"
done
expect_exit 0 on n0 --user $bob -- fairlead node status --json
lacks "$out" "$alice_job" 'node status'

it 'a submitter acts under its own name only'
grant=$(as $jm fairlead reserve jm/1 --nodes n0 --user $bob)
expect_exit 0 as $jm fairlead apply "$grant"
expect_exit 77 as $jm fairlead reserve other/1 --nodes n0 --user $bob
expect_exit 77 as $jm fairlead release "$alice_job"
expect_exit 77 as $other_jm fairlead release "$grant"
expect_exit 77 as $other_jm fairlead explain jm/1
expect_exit 77 as $other_jm fairlead apply "$grant"
expect_exit 0 as $jm fairlead explain jm/1
expect_exit 0 as $jm fairlead release jm/1

it 'after the release nobody gets in, the owner neither'
job_end alice
for user in $alice $bob; do
	expect_exit 1 on n0 --user "$user" -- cxi-lni --device cxi0 \
		--service "$alice_service"
	expect_out "cxi0 service $alice_service: (EINVAL|EPERM)"
done
is "$(test -e "$file" && echo there)" '' 'the environment file'
is "$(grep -c 'allocated on' "$work/bob.out")" 4 'LNIs of Bob'
job_end bob
expect_clean

it 'secrets stand in no log, listing or readable file'
is "$(stat -c %a "$FAIRLEAD_CLUSTER/manager.key")" 600 'mode of the manager key'
is "$(stat -c %a "$FAIRLEAD_CLUSTER/n0/run/node.key")" 600 'mode of a node key'
is "$(stat -c %a "$FAIRLEAD_CLUSTER/manager/state")" 700 'mode of the state'
secrets=$(cat "$FAIRLEAD_CLUSTER/manager.key" "$FAIRLEAD_CLUSTER"/n*/run/node.key |
	awk '$1 == "key" || $1 == "confirm" { print $NF }')
[ "$(wc -l <<<"$secrets")" -eq 3 ]
expect_exit 1 grep -rlFf <(printf '%s\n' "$secrets") "$FAIRLEAD_CLUSTER" \
	--exclude='*.key'
is "$out" '' 'files with a secret'

story_end
