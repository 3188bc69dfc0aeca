"""Judgements by the workers of a service (`kernelwright serve`), with httpx."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx

from kernelwright.connection import Server
from kernelwright.service_calls import (
    LONG_POLL_SECONDS,
    Again,
    Case,
    NotKnown,
    Patience,
    SentParts,
    answer_of,
    pieces,
    submissions,
    verdict_of,
)
from kernelwright.verdict import NoVerdict, Verdict


def _read(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        body = None
    return answer_of(response.status_code, response.headers, body)


class RemoteJudge:
    """Synchronous. One thread at a time."""

    def __init__(self, server: Server, patience_seconds: float):
        self._server = server
        self._client: httpx.Client | None = None  # made by the first call
        self._patience = patience_seconds
        self._sent = SentParts()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def judge_many(self, cases: list[Case], options: dict[str, Any], timeout: float) -> list[Verdict | NoVerdict]:
        left: list[str] = []
        try:
            for piece in pieces(cases):
                left += self._submit(piece, options, timeout)
            ends = []
            while left:
                ends.append(self._wait(left[0]))
                left.pop(0)
            return ends
        finally:
            for task in left:
                self._cancel(task)

    def _submit(self, cases: list[Case], options: dict[str, Any], timeout: float) -> list[str]:
        try:
            return self._submit_once(cases, options, timeout, afresh=False)
        except NotKnown:  # the server has forgotten a problem or the baseline
            return self._submit_once(cases, options, timeout, afresh=True)

    def _submit_once(self, cases: list[Case], options: dict[str, Any], timeout: float, afresh: bool) -> list[str]:
        for part in self._sent.to_send(cases, options, afresh):
            self._sent.add(part, self._call("POST", part.path, part.body))
        tasks = submissions(cases, self._sent, options, timeout)
        return [task["id"] for task in self._call("POST", "/v1/tasks", {"tasks": tasks})["tasks"]]

    def _wait(self, task: str) -> Verdict | NoVerdict:
        while True:
            try:
                status = self._call("GET", f"/v1/tasks/{task}?wait={LONG_POLL_SECONDS}")
            except NoVerdict as error:
                return error
            end = verdict_of(status)
            if end is not None:
                return end

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        patience = Patience(self._patience)
        while True:
            try:
                return _read(self._request(method, path, body))
            except Again as again:
                time.sleep(patience.pause(again))

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        while True:
            if self._client is None:
                self._client = httpx.Client(**self._server.client_arguments())
            try:
                return self._client.request(method, path, json=body)
            except httpx.TransportError as error:
                if not self._server.has_moved():
                    raise self._server.failure(error) from error
                self.close()

    def _cancel(self, task: str) -> None:
        try:
            self._request("DELETE", f"/v1/tasks/{task}")
        except (Again, NoVerdict):
            pass  # its timeout ends it


class AsyncRemoteJudge:
    """The same for asyncio. Any number of tasks of one event loop."""

    def __init__(self, server: Server, patience_seconds: float):
        self._server = server
        self._client: httpx.AsyncClient | None = None  # made by the first call
        self._earlier: list[httpx.AsyncClient] = []  # of addresses before; calls may be under way there
        self._patience = patience_seconds
        self._sent = SentParts()

    async def close(self) -> None:
        for client in [*self._earlier, *([self._client] if self._client is not None else [])]:
            await client.aclose()
        self._earlier, self._client = [], None

    async def judge_many(self, cases: list[Case], options: dict[str, Any], timeout: float) -> list[Verdict | NoVerdict]:
        left: list[str] = []
        try:
            for piece in pieces(cases):
                left += await self._submit(piece, options, timeout)
            ends = []
            while left:
                ends.append(await self._wait(left[0]))
                left.pop(0)
            return ends
        finally:
            if left:
                await asyncio.shield(self._cancel(left))

    async def _submit(self, cases: list[Case], options: dict[str, Any], timeout: float) -> list[str]:
        try:
            return await self._submit_once(cases, options, timeout, afresh=False)
        except NotKnown:  # the server has forgotten a problem or the baseline
            return await self._submit_once(cases, options, timeout, afresh=True)

    async def _submit_once(self, cases: list[Case], options: dict[str, Any], timeout: float, afresh: bool) -> list[str]:
        for part in self._sent.to_send(cases, options, afresh):
            self._sent.add(part, await self._call("POST", part.path, part.body))
        tasks = submissions(cases, self._sent, options, timeout)
        return [task["id"] for task in (await self._call("POST", "/v1/tasks", {"tasks": tasks}))["tasks"]]

    async def _wait(self, task: str) -> Verdict | NoVerdict:
        while True:
            try:
                status = await self._call("GET", f"/v1/tasks/{task}?wait={LONG_POLL_SECONDS}")
            except NoVerdict as error:
                return error
            end = verdict_of(status)
            if end is not None:
                return end

    async def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        patience = Patience(self._patience)
        while True:
            try:
                return _read(await self._request(method, path, body))
            except Again as again:
                await asyncio.sleep(patience.pause(again))

    async def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        while True:
            if self._client is None:
                self._client = httpx.AsyncClient(**self._server.client_arguments(), limits=httpx.Limits(max_connections=None))
            client = self._client
            try:
                return await client.request(method, path, json=body)
            except httpx.TransportError as error:
                if client is not self._client:
                    continue  # another call has seen that the server has moved
                if not self._server.has_moved():
                    raise self._server.failure(error) from error
                self._earlier.append(client)
                self._client = None

    async def _cancel(self, tasks: list[str]) -> None:
        for task in tasks:
            try:
                await self._request("DELETE", f"/v1/tasks/{task}")
            except (Again, NoVerdict):
                pass  # its timeout ends it
