#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs of other users than the instance's owner, by flux-security: each has a lane
# of its own, whose values only its owner sees.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/flux-lib.sh
. "$(dirname "$0")/flux-lib.sh"

need_flux
guest=$(id -u news) other=$(id -u mail) # flux-imp wants users with a name
imp=$(dirname "$(flux config builtin shell_path)")/flux-imp
[[ $(flux version) == *libflux-security* && -x $imp ]] ||
	skip_all 'this flux is built without flux-security: only its owner has jobs'
[ -u "$imp" ] || skip_all "$imp is not setuid root: only its owner has jobs"
command -v munged >/dev/null || skip_all 'no munge here, which signs the jobs of guests'
etc=$(grep -aoE '/[[:alnum:]/._-]+/imp/conf\.d' "$imp" | sed 's|/imp/conf.d||;q')
[[ -d $etc/imp && -d $etc/security ]] ||
	skip_all "there are no folders imp and security in '$etc', over which ours could be mounted"

munge_up() {
	mkdir -p "$work/munge"
	head -c 128 /dev/urandom >"$work/munge/key"
	chmod 600 "$work/munge/key"
	chown -R munge: "$work/munge"
	chmod 711 "$work/munge"
	runuser -u munge -- munged --foreground --key-file="$work/munge/key" \
		--socket="$work/munge/socket" --pid-file="$work/munge/pid" \
		--log-file="$work/munge/log" --seed-file="$work/munge/seed" \
		>/dev/null 2>&1 3>&- &
	wait_for test -S "$work/munge/socket"
	flux_munged=$(<"$work/munge/pid")
}

security_conf() { # on each node, over those of this machine
	mkdir -p "$work/etc"/{imp,security}/conf.d
	cat >"$work/etc/imp/conf.d/imp.toml" <<-END
		[exec]
		allowed-users = [ "$(id -un "$alice")" ]
		allowed-shells = [ "$(flux config builtin shell_path)" ]
	END
	cat >"$work/etc/security/conf.d/sign.toml" <<-END
		[sign]
		max-ttl = 1209600
		default-type = "munge"
		allowed-types = [ "munge" ]
		munge.socket-path = "$work/munge/socket"
	END
	for node in n0 n1; do
		on "$node" -- mount --bind "$work/etc/imp" "$etc/imp"
		on "$node" -- mount --bind "$work/etc/security" "$etc/security"
	done
}

as_guest() { # as_guest UID COMMAND...: flux, on the first node, bounded
	on n0 --user "$1" -- env HOME="$work/home.$1" timeout 120 flux "${@:2}"
}

munge_up
cluster_up -N 2 --nics 1 -s slingshot.vni_pool=1024-1031
security_conf
flux_access=('allow-guest-user = true')
flux_up 2 '[exec]' "imp = '$imp'"
for uid in "$guest" "$other"; do
	mkdir "$work/home.$uid"
	: >"$work/$uid.out"
	chown "$uid" "$work/home.$uid" "$work/$uid.out"
done

it 'a guest'\''s job has its lane, reserved for the guest'
expect_exit 0 as_guest "$guest" run -N2 sh -c "id -u; $work/show"
is "$(grep -c "^$guest\$" <<<"$out")" 2 'tasks of the guest'
is "$(grep -c 'vnis=1024 service=[0-9]' <<<"$out")" 2 'tasks in the lane'
job=$(as_guest "$guest" job last)
expect_flux_events "$job" prolog-start cray-slingshot prolog-finish start finish \
	epilog-start epilog-finish free clean
holds "$(event "flux/$(plain "$job")" request)" '.[0].uid == $uid' --argjson uid "$guest"
expect_flux_clean 2

it 'its environment is the guest'\''s, and nobody else reads it'
expect_exit 0 as_guest "$guest" submit --requires=hosts:n0 --output="$work/$guest.out" "$work/hold"
job=$out
wait_for shown "$work/$guest.out" 1
file=$(env_file n0 "flux/$(plain "$job")/0")
is "$(stat -c '%u %a' "$file")" "$guest 600" 'owner and mode'
expect_exit 1 on n0 --user "$other" -- cat "/run/fairlead/jobs/flux/$(plain "$job")/0"
expect_error 'Permission denied'

it 'another guest on the node does not get in, and cannot read its values'
service=$(sed 's/.* service=\([0-9]*\) .*/\1/' "$work/$guest.out")
vni=$(sed 's/.* vnis=\([0-9]*\) .*/\1/' "$work/$guest.out")
expect_exit 0 as_guest "$other" run --requires=hosts:n0 --env=SLINGSHOT_SVC_IDS="$service" \
	--env=SLINGSHOT_VNIS="$vni" "$work/show"
expect_out ' vnis=[0-9]+ service=[0-9]+'
lacks "$out" " (vnis=$vni|service=$service) " 'its own lane'
expect_exit 1 as_guest "$other" run --requires=hosts:n0 \
	cxi-lni --device cxi0 --service "$service"
expect_out "service $service: EPERM"
asked() { # asked UID: by the shell's own way
	run as_guest "$1" python -c "import flux, flux.job
print(flux.Flux().rpc('job-manager.fairlead.lane', {'id': flux.job.JobID('$job')}).get())"
}
asked "$guest"
expect_out "'has_lane': True"
asked "$other"
expect_error 'Operation not permitted'

it 'a guest'\''s own SLURM_JOB_ID changes nothing, and none is none'
expect_exit 0 as_guest "$other" run --env=SLURM_JOB_ID=7 --env=FAIRLEAD_JOB=run/1/0 "$work/show"
expect_out ' vnis=[0-9]+ service=[0-9]+'
expect_exit 0 as_guest "$other" run -o cray-slingshot.vnicount=0 --env=SLINGSHOT_VNIS="$vni" \
	--env=SLINGSHOT_SVC_IDS="$service" sh -c 'echo "[$SLINGSHOT_VNIS]"'
is "$out" '[]' 'the variable'

it 'it is taken back when the guest cancels the job'
expect_exit 1 as_guest "$other" cancel "$job"
expect_exit 0 as_guest "$guest" cancel "$job"
await_event "$job" clean
is "$(flux_event "$job" epilog-finish | gojq -c '[.[].status]')" '[0]' 'the epilog action'
expect_flux_clean 2

story_end
