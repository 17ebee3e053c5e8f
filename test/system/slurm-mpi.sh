#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI as users of Slurm start it, by srun and by mpirun, is in its job's lane by
# configuration alone; and so is what a job starts inside of it.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"
# shellcheck source=test/system/mpi-lib.sh
. "$(dirname "$0")/mpi-lib.sh"

need_slurm
need_mpi mpi-ring
[ -e "$(dirname "$(readlink -f /usr/lib/*/libpmix.so.2)")/libpmix.so" ] ||
	skip_all 'there is no libpmix.so for srun --mpi=pmix (package libpmix-dev)'
ring=$tools/mpi-ring
probe=$build/test/lane/lane-probe
interconnect=ethernet
nodes=(n0 n1 n2 n3)
mkdir -m 1777 "$work/out"

cluster_up -N 4 --nics 1 -s ethernet.vni_pool=4096-4103
sed -i 's/^\( *interconnect = \).*/\1"ethernet"/' "$config"
slurm_cpus=6
# Nodes of one machine have one /tmp; PMIx wants one of each node's.
for node in "${nodes[@]}"; do
	mkdir -p "$slurm/tmp.$node"
	chmod 1777 "$slurm/tmp.$node"
done
slurm_up 4 "TmpFS=$slurm/tmp.%n"

# --- jobs that go on until they are let go ---

goes_on() { # goes_on NAME: and who writes there may be anybody
	: >"$work/out/$1.goes-on"
	: >"$work/out/$1"
	chmod 666 "$work/out/$1"
}

all_right() { # all_right NAME RANKS
	[ "$(grep -c 'right$' "$work/out/$1")" -eq "$2" ]
}

declare -A pids=()
begin() { # begin NAME RANKS COMMAND...: until each rank has what it was sent
	local name=$1 ranks=$2
	shift 2
	goes_on "$name"
	"$@" >"$work/out/$name" 2>"$work/out/$name.errors" 3>&- &
	pids[$name]=$!
	wait_for eval 'all_right $name $ranks || is_gone ${pids[$name]}'
	all_right "$name" "$ranks" || fail "$name: $(cat "$work/out/$name"{,.errors})"
}

end() { # end NAME: let it go; it ends well
	rm "$work/out/$1.goes-on"
	code=0
	wait "${pids[$1]}" || code=$?
	is "$code" 0 "exit code of $1: $(cat "$work/out/$1.errors")"
}

srun_begin() { # srun_begin NAME RANKS UID OPTION...
	begin "$1" "$2" as_user "$3" srun --mpi=pmix -n "$2" "${@:4}" "$ring" \
		"$work/out/$1.goes-on"
}

batch_begin() { # batch_begin NAME RANKS UID OPTION... <SCRIPT: of sbatch; into $job
	local name=$1 ranks=$2 uid=$3
	shift 3
	goes_on "$name"
	cat >"$work/out/$name.sh"
	expect_exit 0 as_user "$uid" sbatch --parsable -n "$ranks" \
		-o "$work/out/$name" "$@" "$work/out/$name.sh"
	job=$out
	wait_for eval 'all_right $name $ranks || ! is_live $job'
	all_right "$name" "$ranks" || fail "$name: $(cat "$work/out/$name")"
}

is_live() { # is_live JOB
	case $(slurm_job "$1" JobState) in
	PENDING | CONFIGURING | RUNNING) return 0 ;;
	esac
	return 1
}

batch_end() { # batch_end NAME JOB
	rm "$work/out/$1.goes-on"
	wait_for is_job "$2" COMPLETED
	is "$(slurm_job "$2" ExitCode)" 0:0 "exit code of $1"
}

in_job() { # in_job UID JOB NODE COMMAND...: a task of the job
	as_user "$1" srun "--jobid=$2" --overlap -N1 -n1 -w "$3" "${@:4}"
}

# --- where they are ---

# Both ends of what ranks of a user on a node have connected, but for loopback.
ends_of() { # ends_of NODE UID
	on "$1" -- ss -Htnpe state established |
		awk -v uid="uid:$2" '/"mpi-ring"/ && $0 ~ uid " " {print $3, $4}' |
		sed 's/:[0-9]*\( \|$\)/\1/g' | grep -v '^127\.' | sort -u || true
}

expect_ends() { # expect_ends UID NODE REGEX: these, and some
	local ends
	ends=$(ends_of "$2" "$1")
	[ -n "$ends" ] || fail "ranks on $2 are not connected"
	is "$(grep -Evx -- "$3 $3" <<<"$ends" || true)" '' "ends on $2 that are not $3"
}

address_of() { # address_of NODE DEVICE
	on "$1" -- ip -j -4 address show dev "$2" | gojq -er '.[].addr_info[].local'
}

bytes() { # bytes NODE DEVICE: that it has sent
	on "$1" -- ip -j -s link show "$2" | gojq '.[0].stats64.tx.bytes'
}

has_sent() { # has_sent NODE DEVICE BYTES: or more
	[ "$(bytes "$1" "$2")" -ge "$3" ]
}

# Ranks on these nodes are connected by this lane and by nothing else, and it
# carries what they send.
expect_in_lane() { # expect_in_lane UID DEVICE NODE...
	local uid=$1 device=$2 node address
	shift 2
	for node; do
		address=$(address_of "$node" "$device")
		expect_ends "$uid" "$node" "${address%.*}[.][0-9]+"
		wait_for has_sent "$node" "$device" $(($(bytes "$node" "$device") + 1000000))
	done
}

keys() { # of the jobs that hold something
	json_of list | gojq -r '[.jobs[].key] | join(" ")'
}

device_of() { # device_of JOB: of its lane
	printf 'fl%s\n' "$(vnis_of "slurm/$1/0")"
}

grant_of() { # grant_of JOB
	json_of explain "slurm/$1/0" | gojq -e '.grants[0].grant_id'
}

expect_ranks() { # expect_ranks NAME UID RANKS ON: such as 2n0,2n1
	is "$(grep -c "as $2: right" "$work/out/$1")" "$3" 'ranks of the owner'
	is "$(grep -o 'on n[0-9]' "$work/out/$1" | sort | uniq -c |
		awk '{print $1 $3}' | paste -sd,)" "$4" 'ranks on nodes'
}

it 'srun --mpi=pmix of a plain user is in its lane, on four nodes'
srun_begin srun 8 "$alice" -N4 --ntasks-per-node=2
expect_ranks srun "$alice" 8 2n0,2n1,2n2,2n3
is "$(keys)" slurm/1/0 'jobs'
expect_in_lane "$alice" "$(device_of 1)" "${nodes[@]}"
end srun
expect_slurm_clean 4

it 'so is mpirun, in a batch job and by salloc'
batch_begin mpirun 8 "$alice" -N4 --ntasks-per-node=2 <<END
#!/bin/sh
mpirun.openmpi $ring $work/out/mpirun.goes-on
END
expect_ranks mpirun "$alice" 8 2n0,2n1,2n2,2n3
expect_in_lane "$alice" "$(device_of "$job")" "${nodes[@]}"
batch_end mpirun "$job"
begin salloc 4 as_user "$alice" salloc -N2 --ntasks-per-node=2 \
	mpirun.openmpi "$ring" "$work/out/salloc.goes-on"
expect_ranks salloc "$alice" 4 2n0,2n1
expect_in_lane "$alice" "$(device_of $((job + 1)))" n0 n1
end salloc
expect_slurm_clean 4

it 'jobs of two users on the same nodes are in lanes of their own'
batch_begin alice 2 "$alice" -w 'n[0-1]' --ntasks-per-node=1 <<END
#!/bin/sh
srun --mpi=pmix $ring $work/out/alice.goes-on
exec sleep inf
END
alice_job=$job alice_device=$(device_of "$job")
batch_begin bob 2 "$bob" -w 'n[0-1]' --ntasks-per-node=1 <<END
#!/bin/sh
mpirun.openmpi $ring $work/out/bob.goes-on
exec sleep inf
END
bob_job=$job bob_device=$(device_of "$job")
[ "$alice_device" != "$bob_device" ]
expect_in_lane "$alice" "$alice_device" n0 n1
expect_in_lane "$bob" "$bob_device" n0 n1
rm "$work"/out/{alice,bob}.goes-on

it 'and neither reaches what is in the lane of the other'
refuses() { # refuses UID JOB VERB ADDRESS: on both nodes
	local node
	for node in n0 n1; do
		expect_exit 1 in_job "$1" "$2" "$node" "$probe" "${@:3:2}" 7000 ${5:+"$5"}
		has "$out" '^refused' "$3 $4 from $node"
	done
}
for pair in "$alice $alice_job $alice_device $bob $bob_job" \
	"$bob $bob_job $bob_device $alice $alice_job"; do
	read -r owner job device other other_job <<<"$pair"
	address=$(address_of n1 "$device")
	: >"$work/listener"
	in_job "$owner" "$job" n1 "$probe" tcp-listen "$address" 7000 >"$work/listener" 2>&1 3>&- &
	wait_for grep -q ready "$work/listener"
	refuses "$other" "$other_job" tcp-connect "$address"
	refuses "$other" "$other_job" udp-send "$address" hello
	expect_exit 0 in_job "$owner" "$job" n0 "$probe" tcp-connect "$address" 7000
	wait $!
	is "$(tail -n 1 "$work/listener")" accepted 'who listened'
done

it 'without a lane MPI takes the network that the site names, beside all lanes'
settings=/etc/openmpi/openmpi-mca-params.conf
{
	cat $settings
	echo # Debian's file does not end its last line
	echo 'btl_tcp_if_include = 10.204.0.0/16'
	echo 'oob_tcp_if_include = 10.204.0.0/16'
} >"$work/settings"
for node in "${nodes[@]}"; do
	on "$node" -- mount --bind "$work/settings" $settings
done
step=("--jobid=$alice_job" --overlap -N2 --ntasks-per-node=1)
without_lane() { # without_lane NAME OPTION...: of srun
	local sent node
	sent=$(bytes n0 "$alice_device")
	srun_begin "$1" 2 "$alice" --fairlead=off "${@:2}"
	for node in n0 n1; do
		expect_ends "$alice" "$node" '10[.]204[.]0[.][0-9]+'
	done
	end "$1"
	[ $(($(bytes n0 "$alice_device") - sent)) -lt 1000 ] || fail 'it went by a lane'
}
without_lane off "${step[@]}"
without_lane none -w 'n[0-1]' --ntasks-per-node=1
srun_begin step 2 "$alice" "${step[@]}"
expect_in_lane "$alice" "$alice_device" n0 n1
end step

it 'fairlead run --inherit in a job passes its lane on, and reserves nothing'
batch_begin inherit 4 "$alice" -w 'n[2-3]' --ntasks-per-node=2 <<END
#!/bin/sh
fairlead run --inherit -n 2 -- sh -c 'echo "task \$FAIRLEAD_RANK \$FAIRLEAD_INTERFACES"'
fairlead run --inherit -- mpirun.openmpi $ring $work/out/inherit.goes-on
END
device=$(device_of "$job")
is "$(grep '^task' "$work/out/inherit" | sort | paste -sd,)" \
	"task 0 $device,task 1 $device" 'tasks'
expect_ranks inherit "$alice" 4 2n2,2n3
expect_in_lane "$alice" "$device" n2 n3
is "$(keys)" "slurm/$alice_job/0 slurm/$bob_job/0 slurm/$job/0" 'jobs'
is "$(grant_of "$job")" $(($(grant_of "$bob_job") + 1)) 'grant after that of Bob'
last_grant=$(grant_of "$job")
batch_end inherit "$job"

it 'what is inherited and not true is not passed on'
forged() { # forged REGEX OF THE ERROR, ARGUMENT OF env...
	expect_exit 1 in_job "$alice" "$alice_job" n0 env "${@:2}" \
		fairlead run --inherit -- touch "$work/out/ran"
	expect_error "$1"
}
forged "inherited device $bob_device is not for uid $alice" "FAIRLEAD_INTERFACES=$bob_device"
forged 'inherited device .fl9. is not there any more' FAIRLEAD_INTERFACES=fl9
forged "inherited address .* is not that of $alice_device" \
	"FAIRLEAD_ADDRESSES=$(address_of n0 "$bob_device")"
forged 'only some of FAIRLEAD_INTERFACES, .* are inherited' -u FAIRLEAD_INTERFACES
test ! -e "$work/out/ran"
expect_exit 0 as_user "$alice" srun "${step[@]}" --fairlead=off fairlead run --inherit -- \
	sh -c 'env | grep FAIRLEAD_INTERFACES || echo cleared'
has "$out" cleared 'what a step without a lane passes on'
slurm_client scancel "$alice_job" "$bob_job"
expect_slurm_clean 4

flux_in_job() {
	local plugins=$build/src/lanes/plugin/flux job
	if ! command -v flux >/dev/null || ! anybody flux --version >/dev/null; then
		skip_claim 'no flux here'
		return
	fi
	[ -e "$plugins/fairlead-shell.so" ] || {
		skip_claim 'the plugins of Flux are not built'
		return
	}
	cat >"$work/shell.lua" <<-END
		plugin.load { file = "*.so", conf = {} }
		plugin.load { file = "$plugins/fairlead-shell.so", conf = {} }
	END
	cat >"$work/instance" <<-END
		#!/bin/sh
		flux jobtap load $plugins/fairlead-jobtap.so
		flux jobtap query fairlead-jobtap.so && echo
		flux run -N2 sh -c 'echo "task \$FAIRLEAD_INTERFACES"'
		FAIRLEAD_INTERFACES=fl9 flux run -N2 -n2 $ring $work/out/flux.goes-on
	END
	chmod 755 "$work/instance"
	begin flux 2 as_user "$alice" srun --mpi=pmi2 -N2 --ntasks-per-node=1 flux start \
		-Stbon.interface-hint=eth0 -Sconf.shell_initrc="$work/shell.lua" "$work/instance"
	job=$(keys | cut -d/ -f2)
	is "$(keys)" "slurm/$job/0" 'jobs'
	is "$(grant_of "$job")" $((last_grant + 1)) 'grant'
	last_grant=$(grant_of "$job")
	device=$(device_of "$job")
	has "$(<"$work/out/flux")" '"inside":"a job of Slurm"' 'what the jobtap plugin says'
	is "$(grep -c "^task $device\$" "$work/out/flux")" 2 'tasks with the lane'
	expect_ranks flux "$alice" 2 1n0,1n1
	expect_in_lane "$alice" "$device" n0 n1
	end flux
}

it 'a Flux instance in a job passes its lane on, and reserves nothing'
flux_in_job
expect_slurm_clean 4

it 'all VNIs are free again, no node has anything of a lane, and no grant was made besides'
job_manager_down
expect_clean
is "$(pool free)" 4096-4103 'VNIs that are free'
for node in "${nodes[@]}"; do
	is "$(on "$node" -- ip -o link show type vxlan)" '' "devices on $node"
	lacks "$(on "$node" -- nft list table inet fairlead)" 'fl[0-9]' "rules on $node"
done
expect_exit 0 fairlead reserve run/end --nodes n0 --user "$alice"
is "$out" $((last_grant + 1)) 'the next grant'
fairlead release "$out"
story_end
