# SPDX-License-Identifier: BSD-3-Clause
"""Lanes on Elan: what the search for a run of contexts costs by live jobs, in
the pool, in the manager's core and from a client; and a job's capability on its
way to 64 nodes by the collective, beside as many connections at once.
"""
import math
import os
import random
import statistics

import fanout
import link_pair
import manager
import report
import scoll

NAME = "elan3"
NODES = 1000
LIVE = [1, 3, 10, 30, 100, 300, 1000, 3000, 10000]
# From so many live jobs to so many: by the logarithm it is twice as much, by
# the number a hundred times.
FROM, TO, AIM_GROWTH = 100, 10000, 2.0
RUNS = 21
DAEMON_RUNS = 7
SPREAD_RUNS = 11
JOB_NODES, JOB_TASKS = 8, 16  # at most, as elan3_reserve has them
SPREAD_NODES = 64
AIM_SPREAD = 1.0

# Of elan3_reserve, in one plot each: its names and ours.
MEASURES = {
    "search": {"search": "search", "take": "take and give back"},
    "reserve": {"reserve": "reserve and release"},
}


def fit(points):
    """a + b log2(x), and how far off it is at most, as a part of it."""
    logs = [math.log2(x) for x, _ in points]
    values = [y for _, y in points]
    slope, start = statistics.linear_regression(logs, values)
    off = max(abs(y / (start + slope * x) - 1) for x, y in zip(logs, values))
    return start, slope, off


def power(points):
    """Of the power of x that comes nearest: 1 were linear."""
    return statistics.linear_regression(
        [math.log(x) for x, _ in points],
        [math.log(y) for _, y in points])[0]


def growth(by_live):
    """Cells of a row: how much more it is for TO jobs than for FROM."""
    if FROM not in by_live or TO not in by_live:
        return ["", "", "", "", ""]
    ratios = [b / a for a, b in zip(by_live[FROM], by_live[TO])]
    least, most = link_pair.interval(ratios)
    return [f"{statistics.median(ratios):.3f}", f"{least:.3f}", f"{most:.3f}",
            f"<= {AIM_GROWTH:g}",
            link_pair.verdict(least, most, AIM_GROWTH, False)]


def judge(options, title, name, measured):
    """Tables and a plot of {what: {live: us of each run}}."""
    fits, lines = [], []
    for what, by_live in measured.items():
        points = [(live, statistics.median(values))
                  for live, values in by_live.items()]
        start, slope, off = fit(points)
        fits.append([what, f"{start:.2f} + {slope:.3f} log2 n",
                     f"{off * 100:.1f} %", f"n^{power(points):.3f}",
                     *growth(by_live)])
        lines.append((what, points))
        lines.append((f"fit: {start:.2f} + {slope:.3f} log2 n",
                      [(x, start + slope * math.log2(x)) for x, _ in points]))
    lives = list(next(iter(measured.values())))
    head = ["live jobs"]
    for what in measured:
        head += [f"{what}, best us", "median"]
    report.table(title, head, [
        [f"{live:,}"] + [number for by_live in measured.values()
                         for number in report.best_and_median(by_live[live],
                                                              False)]
        for live in lives])
    report.table(f"the same by live jobs n, and growth from {FROM} to {TO:,}",
                 ["what", "fit, us", "off by", "as a power", "growth", "from",
                  "to", "aim", "verdict"], fits)
    report.curves(options.folder, f"elan3_{name}", title.split(",")[0],
                  "live jobs", "us", lines, is_linear=True)


def reserve(options):
    """In one process, in CPU time."""
    live = [1, 10, 100] if options.is_smoke else LIVE
    runs, rounds = (1, 20) if options.is_smoke else (RUNS, 2000)
    daemon = manager.Manager(options.programs,
                             os.path.join(options.work, NAME), NODES, NAME)
    try:
        found = [manager.numbers([
            options.programs.elan3_reserve, "--config", daemon.config,
            "--live", ",".join(map(str, live)), "--rounds", str(rounds)])
            for _ in range(runs)]
    finally:
        daemon.close()
    titles = {"search": "the search for a run of contexts, in the pool alone",
              "reserve": "reserve and release by the core, rows cost nothing"}
    for name, parts in MEASURES.items():
        judge(options, titles[name], name, {
            what: {count: [one[f"{part}_{count}"] * 1e-3 for one in found]
                   for count in live} for part, what in parts.items()})


def job_next(dice):
    count = dice.randint(1, JOB_NODES)
    first = dice.randint(0, NODES - count)
    return f"n[{first}-{first + count - 1}]", dice.randint(1, JOB_TASKS)


class Jobs:
    """A client's, numbered."""

    def __init__(self, path):
        self.client = fanout.Client(path)
        self.dice = random.Random(1)
        self.count = 0

    def reserve(self):
        """Seconds; the grant is that of the last answer."""
        nodes, tasks = job_next(self.dice)
        self.count += 1
        return self.client.call("reserve", request={
            "key": f"bench/{self.count}/0", "uid": 1000, "gid": 1000,
            "nodes": nodes, "tasks": tasks, "cores": JOB_TASKS})

    def round(self):
        """Microseconds of a reserve; released again."""
        took = self.reserve()
        self.client.call("release", grant_id=self.client.answer["grant_id"])
        return took * 1e6


def daemon_run(options, live, count):
    """Medians by live jobs, of a new daemon."""
    daemon = manager.Manager(options.programs,
                             os.path.join(options.work, NAME), NODES, NAME)
    found = {}
    try:
        daemon.start()
        jobs = Jobs(daemon.socket)
        held = 0
        for _ in range(count):  # a daemon is slower at first
            jobs.round()
        for wanted in live:
            for _ in range(wanted - held):
                jobs.reserve()
            held = wanted
            found[wanted] = statistics.median(jobs.round()
                                              for _ in range(count))
    finally:
        daemon.close()
    return found


def daemon(options):
    """From a client: durable."""
    live = [1, 10] if options.is_smoke else LIVE
    runs, count = (1, 3) if options.is_smoke else (DAEMON_RUNS, 300)
    found = [daemon_run(options, live, count) for _ in range(runs)]
    judge(options, "a durable reserve from a client, until its answer",
          "daemon", {"reserve": {wanted: [one[wanted] for one in found]
                                 for wanted in live}})


def spread(options):
    """The collective beside connections, in turns."""
    nodes = 3 if options.is_smoke else SPREAD_NODES
    runs, count = (1, 5) if options.is_smoke else (SPREAD_RUNS, 50)
    program = options.programs.elan3_spread
    providers = scoll.PROVIDERS[:1] if options.is_smoke else scoll.PROVIDERS
    rows, bars = [], []
    for kind, what in (("open", "opened"), ("bytes", "bytes alone")):
        cases = {provider: [program, "collective", nodes, count, kind,
                            provider] for provider in providers}
        cases |= {way: [program, way, nodes, count, kind]
                  for way in ("made", "kept")}
        found = scoll.in_turns(cases, runs)
        for provider in providers:
            mine = [one["median_ns"] * 1e-3 for one in found[provider]]
            for way, aim in (("made", AIM_SPREAD), ("kept", None)):
                other = [one["median_ns"] * 1e-3 for one in found[way]]
                rows.append([f"{provider}, {what}, connections {way}",
                             *link_pair.judged(mine, other, aim),
                             scoll.median(found[provider], "root_cpu_ns",
                                          1e-3),
                             scoll.median(found[way], "root_cpu_ns", 1e-3)])
        bars.append([what] + [scoll.median(found[case], "median_ns", 1e-3)
                              for case in cases])
        size = found["made"][0]["bytes"]
    report.table(
        f"a capability to {nodes} nodes and their answers, an APPLY of "
        f"{size:.0f} B, us, {runs} runs", link_pair.with_head(
            "connections", "collective over them", "collective") +
        ["CPU of the manager", "with connections"], rows)
    report.plot(options.folder, "elan3_spread",
                f"a capability to {nodes} nodes and their answers", "", "us",
                [*providers, "connections made", "connections kept"], bars)


PARTS = {"reserve": reserve, "daemon": daemon, "spread": spread}


def run(options):
    if options.programs.elan3_reserve is None:
        raise manager.Skipped("the driver elan3 was not built")
    for name in options.parts or PARTS:
        report.progress(f"elan3 {name}")
        PARTS[name](options)
