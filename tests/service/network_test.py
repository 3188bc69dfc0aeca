#!/usr/bin/env python3
"""Three servers and a Redis in network namespaces of their own, with addresses and two networks: "front", for callers and forwarding, and "store", to Redis.
Links go down: between the leader and all others, and between the leader and Redis. Twice: with the servers' own certificates and an address file, and with
those of a certificate authority. No accepted task is lost or answered twice, whatever link is down.
Usage: network_test.py KERNELWRIGHT
exit: 0 fine, 1 not, 77 without redis-server, openssl, ip, or the right to make network namespaces"""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import time

from kill_many import PROBLEM
from redis_process import PROGRAM as REDIS
from redis_process import folder_in_memory

LEASE_SECONDS, WAIT_SECONDS, PORT = 3, 60, 8100
TOKEN = "a-token-of-this-test"
INSIDE = "KW_NETWORK_TEST_INSIDE"


def run(*words, check=True, **more):
    return subprocess.run([str(word) for word in words], check=check, capture_output=True, text=True, **more)


def until(what, true, seconds=WAIT_SECONDS):
    """The value, and the seconds until it came."""
    begin = time.monotonic()
    while not (value := true()):
        assert time.monotonic() < begin + seconds, f"never came: {what}"
        time.sleep(0.05)
    return value, time.monotonic() - begin


class Node:
    """A network namespace with a link to each of some networks; front is 10.77.0.N, store 10.78.0.N."""

    def __init__(self, number, *networks):
        self.number, self.address = number, f"10.77.0.{number}"
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        until("a namespace", lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"))
        run(*self.inside("ip", "link", "set", "lo", "up"))
        for network in networks:
            link, prefix = f"{network}{number}", {"front": "10.77.0", "store": "10.78.0"}[network]
            run("ip", "link", "add", link, "type", "veth", "peer", "name", network, "netns", self.holder.pid)
            run("ip", "link", "set", link, "master", network, "up")
            run(*self.inside("ip", "address", "add", f"{prefix}.{number}/24", "dev", network))
            run(*self.inside("ip", "link", "set", network, "up"))

    def inside(self, *words):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *words]

    def start(self, words, **more):
        return subprocess.Popen(self.inside(*words), **more)

    def cut(self, network):
        run("ip", "link", "set", f"{network}{self.number}", "down")

    def mend(self, network):
        run("ip", "link", "set", f"{network}{self.number}", "up")


class Server:
    def __init__(self, program, folder, node, tls, environment):
        self.node, self.url = node, f"https://{node.address}:{PORT}"
        self.errors = folder / f"server-{node.number}.err"
        words = [program, "serve", "--data", folder / f"data-{node.number}", "--host", node.address, "--port", PORT, "--public-name", node.address, "--tokens",
                 folder / "tokens", "--store", "redis://10.78.0.9:6379/0", "--allow-plaintext-store", "--leader-lease", LEASE_SECONDS, *tls(node)]
        self.process = node.start([str(word) for word in words], env=environment, stdout=subprocess.DEVNULL, stderr=self.errors.open("ab"))

    def call(self, method, path, body=None, timeout=5):
        connection = http.client.HTTPSConnection(self.node.address, PORT, timeout=timeout, context=ssl._create_unverified_context())  # noqa: S323
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def try_call(self, *words, timeout=5):
        try:
            return self.call(*words, timeout=timeout)
        except (OSError, http.client.HTTPException):
            return 0, {}

    def health(self):
        return self.try_call("GET", "/healthz")

    def leads(self):
        status, health = self.health()
        return status == 200 and "waits_for" not in health

    def waits_for(self, leader):
        status, health = self.health()
        return status == 200 and health.get("waits_for") == leader.url

    def submit(self, name):
        """The task's id, or None where it was not accepted now."""
        request = {"kind": "trace", "target": "cpu", "workload": "", "timeout_seconds": 60, "problem": PROBLEM, "memory_bytes": 1 << 20 | hash(name) & 0xFFFFF}
        status, answer = self.try_call("POST", "/v1/tasks", {"tasks": [{"request": request, "submission": name}]})
        return answer["tasks"][0]["id"] if status == 200 else None


def judge_all(server, answers):
    """Leases and answers what waits; answers: of each judgement, the one that was taken."""
    version = server.call("GET", "/healthz")[1]["gym_version"]
    while True:
        status, got = server.try_call("POST", "/v1/leases", {"worker": "w", "gym_version": version, "most": 50})
        if status != 200 or not got["leases"]:
            return
        for lease in got["leases"]:
            graph = f"{lease['task']} of epoch {lease['epoch']}"
            status, _ = server.try_call("POST", f"/v1/leases/{lease['task']}/complete", {"epoch": lease["epoch"], "graph": graph})
            if status == 200:
                assert answers.setdefault(lease["task"], graph) == graph, "a task took two answers"


class Trial:
    def __init__(self, servers):
        self.servers, self.accepted, self.answers, self.number = servers, {}, {}, 0

    def leader(self, among=None):
        """The server that leads, as all of those that can be reached say: one that was cut off may take itself for the leader for a while."""
        def agreed():
            servers = among or self.servers
            for leader in servers:
                if leader.leads() and all(other.waits_for(leader) for other in servers if other is not leader):
                    return leader
            return None

        return until("a leader on whom all agree", agreed)[0]

    def others(self, leader):
        return [each for each in self.servers if each is not leader]

    def submit_by(self, server):
        """A new task by this server, as a client sends it: again under its name until it is accepted. Returns the seconds."""
        self.number += 1
        name = f"task {self.number}"
        task, seconds = until(f"the acceptance of {name}", lambda: server.submit(name))
        self.accepted[name] = task
        return seconds

    def check(self):
        """What was accepted is there, by every server, and is answered once."""
        begin, leader = time.monotonic(), self.leader()
        print(f"    all servers answered {time.monotonic() - begin:.1f} s later", flush=True)
        judge_all(self.others(leader)[0], self.answers)
        for name, task in self.accepted.items():
            for server in self.servers:
                status, state = server.call("GET", f"/v1/tasks/{task}")
                assert status == 200 and state["state"] == "done" and state["graph"] in self.answers.values(), (name, task, status, state)
            assert leader.submit(name) == task, "a name was forgotten"


def partitions(trial):
    for server in trial.servers:
        trial.submit_by(server)
    trial.check()
    leader = trial.leader()

    leader.node.cut("front")
    near = trial.others(leader)
    status, answer = until("a refusal", lambda: (got := near[0].try_call("GET", "/v1/queue", timeout=40))[0] == 503 and got)[0]
    assert "cannot be reached" in answer["error"]["message"], answer
    time.sleep(2 * LEASE_SECONDS)
    leader.node.mend("front")
    seconds = trial.submit_by(near[0])
    assert trial.leader() is leader, "a leader that reaches Redis has lost its lead"
    print(f"  the leader was cut off from all but Redis: it led on, and a call went through {seconds:.1f} s after the link was back")
    trial.check()

    leader.node.cut("store")
    begin = time.monotonic()
    seconds = trial.submit_by(near[0])
    trial.leader(near)  # is one of them
    print(f"  the leader was cut off from Redis: a task was accepted by another one after {seconds:.1f} s (its lease: {LEASE_SECONDS} s)")
    accepted = leader.submit("by the lost leader")
    if accepted:  # it forwards
        trial.accepted["by the lost leader"] = accepted
    time.sleep(max(0, begin + LEASE_SECONDS * 2 - time.monotonic()))
    leader.node.mend("store")
    for server in trial.servers:
        if server.process.poll() is not None:
            raise AssertionError(server.errors.read_text()[-1000:])
    trial.check()

    leader = trial.leader()
    near = trial.others(leader)
    leader.node.cut("store")
    leader.node.cut("front")
    seconds = trial.submit_by(near[0])
    print(f"  the leader was cut off from everybody: a task was accepted by another one after {seconds:.1f} s")
    leader.node.mend("front")
    leader.node.mend("store")
    trial.check()


def own_certificates(folder):
    """Each writes its certificate into the address file, where the others find it."""
    return lambda node: ["--self-signed", "--address-file", folder / "server.json"]


def authority(folder):
    config = folder / "ca.cnf"
    config.write_text("[req]\ndistinguished_name=dn\n[dn]\n")
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder / "ca.key", "-out", folder / "ca.crt",
        "-subj", "/CN=a test", "-days", "2", "-config", config, "-addext", "basicConstraints=critical,CA:TRUE")

    def files(node):
        key, certificate, request = (folder / f"{node.number}.{kind}" for kind in ("key", "crt", "csr"))
        (folder / f"{node.number}.ext").write_text(f"subjectAltName=IP:{node.address}\n")
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={node.address}",
            "-config", config)
        run("openssl", "x509", "-req", "-in", request, "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key", "-CAcreateserial", "-out", certificate, "-days",
            "2", "-extfile", folder / f"{node.number}.ext")
        return ["--tls-certificate", certificate, "--tls-key", key]

    return files


def try_with(name, tls, program, folder, nodes, redis_node, environment):
    folder.mkdir()
    (folder / "tokens").touch(mode=0o600)
    (folder / "tokens").write_text(TOKEN + "\n")
    (folder / "redis").mkdir()
    redis = redis_node.start([REDIS, "--port", "6379", "--bind", "10.78.0.9", "--protected-mode", "no", "--dir", str(folder / "redis"), "--save", "",
                              "--appendonly", "yes", "--appendfsync", "always"], stdout=subprocess.DEVNULL)
    servers = []
    try:
        until("Redis", lambda: run(*redis_node.inside("redis-cli", "-h", "10.78.0.9", "ping"), check=False).stdout.startswith("PONG"))
        files = tls(folder)
        if name == "an authority's certificates":
            environment = environment | {"SSL_CERT_FILE": str(folder / "ca.crt")}
        print(f"with {name}:")
        for node in nodes:
            servers.append(Server(program, folder, node, files, environment))
        partitions(Trial(servers))
    except BaseException:
        for server in servers:
            print(f"{server.url}: {server.errors.read_text()[-1500:]}", file=sys.stderr)
        raise
    finally:
        for process in (redis, *(server.process for server in servers)):
            process.kill()
            process.wait()


def test(program):
    run("ip", "link", "set", "lo", "up")
    for network, prefix in (("front", "10.77.0"), ("store", "10.78.0")):
        run("ip", "link", "add", network, "type", "bridge")
        run("ip", "address", "add", f"{prefix}.254/24", "dev", network)
        run("ip", "link", "set", network, "up")
    nodes = []
    try:
        nodes = [Node(number, "front", "store") for number in (1, 2, 3)]
        redis_node = Node(9, "store")
        nodes.append(redis_node)
        with folder_in_memory() as temporary:
            folder = pathlib.Path(temporary)
            environment = os.environ | {"XDG_CACHE_HOME": f"{folder}/cache", "XDG_DATA_HOME": f"{folder}/data", "NO_COLOR": "1"}
            for number, (name, tls) in enumerate((("certificates of their own", own_certificates), ("an authority's certificates", authority))):
                try_with(name, tls, program, folder / str(number), nodes[:3], redis_node, environment)
    finally:
        for node in nodes:
            node.holder.kill()
            node.holder.wait()
    print("fine")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    if os.environ.get(INSIDE):
        return test(program)
    lacks = [each for each in ("ip", "nsenter", "unshare", "openssl", "redis-server", "redis-cli") if shutil.which(each) is None]
    if lacks:
        print(f"without {', '.join(lacks)} nothing was tried")
        return 77
    # A namespace of the test's own holds the two networks: this machine's stay as they are.
    new = ["unshare", "--net", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    probe = run(*new, "ip", "link", "add", "kw-probe", "type", "bridge", check=False)
    if probe.returncode != 0:
        print(f"no network namespaces with bridges here: {probe.stderr.strip()}")
        return 77
    with contextlib.suppress(KeyboardInterrupt):
        return subprocess.run([*new, sys.executable, *sys.argv], env=os.environ | {INSIDE: "1"}).returncode
    return 1


if __name__ == "__main__":
    sys.exit(main())
