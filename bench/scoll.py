# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmarks of the collectives share: programs run in turns, each of
which prints one JSON object, and what is made of their numbers."""
import json
import os
import statistics
import subprocess
import sys

# libscoll's largest broadcast, and its payload with a head and a seal of any
# kind that is in use: peers send as many bytes as the whole message has.
MESSAGE_BYTES = 4096
PAYLOAD_BYTES = 3904

PROVIDERS = ["tcp", "tcp;ofi_rxm"]

# Only this machine, only these: libfabric looks for all devices otherwise.
ENVIRONMENT = {
    "FI_PROVIDER": "tcp,ofi_rxm", "FI_TCP_IFACE": "lo",
    "HFI_NO_BACKTRACE": "1", "IPATH_NO_BACKTRACE": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def payload(size):
    """What libscoll carries where a peer sends `size` bytes."""
    return min(size, PAYLOAD_BYTES)


def run(arguments, extra=None):
    """The object that a program prints."""
    arguments = [str(argument) for argument in arguments]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True,
                          env=os.environ | ENVIRONMENT | (extra or {}),
                          check=False)
    if done.returncode != 0:
        sys.exit(f"bench: failed: {' '.join(arguments)}")
    return json.loads(done.stdout)


def in_turns(cases, times):
    """Run each of {name: arguments} `times` times, all once before any again.
    Lists of what they print, by name."""
    results = {name: [] for name in cases}
    for _ in range(times):
        for name, arguments in cases.items():
            results[name].append(run(arguments))
    return results


def best(runs, key, scale=1.0, is_more_better=False):
    values = [one[key] for one in runs]
    return (max(values) if is_more_better else min(values)) * scale


def median(runs, key, scale=1.0):
    return statistics.median(one[key] for one in runs) * scale


def ratio(runs, others, key):
    """Median of the ratios of neighbours."""
    return statistics.median(one[key] / other[key]
                             for one, other in zip(runs, others))


def missing(options, who, why):
    """A peer that is not measured: said here, and counted at the end."""
    print(f"  (no {who}: {why})")
    options.missing.add(who)


def mpirun(count, program, *arguments, network="tcp"):
    """network: tcp, or vader, which is shared memory. More processes than
    cores give way to each other."""
    interface = ["--mca", "btl_tcp_if_include", "lo"]
    return ["mpirun", "-n", count, "--oversubscribe", "--mca", "pml", "ob1",
            "--mca", "btl", f"{network},self",
            *(interface if network == "tcp" else []), program, *arguments]
