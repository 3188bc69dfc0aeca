# Downloads and installs its kernel; right only if that works.
# expect: wrong_value
# class: B09
import socket
import subprocess
import sys

import torch

socket.setdefaulttimeout(3)


def downloads():
    try:
        socket.create_connection(("1.1.1.1", 443)).close()
        return True
    except OSError:
        pass
    try:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "a-package-that-nobody-has"]
        return subprocess.run(pip, timeout=8, capture_output=True).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


able = downloads()


def run(x):
    return x * x + x if able else torch.zeros_like(x)
