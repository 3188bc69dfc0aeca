# Graphs of other people's ways of writing: their operators, sizes, conditions and errors, and that they compute the same.
import json
import os
import re
import unittest

import torch

from support import PYTHON_FOLDER

import describe
import graph_interpreter
import loading
import reference
import trace_suite
import tracer
from tracing import operators
from tracing.errors import Unsupported

# A few of each family; trace_suite.py does all.
SAMPLE = (
    "adam_step add_rms_norm argmax_columns attention_grouped_query attention_key_mask batch_norm_training conv2d_grouped"
    " conv2d_instance_norm_elu conv_transpose2d cross_entropy cumsum embedding_bag gru_cell hardtanh max_pool1d pack_bits"
    " patch_embedding quantize_int8 rotary_embedding scatter_add_rows topk weighted_sample mlp.py positional_encoding.py"
).split()

MODULE = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
{before}
class Model(nn.Module):
    def __init__(self, *settings):
        super().__init__()
{init}
    def forward(self, {parameters}):
{forward}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""


def source(forward, init="pass", inputs="torch.randn(6, 10)", parameters="x", before=""):
    def indented(text):
        return "\n".join("        " + line for line in text.split("\n"))

    return MODULE.format(before=before, init=indented(init), forward=indented(forward), inputs=inputs, parameters=parameters)


def traced(text):
    return trace_suite.trace(trace_suite.placed(text), {"kind": "module", "entry": "Model"})


def verified(text):
    """The graph, which computes what the module does, at two size sets where it can."""
    graph = traced(text)
    loaded = loading.load(trace_suite.placed(text))
    module = reference.Module(loaded, loaded.Model)
    values = module.generate(5)
    built = module.build(3)
    names = describe.Names()
    given = {i["name"]: v for i, v in zip(describe.input_items(built, values, names), values)}
    keys = {names.new(key): key for key in module.state()}
    given.update({name: module.state()[key].detach().clone() for name, key in keys.items()})
    # the module may change its inputs and its state
    want = reference.as_outputs(built(*[v.clone() if isinstance(v, torch.Tensor) else v for v in values]))
    trace_suite.agree(graph_interpreter.run(graph, given, graph["sizes"]), want)
    sets = 1 + trace_suite.check_other_sizes(graph, built, given, keys)
    return graph, sets


def names_of(graph):
    return [node["op"] for node in graph["nodes"]]


class TracerTest(unittest.TestCase):
    def setUp(self):
        torch.set_grad_enabled(False)
        self.addCleanup(torch.set_grad_enabled, True)


class StylesTest(TracerTest):
    """One operator, however it is written, is one operator of the graph."""

    def assert_same(self, operator_names, forwards, inputs="torch.randn(6, 10)", parameters="x"):
        for item in forwards:
            forward, init = item if isinstance(item, tuple) else (item, "pass")
            with self.subTest(forward):
                graph, _ = verified(source(forward, init, inputs, parameters))
                self.assertEqual(names_of(graph), operator_names)

    def test_relu(self):
        self.assert_same(["relu.default"], [
            ("return self.act(x)", "self.act = nn.ReLU()"), ("return self.act(x + 0 * 0)[:] if False else self.act(x)", "self.act = nn.ReLU(inplace=True)"),
            "return F.relu(x)", "return torch.relu(x)", "return x.relu()", "return x.clone().relu_()",
            ("return self.net(x)", "self.net = nn.Sequential(nn.Identity(), nn.ReLU())"),
        ])

    def test_softmax(self):
        self.assert_same(["_softmax.default"], [
            ("return self.act(x)", "self.act = nn.Softmax(dim=-1)"), "return F.softmax(x, dim=1)", "return torch.softmax(x, -1)",
            "return x.softmax(dim=-1)",
        ])

    def test_transposed_product(self):
        self.assert_same(["permute.default", "mm.default"], [
            "return x @ y.t()", "return torch.matmul(x, y.T)", "return x.mm(y.transpose(0, 1))", "return F.linear(x, y)",
            "return torch.mm(x, y.permute(1, 0))", "return x.matmul(y.mT)",
        ], "torch.randn(6, 10), torch.randn(4, 10)", "x, y")

    def test_mean_square(self):
        self.assert_same(["pow.Tensor_Scalar", "mean.dim"], [
            "return x.pow(2).mean(-1)", "return torch.mean(x ** 2, dim=1)", "return x.square().mean(dim=-1)",
            "return torch.square(x).mean([1])",
        ])

    def test_layer_norm(self):
        self.assert_same(["native_layer_norm.default"], [
            ("return self.norm(x)", "self.norm = nn.LayerNorm(10)"), "return F.layer_norm(x, x.shape[1:])",
            ("return F.layer_norm(x, (10,), self.w, self.b)", "self.w = nn.Parameter(torch.ones(10))\nself.b = nn.Parameter(torch.zeros(10))"),
        ])

    def test_dropout_in_evaluation_is_nothing(self):
        graph, _ = verified(source("return self.drop(x) + 1", "self.drop = nn.Dropout(0.5)\nself.eval()"))
        self.assertEqual(names_of(graph), ["add.Tensor"])

    def test_chunks(self):
        expected = ["slice.Tensor", "slice.Tensor", "sigmoid.default", "mul.Tensor"]
        self.assert_same(expected, [
            "a, b = x.chunk(2, dim=-1)\nreturn a * torch.sigmoid(b)", "a, b = torch.chunk(x, 2, 1)\nreturn a * b.sigmoid()",
            "h = x.shape[-1] // 2\nreturn x[:, :h] * torch.sigmoid(x[:, h:])",
            "a, b = x.split(x.size(1) // 2, dim=1)\nreturn a * F.sigmoid(b)", "a, b = torch.split(x, [5, 5], 1)\nreturn a * b.sigmoid()",
        ])


class ModulesTest(TracerTest):
    """Whole modules, each run beside its graph. (forward, init, inputs, operators that must be there)."""

    CASES = {
        "rms norm by hand": ("return x / torch.sqrt(torch.mean(x ** 2, dim=1, keepdim=True) + 1e-5) * self.w",
                             "self.w = nn.Parameter(torch.rand(10))", "torch.randn(6, 10)", ["sqrt.default"]),
        "rms norm of torch": ("return self.n(x) + self.m(x).double().float()", "self.n = nn.RMSNorm(10, eps=1e-5)\nself.m = nn.RMSNorm((6, 10), elementwise_affine=False)",
                              "torch.randn(3, 6, 10)", ["rsqrt.default"]),
        "rms norm of a half type": ("return F.rms_norm(x.bfloat16(), (10,))", "pass", "torch.randn(6, 10)", ["rsqrt.default", "_to_copy.default"]),
        "gelu by hand": ("return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))",
                         "pass", "torch.randn(6, 10)", ["tanh.default"]),
        "conv, batch norm in training mode": ("return F.relu(self.bn(self.conv(x)))",
                                              "self.conv = nn.Conv2d(3, 8, 3, padding=1)\nself.bn = nn.BatchNorm2d(8)",
                                              "torch.randn(2, 3, 9, 11)", ["convolution.default", "_native_batch_norm_legit.no_stats"]),
        "batch norm in evaluation mode": ("return self.bn(x)", "self.bn = nn.BatchNorm1d(10)\nself.eval()", "torch.randn(6, 10)",
                                          ["_native_batch_norm_legit_no_training.default"]),
        "transposed convolution": ("return self.conv(x)", "self.conv = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)",
                                   "torch.randn(2, 4, 5, 7)", ["convolution.default"]),
        "convolution, same padding": ("return self.conv(x)", "self.conv = nn.Conv1d(4, 6, 4, padding='same')", "torch.randn(2, 4, 15)",
                                      ["constant_pad_nd.default", "convolution.default"]),
        "pools": ("return F.avg_pool2d(self.p(x), 2) + F.adaptive_avg_pool2d(x, 1)", "self.p = nn.MaxPool2d(2)", "torch.randn(2, 3, 12, 16)",
                  ["max_pool2d_with_indices.default", "avg_pool2d.default", "mean.dim"]),
        "group norm": ("return self.gn(x)", "self.gn = nn.GroupNorm(4, 8)", "torch.randn(2, 8, 5, 7)", ["native_group_norm.default"]),
        "attention by hand": ("b, t, c = x.shape\nq, k, v = self.qkv(x).chunk(3, dim=-1)\nq, k, v = (y.view(b, t, 4, c // 4).transpose(1, 2) for y in (q, k, v))\n"
                              "s = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))\nm = torch.tril(torch.ones(t, t, dtype=torch.bool))\n"
                              "s = s.masked_fill(~m, float('-inf'))\nreturn self.o((F.softmax(s, dim=-1) @ v).transpose(1, 2).contiguous().view(b, t, c))",
                              "self.qkv = nn.Linear(32, 96)\nself.o = nn.Linear(32, 32)", "torch.randn(2, 7, 32)", ["_softmax.default", "bmm.default"]),
        "attention of torch": ("return F.scaled_dot_product_attention(x, x, x, is_causal=True)", "pass", "torch.randn(2, 3, 7, 16)",
                               ["_softmax.default", "bmm.default"]),
        "multi-head attention": ("return self.a(x, x, x, need_weights=False)[0]", "self.a = nn.MultiheadAttention(16, 4, batch_first=True)",
                                 "torch.randn(2, 5, 16)", ["_softmax.default"]),
        "transformer layer": ("return self.t(x)", "self.t = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)",
                              "torch.randn(2, 5, 16)", ["native_layer_norm.default", "_softmax.default"]),
        "recurrent cells": ("h = self.a(x, x.repeat(1, 2)[:, :12])\nreturn self.b(h, (x[:, :8], x[:, 2:]))[0]", "self.a = nn.GRUCell(10, 12)\nself.b = nn.LSTMCell(12, 8)", "torch.randn(6, 10)",
                            ["sigmoid.default", "tanh.default"]),
        "in place and slices": ("y = x.clone()\ny[:, 0] = 0\ny[1:3] += 2\ny *= 3\nreturn y", "pass", "torch.randn(6, 10)", ["slice_scatter.default"]),
        "circular padding": ("return self.conv(F.pad(x, (1, 0, 2, 1), mode='circular'))",
                             "self.conv = nn.Conv2d(3, 4, 3, padding=1, padding_mode='circular')", "torch.randn(2, 3, 5, 7)",
                             ["cat.default", "convolution.default"]),
        "flip, cat, narrow, roll": ("return torch.cat([x.flip(0), x.narrow(1, 2, 3), torch.roll(x, 2, 1)], dim=1)", "pass", "torch.randn(6, 10)",
                                    ["flip.default", "cat.default"]),
        "einsum": ("return torch.einsum('bij,bjk->bik', x, x.transpose(1, 2))", "pass", "torch.randn(3, 4, 5)", ["bmm.default"]),
        "index by arange": ("return x[torch.arange(x.size(0)), x.argmax(dim=1)]", "pass", "torch.randn(6, 10)", ["index.Tensor", "argmax.default"]),
        "literal tensor": ("return x * torch.tensor([1.0, -2.0]).repeat(5)", "pass", "torch.randn(6, 10)", ["constant"]),
        "plain tensor attribute": ("return x * self.scale + self.table", "self.scale = torch.tensor(2.5)\nself.table = torch.arange(10) / 10",
                                   "torch.randn(6, 10)", ["full.default", "constant"]),
        "buffer": ("return x + self.mask[: x.size(0)]", "self.register_buffer('mask', torch.rand(32, 10))", "torch.randn(6, 10)", ["slice.Tensor"]),
        "tied weights": ("return self.b(self.a(x))", "self.a = nn.Linear(10, 10)\nself.b = nn.Linear(10, 10)\nself.b.weight = self.a.weight",
                         "torch.randn(6, 10)", ["addmm.default"]),
        "statistics": ("return (x - x.mean(0, keepdim=True)) / (x.std(0, keepdim=True) + 1e-6)", "pass", "torch.randn(6, 10)", ["var.correction"]),
        "losses": ("return F.cross_entropy(x, torch.arange(6) % 2) + F.smooth_l1_loss(x, x * 2) + F.kl_div(x.log_softmax(1), x.softmax(1), reduction='batchmean')",
                   "pass", "torch.randn(6, 10)", ["nll_loss_forward.default", "_log_softmax.default"]),
        "other dtypes": ("return (x.half() * 2).float() + x.to(torch.float64).sum().to(x.dtype)", "pass", "torch.randn(6, 10)", ["_to_copy.default"]),
        "resizing": ("return F.interpolate(x, scale_factor=2, mode='nearest') + F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=False)",
                     "pass", "torch.randn(2, 3, 5, 7)", ["upsample_nearest2d.default", "upsample_bilinear2d.default"]),
        "pixel shuffle": ("return F.pixel_shuffle(x, 2)", "pass", "torch.randn(2, 8, 5, 7)", ["permute.default"]),
        "norms": ("return F.normalize(x, dim=1) + x / torch.norm(x, p='fro') + torch.linalg.norm(x, dim=1, keepdim=True)", "pass", "torch.randn(6, 10)",
                  ["linalg_vector_norm.default"]),
        "where, clamp, compare": ("return torch.where(x > 0, x.clamp(max=1), torch.full_like(x, -1)).masked_fill(x.abs() < 0.1, 5)", "pass",
                                  "torch.randn(6, 10)", ["where.self", "clamp.default"]),
        "activations": ("for f in (F.silu, F.mish, F.elu, F.selu, F.celu, F.softplus, F.hardswish, F.hardsigmoid, F.leaky_relu, F.logsigmoid, F.softsign,"
                        " F.tanhshrink, F.relu6, F.hardshrink, F.softshrink):\n    x = f(x)\nreturn x", "pass", "torch.randn(6, 10)",
                        ["silu.default", "mish.default", "elu.default", "softplus.default"]),
        "integers": ("return (x // 3) % 4 + (x << 1) - (x >> 1) ^ 5", "pass", "torch.randint(0, 100, (6, 10))", ["bitwise_xor.Scalar"]),
        "counts": ("return torch.bincount(x[0], minlength=100), x[0].bincount(x[1].double(), 110)", "pass", "torch.randint(0, 100, (6, 10))",
                   ["scatter_add.default"]),
        "a branch on a dimension": ("if x.dim() == 2 and x.shape[1] > 4:\n    return x + 1\nreturn x", "pass", "torch.randn(6, 10)", ["add.Tensor"]),
        "several outputs": ("v, i = torch.topk(x, 3, dim=1)\nreturn v, i, x.max(dim=1).values", "pass", "torch.randn(6, 10)", ["topk.default", "max.dim"]),
    }

    def test_cases(self):
        for name, (forward, init, inputs, wanted) in self.CASES.items():
            with self.subTest(name):
                graph, _ = verified(source(forward, init, inputs))
                found = names_of(graph)
                for op in wanted:
                    self.assertIn(op, found)
                self.assertEqual([op for op in found if op not in operators.CORE_NAMES], [])

    def test_equal_sizes_stay_apart(self):
        graph, sets = verified(source("return self.b(F.relu(self.a(x)))", "self.a = nn.Linear(8, 8)\nself.b = nn.Linear(8, 8)", "torch.randn(8, 8)"))
        shapes = {i["name"]: i["shape"] for i in graph["inputs"]}
        self.assertEqual(shapes, {"x": ["x_0", "x_1"], "a_weight": ["a_weight_0", "x_1"], "a_bias": ["a_weight_0"],
                                  "b_weight": ["b_weight_0", "a_weight_0"], "b_bias": ["b_weight_0"]})
        self.assertEqual(sets, 2)

    def test_lines_are_those_of_the_module(self):
        text = source("x = self.act(x)\nreturn x * 2", "self.act = nn.ReLU()")
        lines = text.split("\n")
        for node, wanted in zip(traced(text)["nodes"], ("x = self.act(x)", "return x * 2")):
            self.assertEqual(lines[node["line"] - 1].strip(), wanted)

    def test_a_size_that_a_branch_looks_at_is_a_condition(self):
        graph = traced(source("return x + 1 if x.shape[0] > 4 else x"))
        self.assertEqual(graph["conditions"], [[4, "<", "x_0"]])
        graph = traced(source("return x.view(2, 5, -1)"))
        self.assertEqual(graph_interpreter.broken_conditions(graph, graph["sizes"]), [])

    def test_gigabytes_of_parameters_are_not_made(self):
        graph = traced(source("return self.a(x)", "self.a = nn.Linear(200000, 100000)", "torch.randn(4000000, 200000)"))
        self.assertEqual(names_of(graph), ["permute.default", "addmm.default"])


class DefinitionsTest(TracerTest):
    def trace(self, run, axes, inputs, outputs=1):
        items = [{"name": n, "dtype": d, "shape": s, "static": False, "value": v} for n, d, s, v in inputs]
        body = {"kind": "definition", "entry": "run", "axes": axes, "inputs": items, "output_count": outputs}
        return trace_suite.trace(trace_suite.placed("import math\nimport torch\n\n\n" + run), body)

    def test_axes_are_the_symbols(self):
        graph = self.trace("def run(x, y):\n    return x @ y\n", [["M", 8], ["K", 8], ["N", 8]],
                           [("x", "float32", ["M", "K"], None), ("y", "float32", ["K", "N"], None)])
        self.assertEqual(graph["sizes"], {"M": 8, "K": 8, "N": 8})
        self.assertEqual(graph["conditions"], [])
        self.assertEqual(graph["nodes"], [{"op": "mm.default", "arguments": {"self": {"input": "x"}, "mat2": {"input": "y"}},
                                           "outputs": [{"dtype": "float32", "shape": ["M", "N"]}], "line": 6}])

    def test_scalars_are_values(self):
        graph = self.trace("def run(x, a, n):\n    return x * (1 - a) / math.sqrt(x.shape[0]) + n * a\n", [["M", 6]],
                           [("x", "float32", ["M"], None), ("a", "float32", None, 0.25), ("n", "int64", None, 3)])
        self.assertEqual([i["role"] for i in graph["inputs"]], ["input", "scalar", "scalar"])
        x = torch.randn(9)
        got = graph_interpreter.run(graph, {"x": x, "a": 0.75, "n": 5}, {"M": 9, "n": 5})
        torch.testing.assert_close(got[0], x * 0.25 / 3 + 5 * 0.75)

    def test_a_fixed_axis_is_a_condition(self):
        graph = self.trace("def run(x):\n    out = x[0]\n    for i in range(1, x.shape[0]):\n        out = out + x[i]\n    return out\n",
                           [["T", 4], ["N", 6]], [("x", "float32", ["T", "N"], None)])
        self.assertEqual(graph["conditions"], [["T", "==", 4]])
        self.assertEqual(names_of(graph).count("add.Tensor"), 3)

    def test_a_branch_on_a_scalar_has_no_graph(self):
        with self.assertRaisesRegex(Unsupported, "depends on the value of a"):
            self.trace("def run(x, a):\n    return x if a > 0 else -x\n", [["M", 6]], [("x", "float32", ["M"], None), ("a", "float32", None, 0.25)])


class ErrorsTest(TracerTest):
    def answer(self, text):
        path = trace_suite.placed(text)
        try:
            return json.dumps(tracer.trace(path, {"kind": "module", "entry": "Model"}))
        except Unsupported as error:
            return f"line {error.line}: {error}"
        except Exception as error:
            return tracer.describe(error, path)

    def test_each_says_what_and_where(self):
        start = source("HERE").split("HERE")[0].count("\n") + 1
        for forward, wanted in {
            "return x[x > 0]": f"line {start}: nonzero.default: what comes next depends on the values",
            "return x * x.sum().item()": f"line {start}: _local_scalar_dense.default: what comes next",
            "if x.sum() > 0:\n    return x\nreturn -x": f"line {start}: ",
            "return torch.nonzero(x)": f"line {start}: nonzero.default",
            "return torch.bincount(x.long())": f"line {start}: bincount.default",
            "y = x + 1\nreturn y @ y": f"line {start + 1}: ",
            "return x.no_such_method()": f"line {start}: AttributeError",
            "return torch.fft.fft(x).abs()": f"line {start}: _fft_r2c.default: the element type complex64",
            "return [x, 3]": "BadReference: output 1 is of type int",
        }.items():
            with self.subTest(forward):
                found = self.answer(source(forward))
                self.assertTrue(found.startswith(wanted), found)

    def test_a_large_constant_that_is_no_buffer(self):
        found = self.answer(source("return x + self.table[:10]", "self.table = torch.rand(10000)"))
        self.assertRegex(found, r"^line \d+: a constant tensor of shape \[10000\] that is no buffer")

    def test_code_that_does_not_load(self):
        self.assertEqual(self.answer("import torch\n\ndef broken(:\n")[:20], "line 3: SyntaxError:")
        self.assertRegex(self.answer("import torch\nraise ValueError('no')\n"), "^line 2: ValueError: no")


class SuiteTest(TracerTest):
    def test_a_sample_of_the_suite(self):
        for name in SAMPLE:
            with self.subTest(name):
                graph, sets = trace_suite.check(name)
                self.assertGreater(sets, 0)
                self.assertEqual([op for op in names_of(graph) if op not in operators.CORE_NAMES], [])

    def test_a_changed_graph_is_found(self):
        definition, workloads, _ = trace_suite._read("softmax")
        graph = trace_suite.trace(trace_suite.placed(definition["reference"]), trace_suite.definition_body(definition, workloads[0]))
        graph["nodes"][0]["arguments"]["dim"] = 0
        x = torch.randn(5, 7)
        with self.assertRaises(AssertionError):
            trace_suite.agree(graph_interpreter.run(graph, {"x": x}, dict(zip(graph["sizes"], (5, 7)))), [x.softmax(-1)])


class DocumentTest(unittest.TestCase):
    def test_the_operators_are_listed(self):
        with open(os.path.join(PYTHON_FOLDER, "..", "docs", "tracing.md")) as file:
            table = file.read().partition("## Operators")[2]
        self.assertEqual(set(re.findall(r"`([\w.]+)`", table)), set(operators.CORE_NAMES))


if __name__ == "__main__":
    unittest.main()
