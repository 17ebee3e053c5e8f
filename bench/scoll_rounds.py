# SPDX-License-Identifier: BSD-3-Clause
"""A broadcast and its replies, one round after the other, beside raw TCP,
ZeroMQ and OpenMPI in the same run."""
import shutil

import report
import scoll

NAME = "scoll_rounds"
TREE = "knomial:8"
US = 1e-3


def own(options, provider, nodes, tree, size, rounds, how, seal="plain"):
    return [options.programs.scoll_rounds, provider, nodes, tree,
            scoll.payload(size), 8, rounds, how, seal]


def tree(options, nodes, radix, size, rounds, how):
    return [options.programs.peer_tree, nodes, radix, max(size, 1), 8, rounds,
            how]


def row(name, runs, floor):
    first = runs[0]
    reach = ["reach_best_ns", "reach_median_ns"]
    return [name, scoll.best(runs, "best_ns", US),
            scoll.median(runs, "median_ns", US),
            *(scoll.median(runs, key, US) if key in first else ""
              for key in reach),
            scoll.median(runs, "cpu_ns", US), scoll.median(runs, "switches"),
            scoll.ratio(runs, floor, "median_ns")]


HEAD = ["best us", "median us", "to the last leaf, best us", "median us",
        "CPU us", "switches", "over raw TCP"]


def peers(options, times, rounds, nodes, how):
    """4 KiB down, 8 B up; the floor is the first one."""
    size = scoll.MESSAGE_BYTES
    cases = {"raw TCP tree": tree(options, nodes, 4, size, rounds, how)}
    if how == "blocking":
        cases["raw TCP, flat"] = tree(options, nodes, nodes, size, rounds, how)
        if options.programs.peer_zeromq is None:
            scoll.missing(options, "ZeroMQ", "peer_zeromq is not built: "
                          "libzmq3-dev was not there")
        else:
            cases["ZeroMQ, flat"] = [options.programs.peer_zeromq, nodes,
                                     size, 8, rounds]
    if nodes == 2:
        why = without_mpi(options)
        if why is not None:
            scoll.missing(options, "OpenMPI", why)
        else:
            cases["OpenMPI, tcp"] = scoll.mpirun(
                2, options.programs.peer_mpi, size, 8, rounds)
    for provider in scoll.PROVIDERS:
        for seal in ("plain", "sealed"):
            cases[f"libscoll, {provider}, {seal}"] = own(
                options, provider, nodes, TREE, size, rounds, how, seal)
    return scoll.in_turns(cases, times)


def without_mpi(options):
    """Why OpenMPI is not measured; None: it is."""
    if options.programs.peer_mpi is None:
        return "peer_mpi is not built: libopenmpi-dev was not there"
    if shutil.which("mpirun") is None:
        return "mpirun is not installed"
    return None


def shared_memory(options, times):
    """One host, 4 KiB down, 8 B up, beside OpenMPI's shared memory."""
    size = scoll.MESSAGE_BYTES
    nodes, rounds = (4, 20) if options.is_smoke else (16, 300)
    cases = {"libscoll": own(options, "tcp", nodes, TREE, size, rounds,
                             "blocking")}
    why = without_mpi(options)
    if why is not None:
        scoll.missing(options, "OpenMPI", why)
    else:
        cases["OpenMPI, vader"] = scoll.mpirun(
            nodes, options.programs.peer_mpi, size, 8, rounds,
            network="vader")
    cases["raw TCP tree"] = tree(options, nodes, 4, size, rounds, "blocking")
    results = scoll.in_turns(cases, times)
    floor = results["raw TCP tree"]
    report.table(f"{nodes} processes of one host, blocking (OpenMPI "
                 "polls, and gives way), 4 KiB down, 8 B up",
                 ["who", *HEAD],
                 [row(name, runs, floor) for name, runs in results.items()])
    if why is None:
        ratio = scoll.ratio(results["libscoll"],
                            results["OpenMPI, vader"], "median_ns")
        print("\n  libscoll over OpenMPI, vader (aim: at most 1): "
              f"{ratio:.2f}")


def compare(options, times):
    two, many = (2, 6) if options.is_smoke else (2, 64)
    plots = []
    for nodes, how, rounds in ((two, "polling", 5000), (many, "blocking", 300)):
        if options.is_smoke:
            rounds = 20
        results = peers(options, times, rounds, nodes, how)
        floor = results["raw TCP tree"]
        report.table(f"{nodes} processes, {how}, 4 KiB down, 8 B up", [
            "who", *HEAD],
            [row(name, runs, floor) for name, runs in results.items()])
        plain = results["libscoll, tcp, plain"]
        for name in ("OpenMPI, tcp", "ZeroMQ, flat"):
            if name in results:
                print(f"\n  libscoll, tcp, plain, over {name}: "
                      f"{scoll.ratio(plain, results[name], 'median_ns'):.2f}")
        plots.append([nodes, how, results])
    nodes, how, results = plots[-1]
    report.plot(options.folder, NAME + "_peers",
                f"a round over {nodes} processes, {how}, 4 KiB down, 8 B up",
                "", "us", ["round", "to the last leaf", "CPU"],
                [[name] + [scoll.median(runs, key, US) for key in
                           ("median_ns", "reach_median_ns", "cpu_ns")]
                 for name, runs in results.items()])


def sizes(options, times):
    counts, bytes_down = [2, 4, 16, 64], [0, 64, 1024, 4096]
    if options.is_smoke:
        counts, bytes_down = [2, 4], [64]
    rows, plotted = [], []
    for nodes in counts:
        line = [nodes]
        for size in bytes_down:
            rounds = 20 if options.is_smoke else max(200, 4000 // nodes)
            results = scoll.in_turns({
                "raw": tree(options, nodes, 4, size, rounds, "blocking"),
                "tcp": own(options, "tcp", nodes, TREE, size, rounds,
                           "blocking")}, times)
            line.append(scoll.median(results["tcp"], "median_ns", US))
            rows.append([f"{nodes}, {size:,}"]
                        + [value for name in ("raw", "tcp") for value in
                           (scoll.best(results[name], "best_ns", US),
                            scoll.median(results[name], "median_ns", US))]
                        + [scoll.ratio(results["tcp"], results["raw"],
                                       "median_ns")])
        plotted.append(line)
    report.table("round trip by processes and bytes down, blocking, tcp, "
                 f"{TREE}", [
                     "processes, bytes", "raw TCP best us", "median us",
                     "libscoll best us", "median us", "over raw TCP"], rows)
    report.plot(options.folder, NAME + "_sizes",
                "round trip, blocking", "processes", "us, median",
                [f"{size} B" for size in bytes_down], plotted)


def trees(options, times):
    kinds = ["binomial", "knomial:4", "knomial:8", "kary:4", "logp:4", "flat"]
    counts = [4] if options.is_smoke else [16, 64]
    rounds = 20 if options.is_smoke else 300
    results = {nodes: scoll.in_turns(
        {kind: own(options, "tcp", nodes, kind, scoll.MESSAGE_BYTES, rounds,
                   "blocking") for kind in kinds}, times) for nodes in counts}
    report.table("kinds of tree, 4 KiB down, 8 B up, blocking (on few "
                 "cores all sends take turns, whatever the tree)", [
                     "tree"] + [f"{nodes} processes, {what}"
                                for nodes in counts for what in
                                ("median us", "to the last leaf us")],
                 [[kind] + [scoll.median(results[nodes][kind], key, US)
                            for nodes in counts
                            for key in ("median_ns", "reach_median_ns")]
                  for kind in kinds])


def cold(options, times):
    nodes = 6 if options.is_smoke else 64
    results = scoll.in_turns({
        provider: own(options, provider, nodes, TREE, scoll.MESSAGE_BYTES,
                      100, "blocking") for provider in scoll.PROVIDERS}, times)
    report.table(f"{nodes} processes: to make the group, when nobody is "
                 "connected, and rounds after it", [
                     "provider", "best ms", "median ms", "first round ms",
                     "later ones ms"],
                 [[provider, scoll.best(runs, "cold_ns", 1e-6),
                   *(scoll.median(runs, key, 1e-6) for key in
                     ("cold_ns", "first_ns", "median_ns"))]
                  for provider, runs in results.items()])


def run(options):
    times = 1 if options.is_smoke else 5
    compare(options, times)
    shared_memory(options, times)
    sizes(options, 1 if options.is_smoke else 3)
    trees(options, 1 if options.is_smoke else 3)
    cold(options, times)
