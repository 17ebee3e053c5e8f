# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified Open MPI over the link provider, beside Open MPI's own shared
memory, in turns; and NetPIPE over both. Collectives also beside Open MPI over the
core alone."""
import json
import os
import re
import shutil
import statistics
import subprocess

import link_net
import link_pair
import report
from link_pair import SHM, runs_of

OWN = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader"}
LINK = {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi",
        "OMPI_MCA_mtl_ofi_provider_include": "fairlead",
        "FI_FAIRLEAD_LINKS": SHM}
CORE = "tcp;ofi_rxm"
LINK_CORE = LINK | {"FI_FAIRLEAD_LINKS": CORE}
CORE_ALONE = LINK | {"OMPI_MCA_mtl_ofi_provider_include": CORE}
# A message is to cost at most so much, and small ones so much more than by Open
# MPI's own shared memory, which has no provider to go through.
US_AIMS = {"one way, 64 B": 0.45, "one way, 4096 B": 0.9}
OWN_AIM = 3
OWN_AIMS = {"one way, 64 B": OWN_AIM, "alltoall, 4 ranks, 64 B": OWN_AIM}
# Shared memory spares most of what the core alone costs; without it we add little.
NODE_AIMS = {"alltoall, 4 ranks, 64 B": 0.2}
CORE_AIMS = dict.fromkeys(
    [f"alltoall, 4 ranks, {size} B" for size in (8, 64, 1024, 16384)],
    link_net.LATENCY_AIM)
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
BIND = ["--oversubscribe", "--map-by", "core", "--bind-to",
        "core:overload-allowed"]
PIPE_SIZES = [1, 64, 4096, 65536, 1048576]
PIPE_REPEATS = 200
POINT = re.compile(r"^ *(\d+) +([\d.e+-]+) +([\d.e+-]+)", re.M)


def mpirun(environment, ranks, words):
    done = subprocess.run(
        ["mpirun.openmpi", *BIND, "-np", str(ranks), *words],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment | ROOT, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: failed: {' '.join(words)}, {ranks} ranks")
    return done.stdout


def in_turns(options, measure, runs, sides=(LINK, OWN)):
    """By what was measured: the values of the one side, and of the other."""
    found = {}
    common = link_pair.environment(options.programs.build, "lo")
    for _ in range(runs):
        for k, extra in enumerate(sides):
            for name, value in measure(common | extra).items():
                found.setdefault(name, ([], []))[k].append(value)
    return found


def rows_of(found, aims=None, before=""):
    return [[before + name, *link_pair.judged(*values,
                                              (aims or {}).get(name))]
            for name, values in found.items()]


def messages(options, ranks, runs, count, **sides):
    report.progress(f"Open MPI, {ranks} ranks, {runs} runs")
    return in_turns(options, lambda environment: json.loads(mpirun(
        environment, ranks, [options.programs.link_mpi, str(count)])), runs,
        **sides)


def us_rows(found):
    """What has an aim of its own, whatever is beside it."""
    rows = []
    for name, aim in US_AIMS.items():
        values = found[name][0]
        least, most = link_pair.interval(values)
        rows.append([name, statistics.median(values), f"{least:.3f}",
                     f"{most:.3f}", f"<= {aim}",
                     link_pair.verdict(least, most, aim, False)])
    return rows


def beside_core(options, runs, count):
    rows = []
    links = [(SHM, LINK, NODE_AIMS), (CORE, LINK_CORE, CORE_AIMS)]
    for link, side, aims in links[-1:] if options.is_smoke else links:
        rows += rows_of(messages(options, 4, runs, count,
                                 sides=(side, CORE_ALONE)), aims, f"{link}, ")
    report.table(f"Open MPI over links and over {CORE} alone, one node, us, "
                 f"{runs} runs", link_pair.with_head("core alone"), rows)


def netpipe(options, runs):
    program = shutil.which("NPopenmpi")
    if program is None:
        options.missing.add("NetPIPE")
        print("link: no NetPIPE: it comes with the package netpipe-openmpi")
        return
    path = os.path.join(options.work, "netpipe")
    most, repeats = (64, 1) if options.is_smoke else (PIPE_SIZES[-1],
                                                      PIPE_REPEATS)

    def pipe(environment):
        mpirun(environment, 2, [program, "-o", path, "-u", str(most), "-n",
                                str(repeats), "-p", "0"])
        with open(path, encoding="ascii") as file:
            points = {int(size): float(seconds) * 1e6 for size, _, seconds in
                      POINT.findall(file.read())}
        return {f"{size} B": points[size] for size in PIPE_SIZES
                if size in points}

    report.progress(f"NetPIPE, {runs} runs")
    report.table(f"NetPIPE, two ranks on one node, us, {runs} runs",
                 link_pair.with_head("Open MPI's own"),
                 rows_of(in_turns(options, pipe, runs)))


def run(options):
    if options.programs.link_mpi is None or \
            shutil.which("mpirun.openmpi") is None:
        options.missing.add("OpenMPI")
        print("link: no OpenMPI: it comes with openmpi-bin and libopenmpi-dev")
        return
    runs, count = runs_of(options), 5 if options.is_smoke else 10000
    found = messages(options, 2, runs, count)
    found |= messages(options, 4, runs, count)
    report.table(f"Open MPI over {SHM} and over its own shared memory, one "
                 f"node, us, {runs} runs",
                 link_pair.with_head("Open MPI's own"),
                 rows_of(found, OWN_AIMS))
    report.table(f"Open MPI over {SHM} against the clock, one node, us, "
                 f"{runs} runs", ["what", "link", "from", "to", "aim",
                                  "verdict"], us_rows(found))
    beside_core(options, runs, count)
    netpipe(options, runs)
