# What is traced: a definition's run or a module, with its inputs as tensors of symbolic shape.
import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import calling
import describe
import reference
from dtypes import NAME_OF_TORCH, TORCH_OF_NAME
from tracing import form
from tracing.capture import Sizes, capture
from tracing.expressions import Expressions

# A module's values do not matter, the sizes and numbers that come of them do.
PARAM_SEED, INPUT_SEED = 1, 1
_FIRST_PRIME = 37  # above most constants that sizes are compared with
_LARGEST_WINDOW = 16


def trace_definition(entry, axes, inputs, output_count, path):
    """The graph of run(...). axes: [name, value]; inputs: {"name", "dtype", "shape" (of axes) or null, "value",
    "static"} in the definition's order. The values of axes are tried after other ones, all different: sizes that are
    equal by chance are not taken for one, and a size of 1 is none that a tensor is spread along.
    """
    real = dict(axes)
    primes = _primes(real)
    larger = {name: value if value > 1 else primes[name] for name, value in real.items()}
    for sizes in (primes, larger, real):
        try:
            graph = _trace_definition(entry, sizes, real, inputs, output_count, path)
        except Exception:
            if sizes is real:
                raise
            continue
        if sizes is real or all(holds(c, graph["sizes"]) for c in graph["conditions"]):
            return graph
    raise AssertionError


def _trace_definition(entry, seen, real, inputs, output_count, path):
    sizes = Sizes()
    symbolic = {name: sizes.size(name, value) for name, value in seen.items()}
    ordered = [i for i in inputs if not i["static"]] + [i for i in inputs if i["static"]]
    names = [i["name"] for i in ordered]
    given, described, fixed = [], [], []
    for item in ordered:
        if item["shape"] is None:
            given.append(_scalar(sizes, item["name"], item["dtype"], item["value"], fixed))
            kind = _scalar_dtype(item["dtype"])
            described.append({"name": item["name"], "role": "scalar", "dtype": kind, "shape": []})
            continue
        shape = [symbolic[axis] for axis in item["shape"]]
        given.append(sizes.tensor(shape, TORCH_OF_NAME[item["dtype"]]))
        role = "static" if item["static"] else "input"
        described.append({"name": item["name"], "role": role, "dtype": item["dtype"], "shape": shape})
    order = calling.plan(entry, names, [], destination_passing=False).order

    def run(*arguments):
        outputs = reference.as_outputs(entry(*[arguments[i] for i in order]))
        if len(outputs) != output_count:
            raise reference.BadReference(f"run gave {len(outputs)} outputs, not {output_count}")
        return outputs

    captured = capture(run, given, sizes, path)
    texts = Expressions({s: name for name, s in sizes.symbols.items() if isinstance(s, sympy.Symbol)})
    values = dict(real)
    for item in ordered:
        if item["name"] in sizes.symbols:
            values[item["name"]] = int(item["value"])
    return _graph(captured, sizes, texts, described, values, fixed, keep=set(names))


def _primes(values):
    """Different primes, in the order of the values."""
    out, number = {}, _FIRST_PRIME
    for name in sorted(values, key=values.get):
        while any(number % d == 0 for d in range(2, int(number**0.5) + 1)):
            number += 1
        out[name] = number
        number += 1
    return {name: out[name] for name in values}


def holds(condition, sizes):
    """Whether a condition of our own writing is true of these sizes."""
    left, right = (_value(side, sizes) for side in (condition[0], condition[2]))
    return {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right}[condition[1]]


def _value(side, sizes):
    return side if isinstance(side, int) else eval(side, {"min": min, "max": max}, dict(sizes))


def trace_module(source, entry, path):
    """The graph of a KernelBench-style module's forward, in the mode that its constructor leaves it in.

    The module is built without elements first: parameters may be gigabytes, and their values do not matter.
    """
    module = reference.Module(source, entry)
    inputs = _example_inputs(module)
    try:
        with FakeTensorMode():
            built = module.build(PARAM_SEED)
        if not _plain_tensors(built):
            return _trace_module(module, built, inputs, path)
    except Exception:
        pass  # the same without elements missing fails again, with its own message, or does not
    return _trace_module(module, module.build(PARAM_SEED), inputs, path)


def _plain_tensors(built):
    """Whether a part of the module holds a tensor that is no parameter or buffer: its values are constants."""
    own = ("_parameters", "_buffers", "_modules")
    held = [value for part in built.modules() for name, value in vars(part).items() if name not in own]
    return any(isinstance(leaf, torch.Tensor) for leaf in torch.utils._pytree.tree_leaves(held))


def _trace_module(module, built, inputs, path):
    names = describe.Names()
    state = module.state()
    items = describe.input_items(built, inputs, names)
    statics = [(names.new(key), key, tensor.detach()) for key, tensor in state.items()]
    sizes = Sizes()
    given, described, fixed = [], [], []
    for item, value in zip(items, inputs):
        if item["role"] == "scalar":
            given.append(_scalar(sizes, item["name"], item["dtype"], value, fixed))
            described.append({"name": item["name"], "role": "scalar", "dtype": item["dtype"], "shape": []})
        else:
            _place(sizes, item["name"], "input", value, given, described)
    for name, _, tensor in statics:
        _place(sizes, name, "static", tensor, given, described)
    keys = [key for _, key, _ in statics]
    count = len(inputs)

    def run(*arguments):
        state = dict(zip(keys, arguments[count:]))
        called = torch.func.functional_call(built, state, arguments[:count], tie_weights=False)
        return reference.as_outputs(called)

    captured = capture(run, given, sizes, path)
    texts, values = _module_names(sizes, inputs, items, state, statics)
    buffers = {name for name, key, _ in statics if key not in dict(built.named_parameters(remove_duplicate=False))}
    keep = {item["name"] for item in described} - buffers
    return _graph(captured, sizes, texts, described, values, fixed, keep)


def _example_inputs(module):
    """get_inputs(), without elements where its code lets that be: they may be gigabytes."""
    try:
        with FakeTensorMode():
            return module.generate(INPUT_SEED)
    except Exception:
        return module.generate(INPUT_SEED)


def _place(sizes, name, role, tensor, given, described):
    """A dimension of 0 or 1 is a number, as such tensors are treated otherwise, and so is that of a window."""
    describe.tensor_item(name, tensor, f"{role} {name}")
    fixed = [n < 2 or (role == "static" and d > 1 and n <= _LARGEST_WINDOW) for d, n in enumerate(tensor.shape)]
    shape = [n if fixed[d] else sizes.size(f"{name}_{d}", n) for d, n in enumerate(tensor.shape)]
    given.append(sizes.tensor(shape, tensor.dtype))
    described.append({"name": name, "role": role, "dtype": NAME_OF_TORCH[tensor.dtype], "shape": shape})


def _module_names(sizes, inputs, items, state, statics):
    """Equal dimensions go by the name of the first."""
    known = {}
    for item, value in zip(items, inputs):
        if item["role"] == "scalar":
            known[item["name"]] = value
        else:
            known.update({f"{item['name']}_{d}": n for d, n in enumerate(value.shape)})
    for name, _, tensor in statics:
        known.update({f"{name}_{d}": n for d, n in enumerate(tensor.shape)})
    texts, values = {}, {}
    for name, symbol in sizes.symbols.items():
        final = sizes.final(symbol)
        if isinstance(final, sympy.Symbol) and final not in texts:
            texts[final] = name
            values[name] = int(known[name])
    return Expressions(texts), values


def _scalar(sizes, name, dtype, value, fixed):
    """A host number as the code gets it. A truth is taken as it is."""
    if dtype == "bool":
        fixed.append([name, "==", int(value)])
        return bool(value)
    if TORCH_OF_NAME[dtype].is_floating_point:
        return sizes.real_number(name, float(value))
    return sizes.whole_number(name, int(value))


def _scalar_dtype(dtype):
    if dtype == "bool":
        return "bool"
    return "float64" if TORCH_OF_NAME[dtype].is_floating_point else "int64"


def _graph(captured, sizes, expressions, described, values, fixed, keep):
    """fixed: conditions on truths that are inputs. keep: names of inputs that are there even if unused."""
    values = {**values, **{name: value for name, _, value in fixed}}
    names = [name for name in values if name in sizes.symbols]
    made = form.Form(captured, sizes, expressions, [item["name"] for item in described])
    outputs = made.outputs()
    inputs = [
        {**item, "shape": made.shape(item["shape"])}
        for item in described
        if item["name"] in keep or item["name"] in made.used_inputs
    ]
    return {
        "schema": form.SCHEMA,
        "sizes": values,
        "conditions": form.conditions(sizes, expressions, names, values) + fixed,
        "inputs": inputs,
        "nodes": made.nodes,
        "outputs": outputs,
    }
