# A stand-in for the zygote: imports torch and the leaves once, then forks one for each request.
import array
import importlib
import os
import socket
import sys

import executor  # noqa: F401  imported before the forks, as the zygote does
import oracle  # noqa: F401


def child(name, control, log):
    """Runs a leaf with fd 3 = control and its output in log; never returns."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(control, 3)
    os.closerange(4, 64)
    try:
        importlib.import_module(name).main(3)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(70)


def main():
    """Requests on stdin's socket: "NAME" with two descriptors, or "wait PID"; answers are text."""
    server = socket.socket(fileno=0)
    server.send(b"ready")
    while True:
        data, ancillary, _, _ = server.recvmsg(256, socket.CMSG_SPACE(8), socket.MSG_CMSG_CLOEXEC)
        if not data:
            return
        if data.startswith(b"wait "):
            _, status = os.waitpid(int(data[5:]), 0)
            server.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        fds = array.array("i", ancillary[0][2])
        pid = os.fork()
        if pid == 0:
            # 3 may be one of the descriptors that came: all are moved above it first.
            control, log = (os.dup2(fd, 10 + i) for i, fd in enumerate(fds))
            child(data.decode(), control, log)
        for fd in fds:
            os.close(fd)
        server.send(str(pid).encode())


if __name__ == "__main__":
    main()
