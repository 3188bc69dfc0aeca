#!/usr/bin/env python3
"""kernelwright launch local with model servers: clients find them by their address files and follow them when they come back elsewhere; a server that
is asked to stop finishes what it answers.
Usage: launch_test.py PROGRAM PROBE"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from tiny_model import make_model

WAIT_SECONDS = 60


def until(what, true):
    end = time.monotonic() + WAIT_SECONDS
    while not (value := true()):
        if time.monotonic() > end:
            raise SystemExit(f"never came: {what}")
        time.sleep(0.05)
    return value


def children(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


def server_of(launcher, name):
    """The process of a model server, by its address file."""
    return next((pid for pid in children(launcher) if any(word.endswith(name) for word in command_of(pid))), None)


def url_in(file):
    return json.loads(file.read_text())["url"] if file.exists() else ""


def main():
    program, probe = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ.update(XDG_CACHE_HOME=f"{folder}/cache", XDG_DATA_HOME=f"{folder}/data", NO_COLOR="1")
        model = make_model(probe, "model")
        launch = [program, "launch", "local", "--data", "tasks", "--port", "0", "--workers", "0", "--model", model, "--model-servers", "2",
                  "--model-option=--slots=2", "--model-option=--threads=1"]
        launcher = subprocess.Popen(launch, stdout=subprocess.PIPE, stderr=open("launch.err", "wb"), text=True)
        try:
            files = [pathlib.Path(f"tasks/model-{number}.json") for number in (1, 2)]
            urls = [until(f"{file}: {pathlib.Path('launch.err').read_text()}", lambda file=file: url_in(file)) for file in files]
            assert urls[0] != urls[1] and all(url.startswith("http://127.0.0.1:") for url in urls), urls

            def generate(file, *more):
                words = [program, "generate", "--model", file, "--chat", "a", "--max-tokens", "8", "--seed", "1", "--temperature", "0", "--model-name", "model", *more]
                done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_SECONDS)
                assert done.returncode == 0, done.stderr
                return done.stdout

            first = generate(files[0])
            assert first and generate(files[1]) == first, first

            # A server that was killed comes back at another port, and a client that began before follows it.
            old = server_of(launcher.pid, "model-1.json")
            os.kill(old, signal.SIGSTOP)
            words = [program, "generate", "--model", files[0], "--chat", "a", "--max-tokens", "8", "--seed", "1", "--temperature", "0", "--model-name", "model",
                     "--tries", "20"]
            client = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=open("client.err", "wb"), text=True)
            port = int(urls[0].rpartition(":")[2])
            until("a client that waits", lambda: f":{port:04X} 01" in " ".join(connections(client.pid)))
            os.kill(old, signal.SIGKILL)
            until("another address", lambda: url_in(files[0]) not in ("", urls[0]))
            assert client.wait(WAIT_SECONDS) == 0, pathlib.Path("client.err").read_text()
            assert client.stdout.read() == first

            # All end, and none is left.
            left = children(launcher.pid)
            assert len(left) == 3, left
            launcher.terminate()
            assert launcher.wait(WAIT_SECONDS) == 0, pathlib.Path("launch.err").read_text()
            assert not [pid for pid in left if command_of(pid) not in ([], [""])], "processes are left"
        finally:
            launcher.kill()
            launcher.wait()
    print("fine")


def connections(pid):
    """Remote addresses and states of a process's TCP connections, as "0100007F:1F40 01" (01: established)."""
    try:
        rows = [line.split() for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
        sockets = {os.readlink(each) for each in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return []
    return [f"{row[2]} {row[3]}" for row in rows if f"socket:[{row[9]}]" in sockets]


if __name__ == "__main__":
    main()
