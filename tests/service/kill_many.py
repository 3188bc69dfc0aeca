#!/usr/bin/env python3
"""Accepted tasks while server and workers are killed (kill -9) at random moments: how many are lost, how many answered twice.
Usage: kill_many.py KERNELWRIGHT [--tasks 20000] [--seconds S] [--seed 1] [--data DIR] [--redis [--servers 1]]

Null workers, processes of their own, answer each task with a number that nobody else has. A task is lost when its server does not know it any more,
or when it has no end; it is answered twice when two answers of workers were taken, when a caller reads another answer than before, or when it reads
another than the one that was taken. Tasks whose two workers died are put aside, as promised, and counted. Exits with 1 when a promise is broken.
With --redis the tasks are in a redis-server, which is killed too, and several servers may share it: each caller and each worker knows one of them,
which forwards its calls unless it leads. No task is submitted after S seconds. By default it takes under a minute; 1,000,000 tasks with an optimized program take some minutes and 100 MB.
"""

import argparse
import array
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

from ports import own_port
from redis_process import PROGRAM, Redis

GROUP, GROUPS_AT_ONCE, WORKERS, LEASED = 500, 6, 4, 100
LEASE_SECONDS, SILENCE_SECONDS = 2, 600
SERVER_LIVES, WORKER_LIVES, REDIS_LIVES = (0.5, 4.0), (0.3, 4.0), (0.3, 2.0)  # seconds
WAYS = (OSError, http.client.HTTPException)  # a server that was killed
SOURCE = ("import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
          "def get_inputs():\n    return [torch.randn(4)]\ndef get_init_inputs():\n    return []\n")
PROBLEM = {"name": "identity", "form": "module", "source": SOURCE}
NULL_TARGET = "cuda"  # of the tasks that null workers answer: workers of a machine without a GPU do not take them
ABILITIES = {"targets": {NULL_TARGET: []}, "isolation": "full"}  # of null workers, in all languages


class Caller:
    """A connection that is opened anew when the server was killed. call() repeats until there is an answer."""

    def __init__(self, port: int):
        self.port = port
        self.connection: http.client.HTTPConnection | None = None

    def once(self, method: str, path: str, body: object = None) -> tuple[int, dict]:
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            self.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (*WAYS, json.JSONDecodeError):
            self.connection = None
            raise

    def call(self, method: str, path: str, body: object = None) -> tuple[int, dict]:
        end = time.monotonic() + SILENCE_SECONDS
        while True:
            try:
                status, answer = self.once(method, path, body)
                if status not in (429, 503) or time.monotonic() > end:
                    return status, answer
            except (*WAYS, json.JSONDecodeError):
                if time.monotonic() > end:
                    raise
            time.sleep(0.02)


def null_task(number: int, problem: str) -> dict:
    request = {"kind": "trace", "target": NULL_TARGET, "workload": "", "timeout_seconds": 60, "memory_bytes": number, "problem": {"hash": problem}}
    return {"request": request, "submission": f"s{number}"}


def work(port: int, version: int, pipe: int, life: int) -> None:
    """Until it is killed. It says which answers were taken: pairs of a task's number and the answer's."""
    caller, number = Caller(port), life << 32
    while True:
        name = f"{life}-{number}"
        wanted = {"worker": str(life), "name": name, "gym_version": version, "wait_seconds": 5, "most": LEASED, "can": ABILITIES}
        status, answer = caller.call("POST", "/v1/leases", wanted)
        if status != 200:
            raise RuntimeError(f"no leases: status {status}: {answer}")
        reports, told = [], array.array("q")
        for lease in answer.get("leases", []):
            number += 1
            told.extend((int(lease["request"]["memory_bytes"]), number))
            reports.append({"report": "complete", "task": lease["task"], "epoch": lease["epoch"], "graph": str(number)})
        number += 1
        if not reports:
            continue
        _, answer = caller.call("POST", "/v1/reports", {"reports": reports})
        taken = array.array("q")
        for place, each in enumerate(answer["reports"]):
            if "error" not in each:
                taken.extend(told[2 * place : 2 * place + 2])
        os.write(pipe, taken.tobytes())  # at most 1,600 bytes, which are written as a whole


class Run:
    def __init__(self, program: str, tasks: int, seconds: float, seed: int, folder: str, with_redis: bool, servers: int):
        self.program, self.tasks, self.folder, self.group = program, tasks, folder, GROUP
        self.end = time.monotonic() + seconds
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.problems: list[str] = []
        self.last_words = ""  # of the servers
        self.read, self.taken = array.array("q", bytes(8 * tasks)), array.array("q", bytes(8 * tasks))
        self.aside = self.accepted = self.next = self.server_deaths = self.worker_deaths = self.redis_deaths = 0
        self.heard = 0  # answers to callers that moved something on
        self.over = threading.Event()
        self.ports = [own_port() for _ in range(servers)]
        self.servers: dict[int, subprocess.Popen] = {}
        self.redis = Redis(f"{folder}/redis", own_port()) if with_redis else None

    def broken(self, what: str) -> None:
        with self.lock:
            self.problems.append(what)
            if len(self.problems) > 20:
                self.over.set()

    def start_server(self, port: int) -> bool:
        """Whether it listens now."""
        log = self.log_of(port)
        store = ["--store", self.redis.url, "--leader-lease", "0.5"] if self.redis else []
        words = [self.program, "serve", "--data", f"{self.folder}/tasks-{port}", "--port", str(port), "--lease", str(LEASE_SECONDS), *store]
        server = self.servers[port] = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=open(log, "ab"))
        end = time.monotonic() + SILENCE_SECONDS
        while server.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=10).close()
                return True
            except OSError:
                time.sleep(0.01)
        self.broken(f"a server does not begin: {log.read_text()[-2000:]}")
        self.over.set()
        return False

    def log_of(self, port: int) -> pathlib.Path:
        return pathlib.Path(self.folder) / f"server-{port}.log"

    def any_port(self) -> int:
        return self.random.choice(self.ports)

    def submit_group(self, caller: Caller, first: int, problem: str) -> tuple[str, dict[str, int]]:
        name = f"g{first}"
        tasks = [null_task(number, problem) for number in range(first, min(first + self.group, self.tasks))]
        status, answer = caller.call("POST", "/v1/tasks", {"tasks": tasks, "group": name})
        if status != 200:
            raise RuntimeError(f"group {name}: status {status}: {answer}")
        ids = {each["id"]: first + place for place, each in enumerate(answer["tasks"])}
        with self.lock:
            self.accepted += len(ids)
            self.heard += 1
        return name, ids

    def note(self, number: int, task: dict, ended: set[int]) -> None:
        if task["state"] == "dead":
            answer = -1
        elif task["state"] == "done":
            answer = int(task["graph"])
        else:
            return self.broken(f"task {number} is {task['state']}: {task}")
        if self.read[number] not in (0, answer):
            self.broken(f"task {number} is answered twice: read {self.read[number]}, then {answer}")
        self.read[number] = answer
        ended.add(number)

    def take_group(self) -> int | None:
        """The first task of the group that is submitted next; None: there is none any more."""
        with self.lock:
            first = self.next
            if first >= self.tasks or time.monotonic() >= self.end:
                return None
            self.next = min(first + self.group, self.tasks)
        return first

    def follow(self, problem: str) -> None:
        """Submits a group after the other, and reads all of their answers."""
        caller = Caller(self.any_port())
        try:
            while not self.over.is_set():
                first = self.take_group()
                if first is None:
                    return
                name, ids = self.submit_group(caller, first, problem)
                ended: set[int] = set()
                place, silent_until = "", time.monotonic() + SILENCE_SECONDS
                while len(ended) < len(ids) and not self.over.is_set():
                    status, answer = caller.call("GET", f"/v1/groups/{name}?wait=5&least=200" + (f"&after={place}" if place else ""))
                    if status == 404:
                        self.broken(f"{name} is lost: {answer}")
                        break
                    place = answer.get("next", "")
                    if answer.get("ended"):
                        with self.lock:
                            self.heard += 1
                        silent_until = time.monotonic() + SILENCE_SECONDS
                    for task in answer.get("ended", []):
                        self.note(ids[task["id"]], task, ended)
                    if time.monotonic() > silent_until:
                        self.broken(f"{name}: {len(ids) - len(ended)} tasks have no end; port {caller.port} says {status}: {str(answer)[:300]}")
                        break
        except Exception as error:  # noqa: BLE001  # a thread's error must end the run
            self.broken(f"a caller: {error!r}")

    def hear(self, pipe: int) -> None:
        while data := os.read(pipe, 16 * LEASED * 40):
            while len(data) % 16:
                data += os.read(pipe, 16 - len(data) % 16)
            pairs = array.array("q", data)
            for place in range(0, len(pairs), 2):
                number, answer = pairs[place], pairs[place + 1]
                if number >= self.tasks:
                    continue  # not one of those that are counted
                if self.taken[number]:
                    self.broken(f"two answers of task {number} were taken: {self.taken[number]} and {answer}")
                self.taken[number] = answer

    def lives_on(self, seconds: tuple[float, float]) -> bool:
        """Waits for a life's time, and until something was accepted or answered meanwhile, on a machine however busy. False: the run is over."""
        before = self.heard
        if self.over.wait(self.random.uniform(*seconds)):
            return False
        while self.heard == before:
            if self.over.wait(0.02):
                return False
        return True

    def kill_servers(self) -> None:
        while self.lives_on(SERVER_LIVES):
            port = self.any_port()
            self.servers[port].kill()
            self.servers[port].wait()
            self.server_deaths += 1
            if not self.start_server(port):
                return

    def kill_redis(self) -> None:
        while self.lives_on(REDIS_LIVES):
            self.redis.kill()
            self.redis_deaths += 1
            self.redis.start()

    def kill_workers(self, version: int, pipe: int) -> None:
        """Each worker that dies has a successor."""
        context, lives = multiprocessing.get_context("fork"), 1
        workers: list[tuple[float, multiprocessing.Process]] = []
        while not self.over.wait(0.02):
            now = time.monotonic()
            for death, worker in workers:
                if death <= now:
                    worker.kill()
                    worker.join()
                    self.worker_deaths += 1
            workers = [each for each in workers if each[0] > now]
            while len(workers) < WORKERS:
                worker = context.Process(target=work, args=(self.any_port(), version, pipe, lives), daemon=True)
                worker.start()
                lives += 1
                workers.append((now + self.random.uniform(*WORKER_LIVES), worker))
        for _, worker in workers:
            worker.kill()
            worker.join()

    def disturbances(self, problem: str) -> list:
        """What goes wrong until the run is over, each on a thread of its own."""
        return [self.kill_servers, self.kill_redis] if self.redis else [self.kill_servers]

    def run(self) -> None:
        try:
            self.go()
        finally:
            for port, server in self.servers.items():
                self.last_words += f"server {port}, which {'has ended' if server.poll() is not None else 'lives'}:\n{self.log_of(port).read_text()[-2000:]}"
                server.kill()
                server.wait()
            if self.redis:
                self.redis.kill()

    def go(self) -> None:
        for port in self.ports:
            if not self.start_server(port):
                return
        caller = Caller(self.ports[0])
        version = caller.call("GET", "/healthz")[1]["gym_version"]
        problem = caller.call("POST", "/v1/problems", {"problem": PROBLEM})[1]["hash"]
        hearing, saying = os.pipe()
        listener = threading.Thread(target=self.hear, args=(hearing,))
        killers = [threading.Thread(target=each) for each in self.disturbances(problem)]
        killers.append(threading.Thread(target=self.kill_workers, args=(version, saying)))
        followers = [threading.Thread(target=self.follow, args=(problem,)) for _ in range(GROUPS_AT_ONCE)]
        for thread in [listener, *killers, *followers]:
            thread.start()
        for thread in followers:
            thread.join()
        self.over.set()
        for thread in killers:
            thread.join()
        os.close(saying)
        listener.join()

    def check(self) -> None:
        for number in range(self.next):
            read, taken = self.read[number], self.taken[number]
            if read == 0:
                self.problems.append(f"task {number} has no answer")
            elif taken and read != taken:
                self.problems.append(f"task {number}: the answer {taken} was taken, and {read} was read")
        self.aside = sum(1 for each in self.read if each == -1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--tasks", type=int, default=20000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", help="a folder on a real disk")
    parser.add_argument("--redis", action="store_true", help="tasks in a redis-server, which is killed too")
    parser.add_argument("--servers", type=int, default=1, help="several share a redis-server")
    given = parser.parse_args()
    if given.servers > 1 and not given.redis:
        parser.error("--servers needs --redis")
    if given.redis and PROGRAM is None:
        print("no redis-server: nothing was tried")
        return 77
    with tempfile.TemporaryDirectory(dir=given.data) as folder:
        begin = time.monotonic()
        run = Run(given.program, given.tasks, given.seconds, given.seed, folder, given.redis, given.servers)
        run.run()
        run.check()
        seconds = time.monotonic() - begin
    print(f"{run.accepted} tasks accepted in {seconds:.0f} s; {run.server_deaths} servers, {run.worker_deaths} workers and {run.redis_deaths} "
          f"redis-servers killed; "
          f"{run.aside} tasks put aside after two lost workers; {len(run.problems)} promises broken")
    for line in run.problems[:20]:
        print(line)
    if run.problems:
        print(run.last_words)
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())
