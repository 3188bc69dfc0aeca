"""The service's HTTP calls without input or output: what is sent, what an answer means, and when to try again.
docs/service.md has the routes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
import uuid
from typing import Any

from kernelwright.candidate import Candidate
from kernelwright.problem import Problem
from kernelwright.verdict import NoVerdict, Verdict

MAX_TASKS_AT_ONCE = 1000
LONG_POLL_SECONDS = 20
HTTP_TIMEOUT_SECONDS = LONG_POLL_SECONDS + 20
MAX_BACK_OFF_SECONDS = 10.0

Case = tuple[Problem, Candidate]


class Again(Exception):
    """The call may succeed later. seconds: what the server asked for, or None."""

    def __init__(self, why: str, seconds: float | None = None):
        super().__init__(why)
        self.seconds = seconds


class NotKnown(NoVerdict):
    """The server does not know what the call names."""


@dataclasses.dataclass(frozen=True)
class Part:
    """A problem or a baseline, which requests name by its hash once it was sent."""

    path: str  # of the call that takes it
    body: dict[str, Any]

    def key(self) -> str:
        return self.path + hashlib.sha256(json.dumps(self.body, sort_keys=True).encode()).hexdigest()


def problem_part(problem: Problem) -> Part:
    return Part("/v1/problems", {"problem": problem.to_json()})


def baseline_part(options: dict[str, Any]) -> Part | None:
    """None: the baseline is a form of the reference, or a hash."""
    baseline = options.get("baseline")
    if isinstance(baseline, Candidate):
        return Part("/v1/baselines", {"baseline": baseline.to_json()})
    if isinstance(baseline, dict) and set(baseline) != {"hash"}:
        return Part("/v1/baselines", {"baseline": baseline})
    return None


class SentParts:
    """The hashes of problems and baselines that the server was sent, so that each travels once. A server forgets those
    that no task has had for long; then they are sent afresh."""

    def __init__(self) -> None:
        self._hashes: dict[str, str] = {}

    def to_send(self, cases: list[Case], options: dict[str, Any], afresh: bool) -> list[Part]:
        """afresh: also those that were sent before."""
        parts = [problem_part(problem) for problem, _ in cases]
        baseline = baseline_part(options)
        wanted = {part.key(): part for part in ([*parts, baseline] if baseline else parts)}
        return [part for key, part in wanted.items() if afresh or key not in self._hashes]

    def add(self, part: Part, answer: dict[str, Any]) -> None:
        """answer: that of the call which sent it."""
        self._hashes[part.key()] = answer["hash"]

    def reference(self, part: Part) -> dict[str, str]:
        return {"hash": self._hashes[part.key()]}


def submissions(cases: list[Case], sent: SentParts, options: dict[str, Any],
                timeout_seconds: float) -> list[dict[str, Any]]:
    """The tasks of cases. Each has a name of its own, so that a repeated submission is the same task."""
    baseline = baseline_part(options)
    if baseline:
        options = {**options, "baseline": sent.reference(baseline)}
    return [
        {
            "request": {"schema": 1, "problem": sent.reference(problem_part(problem)), "candidate": candidate.to_json(),
                        "options": options},
            "submission": uuid.uuid4().hex,
            "timeout_seconds": timeout_seconds,
        }
        for problem, candidate in cases
    ]


def pieces(cases: list[Case]) -> list[list[Case]]:
    """The cases in as many submissions as the server's limit asks for."""
    return [cases[i : i + MAX_TASKS_AT_ONCE] for i in range(0, len(cases), MAX_TASKS_AT_ONCE)]


def answer_of(status: int, headers: Any, body: Any) -> dict[str, Any]:
    """body: the parsed JSON, or None. Raises Again for what may pass, NotKnown for 404, NoVerdict for the rest."""
    if status == 200 and isinstance(body, dict):
        return body
    message = f"status {status}"
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        message = str(body["error"].get("message", message))
    if status == 429 or status >= 500:
        asked = str(headers.get("retry-after", ""))
        raise Again(message, float(asked) if asked.isascii() and asked.isdigit() else None)
    raise NotKnown(message) if status == 404 else NoVerdict(message)


def verdict_of(task: dict[str, Any]) -> Verdict | NoVerdict | None:
    """Of a task's status: its end, or None while it is under way."""
    if not task.get("is_final"):
        return None
    if task["state"] == "done":
        try:
            return Verdict.from_json(task["verdict"])
        except NoVerdict as error:
            return error
    error = task.get("error") or {}
    reason = error.get("message") if isinstance(error, dict) else str(error)
    return NoVerdict(f"task {task.get('id')} is {task['state']}" + (f": {reason}" if reason else ""))


@dataclasses.dataclass
class Patience:
    """How long failed calls are repeated: full jitter, doubling, and what the server asks for."""

    seconds: float
    waited: float = 0
    attempts: int = 0

    def pause(self, again: Again) -> float:
        """Seconds to wait before the next attempt; raises NoVerdict when patience is at an end."""
        if self.waited >= self.seconds:
            raise NoVerdict(f"{again} (tried {self.attempts + 1} times in {self.waited:.0f} s)") from again
        self.attempts += 1
        longest = min(MAX_BACK_OFF_SECONDS, 0.1 * 2.0**self.attempts)
        pause = random.uniform(longest / 2, longest)
        if again.seconds is not None:  # but not beyond the end: then comes the last attempt
            pause = max(pause, min(again.seconds, self.seconds - self.waited))
        self.waited += pause
        return pause
