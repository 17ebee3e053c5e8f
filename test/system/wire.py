#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Speak the wire as nobody should: clients, nodes and relays that misbehave.

Usage: wire.py client SOCKET ask JSON...    send each, print an answer a line
       wire.py client SOCKET raw HEX        send bytes, print answers to the end
       wire.py client SOCKET half           half a frame, then silence
       wire.py client SOCKET hoard COUNT    connections that are kept open
       wire.py client SOCKET lose           the answer to the next reserve
       wire.py node ADDRESS KEY register [NAME=VALUE...]
       wire.py node ADDRESS KEY confirm grant=ID result=N [NAME=VALUE...]
       wire.py node ADDRESS KEY frame TYPE HEX
       wire.py relay LISTEN TARGET          between a node and the manager

A node takes its name and key from a key file. NAME=VALUE is one of name,
incarnation (hex), key (hex), proof (hex), nonce (hex), mac=spoiled, or
before=register (confirm: only after a registration).

`lose` stands in a manager's place, passes on what a client and it say, and
cuts the connection when the manager has answered a `reserve`.

A relay prints a line for each COMMAND and CONFIRM, and takes requests on
standard input, once there is a connection: `again OP` sends the last command
of that name once more, `alter OP` changes a byte of each one until `heal OP`,
`hold OP` keeps the next one back, and loses all that follow, until `let OP`
sends it, `confirm again` sends the last CONFIRM once more, `cut` closes both
connections and forgets its requests.

Written from doc/rfc/client-protocol.md and node-protocol.md without any of the
C code. Exits 0 whatever the answer is: the story that runs it decides.
"""
import hashlib
import json
import os
import selectors
import socket
import struct
import sys
import time

CHALLENGE, REGISTER, COMMAND, CONFIRM, PING, PONG, REFUSE = range(1, 8)
OPS = ["own", "hello", "apply", "revoke", "query", "clean", "ack", "drain",
       "lease"]
WAIT_S = 40  # longer than the daemons' own patience


def say(*words):
    print(*words, flush=True)


def u32(number):
    return struct.pack("<I", number & 0xffffffff)


def u64(number):
    return struct.pack("<Q", number)


def blob(data):
    data = data.encode() if isinstance(data, str) else data
    return u32(len(data)) + data


def blake(message, key):
    return hashlib.blake2b(message, digest_size=32, key=key).digest()


class Stream:
    """Length-prefixed frames on a socket."""

    def __init__(self, connected):
        self.socket = connected
        self.buffer = b""

    def send(self, frame):
        self.socket.sendall(u32(len(frame)) + frame)

    def take(self):
        """A whole frame that has come, or None"""
        if len(self.buffer) < 4:
            return None
        size = struct.unpack_from("<I", self.buffer)[0]
        if len(self.buffer) < 4 + size:
            return None
        frame = self.buffer[4:4 + size]
        self.buffer = self.buffer[4 + size:]
        return frame

    def fill(self):
        """False when the other end has closed"""
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            return False
        self.buffer += data
        return bool(data)

    def receive(self):
        """The next frame, or None when the other end has closed"""
        while True:
            frame = self.take()
            if frame is not None:
                return frame
            if not self.fill():
                return None


# --- clients ---

def client_open(path):
    stream = Stream(socket.socket(socket.AF_UNIX))
    stream.socket.settimeout(WAIT_S)
    stream.socket.connect(path)
    return stream


def client_rest(stream):
    while True:
        frame = stream.receive()
        if frame is None:
            say("closed")
            return
        say(frame.decode())


def client_ask(path, *requests):
    stream = client_open(path)
    for request in requests:
        stream.send(request.encode())
    for _ in requests:
        frame = stream.receive()
        if frame is None:
            say("closed")
            return
        say(frame.decode())


def client_raw(path, data):
    stream = client_open(path)
    stream.socket.sendall(bytes.fromhex(data))
    client_rest(stream)


def client_half(path):
    stream = client_open(path)
    stream.socket.sendall(u32(100) + b'{"v":1,"id":1')
    say("silent")
    began = time.monotonic()
    client_rest(stream)
    say("after", int(time.monotonic() - began), "s")


def client_hoard(path, count):
    held = []
    for _ in range(int(count)):
        held.append(client_open(path))
    say("open", len(held))
    sys.stdin.read()


def client_lose(path):
    """Until then SOCKET is ours; the manager's own is beside it"""
    beside = path + ".beside"
    os.rename(path, beside)
    try:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        say("listening")
        client = Stream(listener.accept()[0])
        manager = client_open(beside)
        is_answered = False
        while not is_answered:
            request = client.receive()
            manager.send(request)
            answer = manager.receive()
            is_answered = json.loads(request)["op"] == "reserve"
            if not is_answered:
                client.send(answer)
        say("lost", answer.decode())
    finally:
        os.rename(beside, path)
    client.socket.close()


# --- nodes ---

def key_file(path):
    """name, key id and key of a node's key file"""
    name = key = None
    for line in open(path, encoding="ascii"):
        words = line.split()
        if words[:1] == ["name"]:
            name = words[1]
        elif words[:1] == ["confirm"] and key is None:
            key = int(words[1]), bytes.fromhex(words[2])
    return name, key[0], key[1]


class Node:
    def __init__(self, address, path, settings):
        host, port = address.rsplit(":", 1)
        self.name, self.key_id, self.key = key_file(path)
        self.name = settings.get("name", self.name)
        self.key = bytes.fromhex(settings.get("key", self.key.hex()))
        self.incarnation = bytes.fromhex(settings.get("incarnation", "5a" * 16))
        self.is_spoiled = settings.get("mac") == "spoiled"
        self.settings = settings
        self.stream = Stream(socket.create_connection((host, int(port))))
        self.stream.socket.settimeout(WAIT_S)

    def tagged(self, domain, message):
        message += u32(self.key_id)
        tag = blake(domain + message, self.key)
        return message + (bytes(32) if self.is_spoiled else tag)

    def challenge(self):
        frame = self.stream.receive()
        assert frame[0] == CHALLENGE and len(frame) == 35
        return frame[3:]

    def register(self):
        nonce = self.challenge()
        nonce = bytes.fromhex(self.settings.get("nonce", nonce.hex()))
        message = struct.pack("<H", 1) + blob(self.name) + self.incarnation
        message += nonce + os.urandom(32) + blob("wire.py")
        # Of an endpoint at 127.0.0.1:9, where nobody is.
        message += blob(bytes.fromhex("020000097f0000010000000000000000"))
        message += blob(bytes.fromhex(self.settings.get("proof", "")))
        message += u32(0) * 4
        frame = self.tagged(b"fairlead register", message)
        self.stream.send(bytes([REGISTER]) + frame)

    def confirm(self, grant_id, result):
        message = struct.pack("<H", 1) + blob(self.name) + self.incarnation
        message += b"\0" + u64(grant_id) + u64(1 << 40) + u64(0) * 2
        message += u32(result) + blob("") + blob("")
        frame = self.tagged(b"fairlead confirm", message)
        self.stream.send(bytes([CONFIRM]) + frame)

    def answer(self, is_last=lambda frame: True):
        """Say what comes, until something decides"""
        while True:
            frame = self.stream.receive()
            if frame is None:
                return say("closed")
            if frame[0] == REFUSE:
                say("refused:", frame[5:].decode())
            elif frame[0] == COMMAND:
                name = OPS[frame[1 + 6]]
                epoch = struct.unpack_from("<Q", frame, 1 + 12)[0]
                say(name, "epoch", epoch)
                if is_last(name):
                    return None
            elif frame[0] == PONG:
                return say("pong")


def node_main(address, path, action, *words):
    plain = [word for word in words if "=" not in word]
    settings = dict(word.split("=", 1) for word in words if "=" in word)
    node = Node(address, path, settings)
    if action == "register":
        node.register()
        node.answer()
    elif action == "confirm":
        if settings.get("before") == "register":
            node.register()
            node.answer()
        else:
            node.challenge()
        node.confirm(int(settings["grant"]), int(settings["result"]))
        # The manager takes frames in order: PONG says that it has seen this.
        node.stream.send(bytes([PING]))
        node.answer(lambda name: name == "ack")
    else:
        node.challenge()
        node.stream.send(bytes([int(plain[0])]) + bytes.fromhex(plain[1]))
        node.stream.send(bytes([PING]))
        node.answer(lambda name: False)


# --- a relay between a node and the manager ---

class Relay:
    def __init__(self, target):
        self.target = target
        self.node = self.manager = None
        self.last = {}      # of each op the last COMMAND
        self.confirm = None
        self.altered = set()
        self.held = {}      # op: a frame that is kept back, or None
        self.waiting = []   # words, for a connection

    def open(self, connected):
        host, port = self.target.rsplit(":", 1)
        self.close()
        self.node = Stream(connected)
        self.manager = Stream(socket.create_connection((host, int(port))))
        say("open")
        waiting, self.waiting = self.waiting, []
        for words in waiting:
            self.do(words)

    def close(self):
        for stream in self.node, self.manager:
            if stream is not None:
                stream.socket.close()
        self.node = self.manager = None

    def from_manager(self, frame):
        if frame[0] != COMMAND:
            return frame
        name = OPS[frame[1 + 6]]
        say("command", name,
            "grant", struct.unpack_from("<Q", frame, 1 + 36)[0])
        self.last[name] = frame
        if name in self.altered:
            say("altered", name)
            return frame[:-1] + bytes([frame[-1] ^ 1])
        if name in self.held:
            self.held[name] = self.held[name] or frame
            say("held", name)
            return None
        return frame

    def from_node(self, frame):
        if frame[0] == CONFIRM:
            size = struct.unpack_from("<I", frame, 3)[0]
            at = 7 + size + 16
            op = frame[at]
            grant_id = struct.unpack_from("<Q", frame, at + 1)[0]
            result = struct.unpack_from("<i", frame, at + 33)[0]
            say("confirm", OPS[op], "grant", grant_id, "result", result)
            self.confirm = frame
        return frame

    def do(self, words):
        if self.node is None and words[0] in ("again", "confirm", "let"):
            self.waiting.append(words)
            return
        if words == ["cut"]:
            self.altered.clear()
            self.held.clear()
            self.waiting.clear()
            self.close()
        elif words == ["confirm", "again"]:
            self.manager.send(self.confirm)
        elif words[0] == "again":
            self.node.send(self.last[words[1]])
        elif words[0] == "alter":
            self.altered.add(words[1])
        elif words[0] == "heal":
            self.altered.remove(words[1])
        elif words[0] == "hold":
            self.held[words[1]] = None
        elif words[0] == "let":
            self.node.send(self.held.pop(words[1]))
        say("done", *words)

    def pump(self, source, sink, through):
        """False when the source has closed"""
        if not source.fill():
            return False
        while (frame := source.take()) is not None:
            frame = through(frame)
            if frame is not None:
                sink.send(frame)
        return True


def relay_main(listen, target):
    host, port = listen.rsplit(":", 1)
    server = socket.create_server((host, int(port)))
    relay = Relay(target)
    commands = b""
    say("listening")
    while True:
        selector = selectors.DefaultSelector()
        for source in server, sys.stdin, relay.node, relay.manager:
            if source is not None:
                selector.register(getattr(source, "socket", source),
                                  selectors.EVENT_READ, source)
        for key, _ in selector.select():
            if key.data is server:
                relay.open(server.accept()[0])
            elif key.data is sys.stdin:
                data = os.read(0, 4096)
                if not data:
                    return
                commands += data
                *lines, commands = commands.split(b"\n")
                for line in lines:
                    relay.do(line.decode().split())
            elif key.data is relay.node:
                if not relay.pump(relay.node, relay.manager, relay.from_node):
                    relay.close()
            elif key.data is relay.manager and key.data is not None:
                if not relay.pump(relay.manager, relay.node,
                                  relay.from_manager):
                    relay.close()
        selector.close()


def main():
    words = sys.argv[1:]
    clients = {"ask": client_ask, "raw": client_raw, "half": client_half,
               "hoard": client_hoard, "lose": client_lose}
    if len(words) >= 3 and words[0] == "client" and words[2] in clients:
        clients[words[2]](words[1], *words[3:])
    elif len(words) >= 4 and words[0] == "node":
        node_main(*words[1:])
    elif len(words) == 3 and words[0] == "relay":
        relay_main(words[1], words[2])
    else:
        sys.exit(__doc__)


try:
    main()
except TimeoutError:
    say("timeout")
except ConnectionError:
    say("closed")
