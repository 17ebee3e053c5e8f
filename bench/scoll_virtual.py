# SPDX-License-Identifier: BSD-3-Clause
"""A broadcast over members in one process, in real time, over a network whose
latency and gap are injected: what trees are for, and when it ends although
members are dead or messages are lost; and how much faster than time the
simulation of test/scoll-sim is."""
import resource
import subprocess
import sys

import report
import scoll

NAME = "scoll_virtual"
# Latency and gap grow with the members, so that one core keeps up.
PLACES = [(64, 4000, 500), (256, 4000, 500), (1024, 8000, 1000),
          (4096, 16000, 2000), (1024, 4000, 2000), (1024, 32000, 1000)]
PATIENCE_MS = 60000


def trees(latency_us, gap_us):
    return {"logp": f"logp:{latency_us / gap_us:g}", "knomial:6": "knomial:6",
            "kary:6": "kary:6", "binomial": "binomial", "flat": "flat"}


def down(options, places, times):
    """Whether it goes well: times over T*."""
    rows, plotted = [], []
    for nodes, latency_us, gap_us in places:
        results = scoll.in_turns({
            name: [options.programs.scoll_virtual, nodes, tree, latency_us,
                   gap_us, 0, 0, PATIENCE_MS, PATIENCE_MS, 1]
            for name, tree in trees(latency_us, gap_us).items()}, times)
        optimum = results["logp"][0]["optimum_ns"]
        place = f"{nodes:,}, {latency_us / 1e3:g}, {gap_us / 1e3:g}"
        for name, runs in results.items():
            rows.append([f"{place}, {name}", optimum * 1e-6,
                         scoll.best(runs, "down_ns", 1e-6),
                         scoll.median(runs, "down_ns", 1e-6),
                         scoll.best(runs, "down_ns", 1 / optimum),
                         scoll.median(runs, "down_ns", 1 / optimum),
                         scoll.median(runs, "time_ns", 1e-6),
                         scoll.ratio(results["flat"], runs, "down_ns"),
                         max(one["late_ns"] for one in runs) * 1e-6])
        plotted.append([place] + [scoll.median(runs, "down_ns", 1 / optimum)
                                  for name, runs in results.items()
                                  if name != "flat"])
    report.table(
        f"a broadcast of 64 B in real time over members in one process, "
        f"each {times} times in turns; T* is what no tree is below",
        ["members, l ms, o ms, tree", "T* ms", "last member, best ms",
         "median", "over T*, best", "median", "end at the root, median ms",
         "flat over it", "clock late, worst ms"], rows)
    report.plot(options.folder, NAME,
                "until the last member has a broadcast, in real time",
                "members, l ms, o ms", "median / T*",
                [name for name in trees(1, 1) if name != "flat"], plotted)


def failures(options, place, rtt_ms, timeout_ms, times):
    """When it ends, over (depth + 1) R + P."""
    nodes, latency_us, gap_us = place
    kinds = {"nobody": (0, 0), "1 dead": (1, 0),
             f"{nodes // 16} dead": (nodes // 16, 0), "1 % lost": (0, 10000),
             "30 % lost": (0, 300000)}
    if options.is_smoke:
        kinds = {"3 dead": (3, 0), "30 % lost": (0, 300000)}
    shapes = {name: tree for name, tree in trees(latency_us, gap_us).items()
              if name in ("logp", "knomial:6", "binomial")}
    cases = {(seed, name, kind): [
        options.programs.scoll_virtual, nodes, tree, latency_us, gap_us, dead,
        lost, rtt_ms, timeout_ms, seed]
        for seed in range(1, times + 1)
        for name, tree in shapes.items()
        for kind, (dead, lost) in kinds.items()}
    results = scoll.in_turns(cases, 1)
    rows = []
    for name in shapes:
        for kind, (_, lost) in kinds.items():
            runs = [results[seed, name, kind][0]
                    for seed in range(1, times + 1)]
            bound = runs[0]["bound_ns"]
            rows.append([
                f"{name}, {kind}", scoll.median(runs, "time_ns", 1e-6),
                max(one["time_ns"] for one in runs) * 1e-6, bound * 1e-6,
                max(one["time_ns"] for one in runs) / bound,
                f"{scoll.median(runs, 'failed'):.0f}",
                "" if lost else
                f"{sum(one['is_exact'] for one in runs)} of {times}",
                max(one["late_ns"] for one in runs) * 1e-6])
    report.table(
        f"the same with failures of which nobody knows before: {nodes:,} "
        f"members, l {latency_us / 1e3:g} ms, o {gap_us / 1e3:g} ms, R "
        f"{rtt_ms} ms, P {timeout_ms} ms",
        ["tree, what", "ends after ms, median", "worst", "(depth + 1) R + P",
         "worst over it", "failed, median", "failures exact",
         "clock late, worst ms"], rows)


def simulated(options, count, times):
    """Virtual seconds of whole clusters over those of one processor."""
    rows = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(
            [options.programs.scoll_sim, "--seed", "1", "--seeds",
             str(count)], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"bench: failed: {options.programs.scoll_sim}")
        cpu_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        counts = {name.strip(): int(number) for number, name in
                  (line.split(None, 1) for line in done.stdout.splitlines()
                   if line[:10].strip().isdigit())}
        cpu_s = max(cpu_s, 1e-3)
        rows.append([f"{count} seeds", f"{counts['virtual seconds']:,}",
                     cpu_s, counts["virtual seconds"] / cpu_s,
                     counts["events"] / cpu_s / 1e6])
    report.table("whole clusters with all that goes wrong, in virtual time, "
                 "one processor; aim: 1,000 times as fast as time", [
                     "what", "virtual s", "CPU s", "virtual over CPU",
                     "M events/s"], rows)


def run(options):
    if options.is_smoke:
        down(options, [(64, 1000, 250)], 1)
        failures(options, (64, 1000, 250), 400, 200, 1)
        simulated(options, 2, 1)
        return
    down(options, PLACES, 5)
    failures(options, (1024, 8000, 1000), 200, 300, 5)
    simulated(options, 1000, 3)
