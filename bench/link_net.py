# SPDX-License-Identifier: BSD-3-Clause
"""Two nodes as network namespaces, joined by two links that are shaped, so that
the links and not the processors are what is measured: two rails beside one."""
import os
import subprocess
import time

import manager
import namespaces
import report

MIB = 1 << 20
MBIT = 1000
RAILS = ["rail0", "rail1"]


class Links(namespaces.Namespaces):
    """Two namespaces and two veths between them, each way a token bucket."""

    def __init__(self):
        self.names = [f"flk{os.getpid()}-{i}" for i in range(2)]

    def make(self):
        for name in self.names:
            self.run("ip", "netns", "add", name)
            self.run("ip", "-n", name, "link", "set", "lo", "up")
        for k, rail in enumerate(RAILS):
            self.run("ip", "link", "add", rail, "netns", self.names[0],
                     "type", "veth", "peer", "name", rail, "netns",
                     self.names[1])
            for i, name in enumerate(self.names):
                self.run("ip", "-n", name, "addr", "add",
                         f"10.78.{k}.{i + 1}/24", "dev", rail)
                self.run("ip", "-n", name, "link", "set", rail, "up")
                self.shape(name, rail, MBIT, "256kb", "8mb")

        for name in self.names:
            for rail in RAILS:
                self._wait(name, rail)

    @staticmethod
    def _wait(name, rail):
        """A device is there for libfabric when its carrier is."""
        while "LOWER_UP" not in subprocess.run(
                ["ip", "-n", name, "link", "show", rail], text=True,
                stdout=subprocess.PIPE, check=False).stdout:
            time.sleep(0.01)


def rows_of(options, links, sides_of, runs, slices):
    every_device = {"FI_TCP_IFACE": None, "FI_NET_IFACE": None}
    cores, sizes, windows = ("tcp;ofi_rxm", "net"), (MIB, 8 * MIB), 16
    if options.is_smoke:
        cores, sizes, windows = cores[:1], sizes[:1], 0
    rows = []
    for core in cores:
        for size in sizes:
            sides = sides_of(options, [
                "--namespaces", ",".join(links.names), "--window", 4,
                "stream", f"fairlead={core}:{','.join(RAILS)}",
                f"fairlead={core}:{RAILS[0]}", size,
                1 + windows * MIB // size, slices], runs, every_device)
            rows.append(sides.row(f"{core}, {size // MIB} MiB", size * 1e3,
                                  True, 1.9, True))
    return rows


def run(options, sides_of, head):
    runs, slices = (1, 1) if options.is_smoke else (21, 3)
    try:
        with Links() as links:
            rows = rows_of(options, links, sides_of, runs, slices)
    except manager.Skipped as why:
        print(f"link: two rails: skipped: {why}")
        return
    report.table(f"two rails beside one, links of {MBIT} Mbit/s, MB/s, {runs} "
                 "runs", ["what", "two rails", "one", *head[3:]], rows)
