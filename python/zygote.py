# The Python zygote: imports torch once, then forks a sandboxed process per oracle and executor.
# usage: python -I zygote.py libkw_sandbox_leaf.so, with the supervisor's socket as descriptor 3.
#
# Theory of operation. The sandbox's folders are prepared before torch is imported, since that starts threads and namespaces want none. The zygote never
# runs a tensor operation: a fork after one that used two threads hangs the child. Forks, walls and descriptors are the library's
# (src/sandbox/leaf.cc), the same code as the native launcher's; it returns only in a sandboxed child, or when the supervisor is gone.
import ctypes
import json
import os
import sys

SOCKET_FD = 3
CONTROL_FD = 3  # in a sandboxed child

HERE = os.path.dirname(os.path.abspath(__file__))


def interpreter_folders():
    """What Python and its packages may still read inside a sandbox."""
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, HERE}
    folders.update(path for path in sys.path if os.path.isdir(path))
    system = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
    kept = []
    for folder in sorted(os.path.realpath(f) for f in folders):
        inside_system = any(folder == s or folder.startswith(s + "/") for s in system)
        inside_kept = any(folder == k or folder.startswith(k + "/") for k in kept)
        if not inside_system and not inside_kept:
            kept.append(folder)
    # A venv is known by its unresolved path as well.
    kept += [f for f in sorted(folders) if os.path.realpath(f) != f and not f.startswith(system)]
    return kept


def main():
    library = ctypes.PyDLL(sys.argv[1])
    folders = [f.encode() for f in interpreter_folders()] + [None]
    if library.kw_sandbox_prepare(SOCKET_FD, (ctypes.c_char_p * len(folders))(*folders)) != 0:
        return 2
    sys.path.insert(0, HERE)
    import executor
    import oracle

    hooks = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
             for name in ("PyOS_BeforeFork", "PyOS_AfterFork_Parent", "PyOS_AfterFork_Child")]
    library.kw_sandbox_serve.restype = ctypes.c_char_p
    answer = library.kw_sandbox_serve(*hooks)
    if answer is None:
        return 0
    request = json.loads(answer)
    os.environ.clear()
    os.environ.update(request["environment"])
    {"executor": executor, "oracle": oracle}[request["role"]].main(CONTROL_FD)
    return 0


if __name__ == "__main__":
    sys.exit(main())
