#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the units of systemd forbid is nothing that a daemon does, with libfabric
# in it: each is traced from its start to its end, through all that it does, and
# its calls are held against the unit. The node has the unit's capabilities, and
# cannot read what it hides.
# shellcheck source=test/system/lib.sh
. "$(dirname "$0")/lib.sh"

need_root 'a bounding set, and to trace the guard'
strace -f -o /dev/null true 2>/dev/null || skip_all 'strace may not trace here'
units=$build/pack/systemd
calls=$root/test/system/unit-calls.py

cluster_up -N 2 --nics 1 -s slingshot.vni_pool=1024-1031

capabilities() { # of the node's unit, as setpriv has them: -all,+chown,...
	sed -n 's/^CapabilityBoundingSet=//p' "$units/fairleadd-node.service" |
		tr ' ' '\n' | sed 's/^CAP_/+/' | tr 'A-Z\n' 'a-z,' |
		sed 's/^/-all,/; s/,$//'
}
# As ProtectKernelTunables hides it: libfabric reads it when it is there.
cat >"$work/confined" <<END
#!/bin/sh
mount --bind "$work/hidden" /proc/kallsyms || exit 1
exec setpriv --no-new-privs --bounding-set "$(capabilities)" "\$@"
END
chmod 755 "$work/confined"
: >"$work/hidden"
chmod 000 "$work/hidden"
# Texts are cut where strace would fill the disk; paths are shorter.
trace() { # trace NAME: a command's head
	echo strace -f -qq -s 200 -o "$work/trace.$1"
}
expect_allowed() { # expect_allowed UNIT TRACE [DROP-IN]
	run "$calls" "$units/$1" "$work/trace.$2" "${@:3}"
	printf '# %s\n' "$out"
	[ "$code" -eq 0 ] || fail "$1 forbids what a daemon does"
}
traced() { # traced NODE|manager: the daemon below strace
	pgrep -P "${by_hand[$1]}" | head -n 1
}
end() { # end NODE|manager: in order
	kill "$(traced "$1")"
	wait_for is_gone "${by_hand[$1]}"
}
has_ethernet=false # it may not be built in
grep -q '^driver "ethernet"' "$config" && has_ethernet=true
ethernet() { # ethernet KEY [OPTION...]: a lane comes and goes
	local grant
	$has_ethernet || return 0
	grant=$(reserve "jm/$1" 'n[0-1]' -i ethernet "${@:2}")
	expect_exit 0 fairlead apply "$grant"
	expect_exit 0 on n0 -- fairlead node objects
	expect_exit 0 fairlead release "$grant"
	# The next one has the gate pinned again.
	on n0 -- find /sys/fs/bpf -mindepth 2 -type f -delete
}
works() { # works KEY [OPTION...]: lanes come and go, and all that a node is asked for
	local grant
	grant=$(reserve "jm/$1" 'n[0-1]')
	expect_exit 0 fairlead apply "$grant"
	ethernet "$1-ethernet" "${@:2}"
	expect_exit 0 on n0 -- fairlead node status
	expect_exit 0 fairlead doctor
	expect_exit 0 fairlead node drain --reason trying n0
	expect_exit 0 fairlead node undrain n0
	expect_exit 0 fairlead release "$grant"
}

it 'a node daemon does nothing that its unit forbids'
kill_pid "$(agent_pid n0)"
on n0 -- sh -c 'echo >/proc/sys/net/ipv4/ip_local_reserved_ports'
# shellcheck disable=SC2046  # words are meant
start_by_hand n0 unshare --mount "$work/confined" $(trace node) \
	"$fairleadd" --role node --config "$config"
wait_for says_up n0
works first
kill -HUP "$(traced n0)"
works second
level=$(on n0 -- fairlead node status)
end n0
expect_allowed fairleadd-node.service node
if $has_ethernet; then
	grep -q 'ip_local_reserved_ports", O_WRONLY' "$work/trace.node" ||
		fail 'no port was reserved'
	[[ $level != *nft+bpf* ]] || # the kernel of the tests may have no gate
		grep -q 'bpf(BPF_OBJ_PIN' "$work/trace.node" ||
		fail 'the gate was not pinned again'
fi

it 'nor, with the drop-in for it, when jobs have network namespaces'
# shellcheck disable=SC2046  # words are meant
start_by_hand n0 unshare --mount "$work/confined" \
	$(trace netns) "$fairleadd" --role node --config "$config"
wait_for says_up n0
works apart -o isolation=netns
end n0
expect_allowed fairleadd-node.service netns \
	"$root/pack/systemd/fairleadd-node.service.d/netns.conf"
if $has_ethernet; then
	grep -q 'setns(.*CLONE_NEWNET' "$work/trace.netns" ||
		fail 'no network namespace was made'
	run "$calls" "$units/fairleadd-node.service" "$work/trace.netns"
	[ "$code" -ne 0 ] || fail 'the unit alone allows it'
fi

it 'nor a manager what its unit forbids'
restart n0
wait_for says_up n0
kill_manager
# shellcheck disable=SC2046  # words are meant
start_by_hand manager setpriv --no-new-privs $(trace manager) \
	"$fairleadd" --role manager --config "$config"
wait_for is_up n0 n1
works third
kill -HUP "$(traced manager)"
works fourth
end manager
expect_allowed fairleadd-manager.service manager
restart manager

story_end
