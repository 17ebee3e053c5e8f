#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients that connect and send nothing, or too little, for as long as we run.

Usage: crowd.py ADDRESS PORT COUNT [HEX]
       crowd.py PATH

Says "here" when all are connected and have sent these bytes. Whoever is closed
by the other end stays closed. At the socket PATH there are as many as may wait
there, when nobody lets them in.
"""
import resource
import signal
import socket
import sys


def wait_at(path):
    crowd = []
    while True:
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        try:
            client.connect(path)
        except BlockingIOError:
            return crowd
        crowd.append(client)


def connect_all():
    address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    said = bytes.fromhex(sys.argv[4]) if len(sys.argv) > 4 else b""
    crowd = []
    for _ in range(count):
        client = socket.create_connection((address, port))
        try:
            client.sendall(said)
        except OSError:
            pass
        crowd.append(client)
    return crowd


def main():
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    crowd = wait_at(sys.argv[1]) if len(sys.argv) == 2 else connect_all()
    print("here", len(crowd), flush=True)
    signal.pause()


main()
