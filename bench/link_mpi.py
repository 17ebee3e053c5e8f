# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified Open MPI over the link provider, beside Open MPI's own shared
memory, in turns; and NetPIPE over both."""
import json
import os
import re
import shutil
import statistics
import subprocess

import report

OWN = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader"}
LINK = {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi",
        "OMPI_MCA_mtl_ofi_provider_include": "fairlead",
        "FI_FAIRLEAD_LINKS": "shm+tcp;ofi_rxm"}
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
RANKS = {2: ["--bind-to", "core"],
         4: ["--oversubscribe", "--bind-to", "none"]}
POINT = re.compile(r"^ *(\d+) +([\d.e+-]+) +([\d.e+-]+)", re.M)


def mpirun(environment, ranks, words):
    done = subprocess.run(
        ["mpirun.openmpi", *RANKS[ranks], "-np", str(ranks), *words],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment | ROOT, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: failed: {' '.join(words)}, {ranks} ranks")
    return done.stdout


def measured(options, environment, interval, runs, count):
    """Each measure's row: of all runs, in pairs."""
    found = {}
    for _ in range(runs):
        for ranks in RANKS:
            for who, extra in (("link", LINK), ("own", OWN)):
                out = mpirun(environment | extra, ranks,
                             [options.programs.link_mpi, str(count)])
                for name, value in json.loads(out).items():
                    found.setdefault(name, {}).setdefault(who, []).append(
                        value)
    rows = []
    for name, values in found.items():
        ratios = [a / b for a, b in zip(values["link"], values["own"])]
        rows.append([name, statistics.median(values["link"]),
                     statistics.median(values["own"]),
                     statistics.median(ratios), *interval(ratios)])
    return rows


def netpipe(options, environment, runs, most):
    """us and Mbit/s by bytes, the median of some runs."""
    program = shutil.which("NPopenmpi")
    if program is None:
        options.missing.add("NetPIPE")
        print("link: no NetPIPE: it comes with the package netpipe-openmpi")
        return
    path = os.path.join(options.work, "netpipe")
    sizes = [1, 64, 4096, 65536, 1048576]
    found = {}
    for _ in range(runs):
        for who, extra in (("link", LINK), ("own", OWN)):
            mpirun(environment | extra, 2, [program, "-o", path, "-u",
                                            str(most), "-p", "0"])
            with open(path, encoding="ascii") as file:
                for size, mbit, seconds in POINT.findall(file.read()):
                    found.setdefault((int(size), who), []).append(
                        (float(seconds) * 1e6, float(mbit)))
    rows = []
    for size in sizes:
        if (size, "link") in found:
            row = [f"{size} B"]
            for who in ("link", "own"):
                values = found[(size, who)]
                row += [statistics.median(v[0] for v in values),
                        statistics.median(v[1] for v in values)]
            rows.append(row)
    report.table(f"NetPIPE, two ranks on one node, {runs} runs", [
        "size", "link, us", "Mbit/s", "Open MPI's own, us", "Mbit/s"], rows)


def run(options, interval, environment):
    if options.programs.link_mpi is None or \
            shutil.which("mpirun.openmpi") is None:
        options.missing.add("OpenMPI")
        print("link: no OpenMPI: it comes with openmpi-bin and libopenmpi-dev")
        return
    runs, count, pipes, most = (1, 5, 1, 64) if options.is_smoke else \
        (21, 10000, 5, 1048576)
    rows = measured(options, environment, interval, runs, count)
    report.table(f"Open MPI over the link provider and over its own shared "
                 f"memory, us, {runs} runs", [
                     "what", "link", "own", "ratio", "from", "to"], rows)
    netpipe(options, environment, pipes, most)
