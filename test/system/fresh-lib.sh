# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The verbs of stories on a machine that has just booted, with systemd, on which
# our Debian packages are installed by dpkg: this machine, under a layer that takes
# all that is written (fresh-root). Included after lib.sh.
# shellcheck disable=SC2154  # lib.sh sets

need_fresh() { # and what makes packages
	need_root 'a machine of its own, as an overlay and namespaces'
	local program
	for program in dh dpkg systemctl nsenter unshare; do
		command -v $program >/dev/null || skip_all "$program is not installed"
	done
	[ -x /lib/systemd/systemd ] || skip_all 'systemd is not installed'
}

# --- packages ---

# Into $work/out. They are compiled where all stories have them compiled, one
# after the other: who looks at what was compiled does so before packages_end.
# What packages do is the same without optimization, which takes half of the time;
# a long run has them as they ship.
packages=$build/package-${FAIRLEAD_TEST:-short}
packages_build() {
	local options=(DEB_CFLAGS_STRIP=-g
		"DEB_BUILD_OPTIONS=noautodbgsym noopt parallel=$(nproc)")
	[ "${FAIRLEAD_TEST:-short}" = short ] || options=()
	exec {packages_lock}>"$packages.lock"
	flock "$packages_lock"
	expect_exit 0 env "${options[@]}" "$root/pack/deb" --work "$packages" \
		--out "$work/out"
}

packages_end() {
	exec {packages_lock}>&-
}

packages_bring() { # to the machine; what it has of Fairlead by other means goes
	local package
	tar -C "$work/out" --transform 's,^\.,debs,' -cf - . | inside tar -C /run -xf -
	dpkg_of --purge
	for package in "$work"/out/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -tf - | sed -n 's,^\.\(/.*[^/]\)$,\1,p'
	done | inside xargs -d '\n' rm -f
	inside rm -rf /etc/fairlead /var/lib/fairlead
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

# --- the machine ---

fresh=$work/fresh
group=fairlead-fresh-$$
init= # its process 1, as this machine sees it

groups=$work/groups
in_groups() { # in_groups SCRIPT: with cgroups at $groups, where only it sees them
	unshare --mount sh -c "mount -t cgroup2 cgroup2 $groups && cd $groups && $1" sh "$group" \
		"$root/test/system/fresh-root" "$fresh"
}

boot() { # a fresh machine, or a reason why there can be none
	local end=$((SECONDS + WAIT_S)) outer ms=20
	mkdir "$fresh" "$groups"
	in_groups 'mkdir "$1"' || skip_all 'no cgroup can be made here'
	in_groups 'echo $$ >"$1/cgroup.procs" && cd / && shift && exec unshare \
		--mount --pid --fork --kill-child --net --uts --ipc --cgroup "$@"' \
		>"$work/boot.log" 2>&1 3>&- &
	outer=$!
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
	[ -d "$groups" ] || return 0
	if [ -n "$init" ]; then
		kill -9 "$init" 2>/dev/null || true
		wait_for is_gone "$init"
	fi
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

nic_up() { # eth0, at 10.9.8.7/24
	inside ip link add eth0 type veth peer name eth1
	inside ip address add 10.9.8.7/24 dev eth0
	inside ip link set eth0 up
	inside ip link set eth1 up
}

node_is_up() { # the one that it is, by its manager's word and by its own
	inside fairlead node list --json | gojq -e '.nodes[0].state == "up"' &&
		inside fairlead node status --json | gojq -e '.manager.state == "up"'
}

fresh_end() {
	it 'nothing is left: no process, namespace, mount, cgroup or file'
	networks+=("$(readlink "/proc/$init/ns/net")")
	shut_down
	is "$(left_behind)" '' 'left behind'
	expect_exit 0 in_groups '[ ! -e "$1" ]'
	pass_claim
	printf '1..%d\n' "$claim_count" >&3
}
