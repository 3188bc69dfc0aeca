# What of Triton candidates becomes a launch plan, and what is refused by name. Triton compiles here; nothing is launched.
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

import support

HAS_TRITON = importlib.util.find_spec("triton") is not None
assert HAS_TRITON or "KW_REQUIRE_TRITON" not in os.environ, "triton is not installed"

IMPORTS = "import torch\nimport triton\nimport triton.language as tl\n"
ADD = """
@triton.jit
def add(x, y, o, n, s, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at, mask=at < n) * s + tl.load(y + at, mask=at < n), mask=at < n)
"""
VECTORS = {"inputs": {"x": ("float32", [1000]), "y": ("float32", [1000])}, "outputs": {"o": ("float32", [1000])}}
MATMUL = """
@triton.jit
def matmul(a, b, c, K, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, 64)
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for at in range(0, K, 64):
        sums = tl.dot(tl.load(a + m[:, None] * K + at + k), tl.load(b + (at + k[:, None]) * K + n), sums)
    tl.store(c + m[:, None] * K + n, sums.to(tl.float16))

def run(a, b):
    c = torch.empty_like(a)
    matmul[(4, 4)](a, b, c, 512, BLOCK=128, num_warps=8, num_stages=4)
    return c
"""
DESCRIPTORS = """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def matmul(a, b, c, K, BLOCK: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for at in range(0, K, 64):
        sums = tl.dot(a.load([m, at]), b.load([at, n]), sums)
    c.store([m, n], sums.to(tl.float16))

def run(a, b):
    c = torch.empty_like(a)
    given = [TensorDescriptor.from_tensor(t, list(block)) for t, block in ((a, (128, 64)), (b, (64, 128)), (c, (128, 128)))]
    matmul[(4, 4)](*given, 512, BLOCK=128, num_warps=8, num_ctas=2)
    return c
"""
SCRATCH = """
triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))

@triton.jit
def double(x, y, M, N, flag, wide, half):
    at = tl.make_tensor_descriptor(x, [M, N], [N, 1], [32, 32])
    to = tl.make_tensor_descriptor(y, [M, N], [N, 1], [32, 32])
    if flag:
        to.store([0, wide.to(tl.int32)], at.load([0, 0]) * half)

def run(x):
    y = torch.empty_like(x)
    double[(2, 3)](x, y, 512, 512, True, 2**40, 0.1)
    return y
"""
SQUARES = {name: ("float16", [512, 512]) for name in "abc"}


def vectors(body, head=""):
    """A candidate that adds vectors; body: the lines of run(x, y)."""
    lines = "".join(f"    {line}\n" for line in body)
    return {**VECTORS, "source": f"{IMPORTS}{ADD}{head}\ndef run(x, y):\n{lines}"}


MODULE = """
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(1000))
        self.table = torch.arange(1000.0)

    def forward(self, x):
        o = torch.empty_like(x)
        add[(4,)](x, self.w, o, 1000, 1.0, BLOCK=256)
        add[(4,)](x, self.table, o, 1000, 1.0, BLOCK=256)
        return o
"""
TUNED = """
@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=2), triton.Config({"BLOCK": 256})], key=["n"], reset_to_zero=["o"])
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def accumulate(x, o, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.atomic_add(o + at, tl.load(x + at))
    else:
        tl.atomic_add(o + at, tl.load(x + at, mask=at < n), mask=at < n)
"""
LAUNCH = "add[(triton.cdiv(1000, 256),)](x, y, o, 1000, 0.5, BLOCK=256)"
CASES = {
    "plain": vectors(["o = torch.empty_like(x)", LAUNCH, "return o"]),
    "passing": {**VECTORS, "source": f"{IMPORTS}{ADD}\ndef run(x, y, o):\n    {LAUNCH}\n"},
    "matmul": {"inputs": {"a": SQUARES["a"], "b": SQUARES["b"]}, "outputs": {"c": SQUARES["c"]}, "source": IMPORTS + MATMUL},
    "descriptors": {"inputs": {"a": SQUARES["a"], "b": SQUARES["b"]}, "outputs": {"c": SQUARES["c"]}, "source": IMPORTS + DESCRIPTORS},
    "scratch": {"inputs": {"x": ("float32", [512, 512])}, "outputs": {"y": ("float32", [512, 512])}, "source": IMPORTS + SCRATCH},
    "steps": vectors(
        ["t = torch.full((1000,), 2.0, device='cuda')", "u = y.clone()", "o = torch.zeros(2000, device='cuda')[:1000]",
         "add[(4,)](t, u, o, 1000, float('-inf'), BLOCK=256)", "add[(0,)](t, u, o, 1000, 1.0, BLOCK=256)", "return o"]
    ),
    "kernels": vectors(
        ["t = x.view(10, 100).t().contiguous().view(-1)", "u = y.to(torch.float16)", "o = torch.empty(1000, device='cuda')",
         "o[::2] = 3", "w = torch.full((1000,), 7, device='cuda')", "add[(4,)](t, u, o, 1000, 1.0, BLOCK=256)", "return o"]
    ),
    "constants": vectors(
        ["o = torch.empty_like(x)", "add[(4,)](x[8:], K, o, 1, 3, BLOCK=256)", "return {'o': o}"], "K = torch.ones(1000, device='cuda')"
    ),
    "workspace": vectors(
        ["o = torch.empty_like(x)", "if not KEPT: KEPT.extend([torch.empty_like(x), torch.zeros_like(x)])",
         "add[(4,)](x, KEPT[1], KEPT[0], 1000, 1.0, BLOCK=256)", "add[(4,)](KEPT[0], y, o, 1000, 1.0, BLOCK=256)", "return o"],
        "KEPT = []",
    ),
    "module": {
        "kind": "module", "inputs": {"x": ("float32", [1000])}, "statics": {"w": ("float32", [1000])},
        "outputs": VECTORS["outputs"], "source": IMPORTS + ADD + MODULE,
    },
    "tuned": vectors(
        ["o = torch.zeros_like(x)", "accumulate[lambda meta: (triton.cdiv(1000, meta['BLOCK']),)](x, o, 1000)", "return o"], TUNED
    ),
    **{
        name: {**vectors(["o = torch.zeros_like(x)", *calls, "return o"], TUNED), "choices": choices}
        for name, choices, calls in (
            ("tuned otherwise", [1], ["accumulate[lambda meta: (triton.cdiv(1000, meta['BLOCK']),)](x, o, 1000)"]),
            ("tuned beyond", [2], ["accumulate[lambda meta: (triton.cdiv(1000, meta['BLOCK']),)](x, o, 1000)"]),
            ("tuned twice", [1], [f"accumulate[lambda meta: (4,)](x, o, {n})" for n in (999, 1000)]),
        )
    },
    "computes": vectors(["o = torch.empty_like(x)", "return o + 1"]),
    "reads": vectors(["o = torch.empty_like(x)", "add[(4,)](x, y, o, int(x[0]), 0.5, BLOCK=256)", "return o"]),
    "caught": vectors(["try: n = x.sum()", "except BaseException: n = 0", "o = torch.empty_like(x)", LAUNCH, "return o"]),
    "looks": vectors(["import ctypes", "return ctypes.string_at(x.data_ptr(), 4)"]),
    "addresses": vectors(["o = torch.empty_like(x)", "add[(4,)](x, y, o, x.data_ptr() % 4096, 0.5, BLOCK=256)", "return o"]),
    "calls": vectors(["o = torch.empty_like(x)", "N.append(0)", "add[(len(N),)](x, y, o, 1000, 0.5, BLOCK=256)", "return o"], "N = []"),
    "cached": vectors(
        ["o = torch.empty_like(x)", "if not KEPT: KEPT.append(torch.empty_like(x)); add[(4,)](x, y, KEPT[0], 1000, 0.5, BLOCK=256)",
         "add[(4,)](KEPT[0], y, o, 999, 0.5, BLOCK=256)", "return o"],
        "KEPT = []",
    ),
    "numbers": vectors(
        ["o = torch.empty_like(x)", "t = torch.tensor([1.0] * 1000, device='cuda')", "add[(4,)](t, y, o, 1000, 0.5, BLOCK=256)", "return o"]
    ),
    "input": vectors(["x.zero_()", "o = torch.empty_like(x)", LAUNCH, "return o"]),
    "nothing": vectors(["return x.clone()"]),
    "shape": vectors(["o = torch.empty(999, device='cuda')", LAUNCH, "return o"]),
    "compile": vectors(["o = torch.empty_like(x)", "add[(4,)](x, y, o, 1000, 0.5, BLOCK=250)", "return o"]),
}  # fmt: skip


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class Recorder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "record_cases.py")
        folder = tempfile.TemporaryDirectory(prefix="kw-recorder-")
        cls.addClassCleanup(folder.cleanup)
        environment = {**os.environ, "PYTHONPATH": support.PYTHON_FOLDER, "PYTHONDONTWRITEBYTECODE": "1"}
        environment.update(TMPDIR=folder.name, TRITON_CACHE_DIR=os.path.join(folder.name, "triton"))  # most kernels are the same
        done = subprocess.run([sys.executable, script], input=json.dumps(CASES), env=environment, capture_output=True, text=True,
                              timeout=900)  # fmt: skip
        assert done.returncode == 0, done.stderr
        cls.results = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}

    def plan(self, name):
        result = self.results[name]
        self.assertEqual(result["status"], "built", result["log"])
        return result["plan"]

    def launches(self, name):
        return [step["launch"] for step in self.plan(name)["steps"] if "launch" in step]

    def assert_refused(self, name, *words):
        self.assertEqual(self.results[name]["status"], "refused", self.results[name]["log"])
        for word in words:
            self.assertIn(word, self.results[name]["log"])

    def test_a_launch_has_grid_options_and_arguments_as_triton_packs_them(self):
        [launch] = self.launches("plain")
        given = launch["arguments"]
        rest = {key: value for key, value in launch.items() if key != "arguments"}
        self.assertEqual(rest, {"module": 0, "function": "add", "grid": [4, 1, 1], "block": [128], "shared_bytes": 0})
        self.assertEqual(given[:3], [{"input": 0}, {"input": 1}, {"output": 0}])
        self.assertEqual(given[3:5], [{"scalar": "int32", "value": 1000}, {"scalar": "float32", "value": 0.5}])
        self.assertEqual(given[5:], [{"null": True}, {"null": True}])
        self.assertEqual(self.plan("passing")["steps"], self.plan("plain")["steps"])

    def test_shared_memory_and_warps_are_the_compilers(self):
        [launch] = self.launches("matmul")
        self.assertGreater(launch["shared_bytes"], 48 * 1024)
        self.assertEqual(launch["block"], [256])
        self.assertEqual(self.results["matmul"]["contents"], [self.plan("matmul")["modules"][0]["bytes"]])

    def test_a_descriptor_of_the_hosts_is_a_tensor_map_with_its_shape_and_strides(self):
        [launch] = self.launches("descriptors")
        self.assertEqual((launch["grid"], launch["cluster"], launch["spread_clusters"]), ([8, 4, 1], [2, 1, 1], True))
        first = launch["arguments"][0]["tensor_map"]
        self.assertEqual((first["input"], first["type"], first["sizes"], first["strides"]), (0, "float16", [512, 512], [1024]))
        self.assertEqual((first["box"][0], first["swizzle"], first["promotion"], first["nan_fill"]), (64, 3, 2, False))
        self.assertEqual([one["value"] for one in launch["arguments"][1:5]], [512, 512, 512, 1])
        self.assertEqual([one["scalar"] for one in launch["arguments"][1:5]], ["int32", "int32", "int64", "int64"])
        self.assertEqual(launch["arguments"][10]["tensor_map"]["output"], 0)
        self.assertEqual(len(launch["arguments"]), 3 * 5 + 1 + 2)

    def test_scratch_is_for_every_program_and_numbers_have_their_types(self):
        [launch] = self.launches("scratch")
        self.assertEqual(launch["arguments"][4], {"scalar": "int8", "value": 1})
        self.assertEqual(launch["arguments"][5], {"scalar": "int64", "value": 2**40})
        self.assertEqual(launch["arguments"][6]["scalar"], "float32")
        self.assertAlmostEqual(launch["arguments"][6]["value"], 0.1, delta=1e-8)
        self.assertEqual(launch["arguments"][7:], [{"scratch": 0}, {"null": True}])
        [memory] = self.plan("scratch")["scratch"]
        self.assertEqual((memory["bytes"] % 6, memory["bytes"] > 0), (0, True))

    def test_fills_and_copies_are_steps(self):
        plan = self.plan("steps")
        kinds = [next(iter(step)) for step in plan["steps"]]
        self.assertEqual(kinds, ["fill", "copy", "fill", "launch", "copy"])
        self.assertEqual(plan["steps"][0]["fill"], {"scratch": 0, "bytes": 4000, "width": 4, "value": 0x40000000})
        self.assertEqual(plan["steps"][1]["copy"], {"from": {"input": 1}, "to": {"scratch": 1}, "bytes": 4000})
        # No number of JSON's: its bits. A result that is a part of larger memory is copied.
        self.assertEqual(plan["steps"][3]["launch"]["arguments"][4], {"scalar": "int32", "value": -(1 << 23)})
        self.assertEqual(plan["steps"][4]["copy"], {"from": {"scratch": 2}, "to": {"output": 0}, "bytes": 4000})

    def test_other_layouts_and_types_are_copied_and_filled_by_kernels_of_ours(self):
        names = [launch["function"] for launch in self.launches("kernels")]
        self.assertEqual(names, ["kw_copy", "kw_copy", "kw_fill", "kw_fill", "add"])
        transpose, convert, odd, wide, add = self.launches("kernels")
        self.assertEqual([transpose["arguments"][:2], convert["arguments"][:2]], [[{"scratch": 0}, {"input": 0}], [{"scratch": 1}, {"input": 1}]])
        self.assertEqual((odd["arguments"][0], wide["arguments"][0]), ({"output": 0}, {"scratch": 2}))
        self.assertEqual(add["arguments"][:3], [{"scratch": 0}, {"scratch": 1}, {"output": 0}])

    def test_what_was_made_before_is_a_constant_and_one_is_none(self):
        [launch] = self.launches("constants")
        self.assertEqual(self.plan("constants")["constants"][0]["bytes"], 4000)
        # Triton makes a constant of the 1; the 3 is a whole number here.
        self.assertEqual(launch["arguments"][:4], [{"input": 0, "offset": 32}, {"constant": 0}, {"output": 0}, {"scalar": "int32", "value": 3}])

    def test_a_modules_state_are_the_statics_and_its_other_tensors_constants(self):
        first, second = self.launches("module")
        self.assertEqual(first["arguments"][1], {"static": 0})
        self.assertEqual(second["arguments"][1], {"constant": 0})

    def test_trials_of_an_autotuner_are_no_part_of_a_call(self):
        self.assertEqual([next(iter(step)) for step in self.plan("tuned")["steps"]], ["fill", "launch"])
        [choice] = self.plan("tuned")["choices"]
        self.assertEqual((choice["kernel"], choice["configurations"], choice["chosen"]), ("accumulate", 2, 0))
        self.assertIn("BLOCK: 128, num_warps: 2", choice["text"])
        self.assertNotIn("choices", self.plan("workspace"))
        [launch] = self.launches("tuned")
        self.assertEqual((launch["grid"], launch["block"]), ([8, 1, 1], [64]))  # the first configuration

    def test_an_autotuner_takes_the_configuration_that_is_asked_for(self):
        self.assertEqual(self.plan("tuned otherwise")["choices"][0]["chosen"], 1)
        [launch] = self.launches("tuned otherwise")
        self.assertEqual((launch["grid"], launch["block"]), ([4, 1, 1], [128]))
        self.assertEqual(self.results["tuned beyond"]["status"], "failed")
        self.assertIn("there is no configuration 2 of 2", self.results["tuned beyond"]["log"])

    def test_each_key_of_each_autotuner_is_a_choice_and_the_rule_takes_those_that_are_not_given(self):
        choices = self.plan("tuned twice")["choices"]
        self.assertEqual([(one["kernel"], one["chosen"]) for one in choices], [("accumulate", 1), ("accumulate", 1)])
        self.assertEqual([launch["block"] for launch in self.launches("tuned twice")], [[128], [128]])

    def test_memory_that_calls_share_is_scratch_and_zero_where_it_was(self):
        plan = self.plan("workspace")
        self.assertEqual([(one["bytes"], one["zeroed"]) for one in plan["scratch"]], [(4000, True), (4000, False)])

    def test_what_computes_or_reads_is_named_with_its_line(self):
        self.assert_refused("computes", "aten.add computes outside of kernels (k.py:12)")
        self.assert_refused("reads", "reads a value (k.py:12)")
        self.assert_refused("caught", "aten.sum")
        self.assert_refused("nothing", "a call launches no kernel")
        self.assert_refused("numbers", "the host's numbers")
        self.assert_refused("input", "a fill writes to an input (k.py:11)")

    def test_a_look_into_a_tensors_memory_ends_the_process(self):
        self.assert_refused("looks", "k.py")
        self.assertEqual(self.results["looks"]["exit_code"], -11)

    def test_calls_that_differ_are_refused(self):
        self.assert_refused("addresses", "two calls launch different things")
        self.assert_refused("calls", "two calls launch different things")
        self.assert_refused("cached", "kernels of an earlier call have written")

    def test_a_mistake_is_the_candidates(self):
        for name, words in (("shape", "output 0 is [999]"), ("compile", "power of 2")):
            self.assertEqual(self.results[name]["status"], "failed", name)
            self.assertIn(words, self.results[name]["log"])


if __name__ == "__main__":
    unittest.main()
