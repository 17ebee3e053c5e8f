#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Golden bytes of the node protocol, made a second time.

Usage: golden.py [--check FILE]

Writes the samples of samples.c as doc/rfc/node-protocol.md and keys.md say,
without any of the C code: a second implementation that the first one has to
agree with, byte for byte. --check compares with golden.h and exits 1 when they
differ; without it golden.h goes to standard output.
"""
import hashlib
import struct
import sys

COUNTING = bytes(range(32))
SEED = bytes(range(0xa0, 0xc0))
KEY_ID = 7
NODE = b"n3"


# --- Ed25519 (RFC 8032), plain and slow ---

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE_Y = 4 * pow(5, P - 2, P) % P


def x_of(y):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return x if x % 2 == 0 else P - x


def add(a, b):
    product = D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + b[0] * a[1]) * pow(1 + product, P - 2, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, P - 2, P)
    return x % P, y % P


def multiply(point, factor):
    result = (0, 1)
    while factor:
        if factor & 1:
            result = add(result, point)
        point = add(point, point)
        factor >>= 1
    return result


def packed(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


BASE = (x_of(BASE_Y), BASE_Y)


def sign(seed, message):
    """(public key, signature)"""
    def number(*parts):
        digest = hashlib.sha512(b"".join(parts)).digest()
        return int.from_bytes(digest, "little")

    digest = hashlib.sha512(seed).digest()
    secret = int.from_bytes(digest[:32], "little")
    secret = secret & ((1 << 254) - 8) | 1 << 254
    public = packed(multiply(BASE, secret))
    nonce = number(digest[32:], message) % L
    point = packed(multiply(BASE, nonce))
    proof = (nonce + number(point, public, message) * secret) % L
    return public, point + proof.to_bytes(32, "little")


# --- keys.md ---

def subkey(seed, number):
    """libsodium's crypto_kdf with the context `fairlead`"""
    return hashlib.blake2b(b"", digest_size=32, key=seed,
                           salt=struct.pack("<Q", number).ljust(16, b"\0"),
                           person=b"fairlead".ljust(16, b"\0")).digest()


def blake(message, key=b""):
    return hashlib.blake2b(message, digest_size=32, key=key).digest()


COMMAND_SEED = subkey(SEED, 1)
MASTER = subkey(SEED, 2)
NODE_KEY = blake(NODE, MASTER)


# --- node-protocol.md ---

def u8(n):
    return struct.pack("<B", n)


def u16(n):
    return struct.pack("<H", n)


def u32(n):
    return struct.pack("<I", n & 0xffffffff)


def u64(n):
    return struct.pack("<Q", n)


def blob(data):
    data = data.encode() if isinstance(data, str) else data
    return u32(len(data)) + data


def ids(*numbers):
    return u8(len(numbers)) + b"".join(u32(n) for n in numbers)


def later(version):
    """What version 2 has behind the fields of version 1"""
    return blob("one version apart") if version >= 2 else b""


def tagged(domain, message):
    message += u32(KEY_ID)
    return message + blake(domain + message, NODE_KEY)


def register(version, is_empty):
    grants, objects, drivers, proof = [], [], [], b""
    if not is_empty:
        proof = COUNTING.ljust(148, b"\0")
        grants = [u64(42) + u8(2) + blob("slingshot") + ids(1024),
                  u64(43) + u8(3) + blob("none") + ids()]
        objects = [blob("slingshot") + blob("cxi0") + u32(5) +
                   u32(1 | 8) + u32(-1) + ids(2000, 2001, 2002, 2003)]
        drivers = [blob("none") + u8(1) + blob(""),
                   blob("slingshot") + u8(0) + blob("no library")]
    message = u16(version) + blob(NODE) + bytes(range(0x40, 0x50))
    message += COUNTING + bytes(range(0x60, 0x80)) + blob("0.1.0")
    message += blob(proof)
    for part in grants, objects, drivers:
        message += u32(len(part)) + b"".join(part)
    return tagged(b"fairlead register", message + later(version))


def confirm(version, is_own):
    message = u16(version) + blob(NODE) + bytes(range(0x40, 0x50))
    if is_own:
        message += u8(0) + u64(42) + u64(77) + u64(0) + u64(0)
        message += u32(-16) + blob("service 5 on cxi0 is busy") + blob("")
    else:
        message += u8(4) + u64(0) + u64(9) + u64(3) + u64(0x1122334455667788)
        message += u32(0) + blob("") + blob('[{"grant_id":42}]')
    return tagged(b"fairlead confirm", message + later(version))


OWNER = u32(1000) + u32(100)
BODIES = {
    "hello": COUNTING + blob(NODE) + COUNTING,
    "apply": blob("slurm/4711/0") + blob("slingshot") + OWNER +
             blob("n[0-3]") + blob("8") + blob("4(x3),2") +
             ids(1024, 65535) + blob("vnis=2,tcs=LOW_LATENCY") +
             blob("sealed"),
    "revoke": blob("n[0-3]") + blob("slurm/4711/0") + blob("slingshot") +
              OWNER + ids(1024, 65535),
    "query": blob("n3") + u8(3),
    "clean": blob("n3") + u8(1) + u8(0),
    "ack": blob(NODE) + u64(0x0102030405060708),
    "drain": blob(NODE) + u8(1) + blob("service 5 on cxi0 is busy"),
}


def command(op, version, body):
    grant_id = 42 if op in (2, 3) else 0
    header = b"FRLC" + u16(version) + u8(op) + u8(0) + u32(KEY_ID)
    header += u64(3) + u64(0x1122334455667788) + u64(9) + u64(grant_id)
    header += u64(40) + blake(body)
    return header + sign(COMMAND_SEED, b"fairlead command" + header)[1] + body


def samples(version):
    yield "challenge", u16(1) + u16(1) + COUNTING
    yield "refuse", blob("node 'n3' is not one of ours")
    yield "register", register(version, False)
    yield "register_empty", register(version, True)
    yield "confirm", confirm(version, False)
    yield "confirm_own", confirm(version, True)
    for name, body in BODIES.items():
        yield name, body + later(version)


def literal(data):
    text = data.hex()
    lines = [text[i:i + 64] for i in range(0, len(text), 64)] or [""]
    return "\n".join(f'\t"{line}"' for line in lines)


def header():
    yield "/* SPDX-License-Identifier: BSD-3-Clause */"
    yield "/* Made by golden.py: the samples' bytes by version, in hex. */"
    yield "#pragma once\n\n/* clang-format off */"
    for version in 1, 2:
        yield f"\nstatic const char *const golden_v{version}[] = {{"
        for name, data in samples(version):
            yield f"\t/* {name} */\n{literal(data)},"
        yield "};"
        yield f"\nstatic const char *const golden_commands_v{version}[] = {{"
        for op, name in enumerate(BODIES, 1):
            body = BODIES[name] + later(version)
            yield f"\t/* {name} */\n{literal(command(op, version, body))},"
        yield "};"
    public = sign(COMMAND_SEED, b"")[0]
    for name, data in ("public", public), ("node_key", NODE_KEY):
        yield f"\nstatic const char golden_{name}[] =\n{literal(data)};"


def main():
    text = "\n".join(header()) + "\n"
    if sys.argv[1:2] != ["--check"]:
        sys.stdout.write(text)
    elif open(sys.argv[2]).read() != text:
        sys.exit("golden.h is not what golden.py makes")


main()
