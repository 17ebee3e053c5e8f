# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified Open MPI over the link provider, beside Open MPI's own shared
memory, in turns; and NetPIPE over both."""
import json
import os
import re
import shutil
import subprocess

import link_pair
import report
from link_pair import SHM, runs_of

OWN = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader"}
LINK = {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi",
        "OMPI_MCA_mtl_ofi_provider_include": "fairlead",
        "FI_FAIRLEAD_LINKS": SHM}
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


def in_turns(options, measure, runs):
    """By what was measured: the values of the link, and of Open MPI's own."""
    found = {}
    common = link_pair.environment(options.programs.build, "lo")
    for _ in range(runs):
        for k, extra in enumerate((LINK, OWN)):
            for name, value in measure(common | extra).items():
                found.setdefault(name, ([], []))[k].append(value)
    return found


def rows_of(found):
    return [[name, *link_pair.judged(*values, None)]
            for name, values in found.items()]


def messages(options, ranks, runs, count):
    report.progress(f"Open MPI, {ranks} ranks, {runs} runs")
    return rows_of(in_turns(options, lambda environment: json.loads(mpirun(
        environment, ranks, [options.programs.link_mpi, str(count)])), runs))


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
    rows = messages(options, 2, runs, count) + messages(options, 4, runs,
                                                        count)
    report.table(f"Open MPI over {SHM} and over its own shared memory, one "
                 f"node, us, {runs} runs",
                 link_pair.with_head("Open MPI's own"), rows)
    netpipe(options, runs)
