# SPDX-License-Identifier: BSD-3-Clause
"""Bulk data down a chain of nodes, each in a network namespace of its own,
over links that are shaped, so that the links and not the processors are what
is measured."""
import os

import namespaces
import report
import scoll

NAME = "scoll_bulk"
MIB = 1 << 20
LINK_MBIT = 500
NODES = 4


class Links(namespaces.Namespaces):
    """Namespaces of nodes around a bridge, each way of each link a token
    bucket. Root's to make."""

    def __init__(self, count, mbit):
        self.prefix = f"flb{os.getpid()}-"
        self.nodes = [f"{self.prefix}{i}" for i in range(count)]
        self.bridge = f"{self.prefix}s"
        self.names = [*self.nodes, self.bridge]
        self.mbit = mbit

    def make(self):
        self.run("ip", "netns", "add", self.bridge)
        self.run("ip", "-n", self.bridge, "link", "add", "br0", "type",
                 "bridge")
        self.run("ip", "-n", self.bridge, "link", "set", "br0", "up")
        for i, name in enumerate(self.nodes):
            port = f"port{i}"
            self.run("ip", "netns", "add", name)
            self.run("ip", "link", "add", port, "netns", self.bridge, "type",
                     "veth", "peer", "name", "eth0", "netns", name)
            self.run("ip", "-n", self.bridge, "link", "set", port, "master",
                     "br0", "up")
            self.run("ip", "-n", name, "addr", "add", f"10.77.0.{i + 1}/24",
                     "dev", "eth0")
            self.run("ip", "-n", name, "link", "set", "eth0", "up")
            self.run("ip", "-n", name, "link", "set", "lo", "up")
            self.shape(name, "eth0", self.mbit, "128kb", "4mb")
            self.shape(self.bridge, port, self.mbit, "128kb", "4mb")


def measure(options, links, provider, nodes, size, segment, rounds):
    environment = {"FI_TCP_IFACE": "eth0", "FI_NET_IFACE": "eth0"}
    result = scoll.run([options.programs.scoll_bulk, provider, nodes, "chain",
                        size, segment, rounds, links.prefix], environment)
    share = result["cpu_ns"] / result["median_ns"] / os.cpu_count()
    return {"rate": size / result["median_ns"] * 1e3, "share": share,
            "busy": result["busy"]}


def run(options):
    sizes, segments = [4 * MIB, 64 * MIB], [MIB // 4, MIB // 2, MIB, 64 * MIB]
    rounds = 2
    if options.is_smoke:
        sizes, segments, rounds = [MIB], [MIB // 4], 1
    rows, plotted = [], []
    with Links(NODES, LINK_MBIT) as links:
        for provider in scoll.PROVIDERS:
            for size in sizes:
                for segment in segments:
                    if segment > size and segment != segments[-1]:
                        continue
                    segment = min(segment, size)
                    found = [measure(options, links, provider, depth + 1, size,
                                     segment, rounds) for depth in (1, 2, 3)]
                    rates = [one["rate"] for one in found]
                    name = (f"{provider}, {size / MIB:.0f} MiB, "
                            + ("whole" if segment == size else
                               f"{segment / 1024:.0f} KiB"))
                    rows.append([name, *rates, rates[1] / rates[0],
                                 rates[2] / rates[0],
                                 max(one["share"] for one in found),
                                 max(one["busy"] for one in found)])
                    if size == sizes[-1]:
                        plotted.append([name.replace(", 64 MiB", ""), *rates])
    report.table(f"bulk data down a chain over links of {LINK_MBIT} Mbit/s "
                 f"({LINK_MBIT / 8:.1f} MB/s), by provider, size and segment "
                 "(aim at depth 3: 0.8 of one hop)", [
                     "what", "one hop MB/s", "depth 2", "depth 3",
                     "2 over 1", "3 over 1", "members' CPU, of all",
                     "machine busy, with neighbours"], rows)
    report.plot(options.folder, NAME,
                f"bulk data, {sizes[-1] / MIB:.0f} MiB, links of "
                f"{LINK_MBIT} Mbit/s", "", "MB/s",
                ["one hop", "depth 2", "depth 3"], plotted)
