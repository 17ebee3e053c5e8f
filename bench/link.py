# SPDX-License-Identifier: BSD-3-Clause
"""What the link provider costs beside the core providers alone: in one program
that measures both in turns, run at least 21 times; the interval that the median
of the runs' differences lies in tells whether an aim is met."""
import json
import os
import statistics
import subprocess

import link_mpi
import link_net
import manager
import report

NAME = "link"
RUNS = 21
SHM = "shm+tcp;ofi_rxm"
FABRICS = ["tcp;ofi_rxm", "net"]
MIB = 1 << 20
US = 1e-3


def environment(build):
    """Only these providers, and only this machine."""
    return os.environ | {
        "FI_PROVIDER_PATH": os.path.join(build, "src/link"),
        "FI_PROVIDER": "fairlead,shm,tcp,ofi_rxm,net",
        "FI_TCP_IFACE": "lo", "FI_NET_IFACE": "lo",
    }


def interval(values):
    """In which the median of what these are drawn from is, with a probability
    of at least 95 %: by their order, whatever they are drawn from."""
    values, count = sorted(values), len(values)
    outside, sum_, ways = 0, 0.0, 1.0
    for k in range(count // 2):
        sum_ += ways / 2 ** count
        if 2 * sum_ > 0.05:
            break
        outside = k
        ways = ways * (count - k) / (k + 1)
    return values[outside], values[-1 - outside]


def verdict(least, most, aim, is_more_better):
    """Of an interval and an aim; None: there is none."""
    if aim is None:
        return ""
    if is_more_better:
        least, most, aim = -most, -least, -aim
    return "met" if most <= aim else "missed" if least > aim else "not decided"


class Sides:
    """One measure of two sides: a median of each run's slices."""

    def __init__(self, options, arguments, runs, extra=None):
        self.one, self.other = [], []
        words = [options.programs.link, *map(str, arguments)]
        both = environment(options.programs.build) | (extra or {})
        both = {name: text for name, text in both.items() if text is not None}
        for _ in range(runs):
            done = subprocess.run(
                words, stdout=subprocess.PIPE, text=True, check=False,
                env=both)
            if done.returncode != 0:
                raise SystemExit(f"bench: failed: {' '.join(words)}")
            one, other = json.loads(done.stdout)
            self.one.append(statistics.median(one))
            self.other.append(statistics.median(other))

    def row(self, name, scale, is_ratio, aim, is_more_better=False):
        """A row of a table; where more is better values become rates."""
        one = [scale / v if is_more_better else v * scale for v in self.one]
        other = [scale / v if is_more_better else v * scale
                 for v in self.other]
        pairs = [a / b if is_ratio else a - b for a, b in zip(one, other)]
        least, most = interval(pairs)
        sign = ">=" if is_more_better else "<="
        text = "" if aim is None else f"{sign} {aim}"
        return [name, statistics.median(one), statistics.median(other),
                f"{statistics.median(pairs):.3f}", f"{least:.3f}",
                f"{most:.3f}", text, verdict(least, most, aim, is_more_better)]


def thinned(options, cases):
    """A smoke test has the last one."""
    return cases[-1:] if options.is_smoke else cases


HEAD = ["what", "link", "core alone", "difference", "from", "to", "aim", ""]
HEAD_RATIO = ["what", "link", "core alone", "ratio", "from", "to", "aim", ""]


def one_node(options, runs, slices, effort):
    """Beside raw shared memory."""
    def sides(measure, size, count, *more):
        return Sides(options, [*more, measure, f"fairlead={SHM}", "shm", size,
                               max(1, int(count * effort)), slices], runs)
    report.table(f"8 bytes on one node, tagged, us: {SHM} beside shm, {runs} "
                 "runs", HEAD, [
                     sides("latency", 8, 20000).row("8 B", US, False, 0.1)])
    rows = [sides("latency", size, 5000).row(f"{size} B, us", US, True, aim)
            for size, aim in thinned(options, (
                (64, None), (512, None), (4096, 1.1), (16384, None),
                (65536, None)))]
    rows += [sides("stream", size, count, "--window", window).row(
        f"{size} B, window {window}, MB/s", size * 1e3, True, aim, True)
        for size, window, count, aim in thinned(options, (
            (65536, 16, 50, None), (MIB, 16, 5, 0.95)))]
    rows.append(sides("stream", 8, 500).row(
        "messages of 8 B, million/s", 1e3, True, None, True))
    report.table(f"on one node: {SHM} beside shm, {runs} runs", HEAD_RATIO,
                 rows)
    return rows


def across(options, runs, slices, effort):
    """By a fabric, beside that core."""
    rows = []
    for core in thinned(options, FABRICS):
        def sides(measure, size, count, *more, core=core):
            return Sides(options, [
                *more, measure, f"fairlead={core}", core, size,
                max(1, int(count * effort)), slices], runs)
        rows += [sides("latency", size, 1000).row(
            f"{core}, {size} B, us", US, True, aim)
            for size, aim in thinned(options, (
                (8, 1.05), (4096, 1.05), (65536, None)))]
        rows.append(sides("stream", MIB, 2, "--window", 8).row(
            f"{core}, {MIB} B, window 8, MB/s", MIB * 1e3, True, 0.95, True))
        rows.append(sides("stream", 8, 100).row(
            f"{core}, messages of 8 B, million/s", 1e3, True, None, True))
    report.table(f"by a fabric, over lo: a link of it alone beside the core, "
                 f"{runs} runs", HEAD_RATIO, rows)


def depth(options, runs, slices, effort):
    """With much that is posted, or that nobody expects, beside nothing."""
    link = f"fairlead={SHM}"
    counts = [1000, 100000] if effort == 1 else [100]
    rows = []
    for option in thinned(options, ("posted", "unexpected")):
        for count in counts:
            sides = Sides(options, [
                f"--{option}", count, "latency", link, link, 8,
                max(1, int(20000 * effort)), slices], runs)
            bare = Sides(options, ["latency", link, link, 8,
                                   max(1, int(20000 * effort)), slices], runs)
            bare.one, bare.other = sides.one, bare.one
            rows.append(bare.row(f"{count} {option}, us", US, True, None))
    report.table(f"8 bytes on one node, with what is posted or unexpected, "
                 f"beside nothing, {runs} runs", [
                     "what", "with", "without", *HEAD_RATIO[3:]], rows)


def memory(options, runs):
    rows = []
    for core in thinned(options, FABRICS):
        for count in thinned(options, (256, 1024)):
            sides = Sides(options, ["memory", f"fairlead=shm+{core}", core, 8,
                                    count, 1], runs)
            rows.append([f"shm+{core}, {count} peers",
                         statistics.median(sides.one),
                         statistics.median(sides.other)])
    report.table("bytes for each peer that is known", [
        "what", "link", "core alone"], rows)


def plot(options, rows):
    report.plot(options.folder, NAME,
                f"{SHM} over shm alone, one node (rates: shm over it)", "",
                "ratio", ["median", "from", "to"],
                [[row[0].split(",")[0] + (" rate" if "/s" in row[0] else "")]
                 + [float(cell) for cell in row[3:6]] for row in rows])


def run(options):
    runs, slices, effort = RUNS, 11, 1
    if options.is_smoke:
        runs, slices, effort = 1, 2, 0.0005
    if os.cpu_count() < 2:
        raise manager.Skipped("it needs two processors")
    plot(options, one_node(options, runs, slices, effort))
    across(options, runs, slices, effort)
    depth(options, max(1, runs // 3), slices, effort)
    memory(options, 1)
    link_net.run(options, Sides, HEAD_RATIO)
    link_mpi.run(options, interval, environment(options.programs.build))
