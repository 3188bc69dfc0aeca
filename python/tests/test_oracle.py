# The oracle as a process: descriptions of modules, state, and runs in several precisions.
import json
import struct
import unittest

import torch
from torch import nn
from torch.nn import functional as F

from checker import of, scalar, tensor_argument, to_bytes
from support import Leaf, MemoryFile

from dtypes import TORCH_OF_NAME

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


class Asker:
    """One oracle. Groups of tensors stand at fixed places of the exchange."""

    PLACES = {"inputs": 0, "statics": 1 << 16, "outputs": 2 << 16, "outputs64": 3 << 16}

    def __init__(self, source, kind="module", entry="Model", **setup):
        self.leaf = Leaf("oracle")
        self.text = MemoryFile("text", 1 << 20)
        self.exchange = MemoryFile("exchange", 4 << 16)
        self.signature = None
        body = {"op": "setup", "kind": kind, "entry": entry, "source": source, "settings": []}
        self.answer = self.ask({**body, "threads": 1, **setup}, text=self.text)

    def close(self):
        self.leaf.close()
        self.text.close()
        self.exchange.close()

    def ask(self, body, **files):
        """(status, text)"""
        self.leaf.send(body, files)
        status, _, size = struct.unpack("<IIQ48x", self.leaf.control.recv(256))
        return status, self.text.map[:size].decode()

    def done(self, body, **files):
        status, text = self.ask(body, **files)
        assert status == 0, text
        return text

    def describe(self):
        return json.loads(self.done({"op": "describe", "param_seed": 1, "input_seed": 2}))

    def attach(self, signature=None):
        """The signature of the description, or a given one."""
        if signature is None:
            found = self.describe()
            signature = {g: found[g] for g in ("inputs", "statics", "outputs")}
            signature["statics"] = [s for s in signature["statics"] if s["used"]]
            for group, role in (("statics", "static"), ("outputs", "output")):
                for a in signature[group]:
                    a["role"] = role
        self.signature = signature
        layout = {g: [s + 4096 * i for i in range(9)] for g, s in self.PLACES.items()}
        self.done({"op": "attach", "signature": signature, "layout": layout}, exchange=self.exchange)

    def tensor(self, group, i, dtype=None):
        """A view of the exchange."""
        a = self.signature[group.removesuffix("64")][i]
        dtype = dtype or TORCH_OF_NAME[a["dtype"]]
        count = torch.Size(a["shape"]).numel()
        start = self.PLACES[group] + 4096 * i
        data = torch.frombuffer(self.exchange.map, dtype=dtype, count=count, offset=start)
        return data.view(a["shape"])

    def run(self, precision="declared", **more):
        return self.ask({"op": "run", "precision": precision, "mode": "train", **more})

    def output(self, precision="declared", i=0, **more):
        status, text = self.run(precision, **more)
        assert status == 0, text
        if precision not in ("float64", "second"):
            return self.tensor("outputs", i).clone()
        floating = TORCH_OF_NAME[self.signature["outputs"][i]["dtype"]].is_floating_point
        return self.tensor("outputs64", i, torch.float64 if floating else torch.int64).clone()


class OracleTest(unittest.TestCase):
    def start(self, source, *args, **kwargs):
        asker = Asker(HEAD + source, *args, **kwargs)
        self.addCleanup(asker.close)
        return asker

    def failure(self, source, **kwargs):
        """The text with which describe fails."""
        asker = self.start(source, **kwargs)
        status, text = asker.answer
        if status == 0:
            status, text = asker.ask({"op": "describe", "param_seed": 1, "input_seed": 2})
        self.assertEqual(status, 1, text)
        return text


def model(forward, init="", arguments="self", inputs="torch.rand(4, 6)", init_inputs="", params="x"):
    return f"""
class Model(nn.Module):
    def __init__({arguments}):
        super().__init__()
        {init or "pass"}
    def forward(self, {params}):
        {forward}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return [{init_inputs}]
"""


class DescribeTest(OracleTest):
    def describe(self, *args, **kwargs):
        return self.start(model(*args, **kwargs)).describe()

    def test_interface(self):
        found = self.describe(
            "return x.sum(0), (x > n).int()", params="x, n=0", inputs="torch.rand(4, 6), 2"
        )
        self.assertEqual(
            found["inputs"],
            [
                {"name": "x", "role": "input", "dtype": "float32", "shape": [4, 6]},
                {"name": "n", "role": "scalar", "dtype": "int64", "shape": [], "value": 2},
            ],
        )
        self.assertEqual(
            found["outputs"],
            [
                {"name": "out0", "dtype": "float32", "shape": [6]},
                {"name": "out1", "dtype": "int32", "shape": [4, 6]},
            ],
        )
        self.assertFalse(found["random_in_forward"])

    def test_init_arguments(self):
        found = self.describe(
            "return x",
            arguments="self, n, f, flag, pair, sizes, names, none, text, eps=1e-5, *, deep=((1, 2), 3)",
            init_inputs="3, 0.5, True, (2, 3), [4], ['a'], None, 'it\\'s'",
        )
        self.assertEqual(
            eval(found["init_args"]), [3, 0.5, True, (2, 3), [4], ["a"], None, "it's"]
        )
        constants = [["n", 3], ["f", 0.5], ["flag", True], ["pair", [2, 3]], ["sizes", [4]]]
        self.assertEqual(found["constants"], constants + [["eps", 1e-5]])
        self.assertIs(found["constants"][2][1], True)
        parameters = ["n", "f", "flag", "pair", "sizes", "names", "none", "text", "eps=", "*", "deep="]
        self.assertEqual(found["init_parameters"], parameters)

    def test_init_parameters_of_any_number(self):
        found = self.describe("return x", arguments="self, *sizes, bias=True, **options", init_inputs="3, 4")
        self.assertEqual(found["init_parameters"], ["*sizes", "bias=", "**options"])

    def test_names_are_words_of_neither_language(self):
        found = self.describe(
            "return int + new", params="int, new", inputs="torch.rand(2), torch.rand(2)",
            init="self.register_parameter('new', nn.Parameter(torch.ones(2)))",
        )
        names = [a["name"] for a in found["inputs"] + found["statics"]]
        self.assertEqual(names, ["int_", "new_", "new__"])

    def test_parameters_and_buffers(self):
        found = self.describe(
            "return self.norm(x * self.table) + self.hidden",
            init="self.norm = nn.BatchNorm1d(6); self.register_buffer('table', torch.rand(6));"
            " self.register_buffer('unused', torch.zeros(3));"
            " self.register_buffer('hidden', torch.tensor(2.0), persistent=False)",
        )
        rows = {s["state_key"]: (s["is_buffer"], s["constant"], s["used"]) for s in found["statics"]}
        self.assertEqual(
            rows,
            {
                "table": (True, False, True),
                "unused": (True, True, False),
                "norm.weight": (False, True, True),
                "norm.bias": (False, True, True),
                "norm.running_mean": (True, True, False),
                "norm.running_var": (True, True, False),
                "norm.num_batches_tracked": (True, True, False),
                "hidden": (True, True, True),
            },
        )
        self.assertEqual(found["statics"][2]["name"], "norm_weight")

    def used_buffers(self, body, init):
        return {s["state_key"] for s in self.describe(body, init=init)["statics"] if s["is_buffer"] and s["used"]}

    def test_buffers_whose_values_are_hidden(self):
        tables = "self.register_buffer('a', torch.rand(6)); self.register_buffer('b', torch.rand(6))"
        frozen = "self.norm = nn.BatchNorm1d(6).eval()"
        self.assertEqual(self.used_buffers("return F.relu(-1e9 - self.norm(x).abs())", frozen), {"norm.running_mean", "norm.running_var"})
        self.assertEqual(self.used_buffers("return x + F.relu(self.a - 9).view(2, 3).t().reshape(6)", tables), {"a"})
        self.assertEqual(self.used_buffers("y = torch.zeros(6); y[:3].add_(self.b[:3] * 0); return x + y", tables), {"b"})
        # Read, and not on the way to an output.
        self.assertEqual(self.used_buffers("self.a.add_(self.b); self.b = self.b * 0.9 + x.mean(0) * 0.1; return x * 2", tables), set())
        self.assertEqual(
            self.used_buffers("return self.rows(self.norm(x)[:, None])", "self.norm = nn.BatchNorm1d(6, momentum=None); self.rows = nn.InstanceNorm1d(1, track_running_stats=True)"),
            set(),
        )
        # Only by its values: a number goes from it to Python.
        self.assertEqual(self.used_buffers("return x * self.a.sum().item()", tables), {"a"})

    def test_random_numbers_are_found(self):
        self.assertTrue(self.describe("return F.dropout(x, 0.5)")["random_in_forward"])
        self.assertTrue(self.describe("return x + torch.rand(6)")["random_in_forward"])
        found = self.describe("return x / (x - x)")  # NaN equals itself
        self.assertFalse(found["random_in_forward"])

    def test_settings_replace_constants(self):
        source = "n = 4\nshape = (n, 2 * n)\n" + model("return x", inputs="torch.rand(shape)")
        found = self.start(source, settings=[["n", "3"]]).describe()
        self.assertEqual(found["inputs"][0]["shape"], [3, 6])
        text = self.failure(source, settings=[["m", "3"]])
        self.assertIn("no constant m to replace; the file has: n, shape", text)
        self.assertIn("not a Python literal", self.failure(source, settings=[["n", "f()"]]))

    def test_what_cannot_be_described(self):
        for source, expected in (
            (model("return x", init_inputs="torch.float32", arguments="self, t"), "torch.float32"),
            (model("return x", init_inputs="nn.ReLU()", arguments="self, a"), "ReLU"),
            (model("return x", init_inputs="float('inf')", arguments="self, a"), "inf"),
            (model("return x", inputs="'text'"), "input x: str is neither a tensor nor"),
            (model("return x", inputs="torch.rand(2).to_sparse()"), "not a dense CPU tensor"),
            (model("return x", inputs="torch.rand(2).cfloat()"), "torch.complex64"),
            (model("return {'a': x}"), "returned dict"),
            (model("return x, 1"), "output 1 is of type int"),
            (model("return [x] * 9"), "9 outputs, more than 8"),
            (model("return x", inputs="*[torch.rand(1)] * 33", params="*x"), "33 inputs"),
            (model("return x.no_such_thing"), "no_such_thing"),
            (model("return x", init="exit(3)"), "SystemExit"),
            ("def get_inputs():\n    return []\n", "no Model"),
            ("class Model: pass\n", "no get_inputs()"),
            ("x = = 1\n", "SyntaxError"),
        ):
            with self.subTest(expected):
                self.assertIn(expected, self.failure(source))


class StateTest(OracleTest):
    SOURCE = model(
        "return self.norm(self.fc(x))",
        init="self.fc = nn.Linear(6, 5); self.norm = nn.LayerNorm(5)",
    )

    def test_inputs_follow_the_seed(self):
        asker = self.start(self.SOURCE)
        asker.attach()
        asker.done({"op": "generate", "seed": 5})
        torch.manual_seed(5)
        self.assertTrue(torch.equal(asker.tensor("inputs", 0), torch.rand(4, 6)))

    def test_the_device_of_inputs_is_no_part_of_the_problem(self):
        text = (
            "class Model(nn.Module):\n    def forward(self, *x):\n        return sum(x)\n"
            "def get_init_inputs():\n    return []\n"
            "def get_inputs():\n    return [%s]\n"
        )
        same = "torch.randn(4, %s)"
        for made in (
            same % "device='cuda'",
            same % "device=torch.device('cuda:0')",
            same % "generator=torch.Generator(device='cuda').manual_seed(torch.initial_seed()), device='cuda'",
            "torch.randn(4).cuda()",
            "torch.randn(4).to('cuda').to(device='cuda', dtype=torch.float32)",
            "torch.randn(4, pin_memory=True).pin_memory()",
        ):
            with self.subTest(made):
                values = []
                for source in (text % made, text % "torch.randn(4)"):
                    asker = self.start(source)
                    asker.attach()
                    asker.done({"op": "generate", "seed": 3})
                    values.append(asker.tensor("inputs", 0).clone())
                self.assertTrue(torch.equal(*values))

    def test_state_follows_the_seed_and_constants_are_redrawn(self):
        asker = self.start(self.SOURCE)
        asker.attach()
        asker.done({"op": "state", "seed": 9, "redraw": False})
        torch.manual_seed(9)
        fc = nn.Linear(6, 5)
        weight, bias, ones, zeros = (asker.tensor("statics", i) for i in range(4))
        self.assertTrue(torch.equal(weight, fc.weight) and torch.equal(bias, fc.bias))
        self.assertTrue(bool((ones == 1).all()) and bool((zeros == 0).all()))
        asker.done({"op": "state", "seed": 9, "redraw": True})
        self.assertTrue(torch.equal(weight, fc.weight))
        self.assertEqual(ones.unique().numel(), 5)
        self.assertLessEqual((ones - 1).abs().max().item(), 0.5)
        self.assertEqual(zeros.unique().numel(), 5)
        self.assertLessEqual(zeros.abs().max().item(), 0.5)
        again = ones.clone()
        asker.done({"op": "state", "seed": 9, "redraw": True})
        self.assertTrue(torch.equal(ones, again))
        asker.done({"op": "state", "seed": 10, "redraw": True})
        self.assertFalse(torch.equal(ones, again))

    def test_buffers_are_not_redrawn(self):
        init = "self.register_buffer('table', torch.full((6,), 0.5))"
        source = model("return x * self.table", init=init)
        asker = self.start(source)
        asker.attach()
        asker.done({"op": "state", "seed": 1, "redraw": True})
        self.assertEqual(asker.tensor("statics", 0).tolist(), [0.5] * 6)

    def test_a_run_reads_the_exchange(self):
        asker = self.start(self.SOURCE)
        asker.attach()
        asker.done({"op": "state", "seed": 1, "redraw": True})
        for i in range(4):
            asker.tensor("statics", i).copy_(torch.randn_like(asker.tensor("statics", i)))
        asker.tensor("inputs", 0).copy_(torch.randn(4, 6))
        x, (w, b, g, h) = asker.tensor("inputs", 0), (asker.tensor("statics", i) for i in range(4))
        torch.testing.assert_close(asker.output(), F.layer_norm(x @ w.t() + b, (5,), g, h))

    def test_batch_norm_in_train_mode_restores_its_statistics(self):
        source = model(
            "before = self.norm.running_mean.clone(); self.norm(x); return before",
            init="self.norm = nn.BatchNorm1d(6, affine=False)",
        )
        asker = self.start(source)
        asker.attach()
        self.assertEqual([s["state_key"] for s in asker.signature["statics"]], ["norm.running_mean"])
        asker.done({"op": "state", "seed": 1, "redraw": True})
        asker.tensor("inputs", 0).copy_(torch.rand(4, 6))
        asker.tensor("statics", 0).fill_(3.0)
        for _ in range(2):
            self.assertEqual(asker.output().tolist(), [3.0] * 6)
        self.assertEqual(asker.tensor("statics", 0).tolist(), [3.0] * 6)

    def test_runs_leave_nothing_behind(self):
        source = model(
            "self.calls += 1; self.seen.add_(1); return self.fc(x) * self.calls * self.seen",
            init="self.fc = nn.Linear(6, 6); self.calls = 0; self.seen = torch.zeros(1)",
        )
        asker = self.start(source)
        asker.attach()
        asker.done({"op": "state", "seed": 1, "redraw": True})
        asker.done({"op": "generate", "seed": 1})
        first = asker.output()
        for precision in ("float64", "lower", "declared"):
            torch.testing.assert_close(asker.output(precision).float(), first, rtol=0.05, atol=0.01)
        self.assertTrue(torch.equal(asker.output(), first))

    def test_inputs_that_change_their_shape_are_refused(self):
        source = "sizes = [4, 4, 5]\n" + model("return x", inputs="torch.rand(sizes.pop(0), 6)")
        asker = self.start(source)
        asker.attach()
        self.assertEqual(asker.ask({"op": "generate", "seed": 1})[0], 0)
        status, text = asker.ask({"op": "generate", "seed": 1})
        self.assertEqual(status, 1)
        self.assertIn("get_inputs() gives x another shape or dtype", text)


class DefinitionTest(OracleTest):
    SOURCE = (
        "def make(numbers, device):\n"
        "    rows = numbers['rows']\n"
        "    return {'place': torch.randperm(rows, device=device), 'x': torch.rand(rows) * numbers['scale']}\n"
        "def run(x, scale, place):\n    x[place] *= scale\n    return x\n"
    )
    SIGNATURE = {
        "inputs": [
            tensor_argument("x", "input", "float32", [4]),
            scalar("scale", "float32", 3.0),
            tensor_argument("place", "input", "int64", [4]),
        ],
        "statics": [],
        "outputs": [tensor_argument("y", "output", "float32", [4])],
    }

    def start_custom(self, source=SOURCE, numbers=None):
        custom = {"entry": "make", "numbers": numbers or {"rows": 4, "scale": 3.0}}
        asker = self.start(source, kind="definition", entry="run", custom_inputs=custom)
        if asker.answer[0] == 0:
            asker.attach(self.SIGNATURE)
        return asker

    def test_its_own_function_makes_the_inputs(self):
        asker = self.start_custom()
        asker.done({"op": "generate", "seed": 7})
        torch.manual_seed(7)
        place, x = torch.randperm(4), torch.rand(4) * 3.0
        self.assertTrue(torch.equal(asker.tensor("inputs", 0), x))
        self.assertTrue(torch.equal(asker.tensor("inputs", 2), place))

    def test_functions_that_give_something_else(self):
        for text, expected in (
            ("return [1]", "make() returned list, not a dict"),
            ("return {'x': torch.rand(4)}", "make() gave no place"),
            ("return {'x': torch.rand(4), 'place': torch.arange(4), 'z': 1}", "make() gave z, which is no input"),
            ("return {'x': torch.rand(5), 'place': torch.arange(4)}", "make() gives x another shape or dtype"),
            ("return {'x': torch.rand(4), 'place': torch.arange(4), 'scale': 2.0}", "make() changes the number scale"),
            ("return {'x': numbers['none']}", "KeyError"),
        ):
            with self.subTest(expected):
                asker = self.start_custom(f"def make(numbers, device):\n    {text}\ndef run(x, scale, place):\n    return x\n")
                status, found = asker.ask({"op": "generate", "seed": 1})
                self.assertEqual(status, 1)
                self.assertIn(expected, found)
        self.assertIn("has no make()", self.start_custom("def run(x, scale, place):\n    return x\n").answer[1])

    def test_a_reference_that_writes_to_an_input_gets_copies(self):
        asker = self.start_custom()
        asker.done({"op": "generate", "seed": 7})
        before = asker.tensor("inputs", 0).clone()
        for precision in ("declared", "float64", "declared"):
            status, text = asker.run(precision)
            self.assertEqual((status, text), (0, "[0]"))
            self.assertTrue(torch.equal(asker.tensor("inputs", 0), before))
        self.assertTrue(torch.equal(asker.tensor("outputs", 0), before * 3))


class PrecisionTest(OracleTest):
    def with_input(self, forward, x, **kwargs):
        asker = self.start(model(forward, **kwargs))
        asker.attach()
        asker.done({"op": "state", "seed": 1, "redraw": True})
        asker.tensor("inputs", 0).copy_(x)
        return asker

    def test_float64_is_exact_whatever_the_reference_casts_to(self):
        x = torch.rand(4, 6)
        for forward in (
            "return x.exp() / 3",
            "return x.float().exp() / 3",
            "return x.to(torch.float32).exp() / 3",
            "return (x.half().exp() / 3).to(torch.float32)",
            "return (x.bfloat16().exp() / 3).float()",
            "return (x.type(torch.float16).exp() / 3).float()",
            "return (x.type('torch.HalfTensor').exp() / 3).type(torch.float32)",
            "return x.to(dtype=torch.float16).exp().to(torch.float32) / 3",
            "return torch.exp(x) / torch.full((1,), 3, dtype=torch.float32)",
            "return torch.exp(x) * torch.tensor([1 / 3])",
            "return torch.exp(x) * torch.full((6,), 1 / 3)",
            "return x.exp() / self.three",
        ):
            with self.subTest(forward):
                init = "self.three = torch.tensor([3.0])"
                asker = self.with_input(forward, x, init=init)
                found = asker.output("float64")
                torch.testing.assert_close(found, x.double().exp() / 3, rtol=1e-15, atol=0)

    def test_the_second_implementation_computes_the_same_in_another_way(self):
        torch.manual_seed(5)
        results = {
            "x @ self.w": True,
            "self.linear(x)": True,
            "self.conv(x.view(1, 4, 8, 16)).flatten(1)": True,
            "torch.bmm(x.view(1, 2, 256), self.w.expand(1, 256, 4))": True,
            "x.sum(1)": True,
            "F.softmax(x, -1)": True,
            "F.layer_norm(x, (256,))": True,
            "x.abs().view(torch.int32).view(torch.float32)": False,
        }
        asker = self.with_input(
            "return " + ", ".join(results),
            torch.randn(2, 256),
            init="self.w = nn.Parameter(torch.randn(256, 4)); self.linear = nn.Linear(256, 4);"
            " self.conv = nn.Conv2d(4, 2, 5, padding=2)",
            inputs="torch.rand(2, 256)",
        )
        first = [asker.output("declared", i) for i in range(len(results))]
        for i, (text, differs) in enumerate(results.items()):
            with self.subTest(text):
                second = asker.output("second", i)
                self.assertIs(second.dtype, torch.float64)
                torch.testing.assert_close(second, first[i].double(), rtol=1e-4, atol=1e-4)
                self.assertIs(not torch.equal(second, first[i].double()), differs)

    def test_a_perturbed_second_run_sums_in_an_order_of_its_own(self):
        torch.manual_seed(5)
        sums = ["x @ self.w", "torch.bmm(x.view(1, 2, 256), self.w.view(1, 256, 4))", "x.sum(1)", "x.mean(1)"]
        sums.append("self.conv(x.view(1, 256, 2, 1)).flatten(1)")
        asker = self.with_input(
            "return " + ", ".join(sums),
            100 + torch.randn(2, 256),
            init="self.w = nn.Parameter(100 + torch.randn(256, 4)); self.conv = nn.Conv2d(256, 8, 1)",
            inputs="torch.rand(2, 256)",
        )

        def second(i, seed):  # inputs stay as they are
            return asker.output("second", i, perturb_seed=seed, perturb_scale=0.0)

        for i, text in enumerate(sums):
            with self.subTest(text):
                runs = [second(i, seed) for seed in range(8)]
                self.assertTrue(torch.equal(second(i, 3), runs[3]))
                self.assertGreater(len({tuple(run.flatten().tolist()) for run in runs}), 4)
                for run in runs[1:]:
                    torch.testing.assert_close(run, runs[0], rtol=1e-5, atol=1e-3)

    def test_the_second_implementation_runs_what_float64_does_not(self):
        x = torch.randn(4, 6)
        asker = self.with_input("return (x.view(torch.int32) & 0x7fffffff).view(torch.float32)", x)
        self.assertEqual(asker.run("float64")[0], 1)
        self.assertTrue(torch.equal(asker.output("second"), x.abs().double()))
        self.assertTrue(torch.equal(asker.output("declared"), x.abs()))

    def test_a_softmax_moves_in_the_second_implementation_as_in_float64(self):
        x = torch.tensor([[0.0, 1, 2, 3]])
        asker = self.with_input("return F.softmax(1000 * x, -1)", x, inputs="torch.rand(1, 4)")
        moved = asker.output("second", perturb_seed=3, perturb_scale=0, function_scale=2e-8)
        self.assertAlmostEqual(abs(moved[0, 3].item() - 1) / (3000 * 2e-8), 1, delta=0.1)

    def test_inputs_that_are_views_are_named(self):
        inputs = "torch.rand(4, 6).T, torch.rand(3), torch.rand(8)[::2], torch.rand(2, 3)"
        asker = self.start(model("return a.sum() + b.sum() + c.sum() + d.sum()", params="a, b, c, d", inputs=inputs))
        self.assertEqual(asker.describe()["views"], ["a", "c"])

    def test_integers_and_booleans_keep_their_dtype(self):
        source = model(
            "return F.cross_entropy(x, t), t + 1, x > 0.5",
            params="x, t",
            inputs="torch.rand(4, 6), torch.randint(0, 6, (4,))",
        )
        asker = self.start(source)
        asker.attach()
        asker.done({"op": "state", "seed": 1, "redraw": True})
        asker.done({"op": "generate", "seed": 1})
        x, t = asker.tensor("inputs", 0), asker.tensor("inputs", 1)
        expected = F.cross_entropy(x.double(), t)
        torch.testing.assert_close(asker.output("float64"), expected, rtol=1e-14, atol=0)
        self.assertTrue(torch.equal(asker.output("float64", 1), t + 1))
        self.assertTrue(torch.equal(asker.output("float64", 2), (x > 0.5).long()))
        self.assertTrue(torch.equal(asker.output("declared", 2), x > 0.5))
        self.assertEqual(asker.output("lower").item(), F.cross_entropy(x.bfloat16(), t).float().item())

    def test_lower_is_the_whole_computation_in_the_next_dtype(self):
        x = torch.rand(4, 6)
        asker = self.with_input("return x.double().cumsum(1).float()", x)
        self.assertTrue(torch.equal(asker.output("lower"), x.bfloat16().cumsum(1).float()))
        asker = self.with_input("return x.cumsum(1)", x.double(), inputs="torch.rand(4, 6).double()")
        self.assertTrue(torch.equal(asker.output("lower"), x.cumsum(1).double()))

    def test_lower_of_half_rounds_to_eight_bits(self):
        x = torch.tensor([[1.03, 3.3, 1000.0]]).half()
        asker = self.with_input("return x + 0", x, inputs="torch.rand(1, 3).half()")
        self.assertEqual(asker.output("lower").tolist(), [[1.0, 3.25, 448.0]])

    def test_lower_is_one_step_below_each_output(self):
        x = torch.randn(4, 6)
        asker = self.with_input("return (x / 3).bfloat16(), (x / 3).to(torch.float8_e4m3fn), x / 3", x)
        eighth = x.to(torch.float8_e4m3fn).float()
        right = (eighth / 3).bfloat16().to(torch.float8_e4m3fn).bfloat16()
        self.assertTrue(torch.equal(asker.output("lower"), right))
        self.assertTrue(torch.equal(asker.output("lower", 2), (x.bfloat16() / 3).float()))

    def test_tables_of_the_file_follow_the_precision(self):
        x = torch.rand(4, 6)
        source = model("y = torch.cat([x, table]) @ table.T; return y * scale.sum()")
        asker = self.start("table = torch.arange(24.0).view(4, 6) / 7\nscale = torch.ones(2) / 3\n" + source)
        asker.attach()
        asker.done({"op": "state", "seed": 1, "redraw": True})
        asker.tensor("inputs", 0).copy_(x)
        table, scale = torch.arange(24.0).view(4, 6) / 7, torch.ones(2) / 3
        y = torch.cat([x.double(), table.double()]) @ table.double().T * scale.double().sum()
        torch.testing.assert_close(asker.output("float64"), y, rtol=1e-14, atol=0)
        table, scale = table.bfloat16(), scale.bfloat16()
        y = torch.cat([x.bfloat16(), table]) @ table.T * scale.sum()
        self.assertTrue(torch.equal(asker.output("lower"), y.float()))

    def test_a_table_that_is_written_to_stays_itself(self):
        source = model("seen[0] = x.sum(); seen.mul_(2); return x * seen")
        asker = self.start("seen = torch.zeros(1)\n" + source)
        asker.attach()
        asker.done({"op": "state", "seed": 1, "redraw": True})
        asker.tensor("inputs", 0).copy_(torch.ones(4, 6))
        self.assertTrue(torch.equal(asker.output("float64"), torch.full((4, 6), 48.0).double()))

    def test_lower_fails_with_a_text_where_there_is_none(self):
        source = model("return x + 1", inputs="torch.randint(0, 9, (3,))")
        asker = self.start(source)
        asker.attach()
        asker.done({"op": "state", "seed": 1, "redraw": True})
        status, text = asker.run("lower")
        self.assertEqual(status, 1)
        self.assertIn("no lower precision", text)

    def test_an_operator_that_the_dtype_lacks_is_named(self):
        x = torch.rand(3, 3)
        asker = self.with_input("return torch.linalg.det(x)", x, inputs="torch.rand(3, 3)")
        status, text = asker.run("lower")
        self.assertEqual(status, 1)
        self.assertIn("BFloat16", text)

    def test_perturbation(self):
        x = torch.rand(4, 6) + 1
        asker = self.with_input("return x * self.w", x, init="self.w = nn.Parameter(torch.rand(6) + 1)")
        exact = asker.output("float64")
        self.assertTrue(torch.equal(exact, asker.output("float64", perturb_seed=0, perturb_scale=1)))

        def moved_by(seed):
            return asker.output("float64", perturb_seed=seed, perturb_scale=1e-9)

        factors = ((moved_by(3) / exact - 1) / 1e-9).round().long()
        self.assertEqual(set(factors.flatten().tolist()), {-2, 0, 2})
        self.assertTrue(torch.equal(moved_by(3), moved_by(3)))
        self.assertFalse(torch.equal(moved_by(3), moved_by(4)))
        self.assertEqual(bytes(asker.exchange.map[: x.nbytes]), to_bytes(x))

    def test_elementary_functions_move_too_where_asked(self):
        x = torch.tensor([[-5.0, -1.0, 0.5, 3.0]])

        def moved(source, seed=3):
            asker = self.with_input(source, x, inputs="torch.rand(1, 4)")
            exact = asker.output("float64")
            other = asker.output("float64", perturb_seed=seed, perturb_scale=0, function_scale=1e-9)
            self.assertTrue(torch.equal(exact, asker.output("float64", perturb_seed=0, function_scale=1)))
            return exact, (other - exact) / 1e-9

        exact, by = moved("return x.exp()")
        self.assertEqual((by / exact).round().abs().tolist(), [[1, 1, 1, 1]])
        exact, by = moved("return F.gelu(x)")  # moves by what its erf is multiplied with
        wide = x.double()
        expected = 0.5 * wide * torch.erf(wide / 2**0.5)
        torch.testing.assert_close(by.abs(), expected.abs(), rtol=1e-6, atol=1e-6)
        exact, by = moved("y = x.clone(); y.tanh_(); return y")
        self.assertTrue((by.abs() / exact.abs() - 1).abs().max() < 1e-6)
        for softmax, largest in (("softmax", 1), ("log_softmax", 0)):
            exact, by = moved(f"return F.{softmax}(1000 * x, -1)")
            self.assertEqual(exact[0, 3].item(), largest)
            self.assertAlmostEqual(by[0, 3].abs().item() / 3000, 1, delta=0.01)  # by a rounding of itself
            _, by = moved(f"return F.{softmax}(x + torch.tensor([0, 0, 0, float('-inf')]), -1)")
            self.assertFalse(by[0, :3].isnan().any(), softmax)
            _, by = moved(f"return F.{softmax}(x - 1e30, -1)")
            self.assertLess(by.abs().max().item() * 1e-9, 0.02, softmax)
            exact, by = moved(f"return F.{softmax}(x, -1)")
            self.assertLess((by / exact).abs().max().item(), 40, softmax)
        attention = "F.scaled_dot_product_attention(1000 * x[None, :, :, None], x[None, :, :, None], x[None, :, :, None]{})[0, :, :, 0]"
        mask = ", attn_mask=torch.tensor([[True] * 4] * 3 + [[False] * 4])"
        exact, by = moved(f"return {attention.format('')}")
        self.assertEqual(exact[0, 3].item(), 3)
        self.assertAlmostEqual(by[0, 3].abs().item() / (3 * 9000), 1, delta=0.01)
        exact, by = moved(f"return {attention.format(mask)}")
        self.assertEqual((exact[0, 3].item(), by[0, 3].item()), (0, 0))
        for product in ("x ** 2", "x * 3", "torch.mm(x, x.t())"):
            _, by = moved(f"return {product}")
            self.assertEqual(by.abs().max().item(), 0, product)

    def test_norms_move_with_their_means(self):
        x = torch.full((2, 6, 4), 3.6)
        for norm, count in {  # a constant row's mean: by a unit, and by half as many as it is a sum of
            "F.layer_norm(x, (4,), None, None, 1e-5)": 4,
            "F.group_norm(x, 3, None, None, 1e-5)": 8,
            "F.batch_norm(x, None, None, None, None, True, 0.1, 1e-5)": 8,
            "F.instance_norm(x, eps=1e-5)": 4,
            "(x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()": 0,
        }.items():
            asker = self.with_input(f"return {norm}", x, inputs="torch.rand(2, 6, 4)")
            moved = asker.output("float64", perturb_seed=3, perturb_scale=0, function_scale=1e-9)
            units = moved.abs() / (3.6e-9 / 1e-5**0.5)
            torch.testing.assert_close((units - count / 2).abs(), torch.ones_like(units), rtol=1e-4, atol=0, msg=norm)

    def test_the_variance_of_constant_rows_moves_by_the_square_of_a_sums_rounding(self):
        for x, is_constant in ((torch.full((3, 1000), 3.6), True), (100 + torch.randn(3, 1000), False)):
            asker = self.with_input("return x.var(1)", x, inputs="torch.rand(3, 1000)")
            exact = asker.output("float64")
            moved = asker.output("float64", perturb_seed=3, perturb_scale=0, function_scale=1e-9)
            by_square = (500 * 1e-9 * x[:, 0].double()) ** 2
            if is_constant:
                torch.testing.assert_close(moved, by_square, rtol=0.01, atol=0)
            else:
                torch.testing.assert_close(moved, exact, rtol=3e-9, atol=0)

    def test_variances_under_moved_functions_are_those_of_torch(self):
        x = torch.rand(3, 5, 7)
        for source in (
            "x.var()",
            "x.var(1)",
            "x.std(-1, keepdim=True)",
            "torch.cat(torch.var_mean(x, (0, 2), correction=0))",
            "torch.cat(torch.std_mean(x, 1, correction=2, keepdim=True))",
            "F.batch_norm(x, None, None, training=True)",
            "F.group_norm(x, 5)",
            "F.layer_norm(x, (5, 7))",
        ):
            asker = self.with_input(f"return {source}", x, inputs="torch.rand(3, 5, 7)")
            exact = asker.output("float64")
            moved = asker.output("float64", perturb_seed=3, perturb_scale=0, function_scale=1e-13)
            torch.testing.assert_close(moved, exact, rtol=1e-10, atol=1e-10, msg=source)

    def test_eval_mode(self):
        asker = self.with_input("return x if self.training else -x", torch.rand(4, 6))
        declared = asker.output()
        self.assertTrue(torch.equal(asker.output(mode="eval"), -declared))


class DefinitionTest(OracleTest):
    def attached(self, source, inputs, outputs, statics=()):
        asker = self.start(source, kind="definition", entry="run")
        self.assertEqual(asker.answer, (0, ""))
        asker.attach({"inputs": inputs, "statics": list(statics), "outputs": outputs})
        return asker

    def test_statics_by_name_and_scalars(self):
        x, w = torch.rand(2, 16)
        source = "def run(w, n, x):\n    return (x * n).float() - w\n"
        inputs = [scalar("n", "int64", 3), of("x", x)]
        asker = self.attached(source, inputs, [of("y", x, "output")], [of("w", w, "static")])
        asker.tensor("inputs", 1).copy_(x)
        asker.tensor("statics", 0).copy_(w)
        self.assertTrue(torch.equal(asker.output(), x * 3 - w))
        self.assertTrue(torch.equal(asker.output("float64"), x.double() * 3 - w.double()))

    def test_a_dict_is_matched_by_name(self):
        x = torch.rand(4)
        outputs = [of("y", x, "output"), of("z", x, "output")]
        source = "def run(x):\n    return {'z': x + 1, 'y': x * 2}\n"
        asker = self.attached(source, [of("x", x)], outputs)
        asker.tensor("inputs", 0).copy_(x)
        for i, right in enumerate((x * 2, x + 1)):
            self.assertTrue(torch.equal(asker.output(i=i), right))
        asker = self.attached("def run(x):\n    return {'y': x}\n", [of("x", x)], outputs)
        self.assertEqual(asker.run(), (1, "the reference returned a dict of y, not of y, z"))

    def test_outputs_that_do_not_fit_are_refused(self):
        x = torch.rand(16)
        for body, text in (
            ("x.double()", "output y is float64, expected float32"),
            ("x[:3]", "output y has shape [3], expected [16]"),
            ("(x, x)", "returned 2 outputs, expected 1"),
            ("None", "returned NoneType"),
            ("x + undefined", "undefined"),
        ):
            with self.subTest(body):
                source = f"def run(x):\n    return {body}\n"
                asker = self.attached(source, [of("x", x)], [of("y", x, "output")])
                status, found = asker.run()
                self.assertEqual(status, 1)
                self.assertIn(text, found)

    def test_a_reference_that_changes_its_input_leaves_the_exchange_alone(self):
        x = torch.rand(16)
        source = "def run(x):\n    return x.mul_(2)\n"
        asker = self.attached(source, [of("x", x)], [of("y", x, "output")])
        asker.tensor("inputs", 0).copy_(x)
        self.assertTrue(torch.equal(asker.output(), x * 2))
        self.assertTrue(torch.equal(asker.tensor("inputs", 0), x))

    def test_small_floats_are_read_as_they_are(self):
        x = torch.tensor([1.0, 2.5, -0.5]).to(torch.float8_e4m3fn)
        source = "def run(x):\n    return x.to(torch.float32) * 2\n"
        asker = self.attached(source, [of("x", x)], [tensor_argument("y", "float32", [3], "output")])
        asker.tensor("inputs", 0).view(torch.uint8).copy_(x.view(torch.uint8))
        self.assertEqual(asker.output("float64").tolist(), [2.0, 5.0, -1.0])


class RequestTest(OracleTest):
    def test_bad_requests_are_told_apart_from_failures(self):
        asker = self.start(model("return x"))
        for body in (
            {"op": "nothing"},
            {"op": "generate"},
            {"op": "generate", "seed": 1},
            {"op": "run", "precision": "declared", "mode": "train"},
        ):
            self.assertEqual(asker.ask(body)[0], 2, body)
        asker.attach()
        asker.done({"op": "state", "seed": 1, "redraw": False})
        self.assertEqual(asker.run("float128")[0], 2)
        asker.done({"op": "generate", "seed": 1})

    def test_source_in_a_memory_file(self):
        source = (HEAD + model("return x")).encode()
        file = MemoryFile("source", len(source))
        self.addCleanup(file.close)
        file.map[:] = source
        asker = Asker.__new__(Asker)
        asker.leaf, asker.text = Leaf("oracle"), MemoryFile("text", 1 << 20)
        asker.exchange = MemoryFile("exchange", 4096)
        self.addCleanup(asker.close)
        body = {"op": "setup", "kind": "module", "entry": "Model", "source": None, "threads": 1}
        self.assertEqual(asker.ask(body, text=asker.text, source=file)[0], 0)
        self.assertEqual(asker.describe()["inputs"][0]["name"], "x")

    def test_it_ends_when_the_other_side_closes(self):
        asker = self.start(model("return x"))
        asker.leaf.control.close()
        self.assertEqual(asker.leaf.wait(), 0)


if __name__ == "__main__":
    unittest.main()
