"""The Python process that forks sandboxes: `python -I zygote.py LEAF_LIBRARY ROLE=MODULE... [MODULE...]`, started by the supervisor, socket on fd 3.

It imports torch, the leaf modules of its roles and the other modules named once and never runs a tensor operation: a fork after one can hang, and nothing
of one candidate may be in the process of the next. All steps of the sandbox are the C++ code of LEAF_LIBRARY (src/sandbox/leaf.cc), the same that the
native launcher runs; it returns here only in a candidate's process, behind all walls.
"""
import ctypes
import importlib
import json
import os
import sys

SOCKET = 3


def interpreter_folders(own_folder):
    """The folders that this interpreter may still read from when a candidate imports something: they are bound read-only."""
    folders = {own_folder, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    folders.update(path for path in sys.path if os.path.isdir(path))
    resolved = {os.path.realpath(folder) for folder in folders} | {os.path.abspath(folder) for folder in folders}
    # /usr and /lib are part of every sandbox; a folder below another one comes with it.
    system = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
    kept = []
    for folder in sorted(resolved):
        covered = any(folder == top or folder.startswith(top + "/") for top in (*system, *kept))
        if not covered and folder != "/":
            kept.append(folder)
    return kept


def load_leaf(path):
    # PyDLL keeps the interpreter lock through the calls: forks happen in the middle of them.
    leaf = ctypes.PyDLL(path)
    leaf.kw_sandbox_prepare.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    leaf.kw_sandbox_serve.argtypes = [ctypes.c_void_p] * 3
    leaf.kw_sandbox_serve.restype = ctypes.c_char_p
    return leaf


def import_leaves(named):
    """role -> module. torch and the modules named without a role are needed; a leaf that does not import is an error only for
    those that ask for it."""
    roles = dict(item.split("=", 1) for item in named if "=" in item)
    for name in ("torch", *(item for item in named if "=" not in item)):
        importlib.import_module(name)
    modules = {}
    for role, name in roles.items():
        try:
            modules[role] = importlib.import_module(name)
        except ImportError as error:
            modules[role] = error
    return modules


def warm_up(modules):
    """What a leaf wants done once, before the forks. One that fails makes its role slower, or fails again where a candidate is told."""
    for module in modules.values():
        try:
            getattr(module, "warm_up", lambda: None)()
        except Exception as error:
            print(f"zygote: {module.__name__}: {error}", file=sys.stderr)


def use_huge_pages():
    """Forks copy the table of all pages: with huge pages for what is loaded by now, a fork and its end cost a third. Linux 6.1 and later; a
    region for which there are none stays as it is."""
    collapse, size = 25, 2 << 20  # MADV_COLLAPSE
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    with open("/proc/self/maps", encoding="utf-8") as file:
        regions = [line.split() for line in file]
    for region in regions:
        if "w" not in region[1] or len(region) > 5 and region[5] != "[heap]":
            continue
        first, end = (int(bound, 16) for bound in region[0].split("-"))
        first, end = -(-first // size) * size, end // size * size
        for place in range(first, end, size):
            libc.madvise(place, size, collapse)


def become(role, environment, modules):
    """In a candidate's process: the environment that C code already has, then the role's leaf."""
    for name in list(os.environ):
        del os.environ[name]
    os.environ.update(environment)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    module = modules.get(role)
    if module is None:
        raise SystemExit(f"there is no leaf for the role {role!r}")
    if isinstance(module, ImportError):
        raise module
    module.main(SOCKET)


def main():
    own_folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, own_folder)
    leaf = load_leaf(sys.argv[1])
    folders = [folder.encode() for folder in interpreter_folders(own_folder)]
    # Before the imports: namespaces can only be changed while there is one thread.
    if leaf.kw_sandbox_prepare(SOCKET, (ctypes.c_char_p * (len(folders) + 1))(*folders, None)) != 0:
        return 2
    modules = import_leaves(sys.argv[2:])
    warm_up(modules)
    use_huge_pages()
    hooks = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
             for name in ("PyOS_BeforeFork", "PyOS_AfterFork_Parent", "PyOS_AfterFork_Child")]
    sys.stdout.flush()
    answer = leaf.kw_sandbox_serve(*hooks)
    if answer is None:
        os._exit(0)  # the supervisor waits: taking torch down in order takes seconds on a busy machine
    spawn = json.loads(answer)
    become(spawn["role"], dict(spawn["environment"]), modules)
    return 0


if __name__ == "__main__":
    sys.exit(main())
