# SPDX-License-Identifier: BSD-3-Clause
"""Nodes as network namespaces, with links between them that are shaped. Root's
to make; where they cannot be made the benchmark is skipped, and says why."""
import os
import shutil
import subprocess

import manager


class Namespaces:
    """A context: enters with what make() of the subclass has made, and removes
    all namespaces of `names` when it ends, or when make() is refused."""

    names = []

    def run(self, *words):
        """Run a command of the set-up; on failure, print its own message."""
        done = subprocess.run(words, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise manager.Skipped(f"{' '.join(words)}: {done.stderr.strip()}")

    def shape(self, name, device, mbit, burst, limit):
        """What a device of a namespace sends goes through a token bucket."""
        self.run("tc", "-n", name, "qdisc", "add", "dev", device, "root",
                 "tbf", "rate", f"{mbit}mbit", "burst", burst, "limit", limit)

    def make(self):
        """Makes the namespaces and their links by run()."""
        raise NotImplementedError

    def __enter__(self):
        if os.getuid() != 0:
            raise manager.Skipped("namespaces are root's to make")
        for tool in ("ip", "tc"):
            if shutil.which(tool) is None:
                raise manager.Skipped(f"{tool} is not installed")
        try:
            self.make()
        except manager.Skipped:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False,
                           stderr=subprocess.DEVNULL)
