# SPDX-License-Identifier: BSD-3-Clause
"""Two nodes as network namespaces: a link beside its core from one to the other;
two rails beside one, over devices that are shaped, so that these and not the
processors are what is measured; and devices that nothing comes by."""
import os
import statistics
import subprocess
import time

import link_node
import link_pair
import namespaces
import report
from link_pair import MIB, runs_of

LATENCY_AIM, STREAM_AIM, RAILS_AIM = 1.05, 0.95, 1.9
IDLE = 7  # with shared memory as many rails as a link can have
MBIT = 500
BUSY_MOST = 0.5


class Links(namespaces.Namespaces):
    """Two namespaces and some veths between them, which may be token buckets
    each way."""

    def __init__(self, count, mbit=None):
        self.names = [f"flk{os.getpid()}-{i}" for i in range(2)]
        self.devices = [f"rail{k}" for k in range(count)]
        self.mbit = mbit

    def make(self):
        for name in self.names:
            self.run("ip", "netns", "add", name)
            self.run("ip", "-n", name, "link", "set", "lo", "up")
        for k, device in enumerate(self.devices):
            self.run("ip", "link", "add", device, "netns", self.names[0],
                     "type", "veth", "peer", "name", device, "netns",
                     self.names[1])
            for i, name in enumerate(self.names):
                self.run("ip", "-n", name, "addr", "add",
                         f"10.78.{k}.{i + 1}/24", "dev", device)
                self.run("ip", "-n", name, "link", "set", device, "up")
                if self.mbit is not None:
                    self.shape(name, device, self.mbit, "256kb", "8mb")
        for name in self.names:
            for device in self.devices:
                self._wait(name, device)

    @staticmethod
    def _wait(name, device):
        """A device is there for libfabric when its carrier is."""
        while "LOWER_UP" not in subprocess.run(
                ["ip", "-n", name, "link", "show", device], text=True,
                stdout=subprocess.PIPE, check=False).stdout:
            time.sleep(0.01)

    def sides(self, options, one, other, measures, *more, nodes=(0, 1),
              **named):
        """As link_pair.Sides, each process in one of the namespaces."""
        names = ",".join(self.names[node] for node in nodes)
        return link_pair.Sides(options, one, other, measures, "--namespaces",
                               names, *more, **named)


def idle(options):
    """Rails by which nothing comes: both processes are on one node."""
    rows = []
    counts = [1] if options.is_smoke else [1, IDLE]
    with Links(counts[-1]) as links:
        for count in counts:
            devices = ",".join(links.devices[:count])
            sides = links.sides(
                options, f"fairlead=shm+tcp;ofi_rxm:{devices}", "shm",
                [link_pair.latency(options, "shm", 8,
                                   link_node.IDLE_AIM_US, True)],
                nodes=(0, 0), device=None)
            rows.append(sides.row(0, f"{count} idle "
                                  f"rail{'s' if count > 1 else ''}, "))
    report.table(f"8 bytes on one node, tagged, us, {runs_of(options)} runs: fabric rails "
                 "of a device each", link_pair.with_head("shm alone", "more"),
                 rows)


def across(options):
    """From one node to the other, beside the core."""
    sizes = [8, 64, 512, 4096, 16384, 65536, 262144, MIB]
    rows, pairs, names = [], [], []
    with Links(1) as links:
        for core in link_pair.cores_of(options):
            sides = links.sides(
                options, f"fairlead=shm+{core}", core,
                link_node.measures_of(
                    options, core, sizes, dict.fromkeys(sizes, LATENCY_AIM),
                    dict.fromkeys(sizes, STREAM_AIM)),
                device=links.devices[0])
            rows += sides.rows(f"{core}, ")
            pairs.append(sides)
            names.append((f"shm+{core}", core))
    report.table(f"from one node to another, over a veth: shm and the core "
                 f"linked beside the core, {runs_of(options)} runs",
                 link_pair.with_head("core alone"), rows)
    link_node.plot(options, "link_across", "two nodes", pairs, names)


def striped(options, kind, size):
    window, windows = (8, 1) if size == MIB else (4, 1)
    return link_pair.Measure(
        f"{kind}, {size // MIB} MiB, window {window}, MB/s",
        f"{kind}:{size}:{1 if options.is_smoke else window}:{windows}",
        size * 1e3, True, False, RAILS_AIM, size)


def rails(options):
    """A processor that is busy for more than half of the time would be measured
    as well: then there is no verdict."""
    rows = []
    sizes = [MIB] if options.is_smoke else [MIB, 8 * MIB]
    with Links(2, MBIT) as links:
        for core in link_pair.cores_of(options):
            names = [f"fairlead={core}:{','.join(links.devices[:count])}"
                     for count in (2, 1)]
            sides = links.sides(
                options, *names, [
                    striped(options, kind, size) for size in sizes
                    for kind in ("stream", "write", "read")],
                "--nap", device=None, slices=5)
            busy = [statistics.median(values) for values in sides.busy]
            for row in sides.rows(f"{core}, "):
                if max(busy) > BUSY_MOST:
                    row[-1] = "not judged: busy"
                rows.append(row + [f"{part:.2f}" for part in busy])
    report.table(f"two rails beside one, devices of {MBIT} Mbit/s, {runs_of(options)} runs",
                 [*link_pair.with_head("one", link="two rails"),
                  "machine busy, two", "one"], rows)
