"""Judgements on this machine: `kernelwright eval --json`, one process for the candidates of a problem."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any

from kernelwright.candidate import Candidate
from kernelwright.problem import Problem
from kernelwright.service_calls import Case
from kernelwright.verdict import NoVerdict, Verdict


class LocalJudge:
    """Any number of threads; timing waits for the machine's lock anyway."""

    def __init__(self, program: str, jobs: int):
        found = shutil.which(program)
        if found is None:
            raise FileNotFoundError(f"{program}: no such program; name it with program=, or a service by its URL")
        self._program = found
        self._jobs = jobs

    def close(self) -> None:
        pass

    def judge_many(self, cases: list[Case], options: dict[str, Any], timeout: float) -> list[Verdict | NoVerdict]:
        together: dict[tuple[int, str | None], list[int]] = {}  # --language is one for all of a process
        for index, (problem, candidate) in enumerate(cases):
            together.setdefault((id(problem), candidate.language), []).append(index)
        ends: list[Verdict | NoVerdict] = [NoVerdict("not judged")] * len(cases)
        for indices in together.values():
            judged = self._judge(cases[indices[0]][0], [cases[i] for i in indices], options, timeout)
            for index, end in zip(indices, judged, strict=True):
                ends[index] = end
        return ends

    def _judge(self, problem: Problem, cases: list[Case], options: dict[str, Any],
               timeout: float) -> list[Verdict | NoVerdict]:
        with tempfile.TemporaryDirectory(prefix="kernelwright-") as name:
            folder = pathlib.Path(name)
            path = _write_problem(folder, problem)
            files = []
            for index, (_, candidate) in enumerate(cases):
                files.append(_write_candidate(folder / "candidates" / str(index), candidate))
            command = [self._program, "eval", str(path), *files, "--json", "--jobs", str(self._jobs)]
            if (language := cases[0][1].language) is not None:
                command += ["--language", language]
            for key, value in options.items():
                if isinstance(value, Candidate):  # a baseline
                    value = _write_candidate(folder / "baseline", value)
                command += ["--set", f"eval.{key}={json.dumps(value) if not isinstance(value, str) else value}"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=timeout or None, check=False)
            except subprocess.TimeoutExpired:
                return [NoVerdict(f"no verdict within {timeout:g} s")] * len(cases)
        ends = [_end_of(json.loads(line)) for line in done.stdout.splitlines() if line.strip()]
        if len(ends) == len(cases):
            return ends
        if len(ends) == 1 and isinstance(ends[0], NoVerdict):  # the problem is refused, and so are all
            return ends * len(cases)
        words = done.stderr.strip().splitlines() or ["no words"]
        return [NoVerdict(f"{self._program} ended with status {done.returncode}: {words[-1]}")] * len(cases)


def _end_of(line: dict[str, Any]) -> Verdict | NoVerdict:
    """A candidate's line: its verdict, or the error because of which it has none."""
    if "error" in line:
        return NoVerdict(str(line["error"].get("message", line["error"])))
    try:
        return Verdict.from_json(line)
    except NoVerdict as error:
        return error


def _write_candidate(folder: pathlib.Path, candidate: Candidate) -> str:
    file = folder / pathlib.Path(candidate.file).name
    file.parent.mkdir(parents=True)
    file.write_text(candidate.content, encoding="utf-8")
    return str(file)


def _write_problem(folder: pathlib.Path, problem: Problem) -> pathlib.Path:
    """Files that `kernelwright eval` reads as this problem."""
    if problem.is_module:
        path = folder / f"{problem.name}.py"
        path.write_text(problem.source, encoding="utf-8")
        policy = folder / f"{problem.name}.policy.toml"
    else:
        path = folder / problem.name
        path.mkdir()
        (path / "definition.json").write_text(problem.source, encoding="utf-8")
        lines = [
            json.dumps({"definition": problem.name, "solution": None, "workload": w, "evaluation": None})
            for w in problem.workloads
        ]
        (path / "workloads.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        policy = path / "policy.toml"
    if problem.policy is not None:
        policy.write_text(_toml(problem.policy), encoding="utf-8")
    return path


def _toml(table: dict[str, Any], path: tuple[str, ...] = ()) -> str:
    """TOML of nested tables of texts, numbers, truth values and lists: JSON's forms are TOML's too."""
    values = [f"{json.dumps(k)} = {json.dumps(v)}\n" for k, v in table.items() if not isinstance(v, dict)]
    text = ""
    if path and values:
        text = "[" + ".".join(json.dumps(p) for p in path) + "]\n"
    text += "".join(values)
    for key, value in table.items():
        if isinstance(value, dict):
            text += _toml(value, (*path, key))
    return text
