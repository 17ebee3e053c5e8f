# SPDX-License-Identifier: BSD-3-Clause
"""Gossip: how soon a crash is known to all, and what it costs. Virtual time."""
import manager
import report

NAME = "scoll_gossip"
CYCLES_PER_S = 4


def measure(options, nodes, loss, cycles, is_model):
    result = manager.numbers([
        options.programs.scoll_gossip, *(["--model"] if is_model else []),
        "--nodes", str(nodes), "--loss", str(round(loss * 1e6)),
        "--cycles", str(cycles), "--crashes", "4"])
    kilobytes = result["bytes_per_cycle"] * CYCLES_PER_S / 1000
    name = f"{nodes:,} nodes, {loss:.0%} loss"
    row = [name + (" (model)" if is_model else ""), result["fanout"],
           f"{result['age_max']:.0f} ({result['age_bound']:.0f})",
           f"{result['dead_after']:.0f}",
           result["detect_first"], result["detect_last"],
           f"{result['false_deaths']:.0f}",
           f"{result['pair_cycles']:.1e}", kilobytes]
    return row, [name, result["detect_last"], kilobytes]


def run(options):
    sizes = [(100, 200), (1000, 100), (10000, 40)]
    models = [(10000, 2000), (100000, 200)]
    if options.is_smoke:
        sizes, models = [(20, 5)], [(200, 5)]
    rows, points = [], []
    for is_model, cases in ((False, sizes), (True, models)):
        for nodes, cycles in cases:
            for loss in (0, 0.1, 0.3):
                row, point = measure(options, nodes, loss, cycles, is_model)
                rows.append(row)
                if loss == 0.1 and (not is_model or nodes > 10000):
                    points.append(point)
    report.table(
        "gossip: shipped code with full views; (model): the exchange alone, "
        "64 tracked nodes. Cycles from a crash to the verdicts; KB/s sent by "
        "a node at 250 ms",
        ["cluster", "fanout", "oldest age (A)", "T_dead", "first", "all know",
         "false deaths", "pairs x cycles", "KB/s"], rows)
    report.plot(options.folder, NAME + "_cycles",
                "cycles until all know of a crash, at 10 % loss", "nodes",
                "cycles", ["all know"], [point[:2] for point in points])
    report.plot(options.folder, NAME + "_bytes",
                "sent by a node at 250 ms, at 10 % loss", "nodes", "KB/s",
                ["KB/s"], [[point[0], point[2]] for point in points])
