#!/usr/bin/env python3
"""How long a service takes until it goes on after each of some faults, by real processes: the seconds of docs/service.md, "Faults".
Usage: recovery_times.py KERNELWRIGHT [--rounds 5] [--queued 10000]
Prints for each fault the median and the longest of its rounds. exit: 0; 1 when a task was lost; without redis-server its faults are left out."""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from kill_many import PROBLEM
from ports import own_port
from redis_process import PROGRAM, Redis
from redis_test import Server, lease, until

LEASE_SECONDS, LEADER_LEASE_SECONDS = 3, 3


class Single(Server):
    """A server by itself over SQLite, on a port that it keeps."""

    def __init__(self, program, folder, *more):
        self.port, self.token = own_port(), ""
        self.errors = pathlib.Path(folder) / "server.err"
        self.words = [program, "serve", "--data", f"{folder}/tasks", "--port", str(self.port), "--lease", str(LEASE_SECONDS), *more]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def is_ready(self):
        return self.health()[0] == 200


def seconds_until(what, true):
    begin = time.monotonic()
    until(what, true)
    return time.monotonic() - begin


def tell(fault, seconds):
    print(f"{fault}: {statistics.median(seconds):.2f} s (median of {len(seconds)}), {max(seconds):.2f} s at most", flush=True)


def fill(server, count, first=0):
    for begin in range(first, first + count, 1000):
        tasks = [{"request": {"kind": "trace", "target": "cpu", "workload": "", "timeout_seconds": 60, "problem": PROBLEM, "memory_bytes": 1 << 20 | number}}
                 for number in range(begin, min(begin + 1000, first + count))]
        assert server.call("POST", "/v1/tasks", {"tasks": tasks})[0] == 200


def killed_server(program, folder, rounds, queued):
    server, seconds = Single(program, folder), []
    until("a server", server.is_ready)
    fill(server, queued)
    for _ in range(rounds):
        server.kill()
        server.start()
        seconds.append(seconds_until("the next start", server.is_ready))
        assert server.health()[1]["waiting"] == queued, "tasks were lost"
    server.kill()
    tell(f"F1, a server is killed with {queued} tasks queued, until its successor answers", seconds)


def killed_worker(program, folder, rounds):
    server, seconds = Single(program, folder), []
    until("a server", server.is_ready)
    for number in range(rounds):
        fill(server, 1, number)
        assert lease(server, 1, f"first {number}", "dies"), "no lease"
        begin = time.monotonic()
        taken = until("the task again", lambda number=number: lease(server, 1, f"second {number}", "lives"))
        seconds.append(time.monotonic() - begin)
        status, _ = server.call("POST", f"/v1/leases/{taken[0]['task']}/complete", {"epoch": taken[0]["epoch"], "graph": ""})[:2]
        assert status == 200
    server.kill()
    tell(f"F2, a worker dies in silence (--lease {LEASE_SECONDS}), until another one has its task", seconds)


def killed_worker_with_state(program, folder, rounds):
    """Two deaths with one task would be its end: each round has a task of its own."""
    server, seconds = Single(program, folder, "--unserved", "0"), []
    server.words[server.words.index("--lease") + 1] = "60"
    server.kill()
    server.start()
    until("a server", server.is_ready)
    words = [program, "worker", "--server", server.url, "--state", f"{folder}/worker.json"]
    for number in range(rounds):
        fill(server, 1, number)
        taken = lease(server, 1, f"dies {number}", "w")
        pathlib.Path(f"{folder}/worker.json").write_text(json.dumps({"schema": 1, "leases": [{"task": taken[0]["task"], "epoch": taken[0]["epoch"]}]}))
        begin = time.monotonic()
        worker = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        again = until("the task again", lambda number=number: lease(server, 1, f"again {number}", "lives"))
        seconds.append(time.monotonic() - begin)
        worker.kill()
        worker.wait()
        server.call("POST", f"/v1/leases/{again[0]['task']}/complete", {"epoch": again[0]["epoch"], "graph": ""})
    server.kill()
    tell("F2, a worker starts with the --state of one that died, until another one has its task", seconds)


def killed_redis(program, folder, rounds):
    redis, seconds = Redis(f"{folder}/redis", own_port()), []
    server = Server(program, folder, redis.url, pathlib.Path(folder) / "address.json")
    try:
        until("a leader", server.leads)
        for number in range(rounds):
            assert server.submit(f"before {number}")
            redis.kill()
            redis.start()
            begin = time.monotonic()
            until("an acceptance", lambda number=number: accepts(server, number))
            seconds.append(time.monotonic() - begin)
    finally:
        server.kill()
        redis.kill()
    tell("F3, Redis is killed, from its next start until a task is accepted", seconds)


def accepts(server, name):
    with contextlib.suppress(Exception):
        return bool(server.submit(f"after {name}"))
    return False


def killed_leader(program, folder, rounds):
    redis, seconds = Redis(f"{folder}/redis", own_port()), []
    address = pathlib.Path(folder) / "address.json"
    servers = [Server(program, folder, redis.url, address) for _ in range(2)]
    try:
        for number in range(rounds):
            leader = until("a leader", lambda: next((each for each in servers if each.leads()), None))
            other = next(each for each in servers if each is not leader)
            until("one that waits", lambda leader=leader, other=other: other.waits(leader))
            leader.kill()
            begin = time.monotonic()
            until("an acceptance", lambda number=number, other=other: accepts(other, number))
            seconds.append(time.monotonic() - begin)
            leader.start()
    finally:
        for server in servers:
            server.kill()
        redis.kill()
    tell(f"a leader is killed (--leader-lease {LEADER_LEASE_SECONDS}), until another one accepts", seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queued", type=int, default=10000)
    options = parser.parse_args()
    program = str(options.program.resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_CACHE_HOME=f"{folder}/cache", XDG_DATA_HOME=f"{folder}/data", NO_COLOR="1")
        tries = [(killed_server, options.queued), (killed_worker,), (killed_worker_with_state,), *([(killed_redis,), (killed_leader,)] if PROGRAM else [])]
        for number, (attempt, *more) in enumerate(tries):
            own = pathlib.Path(folder) / str(number)
            own.mkdir()
            attempt(program, str(own), options.rounds, *more)
    return 0


if __name__ == "__main__":
    sys.exit(main())
