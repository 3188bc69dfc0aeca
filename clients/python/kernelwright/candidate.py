"""Candidates: source files by name and text."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

EXTENSIONS = {"cpp": ".cpp", "cuda": ".cu", "ptx": ".ptx", "python": ".py", "triton": ".py"}


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A kernel in one file. The extension says the language: .cpp, .cu, .ptx or .py."""

    file: str  # a name without folders
    content: str
    language: str | None = None  # None: what the extension and the text say

    @staticmethod
    def load(path: str | pathlib.Path) -> Candidate:
        path = pathlib.Path(path)
        return Candidate(path.name, path.read_text(encoding="utf-8"))

    @staticmethod
    def of(content: str, language: str, name: str = "candidate") -> Candidate:
        """Text without a file, such as a model's answer. language: cpp, cuda, ptx, python or triton."""
        if language not in EXTENSIONS:
            raise ValueError(f"language: {language!r} is none of {', '.join(EXTENSIONS)}")
        return Candidate(name + EXTENSIONS[language], content, language)

    def to_json(self) -> dict[str, Any]:
        """The `candidate` of a request (docs/formats/request.md)."""
        out = {"file": self.file, "content": self.content}
        if self.language is not None:
            out["language"] = self.language
        return out
