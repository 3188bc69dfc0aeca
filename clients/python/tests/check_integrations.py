"""Runs the clients inside the real libraries, and `launch ray` with a real Ray: each in a virtual environment of its own, as their
requirements conflict, the clients with a real server and worker.

usage: check_integrations.py [--bin build/dev/bin] [--environments FOLDER] [--chosen-by NUMBER | NAME ...]
NAME: trl, verl, verifiers, schemathesis, ray; without it all, one after the other. --chosen-by takes the one that the number picks, of those that
are quick; verl's requirements are large.
exit: 0 fine, 1 not

The libraries find torch where this Python has it, so that no second copy of it is downloaded."""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CLIENTS = {"kernelwright": ROOT / "clients" / "python", "kernelwright-verifiers": ROOT / "clients" / "verifiers"}


@dataclasses.dataclass(frozen=True)
class Library:
    script: pathlib.Path  # gets the folder of the programs
    requirements: list[str]
    clients: tuple[str, ...] = ()
    needs_torch: bool = False
    needs_service: bool = True  # at KERNELWRIGHT_URL
    is_quick: bool = True  # about a minute and a half with its downloads


LIBRARIES = {
    "trl": Library(HERE / "check_trl.py", ["trl==1.16.0"], ("kernelwright",), needs_torch=True),
    "verl": Library(HERE / "check_verl.py", ["verl==0.9.0"], ("kernelwright",), needs_torch=True, is_quick=False),
    "verifiers": Library(HERE / "check_verifiers.py", ["verifiers==0.4.0", "uv"], ("kernelwright", "kernelwright-verifiers")),
    "schemathesis": Library(ROOT / "tests" / "service" / "openapi_test.py", ["schemathesis==4.32.5"], needs_service=False),
    "ray": Library(ROOT / "tests" / "service" / "ray_test.py", ["ray==2.60.0"], needs_service=False),
}


def run(*words, **options):
    subprocess.run([str(word) for word in words], check=True, **options)


def environment_of(name, folder):
    """Its Python. What is installed already stays, but for the clients."""
    library = LIBRARIES[name]
    home = folder / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        if library.needs_torch:
            packages = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
            (packages / "torch_is_there.pth").write_text(sysconfig.get_path("purelib") + "\n")
        run(python, "-m", "pip", "install", "-qq", *library.requirements)
        (home / "ready").touch()
    with tempfile.TemporaryDirectory() as copies:  # a build leaves files beside its sources
        sources = [shutil.copytree(CLIENTS[client], pathlib.Path(copies) / client) for client in library.clients]
        if sources:
            run(python, "-m", "pip", "uninstall", "-qq", "--yes", *library.clients)
            run(python, "-m", "pip", "install", "-qq", *sources)
    return python


@contextlib.contextmanager
def service(programs, folder):
    """A server with a worker. Its URL."""
    running = []
    with open(folder / "service.log", "w") as log:
        try:
            running.append(subprocess.Popen([programs / "kernelwright", "serve", "--data", folder / "tasks", "--port", "0"],
                                            stdout=subprocess.PIPE, stderr=log, text=True))
            url = running[0].stdout.readline().strip()
            running.append(subprocess.Popen([programs / "kernelwright", "worker", "--server", url, "--jobs", "2"], stdout=log, stderr=log))
            yield url
        except BaseException:
            print((folder / "service.log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait(60)
            running[0].stdout.close()


def check(name, folder, programs):
    began = time.monotonic()
    python = environment_of(name, folder)
    installed = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        needed = service(programs, pathlib.Path(scratch)) if LIBRARIES[name].needs_service else contextlib.nullcontext("")
        with needed as url:
            path = os.pathsep.join([str(python.parent), str(programs), os.environ["PATH"]])
            run(python, LIBRARIES[name].script, programs, timeout=600,
                env={**os.environ, "KERNELWRIGHT_URL": url, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1",
                     "RAY_AUTH_TOKEN": secrets.token_hex(32)})  # Ray would keep one in the home folder
    print(f"{name}: fine after {installed - began:.0f} s of installing and {time.monotonic() - installed:.0f} s of checking")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "dev" / "bin")
    arguments.add_argument("--environments", type=pathlib.Path, default=ROOT / "build" / "integrations")
    arguments.add_argument("--chosen-by", type=int)
    arguments.add_argument("names", nargs="*", metavar="NAME")
    given = arguments.parse_args()
    names = given.names or list(LIBRARIES)
    if unknown := set(names) - set(LIBRARIES):
        arguments.error(f"no {', '.join(sorted(unknown))}; there are {', '.join(LIBRARIES)}")
    if given.chosen_by is not None:
        quick = [name for name in names if LIBRARIES[name].is_quick]
        names = [quick[given.chosen_by % len(quick)]]
    for name in names:
        try:
            check(name, given.environments.resolve(), given.bin.resolve())
        except subprocess.SubprocessError as error:
            raise SystemExit(f"{name}: {error}") from None


if __name__ == "__main__":
    main()
