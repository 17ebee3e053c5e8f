#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `fairlead run` and `fairlead cluster`: exit codes, signals, labels.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

cluster_up -N 2 --nics 1 -s slingshot.vni_pool=1024-1031

it 'the exit code is the highest one of a task'
expect_exit 0 fairlead run -N 2 -n 4 -- true
expect_exit 5 fairlead run -N 2 -n 4 -- sh -c 'exit $((FAIRLEAD_RANK + 2))'
expect_exit 137 fairlead run -N 1 -- sh -c 'kill -9 $$'
expect_exit 127 fairlead run -N 1 -- /no/such/program
expect_exit 126 fairlead run -N 1 -- /
expect_clean

it 'lines are labelled with node and task, and are not with --no-label'
expect_exit 0 fairlead run -N 2 -n 4 -- sh -c 'echo out; echo err >&2; printf last'
is "$(sort <<<"$out" | paste -sd' ')" \
	'n0.0: last n0.0: out n0.1: last n0.1: out n1.0: last n1.0: out n1.1: last n1.1: out' \
	'output'
is "$(sort <<<"$err" | paste -sd' ')" 'n0.0: err n0.1: err n1.0: err n1.1: err' 'errors'
expect_exit 0 fairlead run -N 1 --no-label -- echo plain
is "$out" plain 'output'
expect_exit 0 fairlead run -N 1 --no-label -- sh -c 'head -c 100000 /dev/zero | tr "\0" x'
is "$(tr -d '\n' <<<"$out" | wc -c)" 100000 'bytes of a long line'

it 'steps are said when asked'
expect_exit 0 fairlead run -v -N 2 -- true
expect_error 'reserved grant [0-9]+ in [0-9.]+ ms'
expect_error 'applied on n\[0-1\] in'
expect_error 'released in'
expect_exit 0 fairlead run -N 2 -- true
is "$err" '' 'what is said when it was not asked'

it 'on a terminal each step is said as it is done'
expect_exit 0 script -qec 'fairlead run -N 2 -- echo hello' "$work/typescript"
expect_exit 0 sed '/^Script /d; s/\r//' "$work/typescript"
sed -n '/^run [0-9]*: /{s/run [0-9]*: //;s/[0-9.]* ms/T ms/;s/grant [0-9]*/grant G/;p}' \
	<<<"$out" >"$work/steps"
is "$(paste -sd, "$work/steps")" \
	'reserved grant G in T ms,applied on n[0-1] in T ms,tasks ended with 0,released in T ms' \
	'the steps'
is "$(grep -E 'applied on|hello|tasks ended' <<<"$out" | sed -E 's/.*(applied|hello|ended).*/\1/' |
	paste -sd,)" 'applied,hello,hello,ended' 'the steps, and what the tasks say between them'
expect_exit 3 script -qec 'fairlead run -N 1 -- sh -c "exit 3"' /dev/null
expect_out 'tasks ended with 3'

for signal in INT TERM HUP USR1; do
	it "signal $signal reaches all tasks, and the lane is taken back"
	expect_pool held ''
	env --default-signal=INT fairlead run -N 2 -n 2 --user $alice -- \
		sh -c "trap 'echo got $signal; exit 3' $signal; echo ready; while :; do sleep 0.05; done" \
		>"$work/$signal" 2>&1 3>&- &
	pid=$!
	wait_for eval "[ \"\$(grep -c ready '$work/$signal')\" -eq 2 ]"
	kill -s "$signal" $pid
	code=0
	wait $pid || code=$?
	is "$code" 3 'exit code'
	is "$(grep -c "got $signal" "$work/$signal")" 2 'tasks that got it'
	expect_clean
done

it 'a second INT kills tasks that do not listen'
# A background job of a script ignores INT, and what it starts does too.
python3 - "$work/deaf" >"$work/deaf-code" 2>&1 3>&- <<'END' &
import os
import signal
import subprocess
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)
job = subprocess.Popen(
    ["fairlead", "run", "-N", "1", "--", "sh", "-c",
     "trap 'echo caught' INT; echo ready; while :; do sleep 0.05; done"],
    stdout=subprocess.PIPE, text=True)
assert "ready" in job.stdout.readline()
os.kill(job.pid, signal.SIGINT)
assert "caught" in job.stdout.readline()
os.kill(job.pid, signal.SIGINT)
print(job.wait())
END
wait $!
is "$(<"$work/deaf-code")" 137 'exit code'
expect_clean

it 'nodes can be chosen, and what is not there is refused'
expect_exit 0 fairlead run -N n1 -n 2 -- hostname
is "$(sort -u <<<"$out" | paste -sd' ')" 'n1.0: n1 n1.1: n1' 'nodes'
expect_exit 2 fairlead run -N n7 -- true
expect_exit 75 fairlead run -N 3 -- true
expect_error 'only 2 of 3 nodes'
expect_exit 2 fairlead run -N 2 -n 1 -- true
expect_exit 2 fairlead run -n 0 -- true
expect_error '--tasks takes a whole number from 1'
expect_exit 2 fairlead run
expect_exit 1 fairlead run -o vnis=5 -- true
expect_error 'vnis'

it 'a job whose apply fails does not run'
nic n1 fault errno=EIO op=alloc_svc nth=1 count=1
expect_exit 1 fairlead run -N 2 -- touch "$work/ran"
expect_error 'n1'
test ! -e "$work/ran"
nic n1 clear
expect_clean

it 'a job whose reservation was not answered asks again, and leaves nothing'
"$wire" client "$FAIRLEAD_SOCKET" lose >"$work/lost" 2>&1 3>&- &
pid=$!
wait_for grep -q listening "$work/lost"
expect_exit 0 fairlead run -N 2 -n 2 -- sh -c 'echo $SLINGSHOT_VNIS'
wait $pid
lost=$(sed -n 's/^lost //p' "$work/lost")
holds "$lost" '.result == 0'
has "$out" 'n1.0: [0-9]' 'the environment of the tasks'
expect_pool held ''
expect_clean

it 'a killed run keeps its lane until it is released by name'
job_start orphan -N 2 -n 2 --user $alice
wait_for has_started orphan 2
key=$(json_of list | gojq -r '.jobs[0].key')
kill_pid "${job_pids[orphan]}"
expect_pool held "$(vnis_of "$key")"
wait_for eval '! pgrep -f "flock -s $work/orphan.go"'
expect_exit 0 fairlead release "$key"
expect_clean

it 'cluster exec runs on the given node as the given user'
expect_exit 0 on n1 -- hostname
is "$out" n1 'host name'
expect_exit 0 on manager -- hostname
is "$out" fabric 'host name'
expect_exit 4 on n0 -- sh -c 'exit 4'
expect_exit 127 on n0 -- /no/such/program
expect_exit 2 on n9 -- true
expect_error "there is no node 'n9': it is n0 to n1"
expect_exit 0 on n0 --user $alice -- id -u
is "$out" "$alice" 'uid'
expect_exit 0 on n0 -- ip -brief address show eth0
expect_out '10.203.0.1/16'
expect_exit 0 on n0 -- sh -c 'ls /run'
is "$(tr '\n' ' ' <<<"$out")" "${cgroup:+cgroup }fairlead " 'what is in /run'

it 'a node has as many NICs of plain Ethernet as it was given, and is in its cgroup'
expect_exit 0 on n1 -- ip -brief address show eth1
expect_out '10.204.0.2/16'
expect_exit 1 on n1 -- ip -brief address show eth2
if [ -n "$cgroup" ]; then
	expect_exit 0 on n1 -- cat /proc/self/cgroup
	expect_out "^0::.*/${cgroup##*/}/n1$"
fi

it 'cluster exec joins a job: its owner, environment and cgroup'
job_start joined -N 2 -n 2 --user $alice
wait_for has_started joined 2
grant=$(json_of list | gojq '.jobs[0].grant_id')
key=$(json_of list | gojq -r '.jobs[0].key')
expect_exit 0 on n1 --job "$key" sh -c 'id -u && echo $FAIRLEAD_JOB $SLINGSHOT_VNIS && cxi-lni'
has "$(paste -sd' ' <<<"$out")" "^$alice $key $(vnis_of "$key") .*allocated" 'what it is'
expect_exit 2 on n1 --user $alice --job "$key" true
expect_exit 2 on manager --job "$key" true
expect_exit 1 on n1 --job run/9999 true

it 'a task is in the network that its environment names, and it is the job'"'"'s own'
network=/run/fairlead/netns/$grant
file=$(env_file n1 "$key")
on n1 -- sh -c "mkdir -p ${network%/*} && touch $network $network.other &&
	ln -s $network.other ${network%/*}/link &&
	unshare --net mount --bind /proc/self/ns/net $network &&
	unshare --net mount --bind /proc/self/ns/net $network.other"
cp -p "$file" "$work/env"
echo "FAIRLEAD_ISOLATION=netns:$network" >>"$file"
expect_exit 0 on n1 --job "$key" readlink /proc/self/ns/net
is "$out" "$(on n1 -- stat -Lc 'net:[%i]' "$network")" 'network'
for path in "$network.other" "/proc/1/ns/net" "relative/$grant" "/none/$grant"; do
	cp -p "$work/env" "$file"
	echo "FAIRLEAD_ISOLATION=netns:$path" >>"$file"
	run on n1 --job "$key" true
	[ "$code" -ne 0 ] || fail "it was in the network $path"
	expect_error "cannot enter the job's network '$path'"
done
on n1 -- sh -c "umount $network && rm $network && ln -s $network.other $network"
cp -p "$work/env" "$file"
echo "FAIRLEAD_ISOLATION=netns:$network" >>"$file"
expect_exit 1 on n1 --job "$key" true
expect_error "cannot enter the job's network '$network'"
cp -p "$work/env" "$file"

it 'what a job has left behind ends with it'
if [ -n "$cgroup" ]; then
	on n1 --job "$key" cat /proc/self/cgroup >"$work/cgroup"
	has "$(<"$work/cgroup")" "/n1/job-$grant\$" 'cgroup'
	on n1 --job "$key" setsid bash -c "exec -a behind-$$ sleep infinity" 3>&- &
	behind=$!
	wait_for pgrep -f "^behind-$$ "
fi
job_end joined
[ -z "$cgroup" ] || ! wait "$behind" || fail 'it was not killed'
expect_exit 1 pgrep -f "^behind-$$ "
[ -z "$cgroup" ] || is "$(find "$cgroup" -name "job-$grant")" "" "the job's cgroups"
expect_clean

it 'cluster show, reboot and restart change what they name, and nothing else'
before=$(fairlead cluster show --json)
restart n0
after=$(fairlead cluster show --json)
holds "$after" '.manager == $b.manager and .nodes[1] == $b.nodes[1] and
	.nodes[0].softnic == $b.nodes[0].softnic and
	.nodes[0].daemon != $b.nodes[0].daemon' --argjson b "$before"
reboot n1
holds "$(fairlead cluster show --json)" '.manager == $b.manager and
	.nodes[0] == $b.nodes[0] and .nodes[1].holder != $b.nodes[1].holder and
	.nodes[1].softnic != $b.nodes[1].softnic and
	.nodes[1].daemon != $b.nodes[1].daemon' --argjson b "$after"
expect_exit 2 reboot manager
expect_exit 2 restart n5

it 'what cluster up prints is for a shell, whatever the directory is called'
other="$work/a b'c \$(exit 9)"
vars=$(fairlead cluster up --quiet --nodes 1 --nics 1 --rails 2 --dir "$other")
is "$(eval "$vars" && echo "$FAIRLEAD_CLUSTER")" "$other" 'FAIRLEAD_CLUSTER'
is "$(eval "$vars" && fairlead cluster show --no-header | wc -l)" 2 'members'
is "$(eval "$vars" && fairlead status --json | gojq .nodes.up)" 1 'nodes that are up'
expect_exit 0 eval "$vars; on n0 -- ip -brief link show"
is "$(grep -o '^eth[0-9]' <<<"$out" | paste -sd,)" eth0,eth1,eth2 'NICs'
expect_exit 0 fairlead cluster down --dir "$other"

it 'nodes that cannot be are refused before anything is made'
expect_exit 2 fairlead cluster up --generation 15 --dir "$work/other"
expect_error 'generation 12, 13 or 14'
expect_exit 2 fairlead cluster up --nics 0 --dir "$work/other"
expect_error '--nics takes a whole number from 1 to 8'
expect_exit 2 fairlead cluster up --rails 5 --dir "$work/other"
expect_error 'from 0 to 4'
expect_exit 2 fairlead cluster up --nodes 0 --dir "$work/other"
expect_error 'from 1 to 64'
expect_exit 2 fairlead cluster up --dir "$work/other/$(printf '%090d' 0)"
expect_error 'directory can have'
test ! -e "$work/other"

it 'a full disk is said, and nothing is left of what was begun'
mkdir "$work/tiny"
# Who is not root is root for the mount only.
as_root=(unshare --mount)
as_self=()
if ! $is_root; then
	as_root+=(--map-root-user)
	as_self=(unshare --map-user="$(id -u)" --map-group="$(id -g)")
fi
# shellcheck disable=SC2016  # expanded by the shell inside
expect_exit 1 "${as_root[@]}" sh -c 'mount -t tmpfs -o size=40k tmpfs "$1" && shift &&
	"$@"' sh "$work/tiny" "${as_self[@]}" sh -c 'fairlead cluster up --dir "$1/cluster" ||
	{ ls "$1" && exit 1; }' sh "$work/tiny"
expect_error 'No space left on device'
is "$out" '' 'files that are left'

it 'a cluster is not started twice, and a directory of others is not taken'
expect_exit 1 fairlead cluster up
expect_error "a cluster is up in '$FAIRLEAD_CLUSTER'"
mkdir "$work/open"
chmod 777 "$work/open"
run fairlead cluster up --dir "$work/open"
[ "$code" -ne 0 ] || fail 'a directory that others write was taken'
expect_error 'not a directory that only you can write'
mkdir "$work/mine"
echo precious >"$work/mine/file"
expect_exit 1 fairlead cluster up --dir "$work/mine"
expect_error 'has files in it'
is "$(ls "$work/mine")" file 'what is in a directory with files'
expect_exit 1 fairlead cluster down --dir "$work/none"
expect_error 'no emulated cluster is up'

story_end
