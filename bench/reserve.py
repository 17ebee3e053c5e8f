# SPDX-License-Identifier: BSD-3-Clause
"""Durable reserve and release a second, beside a bare SQLite program.

A round is one reserve and one release, each on disk before its answer. For
each number of clients the manager runs, then the peer: with rows of the mean
size that the manager wrote, in transactions as large as the manager's were.
A ratio compares two such neighbours: rows a second of both.
"""
import os

import manager
import report

NAME = "reserve"
AIM_CLIENTS = 256
AIM_RATIO = 0.5


def observed_sizes(before, after):
    """The transactions between two looks at the metrics, as numbers of rows:
    from the histogram, scaled so that rows and transactions are as many."""
    rows = after["commit_rows_sum"] - before["commit_rows_sum"]
    commits = after["commit_rows_count"] - before["commit_rows_count"]
    sizes = []
    below, lower = 0, 0
    for (bound, new), (_, old) in zip(after["batches"], before["batches"]):
        count = int(new - old - below)
        below += count
        sizes += [(lower + 1 + bound) / 2] * count
        lower = bound
    scale = rows / sum(sizes)
    given, wanted, whole = 0, 0.0, []
    for size in sizes:
        wanted += size * scale
        whole.append(max(1, round(wanted - given)))
        given += whole[-1]
    # Large and small ones in turn, not in one block each.
    step = max(1, int(len(whole) ** 0.5))
    return rows, commits, [size for i in range(step) for size in whole[i::step]]


def run_manager(daemon, clients, seconds, name):
    before, syncs, cpu_s = daemon.metrics(), daemon.syncs(), daemon.cpu_s()
    result = manager.numbers([
        daemon.programs.load, "--socket", daemon.socket, "--clients",
        str(clients), "--seconds", str(seconds), "--name", name])
    after = daemon.metrics()
    rows, commits, sizes = observed_sizes(before, after)
    result["cpu_us"] = (daemon.cpu_s() - cpu_s) / result["rounds"] * 1e6
    result["syncs_per_s"] = (daemon.syncs() - syncs) / result["seconds"]
    result["rows_per_s"] = rows / result["seconds"]
    result["rows_per_commit"] = rows / commits
    result["rows_per_round"] = rows / result["rounds"]
    result["row_bytes"] = (after["commit_bytes_total"] -
                           before["commit_bytes_total"]) / rows
    return result, sizes


def warm_up(daemon, seconds):
    """Fill the log once, as the peer does: its blocks are there afterwards."""
    manager.numbers([daemon.programs.load, "--socket", daemon.socket,
                     "--clients", str(AIM_CLIENTS), "--seconds",
                     str(seconds), "--name", "warm"])


def run_peer(daemon, seconds, row_bytes, sizes):
    path = os.path.join(daemon.folder, "sizes")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{size}\n" for size in sizes)
    return manager.numbers([
        daemon.programs.peer, "--sizes", path, "--bytes",
        str(max(1, round(row_bytes))), "--seconds", str(seconds),
        daemon.folder])


def run(options):
    counts = [1, 16] if options.is_smoke else [1, 16, 256]
    runs, seconds = (1, 1) if options.is_smoke else (7, 2)
    pairs = {count: [] for count in counts}
    for i in range(runs):
        daemon = manager.Manager(options.programs,
                                 os.path.join(options.work, NAME), 1024)
        try:
            daemon.start()
            warm_up(daemon, 1 if options.is_smoke else 2)
            for clients in counts:
                mine, sizes = run_manager(daemon, clients, seconds,
                                          f"r{i}c{clients}")
                peer = run_peer(daemon, seconds, mine["row_bytes"], sizes)
                peer["rounds_per_s"] = (peer["rows_per_s"] /
                                        mine["rows_per_round"])
                mine["ratio"] = mine["rows_per_s"] / peer["rows_per_s"]
                pairs[clients].append((mine, peer))
        finally:
            daemon.close()
    show(options, pairs)


def column(runs, side, name):
    return [pair[side][name] for pair in runs]


def show(options, pairs):
    rates, syncs, latencies, bars = [], [], [], []
    for clients, runs in pairs.items():
        best, median = report.best_and_median(column(runs, 0, "rounds_per_s"))
        peer_best, peer_median = report.best_and_median(
            column(runs, 1, "rounds_per_s"))
        ratio_best, ratio = report.best_and_median(column(runs, 0, "ratio"))
        aim = f">= {AIM_RATIO}" if clients == AIM_CLIENTS else "-"
        rates.append([str(clients), best, median, peer_best, peer_median,
                      ratio_best, ratio, aim])

        def middle(name, side=0, runs=runs):
            return report.best_and_median(column(runs, side, name))[1]

        syncs.append([str(clients), middle("syncs_per_s"),
                      middle("syncs_per_s", 1), middle("rows_per_commit"),
                      middle("rows_per_round"), middle("row_bytes"),
                      middle("cpu_us")])
        row = [str(clients)]
        for name in ("reserve_p50_us", "reserve_p99_us", "release_p50_us",
                     "release_p99_us"):
            values = [value / 1000 for value in column(runs, 0, name)]
            row += report.best_and_median(values, False)
        latencies.append(row)
        bars.append([str(clients), median, peer_median])
    report.table("reserve+release a second, durable", [
        "clients", "best", "median", "peer best", "peer median",
        "ratio best", "ratio median", "aim"], rates)
    report.table("syncs a second and what goes to the disk, medians", [
        "clients", "syncs/s", "peer syncs/s", "rows/commit", "rows/round",
        "bytes/row", "CPU us/round"], syncs)
    report.table("latency in ms, best and median of the runs", [
        "clients", "reserve p50", "median", "p99", "median", "release p50",
        "median", "p99", "median"], latencies)
    report.plot(options.folder, NAME, "durable reserve+release a second",
                "clients", "rounds/s", ["fairleadd", "bare SQLite"], bars)
