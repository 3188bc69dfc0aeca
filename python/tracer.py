# The leaf that writes down a problem's operators as a graph (docs/tracing.md).
#
# Theory of operation. A sandboxed process per problem, since a reference is arbitrary code: nothing in here
# keeps that code from changing what is written. It takes one request on fd 3, in the oracle's form, writes
# the graph to the text memory file, answers and ends. Importing this file runs no tensor operation.
import json
import os
import socket

import torch

import failures
import loading
import messages
import pages
from memory import Region
from reference import BadReference
from tracing import subjects
from tracing.capture import line_of
from tracing.errors import Unsupported

STATUS_DONE, STATUS_FAILED, STATUS_BAD_REQUEST, STATUS_UNSUPPORTED = 0, 1, 2, 3
MAX_FAILURE_TEXT = 1900


def warm_up():
    """A trace: the first imports much and fills caches. Nothing computes in it, its tensors have no elements."""
    inputs = [
        {"name": name, "dtype": "float32", "shape": shape, "static": False, "value": None}
        for name, shape in (("x", ["M", "K"]), ("w", ["K", "N"]))
    ]
    axes = [["M", 2], ["K", 2], ["N", 2]]
    with torch.no_grad():
        subjects.trace_definition(lambda x, w: torch.relu(x @ w).sum(-1), axes, inputs, 1, __file__)


def main(control_fd=3):
    """Answers one request; never returns."""
    control = socket.socket(fileno=control_fd)
    message = messages.receive(control)
    if message is None:
        os._exit(0)
    text_file = Region(message.fds["text"], writable=True)
    status, text = answer(message)
    data = text.encode("utf-8", "replace")
    if len(data) > text_file.size:
        status, data = STATUS_UNSUPPORTED, b"the graph is too large"
    text_file.bytes[: len(data)] = data
    control.send(pages.oracle_reply(status, len(data)))
    failures.flush()
    os._exit(0)


def answer(message):
    """(status, text) of a request."""
    body = message.body
    if body.get("op") != "trace":
        return STATUS_BAD_REQUEST, f"{body.get('op')!r}: unknown"
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    source = bytes(Region(message.fds["source"], writable=False).bytes)
    folder = loading.work_folder()
    loading.write_files(folder, [{"path": "problem.py", "size": len(source)}], source)
    path = os.path.join(folder, "problem.py")
    try:
        return STATUS_DONE, json.dumps(trace(path, body), separators=(",", ":"))
    except Unsupported as error:
        return STATUS_UNSUPPORTED, f"line {error.line}: {error}" if error.line else str(error)
    except BadReference as error:
        return STATUS_FAILED, str(error)
    except BaseException as error:
        return STATUS_FAILED, describe(error, path)


def trace(path, body):
    """The graph of a problem's file, as JSON values."""
    loaded = loading.load(path)
    entry = getattr(loaded, body["entry"], None)
    if not callable(entry):
        raise BadReference(f"the problem has no {body['entry']}")
    if body["kind"] == "module":
        return subjects.trace_module(loaded, entry, path)
    return subjects.trace_definition(entry, body["axes"], body["inputs"], body["output_count"], path)


def describe(error, path):
    """What the problem's code threw, and where it stood in its file."""
    line = line_of(error.__traceback__, path)
    if isinstance(error, SyntaxError):
        line = error.lineno or 0
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return failures.shorten(f"line {line}: {text}" if line else text, MAX_FAILURE_TEXT)
