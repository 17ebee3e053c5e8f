#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Golden bytes of the collectives' messages, made a second time.

Usage: golden.py [--check FILE]

Writes samples as doc/rfc/collectives.md says, without any of the C code: a
second implementation that the first one has to agree with, byte for byte.
--check compares with golden.h and exits 1 when they differ; without it
golden.h goes to standard output.
"""
import hashlib
import struct
import sys

PARENT, CHILD, ROOT, CREATOR = (0x000200000a000001 + i for i in range(4))
TAG = 0x0123456789abc000
KEY = b"the key that all members have..\0"
NONCE = 0x1112131415161718
START = 0x3132333435363738
ADDRESS = b"\x02\0\x1f\x90\x0a\0\0\x01"
MAGIC, VERSION = 0x6c73, 1


def digest(data):
    return hashlib.blake2b(data, digest_size=16).digest()


def seal(data, sender, to, size):
    if size == 0:
        return b""
    return hashlib.blake2b(struct.pack("<QQ", sender, to) + data, key=KEY,
                           digest_size=size).digest()


def bcast(flags=0, root=PARENT, order=0, options=b"", pieces=(), bulk=0,
          there=0, params=b"", choice=b"", seal_size=0):
    body = params + choice + b"what to do"
    tail = options + b"".join(struct.pack("<QQQ", *p) for p in pieces)
    if pieces:
        tail += struct.pack("<Q", there)
    head = struct.pack("<HBBHHII", MAGIC, VERSION, 1, flags,
                       128 + len(tail) + seal_size, 7, 3 << 24 | 4)
    head += struct.pack("<QQQQ", root, NONCE, 42, 5) + b"0123456789abcdef"
    head += struct.pack("<QQQII", PARENT, TAG, 1500000000, 100000, 65536)
    head += struct.pack("<HBBQHH", 3, len(pieces), order, bulk, len(params),
                        len(choice))
    head += (digest(body) if seal_size else bytes(16)) + tail
    return head + seal(head, PARENT, CHILD, seal_size) + body


def signature(head, root):
    """Of what is the same at every node: base, creator and two digests."""
    flags, = struct.unpack_from("<H", head, 4)
    base = head[:4] + struct.pack("<HH", flags & ~(512 | 1024 | 2048), 0)
    base += head[8:64] + bytes(8 + 8 + 8 + 4 + 4 + 2 + 1) + head[99:128]
    statement = base + head[137:185]
    return hashlib.blake2b(statement, key=struct.pack("<Q", root),
                           digest_size=64).digest()


def signed():
    """As "addresses", with the signature before the start."""
    def made(sign):
        return bcast(
            flags=2 | 8 | 32 | 256 | 512 | 1024 | 2048, root=ROOT,
            options=b"\x08" + ADDRESS
            + struct.pack("<QQ", CREATOR, 0x2122232425262728)
            + b"fedcba9876543210" + b"where they are.." + sign
            + struct.pack("<Q", START),
            params=b"\x04name and the rest", choice=b"\x01\x02\x03",
            seal_size=32)
    return made(signature(made(bytes(64)), ROOT))


def ready():
    head = struct.pack("<HBBHH", MAGIC, VERSION, 2, 0, 128) + bytes(8)
    head += struct.pack("<QQQ", ROOT, NONCE, 42) + bytes(24)
    head += struct.pack("<QQ", PARENT, START) + bytes(12)
    head += struct.pack("<IIQ", 5, 0, 2000) + bytes(20)
    return head


def failure(rank, status, kind, flags):
    return struct.pack("<IhBB", rank, status, kind, flags)


FAILURES = [failure(3, -112, 2, 1), failure(900000, -110, 4, 2)]


def reply(seal_size):
    payload = b"what came of it"
    head = struct.pack("<HBBHHQQ", MAGIC, VERSION, 4, 3, 2, TAG, CHILD)
    head += struct.pack("<iBBHI", 0, 0, 0, 4, len(payload)) + digest(payload)
    head += struct.pack("<I", 5) + b"".join(FAILURES)
    head += bytes(256 - seal_size - len(head))
    return head + seal(head, CHILD, PARENT, seal_size) + payload


def refusal(seal_size):
    head = struct.pack("<HBBHHQQ", MAGIC, VERSION, 4, 5, 0, TAG, CHILD)
    head += struct.pack("<iBBHI", -116, 3, 0, 0, 0) + digest(b"")
    head += struct.pack("<IQ", 0, START)
    head += bytes(256 - seal_size - len(head))
    return head + seal(head, CHILD, PARENT, seal_size)


def report(seal_size):
    head = struct.pack("<HBBHHQQ", MAGIC, VERSION, 5, 1, 2, TAG, CHILD)
    head += struct.pack("<HHI", 1, 0, 0) + b"".join(FAILURES)
    return head + seal(head, CHILD, PARENT, seal_size)


SAMPLES = {
    "plain": bcast(),
    "full": bcast(
        flags=1 | 2 | 8 | 32 | 64, root=ROOT, order=1,
        options=struct.pack("<QQ", CREATOR, 0x2122232425262728)
        + b"fedcba9876543210",
        pieces=((0x7f0000001000, 0x99, 2000), (0x7f0000009000, 0x9a, 1000)),
        bulk=3000, there=1000, params=b"\x04name and the rest",
        choice=b"\x01\x02\x03", seal_size=32),
    "addresses": bcast(
        flags=2 | 8 | 32 | 256 | 512 | 1024, root=ROOT,
        options=b"\x08" + ADDRESS
        + struct.pack("<QQ", CREATOR, 0x2122232425262728)
        + b"fedcba9876543210" + b"where they are.."
        + struct.pack("<Q", START),
        params=b"\x04name and the rest", choice=b"\x01\x02\x03",
        seal_size=32),
    "signed": signed(),
    "ready": ready(),
    "reply": reply(64),
    "refusal": refusal(64),
    "report": report(64),
}


def text():
    lines = ["/* SPDX-License-Identifier: BSD-3-Clause */",
             "/* Made by golden.py: the samples' bytes, in hex. */",
             "#pragma once", "", "/* clang-format off */"]
    for name, data in SAMPLES.items():
        lines += ["", f"#define golden_{name} \\"]
        rows = [data[i:i + 32].hex() for i in range(0, len(data), 32)]
        lines += [f'\t"{row}" \\' for row in rows[:-1]]
        lines += [f'\t"{rows[-1]}"']
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        sys.exit(0 if open(sys.argv[2]).read() == text() else
                 "golden.h is not what golden.py makes")
    sys.stdout.write(text())


main()
