# SPDX-License-Identifier: BSD-3-Clause
"""What Fairlead adds to the start of a Slurm job: a real Slurm over emulated
nodes, with our hooks and plugin, and with hooks that are /bin/true and an empty
plugin, in turns; then without any, by a Slurm that was restarted.
"""
import os
import pathlib
import pwd
import shutil
import statistics
import subprocess
import time

import link_pair
import manager
import report

NAME = "slurm"
NODES = [1, 8, 64]
RUNS = 100  # jobs of a size and of a kind, one a turn
RATE_RUNS, RATE_JOBS = 21, 100
AIM_MS, AIM_NODES = 25, 8
AIM_RATE = 0.9
PATIENCE_S = 120

HOOKS = ["PrologSlurmctld", "Prolog", "Epilog", "EpilogSlurmctld"]
OURS = ["prolog-slurmctld", "prolog", "epilog", "epilog-slurmctld"]
KINDS = {"fairlead": "Fairlead", "true": "/bin/true", "none": "no hooks"}
PLUGINS = {"fairlead": "src/lanes/plugin/slurm/spank_fairlead.so",
           "true": "bench/slurm_empty_spank.so", "none": None}


def is_gone(pid):
    """Or only waits for its parent."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


class Slurm:
    """munged, slurmctld in the manager's place, a slurmd in each node."""

    def __init__(self, options, count, kind):
        self.count = count
        self.build = pathlib.Path(options.programs.build)
        self.work = pathlib.Path(options.work) / f"s{count}{kind}"
        self.work.mkdir(mode=0o755)
        self.conf = self.work / "slurm.conf"
        self.cluster = self.work / "c"
        self.environment = dict(os.environ, SLURM_CONF=str(self.conf),
                                FAIRLEAD_CLUSTER=str(self.cluster))
        self.kind = kind

    def fairlead(self, *words, **more):
        return subprocess.run(
            [self.build / "src/lanes/cli/fairlead", *words], check=True, text=True,
            env=self.environment, stdout=subprocess.PIPE, **more).stdout

    def on(self, place, *words):
        return self.fairlead("cluster", "exec", place, "--", *map(str, words),
                             stderr=subprocess.DEVNULL)

    def client(self, *words):
        return self.on("manager", *words)

    def munge_up(self):
        user = pwd.getpwnam("munge")
        for name, mode in (("munge", 0o700), ("socket", 0o755)):
            folder = self.work / name
            folder.mkdir(mode=mode)
            os.chown(folder, user.pw_uid, user.pw_gid)
        key = self.work / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        os.chown(key, user.pw_uid, user.pw_gid)
        subprocess.run(
            ["runuser", "-u", "munge", "--", "munged", f"--key-file={key}",
             f"--socket={self.work}/socket/s",
             f"--pid-file={self.work}/munge/pid",
             f"--log-file={self.work}/munge/log",
             f"--seed-file={self.work}/munge/seed"], check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def write_conf(self, has_hooks):
        hooks = [f"{hook}={self.work}/hooks/{ours}"
                 for hook, ours in zip(HOOKS, OURS)] if has_hooks else []
        nodes = [f"NodeName=n{i} NodeAddr=10.203.{(i + 1) // 256}.{(i + 1) % 256}"
                 f" CPUs=2 RealMemory=64" for i in range(self.count)]
        self.conf.write_text("\n".join([
            "ClusterName=bench", "SlurmctldHost=fabric(10.203.255.254)",
            "SlurmUser=root", "AuthType=auth/munge",
            f"AuthInfo=socket={self.work}/socket/s", "CredType=cred/munge",
            f"StateSaveLocation={self.work}/state",
            f"SlurmdSpoolDir={self.work}/spool.%n",
            f"SlurmctldPidFile={self.work}/slurmctld.pid",
            f"SlurmdPidFile={self.work}/slurmd.%n.pid",
            f"SlurmctldLogFile={self.work}/log/slurmctld.log",
            f"SlurmdLogFile={self.work}/log/slurmd.%n.log",
            "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/none",
            "AccountingStorageType=accounting_storage/none",
            "SelectType=select/linear", "MpiDefault=none", "ReturnToService=2",
            "SchedulerType=sched/builtin",
            "SchedulerParameters=batch_sched_delay=0,sched_interval=1,"
            "sched_min_interval=0",
            f"PlugStackConfig={self.work}/hooks/plugstack.conf",
            "SlurmdParameters=config_overrides", "PropagateResourceLimits=NONE",
            "SlurmdTimeout=300", "PrologFlags=Alloc,DeferBatch", *hooks, *nodes,
            f"PartitionName=all Nodes=n[0-{self.count - 1}] Default=YES State=UP",
            ""]))

    def write_hooks(self):
        """Those of each kind; ours as they are installed, for this cluster."""
        for kind, plugin in PLUGINS.items():
            folder = self.work / f"hooks.{kind}"
            folder.mkdir()
            (folder / "plugstack.conf").write_text(
                f"optional {self.build / plugin}\n" if plugin else "")
            for hook in OURS:
                if kind == "fairlead":
                    path = folder / hook
                    path.symlink_to(self.build / "src/lanes/cli/fairlead-slurm")
                else:
                    (folder / hook).symlink_to("/bin/true")

    def __enter__(self):
        report.progress(f"{self.count} nodes with Slurm")
        self.fairlead("cluster", "up", "--quiet", "-N", str(self.count),
                      "--nics", "1", stderr=subprocess.DEVNULL)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        with open(self.cluster / "fairlead.conf", "a") as conf:
            conf.write(f'slurm {{\n    conf = "{self.conf}"\n}}\n')
        for name in ("log", "state"):
            (self.work / name).mkdir()
        self.munge_up()
        self.write_hooks()
        self.become(self.kind)
        self.write_conf(self.kind != "none")
        self.daemon("manager", "slurmctld", "-f", self.conf, "-c")
        for i in range(self.count):
            self.daemon(f"n{i}", "slurmd", "-f", self.conf, "-N", f"n{i}")
        self.settle()

    def daemon(self, place, *words):
        """One whose hooks find the cluster's configuration where it is
        elsewhere: Slurm gives them neither arguments nor variables."""
        folder = self.work / "etc/fairlead"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.cluster / "fairlead.conf", folder)
        self.on(place, "unshare", "--mount", "sh", "-c",
                "mount -t overlay -o lowerdir=$0:/etc overlay /etc && exec "
                '"$@"', folder.parent, *words)

    def pid_files(self):
        return [*self.work.glob("*.pid"), self.work / "munge/pid"]

    def __exit__(self, *_):
        for file in self.pid_files():
            try:
                pid = int(file.read_text())
                os.kill(pid, 15)
                while not is_gone(pid):
                    time.sleep(0.02)
            except (OSError, ValueError):
                continue
        self.fairlead("cluster", "down")

    def settle(self):
        """Until all nodes are idle: the job before is over."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            # Of nodes that are completing the state is idle, too, to its filter.
            states = self.client("sinfo", "-h", "-N", "-o", "%t").split()
            if states == ["idle"] * self.count:
                return
            time.sleep(0.02)
        raise RuntimeError("the nodes of Slurm do not become idle")

    def become(self, kind):
        """By a link: to have Slurm read its configuration again disturbs it."""
        link = self.work / "hooks.new"
        link.symlink_to(f"hooks.{kind}")
        link.rename(self.work / "hooks")

    def job(self):
        """ms from the user's command to the last task's first instruction."""
        begun = time.time_ns()
        out = self.client("srun", f"-N{self.count}", "date", "+%s%N")
        started = [int(line) for line in out.split()]
        if len(started) != self.count:
            raise RuntimeError(f"{len(started)} of {self.count} tasks ran")
        return (max(started) - begun) / 1e6

    def rate(self, jobs):
        """Jobs of an array, of a node each, a second: until all are over."""
        script, ran = self.work / "script", self.work / "ran"
        script.write_text(f"#!/bin/sh\necho >>{ran}\n")
        ran.write_bytes(b"")
        begun = time.monotonic()
        self.client("sbatch", "-N1", "-a", f"1-{jobs}", "-o", "/dev/null", script)
        # To ask Slurm takes as much of the processors as a job does.
        while (ran.stat().st_size < jobs or
               self.client("squeue", "-h").strip()):
            time.sleep(0.05)
            if time.monotonic() - begun > 10 * PATIENCE_S:
                raise RuntimeError("the jobs do not end")
        return jobs / (time.monotonic() - begun)


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def measure(options, count, kinds, runs, starts, rates):
    """Add ms of each turn, and jobs a second where it is the size for it."""
    with Slurm(options, count, kinds[0]) as slurm:
        for turn in range(runs):
            for kind in kinds:
                slurm.become(kind)
                starts[kind].append(slurm.job())
                slurm.settle()
            report.progress(f"{count} nodes, {', '.join(kinds)}: turn "
                            f"{turn + 1} of {runs}")
        if count != AIM_NODES and not options.is_smoke:
            return
        for _ in range(1 if options.is_smoke else RATE_RUNS):
            for kind in kinds:
                slurm.become(kind)
                rates[kind].append(
                    slurm.rate(3 if options.is_smoke else RATE_JOBS))
                slurm.settle()


def judge_starts(starts):
    rows = []
    for count, by_kind in starts.items():
        for kind, name in KINDS.items():
            values = by_kind[kind]
            row = [f"{count} nodes, {name}", min(values),
                   statistics.median(values), percentile(values, 0.99)]
            if kind == "fairlead":
                pairs = [a - b for a, b in zip(values, by_kind["true"])]
                least, most = link_pair.interval(pairs)
                aim = AIM_MS if count == AIM_NODES else None
                row += [f"{statistics.median(pairs):+.1f}", f"{least:+.1f}",
                        f"{most:+.1f}", "" if aim is None else f"<= {aim}",
                        link_pair.verdict(least, most, aim, False)]
            rows.append(row + [""] * (9 - len(row)))
    report.table(
        "from srun to the last task, ms; and beside /bin/true, turn by turn",
        ["job, hooks", "best", "median", "p99", "more", "from", "to", "aim",
         "verdict"], rows)


def judge_rates(rates):
    rows = []
    for kind, name in KINDS.items():
        values = rates[kind]
        if kind != "fairlead":
            rows.append([name, max(values), statistics.median(values)] + [""] * 5)
            continue
        pairs = [a / b for a, b in zip(values, rates["true"])]
        least, most = link_pair.interval(pairs)
        rows.append([name, max(values), statistics.median(values),
                     f"{statistics.median(pairs):.3f}", f"{least:.3f}",
                     f"{most:.3f}", f">= {AIM_RATE}",
                     link_pair.verdict(least, most, AIM_RATE, True)])
    report.table("jobs of one node in an array, a second", [
        "hooks", "best", "median", "beside /bin/true", "from", "to", "aim",
        "verdict"], rows)


def check(options):
    if os.geteuid() != 0:
        raise manager.Skipped("a Slurm of its own needs root")
    for program in ("slurmctld", "slurmd", "srun", "munged"):
        if shutil.which(program) is None:
            raise manager.Skipped(f"{program} is not installed (packages.txt)")
    build = pathlib.Path(options.programs.build)
    if not (build / "src/lanes/plugin/slurm/spank_fairlead.so").exists():
        raise manager.Skipped("the SPANK plugin was not built")


def run(options):
    check(options)
    sizes = [2] if options.is_smoke else NODES
    runs = 2 if options.is_smoke else RUNS
    starts, rates = {}, {kind: [] for kind in KINDS}
    for count in sizes:
        starts[count] = {kind: [] for kind in KINDS}
        for kinds in (["fairlead", "true"], ["none"]):
            measure(options, count, kinds, runs, starts[count], rates)
    judge_starts(starts)
    judge_rates(rates)
    report.plot(options.folder, "slurm", "From srun to the last task",
                "nodes of the job", "ms, median", list(KINDS.values()),
                [[str(count)] + [statistics.median(by_kind[kind])
                                 for kind in KINDS]
                 for count, by_kind in starts.items()])
