#!/usr/bin/env python3
"""The price of one of the judge's mechanisms in verdicts a minute: the same C++ candidates, judged with it and without it in turn.

    bench/mechanism_cost.py MECHANISM [--candidates 8] [--rounds 3] [--max-seconds 3] [--no-timing] [--problems NAME...] [--program build/dev/bin/kernelwright]

MECHANISM is a name of `kernelwright eval --disable` (docs/security.md). Each round judges new copies of a problem's candidate with one process a side. Its first
verdict has start-up and admission in it and is shown apart. A verdict that is not "passed" ends the run with exit code 1.
"""

import argparse
import pathlib
import sys
import tempfile

from common import ROOT, add_program_option, evaluate, explain, median, numbered_copies, private_home, spread

CANDIDATES = {
    "relu": "examples/relu/good.cpp",
    "softmax": "examples/softmax/good.cpp",
    "layer_norm": "bench/candidates/layer_norm.cpp",
    "matmul_square": "examples/matmul_square/good.cpp",
}


def seconds_each(arguments, problem, candidates, options, environment):
    """The first verdict's seconds, and those of each later one."""
    verdicts = evaluate(arguments.program, ROOT / "problems" / problem, candidates, options, environment)
    for _, verdict in verdicts:
        if verdict["outcome"] != "passed":
            sys.exit(f"{problem}: {explain(verdict)}")
    times = [seconds for seconds, _ in verdicts]
    return times[0], [after - before for before, after in zip(times, times[1:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mechanism")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-seconds", type=float, default=3)
    parser.add_argument("--no-timing", action="store_true")
    parser.add_argument("--problems", nargs="+", default=list(CANDIDATES), choices=list(CANDIDATES))
    add_program_option(parser)
    arguments = parser.parse_args()
    timing = ["--no-timing"] if arguments.no_timing else ["--max-seconds", str(arguments.max_seconds)]
    sides = {"with": timing, "without": [*timing, "--disable", arguments.mechanism]}
    print(f"| problem | with {arguments.mechanism}, s a verdict | without | verdicts a minute, with / without | first verdict, with and without |\n|---|---|---|---|---|")
    for problem in arguments.problems:
        later = {side: [] for side in sides}
        first = {side: [] for side in sides}
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            for number in range(arguments.rounds):
                for side, options in sides.items():
                    place = folder / f"{side}_{number}"
                    candidates = numbered_copies(ROOT / CANDIDATES[problem], place, arguments.candidates)
                    start, each = seconds_each(arguments, problem, candidates, options, private_home(place))
                    first[side].append(start)
                    later[side] += each
        share = median(later["without"]) / median(later["with"])
        print(f"| {problem} | {spread(later['with'])} | {spread(later['without'])} | {share:.2f} | {median(first['with']):.1f}, {median(first['without']):.1f} |", flush=True)


if __name__ == "__main__":
    main()
