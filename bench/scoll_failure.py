# SPDX-License-Identifier: BSD-3-Clause
"""When a broadcast ends at its root although nodes are dead or stand still."""
import report
import scoll

NAME = "scoll_failure"
NODES = 16
R_MS, P_MS = 100, 200


def run(options):
    counts, hows, times = [0, 1, 2, 4, 8], ["kill", "stop"], 3
    if options.is_smoke:
        counts, hows, times = [1], ["stop"], 1
    rows, plotted = [], []
    for how in hows:
        for failed in counts:
            runs = [scoll.run([options.programs.scoll_failure, "tcp", NODES,
                               "knomial:2", failed, how, R_MS, P_MS])
                    for _ in range(times)]
            bound = runs[0]["bound_ns"]
            worst = max(one["time_ns"] for one in runs)
            what = f"{failed} {how}" + ("ped" if how == "stop" else "ed")
            plotted.append([what, scoll.median(runs, "time_ns", 1e-6),
                            worst * 1e-6, bound * 1e-6])
            rows.append([
                what, scoll.median(runs, "time_ns", 1e-6), worst * 1e-6,
                bound * 1e-6, worst / bound,
                f"{scoll.median(runs, 'lost'):.0f}",
                scoll.median(runs, "next_ns", 1e-6)])
    report.table(f"a broadcast over {NODES} processes, net, binomial, R {R_MS} ms, "
                 f"P {P_MS} ms, with failed nodes unknown to discovery", [
                     "what", "ends after ms, median", "worst",
                     "(depth + 1) R + P", "worst over it", "lost",
                     "next one, to the others, ms"], rows)
    report.plot(options.folder, NAME,
                f"when a broadcast over {NODES} processes ends at its root",
                "nodes that failed", "ms",
                ["median", "worst", "(depth + 1) R + P"], plotted)
