# SPDX-License-Identifier: BSD-3-Clause
"""Memory of a manager with many live jobs of many scattered nodes.

Once after it has given out all of them itself, and once after a restart. What
a manager without jobs takes stands beside it.
"""
import os

import manager
import report

NAME = "memory"
AIM_MIB = 150


def run(options):
    jobs, nodes, spread = ((200, 200, 8) if options.is_smoke
                           else (60000, 10000, 64))
    daemon = manager.Manager(options.programs,
                             os.path.join(options.work, NAME), nodes)
    rows = []

    def look(what, aim="-"):
        now, most = daemon.memory_mib()
        rows.append([what, now, most, aim])

    try:
        daemon.start()
        look("no jobs")
        held = manager.numbers([
            daemon.programs.load, "--socket", daemon.socket, "--clients", "64",
            "--count", str(jobs), "--nodes", str(nodes), "--spread",
            str(spread), "--hold"])
        look("all reserved", f"<= {AIM_MIB}")
        daemon.kill()
        daemon.start()
        look("after a restart", f"<= {AIM_MIB}")
    finally:
        daemon.close()
    print(f"  {held['rounds']:,.0f} live jobs of {spread} nodes among "
          f"{nodes:,}")
    report.table("resident memory of the manager, MiB",
                 ["manager", "now", "peak", "aim"], rows)
    report.plot(options.folder, NAME, "resident memory of the manager",
                "manager", "MiB", ["now", "peak"],
                [row[:3] for row in rows])
