# SPDX-License-Identifier: BSD-3-Clause
"""The core alone: decisions a CPU second, when rows and nodes cost nothing."""
import os

import manager
import report

NAME = "core_rate"


def run(options):
    rounds, live, runs = (200, 200, 1) if options.is_smoke else (20000, 50000, 5)
    cases = {
        "reserve+release, 4 nodes": [],
        "64 nodes": ["--spread", "64"],
        f"4 nodes, {live:,} live jobs": ["--live", str(live)],
        "with apply, 4 nodes": ["--apply"],
        "with apply, 64 nodes": ["--apply", "--spread", "64"],
    }
    daemon = manager.Manager(options.programs,
                             os.path.join(options.work, NAME), 4096)
    rows = []
    try:
        for name, arguments in cases.items():
            done = [manager.numbers([
                options.programs.core_rate, "--config", daemon.config,
                "--rounds", str(rounds), *arguments]) for _ in range(runs)]
            best, median = report.best_and_median(
                [result["rounds_per_s"] for result in done])
            rows.append([name, best, median, 1e6 / median,
                         done[0]["rows_per_round"],
                         done[0]["bytes_per_round"], "-"])
    finally:
        daemon.close()
    report.table("rounds of the core alone a CPU second", [
        "round", "best", "median", "us/round", "rows/round", "bytes/round",
        "aim"], rows)
    report.plot(options.folder, NAME, "rounds of the core alone a CPU second",
                "round", "rounds/s", ["best", "median"],
                [row[:3] for row in rows])
