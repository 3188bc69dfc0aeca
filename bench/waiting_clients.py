#!/usr/bin/env python3
"""What clients cost that wait for their tasks at kernelwright serve, each on a connection of its own with a long poll that it repeats: memory of the server and
its processor time, with no worker there.

    bench/waiting_clients.py [--bin build/release/bin] [--clients 10000] [--seconds 60] [--half-open]

With --half-open the connections send half a header and then nothing, and another client's calls are timed beside them until all are closed.

Each client polls with wait=30, so it asks twice a minute. All are sockets of one epoll loop on 127.0.0.1, in plain text. Memory is what the server's
process has in RAM (VmRSS), before and with the clients; the processor time is counted over the seconds once all wait.
"""

import argparse
import json
import os
import pathlib
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/service"))
from kill_many import PROBLEM  # noqa: E402


def resident_mb(pid):
    line = next(each for each in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def submit(url, count):
    ids = []
    for begin in range(0, count, 1000):
        tasks = [{"request": {"kind": "trace", "target": "cpu", "workload": "", "timeout_seconds": 60, "problem": PROBLEM, "memory_bytes": 1 << 20 | number}}
                 for number in range(begin, min(count, begin + 1000))]
        request = urllib.request.Request(url + "/v1/tasks", json.dumps({"tasks": tasks}).encode(), {"Content-Type": "application/json"})
        ids += [task["id"] for task in json.load(urllib.request.urlopen(request, timeout=60))["tasks"]]
    return ids


def half_open(server, url, port, options):
    def call():
        begin = time.monotonic()
        urllib.request.urlopen(url + "/v1/queue", timeout=60).read()
        return 1000 * (time.monotonic() - begin)

    alone = sorted(call() for _ in range(200))
    begin, sockets, while_they_come, while_they_go = time.monotonic(), [], [], []
    for number in range(options.clients):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"GET /v1/queue HTTP/1.1\r\nHo")
        client.setblocking(False)
        sockets.append(client)
        if number % 100 == 0:
            while_they_come.append(call())
    opened, highest = time.monotonic() - begin, resident_mb(server.pid)
    open_yet = sockets
    while open_yet and time.monotonic() < begin + 120:
        while_they_go += [call() for _ in range(5)]
        left = []
        for client in open_yet:
            try:
                if client.recv(4096):
                    left.append(client)
            except BlockingIOError:
                left.append(client)
            except OSError:
                pass
        open_yet = left
        time.sleep(0.05)
    print(f"{options.clients} half-open connections, made in {opened:.1f} s: {highest:.0f} MiB at most, {len(open_yet)} left after {time.monotonic() - begin:.1f} s")
    for what, calls in (("alone", alone), ("while they come", while_they_come), ("until all are closed", while_they_go), ("both", while_they_come + while_they_go)):
        calls = sorted(calls)
        print(f"another client's {len(calls)} calls {what}: {calls[len(calls) // 2]:.1f} ms (median), {calls[int(len(calls) * 0.99)]:.1f} ms (p99), {calls[-1]:.1f} ms at most")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--clients", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--half-open", action="store_true")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([options.bin / "kernelwright", "serve", "--data", folder + "/tasks", "--port", "0", "--most-connections",
                                   str(options.clients + 100)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = server.stdout.readline().strip()
            port = int(url.rsplit(":", 1)[1])
            if options.half_open:
                return half_open(server, url, port, options)
            ids = submit(url, options.clients)
            before, selector, answers = resident_mb(server.pid), selectors.DefaultSelector(), 0
            sockets = []
            for task in ids:
                client = socket.create_connection(("127.0.0.1", port))
                request = f"GET /v1/tasks/{task}?wait=30 HTTP/1.1\r\nHost: x\r\n\r\n".encode()
                client.sendall(request)
                client.setblocking(False)
                selector.register(client, selectors.EVENT_READ, request)
                sockets.append(client)
            begin, used, highest = time.monotonic(), cpu_seconds(server.pid), 0.0
            while time.monotonic() < begin + options.seconds:
                for key, _ in selector.select(timeout=1):
                    text = key.fileobj.recv(65536)
                    assert text.startswith(b"HTTP/1.1 200") and b'"waiting"' in text, text[:300]
                    answers += 1
                    key.fileobj.sendall(key.data)
                highest = max(highest, resident_mb(server.pid))
            share = (cpu_seconds(server.pid) - used) / (time.monotonic() - begin)
            print(f"{options.clients} clients wait: {highest:.0f} MiB at most, {before:.0f} before they came (their tasks: {len(ids)}); "
                  f"{100 * share:.2f} % of a core over {options.seconds:.0f} s, {answers} polls answered")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
