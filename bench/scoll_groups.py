# SPDX-License-Identifier: BSD-3-Clause
"""What groups cost: memory, finding one, making one."""
import manager
import report
import scoll

NAME = "scoll_groups"
HEAD_AIM = 160  # bytes


def memory(options):
    cases = [(10000, 4, "own"), (10000, 16, "own"), (10000, 128, "own"),
             (10000, 16, "shared"), (10000, 16, "oob")]
    if options.is_smoke:
        cases = [(10, 4, kind) for kind in ("own", "shared", "oob")]
    rows, heads = [], []
    for count, nodes, kind in cases:
        one = manager.numbers([options.programs.scoll_groups, str(count),
                               str(nodes), kind])
        aim = 64 + 24 * nodes
        rows.append([f"{nodes} nodes, {kind}", one["creator_bytes"],
                     one["member_bytes"], one["table_bytes"],
                     one["membership_bytes"], f"{aim}",
                     one["member_bytes"] / aim])
        heads.append([f"{nodes} nodes, {kind}", f"{one['head_bytes']:.0f}",
                      f"{one['head_sealed_bytes']:.0f}", f"{HEAD_AIM}"])
    report.table("bytes a group; memberships are kept once for all groups "
                 "that have the same one", [
                     "members", "at its creator", "at a member",
                     "of it the group", "a membership",
                     "aim: 64 + 24 a node", "at a member, over it"], rows)
    report.table("bytes of the head of a broadcast over a group that is "
                 "known", ["members", "plain", "sealed", "aim: at most"],
                 heads)


def finding(options):
    counts = [100, 1000, 10000, 100000, 1000000]
    if options.is_smoke:
        counts = [10, 100]
    rows, points = [], []
    for count in counts:
        found = [manager.numbers([options.programs.scoll_groups, str(count),
                                  "4", kind]) for kind in ("shared", "oob")]
        rows.append([f"{count:,}"] + [value for one in found for value in
                                      (one["find_best_ns"],
                                       one["find_median_ns"])])
        points.append([f"{count:,}"]
                      + [one["find_median_ns"] for one in found])
    report.table("ns to find a group by what a message says of it", [
        "groups", "best", "median", "out-of-band, best", "median"], rows)
    report.plot(options.folder, NAME + "_find", "finding a group", "groups",
                "ns, median", ["regular", "out-of-band"], points)


def making(options):
    counts, rounds = ([3], 2) if options.is_smoke else ([2, 16, 64], 50)
    rows = []
    for nodes in counts:
        one = scoll.run([options.programs.scoll_create, "tcp", nodes, rounds])
        rows.append([f"{nodes}"] + [one[what] / 1000 for what in (
            "immediate", "delayed", "first", "later")])
    report.table("us to make a group of processes that are connected, and for "
                 "a broadcast of 8 B over it, net, blocking, medians", [
                     "processes", "at once", "delayed", "its first broadcast",
                     "later ones"], rows)


def run(options):
    memory(options)
    finding(options)
    making(options)
