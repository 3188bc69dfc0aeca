#!/usr/bin/env python3
"""Several servers that share a queue in Redis, as real processes: one leads and the others forward to it; the leader is killed beneath calls that are
forwarded, Redis is killed, a leader is paused until another one leads, and a transaction reaches Redis late.
Usage: redis_test.py KERNELWRIGHT
exit: 0 fine, 1 not, 77 without redis-server"""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

from kill_many import PROBLEM
from ports import own_port
from redis_process import PROGRAM, Redis, folder_in_memory

LEASE_SECONDS, WAIT_SECONDS = 3, 60


def until(what, true):
    end = time.monotonic() + WAIT_SECONDS
    while not (value := true()):
        if time.monotonic() > end:
            raise AssertionError(f"never came: {what}")
        time.sleep(0.02)
    return value


class Server:
    """A server on a port that it keeps. address: the file that all servers write. more: options; token: of its callers."""

    def __init__(self, program, folder, store, address, *more, token=""):
        self.port = own_port()
        self.errors = pathlib.Path(folder) / f"server-{self.port}.err"
        self.words = [program, "serve", "--data", f"{folder}/data-{self.port}", "--port", str(self.port), "--store", store, "--leader-lease",
                      str(LEASE_SECONDS), "--address-file", str(address), *more]
        self.token = token
        self.url = f"{'https' if '--self-signed' in more else 'http'}://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=open(self.errors, "ab"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None, timeout=WAIT_SECONDS, **fields):
        """An answer whose body has not been read. fields: of the header, with "_" for "-"."""
        if "--self-signed" in self.words:
            context = ssl._create_unverified_context()  # noqa: S323  # the servers are ours
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in fields.items()}}
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()

    def call(self, method, path, body=None, timeout=WAIT_SECONDS, **fields):
        answer = self.ask(method, path, body, timeout, **fields)
        return answer.status, json.loads(answer.read()), answer.headers

    def call_patiently(self, method, path, body=None):
        """Repeats the call as clients do: after a 503, and after an answer that broke off."""
        def once():
            try:
                status, answer, _ = self.call(method, path, body)
            except (OSError, http.client.HTTPException):
                return None
            return None if status == 503 else (status, answer)

        return until(f"an answer to {path}", once)

    def health(self):
        """Its status, 0 when it cannot be reached, and its health."""
        try:
            return self.call("GET", "/healthz", timeout=5)[:2]
        except (OSError, http.client.HTTPException):
            return 0, {}

    def leads(self):
        status, health = self.health()
        return status == 200 and "waits_for" not in health

    def waits(self, leader):
        status, health = self.health()
        return status == 200 and health.get("waits_for") == leader.url

    def submit(self, *names):
        """Ids, by the names."""
        status, answer, _ = self.call("POST", "/v1/tasks", submission(*names))
        assert status == 200, (status, answer)
        return dict(zip(names, (task["id"] for task in answer["tasks"])))

    def state(self, task):
        status, answer, _ = self.call("GET", f"/v1/tasks/{task}")
        return answer["state"] if status == 200 else status


def submission(*names):
    request = {"kind": "trace", "target": "cpu", "workload": "", "timeout_seconds": 60, "problem": PROBLEM}
    return {"tasks": [{"request": {**request, "memory_bytes": 1 << 20 | number}, "submission": name} for name, number in
                      ((name, hash(name) & 0xFFFFF) for name in names)]}


def check_refusals(program, folder):
    def is_refused(store, reason):
        words = [program, "serve", "--data", f"{folder}/data", "--port", "0", "--store", store]
        done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_SECONDS)
        assert done.returncode == 2 and reason in done.stderr and "secret" not in done.stderr, done

    is_refused("tasks.sqlite", "--store: \"tasks.sqlite\" is no address of a Redis server")
    is_refused("redis://:secret@127.0.0.1", "KERNELWRIGHT_REDIS_PASSWORD")
    is_refused("rediss://127.0.0.1:6379/0", "speaks no TLS to Redis")
    is_refused("redis://192.0.2.1:6379/0", "--allow-plaintext-store")
    careless = Redis(f"{folder}/careless", own_port(), "--appendonly", "no")
    locked = Redis(f"{folder}/locked", own_port(), "--requirepass", "secret")
    try:
        is_refused(careless.url, 'must be "appendonly yes"')
        is_refused(locked.url, "NOAUTH")
        os.environ["KERNELWRIGHT_REDIS_PASSWORD"] = "secret"
        server = Server(program, folder, locked.url, f"{folder}/locked.json")
        try:
            until("a leader", server.leads)
        finally:
            server.kill()
            del os.environ["KERNELWRIGHT_REDIS_PASSWORD"]
    finally:
        careless.kill()
        locked.kill()
    print("what forgets, what others could read, and a wrong password are refused")


def lease(server, most, name, worker="w"):
    version = server.call("GET", "/healthz")[1]["gym_version"]
    body = {"worker": worker, "name": name, "gym_version": version, "wait_seconds": 5, "most": most}
    status, answer = server.call_patiently("POST", "/v1/leases", body)
    assert status == 200, (status, answer)
    return answer["leases"]


def complete(server, leased, graph):
    return server.call_patiently("POST", f"/v1/leases/{leased['task']}/complete", {"epoch": leased["epoch"], "graph": graph})


def in_background(call):
    """Returns what waits for the call's value."""
    values = []
    thread = threading.Thread(target=lambda: values.append(call()))
    thread.start()

    def wait():
        thread.join(WAIT_SECONDS)
        assert values, "the call failed or has no end"
        return values[0]

    return wait


def events_of(answer):
    """The types of a stream's events, until its end."""
    lines = answer.read().decode().splitlines()
    return [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]


def check_waiting_server(leader, waiting, address):
    until("a server that waits", lambda: waiting.waits(leader))
    assert json.loads(address.read_text())["url"] == leader.url
    tasks = waiting.submit("forwarded", "polled", "cancelled")
    assert leader.submit("forwarded", "polled", "cancelled") == tasks, "a name was not known to the leader"
    assert waiting.call("DELETE", f"/v1/tasks/{tasks['cancelled']}")[1]["state"] == "cancelled" == leader.state(tasks["cancelled"])
    polled = in_background(lambda: waiting.call("GET", f"/v1/tasks/{tasks['polled']}?wait=30")[1])
    for each in lease(waiting, 2, "by-the-waiting-one"):
        assert complete(waiting, each, f"answer {each['task']}")[0] == 200
    assert polled()["graph"].startswith("answer "), "a forwarded call did not wait for its task"

    group = {**submission("a", "b"), "group": "watched"}
    for task in group["tasks"]:
        task["submission"] += " watched"
    assert waiting.call("POST", "/v1/tasks", group)[0] == 200
    stream = waiting.ask("GET", "/v1/groups/watched/events")
    assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
    for each in lease(waiting, 2, "watched"):
        assert complete(waiting, each, "watched")[0] == 200
    assert events_of(stream) == ["task", "task", "end"]

    for path, fields in (("/", {"Accept": "text/html"}), ("/dashboard.js", {}), ("/v1/nothing", {}), ("/v1/groups/nobody", {}), ("/health", {}),
                         ("/status/nobody", {}), ("/metrics", {"Accept": "application/json"})):
        own, leaders = waiting.ask("GET", path, **fields), leader.ask("GET", path, **fields)
        same = ("Content-Type", "Content-Security-Policy", "Cache-Control", "Vary")
        assert own.status == leaders.status and [own.headers[each] for each in same] == [leaders.headers[each] for each in same], path
        page, leaders_page = own.read(), leaders.read()
        assert page == leaders_page or (b"timestamp" in page and own.status == 200) or path == "/metrics", path
    assert leader.ask("HEAD", "/dashboard.js").headers["Content-Length"] == waiting.ask("HEAD", "/dashboard.js").headers["Content-Length"]
    numbers = waiting.ask("GET", "/metrics").read().decode()
    assert 'kw_forwarded_calls_total{outcome="answered"}' in numbers and "kw_tasks_waiting" not in numbers

    status, answer, headers = waiting.call("GET", "/v1/queue", Via="1.1 kernelwright")
    assert status == 503 and headers["Retry-After"] == "1" and "does not lead either" in answer["error"]["message"], (status, answer)
    assert leader.call("GET", "/v1/queue", Via="1.1 kernelwright")[0] == 200
    print("one server leads; the other forwards calls, waits and streams to it, and what was forwarded twice is refused")


def check_tokens_are_passed_on(program, folder, store):
    """A token's tenant is the leader's to know. The leader's certificate is that of the address file."""
    tokens = pathlib.Path(folder) / "tokens"
    tokens.touch(0o600)
    tokens.write_text("token-of-one-tenant tenant=one\ntoken-of-two-tenant tenant=two\n")
    servers = []
    try:
        for _ in range(2):
            servers.append(Server(program, folder, store, f"{folder}/tokens.json", "--self-signed", "--tokens", str(tokens), token="token-of-one-tenant"))
            until("a leader", servers[0].leads)
        leader, waiting = servers
        until("a server that waits", lambda: waiting.waits(leader))
        task = waiting.submit("ones")["ones"]
        assert waiting.call("GET", f"/v1/tasks/{task}")[0] == leader.call("GET", f"/v1/tasks/{task}")[0] == 200
        assert waiting.call("GET", f"/v1/tasks/{task}", Authorization="Bearer token-of-two-tenant")[0] == 404
        assert waiting.call("GET", f"/v1/tasks/{task}", Authorization="Bearer token-of-nobody")[0] == 401
    finally:
        for server in servers:
            server.kill()
    print("a token is passed on over TLS, and its tenant with it")


def check_leader_killed_beneath_calls(leader, waiting, third):
    """The caller and the worker know the waiting server alone. Which of the two others leads next is chance."""
    for server in (waiting, third):
        until("a server that waits", lambda server=server: server.waits(leader))
    names = [f"beneath-{number}" for number in range(40)]
    body = {**submission(*names), "group": "beneath"}
    status, answer = waiting.call_patiently("POST", "/v1/tasks", body)
    assert status == 200
    tasks = dict(zip(names, (task["id"] for task in answer["tasks"])))
    taken = {}

    def answer_one(number):
        for each in lease(waiting, 1, f"beneath-{number}"):
            if complete(waiting, each, f"answer {number}")[0] == 200:
                assert each["task"] not in taken, "two answers were taken"
                taken[each["task"]] = f"answer {number}"

    for number in range(5):
        answer_one(number)
    stream = waiting.ask("GET", "/v1/groups/beneath/events?after=")
    open_task = next(task for task in tasks.values() if waiting.state(task) == "waiting")
    polled = in_background(lambda: waiting.call("GET", f"/v1/tasks/{open_task}?wait=30"))
    held = lease(waiting, 1, "held")
    submitted = in_background(lambda: [waiting.call_patiently("POST", "/v1/tasks", submission(f"during-{number}")) for number in range(20)])
    leader.kill()
    status, answer, headers = polled()
    assert status == 503 and headers["Retry-After"] == "1" and leader.url in answer["error"]["message"], (status, answer)
    try:
        assert "end" not in events_of(stream), "a stream that broke off has an end"
        raise AssertionError("a stream that broke off was taken for a whole one")
    except (http.client.IncompleteRead, ConnectionError):
        pass
    assert all(status == 200 for status, _ in submitted())
    assert complete(waiting, held[0], "held")[0] == 200
    number = 5
    while waiting.call_patiently("GET", "/v1/queue")[1]["waiting"] > 0:
        answer_one(number)
        number += 1
    ends = [waiting.call_patiently("GET", f"/v1/tasks/{task}")[1] for task in tasks.values()]
    assert all(end["state"] == "done" for end in ends), [end["state"] for end in ends]
    again = waiting.call_patiently("POST", "/v1/tasks", body)[1]["tasks"]
    assert [task["id"] for task in again] == list(tasks.values()), "a repeated submission is another task"
    print("the leader was killed beneath forwarded calls: broken answers were told apart, and nothing was lost or answered twice")


def check_killed_leader(leader, waiting, address):
    """Returns the tasks."""
    tasks = leader.submit(*(f"before-{number}" for number in range(50)))
    version = leader.call("GET", "/healthz")[1]["gym_version"]
    _, answer, _ = leader.call("POST", "/v1/leases", {"worker": "w", "name": "l", "gym_version": version, "wait_seconds": 5, "most": 2})
    first, second = answer["leases"]
    done = {"epoch": first["epoch"], "graph": "first"}
    assert leader.call("POST", f"/v1/leases/{first['task']}/complete", done)[0] == 200
    leader.kill()
    until("the other server leads", waiting.leads)
    assert until("its address", lambda: json.loads(address.read_text())["url"] == waiting.url)
    states = [waiting.state(task) for task in tasks.values()]
    assert states.count("done") == 1 and states.count("leased") == 1 and states.count("waiting") == 48, states
    again = {"epoch": first["epoch"] + 1, "graph": "second"}
    assert waiting.call("POST", f"/v1/leases/{first['task']}/complete", again)[0] == 409
    assert waiting.call("POST", f"/v1/leases/{second['task']}/complete", {"epoch": second["epoch"], "graph": "second"})[0] == 200
    print("the leader was killed: the other went on with all of its tasks and leases")
    return tasks


def check_paused_leader(leader, waiting):
    """A submission reaches the paused leader, which reads it when another one leads already: it refuses it, or knows by then and forwards it."""
    until("a server that waits", lambda: waiting.waits(leader))
    os.kill(leader.process.pid, signal.SIGSTOP)
    outcome = []

    def submit():
        try:
            outcome.append(leader.call("POST", "/v1/tasks", submission("paused"))[0])
        except (OSError, http.client.HTTPException):
            outcome.append(0)  # it was cut off

    caller = threading.Thread(target=submit)
    caller.start()
    until("the other server leads", waiting.leads)
    known = waiting.submit("known")["known"]
    os.kill(leader.process.pid, signal.SIGCONT)
    caller.join()
    is_forwarded = outcome[0] == 200
    until("the paused server waits", lambda: leader.waits(waiting))
    assert waiting.state(known) == "waiting"
    waiting_tasks = waiting.call("GET", "/v1/queue")[1]["waiting"]
    waiting.submit("paused")
    expected = waiting_tasks + (0 if is_forwarded else 1)
    assert waiting.call("GET", "/v1/queue")[1]["waiting"] == expected, "the paused server has accepted a task, or written one"
    print("a leader that was paused has written nothing, and waits")


LEAD = "kernelwright:leader"  # the key that the leader renews


def check_killed_redis(redis, leader):
    tasks = leader.submit(*(f"redis-{number}" for number in range(50)))
    redis.kill()
    later = {}
    caller = threading.Thread(target=lambda: later.update(leader.submit("while-it-was-down")))
    caller.start()
    redis.start()
    caller.join()
    tasks.update(later)
    assert len(later) == 1 and all(leader.state(task) == "waiting" for task in tasks.values())
    redis.kill()
    redis.start()
    leader.kill()
    redis.call("PEXPIRE", LEAD, "60000")  # however long the start takes, it is within the lease
    leader.start()
    until("a server that was started anew and waits", lambda: "was started anew" in leader.health()[1].get("error", {}).get("message", ""))
    redis.call("DEL", LEAD)
    until("a leader", leader.leads)
    assert all(leader.state(task) == "waiting" for task in tasks.values()), "an acknowledged task is lost"
    print("Redis was killed: nothing that was acknowledged is lost")


class Proxy:
    """Between a server and Redis. hold(): the next transaction is kept back, and its sender cut off; let_go() sends it on."""

    def __init__(self, port):
        self.target, self.listener = port, socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}/0"
        self.is_holding, self.held, self.answered = False, threading.Event(), threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            far = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.forward, args=(near, far), daemon=True).start()
            threading.Thread(target=self.back, args=(far, near), daemon=True).start()

    def forward(self, near, far):
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 20):
                if self.is_holding and b"kernelwright:jobs" in data:
                    self.is_holding, self.late = False, (far, data)
                    near.shutdown(socket.SHUT_RDWR)
                    self.held.set()
                    return
                far.sendall(data)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_WR)

    def back(self, far, near):
        while data := far.recv(1 << 20):
            with contextlib.suppress(OSError):
                near.sendall(data)
        if self.held.is_set() and far is self.late[0]:
            self.answered.set()

    def hold(self):
        self.is_holding = True

    def let_go(self):
        far, data = self.late
        far.sendall(data)
        far.shutdown(socket.SHUT_WR)  # Redis answers what it has read, and closes
        assert self.answered.wait(WAIT_SECONDS)


def check_late_transaction(program, folder, redis):
    proxy = Proxy(redis.port)
    server = Server(program, folder, proxy.url, f"{folder}/late.json")
    try:
        until("a leader", server.leads)
        proxy.hold()
        task = server.submit("late")["late"]
        assert proxy.held.is_set(), "nothing was held back"
        assert server.call("DELETE", f"/v1/tasks/{task}")[0] == 200
        proxy.let_go()
        server.kill()
        server.start()
        until("a leader", server.leads)
        assert server.state(task) == "cancelled", f"{server.state(task)}: an old transaction has overwritten a later one"
    finally:
        server.kill()
    print("a transaction that came late changed nothing")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    if PROGRAM is None:
        print("no redis-server: nothing was tried")
        return 77
    with folder_in_memory() as folder:
        os.environ.update(XDG_CACHE_HOME=f"{folder}/cache", XDG_DATA_HOME=f"{folder}/data", NO_COLOR="1")
        check_refusals(program, folder)
        redis, address, servers = Redis(f"{folder}/redis", own_port()), pathlib.Path(folder) / "server.json", []
        try:
            servers.append(Server(program, folder, redis.url, address))
            until("a leader", servers[0].leads)
            servers.append(Server(program, folder, redis.url, address))
            check_waiting_server(*servers, address)
            check_tokens_are_passed_on(program, folder, redis.url.removesuffix("0") + "1")
            check_killed_leader(*servers, address)
            servers[0].start()
            check_paused_leader(servers[1], servers[0])
            servers.append(Server(program, folder, redis.url, address))
            check_leader_killed_beneath_calls(*servers)
            for server in servers[1:]:
                server.kill()
            servers[0].start()
            until("a leader", servers[0].leads)
            check_killed_redis(redis, servers[0])
            servers[0].process.terminate()
            assert servers[0].process.wait(WAIT_SECONDS) == 0
            check_late_transaction(program, folder, redis)
        except BaseException:
            for server in servers:
                print(server.errors.read_text()[-2000:], file=sys.stderr)
            raise
        finally:
            for server in servers:
                server.kill()
            redis.kill()
    print("fine")
    return 0


if __name__ == "__main__":
    sys.exit(main())
