#!/usr/bin/env python3
"""Five tenants flood a server over HTTP, and null workers judge: the share of the workers' time that each tenant got.
Usage: fairness.py KERNELWRIGHT [SECONDS]

Each tenant keeps 100 tasks or more in the queue, which take 20, 40, 80, 160 and 240 ms; the last one has the weight 2. Exits with 1 when a share is
more than 10 % off. By hand: it measures time.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TENANTS = {"a": (20, 1), "b": (40, 1), "c": (80, 1), "d": (160, 1), "e": (240, 2)}  # milliseconds of a task, and the weight
WORKERS, IN_QUEUE = 4, 200


def call(url: str, token: str, path: str, body: dict | None = None) -> str:
    request = urllib.request.Request(url + path, None if body is None else json.dumps(body).encode(), {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def token_of(tenant: str) -> str:
    return f"token-of-the-tenant-{tenant}"


def request_of(tenant: str, number: int) -> dict:
    """No gym reads it here. Its limit of memory makes it another one than those before, its limit of time says whose it is."""
    source = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    source += "def get_inputs():\n    return [torch.randn(4)]\ndef get_init_inputs():\n    return []\n"
    problem = {"name": f"of-{tenant}", "form": "module", "source": source}
    limits = {"timeout_seconds": 1 + sorted(TENANTS).index(tenant), "memory_bytes": number}
    return {"kind": "trace", "target": "cpu", "workload": "", "problem": problem} | limits


def flood(url: str, tenant: str, end: float) -> None:
    number = 0
    while time.monotonic() < end:
        tasks = [{"request": request_of(tenant, number + i)} for i in range(IN_QUEUE // 2)]
        number += len(tasks)
        call(url, token_of(tenant), "/v1/tasks", {"tasks": tasks})
        while time.monotonic() < end and json.loads(call(url, token_of(tenant), "/v1/overview"))["waiting"] >= IN_QUEUE // 2:
            time.sleep(0.05)


def work(url: str, version: int, name: str, end: float) -> None:
    while time.monotonic() < end:
        leases = json.loads(call(url, "token-of-the-operator", "/v1/leases", {"worker": name, "gym_version": version, "wait_seconds": 1}))["leases"]
        for lease in leases:
            tenant = sorted(TENANTS)[int(lease["request"]["timeout_seconds"]) - 1]
            time.sleep(TENANTS[tenant][0] / 1000)
            call(url, "token-of-the-operator", f"/v1/leases/{lease['task']}/complete", {"epoch": lease["epoch"], "graph": ""})


def main() -> int:
    program, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 120
    with tempfile.TemporaryDirectory() as folder:
        tokens = pathlib.Path(folder) / "tokens"
        tokens.touch(0o600)
        tokens.write_text("".join(f"{token_of(name)} tenant={name} scopes=submit,read weight={weight}\n" for name, (_, weight) in TENANTS.items())
                          + "token-of-the-operator\n")
        server = subprocess.Popen([program, "serve", "--data", f"{folder}/tasks", "--port", "0", "--tokens", str(tokens)], stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().strip()
            version = json.loads(call(url, "", "/healthz"))["gym_version"]
            end = time.monotonic() + seconds
            threads = [threading.Thread(target=flood, args=(url, name, end)) for name in TENANTS]
            threads += [threading.Thread(target=work, args=(url, version, f"worker-{i}", end)) for i in range(WORKERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            metrics = call(url, "token-of-the-operator", "/metrics")
        finally:
            server.terminate()
            server.wait()
    had = {name: int(ms) / 1000 for name, ms in re.findall(r'kw_tenant_judged_milliseconds_total{tenant="(\w+)"} (\d+)', metrics)}
    weights, off = sum(weight for _, weight in TENANTS.values()), False
    for name, (takes, weight) in TENANTS.items():
        share = sum(had.values()) * weight / weights
        off |= abs(had[name] - share) > share / 10
        print(f"{name}: tasks of {takes} ms, weight {weight}: {had[name]:.1f} s, {had[name] / share:.1%} of its share")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
