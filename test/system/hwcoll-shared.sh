#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Two managers of Fairlead and a Slurm at one fabric manager, and programs that
# make trees as libfabric does: none touches what another has made.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/fm-lib.sh
. "$(dirname "$0")/fm-lib.sh"

cluster_up -N 2 -s softfm,slingshot.hwcoll_trees=4

# The manager of another cluster, whose name begins as ours does. Its nodes are
# not there: reservations need none.
install -d -m 700 -o "$(stat -c %u "$FAIRLEAD_CLUSTER/manager/state")" "$work/other"
sed "s/:7171/:7272/; s/\"emulated\"/\"emulated2\"/; s,/manager.sock,/other.sock,
	s,$FAIRLEAD_CLUSTER/manager/state,$work/other," "$config" >"$work/other.conf"
other() {
	FAIRLEAD_SOCKET=$FAIRLEAD_CLUSTER/manager/run/other.sock fairlead "$@"
}
other_up() {
	start_by_hand manager "$fairleadd" --role manager --config "$work/other.conf"
	wait_for other status
}
other_reserve() { # other_reserve KEY
	other reserve "$1" --nodes 'n[0-1]' --user $alice -o hwcoll=on
}

other_up
slurm_login
reserve_as_other emulated-77777 # of a Slurm that has it no more
reserve_as_other another-1

it 'HS04: each has its reservations, also with a Slurm that has our name'
ours=$(reserve jm/ours 'n[0-1]' -o hwcoll=on)
theirs=$(other_reserve jm/theirs)
slurm_step 12
slurm_step 13
all=(another-1 emulated-12 emulated-13 emulated-77777 "emulated-g$ours" "emulated2-g$theirs")
expect_names "${all[@]}"

it "a Slurm's clean-up leaves ours, and removes what only it can have made"
slurm_reap 12 13
all=(another-1 emulated-12 emulated-13 "emulated-g$ours" "emulated2-g$theirs")
expect_names "${all[@]}"

it "HS04: each manager leaves the others' after kill -9 and restart"
listings() {
	grep -c 'op=list status=200' "$FAIRLEAD_CLUSTER/manager/log/softfm.log"
}
has_listed() { # has_listed COUNT: anybody, since then
	[ "$(listings)" -gt "$1" ]
}
before=$(listings)
kill_manager
restart manager
wait_for has_listed "$before"
before=$(listings)
kill_pid "${by_hand[manager]}"
other_up
wait_for has_listed "$before"
slurm_reap 12 13
expect_names "${all[@]}"

it 'HE04: and releases its own that ended meanwhile'
kill_fm
fairlead release "$ours"
other release "$theirs"
kill_manager
kill_pid "${by_hand[manager]}"
fairlead cluster restart softfm
restart manager
other_up
all=(another-1 emulated-12 emulated-13)
expect_names "${all[@]}"
is "$(token_of emulated-12)" "$(slurm_step 12 && echo "$slurm_session")" 'the token of a step'

it "a Slurm's step and job end only what is theirs"
slurm_step 13
export FI_CXI_COLL_JOB_ID=emulated-13 FI_CXI_COLL_MCAST_TOKEN=$slurm_session \
	FI_CXI_COLL_FABRIC_MGR_CACERT=$dir/ca.pem SLINGSHOT_VNIS=4034 \
	FI_CXI_COLL_FABRIC_MGR_URL
FI_CXI_COLL_FABRIC_MGR_URL=$(cat "$dir/url")$trees
FI_CXI_COLL_JOB_STEP_ID=0 on manager -- "$libfabric" join=0:00:10,0:00:11
FI_CXI_COLL_JOB_STEP_ID=1 on manager -- "$libfabric" join=0:00:10,0:00:11
unset FI_CXI_COLL_JOB_ID FI_CXI_COLL_MCAST_TOKEN FI_CXI_COLL_FABRIC_MGR_CACERT SLINGSHOT_VNIS \
	FI_CXI_COLL_FABRIC_MGR_URL
fm expire # slurmctld has an old token then
slurm_step_end 13 0
is "$(steps)" 1 'steps with trees'
slurm_job_end 13
slurm_step_end 13 1
slurm_job_end 12
expect_names another-1

# --- programs as those that libfabric makes ---

mkdir -m 777 "$work/groups"
cat >"$work/program" <<END
#!/bin/sh
[ "\$FAIRLEAD_RANK" != 0 ] || "$libfabric" "\$@" >"$work/groups/out" 2>&1
END
chmod 755 "$work/program"
program() { # program COMMAND...: in a job of two nodes; what its first member says
	rm -f "$work/groups/out"
	fairlead run -N 2 -o hwcoll=on -- "$work/program" "$@" || : # that of the last command
	cat "$work/groups/out"
}

it 'a program makes and closes its groups with the variables of its job'
is "$(program join=0:00:10,0:00:11 join=A:BC:DE,0:00:10 close close | xargs)" \
	'joined 0 0:00:10 joined 1 A:BC:DE closed 1 closed 0' 'what it says'
grep -q 'op=untree status=200 job=emulated-g' "$FAIRLEAD_CLUSTER/manager/log/softfm.log"

it 'it learns that its job has no more trees, and that no member can be a root'
is "$(program join=0:00:10 join=0:00:11 join=0:00:12 join=0:00:10 join=0:00:13 \
	join=0:00:14 | tail -3 | xargs)" 'prov_errno 2049 joined 3 0:00:13 prov_errno 2048' \
	'what it says'

it 'it asks again for as long as the fabric manager is busy'
fm fault op=tree status=409 count=3
fm fault op=untree status=409 count=2
is "$(program join=0:00:10,0:00:11 close | xargs)" 'joined 0 0:00:10 closed 0' 'what it says'

it 'a program that aborts leaves its trees to the end of its job'
mkfifo -m 666 "$work/go"
fairlead run -N 2 -o hwcoll=on -- "$work/program" join=0:00:10,0:00:11 join=0:00:12 \
	"wait=cat $work/go" abort 3>&- >"$work/aborted" 2>&1 &
aborted=$!
has_trees() { # has_trees COUNT
	[ "$(fm dump | gojq '.multicasts | length')" = "$1" ]
}
wait_for has_trees 2
echo >"$work/go"
wait $aborted || code=$?
expect_names another-1
has_trees 0

it 'or to the end of its step, where that is an inner run; the outer ones stay'
cat >"$work/outer" <<END
#!/bin/sh
[ "\$FAIRLEAD_RANK" = 0 ] || exit 0
"$libfabric" join=0:00:20,0:00:21 || exit 1
fairlead run --inherit -n 1 -- "$libfabric" join=0:00:22,0:00:23 abort
echo inner \$?
"$libfabric" wait='cat $work/go'
END
chmod 755 "$work/outer"
fairlead run -N 2 -o hwcoll=on -- "$work/outer" 3>&- >"$work/outer.out" 2>&1 &
outer=$!
wait_for grep -q 'inner ' "$work/outer.out"
wait_for has_trees 1
is "$(steps)" 0 'steps with trees'
echo >"$work/go"
wait $outer
expect_names another-1

it 'no token is in a log'
lacks "$(cat "$FAIRLEAD_CLUSTER"/manager/log/*.log "$work"/*.log)" "$slurm_session" 'the logs'
stop_by_hand manager

story_end
