#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a daemon that was traced makes a call that its unit forbids.

Usage: unit-calls.py UNIT TRACE [DROP-IN]

TRACE is strace -f -o's. systemd need not run: of the settings that filter calls each is read
as systemd.exec(5) has it, with the sets that `systemd-analyze` lists. A setting
that is not known here fails, so that it is thought of.
"""
import re
import subprocess
import sys

CALL = re.compile(r"^\d+\s+(?:\d+\.\d+\s+)?(\w+)\((.*)$")
WRITES = re.compile(r"O_(WRONLY|RDWR|CREAT|TRUNC)")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
# What filters no calls, or only those that other lines name; the capabilities
# are the story's to take away.
OTHERS = {
    "Type", "ExecStart", "ExecStartPre", "ExecReload", "LimitCORE", "Restart",
    "RestartSec",
    "TimeoutStartSec", "TimeoutStopSec", "KillMode", "OOMScoreAdjust", "User",
    "Group", "StateDirectory", "StateDirectoryMode", "RuntimeDirectory",
    "RuntimeDirectoryMode", "RuntimeDirectoryPreserve",
    "MemoryMax", "MemorySwapMax", "CapabilityBoundingSet", "NoNewPrivileges",
    "PrivateTmp", "ProtectProc",
    "SystemCallArchitectures", "SystemCallErrorNumber",
    "ReadWritePaths",
}
NAMESPACES = r"CLONE_NEW\w+"


def sets():
    """@set: names and sets that are in it."""
    text = subprocess.run(["systemd-analyze", "syscall-filter"], check=True,
                          capture_output=True, text=True).stdout
    found, members = {}, None
    for line in text.splitlines():
        word = line.strip()
        if line.startswith("@"):
            members = found.setdefault(word, [])
        elif word and not word.startswith("#") and members is not None:
            members.append(word)
    return found


def expand(names, known):
    calls = set()
    for name in names:
        calls |= expand(known[name], known) if name.startswith("@") else {name}
    return calls


def is_below(path, folders):
    return any(path == folder or path.startswith(folder + "/")
               for folder in folders)


def writes_below(arguments, folders, writable=()):
    match = TEXT.search(arguments)
    path = match[1] if match else ""
    return WRITES.search(arguments) and is_below(path, folders) and \
        not is_below(path, writable)


def rule(name, value, known, writable):
    """What makes a call forbidden: a function of its name and arguments."""
    yes = value == "yes"
    if name == "SystemCallFilter":
        allowed = expand(value.split(), known)
        return lambda call, args: call not in allowed
    if name == "RestrictNamespaces" and not yes:
        kinds = {"CLONE_NEW" + kind.upper() for kind in value.split()}
        return lambda call, args: \
            call in ("setns", "clone", "clone3", "unshare") and \
            (set(re.findall(NAMESPACES, args)) - kinds or
             call == "setns" and not re.search(NAMESPACES, args))
    if name == "RestrictAddressFamilies":
        families = set(value.split())
        return lambda call, args: call == "socket" and \
            args.split(",")[0] not in families
    if name == "ProtectSystem" and value == "full":
        return lambda call, args: call in ("open", "openat", "creat") and \
            writes_below(args, ["/usr", "/boot", "/efi", "/etc"])
    if name == "ProtectHome" and value in ("yes", "read-only"):
        return lambda call, args: call in ("open", "openat", "creat") and \
            writes_below(args, ["/home", "/root", "/run/user"])
    rules = {
        "MemoryDenyWriteExecute": lambda call, args:
            (call == "mmap" and "PROT_WRITE" in args and "PROT_EXEC" in args)
            or (call in ("mprotect", "pkey_mprotect") and "PROT_EXEC" in args)
            or (call == "shmat" and "SHM_EXEC" in args),
        "RestrictNamespaces": lambda call, args:
            call == "setns" or (call in ("clone", "clone3", "unshare") and
                                re.search(NAMESPACES, args)),
        "RestrictRealtime": lambda call, args:
            call in ("sched_setscheduler", "sched_setattr") and
            re.search(r"SCHED_(FIFO|RR|DEADLINE)", args),
        "RestrictSUIDSGID": lambda call, args:
            call in ("chmod", "fchmod", "fchmodat", "mkdir", "mkdirat",
                     "mknod", "mknodat", "open", "openat", "creat") and
            re.search(r"S_IS[UG]ID|\b0?[2-7][0-7]{3}\b", TEXT.sub("", args)),
        "LockPersonality": lambda call, args:
            call == "personality" and "0xffffffff" not in args,
        "ProtectControlGroups": lambda call, args:
            call in ("open", "openat") and
            writes_below(args, ["/sys/fs/cgroup"]),
        "ProtectHostname": lambda call, args:
            call in ("sethostname", "setdomainname"),
        "ProtectKernelLogs": lambda call, args:
            call == "syslog" or re.search(r'"/(dev/kmsg|proc/kmsg)"', args),
        "ProtectKernelModules": lambda call, args:
            call in ("init_module", "finit_module", "delete_module"),
        # /proc/kallsyms is hidden as well: the story hides it.
        "ProtectKernelTunables": lambda call, args:
            call in ("open", "openat") and
            writes_below(args, ["/proc/sys", "/sys", "/proc/irq"], writable),
        "PrivateDevices": lambda call, args:
            call in ("open", "openat") and re.search(
                r'"/dev/(?!null|zero|full|u?random|tty|shm|pts|log)', args),
    }
    return rules[name] if yes and name in rules else None


def settings(text):
    """Those of [Service], a line each."""
    section = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and re.match(r"[A-Z]\w*=", line):
            yield line.split("=", 1)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as file:
            text += file.read()
    known, rules, bad, calls = sets(), {}, 0, ""
    # An empty one takes back those before it.
    writable = []
    for name, value in settings(text):
        if name == "ReadWritePaths":
            writable = writable * bool(value) + \
                [path.lstrip("-") for path in value.split()]
    for name, value in settings(text):
        if name in OTHERS:
            continue
        # Each such line adds to those before it; of the others the last counts.
        if name == "SystemCallFilter":
            value = calls = f"{calls} {value}"
        if value == "no":
            rules.pop(name, None)
            continue
        rules[name] = rule(name, value, known, writable)
        if rules[name] is None:
            print(f"{name}={value}: not known here")
            bad += 1
    seen = {}
    with open(sys.argv[2], encoding="utf-8", errors="replace") as file:
        for line in file:
            match = CALL.match(line)
            if match is None:
                continue
            call, arguments = match.groups()
            seen[call] = seen.get(call, 0) + 1
            for name, forbids in rules.items():
                if forbids is not None and forbids(call, arguments):
                    print(f"{name} forbids: {line.strip()}")
                    bad += 1
    print(f"{len(rules)} settings, {sum(seen.values())} calls of "
          f"{len(seen)} kinds: {bad} are forbidden")
    sys.exit(1 if bad or len(seen) < 20 else 0)


main()
