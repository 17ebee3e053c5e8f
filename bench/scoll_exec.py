# SPDX-License-Identifier: BSD-3-Clause
"""A command on many nodes: scoll-exec beside clush, in turns. All nodes are
this machine: scoll-exec asks a daemon for each, clush (worker `exec`, which
needs no ssh) starts the command for each itself."""
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import time

import manager
import report
import scoll

NAME = "scoll_exec"
PATIENCE_S = 120


def exe(options, name):
    return os.path.join(options.programs.build, "examples/scoll-exec", name)


class Nodes:
    """munged, and a daemon for each node."""

    def __init__(self, options, count, provider):
        self.options, self.count = options, count
        self.folder = pathlib.Path(options.work, "exec")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o755)
        self.daemons, self.munged = [], None
        self.environment = os.environ | scoll.ENVIRONMENT | {
            "SCOLL_EXEC_SOCKET": str(self.folder / "n1.sock"),
            "SCOLL_EXEC_MUNGE_SOCKET": str(self.folder / "munge")}
        for name, size in ("key", 32), ("munge.key", 128):
            path = self.folder / name
            path.write_bytes(os.urandom(size))
            path.chmod(0o600)
        try:
            self._start_munged()
            for i in range(1, count + 1):
                self._start(i, provider)
            self._wait()
        except BaseException:
            self.close()
            raise

    def _start_munged(self):
        path = shutil.which("munged", path="/usr/sbin:" + os.environ["PATH"])
        if path is None:
            raise manager.Skipped("munged is not installed")
        # Its folder may be in one that others write to, such as /var/tmp.
        subprocess.run(
            [path, "--force", f"--key-file={self.folder}/munge.key",
             f"--socket={self.folder}/munge", f"--pid-file={self.folder}/pid",
             f"--log-file={self.folder}/log", f"--seed-file={self.folder}/seed"],
            check=True, stderr=subprocess.DEVNULL)
        self.munged = int((self.folder / "pid").read_text())

    def _start(self, i, provider):
        net = f"127.{200 + os.getpid() // 250 % 50}.{os.getpid() % 250}"
        config = self.folder / f"n{i}.conf"
        config.write_text(f"""key = "{self.folder}/key"
socket = "{self.folder}/n{i}.sock"
munge_socket = "{self.folder}/munge"
munged_is_shared = true
root = true
provider = "{provider}"
nodes "n[1-{self.count}]" {{ addresses = "{net}.[1-{self.count}]" }}
""")
        self.daemons.append(subprocess.Popen(
            [exe(self.options, "scoll-execd"), "--config", config, "--node",
             f"n{i}"], env=self.environment))

    def _wait(self):
        """Until all know that all live."""
        end = time.monotonic() + PATIENCE_S
        wanted = {"alive", f"n[1-{self.count}]", "dead"}
        for i in range(1, self.count + 1):
            while set(subprocess.run(
                    [exe(self.options, "scoll-exec"), "--list", "--socket",
                     f"{self.folder}/n{i}.sock"], capture_output=True,
                    text=True, check=False).stdout.split()) != wanted:
                if time.monotonic() > end:
                    raise manager.Skipped("the daemons do not meet")
                time.sleep(0.1)

    def ask(self, *arguments):
        return [exe(self.options, "scoll-exec"), *arguments]

    def close(self):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait()
        if self.munged is not None:
            os.kill(self.munged, signal.SIGTERM)
            while os.path.exists(f"/proc/{self.munged}"):
                time.sleep(0.01)


def timed(arguments, environment, nodes):
    """Milliseconds; what is printed has to name all nodes or nothing."""
    start = time.monotonic()
    done = subprocess.run(arguments, env=environment, capture_output=True,
                          text=True, check=True)
    took = (time.monotonic() - start) * 1000
    if done.stdout.strip() and nodes not in done.stdout:
        raise RuntimeError(f"{arguments}: {done.stdout}")
    return took


def cases(nodes, count):
    names = f"n[1-{count}]"
    clush = ["clush", "-R", "exec", "-w", names]
    return {
        "true": (nodes.ask(names, "true"), [*clush, "true"]),
        "echo, equal outputs merged": (
            nodes.ask(names, "echo hello"), [*clush, "-b", "echo", "hello"]),
    }


def measure(options, provider, count, times):
    nodes = Nodes(options, count, provider)
    rows = []
    try:
        for what, pair in cases(nodes, count).items():
            runs = [[timed(arguments, nodes.environment, f"n[1-{count}]")
                     for arguments in pair] for _ in range(times + 1)]
            ours, clush = zip(*runs[1:])  # the first one makes connections
            rows.append([f"{what}, {provider}", *report.best_and_median(
                ours, False), *report.best_and_median(clush, False),
                statistics.median(a / b for a, b in zip(ours, clush)),
                runs[0][0]])
    finally:
        nodes.close()
    return rows


def run(options):
    if shutil.which("clush") is None:
        raise manager.Skipped("clush is not installed")
    count, times = (4, 2) if options.is_smoke else (64, 15)
    providers = scoll.PROVIDERS[:1] if options.is_smoke else scoll.PROVIDERS
    rows = [row for provider in providers
            for row in measure(options, provider, count, times)]
    report.table(f"a command on {count} nodes, all on this machine", [
        "command", "scoll-exec best ms", "median", "clush best ms", "median",
        "over clush", "scoll-exec, first ms"], rows)
    report.plot(options.folder, NAME, f"a command on {count} nodes", "",
                "ms, median", ["scoll-exec", "clush"],
                [[row[0], row[2], row[4]] for row in rows])
