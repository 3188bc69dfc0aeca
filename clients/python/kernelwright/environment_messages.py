"""The messages of kernelwright-environment without input or output: frames, requests and what an answer means.
docs/environment.md has the protocol."""

from __future__ import annotations

import dataclasses
import json
import struct
from typing import Any

from kernelwright.verdict import NoVerdict

PROTOCOL = 2
MAX_FRAME_BYTES = 16 << 20
FINISHES = frozenset({"stop", "length", "cancelled", "context", "refused"})

Messages = list[dict[str, str]]  # each with role and content


@dataclasses.dataclass(frozen=True)
class Step:
    """What an answer was paid, and what the policy reads next."""

    reward: float
    interval: tuple[float, float] | None  # 95 %, of rewards that were measured
    done: bool
    facts: dict[str, Any]  # progress, outcome, speedup, diagnostic, ... (docs/environment.md)
    next: Messages  # empty where done


def frame(message: dict[str, Any]) -> bytes:
    """Raises ValueError for a message that no frame can hold. A lone surrogate, which is no character, becomes "?"."""
    body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(f"a message of {len(body)} bytes, where a frame holds {MAX_FRAME_BYTES}")
    return struct.pack("<I", len(body)) + body


def take_frame(received: bytearray) -> dict[str, Any] | None:
    """Takes the first whole message out of what has come. Raises NoVerdict for what is none."""
    if len(received) < 4:
        return None
    (length,) = struct.unpack_from("<I", received)
    if not 0 < length <= MAX_FRAME_BYTES:
        raise NoVerdict(f"the environment's process announces a frame of {length} bytes")
    if len(received) < 4 + length:
        return None
    body = bytes(received[4 : 4 + length])
    del received[: 4 + length]
    try:
        message = json.loads(body)
        message["type"]
    except (ValueError, TypeError, KeyError) as error:
        raise NoVerdict(f"the environment's process breaks the protocol: {error!r}") from None
    return message


def tasks_of(welcome: dict[str, Any]) -> list[str]:
    """Raises NoVerdict for a process of another version."""
    if welcome.get("type") != "welcome" or welcome.get("protocol") != PROTOCOL:
        raise NoVerdict(f"kernelwright-environment speaks protocol {welcome.get('protocol')}, where this client speaks {PROTOCOL}")
    return list(welcome["tasks"])


def answer_of(message: dict[str, Any]) -> Messages | Step | NoVerdict:
    """Of a message with an id: the first observation, a step, or why there is none."""
    try:
        if message["type"] == "failed":
            return NoVerdict(message["message"])
        if message["type"] == "began":
            return message["observation"]["messages"]
        interval = message.get("interval")
        return Step(
            reward=float(message["reward"]),
            interval=None if interval is None else (float(interval[0]), float(interval[1])),
            done=message["done"],
            facts=message["facts"],
            next=[] if message["done"] else message["next"]["messages"],
        )
    except (KeyError, TypeError, ValueError) as error:
        return NoVerdict(f"the environment's process breaks the protocol: {error!r}")
