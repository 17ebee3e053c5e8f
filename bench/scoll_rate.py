# SPDX-License-Identifier: BSD-3-Clause
"""How many broadcasts a second, with more and more of them under way, from one
root and several, over one group and several."""
import report
import scoll

NAME = "scoll_rate"
NODES = 8
DOWN = 64


def run(options):
    outstanding = [1, 4, 16, 64, 256]
    shapes = [(1, 1), (1, 16), (4, 1), (4, 16)]
    count, times = 4000, 3
    if options.is_smoke:
        outstanding, shapes, count, times = [1, 4], [(2, 2)], 20, 1
    rows, plotted = [], {under_way: [under_way] for under_way in outstanding}
    for roots, groups in shapes:
        results = scoll.in_turns({
            under_way: [options.programs.scoll_rate, "tcp", NODES, "knomial:4",
                        DOWN, roots, groups, under_way, count // roots]
            for under_way in outstanding}, times)
        name = f"{roots} roots, {groups} groups each"
        for under_way, runs in results.items():
            rows.append([f"{name}, {under_way}",
                         scoll.best(runs, "per_s", is_more_better=True),
                         scoll.median(runs, "per_s"),
                         scoll.median(runs, "cpu_ns", 1e-3),
                         scoll.median(runs, "switches")])
            plotted[under_way].append(scoll.median(runs, "per_s"))
    report.table(f"broadcasts a second over {NODES} processes, {DOWN} B down, "
                 "8 B up, net, blocking, by how many each root has under way",
                 ["roots, groups, under way", "best /s", "median /s",
                  "CPU us each", "switches each"], rows)
    report.plot(options.folder, NAME,
                f"broadcasts a second over {NODES} processes",
                "under way at each root", "broadcasts/s",
                [f"{roots} roots, {groups} groups" for roots, groups in shapes],
                list(plotted.values()))
