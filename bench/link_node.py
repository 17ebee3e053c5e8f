# SPDX-License-Identifier: BSD-3-Clause
"""A link within one node, beside shared memory alone: with a fabric rail that is
idle, with much that is posted or that nobody expects, and what a peer takes."""
import statistics

import link_pair
import report
from link_pair import MIB, SHM, runs_of

IDLE_AIM_US = 0.1
DEPTH_AIM = 1.1
LATENCY_AIMS = {4096: 1.1}
STREAM_AIMS = {MIB: 0.95}


def measures_of(options, core, sizes, latency_aims, stream_aims):
    """Latency and bandwidth by size, and the rate; a smoke test has few."""
    if options.is_smoke:
        sizes = [4096]
    return [
        *(link_pair.latency(options, core, size, latency_aims.get(size))
          for size in sizes),
        *(link_pair.stream(options, core, size, stream_aims.get(size))
          for size in sizes if size >= 512),
        link_pair.rate(options, core)]


def plot(options, name, title, sides, names):
    """By size: `sides` of several pairs, `names` of both in each."""
    for kind, unit in (("latency", "us"), ("stream", "MB/s")):
        curves = []
        for pair, both in zip(sides, names):
            points = [point for point in pair.points(kind)
                      if kind == "latency" or point[0] > 8]
            curves += [(both[k], [(point[0], point[1 + k])
                                  for point in points]) for k in (0, 1)]
        report.curves(options.folder, f"{name}_{kind}",
                      f"{title}: {kind} by size", "bytes", unit, curves)


def node(options):
    """Beside raw shared memory."""
    link = f"fairlead={SHM}"
    first = link_pair.latency(options, "shm", 8, IDLE_AIM_US, True)
    sizes = [64, 512, 4096, 16384, 65536, 262144, MIB]
    sides = link_pair.Sides(options, link, "shm", [
        first, *measures_of(options, "shm", sizes, LATENCY_AIMS, STREAM_AIMS)])
    bare = link_pair.Sides(options, "fairlead=shm", "shm", [first._replace(
        aim=None)])
    report.table(f"8 bytes on one node, tagged, us, {runs_of(options)} runs: a fabric rail "
                 "is linked, and idle", link_pair.with_head("shm alone",
                                                            "more"),
                 [sides.row(0, f"{SHM}, "), bare.row(0, "shm, ")])
    report.table(f"on one node: {SHM} beside shm, {runs_of(options)} runs",
                 link_pair.with_head("shm alone"), sides.rows()[1:])
    plot(options, "link_node", "one node", [sides], [(SHM, "shm")])


def posted(options):
    """With much that is posted, or that nobody expects, beside the same link
    with nothing."""
    link = f"fairlead={SHM}"
    counts = [1, 10, 100, 1000, 10000, 100000]
    options_of = [("posted", counts), ("unexpected", counts[3:])]
    if options.is_smoke:
        options_of = [("posted", [100])]
    measure = link_pair.latency(options, "shm", 8, DEPTH_AIM)
    rows, curves = [], []
    for option, counts in options_of:
        both = [], []
        for count in counts:
            sides = link_pair.Sides(options, link, link, [measure],
                                    f"--{option}", count)
            rows.append(sides.row(0, f"{count:,} {option}, "))
            for k in (0, 1):
                both[k].append(
                    (count, statistics.median(sides.values[0][k])))
        curves.append((option, both[0]))
        if option == "posted":
            curves.append(("nothing", both[1]))
    report.table(f"8 bytes on one node, with receives posted that nothing "
                 f"matches, or messages that nobody expects, {runs_of(options)} runs",
                 link_pair.with_head("with nothing", link="with these"), rows)
    report.curves(options.folder, "link_posted",
                  "8 bytes on one node by what else is there",
                  "receives posted, messages unexpected", "us", curves,
                  is_linear=True)


def memory(options):
    """The same in each run: malloc's own count."""
    rows = []
    for core in link_pair.cores_of(options):
        for count in (256, 4096)[:1 if options.is_smoke else 2]:
            sides = link_pair.Sides(
                options, f"fairlead=shm+{core}", core,
                [link_pair.Measure("", f"memory:{count}", 1, False, True, None,
                                   0)], slices=1, runs=1)
            (one,), (other,) = sides.values[0]
            rows.append([f"shm+{core}, {count:,} peers", one, other,
                         one - other])
    report.table("bytes for each peer that is known", [
        "what", "link", "core alone", "more"], rows)
