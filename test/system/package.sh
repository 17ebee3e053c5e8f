#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The Debian packages, as an administrator meets them: built, installed by dpkg
# on a machine that has just booted, with systemd, and as the manual says made to
# give a job its lane; removed, and purged, with nothing left that was not there
# before. The machine is this one, under a layer that takes all that is written.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=test/system/fresh-lib.sh
. "$root/test/system/fresh-lib.sh"

need_fresh

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

it 'the packages are built from the checkout'
packages_build

it 'make install puts there what they have, and make uninstall takes it away'
BUILD=$(echo "$packages"/fairlead/obj-*)
export BUILD
mkdir -p "$work/tree/usr/lib/fairlead/slurm" # over one of before, whose hooks were files
touch "$work/tree/usr/lib/fairlead/slurm/prolog"
expect_exit 0 make --no-print-directory -C "$root" install DESTDIR="$work/tree"
names() { # of files, as either has them
	sed 's,^\.,,; s,^/lib/,/usr/lib/,; s,\.gz$,,' | grep -v '/$' |
		grep -v '^/usr/share/doc/.*/\(changelog\|copyright\)$' |
		grep -v '^/usr/lib/fairlead/flux/' | sort # no package has the plugins
}
for package in "$work"/out/*.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -tf -
done | names >"$work/packaged"
(cd "$work/tree" && find . ! -type d) | names >"$work/installed"
expect_exit 0 diff "$work/packaged" "$work/installed"
# Installed pages link only to what is installed; a name with a dot is a file.
(cd "$work/tree/usr/share/doc/fairlead" && find . -name '*.md' | while read -r page; do
	grep -oE '\]\([^)# ]+\.[a-z]+' "$page" | sed 's/^](//' | grep -v '^http' | sort -u |
		while read -r link; do
			[ -e "${page%/*}/$link" ] || echo "$page: $link is missing"
		done || true # a page without links
done) >"$work/links"
is "$(cat "$work/links")" '' 'links of installed pages to what is missing'
expect_exit 0 make --no-print-directory -C "$root" uninstall DESTDIR="$work/tree"
is "$(find "$work/tree" ! -type d -o -name '*fairlead*' 2>&1)" '' 'what uninstall has left'
packages_end

it 'dpkg installs them on a machine that has just booted, and nothing is started'
boot
packages_bring
changed >"$work/before"
dpkg_of --install
expect_exit 3 is_active fairleadd-manager fairleadd-node fairlead-rms
expect_exit 1 inside systemctl is-enabled fairleadd-manager fairleadd-node fairlead-rms
is "$(inside stat -c '%a %U %G' /etc/fairlead /run/fairlead | xargs)" \
	'755 root root 1775 root fairlead' 'the directories'
expect_exit 0 inside fairlead --version

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
	nic_up
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
configure
start

it 'a job gets its lane from daemons that are confined as their units say'
lane() { # lane KEY: into $grant
	grant=$(inside fairlead reserve "$1" --nodes fresh --user $alice)
	insist inside fairlead apply "$grant"
	[ "$code" -eq 0 ] || fail "apply: $err"
}
device_of() { # device_of GRANT: the lane's network device, by its VNI
	echo "fl$(inside fairlead explain "$1" --json | gojq -r '.grants[0].ids.vni')"
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

it 'an upgrade restarts daemons, and the lane stays as it is'
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

fresh_end
