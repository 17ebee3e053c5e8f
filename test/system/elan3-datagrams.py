#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Somebody on the network of software adapters, for a story.

elan3-datagrams record FILE PORT   as root: keep what adapters send to each other
                            on this node, until it is ended; says "ready"
elan3-datagrams play FILE ADDRESS PORT  send it all again, and forged: each with
                            bits changed, cut short, made longer, and nonsense
"""
import random
import socket
import struct
import sys


def payload_of(frame, port):
    """Of a whole UDP datagram to or from that port in an Ethernet frame."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 17:
        return None
    if struct.unpack("!H", frame[20:22])[0] & 0x3fff:
        return None  # a fragment
    start = 14 + (frame[14] & 15) * 4
    ports = struct.unpack("!HHH", frame[start:start + 6])
    if port not in ports[:2]:
        return None
    return frame[start + 8:start + ports[2]]


def record(path, port):
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                            socket.htons(3))
    packets.bind(("eth0", 0))
    with open(path, "wb", buffering=0) as file:
        print("ready", flush=True)
        while True:
            payload = payload_of(packets.recv(65536), port)
            if payload:
                file.write(struct.pack("<I", len(payload)) + payload)


def recorded(path):
    with open(path, "rb") as file:
        while head := file.read(4):
            yield file.read(struct.unpack("<I", head)[0])


def play(path, address, port):
    chance = random.Random(1)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    count = 0
    for payload in recorded(path):
        forged = [payload, payload + b"x", payload[:-1], payload[:36], b"",
                  chance.randbytes(len(payload))]
        for at in range(0, len(payload), 5):
            changed = bytearray(payload)
            changed[at] ^= 1 << chance.randrange(8)
            forged.append(bytes(changed))
        for one in forged:
            datagrams.sendto(one, (address, port))
        count += 1
    print(count)


if sys.argv[1] == "record":
    record(sys.argv[2], int(sys.argv[3]))
else:
    play(sys.argv[2], sys.argv[3], int(sys.argv[4]))
