# SPDX-License-Identifier: BSD-3-Clause
"""Two sides measured in turns by one pair of processes, in many runs; and what
the runs say about an aim."""
import collections
import json
import os
import statistics
import subprocess

import report

RUNS = 21
MIB = 1 << 20
SHM = "shm+tcp;ofi_rxm"
CORES = ["tcp;ofi_rxm", "net"]
# ns before the first byte, and for each: how many rounds a slice has follows
# from these. So the sides take as many.
SPEEDS = {"shm": (400, 0.25), "tcp;ofi_rxm": (15000, 0.8), "net": (15000, 0.8)}
SLICE_NS = 5e6
SLICES = 11

# What a row is made of: text for the program; `scale` of its ns; whether it is
# a rate; whether to print the sides' difference instead of their ratio.
Measure = collections.namedtuple(
    "Measure", "name text scale is_rate is_difference aim size")


def with_head(other, how="ratio", link="link"):
    """Of a table of rows."""
    return ["what", link, other, how, "from", "to", "aim", "verdict"]


def runs_of(options):
    return 1 if options.is_smoke else RUNS


def cores_of(options):
    """A smoke test has the last one."""
    return CORES[-1:] if options.is_smoke else CORES


def rounds_of(options, ns):
    return 1 if options.is_smoke else max(1, int(SLICE_NS / ns))


def latency(options, core, size, aim=None, is_difference=False):
    fixed, each = SPEEDS[core]
    rounds = rounds_of(options, 2 * (fixed + size * each))
    return Measure(f"{size} B, us", f"latency:{size}:{rounds}", 1e-3, False,
                   is_difference, aim, size)


def stream(options, core, size, aim=None):
    fixed, each = SPEEDS[core]
    window = 64 if size <= 65536 else 16
    rounds = rounds_of(options, window * (fixed / 4 + size * each / 2))
    return Measure(f"{size} B, window {window}, MB/s",
                   f"stream:{size}:{window}:{rounds}", size * 1e3, True,
                   False, aim, size)


def rate(options, core):
    return stream(options, core, 8)._replace(
        name="messages of 8 B, million/s", scale=1e3)


def environment(build, device):
    """Only these providers, and only this device; None: any."""
    both = os.environ | {
        "FI_PROVIDER_PATH": os.path.join(build, "src/link"),
        "FI_PROVIDER": "fairlead,shm,tcp,ofi_rxm,net"}
    for name in ("FI_TCP_IFACE", "FI_NET_IFACE"):
        both.pop(name, None)
        if device is not None:
            both[name] = device
    return both


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


def judged(one, other, aim, is_more_better=False, is_difference=False):
    """The cells of a row from both sides' values on: in pairs, run by run."""
    pairs = [a - b if is_difference else a / b for a, b in zip(one, other)]
    least, most = interval(pairs)
    sign = ">=" if is_more_better else "<="
    return [statistics.median(one), statistics.median(other),
            f"{statistics.median(pairs):.3f}", f"{least:.3f}", f"{most:.3f}",
            "" if aim is None else f"{sign} {aim}",
            verdict(least, most, aim, is_more_better)]


class Sides:
    """Some measures of two sides: of each run the medians of its slices."""

    def __init__(self, options, one, other, measures, *more, device="lo",
                 slices=SLICES, runs=None):
        runs = runs or runs_of(options)
        if options.is_smoke:
            slices = 1
        self.measures = measures
        self.values = [([], []) for _ in measures]
        self.busy = ([], [])
        words = [options.programs.link, *map(str, more), one, other,
                 str(slices), *(measure.text for measure in measures)]
        report.progress(f"{one} beside {other}{' ' * bool(more)}"
                        f"{' '.join(map(str, more))}, {runs} run{'' if runs == 1 else 's'}")
        for _ in range(runs):
            self._run(words, environment(options.programs.build, device))

    def _run(self, words, variables):
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True,
                              check=False, env=variables)
        if done.returncode != 0:
            raise SystemExit(f"bench: failed: {' '.join(words)}")
        found = json.loads(done.stdout)
        for measure, slices, values in zip(self.measures, found["slices"],
                                           self.values):
            for k in (0, 1):
                ns = statistics.median(slices[k])
                values[k].append(measure.scale / ns if measure.is_rate
                                 else ns * measure.scale)
        for k in (0, 1):
            self.busy[k].append(found["busy"][k])

    def row(self, index, before=""):
        measure = self.measures[index]
        return [before + measure.name, *judged(
            *self.values[index], measure.aim, measure.is_rate,
            measure.is_difference)]

    def rows(self, before=""):
        return [self.row(i, before) for i in range(len(self.measures))]

    def points(self, starts):
        """Of measures whose text starts so: their size and both medians."""
        return [[measure.size, *map(statistics.median, values)]
                for measure, values in zip(self.measures, self.values)
                if measure.text.startswith(starts)]
