# SPDX-License-Identifier: BSD-3-Clause
"""External reservations, with a real manager and fairlead-softfm, by HTTPS.

start: from `reserve` to the answer to `apply`, of so many jobs at the same
time, with a reservation and without one in turns, beside a bare client that
sends the same POSTs. There are no nodes: an apply ends when it would ask them.

debts: jobs end while the fabric manager drops all connections. When it is back
their reservations are released, beside a bare client that does the same.
"""
import os
import subprocess
import time

import manager
import report

NAME = "hwcoll"
DELAY_MS = 10  # of a fabric manager that has something to do
AIM_RATIO = 1.1  # of what is added to a round trip: the same, and no more
FOR_EVER = 4000000000

SETTINGS = """    hwcoll_url = "{url}"
    hwcoll_credentials = "{folder}/auth"
    hwcoll_ca = "{folder}/ca.pem"
    hwcoll_wait = 60
"""


class FabricManager:
    """One softfm in a folder of its own."""

    def __init__(self, programs, folder):
        self.programs = programs
        self.folder = folder
        ready, ready_end = os.pipe()
        self.process = subprocess.Popen(
            [programs.softfm, "--dir", folder, "--ready-fd", str(ready_end)],
            pass_fds=[ready_end], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(ready_end)
        with os.fdopen(ready) as file:
            file.read()
        with open(os.path.join(folder, "url"), encoding="ascii") as file:
            self.url = file.read().strip()
        self.settings = SETTINGS.format(url=self.url, folder=folder)

    def ctl(self, *command):
        subprocess.run([self.programs.softfm, "ctl", "--dir", self.folder,
                        *command], check=True)

    def bare(self, jobs, bursts):
        return manager.numbers([self.programs.fm_peer, self.url, self.folder,
                                str(jobs), str(bursts)])

    def close(self):
        self.process.terminate()
        self.process.wait()


def median(values):
    return report.best_and_median(list(values), False)[1]


# --- the start of jobs ---

def start_times(daemon, jobs, bursts, hwcoll, name):
    return manager.numbers([
        daemon.programs.load, "--socket", daemon.socket, "--clients",
        str(jobs), "--count", str(jobs * bursts), "--together",
        "--options", f"hwcoll={hwcoll}", "--name",
        f"{name}{hwcoll}"])


def start_row(jobs, delay_ms, runs):
    """Of runs: with, without, bare."""
    row = [str(jobs), str(delay_ms)]
    for side, name in ((1, "start"), (0, "start"), (2, "create")):
        row += [median(run[side][f"{name}_{part}_us"] for run in runs) / 1000
                for part in ("p50", "p99")]
    added = [run[0]["start_p50_us"] - run[1]["start_p50_us"] for run in runs]
    return row + [
        median(us / run[2]["create_p50_us"] for us, run in zip(added, runs)),
        f"<= {AIM_RATIO}"]


def start(options, daemon, fm):
    counts = [1, 4] if options.is_smoke else [1, 16, 256]
    runs = 1 if options.is_smoke else 7
    rows = []
    for delay_ms in (0, DELAY_MS):
        if delay_ms > 0:
            fm.ctl("fault", "op=create", f"delay={delay_ms}",
                   f"count={FOR_EVER}")
        for jobs in counts:
            bursts = 1 if options.is_smoke else (
                {1: 300, 16: 100, 256: 8}[jobs])
            done = []
            for i in range(runs):
                report.progress(f"{jobs} jobs, {delay_ms} ms, {i + 1} of "
                                f"{runs}")
                name = f"s{delay_ms}r{i}n{jobs}"
                done.append([start_times(daemon, jobs, bursts, "on", name),
                             start_times(daemon, jobs, bursts, "off", name),
                             fm.bare(jobs, bursts)])
            rows.append(start_row(jobs, delay_ms, done))
    fm.ctl("clear")
    report.table("start of jobs, ms; what a reservation adds over a bare POST", [
        "jobs at once", "answer after ms", "without p50", "p99", "with p50",
        "p99", "bare POST p50", "p99", "added / bare p50", "aim"],
        rows)
    report.plot(options.folder, NAME + "_start",
                "what a reservation adds to a job\\047s start, p50",
                "jobs at once, answer of the fabric manager after",
                "over a bare POST", ["added / bare"],
                [[f"{row[0]}, {row[1]} ms", row[8]] for row in rows])


# --- debts ---

def external(daemon):
    return daemon.call("status")["external"]["slingshot"]


def watch(daemon, is_over):
    """Times of `status` until it is over, ms; and seconds."""
    times, begun = [], time.monotonic()
    while True:
        asked = time.monotonic()
        state = external(daemon)
        end = time.monotonic()
        times.append((end - asked) * 1000)
        if is_over(state):
            return sorted(times), end - begun
        time.sleep(0.002)


def live_grants(daemon):
    page = {"more": True, "after": 0}
    while page.get("more"):
        page = daemon.call("list", after=page["after"])
        yield from [job["grant_id"] for job in page["jobs"]]


def debts_once(daemon, fm, count, name):
    manager.numbers([daemon.programs.load, "--socket", daemon.socket,
                     "--clients", "64", "--count", str(count), "--hold",
                     "--options", "hwcoll=on", "--name", name])
    watch(daemon, lambda state: state["held"] == count)
    end = time.monotonic() + 1
    quiet, _ = watch(daemon, lambda state: time.monotonic() > end)
    memory = daemon.memory_mib()[0]
    fm.ctl("fault", "op=any", "lost=before", f"count={FOR_EVER}")
    for grant in list(live_grants(daemon)):
        daemon.call("release", grant_id=grant)
    fm.ctl("clear")
    watch(daemon, lambda state: state["connection"] == "up")
    left = external(daemon)["debts"]
    times, seconds = watch(daemon, lambda state: state["debts"] == 0)
    return {"seconds": seconds, "rate": left / seconds, "quiet": quiet,
            "times": times, "memory": memory, "most": daemon.memory_mib()[1]}


def p99(times):
    return times[len(times) * 99 // 100]


def debts(options, daemon, fm):
    count, runs = (20, 1) if options.is_smoke else (10000, 5)
    done = []
    for i in range(runs):
        report.progress(f"{count} debts, {i + 1} of {runs}")
        mine = debts_once(daemon, fm, count, f"d{i}")
        mine["bare"] = fm.bare(count, 1)["deletes_per_s"]
        done.append(mine)

    def middle(name):
        return median(run[name] for run in done)

    report.table(f"{count:,} debts after an outage of the fabric manager", [
        "", "s", "releases/s", "bare client", "ratio", "status p50 ms", "p99",
        "longest", "quiet p50", "p99",
        "MiB before", "most"],
        [["all paid", middle("seconds"), middle("rate"), middle("bare"),
          median(run["rate"] / run["bare"] for run in done),
          median(median(run["times"]) for run in done),
          median(p99(run["times"]) for run in done),
          max(run["times"][-1] for run in done),
          median(median(run["quiet"]) for run in done),
          median(p99(run["quiet"]) for run in done), middle("memory"),
          middle("most")]])


PARTS = {"start": start, "debts": debts}


def run(options):
    fm = FabricManager(options.programs, os.path.join(options.work, "softfm"))
    try:
        daemon = manager.Manager(options.programs,
                                 os.path.join(options.work, NAME), 1024,
                                 settings=fm.settings)
        try:
            daemon.start()
            for name in options.parts or PARTS:
                PARTS[name](options, daemon, fm)
        finally:
            daemon.close()
    finally:
        fm.close()
