#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Strangers who connect and say nothing, or too little, for as long as we run.

Usage: crowd.py ADDRESS PORT COUNT [HEX]

Says "here" when all are connected and have sent these bytes. Whoever is closed
by the other end stays closed.
"""
import resource
import signal
import socket
import sys


def main():
    address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    said = bytes.fromhex(sys.argv[4]) if len(sys.argv) > 4 else b""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    crowd = []
    for _ in range(count):
        stranger = socket.create_connection((address, port))
        try:
            stranger.sendall(said)
        except OSError:
            pass
        crowd.append(stranger)
    print("here", flush=True)
    signal.pause()


main()
