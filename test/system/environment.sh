#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a job's tasks find in their environment: of a reservation of their own,
# inherited from the job that they run in, or nothing at all.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_others
cluster_up -N 2 --nics 3 -s slingshot.vni_pool=1024-1031 \
	-s slingshot.job_netns=/run/netns/job-%g -s slingshot.exclusive_cp=true

# environment NODE OPTION...: of 'fairlead env', with what an outer job left
environment() {
	local node=$1
	shift
	on "$node" --user $alice -- env "${outer[@]}" fairlead env "$@"
}
outer=(SLINGSHOT_VNIS=7 SLINGSHOT_DEVICES=cxi7 SLINGSHOT_SVC_IDS=7
	SLINGSHOT_TCS=0x07)
# Of all interconnects: what this one does not set is cleared.
names='["FAIRLEAD_ADDRESSES","FAIRLEAD_INTERFACES","FAIRLEAD_ISOLATION",
	"FAIRLEAD_RMS_PROGRAM","FI_CXI_COLL_FABRIC_MGR_CACERT",
	"FI_CXI_COLL_FABRIC_MGR_URL","FI_CXI_COLL_JOB_ID","FI_CXI_COLL_JOB_STEP_ID",
	"FI_CXI_COLL_MCAST_TOKEN","FI_CXI_HWCOLL_ADDRS_PER_JOB",
	"FI_CXI_HWCOLL_MIN_NODES","FI_NET_IFACE","FI_SOCKETS_IFACE","FI_TCP_IFACE",
	"FI_UDP_IFACE","OMPI_MCA_btl_tcp_if_include","RMS_NNODES","RMS_NODEID",
	"RMS_NPROCS","SLINGSHOT_DEVICES","SLINGSHOT_SVC_IDS","SLINGSHOT_TCS",
	"SLINGSHOT_VNIS","UCX_NET_DEVICES"]'

grant=$(reserve jm/own 'n[0-1]' -o vnis=2)
fairlead apply "$grant"

it 'with a reservation: its VNIs, NICs, services and classes'
expect_exit 0 environment n0 jm/own --json
holds "$out" '.mode == "reservation" and (.variables | keys) == $n' \
	--argjson n "$names"
holds "$out" '.variables | .SLINGSHOT_VNIS == "1024,1025" and
	.SLINGSHOT_DEVICES == "cxi0,cxi1,cxi2" and .SLINGSHOT_TCS == "0x0a"'
ids=$(for i in 0 1 2; do service_of n0 cxi$i "$grant"; done | paste -sd,)
is "$(gojq -r .variables.SLINGSHOT_SVC_IDS <<<"$out")" "$ids" 'services'

it 'for a shell, and for a program'
expect_exit 0 environment n0 jm/own
(
	eval "$out"
	is "$SLINGSHOT_VNIS/$SLINGSHOT_DEVICES/$SLINGSHOT_SVC_IDS/$SLINGSHOT_TCS" \
		"1024,1025/cxi0,cxi1,cxi2/$ids/0x0a" 'variables of a shell'
)
expect_exit 0 environment n0 --job jm/own --exec -- printenv SLINGSHOT_VNIS
is "$out" 1024,1025 'variable of a program'
expect_exit 3 environment n0 --job jm/own --exec -- sh -c 'exit 3'
expect_exit 127 environment n0 --job jm/own --exec -- /no/such/program

it 'a task that fairlead run starts has the same, and its rank'
job_start two -N 2 -n 4 --user $alice
wait_for has_started two 4
is "$(job_variable two n0.1 SLINGSHOT_VNIS)" 1026 'VNI'
is "$(job_variable two n0.1 SLINGSHOT_TCS)" 0x0a 'classes'
is "$(job_variable two n1.1 FAIRLEAD_RANK)" 3 'rank'
is "$(job_variable two n1.1 FAIRLEAD_LOCAL_RANK)" 1 'local rank'
is "$(job_variable two n1.1 FAIRLEAD_NTASKS)" 4 'tasks'
is "$(job_variable two n1.0 FAIRLEAD_NODEID)" 1 'index of the node'
is "$(job_variable two n1.0 FAIRLEAD_NNODES)" 2 'nodes'
is "$(job_variable two n1.0 FAIRLEAD_NODELIST)" 'n[0-1]' 'their list'
is "$(job_variable two n1.0 FAIRLEAD_JOB)" run/1/0 'job'
is "$(grep -c 'allocated on' "$work/two.out")" 12 'LNIs that the tasks got'
job_end two

it 'inherited: a job in the job gets what it was given, once it is found true'
outer=(SLINGSHOT_VNIS=1024,1025 SLINGSHOT_DEVICES=cxi0,cxi1,cxi2
	"SLINGSHOT_SVC_IDS=$ids" SLINGSHOT_TCS=0x0a)
expect_exit 0 environment n0 sub/1 --inherit --json
holds "$out" '.mode == "inherited" and
	(.variables | with_entries(select(.value))) == {SLINGSHOT_VNIS: "1024,1025",
	SLINGSHOT_DEVICES: "cxi0,cxi1,cxi2", SLINGSHOT_SVC_IDS: $i,
	SLINGSHOT_TCS: "0x0a"}' --arg i "$ids"
expect_exit 0 environment n0 --inherit --exec -- cxi-lni
is "$(grep -c allocated <<<"$out")" 3 'LNIs'

it "libfabric's own provider for these NICs finds them in the lane"
if on n0 -- fi_info -l 2>/dev/null | grep -q '^cxi:'; then
	expect_exit 0 environment n0 sub/1 --inherit --exec -- fi_info -p cxi
	is "$(grep 'domain: cxi[0-2]$' <<<"$out" | sort -u | wc -l)" 3 'NICs'
	expect_exit 0 environment n0 sub/1 --inherit --exec -- "$tools/fi-domain" cxi
	is "$(grep '^cxi[0-2]$' <<<"$out" | sort -u | wc -l)" 3 'domains'
else
	skip_claim 'libfabric here has no cxi provider'
fi

it 'a fairlead run within a job passes it on, and reserves nothing'
list=$(json_of list)
within() { # within OPTION...: of 'fairlead run --inherit', in the job of alice
	on n0 --user $alice -- env -u FAIRLEAD_SOCKET --default-signal=INT "${outer[@]}" \
		fairlead run --inherit "$@"
}
expect_exit 0 within -n 3 -- sh -c 'cxi-lni && echo "$FAIRLEAD_RANK $SLINGSHOT_VNIS"'
is "$(grep -cE '^[012] 1024,1025$' <<<"$out")" 3 'tasks'
expect_exit 3 within -n 2 -- sh -c 'exit $((3 * FAIRLEAD_RANK))'
expect_exit 137 within -- sh -c 'kill -9 $$'
is "$(json_of list)" "$list" 'jobs of the manager'
for option in '-N 2' '-c 2'; do
	# shellcheck disable=SC2086  # an option and its value
	expect_exit 2 within $option -- true
done
expect_exit 1 env -u SLINGSHOT_VNIS fairlead run --inherit -- true
expect_error 'no lane to pass on'
expect_exit 1 env -u SLINGSHOT_VNIS UCX_NET_DEVICES=mlx5_0:1 fairlead run --inherit -- true
expect_error 'no lane to pass on'

it 'a signal that it gets reaches its tasks, and what they have started'
cat >"$work/within.task" <<END
#!/bin/sh
trap 'echo terminated; exit 3' TERM
trap 'echo used' USR1
trap 'echo interrupted' INT
sleep inf &
echo started \$!
while :; do wait; done
END
chmod 755 "$work/within.task"
parent_of() { # parent_of PID
	ps -o ppid= -p "$1" | tr -d ' '
}
said() { # said WORD: both tasks have
	wait_for eval '[ "$(grep -c '"$1"' "$work/within.out")" -eq 2 ]'
}
within_start() { # within_start COMMAND...: two that say 'started PID', in $sleepers
	: >"$work/within.out"
	{ trap - ERR && within -n 2 -- "$@"; } >"$work/within.out" 2>&1 3>&- &
	within=$!
	said started
	mapfile -t sleepers < <(awk '/started/ {print $2}' "$work/within.out")
}
is_fairlead() { # is_fairlead PID
	is "$(ps -o comm= -p "$1")" fairlead-run 'who waits for the tasks'
}
within_end() { # within_end CODE: and nothing is left
	code=0
	wait "$within" || code=$?
	is "$code" "$1" 'exit code'
	for sleeper in "${sleepers[@]}"; do
		wait_for is_gone "$sleeper"
	done
}
within_start "$work/within.task"
pid=$(parent_of "$(parent_of "${sleepers[0]}")")
is_fairlead "$pid"
kill -USR1 "$pid"
said used
kill -TERM "$pid"
within_end 3
is "$(grep -c terminated "$work/within.out")" 2 'tasks that were asked to end'
within_start "$work/within.task"
pid=$(parent_of "$(parent_of "${sleepers[0]}")")
is_fairlead "$pid"
kill -INT "$pid"
said interrupted
kill -INT "$pid"
within_end 137

it 'when it is killed its tasks are'
within_start sh -c 'echo started $$; exec sleep inf'
pid=$(parent_of "${sleepers[0]}")
is_fairlead "$pid"
kill -9 "$pid"
within_end 137

it 'a reservation of its own comes before what is inherited'
expect_exit 0 environment n0 jm/own --inherit --json
holds "$out" '.mode == "reservation"'

it 'neither: the variables are cleared'
expect_exit 0 environment n0 sub/1 --json
holds "$out" '.mode == "none" and (.variables | keys) == $n and
	all(.variables[]; . == null)' --argjson n "$names"
expect_exit 0 environment n0 --job sub/1 --exec -- sh -c 'env | grep -c SLINGSHOT_ || true'
is "$out" 0 'variables that are left'
outer=(OUTER=none)
expect_exit 0 environment n0 sub/1 --inherit --json
holds "$out" '.mode == "none"'

it 'neither, where flux-coral2 had no VNIs for a job and set the rest'
outer=(SLINGSHOT_DEVICES=cxi0,cxi1,cxi2 SLINGSHOT_SVC_IDS=-1,-1,-1 SLINGSHOT_TCS=0xf)
expect_exit 0 environment n0 sub/1 --inherit --json
holds "$out" '.mode == "none" and all(.variables[]; . == null)'
cleared=(sh -c 'env | grep SLINGSHOT_ || echo cleared')
expect_exit 0 on n0 --user $alice -- env FLUX_JOB_ID=1 "${outer[@]}" \
	fairlead run --inherit -- "${cleared[@]}"
is "$out" cleared 'with --inherit'

it 'in a job that is off, fairlead run --inherit clears them and runs'
expect_exit 0 fairlead run -N 1 --user $alice -o off -- env SLINGSHOT_TCS=0x0a \
	fairlead run --inherit -- "${cleared[@]}"
is "$out" 'n0.0: cleared' 'in a job of Fairlead'

it 'off and no VNIs clear them too'
for option in off vnis=0; do
	expect_exit 0 env SLINGSHOT_VNIS=7 fairlead run -N 1 --user $alice -o $option \
		-- sh -c 'env | grep SLINGSHOT_ || echo cleared'
	is "$out" 'n0.0: cleared' "with $option"
done

it 'a prolog with the grant of a job without a lane waits for nothing'
for option in off vnis=0; do
	lane=$(reserve "jm/no-${option%=*}" n0 -o $option --grant)
	expect_exit 0 on n0 -- fairlead prolog "$lane"
	is "$out$err" '' "with $option"
	expect_exit 75 on n0 -- fairlead prolog --timeout 0.05 "jm/no-${option%=*}"
	expect_hint 'where the grant is given'
	fairlead release "jm/no-${option%=*}"
done

it 'netns: the services are for who is in the network namespace of the job'
lane=$(reserve jm/inside n0 -o netns)
on n0 -- ip netns add "job-$lane"
expect_exit 0 fairlead apply "$lane"
service=$(service_of n0 cxi1 "$lane")
expect_exit 0 on n0 -- ip netns exec "job-$lane" cxi-lni --device cxi1 --service "$service"
expect_exit 1 on n0 --user $alice -- cxi-lni --device cxi1 --service "$service"
on n0 -- ip netns delete "job-$lane"
fairlead release "$lane"
lane=$(reserve jm/outside n0 -o netns)
expect_exit 1 fairlead apply "$lane"
expect_error "n0: cannot open the job's network namespace '/run/netns/job-$lane'"

it 'exclusive_cp: communication profiles of its own, also within a network namespace'
expect_exit 0 fairlead run -N 1 --user $alice -o exclusive_cp -- cxi-lni
is "$(grep -c allocated <<<"$out")" 3 'LNIs'
lane=$(reserve jm/profiles n0 -o exclusive_cp,netns)
on n0 -- ip netns add "job-$lane"
expect_exit 0 fairlead apply "$lane"
service=$(service_of n0 cxi1 "$lane")
expect_exit 0 on n0 -- ip netns exec "job-$lane" cxi-lni --device cxi1 --service "$service"
expect_exit 1 on n0 --user $alice -- cxi-lni --device cxi1 --service "$service"
on n0 -- ip netns delete "job-$lane"
fairlead release "$lane"
expect_exit 1 reserve jm/wide n0 -o exclusive_cp,vnis=2
expect_error "'exclusive_cp' is for jobs with one VNI"

it 'classes and limits are the job'"'"'s to lower, never to raise'
expect_exit 0 fairlead run -N 1 --user $alice -o tcs=LOW_LATENCY \
	-- printenv SLINGSHOT_TCS
is "$out" 'n0.0: 0x02' 'classes'
expect_exit 1 reserve jm/bulk n0 -o tcs=BULK_DATA
expect_error 'BULK_DATA'
expect_exit 1 reserve jm/greedy n0 -o per_core_txqs=3
expect_error 'per_core_txqs'

it 'what is stale is not inherited'
fairlead release "$grant"
outer=(SLINGSHOT_VNIS=1024,1025 SLINGSHOT_DEVICES=cxi0,cxi1,cxi2
	"SLINGSHOT_SVC_IDS=$ids" SLINGSHOT_TCS=0x0a)
expect_exit 1 environment n0 sub/1 --inherit
expect_error "cxi0: inherited service ${ids%%,*} is not there any more"
expect_exit 1 within -- touch "$work/ran"
expect_error 'is not there any more'
test ! -e "$work/ran"
expect_exit 0 environment n0 jm/own --json
holds "$out" '.mode == "none"'
expect_clean

it 'a job that gets no VNIs fails, or goes on without where the site says so'
for name in rest most; do
	reserve jm/$name n0 -o vnis=4 >"$work/$name"
done
is "$(pool free)" '' 'VNIs that are free'
expect_exit 75 reserve jm/late n0
expect_error 'failed to reserve 1 VNI \(0 available\)'
expect_exit 75 fairlead run -N 1 --user $alice -- touch "$work/ran"
test ! -e "$work/ran"
is "$(event run/7 exception | gojq -c '.[].severity')" 0 'severity of the exception'
sed -i 's/^\( *\)vni_pool.*/&\n\1reserve_fatal = false/' "$config"
expect_exit 0 fairlead manager reconfigure
expect_out 'reserve_fatal: \(default\) -> false'
expect_exit 0 env SLINGSHOT_VNIS=7 fairlead run -N 2 --user $alice -- \
	sh -c 'env | grep SLINGSHOT_ || echo cleared'
is "$(sort <<<"$out" | paste -sd' ')" 'n0.0: cleared n1.0: cleared' 'variables'
is "$(event run/8 cray-slingshot | gojq -r '.[]["empty-reason"]')" \
	'failed to reserve 1 VNI (0 available)' 'the reason in its event'
expect_events run/8 request cray-slingshot applied release
expect_objects 0 n0 n1
sed -i '/reserve_fatal/d' "$config"
expect_exit 0 fairlead manager reconfigure
expect_exit 75 reserve jm/late n0
for name in rest most; do
	fairlead release "$(<"$work/$name")"
done
expect_clean

story_end
