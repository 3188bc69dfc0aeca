#!/usr/bin/env python3
"""ModelNew of the programmatic author beside the modules: model_new.py FOLDER [--generated N]

FOLDER holds kw_author_probe and kw_generator_probe. The modules below are described and traced at their first constructor arguments
and written in every strategy of Triton; the class is built as the module is, takes its state and is interpreted, at the other
arguments too. So are N generated modules, each in one strategy. Exit code 77: no torch or Triton here.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(HERE, "..", "..", "python")
sys.path[:0] = [HERE, os.path.join(PYTHON, "tests"), PYTHON]
try:
    import torch
    import triton
except ImportError:
    sys.exit(77)
import describe
import loading
import reference
import trace_suite
import triton_equality

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
# Source, get_inputs() by constructor arguments, the arguments: those of the trace first, then others; what __init__ must say.
MODULES = {
    "convolution": ("""
class Model(nn.Module):
    def __init__(self, in_channels, out_channels, activation="relu", kernel_size=3, *, groups=2, affine=True):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(in_channels, out_channels, kernel_size, padding=1), nn.ReLU())
        self.norm = nn.GroupNorm(groups, out_channels, affine=affine)
        self.register_buffer("scale", torch.rand(out_channels, 1, 1))

    def forward(self, x):
        return self.norm(self.layers(x)) * self.scale
""", lambda in_channels, *_, **__: [torch.rand(2, in_channels, 7, 9)],
                    [([5, 24], {}), ([6, 18, "gelu", 3], {"affine": True})],
                    "self, in_channels, out_channels, activation=None, kernel_size=3, *, groups=2, affine=True"),
    "heads": ("""
class Model(nn.Module):
    def __init__(self, dim, heads, bias):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim, bias=bias)
        self.gate = nn.Parameter(torch.rand(dim // heads))

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return ((q * k).softmax(-1) * v).view(x.shape[0], x.shape[1], -1, self.gate.shape[0]) * self.gate
""", lambda dim=None, *_, **more: [torch.rand(2, 6, dim or more["dim"])],
              [([160, 5, True], {}), ([], {"bias": True, "heads": 4, "dim": 96})], "self, dim, heads, bias"),
    "layers": ("""
class Model(nn.Module):
    def __init__(self, sizes, *, scale=0.5):
        super().__init__()
        self.first, self.second = nn.Linear(sizes[0], sizes[1]), nn.Linear(sizes[1], sizes[2])
        self.scale = scale

    def forward(self, x):
        return self.second(torch.tanh(self.first(x))) * self.scale
""", lambda sizes, **_: [torch.rand(8, sizes[0])], [([[20, 33, 41]], {}), ([(27, 19, 52)], {"scale": 0.5})], "self, sizes, *, scale=0.5"),
    "stateless": ("""
class Model(nn.Module):
    def forward(self, x):
        return x.softmax(-1)
""", lambda: [torch.rand(5, 40)], [([], {})], "self, *args, **kwargs"),
    "any_number": ("""
class Model(nn.Module):
    def __init__(self, *sizes, **options):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(*sizes))

    def forward(self, x):
        return x * self.weight
""", lambda *sizes, **_: [torch.rand(3, *sizes)], [([20, 30], {}), ([17, 40], {"unused": "x"})], "self, *sizes, **options"),
}


def signature_of(module):
    described = describe.describe(module, 1, 2)
    statics = [{**{k: item[k] for k in ("name", "state_key", "dtype", "shape", "is_buffer")}, "role": "static"}
               for item in described["statics"] if item["used"] or not item["is_buffer"]]
    outputs = [{**item, "role": "output"} for item in described["outputs"]]
    return {"inputs": described["inputs"], "statics": statics, "outputs": outputs, "constants": described["constants"],
            "init_parameters": described["init_parameters"]}


def difference(model, new, inputs):
    """None, or what is wrong. The module's state is the class's then."""
    state = {key: value for key, value in model.state_dict().items() if key in new.state_dict()}
    missing = set(dict(model.named_parameters())) - set(state)
    if missing:
        return f"no state {sorted(missing)}"
    try:
        new.load_state_dict(state)
    except RuntimeError as error:
        return f"the state is not the module's: {error}"
    want = reference.as_outputs(model(*[value.clone() for value in inputs]))
    try:
        got = reference.as_outputs(new(*inputs))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    for k, (a, b) in enumerate(zip(got, want)):
        if wrong := triton_equality.difference(a, b, 1e-4 if b.is_floating_point() else 0):
            return f"output {k}: {wrong}"
    return None


class Writer:
    def __init__(self, program, folder):
        self.author, self.folder, self.count = triton_equality.Author(program), folder, 0
        self.strategies = self.author.ask(language="triton")["strategies"]

    def class_of(self, graph, signature, strategy):
        """(ModelNew, its source)."""
        self.count += 1
        path = os.path.join(self.folder, f"graph{self.count}.json")
        with open(path, "w") as file:
            json.dump(graph, file)
        answer = self.author.ask(graph=path, language="triton", strategy=strategy, signature=signature)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        path = os.path.join(self.folder, f"answer{self.count}.py")
        with open(path, "w") as file:
            file.write(answer["source"])
        return triton_equality.load(path, f"answer{self.count}").ModelNew, answer["source"]


def check_written(writer, name):
    """Lines of what is wrong."""
    body, inputs_of, arguments, parameters = MODULES[name]
    (args, kwargs), source = arguments[0], HEAD + body
    path = trace_suite.placed(source + f"\ndef get_init_inputs():\n    return [{args!r}, {kwargs!r}]\n\ndef get_inputs():\n    return []\n")
    loaded = loading.load(path)
    loaded.get_inputs = lambda: inputs_of(*args, **kwargs)
    # The tracer loads the file itself.
    text = "[" + ", ".join(f"torch.rand({list(value.shape)})" for value in inputs_of(*args, **kwargs)) + "]"
    with open(path, "a") as file:
        file.write(f"\ndef get_inputs():\n    return {text}\n")
    graph = trace_suite.trace(path, {"kind": "module", "entry": "Model"})
    signature = signature_of(reference.Module(loaded, loaded.Model))
    for strategy in writer.strategies:
        new, text = writer.class_of(graph, signature, strategy)
        if f"def __init__({parameters}):" not in text:
            yield f"{name} ({strategy}): not __init__({parameters})"
        for args, kwargs in arguments:
            torch.manual_seed(3)
            model = loaded.Model(*args, **kwargs)
            if wrong := difference(model, new(*args, **kwargs), inputs_of(*args, **kwargs)):
                yield f"{name} ({strategy}) at {args} {kwargs}: {wrong}"


def check_generated(writer, program, count):
    command = [program, "problems", "6", "0", str(count), "2000", "128000"]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        row = json.loads(line)
        form, strategy = row["module"], writer.strategies[row["index"] % len(writer.strategies)]
        loaded = loading.load(trace_suite.placed(form["source"]))
        new, _ = writer.class_of(form["graph"], form["signature"], strategy)
        torch.manual_seed(row["index"])
        arguments, inputs = loaded.get_init_inputs(), loaded.get_inputs()
        if wrong := difference(loaded.Model(*arguments), new(*arguments), inputs):
            yield f"generated {row['index']} {' > '.join(row['operators'])} ({strategy}): {wrong}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--generated", type=int, default=0)
    options = parser.parse_args()
    triton_equality.interpret_like_the_gym()
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(os.path.join(options.folder, "kw_author_probe"), folder)
        found = [line for name in MODULES for line in check_written(writer, name)]
        found += check_generated(writer, os.path.join(options.folder, "kw_generator_probe"), options.generated)
        for line in found:
            wrong += 1
            print(line, flush=True)
    print(f"{len(MODULES)} modules in {len(writer.strategies)} strategies and {options.generated} generated ones: {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
