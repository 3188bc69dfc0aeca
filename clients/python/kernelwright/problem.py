"""Problems as values that need no file: what a request to the service carries."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tomllib
from typing import Any


@dataclasses.dataclass(frozen=True)
class Problem:
    """A definition with its workloads, or a KernelBench module."""

    name: str
    source: str  # the definition's JSON, or the module's Python
    is_module: bool
    workloads: list[dict[str, Any]] = dataclasses.field(default_factory=list)  # of a definition
    policy: dict[str, Any] | None = None  # None: the default
    entry_point: str = "Model"  # of a module: its class

    @staticmethod
    def load(path: str | pathlib.Path) -> Problem:
        """A folder with definition.json, workloads.jsonl and maybe policy.toml, or a KernelBench file NAME.py with maybe
        NAME.policy.toml. Raises ValueError or OSError, naming the file."""
        path = pathlib.Path(path)
        if path.is_dir():
            return _of_folder(path)
        if path.suffix == ".py":
            policy = _policy(path.with_suffix(".policy.toml"))
            return Problem(path.stem, path.read_text(encoding="utf-8"), is_module=True, policy=policy)
        raise ValueError(f"{path}: neither a folder with definition.json nor a KernelBench .py")

    @staticmethod
    def definition(definition: dict[str, Any], workloads: list[dict[str, Any]],
                   policy: dict[str, Any] | None = None) -> Problem:
        """A FlashInfer-Bench definition and its workloads, without the lines' wrapping."""
        return Problem(definition["name"], json.dumps(definition), is_module=False, workloads=workloads, policy=policy)

    @staticmethod
    def module(name: str, source: str, entry_point: str = "Model") -> Problem:
        """A KernelBench module: Python text with a class, get_inputs() and get_init_inputs()."""
        return Problem(name, source, is_module=True, entry_point=entry_point)

    def to_json(self) -> dict[str, Any]:
        """The `problem` of a request (docs/formats/request.md)."""
        out: dict[str, Any] = {
            "name": self.name,
            "form": "module" if self.is_module else "definition",
            "source": self.source,
        }
        if not self.is_module:
            out["workloads"] = self.workloads
        elif self.entry_point != "Model":
            out["entry_point"] = self.entry_point
        if self.policy is not None:
            out["policy"] = self.policy
        return out


def _of_folder(folder: pathlib.Path) -> Problem:
    definition = folder / "definition.json"
    lines = folder / "workloads.jsonl"
    try:
        name = json.loads(definition.read_text(encoding="utf-8"))["name"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{definition}: no definition: {error}") from None
    workloads = []
    for number, line in enumerate(lines.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            workloads.append(json.loads(line)["workload"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{lines}:{number}: no workload: {error}") from None
    return Problem(name, definition.read_text(encoding="utf-8"), is_module=False, workloads=workloads,
                   policy=_policy(folder / "policy.toml"))


def _policy(path: pathlib.Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
