#!/usr/bin/env python3
"""The writer's Triton kernels on a real GPU: are they right, and how fast are they beside torch eager and torch.compile.

    bench/triton_gpu.py prepare FOLDER [--probe build/dev/bin/kw_author_probe] [NAME ...]
    bench/triton_gpu.py suite FOLDER [--jobs 12] [--seconds 500] [--rows rows.jsonl]
    bench/triton_gpu.py samples CHOSEN.jsonl [--jobs 12] [--seconds 500] [--rows rows.jsonl]

`prepare` needs no GPU: it traces the problems of problems/ and writes, for the sizes of each one's first cuda workload, a file a strategy. `suite` runs them
there: every cuda workload is compared with the reference (in float64 where it runs so), then the first one is timed, one problem after the other, by
triton.testing.do_bench, beside the reference as it is and through torch.compile; float32 products without TF32 on all sides. What has a lane for each
output whatever it costs (`fused`, `naive`) is compared and not timed. `samples` compares what
`data generate --target triton` wrote with its problems, implement and convert samples (bench/choose_samples.py chooses them); `--rows` of an earlier run are
gone on with. Exit 1: some kernel is wrong. Prints a Markdown row a problem, and shares.
"""
import argparse
import collections
import copy
import json
import math
import multiprocessing
import os
import queue as queue_module
import subprocess
import sys
import tempfile
import time
import traceback

from choose_samples import cells_of, samples_in

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "tests", "writer"), os.path.join(ROOT, "python", "tests"), os.path.join(ROOT, "python")]
STRATEGIES = ["tiled", "online", "blocked", "fused", "naive"]


# ---- prepare ----
def prepare(options):
    import suite
    import trace_suite
    from triton_equality import Author

    author = Author(os.path.abspath(options.probe))
    os.makedirs(os.path.join(options.folder, "graphs"), exist_ok=True)
    names = options.names or [n for n in trace_suite.all_names() if not n.endswith(".py")]
    rows = []
    for name in names:
        problem = suite.Definition(name, "cuda")
        try:
            with open(suite.traced(name, options.folder)) as file:
                graph = json.load(file)
        except Exception as error:
            rows.append({"name": name, "files": {}, "missing": str(error)[:200]})
            continue
        graph["sizes"].update(trace_suite.axes_of(problem.definition, problem.workloads[0]))
        sized = os.path.join(options.folder, "graphs", "sized.json")
        with open(sized, "w") as file:
            json.dump(graph, file)
        row = {"name": name, "files": {}, "missing": "", "inputs": [item["name"] for item in graph["inputs"]]}
        for strategy in STRATEGIES:
            answer = author.ask(graph=sized, language="triton", strategy=strategy)
            if "error" in answer:
                row["missing"] = answer["error"]
                break
            if answer["source"] not in row["files"].values():
                row["files"][strategy] = answer["source"]
        rows.append(row)
    with open(os.path.join(options.folder, "kernels.jsonl"), "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    print(f"{len(rows)} problems, {sum(len(r['files']) for r in rows)} kernels; without: {[r['name'] for r in rows if not r['files']]}")
    return 0


# ---- on the GPU ----
def start():
    global torch, suite, reference
    import torch
    import reference
    import suite

    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_default_device("cuda")


def module_of(source, folder):
    """Triton reads a kernel's text from its file."""
    import loading

    handle, path = tempfile.mkstemp(suffix=".py", dir=folder)
    with os.fdopen(handle, "w") as file:
        file.write(source)
    return loading.load(path)


def outputs_of(function, *given):
    return [out.contiguous() for out in reference.as_outputs(function(*given))]


def wanted(function, given):
    """The reference's outputs, and those of its float64 run, None where there is none."""
    want = outputs_of(function, *given)
    try:
        wide = [v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in given]
        exact = [e if e.is_floating_point() and e.shape == w.shape else None for e, w in zip(outputs_of(function, *wide), want)]
    except Exception:
        exact = [None] * len(want)
    return want, exact


def wrong_in(got, want, exact):
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    for i, (g, w, e) in enumerate(zip(got, want, exact)):
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"output {i}: {list(g.shape)} {g.dtype} instead of {list(w.shape)} {w.dtype}"
        if text := suite.difference(g, w, e):
            return f"output {i}: {text}"
    return None


def arguments_of(problem, given):
    return [given[name] for name in problem.definition["inputs"]]


def state_of(ours, theirs):
    """The module's state, less what the candidate has no use for."""
    known = ours.state_dict()
    return {name: value for name, value in theirs.state_dict().items() if name in known}


def check_problem(row, folder):
    """Every strategy at every cuda workload; compiles what timing needs, the rival too."""
    problem = suite.Definition(row["name"], "cuda")
    function = module_of(problem.source, folder).run
    outcomes = {}
    entries = {strategy: module_of(source, folder).run for strategy, source in row["files"].items()}
    for k, (given, _) in enumerate(problem.cases("cuda")):
        arguments = arguments_of(problem, given)
        want, exact = wanted(function, arguments)
        for strategy, entry in entries.items():
            if outcomes.get(strategy, "right") != "right":
                continue
            try:
                wrong = wrong_in(outputs_of(entry, *[given[name] for name in row["inputs"]]), want, exact)
                torch.cuda.synchronize()
                outcomes[strategy] = "right" if wrong is None else f"wrong at workload {k}: {wrong}"
            except Exception as error:
                outcomes[strategy] = f"error at workload {k}: {type(error).__name__}: {str(error)[:300]}"
        if k == 0:
            torch.compile(function, dynamic=False)(*arguments)
        del want, exact, arguments, given
    torch.cuda.empty_cache()
    return outcomes


def time_problem(row, outcomes, folder):
    from triton.testing import do_bench

    problem = suite.Definition(row["name"], "cuda")
    function = module_of(problem.source, folder).run
    given = next(iter(problem.cases("cuda")))[0]
    arguments = arguments_of(problem, given)
    own = [given[name] for name in row["inputs"]]
    times = {}
    sides = {"eager": (function, arguments), "compiled": (torch.compile(function, dynamic=False), arguments)}
    for strategy, source in row["files"].items():
        if outcomes.get(strategy) == "right" and strategy not in ("fused", "naive"):
            sides[strategy] = (module_of(source, folder).run, own)
    for name, (side, given) in sides.items():
        side(*given)
        times[name] = do_bench(lambda side=side, given=given: side(*given), warmup=20, rep=60, return_mode="median")
    torch.compiler.reset()
    torch.cuda.empty_cache()
    return times


def check_sample(sample, folder):
    answer = sample["messages"][-1]["content"]
    source = answer.split("```python\n", 1)[1].rsplit("```", 1)[0]
    problem = sample["problem"]
    torch.set_default_device("cuda")
    candidate = module_of(source, folder)
    if problem["form"] == "module":
        torch.set_default_device("cpu")
        loaded = module_of(problem["source"], folder)
        torch.manual_seed(3)
        model = loaded.Model(*loaded.get_init_inputs())
        torch.manual_seed(3)
        ours = candidate.ModelNew(*loaded.get_init_inputs())
        ours.load_state_dict(state_of(ours, model))
        cases = [loaded.get_inputs() for _ in range(2)]
        cases = [[v.cuda() if isinstance(v, torch.Tensor) else v for v in case] for case in cases]
        model, ours = model.cuda(), ours.cuda()
        torch.set_default_device("cuda")
        for case in cases:
            got, want = outputs_of(ours, *case), outputs_of(model, *case)
            try:
                wide = [v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in case]
                exact = [e if e.is_floating_point() else None for e in outputs_of(copy.deepcopy(model).double(), *wide)]
            except Exception:
                exact = [None] * len(want)
            if wrong := wrong_in(got, want, exact):
                return wrong
        return None
    definition = json.loads(problem["source"])
    function = module_of(definition["reference"], folder).run
    policies = problem.get("policy", {})
    for k, workload in enumerate(problem["workloads"]):
        generator = torch.Generator("cuda").manual_seed(k)
        axes = {name: axis.get("value") for name, axis in definition["axes"].items()} | workload["axes"]
        given = []
        own = policies.get("workloads", {}).get(workload["uuid"], {}).get("inputs", {})
        for name, tensor in definition["inputs"].items():
            if tensor["shape"] is None:
                given.append(workload["inputs"][name]["value"])
                continue
            policy = {**policies.get("inputs", {}).get(name, {}), **own.get(name, {})}
            given.append(suite.drawn([axes[a] for a in tensor["shape"]], tensor["dtype"], policy, generator))
        want, exact = wanted(function, given)
        if wrong := wrong_in(outputs_of(candidate.run, *given), want, exact):
            return f"{workload['axes']}: {wrong}"
    return None


def work(kind, rows, queue, results, folder):
    start()
    while (index := queue.get()) is not None:
        results.put((index, os.getpid(), None))
        try:
            if kind == "suite":
                out = check_problem(rows[index], folder)
            else:
                wrong = check_sample(rows[index], folder)
                out = {"sample": "right" if wrong is None else f"wrong: {wrong}"}
            torch.cuda.synchronize()
        except Exception:
            out = {"problem": "error: " + traceback.format_exc()[-600:]}
        results.put((index, os.getpid(), out))
        try:
            torch.cuda.synchronize()
        except Exception:  # the device is lost to this process
            results.close()
            results.join_thread()
            os._exit(1)


def gpus():
    """Numbers of the GPUs that this process may use."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return given.split(",")
    return subprocess.run(["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True, check=True).stdout.split()


def in_processes(kind, rows, indices, jobs, seconds, folder, on_outcome=lambda index, outcome: None):
    """Outcomes of the rows with these indices, spread over the GPUs. A process that dies takes its row alone."""
    context = multiprocessing.get_context("spawn")
    queue, results = context.Queue(), context.Queue()
    for index in indices:
        queue.put(index)
    for _ in range(jobs):
        queue.put(None)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers'
    devices = gpus()

    def worker(number):
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[number % len(devices)]
        out = context.Process(target=work, args=(kind, rows, queue, results, folder), daemon=True)
        out.start()
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
        return out

    workers, busy = [worker(number) for number in range(jobs)], {}
    outcomes, end = {}, time.monotonic() + seconds
    while len(outcomes) < len(indices) and time.monotonic() < end:
        try:
            index, pid, out = results.get(timeout=1)
            if out is not None:
                outcomes[index] = out
                on_outcome(index, out)
            busy[pid] = index
        except queue_module.Empty:
            pass
        for i, one in enumerate(workers):
            if not one.is_alive() and one.exitcode != 0:
                index = busy.get(one.pid)
                if index is not None:
                    if index not in outcomes:
                        outcomes[index] = {"problem": f"error: the process ended with {one.exitcode}"}
                        on_outcome(index, outcomes[index])
                workers[i] = worker(i)
        if not any(one.is_alive() for one in workers) and results.empty():
            break
    for one in workers:
        one.kill()
    return outcomes


def upper_bound(wrong, total):
    """Of the share, at 95 % (Clopper and Pearson)."""
    low, high = wrong / max(total, 1), 1.0
    for _ in range(60):
        middle = (low + high) / 2
        below = sum(math.exp(math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1) + k * math.log(middle)
                             + (total - k) * math.log1p(-middle)) for k in range(wrong + 1)) if 0 < middle < 1 else 0
        low, high = (middle, high) if below > 0.05 else (low, middle)
    return high


def samples_main(options):
    """Goes on with what `--rows` has already."""
    rows = [row for row, _ in samples_in(options.samples)]
    outcomes = {}
    if os.path.exists(options.rows):
        with open(options.rows) as file:
            for line in file:
                one = json.loads(line)
                if rows[one["index"]]["problem"]["name"] != one["name"]:
                    sys.exit(f"{options.rows}: sample {one['index']} is {one['name']}, but in {options.samples} it is {rows[one['index']]['problem']['name']}: rows of other samples")
                outcomes[one["index"]] = one["outcome"]
    with tempfile.TemporaryDirectory() as folder, open(options.rows, "a") as out:
        def on_outcome(index, outcome):
            outcomes[index] = next(iter(outcome.values()))
            row = rows[index]
            out.write(json.dumps({"index": index, "name": row["problem"]["name"], "strategy": row["labels"]["strategy"], "outcome": outcomes[index]}) + "\n")
            out.flush()

        in_processes("samples", rows, [i for i in range(len(rows)) if i not in outcomes], options.jobs, options.seconds, folder, on_outcome)
    counts, cells = collections.Counter(), collections.Counter()
    for index, text in outcomes.items():
        counts[text.split(":")[0]] += 1
        cells.update(cells_of(rows[index]))
    bad = [(i, rows[i]["problem"]["name"], text) for i, text in sorted(outcomes.items()) if text != "right"]
    for one in bad[:60]:
        print(*one)
    print(f"{len(outcomes)} of {len(rows)} samples, {len(cells)} cells of operator and strategy, {sum(n >= 30 for n in cells.values())} of them with 30 or more: "
          f"{dict(counts)}; upper 95 % bound of the share that is not right {100 * upper_bound(len(bad), len(outcomes)):.2f} %")
    return 1 if bad else 0


def suite_main(options):
    with open(os.path.join(options.folder, "kernels.jsonl")) as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if row["files"] and (not options.names or row["name"] in options.names)]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, open(options.rows, "w") as out:
        outcomes = in_processes("suite", rows, range(len(rows)), options.jobs, options.seconds, folder)
        print(f"checked {len(outcomes)} of {len(rows)} problems in {time.monotonic() - began:.0f} s", flush=True)
        start()
        timed = []
        print("| problem | eager, ms | torch.compile, ms | ours, ms | strategy | over eager | over torch.compile |\n|---|---|---|---|---|---|---|")
        for index, outcome in sorted(outcomes.items()):
            row = rows[index]
            times = {}
            if time.monotonic() - began < options.seconds + options.timing_seconds:
                try:
                    times = time_problem(row, outcome, folder)
                except Exception as error:
                    outcome["timing"] = f"error: {str(error)[:200]}"
            out.write(json.dumps({"name": row["name"], "outcomes": outcome, "times_ms": times}) + "\n")
            out.flush()
            ours = {k: v for k, v in times.items() if k in STRATEGIES}
            if ours:
                best = min(ours, key=ours.get)
                timed.append((times["eager"] / ours[best], times["compiled"] / ours[best]))
                print(f"| {row['name']} | {times['eager']:.3f} | {times['compiled']:.3f} | {ours[best]:.3f} | {best} | {timed[-1][0]:.2f} | {timed[-1][1]:.2f} |", flush=True)
    texts = [(rows[i]["name"], s, t) for i, o in sorted(outcomes.items()) for s, t in o.items()]
    bad = [one for one in texts if one[2] != "right"]
    for one in bad:
        print(*one)
    means = [math.exp(sum(math.log(t[i]) for t in timed) / max(1, len(timed))) for i in (0, 1)]
    print(f"{len(texts)} kernels of {len(outcomes)} problems: {len(texts) - len(bad)} right; {len(timed)} problems timed: faster than eager "
          f"{sum(t[0] > 1 for t in timed)}, than torch.compile {sum(t[1] > 1 for t in timed)}; geometric means {means[0]:.2f}, {means[1]:.2f}")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("prepare")
    one.add_argument("folder")
    one.add_argument("--probe", default="build/dev/bin/kw_author_probe")
    one.add_argument("names", nargs="*")
    two = kinds.add_parser("suite")
    two.add_argument("folder")
    two.add_argument("names", nargs="*")
    two.add_argument("--timing-seconds", type=float, default=200)
    three = kinds.add_parser("samples")
    three.add_argument("samples")
    for each in (two, three):
        each.add_argument("--jobs", type=int, default=12)
        each.add_argument("--seconds", type=float, default=500)
        each.add_argument("--rows", default="rows.jsonl")
    options = parser.parse_args()
    return {"prepare": prepare, "suite": suite_main, "samples": samples_main}[options.kind](options)


if __name__ == "__main__":
    sys.exit(main())
