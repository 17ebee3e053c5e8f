#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The packages and a stock Slurm, Debian's, as an administrator puts them together
# on a machine that is controller and node: with the lines of doc/install.md, operations.md and
# doc/slurm.md, which are taken from there, and with everything where it is by
# default. What is another is what each site's is: names, and the interconnect.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/system/fresh-lib.sh
. "$root/test/system/fresh-lib.sh"

need_fresh
for program in slurmctld slurmd srun munged sudo; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done
example=/usr/share/doc/slurmctld/examples/slurm.conf.simple.gz
[ -e $example ] || skip_all "$example is not here: documentation is not installed"

# --- what the pages say ---

block() { # block PAGE HEADING NUMBER: of the blocks of code below it
	awk -v heading="## $2" -v number="$3" '
		!inside && /^## / { here = $0 == heading }
		here && /^ *```/ {
			inside = !inside
			count += inside
			indent = index($0, "`")
			next
		}
		here && inside && count == number { print substr($0, indent) }
	' "$root/$1" | grep . || fail "$1 has no block $3 below '$2'"
}

# The words of a site, in place of those of doc/install.md and doc/slurm.md.
# The pool of Ethernet is its default.
sites_own() {
	sed "s/\"slingshot\"/\"ethernet\"/; /vni_pool/d; s/n\[0-127\]/fresh/; s/head:/fresh:/
		s/uid = 64030/uid = $(inside id -u slurm)/"
}

as_said() { # as_said PAGE COMMAND [SED]: run what the page has; SED: names of the site's
	local command
	grep -qF -- "$2" "$root/$1" || fail "$1 does not say: $2"
	command=$(sed "${3:-}" <<<"$2")
	expect_exit 0 inside bash -c "$command"
}

# --- the machine's users, and its Slurm ---

as_alice() { # as_alice COMMAND...: bounded
	inside runuser -u fairlead-alice -- env -C /tmp timeout 120 "$@"
}

slurm_state() {
	inside sinfo -h -n fresh -o %t
}

is_state() { # is_state STATE: idle, mix, alloc, drain
	[ "$(slurm_state)" = "$1" ]
}

slurm_job() { # slurm_job ID FIELD
	inside scontrol -o show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"
}

is_job() { # is_job ID STATE
	[ "$(slurm_job "$1" JobState)" = "$2" ]
}

runs() { # runs JOB: in its lane, be it of a second attempt at a manager of a moment ago
	is_job "$1" RUNNING && [[ " $(live) " == *" slurm/$1/"* ]]
}

submit() { # submit: a job of Alice's that stays; its id
	as_alice sbatch --parsable -o /dev/null --wrap 'sleep infinity'
}

has_logged() { # has_logged REGEX OPTION...: as of journalctl
	inside journalctl --no-pager "${@:2}" | grep "$1"
}

lane_variables() { # of what a job has printed
	grep -E '^(SLINGSHOT|FAIRLEAD|FI|OMPI_MCA|UCX|SLURM_SPANK)_' <<<"$1" || true
}

live() { # keys of live grants, in a line
	inside fairlead list --json | gojq -r '[.jobs[] | select(.state == "active" or
		.state == "reserved").key] | sort | join(" ")'
}

is_pool_whole() {
	inside fairlead pools --json | gojq -e '.pools.ethernet.vni |
		.held == "" and .quarantined == "" and .free == .universe'
}

expect_nothing_left() { # of any job
	wait_for is_state idle
	wait_for is_pool_whole
	is "$(live)" '' 'live grants'
	is "$(inside find /run/fairlead/jobs -type f)" '' 'environments of jobs'
	is "$(inside ip -brief link show type vxlan)" '' 'devices of lanes'
}

it 'the packages are built, and installed on a machine that has just booted'
packages_build
packages_end
boot
packages_bring
dpkg_of --install
expect_exit 0 inside test -x /usr/lib/fairlead/slurm/prolog
expect_exit 0 inside test -e /usr/lib/fairlead/slurm/spank_fairlead.so

it 'a stock Slurm runs there, as Debian ships it, and knows nothing of Fairlead'
nic_up
echo '127.0.1.1 fresh' | inside tee -a /etc/hosts >/dev/null
inside useradd fairlead-alice
inside find /var/lib/slurm -type f -delete # of a Slurm that this machine has
{
	zcat $example | grep -v '^#' | sed 's/^SlurmctldHost=.*/SlurmctldHost=fresh/
		/^NodeName=/d'
	inside slurmd -C | grep '^NodeName='
} | put /etc/slurm/slurm.conf
# Where the outer machine has cgroups of version 1, too, slurmd starts with these only.
echo 'CgroupPlugin=cgroup/v1' | put /etc/slurm/cgroup.conf
expect_exit 0 inside systemctl enable --now munge slurmctld slurmd
wait_for is_state idle
has "$(inside scontrol show config)" 'SlurmUser *= slurm\(' "Slurm's configuration"
expect_exit 0 as_alice srun env
is "$(lane_variables "$out")" '' 'variables of a lane'

it 'doc/install.md: manager and node, step by step'
block doc/install.md Configure 1 | sites_own | put /etc/fairlead/fairlead.conf
as_said doc/install.md 'fairlead key create --user fairlead'
as_said doc/install.md 'fairleadd --check-config --role manager'
as_said doc/install.md 'systemctl enable --now fairleadd-manager'
as_said doc/install.md 'fairlead key node --output node.key NAME' \
	's,node.key,/etc/fairlead/&,; s/NAME/fresh/'
is "$(inside stat -c '%a %U' /etc/fairlead/node.key)" '600 root' 'the key of the node'
as_said doc/install.md 'systemctl enable --now fairleadd-node'
wait_for node_is_up
as_said doc/install.md 'fairlead doctor'

it 'doc/slurm.md: the lines to copy, and in which order'
copy='Copy these lines'
{
	nodes=$(block doc/install.md Configure 1 | grep '^ *nodes ')
	block doc/slurm.md "$copy" 1 | sed "s/^ *\.\.\.\$/$nodes/"
	block doc/install.md Configure 1 | sed -n '/^node {/,$p'
} | sites_own | put /etc/fairlead/fairlead.conf
block doc/slurm.md "$copy" 2 | inside tee -a /etc/slurm/slurm.conf >/dev/null
block doc/slurm.md "$copy" 3 | inside tee -a /etc/slurm/plugstack.conf >/dev/null
block doc/slurm.md "$copy" 5 | as_said doc/slurm.md 'visudo -f /etc/sudoers.d/fairlead' \
	's/^/EDITOR=tee /'
as_said doc/slurm.md 'chmod 0440 /etc/sudoers.d/fairlead'
expect_exit 0 inside visudo -c
unit=$(grep -o '/etc/systemd/system/fairleadd-manager.service.d/' "$root/doc/slurm.md")
drop_in=$(grep -o '/usr/share/doc/fairlead/[a-z./-]*sudo.conf' "$root/doc/slurm.md")
inside mkdir "$unit"
expect_exit 0 inside cp "$drop_in" "$unit"
# 'systemctl edit' writes this file, and reloads.
line=$(grep -o 'Environment=FAIRLEAD_[^`]*' "$root/doc/slurm.md")
printf '[Service]\n%s\n' "$line" | put "${unit}override.conf"
inside systemctl daemon-reload
as_said doc/slurm.md 'systemctl restart fairleadd-manager'
as_said doc/slurm.md 'fairlead manager reconfigure'
expect_exit 0 inside systemctl restart slurmctld slurmd
wait_for node_is_up
wait_for is_state idle

it 'doctor finds that all is well'
run inside fairlead doctor --json
others=$(gojq -c '[.findings[] | select(.level == "FAIL" or .level == "WARN")]' <<<"$out")
printf '# without Slurm: %s\n' "$others"
as_said doc/slurm.md 'fairlead doctor --slurm'
printf '%s\n' "$out" | sed 's/^/# /'
run inside fairlead doctor --slurm --json
holds "$out" '[.findings[] | select(.level == "FAIL" or .level == "WARN")] == $others' \
	--argjson others "$others"
for check in PrologFlags PrologSlurmctld Prolog Epilog EpilogSlurmctld 'SPANK plugin' \
	submitter drain_command; do
	holds "$out" 'any(.findings[]; .check == $check and .level == "OK")' --arg check "$check"
done

it 'a job of a plain user has a lane, and its environment says which'
as_said doc/slurm.md 'srun -N2 env' 's/-N2/-N1/; s,^,cd /tmp; runuser -u fairlead-alice -- ,'
has "$(lane_variables "$out")" '^FAIRLEAD_' 'the variables'
lane_variables "$out" | sed 's/^/# /'
expect_exit 0 as_alice srun sh -c 'env; ls /sys/class/net'
has "$out" '^FAIRLEAD_' 'the environment'
has "$out" '^FI_' 'the environment'
device=$(grep -o '^fl[0-9]*$' <<<"$out")
has "$(lane_variables "$out")" "$device" 'the variables'
expect_nothing_left

it 'and none with --fairlead=off'
expect_exit 0 as_alice srun --fairlead=off sh -c 'env; ls /sys/class/net'
has "$out" '^SLURM_JOB_ID=' 'the environment'
lacks "$out" '^(FAIRLEAD|FI|SLINGSHOT|OMPI_MCA|UCX)_|^fl[0-9]' 'environment and devices'
expect_nothing_left

it 'wrong options end the job, with the reason for everybody'
run as_alice srun --fairlead=lanes=2 true
[ "$code" -ne 0 ] || fail 'it has run'
has "$err" '^srun: ' 'what the user sees'
wait_for has_logged "slurm prolog-slurmctld job [0-9]*: .* no option 'lanes'" -t fairlead
has "$(inside scontrol show job)" "AdminComment=fairlead: .* no option 'lanes'" 'the comment'
expect_nothing_left

it 'a prolog of the site'"'"'s may call ours, and takes effect without a restart'
{
	echo '#!/bin/sh'
	echo 'echo "$SLURM_JOB_ID" >>/run/site'
	block doc/slurm.md "$copy" 4
} | put /etc/slurm/prolog
inside chmod 755 /etc/slurm/prolog
inside sed -i 's,^Prolog=.*,Prolog=/etc/slurm/prolog,' /etc/slurm/slurm.conf
as_said doc/slurm.md 'scontrol reconfigure'
expect_exit 0 as_alice srun env
has "$(lane_variables "$out")" '^FAIRLEAD_' 'the variables'
is "$(inside cat /run/site)" "$(sed -n 's/^SLURM_JOB_ID=//p' <<<"$out")" 'jobs of the prolog'
run inside fairlead doctor --slurm --json
holds "$out" 'any(.findings[]; .check == "Prolog" and .level == "OK")'
expect_nothing_left

it 'our daemons are restarted while a job has its lane, which is as it was'
job=$(submit)
wait_for runs "$job"
lanes=$(inside ip -brief link show type vxlan)
has "$lanes" '^fl[0-9]' 'devices of lanes'
expect_exit 0 inside systemctl restart fairleadd-manager fairleadd-node
wait_for node_is_up
wait_for runs "$job"
is "$(inside ip -brief link show type vxlan)" "$lanes" 'devices of lanes'
expect_exit 0 inside scancel "$job"
expect_nothing_left

it 'doc/operations.md: a copy of the journal, put back while a job runs that it does not know'
inside mkdir /backup
block doc/operations.md 'Backup and restore' 1 | inside bash -e
job=$(submit)
wait_for runs "$job"
lanes=$(inside ip -brief link show type vxlan)
expect_exit 0 inside systemctl stop fairleadd-manager
as_said doc/operations.md 'cp -p /backup/journal.db /var/lib/fairlead/'
grep -qF 'fairleadd --role manager --recover' "$root/doc/operations.md"
inside fairleadd --role manager --recover >"$work/recover.log" 2>&1 3>&- &
recovery=$!
wait_for grep 'serving' "$work/recover.log"
inside sh -c 'kill "$(cat /var/lib/fairlead/lock)"'
wait_for is_gone "$recovery"
as_said doc/operations.md 'systemctl start fairleadd-manager'
is_recovered() {
	! inside fairlead manager recover
}
wait_for is_recovered
wait_for node_is_up
holds "$(inside fairlead pools --json)" '.pools.ethernet.vni |
	.held == "" and "fl\(.withheld)" == $device' --arg device "${lanes%% *}"
is "$(inside ip -brief link show type vxlan)" "$lanes" 'devices of lanes'
expect_exit 0 inside scancel "$job"
expect_nothing_left

it 'reconcile, as its unit runs it, releases what Slurm knows nothing of, and that only'
job=$(submit)
wait_for runs "$job"
as_said doc/slurm.md 'fairlead list'
expect_out "slurm/$job/0 .*active"
forgotten=$(inside fairlead reserve slurm/999/0 --nodes fresh --user "$(inside id -u fairlead-alice)")
expect_exit 0 inside fairlead apply "$forgotten"
is "$(live)" "slurm/$job/0 slurm/999/0" 'live grants'
expect_exit 0 inside systemctl start fairlead-reconcile@slurm.service
is "$(live)" "slurm/$job/0" 'live grants'
wait_for has_logged 'slurm/999/0 .*released' -u fairlead-reconcile@slurm.service
as_said doc/install.md 'systemctl enable --now fairlead-reconcile@slurm.timer'
expect_exit 0 inside scancel "$job"
expect_nothing_left

it 'a node that Fairlead drains is drained in Slurm, and comes back there'
reason() {
	inside scontrol show node fresh | sed -n 's/^ *Reason=//p'
}
expect_exit 0 inside fairlead node drain --reason 'a card is loose' fresh
wait_for is_state drain
has "$(reason)" '^fairlead: a card is loose ' 'the reason'
expect_exit 0 inside fairlead node undrain fresh
wait_for is_state idle

it 'what somebody else has drained stays so'
expect_exit 0 inside scontrol update NodeName=fresh State=DRAIN Reason=disk
expect_exit 0 inside runuser -u fairlead -- env "${line#Environment=}" \
	/usr/lib/fairlead/slurm/undrain fresh 'a card is loose'
is "$(slurm_state)" drain 'the node'
expect_exit 0 inside scontrol update NodeName=fresh State=RESUME

it 'by sudo fairlead may do nothing else'
by_sudo() { # by_sudo COMMAND...: as the manager would, as slurm
	inside runuser -u fairlead -- sudo -n -u slurm "$@"
}
for words in 'State=DOWN' 'State=DOWN State=DRAIN Reason=fairlead' 'Weight=9 State=RESUME'; do
	# shellcheck disable=SC2086  # a list of words is meant
	expect_exit 1 by_sudo /usr/bin/scontrol update NodeName=fresh $words
	expect_error 'a password is required'
done
expect_exit 1 by_sudo /usr/bin/scontrol shutdown
wait_for is_state idle

it 'it is turned off, and Slurm goes on without it'
ours=$(block doc/slurm.md "$copy" 2 | sed 's/=.*/=/' | paste -sd '|')
inside sed -Ei "/^($ours)/d" /etc/slurm/slurm.conf
inside sed -i /fairlead/d /etc/slurm/plugstack.conf
expect_exit 0 inside systemctl restart slurmctld slurmd
as_said doc/slurm.md 'systemctl disable --now fairlead-reconcile@slurm.timer'
dpkg_of --purge
lacks "$out" 'still have lanes' 'the removal'
wait_for is_state idle
expect_exit 0 as_alice srun env
is "$(lane_variables "$out")" '' 'variables of a lane'

fresh_end
