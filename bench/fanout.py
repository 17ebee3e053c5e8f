# SPDX-License-Identifier: BSD-3-Clause
"""The manager's fan-out: how long a command to all nodes takes.

An emulated cluster: a manager, and for each node its daemon, its guard and a
software NIC. A QUERY is the fan-out with little else (each node reads what it
has from memory, and nothing is written), an APPLY and a REVOKE are all of it:
journals, the NIC, an environment file. Beside them, in turns, a message of as
many bytes and its answers over raw TCP between as many bare processes: in a
tree with 4 children a node, and flat, as links of the manager to each node
would be. All share the cores of one machine, as their peers do.
"""
import json
import os
import socket
import struct
import time

import apply
import manager
import report
import scoll

NAME = "fanout"
COMMAND_BYTES = 512  # a header, a body and its nodes' names, about
WARM = 20


class Client:
    """Requests over one connection, timed."""

    def __init__(self, path):
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(path)
        self.number = 0
        self.answer = None  # the last one

    def call(self, op, **members):
        """Seconds until the answer is there."""
        self.number += 1
        text = json.dumps({"v": 1, "id": self.number, "op": op} |
                          members).encode()
        begun = time.monotonic()
        self.connection.sendall(struct.pack("<I", len(text)) + text)
        size, = struct.unpack("<I", self._receive(4))
        self.answer = answer = json.loads(self._receive(size))
        took = time.monotonic() - begun
        if answer["result"] < 0:
            raise manager.Refused(answer["error"])
        for one in answer.get("answers", []):
            if one["result"] < 0:
                raise manager.Refused(one["error"])
        return took

    def _receive(self, size):
        parts = b""
        while len(parts) < size:
            parts += self.connection.recv(size - len(parts))
        return parts


def query(path, nodes, count):
    """Microseconds of each."""
    client = Client(path)
    names = f"n[0-{nodes - 1}]"
    for _ in range(WARM):
        client.call("node-query", nodes=names, what="grants")
    return sorted(client.call("node-query", nodes=names, what="grants") * 1e6
                  for _ in range(count))


def lanes(options, path, nodes, count, name):
    return manager.numbers([
        options.programs.load, "--socket", path, "--count", str(count),
        "--nodes", str(nodes), "--spread", str(nodes), "--apply", "--owner",
        apply.OWNER, "--name", name])


def raw(options, nodes, radix, count):
    """us"""
    return scoll.run([options.programs.peer_tree, nodes + 1, radix,
                      COMMAND_BYTES, 64, count, "blocking"])["median_ns"] / 1e3


def measure(options, folder, nodes, runs, count):
    """Medians over runs of medians, us; raw TCP of each run beside."""
    path = os.path.join(folder, "manager", "run", "manager.sock")
    values = {name: [] for name in ("query", "query99", "apply", "revoke",
                                    "tree", "flat", "over")}
    for i in range(runs):
        tree = raw(options, nodes, 4, count)
        times = query(path, nodes, count)
        flat = raw(options, nodes, nodes + 1, count)
        load = lanes(options, path, nodes, count, f"f{nodes}r{i}")
        values["tree"].append(tree)
        values["flat"].append(flat)
        values["query"].append(times[len(times) // 2])
        values["query99"].append(times[len(times) * 99 // 100])
        values["over"].append(times[len(times) // 2] / tree)
        values["apply"].append(load["apply_p50_us"])
        values["revoke"].append(load["release_p50_us"])
    return {name: report.best_and_median(some, False)[1]
            for name, some in values.items()}


def run(options):
    if not apply.is_possible():
        raise manager.Skipped("not root, and users may not make namespaces "
                              "here")
    node_counts = [2] if options.is_smoke else [1, 4, 16]
    runs, count = (1, 3) if options.is_smoke else (5, 200)
    rows = []
    for nodes in node_counts:
        folder = os.path.join(options.work, f"{NAME}{nodes}")
        apply.cluster(options, folder, "up", "-N", str(nodes), "--nics", "1")
        try:
            found = measure(options, folder, nodes, runs, count)
        finally:
            apply.cluster(options, folder, "down")
        rows.append([str(nodes), *(found[name] for name in (
            "query", "query99", "apply", "revoke", "tree", "flat", "over"))])
    report.table("a command to all nodes, us", [
        "nodes", "QUERY p50", "p99", "APPLY p50", "REVOKE p50",
        "raw TCP tree p50", "raw TCP flat p50", "QUERY over the tree"], rows)
    report.plot(options.folder, NAME, "a command to all nodes", "nodes", "us",
                ["QUERY", "APPLY", "REVOKE", "raw TCP tree"],
                [[row[0], row[1], row[3], row[4], row[5]] for row in rows])
