"""Takes code out of a model's answer: the last fenced block behind the reasoning. `kernelwright solve` reads more forms of
answers (docs/prompts.md)."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)^[ \t]*\1[`~]*[ \t]*$", re.DOTALL | re.MULTILINE)


def code_of(answer: str) -> str | None:
    """The last closed fence's text. None where there is none, or where it is empty. What stands before the last </think>
    is not read, and neither is a reasoning without an end."""
    answer = answer.rpartition("</think>")[2].partition("<think>")[0]
    blocks = [block for _, block in _FENCE.findall(answer.replace("\r\n", "\n") + "\n")]
    if not blocks or not blocks[-1].strip():
        return None
    return blocks[-1]


def text_of(completion: str | list[dict[str, object]]) -> str:
    """Of a completion as trainers hand it over: text, or the messages of a conversation, the last one's content."""
    if isinstance(completion, str):
        return completion
    return str(completion[-1]["content"])
