# SPDX-License-Identifier: BSD-3-Clause
"""Root's answers, and reserve, while one unprivileged user floods the manager.

The user keeps 64 requests in the pipe of each of 250 connections. Beside each
run stands one without the user. The user's process is never in the real-time
class: it may have what the others leave.
"""
import json
import os
import select
import signal
import socket
import struct
import time

import manager
import report

NAME = "flood"
USER = 65534
IN_PIPE = 64
OPS = ["status", "pools", "metrics", "node-list", "list", "quarantine"]
AIM_MS = 100
AIM_RATIO = 0.8


def flood(path, op, connections):
    """Ask for as long as we live."""
    text = json.dumps({"v": 1, "id": 1, "op": op}).encode()
    request = struct.pack("<I", len(text)) + text
    poll = select.epoll()
    peers = {}
    for _ in range(connections):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(path)
        peer.sendall(request * IN_PIPE)
        peer.setblocking(False)
        poll.register(peer, select.EPOLLIN)
        peers[peer.fileno()] = [peer, 0, b""]  # bytes of an answer to come
    os.write(1, b"ready\n")
    while True:
        for number, _ in poll.poll():
            state = peers[number]
            peer, rest, head = state
            bytes_ = head + peer.recv(262144)
            at, answers = rest, 0
            while len(bytes_) - at >= 4:
                size, = struct.unpack_from("<I", bytes_, at)
                at += 4 + size
                answers += 1
            if at > len(bytes_):
                state[1:] = [at - len(bytes_), b""]
            else:
                state[1:] = [0, bytes_[at:]]
            peer.send(request * answers)


class Flood:
    """Another process, of another user."""

    def __init__(self, path, op, connections):
        ready, ready_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(ready_end, 1)
                os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
                os.setgroups([])
                os.setgid(USER)
                os.setuid(USER)
                flood(path, op, connections)
            finally:
                os._exit(1)
        os.close(ready_end)
        with os.fdopen(ready, "rb") as file:
            self.is_there = file.readline() == b"ready\n"

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def root_times(daemon, seconds):
    """Of `status`, each on a connection of its own; ms."""
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        daemon.call("status")
        times.append((time.monotonic() - begun) * 1000)
        time.sleep(0.005)
    return sorted(times)


def reserve_rate(daemon, clients, seconds, name):
    return manager.numbers([
        daemon.programs.load, "--socket", daemon.socket, "--clients",
        str(clients), "--seconds", str(seconds), "--name", name,
    ])["rounds_per_s"]


def measure(daemon, op, connections, seconds, name):
    """Root's times, the rates of 1 and 16 clients."""
    crowd = Flood(daemon.socket, op, connections) if op else None
    try:
        times = root_times(daemon, seconds)
        return times, [reserve_rate(daemon, clients, seconds, f"{name}c{clients}")
                       for clients in (1, 16)]
    finally:
        if crowd:
            crowd.end()


def run(options):
    if os.getuid() != 0:
        raise manager.Skipped("only root can be two users")
    ops = OPS[:1] if options.is_smoke else OPS
    connections, runs, seconds = (20, 1, 1) if options.is_smoke else (250, 3, 1)
    rows = []
    daemon = manager.Manager(options.programs,
                             os.path.join(options.work, NAME), 1024)
    try:
        daemon.start()
        manager.numbers([daemon.programs.load, "--socket", daemon.socket,
                         "--clients", "16", "--count", "500", "--hold",
                         "--name", "held"])
        for op in ops:
            pairs = []
            for i in range(runs):
                report.progress(f"{op}, {i + 1} of {runs}")
                pairs.append((
                    measure(daemon, None, 0, seconds, f"{op}{i}q"),
                    measure(daemon, op, connections, seconds, f"{op}{i}f")))
            rows.append(row(op, pairs))
    finally:
        daemon.close()
    report.table(
        f"one user with {connections} connections, each {IN_PIPE} requests",
        ["op", "root quiet p50 ms", "p50 ms", "longest ms",
         "reserve/s, 1 client", "ratio", "16 clients", "ratio"], rows)
    print(f"  aims: root below {AIM_MS} ms, ratio >= {AIM_RATIO}")


def row(op, pairs):
    def middle(values):
        return report.best_and_median(list(values))[1]

    cells = [op, middle(quiet[0][len(quiet[0]) // 2] for quiet, _ in pairs),
             middle(loud[0][len(loud[0]) // 2] for _, loud in pairs),
             max(loud[0][-1] for _, loud in pairs)]
    for i in range(2):
        cells += [middle(loud[1][i] for _, loud in pairs),
                  middle(loud[1][i] / quiet[1][i] for quiet, loud in pairs)]
    return cells
