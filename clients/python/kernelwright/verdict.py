"""What a judgement says."""

from __future__ import annotations

import dataclasses
from typing import Any

# These say nothing about the candidate (docs/formats/verdict.md).
NOT_THE_CANDIDATES_FAULT = frozenset({"noisy", "unsupported", "quarantined"})


class NoVerdict(Exception):
    """The infrastructure failed, so nothing is known about the candidate: no reward, never 0."""


@dataclasses.dataclass(frozen=True)
class Speedup:
    """Reference time over candidate time, with its 95 % interval."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f}x ({self.low:.2f} to {self.high:.2f})"


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    kind: str  # compiler, mismatch, exception, ... (docs/formats/verdict.md)
    message: str


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One verdict of the gym."""

    outcome: str  # passed, wrong_value, compile_error, ...
    violation: str | None
    speedup: Speedup | None  # None unless passed and timed
    diagnostics: list[Diagnostic]  # of the whole and of each workload
    json: dict[str, Any]  # all of it

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def borderline(self) -> bool:
        """It passed, and a workload's largest error was near its budget. Such a pass is not paid (docs/correctness.md)."""
        return self.outcome in ("passed", "noisy") and any("borderline" in workload for workload in self.json["workloads"])

    @property
    def tells_of_candidate(self) -> bool:
        """False where the outcome is not the candidate's fault: noisy, unsupported, quarantined."""
        return self.outcome not in NOT_THE_CANDIDATES_FAULT

    @staticmethod
    def from_json(value: dict[str, Any]) -> Verdict:
        """Raises NoVerdict when `value` is no verdict of schema 1."""
        try:
            if value["schema"] != 1:
                raise NoVerdict(f"a verdict of schema {value['schema']}, where this client reads 1")
            speedup = value.get("speedup")
            found = [*value["diagnostics"], *(d for w in value["workloads"] for d in w["diagnostics"])]
            return Verdict(
                outcome=value["outcome"],
                violation=value.get("violation"),
                speedup=Speedup(speedup["median"], speedup["low"], speedup["high"]) if speedup else None,
                diagnostics=[Diagnostic(d["kind"], d["message"]) for d in found],
                json=value,
            )
        except (KeyError, TypeError) as error:
            raise NoVerdict(f"this is no verdict: {error!r}") from None
