"""The judge of users: on this machine without a URL, else by a service's workers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any, Self

from kernelwright.candidate import Candidate
from kernelwright.local import LocalJudge
from kernelwright.problem import Problem
from kernelwright.service_calls import Case
from kernelwright.verdict import NoVerdict, Verdict

TOKEN_VARIABLE = "KERNELWRIGHT_API_KEY"


def _one(ends: list[Verdict | NoVerdict]) -> Verdict:
    if isinstance(ends[0], NoVerdict):
        raise ends[0]
    return ends[0]


def _server(url: str, token: str | None, ca_file: str | None, allow_plaintext: bool) -> Any:
    from kernelwright.connection import Server

    return Server(url, token or os.environ.get(TOKEN_VARIABLE), ca_file, allow_plaintext)


class Judge:
    """url: of `kernelwright serve`, or the path of its address file; None: `program` on this machine, with `jobs` evaluations in flight.
    token: of the service, else from KERNELWRIGHT_API_KEY. ca_file: PEM certificates that are trusted for https, else those
    of the file that SSL_CERT_FILE names, else the system's. allow_plaintext: the token may go over http to another machine;
    otherwise that is a ValueError. patience_seconds: how long calls are repeated while a service
    does not answer. options: those of docs/formats/request.md, such as {"timing": False, "max_seconds": 5}."""

    def __init__(self, url: str | None = None, *, token: str | None = None, ca_file: str | None = None,
                 allow_plaintext: bool = False, patience_seconds: float = 300, program: str = "kernelwright",
                 jobs: int = 1, options: dict[str, Any] | None = None):
        self._options = dict(options or {})
        if url is None:
            self._judge: Any = LocalJudge(program, jobs)
        else:
            from kernelwright.remote import RemoteJudge

            self._judge = RemoteJudge(_server(url, token, ca_file, allow_plaintext), patience_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._judge.close()

    def judge(self, problem: Problem, candidate: Candidate, *, timeout_seconds: float = 0, **options: Any) -> Verdict:
        """Raises NoVerdict. timeout_seconds: 0 is none; options go before those of the judge."""
        return _one(self.judge_many([(problem, candidate)], timeout_seconds=timeout_seconds, **options))

    def judge_many(self, cases: Sequence[Case], *, timeout_seconds: float = 0,
                   **options: Any) -> list[Verdict | NoVerdict]:
        """In the order of `cases`. A NoVerdict stands where the infrastructure failed; it is raised only where nothing
        could be submitted."""
        if not cases:
            return []
        return self._judge.judge_many(list(cases), {**self._options, **options}, timeout_seconds)


class AsyncJudge:
    """Judge for asyncio."""

    def __init__(self, url: str | None = None, *, token: str | None = None, ca_file: str | None = None,
                 allow_plaintext: bool = False, patience_seconds: float = 300, program: str = "kernelwright",
                 jobs: int = 1, options: dict[str, Any] | None = None):
        self._options = dict(options or {})
        self._remote: Any = None
        self._local: Any = None
        if url is None:
            self._local = LocalJudge(program, jobs)
        else:
            from kernelwright.remote import AsyncRemoteJudge

            self._remote = AsyncRemoteJudge(_server(url, token, ca_file, allow_plaintext), patience_seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._remote is not None:
            await self._remote.close()

    async def judge(self, problem: Problem, candidate: Candidate, *, timeout_seconds: float = 0,
                    **options: Any) -> Verdict:
        return _one(await self.judge_many([(problem, candidate)], timeout_seconds=timeout_seconds, **options))

    async def judge_many(self, cases: Sequence[Case], *, timeout_seconds: float = 0,
                         **options: Any) -> list[Verdict | NoVerdict]:
        if not cases:
            return []
        options = {**self._options, **options}
        if self._local is not None:
            return await asyncio.to_thread(self._local.judge_many, list(cases), options, timeout_seconds)
        return await self._remote.judge_many(list(cases), options, timeout_seconds)
