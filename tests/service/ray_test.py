"""kernelwright launch ray with a real Ray cluster of several nodes on this machine: a node dies in the middle of a judgement, a model
server and its node die, the server comes back elsewhere, and nothing is left at the end. By hand, or by
clients/python/tests/check_integrations.py.

usage: ray_test.py BIN   (BIN: folder of the programs; this Python has Ray). Without BIN/kw_lm_probe, which makes a model, there is no
model server.
exit: 0 fine, 1 not, 77 without Ray"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

try:
    import ray
    from ray.cluster_utils import Cluster
except ImportError:
    print("ray: this Python has none, so nothing was tried")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lm"))
from tiny_model import make_model  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve() / "kernelwright"
PROBE = PROGRAM.with_name("kw_lm_probe")
PATIENCE_SECONDS = 60
RELU = """#include "problem.h"
extern "C" void run(const float* x, float* y, int64_t N) {{
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] > 0 ? x[i] : {zero};
}}
"""


def until(condition, what):
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError(f"never came: {what}")


def programs(name):
    """Process numbers and command lines of our programs with this name."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        if words[0].endswith(f"/{name}"):
            yield int(path.parent.name), words


def pids_of(worker):
    """Of our workers' programs with this name."""
    return [pid for pid, words in programs("kernelwright-service") if worker in words and "worker" in words]


def model_pids(folder):
    """Of servers of a model in this folder, and of their engines."""
    return [pid for name in ("kernelwright-model", "kernelwright-lm") for pid, words in programs(name) if any(str(folder) in word for word in words)]


class Service:
    """A launch over a cluster, and commands that ask it."""

    def __init__(self, folder, address, workers, model=None):
        self.folder = folder
        options = ["--model", model, "--model-cpus", "1", "--model-memory", "100MiB", "--model-option=--slots=2"] if model else []
        self.errors = open(folder / "launch.err", "w+")
        self.process = subprocess.Popen(
            [PROGRAM, "launch", "ray", "--folder", folder / "judge", "--ray-address", address, "--python", sys.executable, "--host", "127.0.0.1",
             "--workers", str(workers), "--cpus", "1", "--memory", "100MiB", "--lease", "3", *options],
            stdout=subprocess.DEVNULL, stderr=self.errors)
        self.address = folder / "judge" / "server.json"
        self.model_address = folder / "judge" / "model-1.json"
        until(lambda: self.address.exists() or self.process.poll() is not None, "server.json")
        self.environment = {**os.environ, "KERNELWRIGHT_API_KEY": (folder / "judge" / "token").read_text().strip()}

    def evaluate(self, zero, *options):
        """A process: another text of zero makes another candidate."""
        candidate = self.folder / f"relu_{zero}.cpp"
        candidate.write_text(RELU.format(zero=zero))
        return subprocess.Popen([PROGRAM, "eval", ROOT / "problems" / "relu", candidate, "--no-evidence", "--json", "--judge", self.address, *options],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)

    def passes(self, evaluation):
        out, errors = evaluation.communicate(timeout=PATIENCE_SECONDS)
        assert '"outcome":"passed"' in out, out[-2000:] + errors[-2000:]

    def generate(self):
        """A process that asks the model server, which may come later."""
        words = [PROGRAM, "generate", "--model", self.model_address, "--model-name", "model", "--chat", "a", "--max-tokens", "8", "--seed", "1",
                 "--temperature", "0", "--tries", "100"]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment)

    def answer(self, generation):
        out, errors = generation.communicate(timeout=PATIENCE_SECONDS)
        assert generation.returncode == 0, errors
        return out

    def leased_by(self):
        """Names of the workers that have a task."""
        done = subprocess.run([PROGRAM, "queue", "--server", self.address, "--json"], capture_output=True, text=True, env=self.environment)
        return [worker["name"] for worker in json.loads(done.stdout)["workers"] if worker["leased"]] if done.returncode == 0 else []

    def said(self, text):
        self.errors.flush()
        return text in (self.folder / "launch.err").read_text()


def check_model_server(service, cluster, nodes, node, model):
    """It is killed, and then its node; `nodes` becomes those that live. Clients follow its address file."""
    until(service.model_address.exists, "model-1.json")
    first = service.answer(service.generate())
    assert first, "no answer of the model"
    for what in ("server", "node"):
        address = service.model_address.read_text()
        (old,) = [pid for pid, words in programs("kernelwright-model") if str(model) in words]
        if what == "server":
            os.kill(old, signal.SIGKILL)
        else:
            lost = next(each for each in nodes if is_ancestor(each.all_processes["raylet"][0].process.pid, old))
            nodes.remove(lost)
            cluster.remove_node(lost, allow_graceful=False)
        until(lambda: not pathlib.Path(f"/proc/{old}").exists(), f"the end of the model's {what}")
        generation = service.generate()
        if what == "node":
            nodes.append(cluster.add_node(**node, num_cpus=1))
        assert service.answer(generation) == first, f"another answer after the loss of the {what}"
        assert service.model_address.read_text() != address, "the same address"
    print("a model server was found by its file, and again after it and then its node had died")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ.update(XDG_CACHE_HOME=str(folder / "cache"), XDG_DATA_HOME=str(folder / "data"), NO_COLOR="1")
        node = {"node_ip_address": "127.0.0.2", "object_store_memory": 80 << 20, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args={**node, "num_cpus": 0})
        service = None
        try:
            model = make_model(PROBE, folder / "model") if PROBE.exists() else None
            nodes = [cluster.add_node(**node, num_cpus=1) for _ in range(3 if model else 2)]
            service = Service(folder, cluster.address, 2, model)
            service.passes(service.evaluate("0", "--no-timing"))
            assert service.said(f"a Ray cluster of {len(nodes) + 1} nodes"), "no word of the cluster"
            until(lambda: pids_of("worker-1") and pids_of("worker-2"), "two workers")
            print("judged by a worker that Ray has placed")
            if model:
                check_model_server(service, cluster, nodes, node, model)

            # The node of the worker that judges dies. Its task goes to another worker, which is there or comes.
            evaluation = service.evaluate("0.0f")
            victim = until(service.leased_by, "a lease")[0]
            (old,) = pids_of(victim)
            lost = next(each for each in nodes if is_ancestor(each.all_processes["raylet"][0].process.pid, old))
            cluster.remove_node(lost, allow_graceful=False)
            until(lambda: old not in pids_of(victim), "the end of the lost node's worker")
            service.passes(evaluation)
            until(lambda: service.said(f"{victim} has ended"), "word of the worker")
            assert not pids_of(victim), "a worker without room"
            cluster.add_node(**node, num_cpus=1)
            until(lambda: pids_of(victim), "the worker on another node")
            print("a node died: its task was judged, and its worker came back on a new one")

            before = service.address.read_text()
            (server,) = [int(pid) for pid in children_of(service.process.pid) if b"serve" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
            os.kill(server, signal.SIGKILL)
            until(lambda: service.address.read_text() != before, "the server at another port")
            service.passes(service.evaluate("0.0", "--no-timing"))
            print("the server came back elsewhere, and the workers have followed it")

            service.process.terminate()
            assert service.process.wait(30) == 0, service.process.returncode
            until(lambda: not pids_of("worker-1") and not pids_of("worker-2") and not model_pids(folder), "the end of all programs")
            print("nothing is left: fine")
        except BaseException:
            print((folder / "launch.err").read_text()[-4000:] if (folder / "launch.err").exists() else "", file=sys.stderr)
            raise
        finally:
            if service is not None and service.process.poll() is None:
                service.process.kill()
                service.process.wait()
            cluster.shutdown()


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def is_ancestor(ancestor, pid):
    while pid > 1 and pid != ancestor:
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == ancestor


if __name__ == "__main__":
    main()
