# One request to a Triton compiler role, and its answer (docs/protocol.md).
import os
import struct

from triton.compiler.errors import CompilationError

import failures
from memory import Region

MAX_TEXT = 4000
STATUS_BUILT, STATUS_FAILED, STATUS_TOO_LARGE, STATUS_REFUSED = 0, 1, 3, 4

_HEADER = struct.Struct("<QIiQ40x")  # BuildHeader
_BUILD_MAGIC = 0x31444C495542574B


class Building:
    """setup: how the candidate is called, with its files. sources: their bytes, one after the other."""

    def __init__(self, message):
        self.setup = {**message.body["setup"], "files": message.body["files"]}
        self.sources = bytes(Region(message.fds["sources"], writable=False).bytes)
        self._limit = message.body["artifact_limit"]
        self._output = message.fds["output"]  # kept open: the answer is written there

    def answer(self, artifact):
        """Hands over what was built."""
        if len(artifact) > self._limit:
            return self._write(STATUS_TOO_LARGE, 0, len(artifact))
        failures.flush()
        os.pwrite(self._output, artifact, _HEADER.size)
        self._write(STATUS_BUILT, 0, len(artifact))

    def fail(self, text):
        """Nothing was built, by the candidate's fault."""
        failures.log(text)
        self._write(STATUS_FAILED, 1, 0)

    def refuse(self, text):
        """Nothing was built; it is nobody's fault."""
        failures.log(text)
        self._write(STATUS_REFUSED, 0, 0)

    def expect_end(self, signal):
        """What the answer is if this process ends by the signal from here on."""
        self._write(STATUS_REFUSED, -signal, 0)

    def _write(self, status, exit_code, size):
        failures.flush()
        # The magic, which says that there is an answer, comes last.
        header = _HEADER.pack(_BUILD_MAGIC, status, exit_code, size)
        os.pwrite(self._output, header[8:], 8)
        os.pwrite(self._output, header[:8], 0)


def told(error):
    """Triton's message with the source line that it points to; of other errors the traceback."""
    if isinstance(error, CompilationError):
        words = []
        while error is not None:
            words.append(f"{type(error).__name__}: {error}")
            error = error.__cause__
        return failures.shorten("\n".join(words), MAX_TEXT)
    return failures.describe(error, MAX_TEXT)
