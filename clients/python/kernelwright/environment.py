"""The environment of kernels that `kernelwright rl` trains in, for other trainers: prompts, and for each answer its reward
and the next prompt, which tells what the gym has found.

    with Environment({"problems": ["problems/relu"], "turns": 3, "judge": "http://127.0.0.1:8100"}) as environment:
        episode = environment.begin("relu").result()
        step = episode.step(model(episode.messages)).result()     # step.reward, step.next

Calls give concurrent.futures.Future; asyncio awaits them by asyncio.wrap_future()."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, Self

from kernelwright.environment_messages import FINISHES, PROTOCOL, Messages, Step, answer_of, frame, take_frame, tasks_of
from kernelwright.verdict import NoVerdict

_SOCKET = 3  # the child's end, as the child has it
_GRACE_SECONDS = 10.0


class _Asked(NamedTuple):
    """A request that is under way."""

    future: Future[Any]
    result: Callable[[int, Any], Any]

    def end(self, request: int, answer: Any) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        if isinstance(answer, NoVerdict):
            self.future.set_exception(answer)
        else:
            self.future.set_result(self.result(request, answer))


class Environment:
    """A process `program`. settings: the table [environment] of docs/environment.md. Any thread may call, and any number of
    answers may be under way. A future's NoVerdict means that there is no reward, which is not a reward of 0; the same
    answer may be given again while is_alive()."""

    def __init__(self, settings: Mapping[str, Any], *, program: str = "kernelwright-environment"):
        """Returns when the problems are read. Raises FileNotFoundError without the program, and NoVerdict for settings that
        it refuses."""
        found = shutil.which(program)
        if found is None:
            raise FileNotFoundError(f"{program}: no such program; name it with program=")
        self._lock = threading.Lock()
        self._waiting: dict[int, _Asked] = {}  # by the request's id; under _lock
        self._last_id = 0  # under _lock
        self._lost: NoVerdict | None = None  # under _lock
        self._socket, child = socket.socketpair()
        with child:
            self._pid: int | None = os.posix_spawn(found, [found], os.environ, setpgroup=0, setsigdef=[signal.SIGPIPE],  # Ctrl-C reaches us alone
                                                   file_actions=[(os.POSIX_SPAWN_DUP2, child.fileno(), _SOCKET)])
        self._received = bytearray()
        try:
            self._send(frame({"type": "hello", "protocol": PROTOCOL, "settings": dict(settings)}))
            welcome = self._next_message()
            if welcome["type"] == "failed":
                raise NoVerdict(welcome["message"])
            self.tasks = tasks_of(welcome)
        except BaseException:
            self._end_process()
            raise
        self._reader = threading.Thread(target=self._read, name="kernelwright-environment", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def is_alive(self) -> bool:
        with self._lock:
            return self._lost is None

    def close(self) -> None:
        """What is under way gets NoVerdict."""
        if self._pid is None:
            return
        self._lose(NoVerdict("the environment was closed"))
        self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._end_process()

    def begin(self, task: str) -> Future[Episode]:
        """task: one of `tasks`."""
        return self._ask({"type": "begin", "task": task}, lambda request, messages: Episode(self, request, messages))

    def _ask(self, request: dict[str, Any], result: Callable[[int, Any], Any]) -> Future[Any]:
        """result: makes the future's value of the request's id and its answer."""
        future: Future[Any] = Future()
        with self._lock:
            if self._lost is not None:
                future.set_exception(self._lost)
                return future
            identifier = self._last_id + 1
            try:
                data = frame({**request, "id": identifier})
            except ValueError as error:
                future.set_exception(NoVerdict(str(error)))
                return future
            self._last_id = identifier
            self._waiting[identifier] = _Asked(future, result)
            self._send(data)  # under the lock: ids arrive in their order

        def cancel(ended: Future[Any]) -> None:
            if ended.cancelled():
                self._tell({"type": "cancel", "id": identifier})

        future.add_done_callback(cancel)
        return future

    def _tell(self, message: dict[str, Any]) -> None:
        """What has no answer."""
        with self._lock:
            if self._lost is None:
                self._send(frame(message))

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError:
            pass  # the reader sees the process's end, too

    def _next_message(self) -> dict[str, Any]:
        while True:
            message = take_frame(self._received)
            if message is not None:
                return message
            try:
                piece = self._socket.recv(1 << 16)
            except OSError:
                piece = b""
            if not piece:
                raise NoVerdict("kernelwright-environment has ended")
            self._received += piece

    def _read(self) -> None:
        try:
            while True:
                message = self._next_message()
                if message["type"] == "pause":  # something is to be timed; this client has no work that could stand still
                    self._tell({"type": "paused"})
                    continue
                if message["type"] == "resume":
                    continue
                if message.get("id", 0) == 0:
                    raise NoVerdict(f"kernelwright-environment: {message.get('message')}")
                with self._lock:
                    asked = self._waiting.pop(message["id"], None)
                if asked is None:
                    raise NoVerdict(f"kernelwright-environment answers request {message['id']}, which is not open")
                asked.end(message["id"], answer_of(message))
        except NoVerdict as error:
            self._lose(error)

    def _lose(self, why: NoVerdict) -> None:
        with self._lock:
            if self._lost is None:
                self._lost = why
            waiting, self._waiting = self._waiting, {}
        for identifier, asked in waiting.items():
            asked.end(identifier, why)

    def _end_process(self) -> None:
        """It ends by itself when the socket is closed."""
        self._socket.close()
        pid, self._pid = self._pid, None
        end = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < end:
            if os.waitpid(pid, os.WNOHANG)[0] != 0:
                return
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Episode:
    """One task under way. One answer at a time; an episode whose step was cancelled is of no more use."""

    def __init__(self, environment: Environment, request: int, messages: Messages):
        self.messages = messages  # all that the policy needs for its next answer; empty when the episode is done
        self._environment, self._request, self._turn = environment, request, 0

    def step(self, text: str, finish: str = "stop") -> Future[Step]:
        """finish: "length" for an answer that was cut at the most tokens it may have. After a NoVerdict the episode is as it
        was before."""
        if finish not in FINISHES:
            raise ValueError(f"finish: {finish!r} is none of {', '.join(sorted(FINISHES))}")
        request = {"type": "step", "episode": self._request, "turn": self._turn, "text": text, "finish": finish}
        return self._environment._ask(request, lambda _, step: self._stepped(step))

    def end(self) -> None:
        """The process forgets the episode. One that is done has ended."""
        self._environment._tell({"type": "end", "episode": self._request})

    def _stepped(self, step: Step) -> Step:
        self._turn += 1
        self.messages = step.next
        if step.done:
            self.end()
        return step
