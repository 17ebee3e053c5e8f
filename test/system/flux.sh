#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs of a stock Flux have their lanes by configuration alone: by option, several
# on a node, and in instances inside of jobs; and nothing is left of them.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/flux-lib.sh
. "$(dirname "$0")/flux-lib.sh"
# shellcheck source=test/system/fm-lib.sh
. "$(dirname "$0")/fm-lib.sh"

need_flux
cluster_up -N 4 --nics 1 -s slingshot.vni_pool=1024-1031 -s softfm,slingshot.hwcoll_trees=4
flux_up 4

it 'gives a job a lane on every node, and says which in its eventlog'
expect_exit 0 fx run -N4 -n8 "$work/show"
is "$(grep -c 'vnis=1024 service=[0-9]* device=cxi0 tcs=0x0a' <<<"$out")" 8 'tasks'
is "$(cut -d' ' -f1 <<<"$out" | sort -u | tr '\n' ' ')" 'n0 n1 n2 n3 ' 'nodes'
job=$(fx job last)
expect_flux_events "$job" prolog-start cray-slingshot prolog-finish start finish \
	epilog-start epilog-finish free clean
holds "$(flux_event "$job" cray-slingshot)" '.[0] | .vnis == [1024] and
	.reservation.vnis == [1024] and .fairlead.has_lane and .fairlead.key == $k' \
	--arg k "flux/$(plain "$job")/0"
expect_events "flux/$(plain "$job")" request cray-slingshot apply applied release revoked free
expect_flux_clean 4

it 'the environment is that of the service on the card, and only its owner reads it'
hold 2 -N2 --requires=hosts:n0,n1
grant=$(flux_event "$job" cray-slingshot | gojq '.[0].fairlead.grant_id')
for node in n0 n1; do
	has "$out" "^$node vnis=1025 service=$(service_of $node cxi0 "$grant") " 'a task'
done
path=$(env_file n0 "flux/$(plain "$job")/0")
is "$(stat -c '%u %a' "$path")" "$alice 600" 'owner of the environment'
holds "$(json_of explain "$grant")" '.grants[0] | .uid == $u and .state == "active"' \
	--argjson u "$alice"
holds "$(fx jobtap query fairlead-jobtap.so)" '.jobs[$j].grant_id == $g and
	.jobs[$j].step == "ready" and .manager.is_up and .version and .inside == ""' \
	--arg j "$(plain "$job")" --argjson g "$grant"
fx cancel "$job"
await_event "$job" clean
expect_flux_events "$job" prolog-start cray-slingshot prolog-finish start exception \
	epilog-start finish epilog-finish free clean
expect_flux_clean 4

it 'takes what the user asks for'
expect_exit 0 fx run -o cray-slingshot.vnicount=2 "$work/show"
expect_out 'vnis=1026,1027 '
expect_exit 0 fx run -o fairlead=vnis=3,tcs=BEST_EFFORT "$work/show"
expect_out 'vnis=1028,1029,1030 .* tcs=0x08'
expect_flux_clean 4

it 'gives none to who is to go without, and asks for nothing'
grant_of() { # grant_of JOB
	flux_event "$1" cray-slingshot | gojq '.[0].fairlead.grant_id'
}
expect_exit 0 fx run true
before=$(grant_of "$(fx job last)")
for option in cray-slingshot=off fairlead=off; do
	expect_exit 0 fx run -N4 -o $option "$work/show"
	is "$(grep -c 'vnis= service= ' <<<"$out")" 4 'tasks'
	holds "$(flux_event "$(fx job last)" cray-slingshot)" '.[0] | .vnis == [] and
		."empty-reason" == "disabled by user request"'
	expect_flux_events "$(fx job last)" cray-slingshot start finish free clean
done
for option in cray-slingshot.vnicount=0 fairlead=vnis=0 fairlead=interconnect=ethernet,vnis=0; do
	expect_exit 0 fx run -N4 -o $option "$work/show"
	is "$(grep -c 'vnis= service= ' <<<"$out")" 4 'tasks'
	holds "$(flux_event "$(fx job last)" cray-slingshot)" '.[0]."empty-reason" ==
		"none requested"'
done
expect_exit 0 fx run true
is "$(grant_of "$(fx job last)")" $((before + 1)) 'the next grant'
expect_flux_clean 4

it 'refuses at submission what cannot be meant'
refuse() { # refuse OPTION TEXT
	expect_exit 1 fx submit -o "$1" true
	expect_error "$2"
}
refuse cray-slingshot.vnicount=42 'VNI count must be within 1-4'
refuse cray-slingshot.vnicount=-1 'VNI count must be within 1-4'
refuse cray-slingshot.vnicount=bad \
	'error parsing cray-slingshot shell options: Expected integer, got string'
refuse cray-slingshot=on '-o cray-slingshot: invalid option: on'
refuse cray-slingshot.colour=red '-o cray-slingshot: invalid option: colour'
refuse 'fairlead=vnis=$(id)' 'has another character in its value'
refuse 'fairlead=a b' 'byte 0x20'
refuse fairlead=, 'nothing stands before or after a comma'
refuse "fairlead=$(head -c 600 /dev/zero | tr '\0' a)" 'longer than 511'
expect_exit 1 fx submit -o fairlead=off -o cray-slingshot=off true
expect_error 'say one of them'

it 'an environment that is left of another lane does not get in, what is the user'\''s does'
stale=(--env=SLINGSHOT_VNIS=77 --env=SLINGSHOT_SVC_IDS=9 --env=UCX_NET_DEVICES=mlx5_0:1)
expect_exit 0 fx run "${stale[@]}" -o cray-slingshot.vnicount=0 \
	sh -c 'echo "$SLINGSHOT_VNIS|$SLINGSHOT_SVC_IDS|$UCX_NET_DEVICES"'
expect_out '^\|\|mlx5_0:1$'
expect_exit 0 fx run "${stale[@]}" sh -c 'echo "$SLINGSHOT_VNIS|$UCX_NET_DEVICES"'
expect_out '^10[0-9]+\|mlx5_0:1$'
expect_exit 0 fx run "${stale[@]}" -o cray-slingshot=off \
	sh -c 'echo "$SLINGSHOT_VNIS|$SLINGSHOT_SVC_IDS|$UCX_NET_DEVICES"'
expect_out '^77\|9\|mlx5_0:1$'
expect_exit 0 fx run --env=FAIRLEAD_INTERFACES=fl1 --env=UCX_NET_DEVICES=fl1 \
	-o cray-slingshot.vnicount=0 sh -c 'echo "$FAIRLEAD_INTERFACES|$UCX_NET_DEVICES"'
expect_out '^\|$'
expect_flux_clean 4

it 'keeps jobs on one node apart'
hold 1 -n1 --requires=hosts:n0
first=$job first_vni=$(flux_event "$job" cray-slingshot | gojq '.[0].vnis[0]')
hold 1 -n1 --requires=hosts:n0
second_vni=$(flux_event "$job" cray-slingshot | gojq '.[0].vnis[0]')
[ "$first_vni" -ne "$second_vni" ] || fail 'they share a lane'
expect_objects 2 n0
fx cancel "$first" "$job"
expect_flux_clean 4

it 'an instance inside a job passes on what it inherited, and reserves nothing'
cat >"$work/batch" <<END
#!/bin/sh
flux run -N2 $work/show
flux run -N1 -o cray-slingshot=off --env-remove='SLINGSHOT_*' $work/show
flux run -N2 --env-remove='SLINGSHOT_*' $work/show
flux jobtap load $plugins/fairlead-jobtap.so
flux jobtap query fairlead-jobtap.so
echo
flux run -N2 $work/show
END
chmod 755 "$work/batch"
: >"$work/batch.out"
chown "$alice" "$work/batch.out"
expect_exit 0 fx batch -N2 --broker-opts=-Stbon.interface-hint=eth0 \
	--broker-opts="-Sconf.shell_initrc=$flux/shell.lua" \
	--output="$work/batch.out" "$work/batch"
job=$out
await_event "$job" clean
out=$(<"$work/batch.out")
vni=$(flux_event "$job" cray-slingshot | gojq '.[0].vnis[0]')
is "$(grep -c " vnis=$vni service=[0-9]" <<<"$out")" 6 'tasks in the lane of the outer job'
is "$(grep -c ' vnis= service= ' <<<"$out")" 1 'tasks that go without'
has "$out" '"inside":"a job of Flux"' 'what the plugin says there'
is "$(json_of list | gojq '.jobs | length')" 0 'jobs'
expect_events "flux/$(plain "$job")" request cray-slingshot apply applied release revoked free
expect_flux_clean 4

it 'HR06: who asks for multicast trees and gets none reads why, and the job runs'
expect_exit 0 fx run -N1 -o fairlead=hwcoll=on printenv SLINGSHOT_VNIS
expect_error 'exception.*severity=4 .*no external reservation: hwcoll: a job of one node'
holds "$(flux_event "$(fx job last)" exception)" 'length == 1 and .[0].type == "cray-slingshot"'

it 'HT06 HT07: a job with multicast trees has a step id, within that outside'
step=FI_CXI_COLL_JOB_STEP_ID
expect_exit 0 fx run -N2 -o fairlead=hwcoll=on printenv $step
id=$(plain "$(fx job last)")
is "$out" "/$id"$'\n'"/$id" 'ids of a job'
expect_exit 1 fx run --env=$step=7 -N2 printenv $step
is "$out" '' 'ids of a job without trees'
cat >"$work/within" <<END
#!/bin/sh
inner="flux start -Sconf.shell_initrc=$flux/shell.lua flux run"
flux run -N2 printenv $step
flux run \$inner printenv $step FLUX_JOB_ID_PATH
flux run env $step=3 \$inner sh -c 'echo \$$step; flux job id --to=f58plain \$FLUX_JOB_ID'
END
chmod 755 "$work/within"
: >"$work/within.out"
chown "$alice" "$work/within.out"
expect_exit 0 fx batch -N2 -o fairlead=hwcoll=on --broker-opts=-Stbon.interface-hint=eth0 \
	--broker-opts="-Sconf.shell_initrc=$flux/shell.lua" --output="$work/within.out" "$work/within"
job=$out
await_event "$job" clean
readarray -t ids < <(sed 's/ƒ/f/g' "$work/within.out")
has "${ids[0]}" "^/$(plain "$job")/f[^/]+$" 'the id of a job inside'
is "${ids[1]}" "${ids[0]}" 'on its other node'
has "${ids[2]}" "^/$(plain "$job")/f[^/]+/f[^/]+$" 'the id two levels inside'
is "${ids[3]}" "${ids[2]}" 'path of that job'
is "${ids[4]}" "3/${ids[5]}" 'the id inside a step of Slurm'
expect_flux_clean 4

inner_batch() { # $work/inner.sh, with trees, into $work/inner.out
	touch "$work"/{inner,killed}.out
	chmod 755 "$work/inner.sh"
	chown "$alice" "$work"/{inner,killed}.out
	expect_exit 0 fx batch -N2 -o fairlead=hwcoll=on --broker-opts=-Stbon.interface-hint=eth0 \
		--broker-opts="-Sconf.shell_initrc=$flux/shell.lua" --output="$work/inner.out" "$work/inner.sh"
	job=$out
}

it 'HC01 HC03: the trees of a job inside go after it, also when its shell is killed'
cat >"$work/inner.sh" <<END
#!/bin/sh
$libfabric join=0:00:10,0:00:11
flux run -N2 sh -c '[ \$FLUX_TASK_RANK != 0 ] || $libfabric join=0:00:12,0:00:13; exit 3'
echo "ended \$?"
until [ -e $work/abort ]; do sleep 0.05; done
flux run sh -c '$libfabric join=0:00:14,0:00:15 >$work/killed.out; kill -9 \$PPID; exec sleep inf'
until [ -e $work/stay ]; do sleep 0.05; done
flux run -N2 sh -c '[ \$FLUX_TASK_RANK != 0 ] || $libfabric join=0:00:16,0:00:17; exec sleep inf'
END
are_two() { # steps with trees
	[ "$(steps | wc -w)" -eq 2 ]
}
inner_batch
outer=/$(plain "$job")
wait_for grep -qx 'ended 3' "$work/inner.out"
wait_for are_steps "$outer"
have_joined 2 "$work/inner.out"
touch "$work/abort"
wait_for have_joined 1 "$work/killed.out"
wait_for are_steps "$outer"
touch "$work/stay"
wait_for are_two
expect_no_token "$FAIRLEAD_CLUSTER"/*/log/* "$flux"/log/*
fx cancel "$job"
await_event "$job" clean
expect_names ''
expect_flux_clean 4

it 'HC01: so do those of a job that is in none, if its reservation has not gone before'
are_patches() { # are_patches COUNT: so far
	[ "$(grep -c op=patch "$FAIRLEAD_CLUSTER/manager/log/softfm.log")" -eq "$1" ]
}
before=$(grep -c op=patch "$FAIRLEAD_CLUSTER/manager/log/softfm.log")
expect_exit 0 fx run -N2 -o fairlead=hwcoll=on sh -c "[ \$FLUX_TASK_RANK != 0 ] || $libfabric join=0:00:10,0:00:11"
wait_for are_patches $((before + 1))
expect_flux_clean 4

it 'HC02: a job does not fail when the fabric manager is down at its end'
cat >"$work/down" <<END
#!/bin/sh
[ \$FLUX_TASK_RANK != 0 ] || $libfabric join=0:00:10,0:00:11
until [ -e $work/down.now ]; do sleep 0.05; done
exit 5
END
chmod 755 "$work/down"
submit -N2 -o fairlead=hwcoll=on "$work/down"
wait_for are_steps "/$(plain "$job")"
kill_fm
touch "$work/down.now"
expect_exit 5 fx job attach "$job"
lacks "$err" step-clean 'what the user reads'
fairlead cluster restart softfm
expect_names ''
expect_flux_clean 4

it 'what is inherited and not true any more lets no task start'
expect_exit 0 fx run sh -c "SLINGSHOT_SVC_IDS=99 flux start -Sconf.shell_initrc=$flux/shell.lua \
	flux run $work/show 2>&1 || true"
expect_out 'no task starts without the lane that was inherited: cxi0: inherited service 99 is not there any more'
lacks "$out" 'vnis=' 'a task'
expect_flux_clean 4

it 'an instance in a job of Fairlead has nothing of a job outside with the same id'
cat >"$work/inner" <<END
#!/bin/sh
job=\$(flux submit --urgency=hold $work/show)
flux job id --to=f58plain "\$job" >$work/inner.id
flock -s $work/inner.go true
flux job urgency "\$job" default
flux job attach "\$job"
END
chmod 755 "$work/inner"
touch "$work"/inner.{id,go,out}
chown "$alice" "$work"/inner.{id,go}
exec {go}<"$work/inner.go"
flock -x "$go"
hold 1 --requires=hosts:n0
on n0 --user "$alice" -- env -u FLUX_URI FAIRLEAD_JOB=run/1/0 HOME="$flux" flux start \
	-Sconf.shell_initrc="$flux/shell.lua" "$work/inner" >"$work/inner.out" 2>&1 3>&- {go}<&- &
inner=$!
wait_for test -s "$work/inner.id"
cp -a "$(dirname "$(env_file n0 "flux/$(plain "$job")/0")")" \
	"$(dirname "$(env_file n0 "flux/$(<"$work/inner.id")/0")")"
flock -u "$go"
wait $inner
has "$(<"$work/inner.out")" ' vnis= service= ' 'the task'
rm -r "$(dirname "$(env_file n0 "flux/$(<"$work/inner.id")/0")")"
fx cancel "$job"
expect_flux_clean 4

findings=
diagnose() { # diagnose [NODE]: there, by its own broker
	run on "${1:-n0}" -- env FLUX_URI="local://$flux/run.${1:-n0}/local" \
		fairlead doctor --flux --json
	findings=$out
	gojq -e .findings >/dev/null <<<"$out" || fail "no findings: $out $err"
}
finds() { # finds LEVEL CHECK TEXT [ADVICE]
	holds "$findings" 'any(.findings[]; .level == $level and .check == $check and
		(.text | contains($text)) and (.advice | contains($advice)))' \
		--arg level "$1" --arg check "$2" --arg text "$3" --arg advice "${4:-}"
}

it 'doctor --flux finds all well, at the first broker and on another node'
sed -i "s|^plugin.load { file = \"\*|-- &|" "$flux/shell.lua" # ours is found by its name
diagnose
finds OK Flux "an instance of uid $alice; broker 0 is here"
finds OK 'jobtap plugin' 'configuration has it'
finds OK 'jobtap plugin' 'default is must'
finds OK 'jobtap plugin' 'submitter is flux'
finds OK 'shell plugin' "$flux/shell.lua"
finds OK 'manager of Flux' 'it answers the jobtap plugin'
finds OK 'manager of Flux' "takes requests of uid $alice"
finds OK submitter "uid $alice, may reserve for 'flux'"
finds OK "Flux's nodes" 'the manager knows all 4'
finds WARN drain_command 'goes on getting jobs from Flux' '/usr/lib/fairlead/flux/drain'
holds "$findings" '[.findings[] | select((.check | test("lux|plugin|submitter")) and
	(.level == "FAIL" or .level == "WARN"))] == []'
diagnose n1
finds OK Flux 'broker 1 is here'
finds OK 'shell plugin' "$flux/shell.lua"

it 'and what is wrong in a real one'
conf=$(<"$flux/conf/flux.toml")
sed -i "s|^\[fairlead\]|&\ndefault = 'none'\nsubmitter = 'west'\nprolog-timeout = '2s'|" \
	"$flux/conf/flux.toml"
fx config reload
write_shell_conf 'default = "none", colour = "red"'
diagnose
finds FAIL 'jobtap plugin' 'default is none, fairlead.conf has must' 'default to "must"'
finds FAIL 'jobtap plugin' 'submitter is west, fairlead.conf has flux'
finds WARN 'jobtap plugin' 'prolog-timeout is 2 s'
expect_exit 1 fx run "$work/show"
lacks "$out" 'vnis=' 'a task'
printf '%s\n' "$conf" >"$flux/conf/flux.toml"
sed -i "s|file = \"$plugins/fairlead-shell.so\"|file = \"/nowhere/fairlead-shell.so\"|" "$flux/shell.lua"
fx config reload
diagnose
finds FAIL 'shell plugin' '/nowhere/fairlead-shell.so, which is not there: no task starts'
run fx run "$work/show"
[ "$code" -ne 0 ] || fail 'it ran'
expect_error 'plugin.load: /nowhere/fairlead-shell.so: File not found'
lacks "$out" 'vnis=' 'a task'
write_shell_conf
fx jobtap remove fairlead-jobtap.so
diagnose
finds FAIL 'jobtap plugin' 'configuration has it, and it is not loaded' 'flux jobtap load'
fx jobtap load "$plugins/fairlead-jobtap.so"
sed -i "/^plugins = /d" "$flux/conf/flux.toml"
fx config reload
diagnose
finds WARN 'jobtap plugin' 'loaded by hand'
printf '%s\n' "$conf" >"$flux/conf/flux.toml"
fx config reload
sed -i "s/uid = $alice }/uid = $((alice + 1)) }/" "$config"
expect_exit 0 fairlead manager reconfigure
diagnose
finds FAIL submitter "the instance's owner is uid $alice"
finds FAIL 'manager of Flux' "as uid $alice: 'apply' is for root and submitters" 'manager reconfigure'
sed -i "s/uid = $((alice + 1)) }/uid = $alice }/" "$config"
expect_exit 0 fairlead manager reconfigure
expect_exit 0 fx run sh -c "flux start -Sconf.shell_initrc=$flux/shell.lua \
	fairlead doctor --flux --config $config | grep Flux"
expect_out 'SKIP +Flux .*within a job'
expect_flux_clean 4

it 'housekeeping, and a prolog of the site, go with it'
cat >>"$flux/conf/flux.toml" <<END
[job-manager.housekeeping]
command = [ "$work/housekeeping" ]
END
cat >"$work/housekeeping" <<END
#!/bin/sh
echo "\$(hostname) \$(ls /run/fairlead/jobs/flux 2>/dev/null | wc -l)" >>$work/housekeeping.out
END
chmod 755 "$work/housekeeping"
: >"$work/housekeeping.out"
chown "$alice" "$work/housekeeping.out"
fx config reload
expect_exit 0 fx run -N2 "$work/show"
is "$(grep -c 'vnis=10' <<<"$out")" 2 'tasks'
kept() { [ "$(wc -l <"$work/housekeeping.out")" -eq 2 ]; }
wait_for kept
is "$(grep -c ' 0$' "$work/housekeeping.out")" 2 'nodes whose lane is gone before housekeeping'
expect_flux_clean 4

story_end
