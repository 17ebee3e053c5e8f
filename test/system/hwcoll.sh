#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Hardware collectives: a reservation at the fabric manager for a job, what its
# tasks get, and what is left when manager or fabric manager are killed.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/fm-lib.sh
. "$(dirname "$0")/fm-lib.sh"

cluster_up -N 3 -s softfm,slingshot.hwcoll_trees=23

it 'HR03 HR04 HR06: a job that asks has the configured number of trees, or its own'
is "$(variable FI_CXI_HWCOLL_ADDRS_PER_JOB hwcoll=on)" 23 'trees'
is "$(variable FI_CXI_HWCOLL_ADDRS_PER_JOB hwcoll=4)" 4 'trees'

it 'HT01 HT03 HT05: its tasks know the name, the minimum and where trees are made'
fairlead run -N 2 -o hwcoll=on -- env >"$work/env"
for line in FI_CXI_COLL_JOB_ID=emulated-g3 FI_CXI_HWCOLL_MIN_NODES=2 \
	FI_CXI_COLL_FABRIC_MGR_URL=https://10.203.255.254:7443/fabric/collectives/multicasts \
	"FI_CXI_COLL_FABRIC_MGR_CACERT=$dir/ca.pem"; do
	grep -qx "n0.0: $line" "$work/env"
	grep -qx "n1.0: $line" "$work/env"
done

it 'HT02 HT04: and the number and the token, on each node'
is "$(grep -c 'FI_CXI_COLL_MCAST_TOKEN=[0-9a-f]\{64\}$' "$work/env")" 2 'tokens'

it 'HT08: a job without a reservation has none of the variables, nor those of another'
for option in vnis=1 hwcoll=off vnis=0; do
	expect_exit 0 env FI_CXI_COLL_JOB_ID=emulated-g1 FI_CXI_COLL_MCAST_TOKEN=old \
		FI_CXI_COLL_JOB_STEP_ID=7 FI_CXI_COLL_FABRIC_MGR_CACERT=/old LEFT=here \
		fairlead run -N 2 -o $option -- env
	expect_out LEFT=here
	lacks "$out" FI_CXI_ "the environment with $option"
done

it 'HT05: programs are named no authority that is not there: libfabric would hang'
for file in /dev/null "$work/no-ca.pem"; do
	sed -i "s,hwcoll_node_ca = .*,hwcoll_node_ca = \"$file\"," "$config"
	fairlead manager reconfigure
	expect_exit 0 fairlead run -N 2 -o hwcoll=on -- env
	expect_error 'hwcoll_node_ca is not readable on this node'
	expect_out FI_CXI_COLL_MCAST_TOKEN=
	lacks "$out" CACERT "the environment with $file"
done
sed -i "s,hwcoll_node_ca = .*,hwcoll_node_ca = \"$dir/ca.pem\"," "$config"
fairlead manager reconfigure

it 'HR05: by the setting also a job that has not asked, unless it declines'
sed -i '/hwcoll_trees/a hwcoll_min_nodes = 2' "$config"
fairlead manager reconfigure
is "$(variable FI_CXI_HWCOLL_ADDRS_PER_JOB vnis=1)" 23 'trees'
is "$(variable FI_CXI_HWCOLL_MIN_NODES vnis=1)" 2 'minimum'
is "$(variable FI_CXI_HWCOLL_ADDRS_PER_JOB hwcoll=off)" '' 'trees'

it 'HR11: pools computes the recommended number of trees for this site'
expect_exit 0 fairlead pools
has "$out" '\(4086 / \(3 / 2\)\) / 1 = 2724' 'the formula'
is "$(fairlead pools --json | gojq -c '.external.slingshot |
	[.per_job, .min_nodes, .total, .jobs, .nodes, .recommended]')" '[23,2,4086,177,3,2724]' 'pools'

it 'HR05: without the setting only a job that asks'
sed -i '/hwcoll_min_nodes/d' "$config"
fairlead manager reconfigure
is "$(variable FI_CXI_HWCOLL_ADDRS_PER_JOB vnis=1)" '' 'trees'

it 'HR02: credentials that others can read are refused'
chmod 644 "$dir/auth/client-secret"
expect_exit 77 fairlead manager reconfigure
expect_error "client-secret"
chmod 600 "$dir/auth/client-secret"
expect_exit 0 fairlead manager reconfigure

use_credentials() { # use_credentials AUTH FOLDER
	sed -i "/hwcoll_auth/d
		s#hwcoll_credentials = .*#hwcoll_credentials = \"$2\"\n    hwcoll_auth = $1#" "$config"
}

it 'HR01 HR02: a password and a client certificate do as well, if nobody else can read them'
chown --reference="$dir/auth/client-secret" "$dir"/basic{,/passwd} "$dir"/client{,-key}.pem
while read -r auth folder secret other; do
	use_credentials "$auth" "$dir$folder"
	chmod 640 "$dir$folder/$secret"
	expect_exit 77 fairlead manager reconfigure
	expect_error "$secret"
	chmod 600 "$dir$folder/$secret"
	mv "$dir$folder/$other" "$work/away"
	expect_exit 1 fairlead manager reconfigure
	expect_error "$other"
	mv "$work/away" "$dir$folder/$other"
	expect_exit 0 fairlead manager reconfigure
	is "$(variable FI_CXI_HWCOLL_ADDRS_PER_JOB hwcoll=on)" 23 "trees with $auth"
done <<-END
	basic /basic passwd passwd
	certificate / client-key.pem client.pem
END

it 'files that are not there, or are another, are refused by their names, without what is in them'
while read -r setting value error; do
	cp -p "$config" "$work/good.conf"
	sed -i "s#$setting = .*#$setting = \"$value\"#" "$config"
	expect_exit 1 fairlead manager reconfigure
	expect_error "$error"
	lacks "$err" no-such-password "the error of $setting"
	cp -p "$work/good.conf" "$config"
done <<-END
	hwcoll_ca $work/none.pem $work/none.pem
	hwcoll_ca $work is no file
	hwcoll_url https://cxi:no-such-password@10.203.255.254 hwcoll_credentials
END
use_credentials oauth "$dir/auth"
cp -p "$dir/auth/endpoint" "$work/endpoint"
cat "$dir/auth/client-secret" >"$dir/auth/endpoint"
expect_exit 1 fairlead manager reconfigure
expect_error 'auth/endpoint. is no URL'
lacks "$err" "$(<"$dir/auth/client-secret")" 'the error'
cp -p "$work/endpoint" "$dir/auth/endpoint"
expect_exit 0 fairlead manager reconfigure

it 'HR01: who is not let in is denied, jobs run without, and know why'
use_credentials basic "$work/wrong"
mkdir "$work/wrong"
(umask 077 && echo no-such-password >"$work/wrong/passwd")
chown --reference="$dir/auth/client-secret" "$work"/wrong{,/passwd}
expect_exit 0 fairlead manager reconfigure
expect_exit 0 fairlead run -N 2 -o hwcoll=on -- true
expect_error 'the fabric manager answers 401'
is "$(fairlead status --json | gojq -r .external.slingshot.connection)" denied 'connection'
use_credentials oauth "$dir/auth"
expect_exit 0 fairlead manager reconfigure

it 'HR09: a reservation is a number of trees, and no addresses'
session=$(reserve jm/session 'n[0-1]' -o hwcoll=on)
expect_names "emulated-g$session"
is "$(fm dump | gojq -c '[.jobs[].mcastLimit, (.multicasts | length)]')" '[23,0]' 'limit and addresses'

it 'HR12: a session token reserves and releases nothing'
token=$(fm dump | gojq -r '.jobs[].sessionToken')
for request in "POST /fabric/collectives/jobs" "DELETE /fabric/collectives/jobs/emulated-g$session"; do
	# shellcheck disable=SC2086  # a method and a path
	set -- $request
	is "$(on manager -- curl -sS --cacert "$dir/ca.pem" -X "$1" -o /dev/null -w '%{http_code}' \
		-H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
		-d '{"jobID":"emulated-x1","mcastLimit":1}' "$(cat "$dir/url")$2")" 403 'the status'
done
fairlead release "$session"

it 'HR10: nothing is left of a job that has ended'
expect_names ''

it 'connections of jobs that start at once are kept for those that follow'
connections() { # of the manager to port 7443
	on manager -- awk '$3 ~ /:1D13$/ && $4 == "01"' /proc/net/tcp | wc -l
}
fm fault op=create delay=1500 count=12
crowd=$(for i in {1..12}; do reserve "jm/crowd$i" 'n[0-1]' -o hwcoll=on; done)
held_are() { # held_are N
	[ "$(fairlead status --json | gojq .external.slingshot.held)" = "$1" ]
}
wait_for held_are 12
many=$(connections)
for grant in $crowd; do
	fairlead release "$grant"
done
expect_names ''
is "$(connections)" "$many" 'connections'

it 'HR06: a job that asks for what it cannot have runs, with a warning that says why'
expect_exit 0 fairlead run -N 1 -o hwcoll=on -- true
expect_error 'a job of one node'
expect_exit 0 fairlead run -N 2 -o vnis=0,hwcoll=on -- true
expect_error 'a job without VNIs'
expect_exit 0 fairlead run -N 2 -o hwcoll=24 -- true
expect_error 'more trees than this site gives'
expect_exit 1 fairlead reserve jm/bad --nodes 'n[0-1]' --user $alice -o hwcoll=many
expect_error "option 'hwcoll' is on, off or a number"

it 'HR07 HS01: kill -9 of the manager loses no reservation, and its token'
kept=$(reserve jm/kept 'n[0-1]' -o hwcoll=on)
expect_names "emulated-g$kept"
token=$(fm dump | gojq -r ".jobs[\"emulated-g$kept\"].sessionToken")
kill_manager
restart manager
fairlead apply "$kept"
expect_names "emulated-g$kept"
is "$(on n1 --user $alice -- fairlead env jm/kept --json |
	gojq -r .variables.FI_CXI_COLL_MCAST_TOKEN)" "$token" 'the token'

it 'HR08: the token is in no event, list, explanation, journal, log or argument'
exec 9>"$work/go"
flock 9
fairlead run -N 2 -o hwcoll=on -- sh -c "env; exec flock -s $work/go true" >"$work/env" 2>&1 9>&- &
job=$!
wait_for grep -q MCAST_TOKEN= "$work/env"
{
	fairlead eventlog "$kept"
	fairlead explain --json "$kept"
	fairlead list --json
	fairlead status --json
} >"$work/said"
grep -q external "$work/said"
readarray -t state < <(find "$FAIRLEAD_CLUSTER/manager/state" -type f)
expect_no_token "$work/said" "${state[@]}" "$FAIRLEAD_CLUSTER"/*/log/*
flock -u 9
wait "$job"

it 'HE03 HS05: the release waits for no fabric manager, and is made good after kill -9 of both'
kill_fm
expect_exit 0 fairlead release "$kept"
expect_pool held ''
expect_pool quarantined ''
restart manager
fairlead cluster restart softfm
expect_names ''

it 'HE03: a release outlives a configuration that names no fabric manager'
kept=$(reserve jm/unnamed 'n[0-1]' -o hwcoll=on)
expect_names "emulated-g$kept"
cp -p "$config" "$work/named"
sed -i '/hwcoll_url/d' "$config"
fairlead manager reconfigure
expect_exit 0 fairlead release "$kept"
is_unnamed() {
	fairlead status --json | gojq -e '.external.slingshot |
		.debts == 1 and (.why | test("names no fabric manager"))' >/dev/null
}
wait_for is_unnamed
cp -p "$work/named" "$config"
fairlead manager reconfigure
expect_names ''

it 'HS04: a reservation keeps its name when the cluster gets another one'
kept=$(reserve jm/named 'n[0-1]' -o hwcoll=on)
expect_names "emulated-g$kept"
sed -i '/hwcoll_trees/a hwcoll_prefix = "renamed"' "$config"
fairlead manager reconfigure
restart manager
fairlead apply "$kept"
is "$(variable FI_CXI_COLL_JOB_ID hwcoll=on | sed 's/[0-9]*$//')" renamed-g 'the new name'
expect_names "emulated-g$kept"
lacks "$(fairlead eventlog "$kept")" vanished 'the events'
fairlead release "$kept"
expect_names ''
sed -i '/hwcoll_prefix/d' "$config"
fairlead manager reconfigure

it 'HE01 HE02: while the fabric manager is down jobs run without, soon at once'
kill_fm
expect_exit 0 fairlead run -N 2 -o hwcoll=on -- env
expect_error 'no external reservation: .*no answer from https://10.203.255.254:7443'
lacks "$out" FI_CXI_ 'the environment'
down() {
	fairlead run -N 2 -o hwcoll=on -- true 2>&1 | grep -q 'reservation: down for'
}
wait_for down
fairlead cluster restart softfm
has_trees() {
	[ "$(variable FI_CXI_HWCOLL_ADDRS_PER_JOB hwcoll=on)" = 23 ]
}
wait_for has_trees
expect_names ''

it 'HE05: an answer that is lost, late, or refused leaves nothing'
fm fault op=create lost=after
is "$(variable FI_CXI_HWCOLL_ADDRS_PER_JOB hwcoll=on)" 23 'trees'
fm fault op=create delay=4000
expect_exit 0 fairlead run -N 2 -o hwcoll=on -- true
expect_error 'no external reservation: not given within'
fm fault op=create status=507 code=2
expect_exit 0 fairlead run -N 2 -o hwcoll=on -- true
expect_error 'the fabric manager answers 507'
expect_names ''

it 'HR01: an access token that has expired is fetched again'
fm expire
is "$(variable FI_CXI_HWCOLL_ADDRS_PER_JOB hwcoll=on)" 23 'trees'

it 'HS02: a restart delays no job by its login, also when that never ends'
wanted_are() { # wanted_are N: jobs that wait for a reservation
	[ "$(fairlead status --json | gojq .external.slingshot.wanted)" = "$1" ]
}
sed -i '/hwcoll_trees/a hwcoll_wait = 60' "$config"
fm fault op=token delay=forever count=1000
restart manager
fairlead run -N 2 -o hwcoll=on -- env >"$work/env" 2>&1 &
slow=$!
wait_for wanted_are 1
expect_exit 0 fairlead run -N 2 -- true
wanted_are 1
fm clear
wait "$slow"
grep -qx 'n0.0: FI_CXI_HWCOLL_ADDRS_PER_JOB=23' "$work/env"
sed -i '/hwcoll_wait/d' "$config"

it 'HS02: a job that asks waits for the login as long as configured, and its event says why'
fm fault op=token delay=forever count=1000
restart manager
late=$(reserve jm/late 'n[0-1]' -o hwcoll=on)
expect_exit 0 fairlead apply "$late"
fairlead eventlog "$late" | grep -q '"refused":"23".*"reason":"not given within'
fairlead release "$late"
fm clear

it 'HE04 HS04: reservations without a job are released at a start, none of others'
for name in emulated-g1 emulated-77777 emulated-g77777 emulated-g7x emulated-g07 other-g7 emulated; do
	reserve_as_other "$name"
done
restart manager
expect_names emulated emulated-77777 emulated-g07 emulated-g77777 emulated-g7x other-g7

it 'HS03: a live job whose reservation has vanished gets an exception'
lost=$(reserve jm/lost 'n[0-1]' -o hwcoll=on)
fairlead apply "$lost"
fm vanish job="emulated-g$lost"
restart manager
vanished() {
	fairlead eventlog "$lost" | grep -q '"severity":0.*its external reservation has vanished'
}
wait_for vanished
fairlead release "$lost"

it 'the events of all these jobs agree with the journal'
expect_replay

it 'HS03: what a list that is cut short leaves out is looked for, and is not lost'
kept=$(reserve jm/cut 'n[0-1]' -o hwcoll=on)
fairlead apply "$kept"
fm fault op=list cut=yes
restart manager
wait_for grep -q "op=get status=200 job=emulated-g$kept" "$FAIRLEAD_CLUSTER/manager/log/softfm.log"
expect_exit 0 fairlead apply "$kept"
lacks "$(fairlead eventlog "$kept")" vanished 'the events'
fairlead release "$kept"

it 'HC01 HC03 HT06 HT07: the trees of an inner run are deleted after it, those of others stay'
cat >"$work/inner" <<END
#!/bin/sh
[ "\$FAIRLEAD_RANK" = 0 ] || exec flock -s $work/go true
"$libfabric" join=0:00:10,0:00:11 || exit 1
fairlead run --inherit -n 1 -- "$libfabric" join=0:00:12,0:00:13 || exit 1
echo made
exec flock -s $work/go true
END
chmod 755 "$work/inner"
exec 9>"$work/go"
flock 9
fairlead run -N 2 -o hwcoll=on -- "$work/inner" >"$work/inner.out" 2>&1 9>&- &
inner=$!
wait_for grep -q made "$work/inner.out"
wait_for are_steps 0
grep -q 'op=patch status=200' "$FAIRLEAD_CLUSTER/manager/log/softfm.log"
have_joined 2 "$work/inner.out"

it 'HT06 HT07: runs within runs get the same, to any depth, and each has its step'
cat >"$work/deep" <<'END'
#!/bin/sh
[ "$FAIRLEAD_RANK" = 0 ] || exit 0
env | grep '^FI_CXI_' | grep -v STEP_ID | sort | md5sum
echo "step $FI_CXI_COLL_JOB_STEP_ID"
[ "$1" = 0 ] || fairlead run --inherit -- "$0" $(($1 - 1))
END
chmod 755 "$work/deep"
expect_exit 0 fairlead run -N 2 -o hwcoll=on -- "$work/deep" 3
is "$(grep -c ' -$' <<<"$out")" 4 'environments'
is "$(grep ' -$' <<<"$out" | sed 's/.*: //' | uniq | wc -l)" 1 'different environments'
has "$(sed -n 's/.*step //p' <<<"$out" | xargs)" '^0 (0/[0-9]+) \1(/[0-9]+) \1\2/[0-9]+$' 'steps'

it 'HC01: so are those of a run that is killed'
cat >"$work/killed" <<END
#!/bin/sh
[ "\$FAIRLEAD_RANK" = 0 ] || exec flock -s $work/go true
fairlead run --inherit -- sh -c '$libfabric join=0:00:14,0:00:15; kill -9 \$PPID; sleep inf'
echo killed
exec flock -s $work/go true
END
chmod 755 "$work/killed"
flock -u 9
wait "$inner"
flock 9
fairlead run -N 2 -o hwcoll=on -- "$work/killed" >"$work/killed.out" 2>&1 9>&- &
inner=$!
wait_for grep -q killed "$work/killed.out"
wait_for are_steps ''
have_joined 1 "$work/killed.out"

it 'HC04: one by one, where the fabric manager refuses a PATCH to the token'
flock -u 9
wait "$inner"
flock 9
fm fault op=patch status=403
: >"$work/inner.out"
fairlead run -N 2 -o hwcoll=on -- "$work/inner" >"$work/inner.out" 2>&1 9>&- &
inner=$!
wait_for grep -q made "$work/inner.out"
wait_for are_steps 0
grep -q 'op=untree status=200' "$FAIRLEAD_CLUSTER/manager/log/softfm.log"
flock -u 9
wait "$inner"
expect_names emulated emulated-77777 emulated-g07 emulated-g77777 emulated-g7x other-g7

it 'HC02 HE06: a run does not wait for its clean-up, and does not fail with it'
fm fault op=patch delay=forever
: >"$work/inner.out"
flock 9
fairlead run -N 2 -o hwcoll=on -- "$work/inner" >"$work/inner.out" 2>&1 9>&- &
inner=$!
wait_for grep -q made "$work/inner.out"
flock -u 9
wait "$inner"
fm clear

it 'the clean-up rejects a bad name, time or variable with an error'
cleaner=$FAIRLEAD_STEP_CLEAN
half=(env FI_CXI_COLL_JOB_ID=a FI_CXI_COLL_MCAST_TOKEN=t)
all=("${half[@]}" FI_CXI_COLL_FABRIC_MGR_URL=https://127.0.0.1:1/fabric/collectives/multicasts)
expect_exit 0 "$cleaner" # a job without trees
expect_exit 1 "${half[@]}" "$cleaner"
expect_error 'are not complete'
expect_exit 1 "${all[@]}" "$cleaner" --step $'\xff'
expect_error 'not UTF-8'
expect_exit 1 "${all[@]}" "$cleaner" --step 0
expect_error 'no answer from https://127.0.0.1:1'
expect_exit 2 "${all[@]}" "$cleaner" --timeout 0

it 'HC02: the clean-up ends in time also when the CA is a pipe that nobody writes'
mkfifo "$work/pipe"
run on manager -- "${all[@]}" FI_CXI_COLL_FABRIC_MGR_URL="$(cat "$dir/url")$trees" \
	FI_CXI_COLL_FABRIC_MGR_CACERT="$work/pipe" timeout 30 "$cleaner" --step 0 --timeout 1
is "$code" $((128 + 14)) 'exit code'

story_end
