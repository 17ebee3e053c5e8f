#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `fairlead doctor --slurm` beside a real Slurm: each thing that can be wrong is
# found at the machine where it is, and the advice mends it.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/slurm-lib.sh
. "$(dirname "$0")/slurm-lib.sh"

need_slurm
cluster_up -N 3 --nics 1
slurm_up 2

# The story is about the line, not about what the plugin does.
: >"$slurm/spank_fairlead.so"
line="optional $slurm/spank_fairlead.so default=must"

plugstack() { # plugstack [LINE...]
	printf '%s\n' "$@" >"$slurm/plugstack.conf"
}

reload() { # reload [LINE OF slurm.conf...]: in place of those of the same setting
	local line
	for line; do
		sed -i "/^${line%%=*}=/d" "$SLURM_CONF"
		[ "${line#*=}" = '' ] || printf '%s\n' "$line" >>"$SLURM_CONF"
	done
	slurm_stop slurmctld
	slurmctld_up
	wait_for slurm_client sinfo -h
}

findings=
diagnose() { # diagnose [NODE]: at the controller, or there
	run on "${1:-manager}" -- fairlead doctor --slurm --json
	findings=$out
	gojq -e .findings >/dev/null <<<"$out" || fail "no findings: $out $err"
}

finds() { # finds LEVEL CHECK TEXT [ADVICE]
	holds "$findings" 'any(.findings[]; .level == $level and .check == $check and
		(.text | contains($text)) and (.advice | contains($advice)))' \
		--arg level "$1" --arg check "$2" --arg text "$3" --arg advice "${4:-}"
}

# Of Slurm nothing is worse than OK, but that no drain_command is set.
expect_well() {
	holds "$findings" '[.findings[] | select(.level == "FAIL" or .level == "WARN") |
		.check] - $others == ["drain_command"]' --argjson others "$others"
}

# What the emulated cluster lacks apart from Slurm.
run on manager -- fairlead doctor --json
others=$(gojq -c '[.findings[] | select(.level == "FAIL" or .level == "WARN") | .check] | unique' <<<"$out")

it 'finds all well where it is, at the controller and on a node'
plugstack "$line"
diagnose
for check in Slurm PrologFlags SwitchType PrologSlurmctld Prolog Epilog EpilogSlurmctld \
	'SPANK plugin' submitter PrologEpilogTimeout "Slurm's nodes"; do
	finds OK "$check" ''
done
finds OK PrologSlurmctld "calls 'fairlead slurm prolog-slurmctld'"
finds OK "Slurm's nodes" 'the manager knows all 2'
finds WARN drain_command 'goes on getting jobs' '/usr/lib/fairlead/slurm/drain'
expect_well
diagnose n0
finds OK Prolog "calls 'fairlead slurm prolog'"

it 'finds PrologFlags that let jobs begin too early'
reload PrologFlags=Alloc
diagnose
is "$code" 1 'exit code'
finds FAIL PrologFlags 'first of its nodes' 'PrologFlags=Alloc,DeferBatch'
reload PrologFlags=
diagnose
finds FAIL PrologFlags 'none: a node' 'PrologFlags=Alloc,DeferBatch'
reload PrologFlags=NoHold
diagnose
finds FAIL PrologFlags 'Alloc,NoHold' 'PrologFlags=Alloc,NoHold,DeferBatch'
reload PrologFlags=Alloc,DeferBatch

it 'finds hooks that are not set, not there, not to be run, or not ours'
sed "s/fairlead slurm/true slurm/" "$slurm/prolog" >"$slurm/own"
printf '#!/bin/sh\necho a job begins\n' >"$slurm/own"
chmod 755 "$slurm/own"
reload Epilog= PrologSlurmctld="$slurm/nothing" Prolog="$slurm/own"
chmod 600 "$slurm/epilog-slurmctld"
diagnose
finds FAIL Epilog 'it is not set' 'Epilog=/usr/lib/fairlead/slurm/epilog'
finds FAIL PrologSlurmctld "$slurm/nothing: No such file"
finds WARN Prolog "does not mention 'fairlead slurm prolog'" '/usr/lib/fairlead/slurm/prolog'
diagnose n1
finds SKIP PrologSlurmctld 'not on this machine' 'at the controller'
chmod 644 "$slurm/epilog-slurmctld"
diagnose
finds FAIL EpilogSlurmctld 'no program that can be run' 'chmod 755'
chmod 755 "$slurm/epilog-slurmctld"

it 'takes a script of the site'"'"'s that calls ours, and not one that calls another hook'
printf '#!/bin/sh\n/site/first\n/usr/lib/fairlead/slurm/prolog || exit 1\n' >"$slurm/own"
diagnose
finds OK Prolog "calls 'fairlead slurm prolog'"
printf '#!/bin/sh\nfairlead slurm prolog-slurmctld\n' >"$slurm/own"
diagnose
finds WARN Prolog 'does not mention'

it 'knows our program by the name of its link, or of the one behind that'
mkdir "$slurm/ours"
ln -s prolog "$slurm/ours/50-site"
cp "$build/src/lanes/cli/fairlead-slurm" "$slurm/ours"
for hook in prolog epilog; do
	ln -s fairlead-slurm "$slurm/ours/$hook"
done
reload Prolog="$slurm/ours/50-*" Epilog="$slurm/ours/prolog"
diagnose
finds OK Prolog "calls 'fairlead slurm prolog'"
finds WARN Epilog "does not mention 'fairlead slurm epilog'"

it 'finds hooks that others than root can change'
reload Epilog="$slurm/epilog" PrologSlurmctld="$slurm/prolog-slurmctld" Prolog="$slurm/prolog"
chmod 775 "$slurm/prolog"
chown "$bob" "$slurm/epilog"
diagnose
finds FAIL Prolog 'can be changed by others' 'chown root'
finds FAIL Epilog 'can be changed by others' 'chown root'
chmod 755 "$slurm/prolog"
chown root "$slurm/epilog"
chmod 777 "$slurm"
diagnose
finds FAIL PrologSlurmctld 'can be changed by others'
chmod 755 "$slurm"

it 'finds a SPANK plugin that is not named, not there, required, or with other settings'
plugstack '# nothing'
diagnose n0
finds FAIL 'SPANK plugin' 'does not name it' "optional /usr/lib/fairlead/slurm/spank_fairlead.so default=must"
mkdir "$slurm/plugstack.d"
plugstack "include $slurm/plugstack.d/*.conf" 'include plugstack.d/*.relative'
echo "${line/optional/required}" >"$slurm/plugstack.d/fairlead.conf"
diagnose n0
finds WARN 'SPANK plugin' "required" "write 'optional'"
echo "${line/default=must/default=none} submitter=west" >"$slurm/plugstack.d/fairlead.conf"
diagnose
finds FAIL 'SPANK plugin' 'default is none, fairlead.conf has must' 'default to "must"'
finds FAIL 'SPANK plugin' 'submitter is west, fairlead.conf has slurm' 'submitter to "slurm"'
echo "$line" >"$slurm/plugstack.d/also.relative"
diagnose
finds FAIL 'SPANK plugin' 'names it once more' 'leave one line'
rm "$slurm/plugstack.d/fairlead.conf"
diagnose
finds OK 'SPANK plugin' 'default is must'
expect_well
mv "$slurm/spank_fairlead.so" "$slurm/away"
diagnose n0
finds FAIL 'SPANK plugin' "$slurm/spank_fairlead.so is not there" 'on nodes and where users submit'
mv "$slurm/away" "$slurm/spank_fairlead.so"
chmod 666 "$slurm/spank_fairlead.so"
diagnose
finds FAIL 'SPANK plugin' 'can be changed by others'
chmod 644 "$slurm/spank_fairlead.so"

it 'finds a default that is not promised any more'
sed -i 's|^driver "slingshot" {|&\n    default_vnis = 0|' "$config"
diagnose
finds FAIL 'SPANK plugin' 'default is must, fairlead.conf has none' 'default to "none"'
sed -i '/default_vnis = 0/d' "$config"

it 'finds nodes of Slurm'"'"'s that the manager does not know'
echo 'NodeName=x[7-8],n9 NodeAddr=10.203.0.9 CPUs=1 State=DOWN' >>"$SLURM_CONF"
sed -i 's/^PartitionName=all Nodes=/&x[7-8],n9,/' "$SLURM_CONF"
reload
diagnose
finds FAIL "Slurm's nodes" 'the manager does not know '
holds "$findings" 'any(.findings[]; .check == "Slurm'"'"'s nodes" and
	(.text | contains("x[7-8]") and contains("n9")))'
sed -i 's/x\[7-8\],n9,//; /^NodeName=x/d' "$SLURM_CONF"

it 'finds a time that is too short for a lane'
reload PrologEpilogTimeout=2
diagnose
finds WARN PrologEpilogTimeout 'ends a prolog after 2 s' 'apply_timeout'

it 'says so when Slurm does not answer'
slurm_stop slurmctld
diagnose
is "$code" 1 'exit code'
finds FAIL Slurm "scontrol' failed" "'commands' and 'conf'"

job_manager_down
story_end
