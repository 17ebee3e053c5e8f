# SPDX-License-Identifier: BSD-3-Clause
"""What the link provider costs beside the core providers alone: in one program
that measures both in turns, run 21 times; the interval that the median of the
runs' differences lies in tells whether an aim is met."""
import os
import time

import link_mpi
import link_net
import link_node
import manager
import report

NAME = "link"
PARTS = {
    "node": link_node.node, "idle": link_net.idle, "posted": link_node.posted,
    "memory": link_node.memory, "across": link_net.across,
    "rails": link_net.rails, "mpi": link_mpi.run,
}


def run(options):
    if os.cpu_count() < 2:
        raise manager.Skipped("it needs two processors")
    begun = time.monotonic()
    for name in options.parts or PARTS:
        report.progress(f"link {name}")
        try:
            PARTS[name](options)
        except manager.Skipped as why:
            print(f"link: {name}: skipped: {why}")
    report.progress(f"all took {time.monotonic() - begun:.0f} s")
