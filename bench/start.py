# SPDX-License-Identifier: BSD-3-Clause
"""From exec to the first accepted reserve, with a long past.

The journal is made by the manager's own core and store (journal_make) and
left as a killed manager leaves it. Each start ends in a kill. Warm is a start
from the page cache, cold one from the disk. In the end the journal's events
are replayed and compared with the pools and records (--check-journal).
"""
import os
import subprocess
import sys
import time

import manager
import report

NAME = "start"
AIM_S = 2
JOURNAL_FILES = ["journal.db", "journal.db-wal"]


def make(daemon, jobs, events, spread):
    return manager.numbers([
        daemon.programs.journal, "--config", daemon.config, "--jobs", str(jobs),
        "--events", str(events), "--spread", str(spread)])


def drop_cache(daemon):
    for name in JOURNAL_FILES:
        path = os.path.join(daemon.folder, "state", name)
        if not os.path.exists(path):
            continue
        with open(path, "rb") as file:
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def start(daemon, number):
    """Seconds until it listens, until a reserve was accepted, and of CPU."""
    begun = time.monotonic()
    listening = daemon.start()
    daemon.call("reserve", request={
        "key": f"bench/start-{number}/0", "uid": 1000, "gid": 1000,
        "nodes": "n[0-3]"})
    return listening, time.monotonic() - begun, daemon.cpu_s()


def check(daemon):
    """The pool against a full replay."""
    begun = time.monotonic()
    done = subprocess.run(
        [daemon.programs.fairleadd, "--check-journal", "--config",
         daemon.config], stdout=subprocess.PIPE, text=True, check=False)
    print("\n  full replay: " + done.stdout.strip().replace("\n", "\n  ") +
          f" ({time.monotonic() - begun:.1f} s)")
    if done.returncode != 0:
        sys.exit("bench: the pool is not what a replay gives")


def run(options):
    jobs, events, nodes, spread, runs = (
        (300, 5000, 200, 8, 1) if options.is_smoke
        else (60000, 1000000, 10000, 64, 5))
    daemon = manager.Manager(options.programs,
                             os.path.join(options.work, NAME), nodes)
    times = {"after a kill, warm": [], "cold": []}
    count = 0
    try:
        made = make(daemon, jobs, events, spread)
        size = os.path.getsize(os.path.join(daemon.folder, "state",
                                            "journal.db")) / 1048576
        print(f"  journal: {made['events']:,.0f} events written, "
              f"{made['jobs']:,.0f} live jobs of {spread} nodes, "
              f"{made['released']:,.0f} released, {size:,.0f} MiB")
        for _ in range(runs):
            for kind, values in times.items():
                if kind == "cold":
                    drop_cache(daemon)
                count += 1
                values.append(start(daemon, count))
                daemon.kill()
        check(daemon)
        show(options, times)
    finally:
        daemon.close()


def show(options, times):
    rows, bars = [], []
    for kind, values in times.items():
        listening = report.best_and_median([value[0] for value in values],
                                           False)
        accepted = report.best_and_median([value[1] for value in values],
                                          False)
        cpu = report.best_and_median([value[2] for value in values], False)
        rows.append([kind, *listening, *accepted, *cpu, f"<= {AIM_S}"])
        bars.append([kind, accepted[0], accepted[1]])
    report.table("seconds from exec", [
        "start", "answers, best", "median", "reserve accepted, best",
        "median", "CPU, best", "median", "aim"], rows)
    report.plot(options.folder, NAME,
                "from exec to the first accepted reserve", "start", "s",
                ["best", "median"], bars)
