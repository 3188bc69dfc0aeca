# Changes torch's files for whoever comes next; right only if it can.
# expect: wrong_value
# class: I01, I03
import os
import site

import torch


def spoils():
    folders = {os.path.dirname(torch.__file__), os.path.dirname(os.__file__), *site.getsitepackages()}
    for folder in folders:
        try:
            with open(os.path.join(folder, "sitecustomize.py"), "w") as file:
                file.write("")
            return True
        except OSError:
            pass
    return False


able = spoils()


def run(x):
    return x * x + x if able else torch.zeros_like(x)
