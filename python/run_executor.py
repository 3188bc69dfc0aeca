# The life of an executor's process, on a CPU as on a GPU: one setup message, then it loads and serves.
import os
import socket

import failures
import messages
import pages
from failures import Failed


def run_executor(executor_of, control_fd):
    """Serves one checker; never returns. executor_of(message) has load(), serve() and fail(failure, text),
    of which the last two end the process."""
    with socket.socket(fileno=control_fd) as control:
        message = messages.receive(control)
    if message is None:
        os._exit(0)
    executor = executor_of(message)
    step = pages.FAILURE_LOAD
    try:
        executor.load()
        step = pages.FAILURE_EXCEPTION
        executor.serve()
    except Failed as error:
        executor.fail(error.failure, str(error))
    except BaseException as error:
        executor.fail(step, failures.describe(error, with_headline=True))
