#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A fabric manager that does nothing, and answers as the file MODE says.

Usage: hostile-fm.py ADDRESS PORT CERTIFICATE KEY MODE

MODE has an operation (token, list, create, delete, get, patch) and the name of
an answer below; all other requests are answered well. Each request is a line of
output: the operation, and the path.
"""
import gzip
import itertools
import socketserver
import ssl
import sys
import time

ADDRESS, PORT, CERTIFICATE, KEY, MODE = sys.argv[1:]
JOBS = "/fabric/collectives/jobs"


def answer(status, body, *headers):
    lines = [f"HTTP/1.1 {status} Text", "Content-Type: application/json",
             f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def endless(first, part):
    return itertools.chain([first], itertools.repeat(part))


def slowly(data):
    for byte in data:
        time.sleep(0.2)
        yield bytes([byte])


TOKEN = b'{"sessionToken": "T", "access_token": "T", "documentLinks": []}'
BOMB = gzip.compress(TOKEN + b" " * (32 << 20))
START = b"HTTP/1.1 200 OK\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"
ANSWERS = {
    "endless-body": lambda: endless(CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n"),
    "endless-headers": lambda: endless(START, b"X: " + b"x" * 1000 + b"\r\n"),
    "endless-header": lambda: endless(START + b"X: ", b"x" * 65536),
    "endless-status": lambda: endless(b"HTTP/1.1 200 ", b"x" * 65536),
    "endless-continue": lambda: endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "huge-length": lambda: [START, b"Content-Length: 99999999999999999999\r\n\r\n{}"],
    "short": lambda: [START, b"Content-Length: 1000\r\n\r\n{"],
    "slow": lambda: slowly(answer(200, TOKEN)),
    "silent": lambda: slowly(b""),
    "no-http": lambda: [b"SSH-2.0-hostile\r\n"],
    "redirect": lambda: [answer(302, b"{}", f"Location: https://{ADDRESS}:{PORT}/followed")],
    "redirect-file": lambda: [answer(307, b"{}", "Location: file:///etc/passwd")],
    "bomb": lambda: [answer(200, BOMB, "Content-Encoding: gzip")],
    "deep": lambda: [answer(200, b'{"sessionToken":' + b"[" * 60000)],
    "types": lambda: [answer(200, b'{"sessionToken": {}, "documentLinks": {}, "access_token": []}')],
    "number": lambda: [answer(200, b'{"sessionToken": 1e999999, "documentLinks": [1e999999]}')],
    "utf8": lambda: [answer(200, b'{"sessionToken": "\xff\xfe", "documentLinks": ["/x/\xff"]}')],
    "line": lambda: [answer(200, b'{"sessionToken": "a\\nLD_PRELOAD=/x", "access_token": "a\\r\\nX: y"}')],
    "screen": lambda: [answer(400, b'{"detail": "\\u001b[2J\\u0007gone\\nhint: forged"}')],
    "trees": lambda: [answer(200, b'{"jobSteps": {"0": ["1", {}, null, -1, 8192, 1.5, true]}}')],
    "many": lambda: [answer(200, b'{"jobSteps": {"0": [[]' + b",[]" * 300000 + b"]}}")],
    "twice": lambda: [answer(200, b"{}"), answer(200, TOKEN)],
    "empty": lambda: [answer(200, b"")],
    "no-content": lambda: [b"HTTP/1.1 204 No Content\r\n\r\n"],
}


def operation(method, path):
    if path == "/token":
        return "token"
    if method == "GET" and path.rstrip("/") == JOBS:
        return "list"
    return {"POST": "create"}.get(method, method.lower())


def good(op):
    if op == "get":
        return answer(404, b"{}")
    return answer(200, b'{"access_token": "ACCESS-s3cret", "sessionToken": "SESSION-s3cret",'
                       b' "documentLinks": []}')


class Handler(socketserver.StreamRequestHandler):
    def setup(self):
        self.request = CONTEXT.wrap_socket(self.request, server_side=True)
        super().setup()

    def handle(self):
        while line := self.rfile.readline():
            method, path = line.decode().split()[:2]
            fields = {}
            while (field := self.rfile.readline().strip()) != b"":
                name, _, value = field.decode().partition(":")
                fields[name.lower()] = value.strip()
            self.rfile.read(int(fields.get("content-length", 0)))
            if not self.reply(operation(method, path), path, fields):
                return

    def reply(self, op, path, fields):
        """False: the connection ends."""
        print(op, path, flush=True)
        with open(MODE, encoding="ascii") as file:
            hostile, name = file.read().split()
        if op == "patch" and hostile == "get":
            self.wfile.write(answer(403, b"{}"))  # the trees are read then
            return True
        if op != hostile:
            self.wfile.write(good(op))
            return True
        if name == "echo":
            secret = fields.get("authorization", "").split()[-1]
            self.wfile.write(answer(400, f'{{"detail": "not {secret}"}}'.encode()))
            return True
        for part in ANSWERS[name]():
            self.wfile.write(part)
        while name == "silent" and self.rfile.read(1):
            pass
        return False


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # they leave when they have enough


CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
CONTEXT.load_cert_chain(CERTIFICATE, KEY)
Server((ADDRESS, int(PORT)), Handler).serve_forever()
