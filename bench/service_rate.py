#!/usr/bin/env python3
"""Tasks per second and latencies of kernelwright serve with null workers, in one run on 127.0.0.1.

    bench/service_rate.py [--bin build/opt/bin] [--seconds 5] [--rounds 3] [--data DIR] [--store sqlite|redis]

--bin is a folder with kernelwright and kw_bench_service_load, optimized; --data is where the tasks lie, on a real disk. With --store redis they lie in
a redis-server of Debian's, started here on 127.0.0.1 with appendfsync always, whose CPU seconds are shown too.
Clients and workers are one epoll loop (bench/service_load.cc), which checks every answer. Acknowledged means on disk. The load shares the machine's
cores with the server, so its CPU seconds are printed beside the server's. Shown are medians of the rounds, the worst p99 (of an answer also that of
the tasks after the first second, as a closed load begins with all of its tasks at once), and the machine's load when it began: on a machine that
does other things the numbers are lower bounds.
"""

import argparse
import contextlib
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/service"))
from redis_process import PROGRAM, Redis  # noqa: E402

LOADS = [
    ("closed, 1000 in flight, alone", ["--mode", "closed", "--in-flight", "1000", "--batch", "1"]),
    ("closed, 1000 in flight, groups of 100", ["--mode", "closed", "--in-flight", "1000", "--batch", "100"]),
    ("open, 1000 a second", ["--mode", "open", "--rate", "1000", "--lease", "16"]),
]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def measure(options, words):
    """One round: a new server, and a new Redis where it has one."""
    with tempfile.TemporaryDirectory(dir=options.data) as folder, contextlib.ExitStack() as ends:
        store = []
        if options.store == "redis":
            redis = Redis(folder + "/redis", free_port())
            ends.callback(redis.kill)
            store = ["--store", redis.url]
        server = subprocess.Popen([options.bin / "kernelwright", "serve", "--data", folder + "/tasks", "--port", "0", *store], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        ends.callback(server.wait)
        ends.callback(server.terminate)
        url = server.stdout.readline().strip()
        done = subprocess.run([options.bin / "kw_bench_service_load", url, "--seconds", str(options.seconds), *words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: {done.stderr}")
        row = json.loads(done.stdout)
        row["server_cpu_s"] = cpu_seconds(server.pid)
        row["redis_cpu_s"] = cpu_seconds(redis.process.pid) if store else 0.0
        return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/opt/bin")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--store", choices=["sqlite", "redis"], default="sqlite")
    options = parser.parse_args()
    if options.store == "redis" and PROGRAM is None:
        sys.exit("no redis-server: apt-get install redis-server")
    print(f"tasks in {options.store}; load of the machine {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    print(f"{'':38} {'tasks/s':>8} {'accept p50':>10} {'p99':>7} {'answer p50':>10} {'p99':>7} {'later':>7} {'server CPU':>10} {'Redis CPU':>9} {'load CPU':>8}")
    for name, words in LOADS:
        rows = [measure(options, words) for _ in range(options.rounds)]

        def middle(key):
            return statistics.median(row[key] for row in rows)

        def worst(key):
            return max(row[key] for row in rows)

        print(f"{name:38} {middle('rate'):8.0f} {middle('accept_p50_ms'):7.2f} ms {worst('accept_p99_ms'):7.1f} {middle('answer_p50_ms'):7.2f} ms "
              f"{worst('answer_p99_ms'):7.1f} {worst('later_answer_p99_ms'):7.1f} {middle('server_cpu_s'):8.1f} s {middle('redis_cpu_s'):7.1f} s {middle('client_cpu_s'):6.1f} s", flush=True)


if __name__ == "__main__":
    main()
