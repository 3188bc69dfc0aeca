#!/usr/bin/env python3
"""A service under faults of all kinds for as long as is asked: nothing accepted is lost or answered twice, no verdict is wrong, nothing is left over, and
servers and workers that live through it do not grow.

    bench/service_soak.py [--program build/release/bin/kernelwright] [--hours 24] [--rate 55] [--faults 8] [--seed 1]

Three servers share a Redis. Null workers (tests/service/kill_many.py) answer --rate tasks a second, and die at random; two `kernelwright worker` judge
candidates of the attack corpus in C++ and Python, one in ten of them hostile, for an `eval --judge` that goes on to the end. The first server and the first
worker are never killed or stopped by a fault: their memory and descriptors are watched (of a successor where a full disk has ended the server). --faults a
minute come one at a time, in rounds of all kinds. After each, the time until the next answer comes is taken.

Root is needed for the full disk: all data then lie on a file system in memory of this script's own. kill_many.py says when a task of the null workers is lost,
answered twice or put aside. exit: 0 fine, 1 not, 77 without redis-server."""

import argparse
import asyncio
import collections
import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from common import ROOT, add_program_option, private_home
from soak import ATTACKS, descendants, descriptors, programs, resident_mib, solution, trusted

sys.path.insert(0, str(ROOT / "tests/service"))
from kill_many import Caller, Run, null_task  # noqa: E402
from ports import own_port  # noqa: E402
from redis_process import PROGRAM as REDIS  # noqa: E402

INSIDE = "KW_SERVICE_SOAK_INSIDE"
DISK_MIB = 2048
MOST_FLOODED = 2_000_000  # tasks of floods, all together
SERVERS = 3
COPIES = 20  # of each program, with texts of their own
BATCH = 400  # solutions of one `eval`
GROUP = 50  # tasks of null workers that are submitted together
HALF_OPEN = 300
CANCELLED = 200
SAMPLE_SECONDS = 5
RECOVERY_SECONDS = 120  # without any answer: nothing goes on any more
GARBAGE = (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x",
           b"POST /v1/tasks HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", b"\x00" * 4096, b"GET /" + b"a" * 100_000)


def has_own_disk() -> bool:
    return INSIDE in os.environ


class Link:
    """Connections to a server through a port of its own, which can stall or break, as a network's do."""

    def __init__(self, to: int):
        self.to, self.port = to, own_port()
        self.loop = asyncio.new_event_loop()
        self.flows = asyncio.Event()
        self.writers: set[asyncio.StreamWriter] = set()
        self.up = True
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(self.listen(), self.loop).result(30)

    async def listen(self) -> None:
        self.flows.set()
        self.server = await asyncio.start_server(self.connect, "127.0.0.1", self.port)

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            if self.up:
                there, back = await asyncio.open_connection("127.0.0.1", self.to)
                self.writers.add(back)
                await asyncio.gather(self.carry(reader, back), self.carry(there, writer))
                self.writers.discard(back)
        except OSError:
            pass
        self.writers.discard(writer)
        writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until one side has ended: then the other's connection ends as well."""
        try:
            while data := await reader.read(65536):
                await self.flows.wait()
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    def stall(self, seconds: float) -> None:
        self.loop.call_soon_threadsafe(self.flows.clear)
        time.sleep(seconds)
        self.loop.call_soon_threadsafe(self.flows.set)

    def break_for(self, seconds: float) -> None:
        """All connections are reset, and new ones end at once."""
        self.up = False
        self.loop.call_soon_threadsafe(lambda: [each.transport.abort() for each in list(self.writers)])
        time.sleep(seconds)
        self.up = True


class Judged:
    """Candidates whose outcomes are known, judged by an `eval` after the other."""

    def __init__(self, seed: int):
        self.honest, self.hostile = programs(True), programs(False)
        self.random = random.Random(seed)
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.verdicts = self.batches = self.resumed = 0

    def write(self, path: pathlib.Path) -> dict[str, list[str]]:
        """The expected outcomes, by name."""
        expected = {}
        with path.open("w") as out:
            for number in range(BATCH):
                file, outcomes = self.random.choice(self.hostile if number % 10 == 0 else self.honest)
                each = solution(file, f"{self.batches}_{number}")
                mark = "//" if file.suffix == ".cpp" else "#"
                each["sources"][0]["content"] += f"\n{mark} copy {self.random.randrange(COPIES)}\n"
                expected[each["name"]] = outcomes
                out.write(json.dumps(each) + "\n")
        return expected

    def read(self, log: pathlib.Path, expected: dict[str, list[str]]) -> None:
        seen = set()
        for line in log.read_text().splitlines():
            verdict = json.loads(line)["verdict"]
            name, outcome = verdict["candidate"]["name"], verdict["outcome"]
            if name in seen:
                self.wrong.append(f"{name} has two verdicts")
            seen.add(name)
            self.outcomes[outcome] += 1
            if outcome not in expected[name]:
                self.wrong.append(f"{name}: {outcome} {verdict.get('violation', '')}, not {' or '.join(expected[name])}")
        self.verdicts += len(seen)
        if len(seen) != len(expected):
            self.wrong.append(f"batch {self.batches}: {len(expected) - len(seen)} candidates without a verdict")


class Watched:
    """Memory and descriptors of a process that lives through the run, with its trusted children."""

    def __init__(self, name: str, pid: int, with_children: bool):
        self.name, self.pid, self.with_children = name, pid, with_children
        self.samples: list[tuple[float, float, int]] = []  # hours, MiB, descriptors

    def look(self, hours: float) -> None:
        own = trusted(self.pid, descendants(self.pid)) if self.with_children else [self.pid]
        self.samples.append((hours, sum(map(resident_mib, own)), sum(map(descriptors, own))))

    def growth(self) -> tuple[float, float, float]:
        """MiB an hour and descriptors an hour, and the last quarter's least MiB. Memory comes and goes with the lead by 40 MiB, and descriptors with connections
        by hundreds. What is never given back raises the least and the most alike, so the smaller rise of these counts, from the second to the last quarter."""
        quarter = max(1, len(self.samples) // 4)
        parts = self.samples[quarter : 2 * quarter], self.samples[-quarter:]
        hours = max(statistics.median(each[0] for each in parts[1]) - statistics.median(each[0] for each in parts[0]), 1e-9)
        mib, files = (min(extreme(each[i] for each in parts[1]) - extreme(each[i] for each in parts[0]) for extreme in (min, max)) for i in (1, 2))
        return mib / hours, files / hours, min(each[1] for each in parts[1])


class Soak(Run):
    def __init__(self, given: argparse.Namespace, folder: str):
        seconds = given.hours * 3600
        super().__init__(given.program, int(seconds * given.rate) + MOST_FLOODED, seconds, given.seed, folder, True, SERVERS)
        self.given, self.begin, self.group = given, time.monotonic(), GROUP
        self.temporary = pathlib.Path(folder) / "tmp"
        self.temporary.mkdir()
        self.environment = private_home(pathlib.Path(folder)) | {"NO_COLOR": "1", "TMPDIR": str(self.temporary)}
        self.flood_until, self.flooded = 0.0, 0  # and tasks of floods so far
        self.faults: collections.Counter[str] = collections.Counter()
        self.recoveries: dict[str, list[float]] = collections.defaultdict(list)
        self.links = [Link(port) for port in self.ports]
        self.workers: list[subprocess.Popen] = []
        self.worker_pids: list[int] = []
        self.evaluation: subprocess.Popen | None = None
        self.disk_has_room = True
        self.judged = Judged(given.seed)
        self.cancelled = itertools.count(self.tasks)  # numbers of tasks that are not counted
        self.watched: list[Watched] = []

    def broken(self, what: str) -> None:
        print(f"{(time.monotonic() - self.begin) / 60:7.1f} min  {what}", flush=True)
        super().broken(what)

    # What is asked for.

    def take_group(self) -> int | None:
        while not self.over.is_set():
            now = time.monotonic()
            if now < self.flood_until:
                self.flooded += self.group
                return super().take_group()
            if now >= self.end or self.next - self.flooded <= (now - self.begin) * self.given.rate:
                return super().take_group()
            time.sleep(0.05)
        return None

    def start_worker(self, number: int) -> subprocess.Popen:
        """Each has a link to a server of its own."""
        words = [self.program, "worker", "--server", f"http://127.0.0.1:{self.links[number].port}", "--name", f"worker-{number}",
                 "--state", f"{self.folder}/worker-{number}.state"]
        worker = subprocess.Popen(words, stderr=open(f"{self.folder}/worker-{number}.err", "ab"), env=self.environment)
        self.worker_pids.append(worker.pid)
        return worker

    def evaluate(self) -> None:
        """`eval --judge` of a batch after the other until the run is over. One that was killed goes on with --resume."""
        folder = pathlib.Path(self.folder)
        solutions, out = folder / "solutions.jsonl", folder / "out.jsonl"
        log = folder / "out.jsonl.verdicts.jsonl"
        while time.monotonic() < self.end and not self.over.is_set():
            expected = self.judged.write(solutions)
            for file in (out, log):
                file.unlink(missing_ok=True)
            words = [self.program, "eval", "--dataset", str(ATTACKS / "problem"), "--solutions", str(solutions), "--out", str(out), "--no-timing", "--no-evidence",
                     "--jobs", "6", "--judge", f"http://127.0.0.1:{self.ports[0]}"]
            tries = 0
            while True:
                with open(folder / "eval.err", "ab") as err:
                    self.evaluation = subprocess.Popen([*words, *(["--resume"] if tries else [])], stdout=subprocess.DEVNULL, stderr=err, env=self.environment)
                code = self.evaluation.wait()
                if code == 0:
                    break
                # Killed by a fault; or a failure of the infrastructure that outlived its retries, which --resume tries again.
                self.judged.resumed += 1
                tries += 1
                time.sleep(1)  # its server may be away
                if tries > 100:
                    return self.broken(f"eval --judge does not end: exit {code}: {(folder / 'eval.err').read_text()[-1000:]}")
            self.judged.read(log, expected)
            self.judged.batches += 1

    # What goes wrong. Each ends by itself, and all is there again.

    def any_server_but_first(self) -> int:
        return self.random.choice(self.ports[1:])

    def server_is_killed(self) -> None:
        self.end_server(self.any_server_but_first(), signal.SIGKILL)

    def server_is_asked_to_stop(self) -> None:
        self.end_server(self.any_server_but_first(), signal.SIGTERM)

    def end_server(self, port: int, how: signal.Signals) -> None:
        self.servers[port].send_signal(how)
        self.servers[port].wait()
        self.start_server(port)

    def server_is_paused(self) -> None:
        self.pause(self.servers[self.any_server_but_first()].pid)

    def redis_is_killed(self) -> None:
        self.redis.kill()
        time.sleep(self.random.uniform(0, 3))
        self.redis.start()

    def redis_is_paused(self) -> None:
        self.pause(self.redis.process.pid)

    def pause(self, pid: int) -> None:
        """For longer than a leader's lease and a task's, or for less."""
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.random.uniform(0.5, 6))
        os.kill(pid, signal.SIGCONT)

    def disk_is_full(self) -> None:
        self.disk_has_room = False
        fill = pathlib.Path(self.folder) / "fill"
        with open(fill, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(1 << 16)):
                pass
        time.sleep(self.random.uniform(0.5, 4))
        fill.unlink()
        while os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize < DISK_MIB << 19:
            time.sleep(0.05)  # the kernel gives the room back a moment later
        # Redis ends at the first write that fails, which may be the next one.
        while not self.redis.call("SET", "kw-soak", "1").startswith("+OK"):
            time.sleep(0.1)
            with contextlib.suppress(RuntimeError):
                if self.redis.process.poll() is not None:
                    self.redis.start()
        for port, server in self.servers.items():
            if server.poll() is not None:
                print(f"a full disk ended a server: {self.log_of(port).read_text()[-300:]}")
                self.start_server(port)
        if self.watched[0].pid != self.servers[self.ports[0]].pid:
            self.watched[0] = Watched("server", self.servers[self.ports[0]].pid, False)
        self.disk_has_room = True

    def worker_is_killed(self) -> None:
        self.end_worker(signal.SIGKILL)

    def worker_is_asked_to_stop(self) -> None:
        self.end_worker(signal.SIGTERM)

    def end_worker(self, how: signal.Signals) -> None:
        self.workers[1].send_signal(how)
        self.workers[1].wait()
        self.workers[1] = self.start_worker(1)

    def worker_is_paused(self) -> None:
        self.pause(self.workers[1].pid)

    def link_stalls(self) -> None:
        self.random.choice(self.links).stall(self.random.uniform(0.5, 8))

    def link_breaks(self) -> None:
        self.random.choice(self.links).break_for(self.random.uniform(0, 5))

    def client_is_killed(self) -> None:
        if self.evaluation and self.evaluation.poll() is None:
            self.evaluation.kill()

    def connections_stay_half_open(self) -> None:
        port = self.any_port()
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for _ in range(HALF_OPEN):
                half_open = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
                half_open.sendall(b"GET /v1/queue HTTP/1.1\r\nHost: a\r\nX-")
            time.sleep(self.random.uniform(0.5, 4))

    def answers_are_not_read(self) -> None:
        port = self.any_port()
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for _ in range(20):
                reader = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
                reader.sendall(b"GET /v1/overview HTTP/1.1\r\nHost: a\r\n\r\n" * 200)
            time.sleep(self.random.uniform(0.5, 4))

    def garbage_is_sent(self) -> None:
        for garbage in GARBAGE:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.any_port()), timeout=10) as connection:
                connection.settimeout(2)
                connection.sendall(garbage)
                connection.recv(65536)

    def tasks_flood(self) -> None:
        self.flood_until = time.monotonic() + self.random.uniform(0.5, 2)
        time.sleep(2)

    def tasks_are_cancelled(self) -> None:
        """Each has been cancelled then, or was done before."""
        caller = Caller(self.any_port())
        status, answer = caller.call("POST", "/v1/tasks", {"tasks": [null_task(next(self.cancelled), self.problem) for _ in range(CANCELLED)]})
        if status != 200:
            return self.broken(f"tasks that are cancelled later: status {status}: {answer}")
        for each in answer["tasks"]:
            status, task = caller.call("DELETE", f"/v1/tasks/{each['id']}")
            if status != 200 or task["state"] not in ("cancelled", "done", "dead"):
                self.broken(f"a task that was cancelled: status {status}: {task}")

    def disturb(self) -> None:
        kinds = [self.server_is_killed, self.server_is_asked_to_stop, self.server_is_paused, self.redis_is_killed, self.redis_is_paused, self.worker_is_killed,
                 self.worker_is_asked_to_stop, self.worker_is_paused, self.link_stalls, self.link_breaks, self.client_is_killed, self.connections_stay_half_open,
                 self.answers_are_not_read, self.garbage_is_sent, self.tasks_flood, self.tasks_are_cancelled]
        if has_own_disk():
            kinds.append(self.disk_is_full)
        kinds = [each for each in kinds if self.given.only in each.__name__]
        waiting = []
        while not self.over.wait(self.random.expovariate(self.given.faults / 60)):
            waiting = waiting or self.random.sample(kinds, len(kinds))
            fault = waiting.pop()
            name = fault.__name__.replace("_", " ")
            try:
                fault()
            except Exception as error:  # noqa: BLE001  # whatever a fault could not do ends the run
                self.broken(f"{name}: {error!r}")
                return self.over.set()
            self.faults[name] += 1
            before, began = self.heard, time.monotonic()
            while self.heard == before and not self.over.wait(0.01):
                if time.monotonic() > began + RECOVERY_SECONDS:
                    self.broken(f"{name}: no answer within {RECOVERY_SECONDS} s")
                    self.over.set()
            self.recoveries[name].append(time.monotonic() - began)

    def watch(self) -> None:
        looks = itertools.count()
        while not self.over.wait(SAMPLE_SECONDS):
            hours = (time.monotonic() - self.begin) / 3600
            for each in self.watched:
                each.look(hours)
            for name, process in (("the first server", self.servers[self.ports[0]]), ("the first worker", self.workers[0])):
                if process.poll() is not None and (name != "the first server" or self.disk_has_room):
                    self.broken(f"{name} has ended: {process.returncode}")
                    self.over.set()
            if next(looks) % 12 == 0:
                sizes = "  ".join(f"{each.name} {each.samples[-1][1]:.1f} MiB {each.samples[-1][2]}" for each in self.watched if each.samples)
                print(f"{60 * hours:7.1f} min  {self.accepted:8} tasks  {self.judged.verdicts:6} verdicts  {sum(self.faults.values()):5} faults  {sizes}", flush=True)

    def disturbances(self, problem: str) -> list:
        self.problem = problem
        self.workers = [self.start_worker(number) for number in range(2)]
        self.watched = [Watched("server", self.servers[self.ports[0]].pid, False), Watched("worker", self.workers[0].pid, True)]
        return [self.disturb, self.watch, self.evaluate]

    def go(self) -> None:
        try:
            super().go()
        finally:
            for worker in self.workers:
                worker.terminate()
            for worker in self.workers:
                worker.wait(120)


    def left_over(self) -> dict[str, int]:
        """What workers, killed ones among them, should have taken with them. Orphans are this process's children."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        groups = sum(1 for pid in self.worker_pids for _ in pathlib.Path("/sys/fs/cgroup").rglob(f"kernelwright-{pid}-*"))
        return {"processes": len(descendants(os.getpid())) - 1, "cgroups": groups, "files": len(list(self.temporary.iterdir())),
                "mounts": pathlib.Path("/proc/self/mounts").read_text().count("kernelwright")}


def soak(given: argparse.Namespace, folder: str) -> int:
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)
    run = Soak(given, folder)
    run.run()
    run.check()
    time.sleep(2)
    left = {name: count for name, count in run.left_over().items() if count}
    hours = (time.monotonic() - run.begin) / 3600
    print(f"{hours:.2f} hours: {run.accepted} tasks accepted, {run.aside} of them put aside after two lost workers; {run.worker_deaths} null workers killed")
    print(f"{run.judged.verdicts} verdicts of candidates, {len(run.judged.wrong)} not as expected: {dict(run.judged.outcomes)}; `eval` went on {run.judged.resumed} times")
    for name, times in sorted(run.recoveries.items()):
        print(f"  {name:28} {run.faults[name]:4} times; the next answer after {statistics.median(times):5.2f} s, at most {max(times):5.2f} s")
    bad = list(run.problems) + run.judged.wrong
    for each in run.watched:
        mib, files, last = each.growth()
        print(f"{each.name}: at least {last:.1f} MiB in the last quarter, {mib:+.2f} MiB and {files:+.1f} descriptors an hour")
        if mib >= given.slope or files >= 1:
            bad.append(f"{each.name} grew")
    if left:
        bad.append(f"left over: {left}")
    for line in bad[:20]:
        print(line)
    if run.problems:
        print(run.last_words)
    print(f"{len(bad)} promises broken")
    return 1 if bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--rate", type=float, default=55, help="tasks a second that null workers answer")
    parser.add_argument("--faults", type=float, default=8, help="a minute")
    parser.add_argument("--slope", type=float, default=1, help="MiB an hour by which server and worker may grow")
    parser.add_argument("--only", default="", help="faults whose functions have this in their names")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.program = os.path.realpath(given.program)
    if REDIS is None:
        print("no redis-server: nothing was tried")
        return 77
    if os.geteuid() == 0 and not has_own_disk():
        return subprocess.run(["unshare", "--mount", sys.executable, *sys.argv], env=os.environ | {INSIDE: "1"}, check=False).returncode
    with tempfile.TemporaryDirectory(prefix="kw-service-soak-") as folder, contextlib.ExitStack() as stack:
        if has_own_disk():
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "none", folder], check=True)
            stack.callback(subprocess.run, ["umount", "-l", folder], check=True)
        return soak(given, folder)


if __name__ == "__main__":
    sys.exit(main())
