# SPDX-License-Identifier: BSD-3-Clause
"""Lanes made and taken back a second, on an emulated cluster.

Real processes on this machine: a manager, and for each node its daemon, its
guard and a software NIC. A round is reserve, apply on all nodes, release. For
information: with all nodes on a few cores the numbers say little of a cluster.
"""
import os
import subprocess
import sys

import manager
import report

NAME = "apply"
# In a cluster of a plain user there is nobody else.
OWNER = "1000" if os.getuid() == 0 else "0"


def cluster(options, folder, *arguments):
    environment = dict(os.environ, FAIRLEAD_CLUSTER=folder)
    done = subprocess.run(
        [options.programs.fairlead, "cluster", *arguments], env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    if done.returncode != 0:
        sys.exit(f"bench: no cluster: {done.stdout}")


def is_possible():
    """Root can have a cluster; others where they may make namespaces."""
    return os.getuid() == 0 or subprocess.run(
        ["unshare", "-Ur", "true"], stderr=subprocess.DEVNULL,
        check=False).returncode == 0


def run(options):
    if not is_possible():
        raise manager.Skipped("not root, and users may not make namespaces "
                              "here")
    node_counts = [1, 2] if options.is_smoke else [1, 2, 4, 8]
    client_counts = [1] if options.is_smoke else [1, 8]
    runs, count = (1, 3) if options.is_smoke else (3, 200)
    rows, bars = [], []
    for nodes in node_counts:
        folder = os.path.join(options.work, f"{NAME}{nodes}")
        cluster(options, folder, "up", "-N", str(nodes), "--nics", "1")
        try:
            for clients in client_counts:
                rows.append(measure(options, folder, nodes, clients, runs,
                                    count))
        finally:
            cluster(options, folder, "down")
        bars.append([str(nodes)] + [row[2] for row in rows
                                    if row[0] == str(nodes)])
    report.table("reserve, apply, release a second on emulated nodes", [
        "nodes", "clients", "best", "median", "apply p50 ms", "p99",
        "revoke p50 ms", "p99", "aim"], rows)
    report.plot(options.folder, NAME, "reserve, apply, release a second",
                "nodes", "rounds/s",
                [f"{clients} clients" for clients in client_counts], bars)


def measure(options, folder, nodes, clients, runs, count):
    done = [manager.numbers([
        options.programs.load, "--socket",
        os.path.join(folder, "manager", "run", "manager.sock"), "--clients",
        str(clients), "--count", str(count), "--nodes", str(nodes), "--spread",
        str(nodes), "--apply", "--owner", OWNER, "--name", f"a{clients}r{i}"])
        for i in range(runs)]

    def median(name):
        values = [result[name] for result in done]
        return report.best_and_median(values, False)[1]

    best, middle = report.best_and_median(
        [result["rounds_per_s"] for result in done])
    return [str(nodes), str(clients), best, middle,
            median("apply_p50_us") / 1000, median("apply_p99_us") / 1000,
            median("release_p50_us") / 1000, median("release_p99_us") / 1000,
            "-"]
