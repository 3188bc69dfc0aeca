#!/usr/bin/env python3
"""How long a context on a GPU takes to make and to end: alone, several at once, and beside others that are idle. Needs the driver alone.

    bench/gpu_contexts.py [--idle 0 24 72] [--at-once 1 4 8] [--device 0]

Each context has a process of its own, with 64 MiB of memory. Prints means in milliseconds, and seconds until all of a row were gone."""

import argparse
import ctypes
import multiprocessing
import time

MEMORY = 64 << 20
START_SECONDS = 60


def checked(driver, name, *arguments):
    status = getattr(driver, name)(*arguments)
    if status != 0:
        raise RuntimeError(f"{name}: error {status}")


def live(device, begin, end, report):
    """One process: a context from `begin` to `end`; None: ends at once. Reports (init, create, allocate), then how long its end took."""
    driver = ctypes.CDLL("libcuda.so.1")
    number, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_ulonglong()
    begin.wait()
    times = [time.monotonic()]
    checked(driver, "cuInit", 0)
    checked(driver, "cuDeviceGet", ctypes.byref(number), device)
    times.append(time.monotonic())
    checked(driver, "cuCtxCreate_v2", ctypes.byref(context), 0, number)
    times.append(time.monotonic())
    checked(driver, "cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(MEMORY))
    times.append(time.monotonic())
    report.put([after - before for before, after in zip(times, times[1:])])
    if end is not None:
        end.wait()
    before = time.monotonic()
    checked(driver, "cuCtxDestroy_v2", context)
    report.put(time.monotonic() - before)


class Contexts:
    """So many processes with one each."""

    def __init__(self, count, device, stay):
        context = multiprocessing.get_context("fork")
        self.begin, self.report = context.Event(), context.Queue()
        self.end = context.Event() if stay else None
        self.processes = [context.Process(target=live, args=(device, self.begin, self.end, self.report), daemon=True) for _ in range(count)]
        for process in self.processes:
            process.start()

    def make(self):
        self.begin.set()
        return [self.report.get(timeout=START_SECONDS) for _ in self.processes] if self.end else []

    def finish(self):
        """All reports that are left."""
        if self.end:
            self.end.set()
        left = len(self.processes) * (1 if self.end else 2)
        reports = [self.report.get(timeout=START_SECONDS) for _ in range(left)]
        for process in self.processes:
            process.join()
        return reports


def mean_ms(values):
    return f"{1e3 * sum(values) / max(1, len(values)):.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--idle", type=int, nargs="+", default=[0, 24, 72])
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--device", type=int, default=0)
    arguments = parser.parse_args()
    print("| idle contexts | made at once | init | create | allocate | destroy | all gone after |\n|---|---|---|---|---|---|---|")
    for idle in arguments.idle:
        others = Contexts(idle, arguments.device, stay=True)
        others.make()
        for count in arguments.at_once:
            begun = time.monotonic()
            some = Contexts(count, arguments.device, stay=False)
            some.make()
            reports = some.finish()
            made = [report for report in reports if isinstance(report, list)]
            ended = [report for report in reports if not isinstance(report, list)]
            parts = " | ".join(mean_ms(part) for part in zip(*made))
            print(f"| {idle} | {count} | {parts} | {mean_ms(ended)} | {time.monotonic() - begun:.2f} s |", flush=True)
        others.finish()


if __name__ == "__main__":
    main()
