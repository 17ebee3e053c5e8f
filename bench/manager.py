# SPDX-License-Identifier: BSD-3-Clause
"""A real fairleadd of its own: configuration, keys, state, and its numbers."""
import json
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

CONFIG = """cluster = "bench"

manager {{
    listen = "127.0.0.1:0"
    socket = "{folder}/manager.sock"
    state = "{folder}/state"
    key = "{folder}/manager.key"
    nodes = "n[0-{last}]"
    interconnect = "{interconnect}"
    user = "{user}"
{submitter}}}

driver "{interconnect}" {{
{settings}}}

log {{ level = "warning" }}
"""

SUBMITTER = """    submitter "bench" {{ uid = {uid} }}
"""


class Refused(Exception):
    """The manager's answer was an error."""


class Skipped(Exception):
    """This machine cannot do it; the text says why."""


class Programs:
    """What the build has made."""

    def __init__(self, build):
        self.build = os.path.realpath(build)
        self.fairlead = self._find("src/lanes/cli/fairlead")
        self.fairleadd = self._find("src/lanes/daemon/fairleadd")
        self.load = self._find("bench/load")
        self.peer = self._find("bench/store_peer")
        self.fm_peer = self._find("bench/fm_peer")
        self.softfm = self._find("src/emu/fm/fairlead-softfm")
        self.syncs = self._find("bench/syncs.so")
        self.journal = self._find("bench/journal_make")
        self.core_rate = self._find("bench/core_rate")
        self.link = self._find("bench/link")
        # None: not built.
        self.elan3_reserve = self._find_peer("bench/elan3_reserve")
        self.elan3_spread = self._find_peer("bench/elan3_spread")
        self.link_mpi = self._find_peer("bench/link_mpi")
        self.lane = self._find_peer("bench/lane")
        self.peer_mpi = self._find_peer("bench/peer_mpi")
        self.peer_tree = self._find("bench/peer_tree")
        self.peer_zeromq = self._find_peer("bench/peer_zeromq")
        self.scoll_bulk = self._find("bench/scoll_bulk")
        self.scoll_create = self._find("bench/scoll_create")
        self.scoll_failure = self._find("bench/scoll_failure")
        self.scoll_gossip = self._find("bench/scoll_gossip")
        self.scoll_groups = self._find("bench/scoll_groups")
        self.scoll_rate = self._find("bench/scoll_rate")
        self.scoll_rounds = self._find("bench/scoll_rounds")
        self.scoll_sim = self._find("test/scoll-sim/scoll-sim")
        self.scoll_trees = self._find("bench/scoll_trees")
        self.scoll_virtual = self._find("bench/scoll_virtual")

    def _find_peer(self, name):
        path = os.path.join(self.build, name)
        return path if os.path.exists(path) else None

    def _find(self, name):
        path = os.path.join(self.build, name)
        if not os.path.exists(path):
            sys.exit(f"bench: '{path}' is not there: build first")
        return path


def numbers(arguments):
    """Run a program that prints a name and a number a line."""
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"bench: failed: {' '.join(arguments)}")
    pairs = (line.split(None, 1) for line in done.stdout.splitlines())
    return {name: float(value) for name, value in pairs}


class Manager:
    """One manager in a folder of its own; `start` and `kill` as often as
    wanted, `close` removes everything. On Elan, node n7 has ElanID 7."""

    def __init__(self, programs, folder, node_count,
                 interconnect="slingshot", settings=""):
        self.programs = programs
        self.folder = folder
        self.process = None
        self.config = os.path.join(folder, "fairlead.conf")
        self.socket = os.path.join(folder, "manager.sock")
        self.syncs_path = os.path.join(folder, "syncs")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        if interconnect == "elan3":
            genders = os.path.join(folder, "genders")
            settings = f'    genders = "{genders}"\n'
            with open(genders, "w", encoding="ascii") as file:
                file.writelines(f"n{i} elanid={i}\n"
                                for i in range(node_count))
        with open(self.config, "w", encoding="ascii") as file:
            file.write(CONFIG.format(
                folder=folder, interconnect=interconnect, settings=settings, last=node_count - 1,
                user=pwd.getpwuid(os.getuid()).pw_name,
                submitter="" if os.getuid() == 0 else SUBMITTER.format(
                    uid=os.getuid())))
        with open(self.syncs_path, "wb") as file:
            file.write(bytes(8))
        subprocess.run([programs.fairlead, "key", "create", "--key",
                        os.path.join(folder, "manager.key")],
                       stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)

    def spawn(self):
        """Execute it and come back at once."""
        sanitized = "-asan" in self.programs.build
        environment = dict(os.environ, BENCH_SYNCS=self.syncs_path)
        if not sanitized:
            environment["LD_PRELOAD"] = self.programs.syncs
        self.process = subprocess.Popen(
            [self.programs.fairleadd, "--role", "manager", "--config",
             self.config], env=environment)

    def start(self, patience_s=120):
        """Execute it and wait until it answers. Seconds."""
        begun = time.monotonic()
        self.spawn()
        while True:
            try:
                self.call("status")
                return time.monotonic() - begun
            except (ConnectionRefusedError, FileNotFoundError):
                if self.process.poll() is not None:
                    sys.exit("bench: the manager has not started")
                if time.monotonic() - begun > patience_s:
                    sys.exit("bench: the manager does not come up")
                time.sleep(0.0005)

    def call(self, op, **members):
        """One request, one answer; raises Refused."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.socket)
            text = json.dumps({"v": 1, "id": 1, "op": op} | members).encode()
            connection.sendall(struct.pack("<I", len(text)) + text)
            size, = struct.unpack("<I", self._receive(connection, 4))
            answer = json.loads(self._receive(connection, size))
        if answer["result"] < 0:
            raise Refused(answer["error"])
        return answer

    @staticmethod
    def _receive(connection, size):
        parts = b""
        while len(parts) < size:
            part = connection.recv(size - len(parts))
            if not part:
                raise ConnectionRefusedError
            parts += part
        return parts

    def metrics(self):
        """Samples by name; of the histogram of commits, by upper bound."""
        text = self.call("metrics")["text"]
        samples = dict(re.findall(r"^fairlead_(\w+) (\S+)$", text, re.M))
        found = {name: float(value) for name, value in samples.items()}
        found["batches"] = [
            (float(bound), float(count)) for bound, count in re.findall(
                r'^fairlead_commit_rows_bucket{le="(\d+)"} (\d+)$', text,
                re.M)]
        return found

    def syncs(self):
        with open(self.syncs_path, "rb") as file:
            return struct.unpack("=Q", file.read(8))[0]

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self):
        """Resident now, and the most that it has been."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            text = file.read()
        return tuple(int(re.search(rf"{name}:\s+(\d+) kB", text).group(1)) / 1024
                     for name in ("VmRSS", "VmHWM"))

    def _end(self, number):
        if self.process is None:
            return
        self.process.send_signal(number)
        self.process.wait()
        self.process = None

    def kill(self):
        self._end(signal.SIGKILL)

    def stop(self):
        self._end(signal.SIGTERM)

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
