"""Keeps workers of a service as actors of a Ray cluster. `kernelwright launch ray` starts it with a Python that has Ray.

Theory of operation: an actor starts the program PROGRAM on a node that has room for it, and waits for its end. Where the node, the
actor or the program ends, another actor takes its place, as soon as a node has room. Nodes need not share a folder: this process reads
the server's address file and the token here, and the actors write them to a file of their own and to the program's environment. A
server that moves is told to all actors. SIGTERM ends the programs, which give back what they have, and then this process; where this
process is killed, Ray ends the actors, and the kernel the programs."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import os
import pathlib
import signal
import sys

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, HEALTHY_SECONDS = 1.0, 30.0, 60.0
LOOK_SECONDS = 0.5  # at the address file
GRACE_SECONDS = 15.0  # from SIGTERM to SIGKILL of a program


class Worker:
    """The actor: one program. Ray sends the class by value, so that nodes need not have this file."""

    def __init__(self, command: list[str], environment: dict[str, str]):
        import ctypes
        import tempfile

        self._libc = ctypes.CDLL(None)
        self._folder = tempfile.TemporaryDirectory(prefix="kernelwright-")
        self._command, self._environment = command, environment
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, address: str) -> int:
        """Until the program ends: its exit code, or the negative signal."""
        await self.follow(address)
        inherited = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}  # Ray sets it
        self._process = await asyncio.create_subprocess_exec(*self._command, "--server", self._file(), env={**inherited, **self._environment},
                                                             preexec_fn=self._end_with_actor)
        code = await self._process.wait()
        self._folder.cleanup()
        return code

    async def follow(self, address: str) -> None:
        """Replaces the address file."""
        new = self._file() + ".new"
        with open(new, "w", encoding="utf-8") as file:
            file.write(address)
        os.replace(new, self._file())

    async def stop(self) -> None:
        """Returns when the program has ended."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), GRACE_SECONDS)
        except asyncio.TimeoutError:
            self._process.kill()

    def _file(self) -> str:
        return os.path.join(self._folder.name, "server.json")

    def _end_with_actor(self) -> None:
        self._libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


@dataclasses.dataclass
class Wanted:
    """What the workers are."""

    command: list[str]
    environment: dict[str, str]
    cpus: int
    gpus: int
    memory: int  # bytes


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Keeper:
    """One event loop."""

    def __init__(self, ray, wanted: Wanted, server: pathlib.Path):
        self._ray, self._wanted, self._server = ray, wanted, server
        self._class = ray.remote(Worker)
        self._actors: dict[str, object] = {}
        self._address = ""

    async def keep(self, workers: int) -> None:
        self._address = await self._first_address()
        await asyncio.gather(self._follow(), *(self._keep(f"worker-{number}") for number in range(1, workers + 1)))

    async def stop(self) -> None:
        """Actors that wait for room have nothing to stop."""
        stopping = [asyncio.ensure_future(actor.stop.remote()) for actor in self._actors.values()]
        if stopping:
            await asyncio.wait(stopping, timeout=GRACE_SECONDS + 1)

    def _start(self, name: str):
        wanted = self._wanted
        options = {"num_cpus": wanted.cpus, "num_gpus": wanted.gpus, "memory": wanted.memory, "scheduling_strategy": "SPREAD"}
        return self._class.options(**options).remote([*wanted.command, "--name", name], wanted.environment)

    async def _keep(self, name: str) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            started = loop.time()
            actor = self._actors[name] = self._start(name)
            try:
                end = f"exit code {await actor.run.remote(self._address)}"
            except self._ray.exceptions.RayActorError:
                end = "its actor or its node is gone"
            except self._ray.exceptions.RayError as error:  # a program that cannot be started
                end = str(error).strip().splitlines()[-1]
            self._ray.kill(actor)
            failures = 1 if loop.time() - started >= HEALTHY_SECONDS else failures + 1
            pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1))
            say(f"{name} has ended ({end}) and starts again in {pause:.1f} s")
            await asyncio.sleep(pause)

    def _read(self) -> str:
        try:
            return self._server.read_text(encoding="utf-8")
        except OSError:
            return ""

    async def _first_address(self) -> str:
        while not (address := self._read()):
            await asyncio.sleep(LOOK_SECONDS)
        return address

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            address = self._read()
            if address and address != self._address:
                self._address = address
                for actor in self._actors.values():
                    actor.follow.remote(address)  # one that waits for room reads it later


async def keep_until_stopped(keeper: Keeper, workers: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    kept, stop = asyncio.create_task(keeper.keep(workers)), asyncio.create_task(stopped.wait())
    await asyncio.wait({kept, stop}, return_when=asyncio.FIRST_COMPLETED)
    kept.cancel()
    await keeper.stop()
    if kept.done() and not kept.cancelled():
        kept.result()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default="auto", help="of the cluster")
    parser.add_argument("--look", action="store_true", help="say what the cluster has, and do nothing")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--memory", type=int, default=0, help="bytes")
    parser.add_argument("--server", type=pathlib.Path, help="the server's address file")
    parser.add_argument("--token", type=pathlib.Path, help="file with the workers' token")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="of the program")
    parser.add_argument("command", nargs="*", metavar="PROGRAM", help="kernelwright worker and its options; it also gets --server and --name")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    try:
        import ray
    except ImportError:
        raise SystemExit(f"error: {sys.executable} has no Ray: pip install ray, or name another Python") from None
    try:
        ray.init(address=arguments.address, logging_level="ERROR", log_to_driver=not arguments.look)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise SystemExit(f"error: no Ray cluster at {arguments.address}: {error}") from None
    nodes = [node for node in ray.nodes() if node["Alive"]]
    total = ray.cluster_resources()
    if arguments.look:
        print(f"a Ray cluster of {len(nodes)} nodes with {total.get('CPU', 0):g} CPUs and {total.get('GPU', 0):g} GPUs")
        return
    environment = dict(pair.split("=", 1) for pair in arguments.env)
    environment["KERNELWRIGHT_API_KEY"] = arguments.token.read_text(encoding="utf-8").strip()
    wanted = Wanted(arguments.command, environment, arguments.cpus, arguments.gpus, arguments.memory)
    asyncio.run(keep_until_stopped(Keeper(ray, wanted, arguments.server), arguments.workers))
    ray.shutdown()


if __name__ == "__main__":
    main()
