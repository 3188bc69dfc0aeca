"""kernelwright serve-model as a process, for tests and benchmarks."""

import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.request


class ModelServer:
    """As a context: stopped at the end, and killed when it does not stop."""

    def __init__(self, program, model, *flags, environment=None):
        command = [str(program), "serve-model", "--model", str(model), "--port", "0", *map(str, flags)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        self.origin = self.process.stdout.readline().strip()
        if not self.origin:
            raise RuntimeError(f"the server does not start: {self.process.communicate()[1]}")
        self.port = int(self.origin.rpartition(":")[2])
        self.name = pathlib.Path(model).name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def engine_pid(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def end(self, sent=signal.SIGTERM, seconds=60):
        """(exit code, stderr) after a signal, or after its own end with None."""
        if sent is not None:
            self.process.send_signal(sent)
        return self.process.wait(seconds), self.process.stderr.read()

    def get(self, path):
        with urllib.request.urlopen(self.origin + path, timeout=900) as answer:
            return answer.read().decode()

    def post(self, path, body, timeout=900):
        request = urllib.request.Request(self.origin + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.load(answer)

    def metrics(self):
        """Values by name with labels, as they are written."""
        lines = [line.rpartition(" ") for line in self.get("/metrics").splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}

    def wait_for(self, condition, seconds=60):
        """Whether condition(metrics) comes true in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition(self.metrics()):
                return True
            time.sleep(0.02)
        return False


def is_idle(metrics):
    return metrics["kw_lm_sequences_running"] == 0 and metrics["kw_lm_sequences_waiting"] == 0
