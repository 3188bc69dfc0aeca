#!/usr/bin/env python3
"""Requests and events per second of the C++ server against uvicorn with FastAPI, in one run on 127.0.0.1.

    bench/http_rate.py [--seconds 3] [--connections 8] [--rounds 3] [--events 2000] [--program build/dev/bin/kw_example_server]
                       [--peer-python PYTHON]

--peer-python names a Python that has fastapi and uvicorn (uvloop and httptools are used when it has them); without it only ours is measured.
One load generator (this process: raw sockets, epoll, no HTTP library) drives both alike: --connections kept connections, one request under way on
each. Rounds alternate between the servers; shown are medians, the spread of the rounds, and the ratio. Every answer's body is checked.
The generator shares the machine's cores with the server under test, so the rates are lower bounds and the ratio favours the slower side.
"""

import argparse
import pathlib
import selectors
import socket
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

PEER = '''
import sys
from fastapi import FastAPI
from fastapi.responses import JSONResponse, StreamingResponse
import uvicorn

app = FastAPI()

@app.get("/hello")
async def hello():
    return {"hello": "world"}

@app.get("/events")
async def events(count: int = 10):
    async def pieces():
        for i in range(count):
            yield 'data: {"index":%d,"choices":[{"delta":{"content":"token"}}]}\\n\\n' % i
        yield "data: [DONE]\\n\\n"
    return StreamingResponse(pieces(), media_type="text/event-stream")

listener = __import__("socket").socket()
listener.bind(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])
'''


class Connection:
    """One kept connection: sends a request, reads its answer, counts it, sends the next."""

    def __init__(self, port, request, is_whole):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request, self.is_whole, self.got = request, is_whole, b""
        self.socket.sendall(request)

    def on_readable(self):
        """The number of answers that are whole now."""
        bytes_read = self.socket.recv(1 << 18)
        if not bytes_read:
            sys.exit("the server closed a connection")
        self.got += bytes_read
        if not self.is_whole(self.got):
            return 0
        self.got = b""
        self.socket.sendall(self.request)
        return 1


def rate(port, request, is_whole, connections, seconds):
    selector = selectors.DefaultSelector()
    all_connections = [Connection(port, request, is_whole) for _ in range(connections)]
    for connection in all_connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    answers, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        for key, _ in selector.select(1):
            answers += key.data.on_readable()
    elapsed = time.perf_counter() - begun
    for connection in all_connections:
        connection.socket.close()
    return answers / elapsed


def hello_is_whole(got):
    if not got.endswith(b'{"hello":"world"}'):
        return False
    if not got.startswith(b"HTTP/1.1 200 OK"):
        sys.exit(f"wrong answer: {got!r}")
    return True


def events_are_whole(count):
    def check(got):
        if not got.endswith(b"0\r\n\r\n"):
            return False
        if not got.startswith(b"HTTP/1.1 200 OK") or got.count(b"data: ") != count + 1 or b"[DONE]" not in got:
            sys.exit(f"wrong answer: {got[:300]!r}")
        return True

    return check


def start(command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = int(process.stdout.readline().strip().rpartition(":")[2])
    for _ in range(200):  # the peer prints its port before it serves
        try:
            with socket.create_connection(("127.0.0.1", port)) as probe:
                probe.sendall(b"GET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                if probe.recv(100).startswith(b"HTTP/1.1 200"):
                    return process, port
        except OSError:
            pass
        time.sleep(0.05)
    sys.exit(f"{command[0]} does not serve")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--program", default=str(ROOT / "build/dev/bin/kw_example_server"))
    parser.add_argument("--peer-python")
    options = parser.parse_args()

    commands = {"ours, handler threads": [options.program, "4"], "ours, on the io thread": [options.program, "0"]}
    if options.peer_python:
        commands["uvicorn + FastAPI"] = [options.peer_python, "-c", PEER]
    kinds = {
        "requests/s": (b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n", hello_is_whole, 1),
        "events/s": (b"GET /events?count=%d HTTP/1.1\r\nHost: h\r\n\r\n" % options.events, events_are_whole(options.events), options.events),
    }
    servers = {}
    try:
        for name, command in commands.items():
            servers[name] = start(command)
        for kind, (request, is_whole, per_answer) in kinds.items():
            rates = {name: [] for name in servers}
            for _ in range(options.rounds):
                for name, (_, port) in servers.items():
                    # A handler on the io thread may not wait for a slow reader, as the example's /events does.
                    if kind == "events/s" and "io thread" in name:
                        continue
                    rates[name].append(per_answer * rate(port, request, is_whole, options.connections, options.seconds))
            slowest = statistics.median(list(rates.values())[-1] or [0])
            for name, values in rates.items():
                if values:
                    ratio = f"  {statistics.median(values) / slowest:5.1f} x" if options.peer_python else ""
                    print(f"{kind:11} {name:24} {statistics.median(values):10.0f}  ({min(values):.0f} to {max(values):.0f}){ratio}")
    finally:
        for process, _ in servers.values():
            process.stdin.close()
            process.terminate()
            process.wait(20)


if __name__ == "__main__":
    main()
