#!/usr/bin/env python3
"""How long `kernelwright --help` takes: the program itself, through the launcher script, and /bin/true as what any process costs.

    bench/help_start.py [--runs 50] [--no-launcher] [--program build/dev/bin/kernelwright]

The launcher script builds the program when a source is newer than it: that happens before the timing, in a run that is not counted. The three take
turns. Exit 1 when a help text is wrong.
"""

import argparse
import os
import subprocess
import sys
import time

from common import ROOT, add_program_option, median, quantile


def run_ms(command, environment):
    quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    start = time.perf_counter()
    process = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status = os.waitpid(process, 0)
    elapsed = 1e3 * (time.perf_counter() - start)
    if status != 0:
        sys.exit(f"FAILED {' '.join(command)}: status {status}")
    return elapsed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--no-launcher", action="store_true")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    commands = {"/bin/true": ["/bin/true"], "kernelwright --help": [os.path.abspath(arguments.program), "--help"]}
    if not arguments.no_launcher:
        commands["./kernelwright --help"] = ["./kernelwright", "--help"]
    for name, command in commands.items():
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        if "--help" in name and not all(word in text for word in ("eval", "problems", "doctor")):
            sys.exit(f"FAILED {name} does not show the commands")
    times = {name: [] for name in commands}
    for _ in range(arguments.runs):
        for name, command in commands.items():
            times[name].append(run_ms(command, os.environ))
    floor = median(times["/bin/true"])
    for name, values in times.items():
        print(f"{name:24} p50 {median(values):7.2f} ms   p99 {quantile(values, 0.99):7.2f} ms   min {min(values):7.2f} ms   {median(values) / floor:6.1f} x /bin/true")


if __name__ == "__main__":
    main()
