# What the tests share: leaves as processes, memory files, and the paths of this checkout.
import atexit
import fcntl
import glob
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

PYTHON_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, PYTHON_FOLDER)

_F_ADD_SEALS = 1033
_F_SEAL_FUTURE_WRITE = 0x10


def arena_library():
    """KW_ARENA_LIBRARY, or the one built last."""
    given = os.environ.get("KW_ARENA_LIBRARY")
    built = glob.glob(os.path.join(PYTHON_FOLDER, "..", "build", "*", "lib", "libkw_arena.so"))
    if given is None and not built:
        raise RuntimeError("libkw_arena.so is not built: cmake --build build/dev --target kw_arena")
    return given or max(built, key=os.path.getmtime)


def environment():
    """Of a leaf: the preload library and a folder of its own."""
    if not hasattr(environment, "folder"):
        environment.folder = tempfile.TemporaryDirectory(prefix="kw-leaves-")
        atexit.register(environment.folder.cleanup)
    env = dict(os.environ)
    env.update(
        LD_PRELOAD=arena_library(),
        PYTHONPATH=PYTHON_FOLDER,
        TMPDIR=environment.folder.name,
        OMP_NUM_THREADS="1",
        PYTHONDONTWRITEBYTECODE="1",
    )
    return env


class Server:
    """The fork server; started at the first use, one for the whole run."""

    _running = None

    @classmethod
    def get(cls):
        if cls._running is None:
            cls._running = cls()
        return cls._running

    def __init__(self):
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = os.path.join(PYTHON_FOLDER, "tests", "fork_server.py")
        self._process = subprocess.Popen([sys.executable, script], stdin=other, env=environment())
        other.close()
        self._socket.settimeout(120)
        assert self._socket.recv(64) == b"ready"
        atexit.register(self._stop)

    def spawn(self, leaf, control, log):
        """The pid of a new leaf ("executor", "oracle")."""
        socket.send_fds(self._socket, [leaf.encode()], [control, log])
        return int(self._socket.recv(64))

    def wait(self, pid):
        """Its exit code, negative for a signal."""
        self._socket.send(b"wait %d" % pid)
        return int(self._socket.recv(64))

    def _stop(self):
        self._socket.close()
        self._process.wait()


class MemoryFile:
    """A memory file with our writable mapping of it."""

    def __init__(self, name, size, read_only_for_others=False):
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        self.size = size
        if read_only_for_others:
            fcntl.fcntl(self.fd, _F_ADD_SEALS, _F_SEAL_FUTURE_WRITE)

    def close(self):
        os.close(self.fd)


class Leaf:
    """A process of the fork server with its control socket and its log."""

    def __init__(self, name):
        self.control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(120)
        reader, writer = os.pipe()
        self.pid = Server.get().spawn(name, other.fileno(), writer)
        other.close()
        os.close(writer)
        self._log = []
        self._reader = threading.Thread(target=self._read, args=(reader,), daemon=True)
        self._reader.start()
        self._code = None

    def _read(self, fd):
        with open(fd, "rb") as file:
            self._log.append(file.read())

    def send(self, body, files):
        """files: name -> MemoryFile."""
        body = {**body, "fds": list(files)}
        socket.send_fds(self.control, [json.dumps(body).encode()], [f.fd for f in files.values()])

    def wait(self):
        if self._code is None:
            self._code = Server.get().wait(self.pid)
            self._reader.join(30)
        return self._code

    @property
    def log(self):
        """What it printed, once it has ended."""
        self.wait()
        return b"".join(self._log).decode()

    def close(self):
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        self.control.close()
