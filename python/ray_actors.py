"""Keeps workers of a service, or servers of a model, as actors of a Ray cluster. `kernelwright launch ray` starts it with a Python
that has Ray.

Theory of operation: an actor starts the program PROGRAM on a node that has room for it, and waits for its end. Where the node, the
actor or the program ends, another actor takes its place, as soon as a node has room. Nodes need not share a folder: this process reads
the token here, and the actors write it to the program's environment. Workers need the service's address: this process reads its file
here, the actors write it to a file of their own, and a service that moves is told to all actors. Model servers have addresses: they
listen at their node's address in the cluster and write a file there, which the actor reads, and this process writes what it says to a
file here. SIGTERM ends the programs, which give back or finish what they have, and then this process; where this process is killed,
Ray ends the actors, and the kernel the programs."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import pathlib
import signal
import sys

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, HEALTHY_SECONDS = 1.0, 30.0, 60.0
LOOK_SECONDS = 0.5  # at the address file
GRACE_SECONDS = 15.0  # from SIGTERM to SIGKILL of a program


class Program:
    """The actor: one program. Ray sends the class by value, so that nodes need not have this file."""

    def __init__(self, command: list[str], environment: dict[str, str]):
        """environment: beside the actor's own."""
        import ctypes
        import tempfile

        self._libc = ctypes.CDLL(None)
        self._folder = tempfile.TemporaryDirectory(prefix="kernelwright-")
        self._command, self._environment = command, environment
        self._process: asyncio.subprocess.Process | None = None

    async def work(self, name: str, address: str) -> int:
        """Runs a worker of the service at that address until it ends: its exit code, or the negative signal."""
        await self.follow(address)
        return await self._run("--server", self._file(), "--name", name)

    async def serve(self) -> int:
        """Runs a model server until it ends."""
        import ray

        return await self._run("--host", ray.util.get_node_ip_address(), "--port", "0", "--self-signed", "--address-file", self._file())

    async def address(self) -> str:
        """Of a model server, as soon as it listens."""
        while not os.path.exists(self._file()):
            await asyncio.sleep(0.1)
        with open(self._file(), encoding="utf-8") as file:
            return file.read()

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

    async def _run(self, *words: str) -> int:
        inherited = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}  # Ray sets it
        self._process = await asyncio.create_subprocess_exec(*self._command, *words, env={**inherited, **self._environment},
                                                             preexec_fn=self._end_with_actor)
        code = await self._process.wait()
        self._folder.cleanup()
        return code

    def _file(self) -> str:
        """The address file: of the service that a worker asks, or of this model server."""
        return os.path.join(self._folder.name, "server.json")

    def _end_with_actor(self) -> None:
        self._libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


@dataclasses.dataclass
class Wanted:
    """What the actors run, and what Ray keeps free for each."""

    command: list[str]
    environment: dict[str, str]
    cpus: int
    gpus: int
    memory: int  # bytes


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def write_whole(path: pathlib.Path, text: str) -> None:
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


class Keeper:
    """One event loop. A subclass says what an actor's program is told, and what it tells."""

    def __init__(self, ray, wanted: Wanted, kind: str):
        self._ray, self._wanted, self._kind = ray, wanted, kind
        self._class = ray.remote(Program)
        self._actors: dict[str, object] = {}

    async def keep(self, count: int) -> None:
        await asyncio.gather(*(self._keep(f"{self._kind}-{number}") for number in range(1, count + 1)))

    async def _run(self, name: str, actor) -> int:
        """Until the program ends: its exit code."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Actors that wait for room have nothing to stop."""
        stopping = [asyncio.ensure_future(actor.stop.remote()) for actor in self._actors.values()]
        if stopping:
            await asyncio.wait(stopping, timeout=GRACE_SECONDS + 1)

    def _start(self):
        wanted = self._wanted
        options = {"num_cpus": wanted.cpus, "num_gpus": wanted.gpus, "memory": wanted.memory, "scheduling_strategy": "SPREAD"}
        return self._class.options(**options).remote(wanted.command, wanted.environment)

    async def _keep(self, name: str) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            started = loop.time()
            actor = self._actors[name] = self._start()
            try:
                end = f"exit code {await self._run(name, actor)}"
            except self._ray.exceptions.RayActorError:
                end = "its actor or its node is gone"
            except self._ray.exceptions.RayError as error:  # a program that cannot be started
                end = str(error).strip().splitlines()[-1]
            self._ray.kill(actor)
            failures = 1 if loop.time() - started >= HEALTHY_SECONDS else failures + 1
            pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1))
            say(f"{name} has ended ({end}) and starts again in {pause:.1f} s")
            await asyncio.sleep(pause)


class Workers(Keeper):
    """Workers of the service whose address is in the file `server`."""

    def __init__(self, ray, wanted: Wanted, server: pathlib.Path):
        super().__init__(ray, wanted, "worker")
        self._server, self._address = server, ""

    async def keep(self, count: int) -> None:
        while not (address := self._read()):
            await asyncio.sleep(LOOK_SECONDS)
        self._address = address
        await asyncio.gather(self._follow(), super().keep(count))

    async def _run(self, name: str, actor) -> int:
        return await actor.work.remote(name, self._address)

    def _read(self) -> str:
        try:
            return self._server.read_text(encoding="utf-8")
        except OSError:
            return ""

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            address = self._read()
            if address and address != self._address:
                self._address = address
                for actor in self._actors.values():
                    actor.follow.remote(address)  # one that waits for room reads it later


class ModelServers(Keeper):
    """Servers of a model, whose addresses go to model-1.json and so on in the folder `addresses`."""

    def __init__(self, ray, wanted: Wanted, addresses: pathlib.Path):
        super().__init__(ray, wanted, "model")
        self._addresses = addresses

    async def _run(self, name: str, actor) -> int:
        telling = asyncio.create_task(self._tell(name, actor))
        try:
            return await actor.serve.remote()
        finally:
            telling.cancel()  # the next one has another address

    async def _tell(self, name: str, actor) -> None:
        try:
            address = await actor.address.remote()
        except self._ray.exceptions.RayError:
            return  # serve() says it too
        write_whole(self._addresses / f"{name}.json", address)
        say(f"{name} listens at {json.loads(address)['url']}")


async def keep_until_stopped(keeper: Keeper, count: int) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    kept, stop = asyncio.create_task(keeper.keep(count)), asyncio.create_task(stopped.wait())
    await asyncio.wait({kept, stop}, return_when=asyncio.FIRST_COMPLETED)
    kept.cancel()
    await keeper.stop()
    if kept.done() and not kept.cancelled():
        kept.result()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", default="auto", help="of the cluster")
    parser.add_argument("--look", action="store_true", help="say what the cluster has, and do nothing")
    parser.add_argument("--count", type=int, default=1, help="of actors")
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--memory", type=int, default=0, help="bytes")
    parser.add_argument("--server", type=pathlib.Path, help="the service's address file: PROGRAM is a worker")
    parser.add_argument("--addresses", type=pathlib.Path, help="folder for addresses: PROGRAM is a model server")
    parser.add_argument("--token", type=pathlib.Path, help="file with the service's token, which is the model servers' key too")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="of the program")
    parser.add_argument("command", nargs="*", metavar="PROGRAM", help="with its options, but for those of its name and its network")
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
    keeper = Workers(ray, wanted, arguments.server) if arguments.server else ModelServers(ray, wanted, arguments.addresses)
    asyncio.run(keep_until_stopped(keeper, arguments.count))
    ray.shutdown()


if __name__ == "__main__":
    main()
