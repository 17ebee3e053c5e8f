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


# --- XChaCha20-Poly1305 (RFC 8439 and draft-irtf-cfrg-xchacha) ---

def words(data):
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def rounds(state):
    def quarter(a, b, c, d):
        for x, y, z, turn in (a, b, d, 16), (c, d, b, 12), (a, b, d, 8), \
                (c, d, b, 7):
            state[x] = state[x] + state[y] & 0xffffffff
            mixed = state[z] ^ state[x]
            state[z] = (mixed << turn | mixed >> 32 - turn) & 0xffffffff

    for _ in range(10):
        for i in range(4):
            quarter(i, i + 4, i + 8, i + 12)
        for i in range(4):
            quarter(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12)


def stream(key, nonce, counter, size):
    data = b""
    while len(data) < size:
        start = words(b"expand 32-byte k" + key + u32(counter) + nonce)
        state = start[:]
        rounds(state)
        data += b"".join(u32(a + b) for a, b in zip(start, state))
        counter += 1
    return data[:size]


def encrypt(key, nonce, message, binding):
    state = words(b"expand 32-byte k" + key + nonce[:16])
    rounds(state)
    key = b"".join(u32(word) for word in state[:4] + state[12:])
    nonce = bytes(4) + nonce[16:]
    secret = stream(key, nonce, 1, len(message))
    data = bytes(a ^ b for a, b in zip(message, secret))
    once = stream(key, nonce, 0, 32)
    tagged = binding + bytes(-len(binding) % 16) + data + \
        bytes(-len(data) % 16) + u64(len(binding)) + u64(len(data))
    factor = int.from_bytes(once[:16], "little") & \
        0x0ffffffc0ffffffc0ffffffc0fffffff
    sum_ = 0
    for i in range(0, len(tagged), 16):
        block = int.from_bytes(tagged[i:i + 16] + b"\1", "little")
        sum_ = (sum_ + block) * factor % (2**130 - 5)
    tag = sum_ + int.from_bytes(once[16:], "little") & (1 << 128) - 1
    return data + tag.to_bytes(16, "little")


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
HOP_KEY = subkey(SEED, 3)
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


def tagged(domain, message):
    message += u32(KEY_ID)
    return message + blake(domain + message, NODE_KEY)


def register(is_empty):
    grants, objects, drivers, proof, address = [], [], [], b"", b""
    if not is_empty:
        address = bytes(range(0x80, 0x90))
        proof = COUNTING.ljust(148, b"\0")
        grants = [u64(42) + u8(2) + blob("slingshot") + ids(1024),
                  u64(43) + u8(3) + blob("none") + ids()]
        objects = [blob("slingshot") + blob("cxi0") + u32(5) +
                   u32(1 | 8) + u32(-1) + ids(2000, 2001, 2002, 2003)]
        drivers = [blob("none") + u8(1) + blob("") + blob(b"\n\0\0\3"),
                   blob("slingshot") + u8(0) + blob("no library") + blob("")]
    message = u16(1) + blob(NODE) + bytes(range(0x40, 0x50))
    message += COUNTING + bytes(range(0x60, 0x80)) + blob("0.1.0")
    message += blob(address) + blob(proof) + u32(0 if is_empty else 2)
    for part in grants, objects, drivers:
        message += u32(len(part)) + b"".join(part)
    return tagged(b"fairlead register", message)


def confirm(is_own):
    message = u16(1) + blob(NODE) + bytes(range(0x40, 0x50))
    if is_own:
        message += u8(0) + u64(42) + u64(77) + u64(0) + u64(0)
        message += u32(-16) + blob("service 5 on cxi0 is busy") + blob("")
    else:
        message += u8(4) + u64(0) + u64(9) + u64(3) + u64(0x1122334455667788)
        message += u32(0) + blob("") + blob('[{"grant_id":42}]')
    return tagged(b"fairlead confirm", message)


OWNER = u32(1000) + u32(100)
BODIES = {
    "hello": COUNTING + blob(NODE) + COUNTING,
    "apply": blob("slurm/4711/0") + blob("slingshot") + OWNER +
             blob("n[0-3]") + blob("8") + blob("4(x3),2") +
             ids(1024, 65535) + blob("vnis=2,tcs=LOW_LATENCY") +
             blob("sealed") + blob("members"),
    "revoke": blob("n[0-3]") + blob("slurm/4711/0") + blob("slingshot") +
              OWNER + ids(1024, 65535),
    "query": blob("n3") + u8(3),
    "clean": blob("n3") + u8(1) + u8(0),
    "ack": blob(NODE) + u64(0x0102030405060708),
    "drain": blob(NODE) + u8(1) + blob("service 5 on cxi0 is busy"),
    "lease": blob("n[0-3]") + u32(30),
}


def command(op, body):
    grant_id = 42 if op in (2, 3) else 0
    header = b"FRLC" + u16(1) + u8(op) + u8(0) + u32(KEY_ID)
    header += u64(3) + u64(0x1122334455667788) + u64(9) + u64(grant_id)
    header += u64(40) + blake(body)
    return header + sign(COMMAND_SEED, b"fairlead command" + header)[1] + body


def seal(secret, nodes):
    """Sealed to nodes of grant 42, with a content key and nonce of our own"""
    content_key, nonce = bytes(range(0x10, 0x30)), bytes(range(0x30, 0x48))
    text = b"fairlead seal" + u64(42)
    data = u8(1) + u32(KEY_ID) + nonce + u32(len(nodes))
    for place, node in enumerate(nodes):
        key = blake(b"fairlead seal", blake(node, MASTER))
        data += encrypt(key, nonce, content_key, text + u32(place))
    return data + blob(encrypt(content_key, nonce, secret, text + u32(-1)))


def nid(name):
    return 0x464c << 48 | int.from_bytes(blake(name)[:6], "little")


def hop_seal(sender, receiver, message):
    head = b"fairlead hop" + u64(nid(sender)) + u64(nid(receiver))
    return u32(KEY_ID) + blake(head + message, HOP_KEY)


def samples():
    yield "challenge", u16(1) + COUNTING
    yield "refuse", blob("node 'n3' is not one of ours")
    yield "register", register(False)
    yield "register_empty", register(True)
    yield "confirm", confirm(False)
    yield "confirm_own", confirm(True)
    for name, body in BODIES.items():
        yield name, body


def literal(data):
    text = data.hex()
    lines = [text[i:i + 64] for i in range(0, len(text), 64)] or [""]
    return "\n".join(f'\t"{line}"' for line in lines)


def header():
    yield "/* SPDX-License-Identifier: BSD-3-Clause */"
    yield "/* Made by golden.py: the samples' bytes in hex. */"
    yield "#pragma once\n\n/* clang-format off */"
    yield "\nstatic const char *const golden_messages[] = {"
    for name, data in samples():
        yield f"\t/* {name} */\n{literal(data)},"
    yield "};"
    yield "\nstatic const char *const golden_commands[] = {"
    for op, name in enumerate(BODIES, 1):
        yield f"\t/* {name} */\n{literal(command(op, BODIES[name]))},"
    yield "};"
    public = sign(COMMAND_SEED, b"")[0]
    sealed = seal(b"capability", [NODE, b"n4"])
    for name, data in (("public", public), ("node_key", NODE_KEY),
                       ("hop_key", HOP_KEY),
                       ("hop_seal", hop_seal(NODE, b"n4", b"a message to n4")),
                       ("seal", sealed)):
        yield f"\nstatic const char golden_{name}[] =\n{literal(data)};"


def main():
    text = "\n".join(header()) + "\n"
    if sys.argv[1:2] != ["--check"]:
        sys.stdout.write(text)
    elif open(sys.argv[2]).read() != text:
        sys.exit("golden.h is not what golden.py makes")


main()
