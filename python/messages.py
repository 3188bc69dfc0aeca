# Control messages on fd 3: one JSON object a packet, or in a memory file, with descriptors by name (docs/protocol.md).
import array
import json
import os
import socket

MAX_BYTES = 64 * 1024  # of a packet
MAX_FDS = 241
IN_FILE = "message_in_file"


class Message:
    """A request. Owns its descriptors until close()."""

    def __init__(self, body, fds):
        self.body = body
        self.fds = fds  # name -> descriptor

    def close(self):
        for fd in self.fds.values():
            os.close(fd)
        self.fds = {}


def receive(control):
    """The next Message, or None at end of file. The sender is trusted, so a bad message raises."""
    space = socket.CMSG_SPACE(MAX_FDS * array.array("i").itemsize)
    data, ancillary, flags, _ = control.recvmsg(MAX_BYTES, space, socket.MSG_CMSG_CLOEXEC)
    numbers = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers.frombytes(payload[: len(payload) - len(payload) % numbers.itemsize])
    if not data and not numbers:
        return None
    if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
        raise ValueError("a control message was cut off")
    body = json.loads(data)
    if IN_FILE in body:
        with os.fdopen(numbers.pop(), "rb") as file:
            body = json.load(file)
    names = body.get("fds", [])
    if len(names) != len(numbers):
        raise ValueError(f"a control message names {len(names)} descriptors and has {len(numbers)}")
    return Message(body, dict(zip(names, numbers)))
