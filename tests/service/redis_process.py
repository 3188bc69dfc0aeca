"""A real redis-server of a test's, on a port of 127.0.0.1 and in a folder of its own."""

import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

PROGRAM = shutil.which("redis-server")


def folder_in_memory() -> tempfile.TemporaryDirectory:
    """Where a Redis that writes each change at once does not wait for a busy disk: a lead of a few seconds would be lost by that."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None)


class Redis:
    def __init__(self, folder: str, port: int, *settings: str):
        self.folder, self.port, self.settings = pathlib.Path(folder).resolve(), port, settings
        self.folder.mkdir(exist_ok=True)
        self.url = f"redis://127.0.0.1:{port}/0"
        self.start()

    def start(self) -> None:
        """It answers when this returns."""
        words = [PROGRAM, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--logfile", str(self.folder / "log"),
                 "--save", "", "--appendonly", "yes", "--appendfsync", "always", *self.settings]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while not self.call("PING").startswith(("+PONG", "-NOAUTH")):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def call(self, *words: str) -> str:
        """The first line of the answer; nothing while it cannot be reached."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
                connection.sendall((" ".join(words) + "\r\n").encode())
                return connection.makefile().readline().strip()
        except OSError:
            return ""
