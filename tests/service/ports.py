"""Ports of 127.0.0.1 that tests keep while the servers behind them are killed and started anew."""

import contextlib
import random
import socket

RANGE = (20000, 30000)  # the kernel gives none of these to a connection
RANDOM = random.SystemRandom()  # never a test's seed: tests of one seed that run side by side would look at the same ports
_kept: list[socket.socket] = []


def own_port() -> int:
    """No other test's own_port() gives this one until this process and its children have ended: else callers of a killed server would be answered by
    another test's."""
    while True:
        port = RANDOM.randrange(*RANGE)
        with contextlib.ExitStack() as unless_taken:
            mark = unless_taken.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            probe = unless_taken.enter_context(socket.socket())
            try:
                mark.bind(f"\0kernelwright-test-port-{port}")
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _kept.append(mark)
            unless_taken.pop_all()
            probe.close()
            return port
