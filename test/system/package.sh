#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The Debian packages, as an administrator meets them: built, installed by dpkg
# on a machine that has just booted, with systemd, and as the manual says made to
# give a job its lane; removed, and purged, with nothing left that was not there
# before. The machine is this one, under a layer that takes all that is written.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'a machine of its own, as an overlay and namespaces'
for program in dh dpkg systemctl nsenter unshare; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done
[ -x /lib/systemd/systemd ] || skip_all 'systemd is not installed'

fresh=$work/fresh
group=fairlead-package-$$
init=
in_groups() { # in_groups SCRIPT: with cgroups at /mnt, where only it sees them
	unshare --mount sh -c "mount -t cgroup2 cgroup2 /mnt && cd /mnt && $1" sh "$group" \
		"$root/test/system/fresh-root" "$fresh"
}
boot() { # a fresh machine, or a reason why there can be none
	local end=$((SECONDS + WAIT_S)) outer
	mkdir "$fresh"
	in_groups 'mkdir "$1"' || skip_all 'no cgroup can be made here'
	in_groups 'echo $$ >"$1/cgroup.procs" && cd / && shift && exec unshare \
		--mount --pid --fork --kill-child --net --uts --ipc --cgroup "$@"' \
		>"$work/boot.log" 2>&1 3>&- &
	outer=$!
	ms=20
	until [ -s "$fresh.pid" ] && init=$(<"$fresh.pid") &&
		inside systemctl is-active fresh.target >/dev/null 2>&1; do
		if is_gone "$outer"; then
			sed 's/^/# /' "$work/boot.log"
			skip_all "no fresh machine: $(tail -n 1 "$work/boot.log")"
		fi
		[ $SECONDS -lt $end ] || fail 'the fresh machine does not come up'
		pause
	done
}

shut_down() {
	[ -n "$init" ] || return 0
	kill -9 "$init" 2>/dev/null || true
	wait_for is_gone "$init"
	init=
	wait_for in_groups '[ ! -d "$1" ] || find "$1" -depth -type d -exec rmdir {} +'
}
trap 'trap - ERR; shut_down; clean_up' EXIT

inside() { # inside COMMAND...: on the fresh machine
	nsenter --target "$init" --all --root --wd env -i LC_ALL=C HOME=/root \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
show_logs() { # of daemons, when a claim does not hold
	[ -z "$init" ] || inside journalctl --no-pager --lines 40 || true
}
put() { # put FILE: there, what is given on standard input
	inside tee "$1" >/dev/null
}
is_active() { # is_active UNIT...
	inside systemctl is-active "$@"
}

# What there is of the machine's own, and is another than when it began: of
# dpkg and logs all is known to be.
changed() {
	inside find /run/fresh -mindepth 1 ! -type d \
		! -path '/run/fresh/var/lib/dpkg/*' ! -path '/run/fresh/var/log/*' \
		! -path '/run/fresh/var/cache/*' ! -path /run/fresh/etc/ld.so.cache \
		! -path '/run/fresh/etc/passwd*' ! -path '/run/fresh/etc/shadow*' \
		! -path '/run/fresh/etc/group*' ! -path '/run/fresh/etc/gshadow*' \
		-printf '%P %y\n' | sort
	inside find /run /tmp /dev/shm /sys/fs/bpf /etc /var/lib /usr/lib /usr/share \
		-path /run/fresh -prune -o -path '*fairlead*' -print
	inside ip -brief link | awk '{print $1}'
	inside nft list tables
	inside getent passwd
	inside getent group
}

dpkg_of() { # dpkg_of OPTION: with all packages, by file or by name; into $out
	local packages
	case $1 in
	--install) packages=$(cd "$work/out" && printf '/run/debs/%s\n' *.deb) ;;
	*) packages=$(cd "$work/out" && printf '%s\n' *.deb | sed 's/_.*//') ;;
	esac
	# shellcheck disable=SC2086  # a list of words is meant
	run inside dpkg $1 $packages
	out=$out$'\n'$err
	[ "$code" -eq 0 ] || fail "dpkg $1: $out"
}

it 'the packages are built from the checkout'
expect_exit 0 "$root/pack/deb" --work "$build/package" --out "$work/out"

it 'make install puts there what they have, and make uninstall takes it away'
BUILD=$(echo "$build"/package/fairlead/obj-*)
export BUILD
expect_exit 0 make --no-print-directory -C "$root" install DESTDIR="$work/tree"
names() { # of files, as either has them
	sed 's,^\.,,; s,^/lib/,/usr/lib/,; s,\.gz$,,' | grep -v '/$' |
		grep -v '^/usr/share/doc/.*/\(changelog\|copyright\|.*\.md\)$' | sort
}
for package in "$work"/out/*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -tf -
done | names >"$work/packaged"
(cd "$work/tree" && find . ! -type d) | names >"$work/installed"
expect_exit 0 diff "$work/packaged" "$work/installed"
expect_exit 0 make --no-print-directory -C "$root" uninstall DESTDIR="$work/tree"
is "$(find "$work/tree" ! -type d -o -name '*fairlead*' 2>&1)" '' 'what uninstall has left'

it 'dpkg installs them on a machine that has just booted, and nothing is started'
boot
tar -C "$work/out" --transform 's,^\.,debs,' -cf - . | inside tar -C /run -xf -
# What was installed on this machine by other means is not on that one.
dpkg_of --purge
for package in "$work"/out/*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -tf - | sed -n 's,^\.\(/.*[^/]\)$,\1,p'
done | inside xargs -d '\n' rm -f
inside rm -rf /etc/fairlead /var/lib/fairlead
changed >"$work/before"
dpkg_of --install
expect_exit 3 is_active fairleadd-manager fairleadd-node fairlead-rms
expect_exit 1 inside systemctl is-enabled fairleadd-manager fairleadd-node fairlead-rms
is "$(inside stat -c '%a %U %G' /etc/fairlead /run/fairlead | xargs)" \
	'755 root root 1775 root fairlead' 'the directories'
expect_exit 0 inside fairlead version

it 'programs are built with the libraries, and find them'
put /tmp/try.c <<END
#include <fairlead.h>
#include <fairlead/rms.h>
#include <scoll.h>
int main(void)
{
	return 0;
}
END
# shellcheck disable=SC2016  # expanded by the shell inside
expect_exit 0 inside sh -c 'cc -Wl,--no-as-needed -o /tmp/try /tmp/try.c \
	$(pkg-config --cflags --libs fairlead rms scoll) && /tmp/try && rm /tmp/try*'

it 'a daemon without its configuration does not start, and says what is missing'
expect_exit 1 inside systemctl start fairleadd-manager
inside systemctl stop fairleadd-manager
run inside journalctl --no-pager -u fairleadd-manager
expect_out 'fairlead.conf: No such file'

it 'manager and node, configured and enabled, work together'
configure() {
	inside ip link add eth0 type veth peer name eth1
	inside ip address add 10.9.8.7/24 dev eth0
	inside ip link set eth0 up
	inside ip link set eth1 up
	put /etc/fairlead/fairlead.conf <<END
manager {
    listen       = "127.0.0.1:7171"
    nodes        = "fresh"
    interconnect = "ethernet"
    submitter "root" { uid = 0 }
}
node {
    manager = "127.0.0.1:7171"
}
driver "ethernet" {
    devices = "eth0"
}
END
}
start() {
	inside fairlead key create --user fairlead
	expect_exit 0 inside systemctl enable --now fairleadd-manager
	inside fairlead key node --output /etc/fairlead/node.key fresh
	expect_exit 0 inside systemctl enable --now fairleadd-node
	wait_for node_is_up
}
node_is_up() {
	inside fairlead node list --json | jq -e '.nodes[0].state == "up"'
}
configure
start

it 'a job gets its lane from daemons that are confined as their units say'
lane() { # lane KEY: into $grant
	grant=$(inside fairlead reserve "$1" --nodes fresh --user $alice)
	insist inside fairlead apply "$grant"
	[ "$code" -eq 0 ] || fail "apply: $err"
}
device_of() { # device_of GRANT: the lane's network device, by its VNI
	echo "fl$(inside fairlead explain "$1" --json | jq -r '.grants[0].ids.vni')"
}
has_lane() { # has_lane DEVICE
	inside ip link show "$1"
}
lane root/1
device=$(device_of "$grant")
expect_exit 0 has_lane "$device"
expect_exit 0 inside fairlead env --user $alice root/1
expect_out "$device"
expect_exit 0 inside fairlead node status
# The kernel may have no BPF; a unit that keeps the daemon from it is another thing.
lacks "$out" 'Read-only|not permitted|Permission denied' 'what the node lacks'
printf '# %s\n' "$out"
expect_exit 0 inside grep -q . /proc/sys/net/ipv4/ip_local_reserved_ports
expect_exit 0 inside fairlead doctor

drop_in() { # drop_in ROLE NAME: that of the documentation, for its unit
	inside mkdir "/etc/systemd/system/fairleadd-$1.service.d"
	inside cp "/usr/share/doc/fairlead/fairleadd-$1.service.d/$2.conf" \
		"/etc/systemd/system/fairleadd-$1.service.d"
	inside systemctl daemon-reload
	expect_exit 0 inside systemctl restart "fairleadd-$1"
	wait_for node_is_up
}
drop_in_ends() { # drop_in_ends ROLE
	inside rm -r "/etc/systemd/system/fairleadd-$1.service.d"
	inside systemctl daemon-reload
	expect_exit 0 inside systemctl restart "fairleadd-$1"
	wait_for node_is_up
}

it 'the drop-in for a drain command that uses sudo lets it gain privileges'
no_new_privileges() { # of the manager that runs
	local pid
	pid=$(inside systemctl show --value -p MainPID fairleadd-manager)
	inside sed -n 's/^NoNewPrivs:\t//p' "/proc/$pid/status"
}
is "$(no_new_privileges)" 1 'no new privileges, without it'
drop_in manager sudo
is "$(no_new_privileges)" 0 'no new privileges, with it'
drop_in_ends manager

it 'that for network namespaces lets jobs have them where all others see them'
inside sed -i '/devices/a isolation = "host,netns"' /etc/fairlead/fairlead.conf
inside fairlead manager reconfigure
drop_in node netns
apart=$(inside fairlead reserve root/apart --nodes fresh --user $alice -o isolation=netns)
expect_exit 0 inside fairlead apply "$apart"
namespace=$(inside fairlead env --user $alice root/apart |
	sed -n 's/.*FAIRLEAD_ISOLATION=.*netns:\([^ "'\'']*\).*/\1/p')
expect_exit 0 inside nsenter --net="$namespace" ip link show "$(device_of "$apart")"
expect_exit 0 inside fairlead release "$apart"
drop_in_ends node

it 'what an Elan node needs runs as its unit says, too'
expect_exit 0 inside systemctl start fairlead-rms
expect_exit 0 is_active fairlead-rms

it 'an upgrade starts daemons anew, and the lane stays as it is'
number() { # of the device: one that is made again has another
	inside cat "/sys/class/net/$device/ifindex"
}
pids() {
	inside systemctl show --value -p MainPID fairleadd-manager fairleadd-node | xargs
}
before_number=$(number) before_pids=$(pids)
dpkg_of --install
wait_for node_is_up
read -r manager node <<<"$before_pids"
[[ " $(pids) " != *" $manager "* && " $(pids) " != *" $node "* ]] ||
	fail "the daemons are still $before_pids"
is "$(number)" "$before_number" 'the lane'

it 'a removal stops the daemons, and says that there is a lane, which stays'
dpkg_of --remove
expect_out 'jobs still have lanes on this node: root/1/0'
expect_exit 3 inside systemctl is-active fairleadd-manager fairleadd-node fairlead-rms
run inside pgrep -a fairlead
is "$out" '' 'processes'
expect_exit 0 has_lane "$device"
is "$(inside ls /etc/fairlead /var/lib/fairlead | grep -c 'key\|journal.db$')" 3 \
	'keys and the journal of the manager'

it 'who installs them again goes on with it'
dpkg_of --install
expect_exit 0 inside systemctl start fairleadd-manager fairleadd-node
wait_for node_is_up
is "$(number)" "$before_number" 'the lane'
expect_exit 0 inside fairlead release "$grant"
run has_lane "$device"
[ "$code" -ne 0 ] || fail "$device is still there"

it 'after a purge nothing is there that was not before, but for the user'
expect_exit 0 inside systemctl enable --now fairlead-reconcile@slurm.timer
dpkg_of --remove
expect_exit 3 is_active fairlead-reconcile@slurm.timer
lacks "$out" 'still have lanes' 'the removal'
dpkg_of --purge
inside ip link delete eth0
changed >"$work/after"
is "$(diff "$work/before" "$work/after" | grep '^[<>]' |
	sed 's/[0-9]\{1,\}/ID/g' | xargs)" \
	'> fairlead:x:ID:ID:Fairlead:/var/lib/fairlead:/usr/sbin/nologin > fairlead:x:ID:' \
	'what is there besides'

it 'a purge leaves to a node that has a lane what it knows of it, and says so'
dpkg_of --install
configure
start
lane root/2
dpkg_of --purge
expect_out 'root/2/0. They stay, with the node.s journal in /run/fairlead'
expect_exit 0 has_lane "$(inside sh -c 'cd /sys/class/net && echo fl*')"
expect_exit 0 inside test -s /run/fairlead/node/journal
expect_exit 1 inside test -e /etc/fairlead
expect_exit 1 inside test -e /var/lib/fairlead

it 'nothing is left: no process, namespace, mount, cgroup or file'
network=$(readlink "/proc/$init/ns/net")
networks+=("$network")
shut_down
is "$(left_behind)" '' 'left behind'
expect_exit 0 in_groups '[ ! -e "$1" ]'
pass_claim
printf '1..%d\n' "$claim_count" >&3
