# Traces problems of problems/ and runs the graphs beside their references, at other sizes too:
#   python trace_suite.py [--only-failures] [NAME ...]
# One line a problem; the exit code is 1 when one has no graph or another result.
import json
import os
import sys
import time
import tomllib

import torch

from support import PYTHON_FOLDER

import describe
import graph_interpreter
import loading
import reference
import tracer
from dtypes import TORCH_OF_NAME
from tracing.errors import Unsupported

PROBLEMS = os.path.join(PYTHON_FOLDER, "..", "problems")
MODULES = os.path.join(PROBLEMS, "modules")
_MOST_ELEMENTS = 3_000_000  # of an input, beyond the first size set
_SIZE_SETS = 3


def main(arguments):
    torch.set_grad_enabled(False)
    names = [a for a in arguments if not a.startswith("--")] or all_names()
    wrong = 0
    for name in names:
        start = time.monotonic()
        try:
            graph, sets = check(name)
            line = f"ok    {name}: {len(graph['nodes'])} operators, {sets} size sets"
            line += ", draws random numbers" if is_random(graph) else ""
            if graph["conditions"]:
                line += f", where {graph['conditions']}"
        except Exception as error:
            wrong += 1
            line = f"{'none ' if isinstance(error, Unsupported) else 'WRONG'} {name}: {type(error).__name__}: {error}"
        if "--only-failures" not in arguments or not line.startswith("ok"):
            print(f"{line[:300]} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{len(names) - wrong} of {len(names)}")
    return 1 if wrong else 0


def all_names():
    modules = [name for name in sorted(os.listdir(MODULES)) if name.endswith(".py")]
    return [name for name in sorted(os.listdir(PROBLEMS)) if name != "modules"] + modules


def check(name):
    """(graph, number of size sets at which it agrees). AssertionError where it does not."""
    return _check_module(os.path.join(MODULES, name)) if name.endswith(".py") else _check_definition(name)


def is_random(graph):
    return any(node["op"] == "native_dropout.default" for node in graph["nodes"])


def placed(source):
    """The path of a file with this text."""
    path = os.path.join(loading.work_folder(), "problem.py")
    with open(path, "w") as file:
        file.write(source)
    return path


def trace(path, body):
    """As its readers get it."""
    return json.loads(json.dumps(tracer.trace(path, body)))


def _check_definition(name):
    definition, workloads, statics = _read(name)
    path = placed(definition["reference"])
    graph = trace(path, definition_body(definition, workloads[0], statics))
    entry = loading.load(path).run
    done = 0
    for workload in sorted(workloads, key=lambda w: _elements(definition, w))[:_SIZE_SETS]:
        if done and _elements(definition, workload) > _MOST_ELEMENTS:
            break
        axes = axes_of(definition, workload)
        given, sizes = _example(definition, workload, axes)
        if graph_interpreter.broken_conditions(graph, sizes):
            continue
        copies = [v.clone() if isinstance(v, torch.Tensor) else v for v in (given[k] for k in definition["inputs"])]
        agree(graph_interpreter.run(graph, given, sizes), reference.as_outputs(entry(*copies)))
        done += 1
    return graph, done


def _read(name):
    folder = os.path.join(PROBLEMS, name)
    with open(os.path.join(folder, "definition.json")) as file:
        definition = json.load(file)
    with open(os.path.join(folder, "workloads.jsonl")) as file:
        workloads = [json.loads(line)["workload"] for line in file]
    with open(os.path.join(folder, "policy.toml"), "rb") as file:
        statics = tomllib.load(file).get("statics", [])
    return definition, workloads, statics


def definition_body(definition, workload, statics=()):
    inputs = [
        {**tensor, "name": name, "static": name in statics, "value": workload["inputs"][name].get("value")}
        for name, tensor in definition["inputs"].items()
    ]
    axes = list(axes_of(definition, workload).items())
    return {"kind": "definition", "entry": "run", "axes": axes, "inputs": inputs,
            "output_count": len(definition["outputs"])}


def axes_of(definition, workload):
    return {name: axis.get("value", workload["axes"].get(name)) for name, axis in definition["axes"].items()}


def _elements(definition, workload):
    axes = axes_of(definition, workload)
    shapes = [[axes[a] for a in t["shape"] or []] for t in definition["inputs"].values()]
    return max(torch.Size(shape).numel() for shape in shapes)


def _example(definition, workload, axes):
    generator = torch.Generator().manual_seed(1)
    given, sizes = {}, dict(axes)
    for name, tensor in definition["inputs"].items():
        if tensor["shape"] is not None:
            given[name] = example([axes[a] for a in tensor["shape"]], tensor["dtype"], generator)
            continue
        value = workload["inputs"][name]["value"]
        given[name] = value
        if not isinstance(value, float):
            sizes[name] = int(value)
    return given, sizes


def example(shape, dtype, generator):
    """Small integers may be indices."""
    dtype = TORCH_OF_NAME[dtype]
    if dtype is torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(0, 4, shape, generator=generator).to(dtype)


def agree(got, want):
    """AssertionError, unless shapes and dtypes are equal and values nearly."""
    assert len(got) == len(want), (len(got), len(want))
    for a, b in zip(got, want):
        assert a.shape == b.shape and a.dtype is b.dtype, (a.shape, a.dtype, b.shape, b.dtype)
        tolerance = 1e-3 * max(1e-3, _largest(b))
        assert torch.allclose(a.double(), b.double(), rtol=1e-3, atol=tolerance, equal_nan=True), _distance(a, b)


def _largest(tensor):
    finite = tensor.double()[tensor.double().isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _distance(a, b):
    return f"off by up to {float((a.double() - b.double()).abs().nan_to_num().max()):.3g}"


def _check_module(path):
    """At the traced sizes and, where they are symbols, at others."""
    with open(path) as file:
        graph = trace(placed(file.read()), {"kind": "module", "entry": "Model"})
    with open(path) as file:
        loaded = loading.load(placed(file.read()))
    module = reference.Module(loaded, loaded.Model)
    values = module.generate(5)
    built = module.build(3)
    names = describe.Names()
    given = {item["name"]: v for item, v in zip(describe.input_items(built, values, names), values)}
    keys = {names.new(key): key for key in module.state()}
    given.update({name: module.state()[key].detach().clone() for name, key in keys.items()})
    if is_random(graph):
        return graph, 0
    agree(graph_interpreter.run(graph, given, graph["sizes"]), reference.as_outputs(built(*values)))
    return graph, 1 + check_other_sizes(graph, built, given, keys)


def check_other_sizes(graph, built, given, keys):
    """The module once more, all its sizes changed in proportion to none: 1, or 0 where it has no such sizes."""
    generator = torch.Generator().manual_seed(2)
    scalars = {i["name"] for i in graph["inputs"] if i["role"] == "scalar"}
    names = [name for name in graph["sizes"] if name not in scalars]
    sizes = {**graph["sizes"], **{name: 5 + 3 * i for i, name in enumerate(names)}}
    if not keys.keys() <= {item["name"] for item in graph["inputs"]}:
        return 0  # buffers that no output depends on would have to follow
    if not names or graph_interpreter.broken_conditions(graph, sizes):
        return 0
    changed = dict(given)
    for item in graph["inputs"]:
        if item["role"] != "scalar":
            shape = [graph_interpreter.evaluate(size, sizes) for size in item["shape"]]
            changed[item["name"]] = example(shape, item["dtype"], generator)
    inputs = [changed[item["name"]] for item in graph["inputs"] if item["role"] != "static"]
    state = {keys[item["name"]]: changed[item["name"]] for item in graph["inputs"] if item["role"] == "static"}
    try:
        want = reference.as_outputs(torch.func.functional_call(built, state, tuple(inputs), tie_weights=False))
    except (RuntimeError, ValueError):
        return 0  # the module does not take these sizes
    agree(graph_interpreter.run(graph, changed, sizes), want)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
