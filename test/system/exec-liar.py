#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client of scoll-execd that lies. Each lie is answered with the error that
it deserves; none of them has its command run.

Usage: exec-liar.py SOCKET MUNGE-SOCKET READER FILE
           READER: uid that reads credentials; FILE: what the lies would make
       exec-liar.py order COMMAND             writes an order for n1
       exec-liar.py SOCKET found CREDENTIAL ERROR   uses one: EPERM, ...
"""
import errno
import hashlib
import os
import socket
import struct
import subprocess
import sys

daemon, munged, reader, path = (sys.argv[1:] + [""] * 3)[:4]
RUN, STOP, LIST, RESULTS, FAILED, END, NODES = range(1, 8)
SECRET = b"s" * 16


def blob(data):
    return struct.pack("<I", len(data)) + data


def order(nodes=b"n1", command=None, version=1, timeout=5000, secret=SECRET):
    digest = hashlib.blake2b(secret, digest_size=16).digest()
    command = b"touch " + path.encode() if command is None else command
    return bytes([version]) + os.urandom(16) + digest + \
        struct.pack("<I", timeout) + blob(nodes) + blob(command)


def seal(payload, *options):
    return subprocess.run(
        ["munge", f"--socket={munged}", f"--restrict-uid={reader}", *options],
        input=payload, check=True, capture_output=True).stdout.strip()


def talk(*frames):
    """The last frame that is answered, or None when the daemon closes."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(daemon)
        for frame in frames:
            connection.sendall(blob(frame))
        answer = None
        stream = connection.makefile("rb")
        while head := stream.read(4):
            answer = stream.read(struct.unpack("<I", head)[0])
            if answer[0] in (END, NODES):
                return answer
        return None


def run(credential, secret=SECRET):
    return bytes([RUN]) + secret + blob(credential)


def expect(what, answer, *codes):
    code = None
    if answer is not None and answer[0] == END:
        code = struct.unpack("<I", answer[1:5])[0]
    if code not in codes:
        sys.exit(f"{what}: {code}, not {codes}: {answer}")


def main():
    if daemon == "order":
        sys.stdout.buffer.write(order(command=munged.encode()))
        return
    if munged == "found":
        with open(reader, "rb") as file:
            credential = file.read().strip()
        expect("a found one", talk(run(credential)), getattr(errno, path))
        return
    good = seal(order(command=b"true"))
    expect("a good one", talk(run(good)), 0)
    expect("used twice", talk(run(good)), errno.EALREADY)
    expect("no credential", talk(run(b"MUNGE:nonsense:")), errno.EKEYREJECTED)
    damaged = bytearray(seal(order()))
    damaged[len(damaged) // 2] ^= 1
    expect("a damaged one", talk(run(bytes(damaged))), errno.EKEYREJECTED)
    expect("for another reader",
           talk(run(subprocess.run(
               ["munge", f"--socket={munged}", "--restrict-uid=12345"],
               input=order(), check=True, capture_output=True)
               .stdout.strip())), errno.EKEYREJECTED)
    for what, payload in {
            "no order": b"\x01touch " + path.encode(),
            "an empty one": b"",
            "no command": order(command=b""),
            "no nodes": order(nodes=b""),
            "no time": order(timeout=0),
            "more than there is": order() + b"x"}.items():
        expect(what, talk(run(seal(payload))), errno.EBADMSG)
    expect("another version", talk(run(seal(order(version=9)))),
           errno.EPROTONOSUPPORT)
    expect("a bad list", talk(run(seal(order(nodes=b"n[1")))), errno.EINVAL)
    expect("no such node", talk(run(seal(order(nodes=b"n1,m1")))),
           errno.EINVAL)
    expect("twice", talk(run(seal(order(nodes=b"n1,n1")))), errno.EINVAL)
    expect("too long", talk(run(seal(order(timeout=2000 * 1000)))),
           errno.EINVAL)
    expect("another secret", talk(run(seal(order()), b"t" * 16)), errno.EINVAL)
    for what, frame in {
            "an empty secret": bytes([RUN]) + b"s" * 15,
            "no bytes": bytes([RUN]) + SECRET + blob(b""),
            "a zero in it": run(b"MUNGE:\0:"),
            "an unknown kind": b"\xff",
            "an answer": bytes([END]) + b"\0" * 8}.items():
        expect(what, talk(frame), errno.EBADMSG)
    expect("a second one meanwhile",
           talk(run(seal(order(command=b"sleep 600", timeout=1000))),
                run(seal(order()))), errno.EBADMSG)
    with socket.socket(socket.AF_UNIX) as connection:  # a frame without end
        connection.connect(daemon)
        connection.sendall(struct.pack("<I", 1 << 30))
        if connection.recv(1) != b"":
            sys.exit("a frame of a gigabyte is waited for")
    if talk(bytes([LIST]))[0] != NODES:
        sys.exit("the daemon is not as it was")


main()
