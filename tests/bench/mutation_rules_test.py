#!/usr/bin/env python3
"""Each mutation rule of bench/ changes its example as expected, in one place, and what it makes of the honest kernels parses."""

import ast
import bisect
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import mutation_cuda
import mutation_rules
import mutation_triton

DEVICE_FILE = "@triton.jit\ndef kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):\n    {}\n"
HOST_FILE = "def run(x):\n    {}\n"
WHOLE_FILE = "{}\n"
# (rule, text, text with the rule's first edit)
DEVICE = [
    ("load without mask", "x = tl.load(x_ptr + i, mask=i < N, other=0.0)", "x = tl.load(x_ptr + i)"),
    ("store without mask", "tl.store(y_ptr + i, x, mask=i < N)", "tl.store(y_ptr + i, x)"),
    ("wrong padding value", 'x = tl.load(x_ptr + i, mask=i < N, other=float("-inf"))', "x = tl.load(x_ptr + i, mask=i < N, other=0.0)"),
    ("padding value missing", 'x = tl.load(x_ptr + i, mask=i < N, other=float("-inf"))', "x = tl.load(x_ptr + i, mask=i < N)"),
    ("mask one short", "tl.store(y_ptr + i, x, mask=i < N)", "tl.store(y_ptr + i, x, mask=i < N - 1)"),
    ("mask one long", "tl.store(y_ptr + i, x, mask=i < N)", "tl.store(y_ptr + i, x, mask=i <= N)"),
    ("mask without its first part", "mask = (i < M) & (j < N)", "mask = (j < N)"),
    ("mask without its second part", "mask = (i < M) & (j < N)", "mask = (i < M)"),
    ("and becomes or", "mask = (i < M) & (j < N)", "mask = ((i < M) | (j < N))"),
    ("comparison's edge", "y = tl.where(x > 0.0, x, 0.0)", "y = tl.where(x >= 0.0, x, 0.0)"),
    ("comparison reversed", "y = tl.where(x > 0.0, x, 0.0)", "y = tl.where(x < 0.0, x, 0.0)"),
    ("choices swapped", "y = tl.where(c, a, b)", "y = tl.where(c, b, a)"),
    ("choice dropped", "y = tl.where(c, a, b)", "y = a"),
    ("branch inverted", "if LAST:\n        y = x", "if not LAST:\n        y = x"),
    ("wrong axis", "y = tl.sum(x, axis=1)", "y = tl.sum(x, axis=0)"),
    ("wrong reduction", "y = tl.sum(x, axis=1)", "y = tl.max(x, axis=1)"),
    ("wrong broadcast", "y = a[:, None] * b", "y = a[None, :] * b"),
    ("transposition missing", "y = tl.dot(a, tl.trans(b))", "y = tl.dot(a, b)"),
    ("operands of a product swapped", "y = tl.dot(a, b)", "y = tl.dot(b, a)"),
    ("carried sum of a product dropped", "y = tl.dot(a, b, y)", "y = tl.dot(a, b)"),
    ("wrong axis of the grid", "row = tl.program_id(0)", "row = tl.program_id(1)"),
    ("block off by one", "row = tl.program_id(0)", "row = (tl.program_id(0) + 1)"),
    ("same block for all", "row = tl.program_id(0)", "row = (tl.program_id(0) * 0)"),
    ("lane off by one", "i = tl.arange(0, BLOCK)", "i = (tl.arange(0, BLOCK) + 1)"),
    ("stale index in odd lanes", "i = tl.arange(0, BLOCK)", "i = (tl.arange(0, BLOCK) // 2 * 2)"),
    ("last block is not written", "tl.store(y_ptr + i, x, mask=i < N)",
     "tl.store(y_ptr + i, x, mask=(i < N) & (tl.program_id(0) != tl.num_programs(0) - 1))"),
    ("only the first block is written", "tl.store(y_ptr + i, x)", "tl.store(y_ptr + i, x, mask=tl.program_id(0) == 0)"),
    ("store off by one", "tl.store(y_ptr + i, x)", "tl.store(y_ptr + i + 1, x)"),
    ("load off by one", "x = tl.load(x_ptr + i)", "x = tl.load(x_ptr + i + 1)"),
    ("stride missing", "x = tl.load(x_ptr + row * N)", "x = tl.load(x_ptr + row)"),
    ("stride one short", "x = tl.load(x_ptr + row * N)", "x = tl.load(x_ptr + row * (N - 1))"),
    ("swapped stride", "x = tl.load(x_ptr + row * N)", "x = tl.load(x_ptr + row * M)"),
    ("offset without its last term", "x = tl.load(x_ptr + i)", "x = tl.load(x_ptr)"),
    ("offset without its first term", "offset = row * N + i\n    x = tl.load(x_ptr + offset)", "offset = i\n    x = tl.load(x_ptr + offset)"),
    ("remainder for quotient", "h = i // W", "h = (i % W)"),
    ("offset in 32 bits", "row = tl.program_id(0).to(tl.int64)", "row = tl.program_id(0)"),
    ("wrong argument", "x = tl.load(x_ptr + i)", "x = tl.load(y_ptr + i)"),
    ("ignored argument", "x = tl.load(x_ptr + i)", "x = (tl.load(x_ptr + i) * 0)"),
    ("first turn skipped", "for k in range(0, N, BLOCK):\n        y = x", "for k in range(0 + BLOCK, N, BLOCK):\n        y = x"),
    ("truncated loop", "for k in range(0, N, BLOCK):\n        y = x", "for k in range(0, N - BLOCK, BLOCK):\n        y = x"),
    ("dropped tail", "for k in range(0, N, BLOCK):\n        y = x", "for k in range(0, N // BLOCK * BLOCK, BLOCK):\n        y = x"),
    ("every second turn", "for k in range(0, N, BLOCK):\n        y = x", "for k in range(0, N, 2 * BLOCK):\n        y = x"),
    ("elements counted twice", "for k in range(0, N, BLOCK):\n        y = x", "for k in range(0, N, BLOCK // 2):\n        y = x"),
    ("wrong accumulator type", "y = tl.zeros((BLOCK,), tl.float32)", "y = tl.zeros((BLOCK,), tl.bfloat16)"),
    ("wrong initial value", 'y = tl.full((BLOCK,), float("-inf"), tl.float32)', "y = tl.full((BLOCK,), 0.0, tl.float32)"),
    ("sum overwritten", "y += x", "y = x"),
    ("sum subtracts", "y += x", "y -= x"),
    ("term added twice", "y += x", "y += 2 * x"),
    ("statement dropped", "y += x", "pass"),
    ("atomic becomes a store", 'tl.atomic_add(y_ptr + i, x, mask=i < N, sem="relaxed")', "tl.store((y_ptr + i), x, mask=(i < N))"),
    ("atomic becomes load and store", 'tl.atomic_add(y_ptr + i, x, mask=i < N, sem="relaxed")',
     "tl.store((y_ptr + i), tl.load((y_ptr + i), mask=(i < N)) + x, mask=(i < N))"),
    ("barrier missing", "tl.debug_barrier()", "pass"),
    ("eps outside the root", "y = x * tl.rsqrt(variance + eps)", "y = x * (1.0 / (tl.sqrt(variance) + eps))"),
    ("eps dropped", "y = x * tl.rsqrt(variance + eps)", "y = x * tl.rsqrt(variance)"),
    ("biased variance", "y = total / (N - 1)", "y = total / (N)"),
    ("divided by one less", "y = total / N", "y = total / (N - 1)"),
    ("maximum is not subtracted", "y = tl.exp(x - top)", "y = tl.exp(x)"),
    ("factor dropped", "y = a * b", "y = a"),
    ("first factor dropped", "y = a * b", "y = b"),
    ("term dropped", "y = a + b", "y = a"),
    ("lost sign", "y = a - b", "y = (a + b)"),
    ("difference reversed", "y = a - b", "y = (b - a)"),
    ("quotient reversed", "y = a / b", "y = (b / a)"),
    ("division dropped", "y = a / b", "y = a"),
    ("sum for product", "y = a * b", "y = (a + b)"),
    ("constant off by a hundredth", "y = 0.5 * x", "y = 0.505 * x"),
    ("constant off in its fifth digit", "y = 0.5 * x", "y = 0.500015 * x"),
    ("constant's sign", "y = 0.5 * x", "y = (-0.5) * x"),
    ("zero becomes a small constant", "y = tl.where(c, x, 0.0)", "y = tl.where(c, x, 0.01)"),
    ("integer off by one", "y = x + 3", "y = x + 4"),
    ("wrong function", "y = tl.exp(x)", "y = tl.exp2(x)"),
    ("clamp or magnitude dropped", "y = tl.maximum(x, 0.0)", "y = x"),
    ("computed in 16 bits", "y = x.to(tl.float32)", "y = x"),
    ("operand rounded to bfloat16", "x = tl.load(x_ptr + i)", "x = tl.load(x_ptr + i).to(tl.bfloat16).to(tl.float32)"),
    ("result rounded to bfloat16", "tl.store(y_ptr + i, x)", "tl.store(y_ptr + i, x.to(tl.bfloat16))"),
    ("result rounded to float16", "tl.store(y_ptr + i, x)", "tl.store(y_ptr + i, x.to(tl.float16))"),
    ("result truncated", "tl.store(y_ptr + i, x)", "tl.store(y_ptr + i, x.to(tl.int32))"),
    ("product in TF32", 'y = tl.dot(a, b, input_precision="ieee")', 'y = tl.dot(a, b, input_precision="tf32")'),
]
HOST = [
    ("grid rounded down", "kernel[(triton.cdiv(n, 64),)](x, y)", "kernel[(max(1, n // 64),)](x, y)"),
    ("grid one short", "kernel[(M, B)](x, y)", "kernel[(max(1, M - 1), B)](x, y)"),
    ("grid of one", "kernel[(M, B)](x, y)", "kernel[(1, B)](x, y)"),
    ("grid one long", "grid = (M, B)", "grid = (M + 1, B)"),
    ("arguments swapped", "kernel[(M,)](x, y)", "kernel[(M,)](y, x)"),
    ("stride of another axis", "s = x.stride(0)", "s = x.stride(1)"),
    ("sizes swapped", "M, N = x.shape", "N, M = x.shape"),
    ("constant of the launch off", "kernel[(M,)](x, y, 0.001)", "kernel[(M,)](x, y, 0.00125)"),
    ("integer of the launch off by one", "kernel[(M,)](x, y, PADDING=1, num_warps=4)", "kernel[(M,)](x, y, PADDING=2, num_warps=4)"),
    ("block too small", "kernel[(M,)](x, y, BLOCK=64)", "kernel[(M,)](x, y, BLOCK=32)"),
    ("block too large", "kernel[(M,)](x, y, BLOCK=64)", "kernel[(M,)](x, y, BLOCK=128)"),
    ("zeros become empty", "y = torch.zeros(M)", "y = torch.empty(M)"),
    ("in place of an input", "y = torch.empty_like(x)", "y = x"),
    ("wrong type of the result", "y = torch.empty_like(x)", "y = torch.empty_like(x, dtype=torch.float64)"),
]
WHOLE = [
    ("result is not zeroed between trials", '@triton.autotune(configs=[], key=["N"], reset_to_zero=["y_ptr"])\n@triton.jit\ndef kernel(y_ptr, N):\n    pass',
     '@triton.autotune(configs=[], key=["N"])\n@triton.jit\ndef kernel(y_ptr, N):\n    pass'),
]
CUDA = [
    ("mask one short", "if (i < n) y[i] = 0;", "if (i < n - 1) y[i] = 0;"),
    ("mask one long", "if (i < n) y[i] = 0;", "if (i <= n) y[i] = 0;"),
    ("store without mask", "if (i < n) y[i] = 0;", "if (true) y[i] = 0;"),
    ("load without mask", "v = i < N ? x[i] : 0.0f;", "v = x[i];"),
    ("mask without its first part", "if (i < n && j < m) y[i] = 0;", "if (j < m) y[i] = 0;"),
    ("mask without its second part", "if (i < n && j < m) y[i] = 0;", "if (i < n) y[i] = 0;"),
    ("and becomes or", "if (i < n && j < m) y[i] = 0;", "if (i < n || j < m) y[i] = 0;"),
    ("comparison's edge", "if (value > highest) at = i;", "if (value >= highest) at = i;"),
    ("comparison reversed", "if (value > highest) at = i;", "if (value < highest) at = i;"),
    ("wrong reduction", "v = fmaxf(a, b);", "v = fminf(a, b);"),
    ("wrong padding value", "v = i < N ? x[i] : 0.0f;", "v = i < N ? x[i] : 1.0f;"),
    ("barrier missing", "__syncthreads(); v = 0;", " v = 0;"),
    ("shuffles begin too near", "for (int offset = 16; offset > 0; offset /= 2) {}", "for (int offset = 8; offset > 0; offset /= 2) {}"),
    ("shuffles end too early", "for (int offset = 16; offset > 0; offset /= 2) {}", "for (int offset = 16; offset > 1; offset /= 2) {}"),
    ("shuffle of another kind", "v = __shfl_xor_sync(~0u, v, 1);", "v = __shfl_up_sync(~0u, v, 1);"),
    ("shared slot for all", "parts[threadIdx.x / 32] = v;", "parts[0] = v;"),
    ("warps miscounted", "v = threadIdx.x % 32 < blockDim.x / 32 ? 1 : 0;", "v = threadIdx.x % 32 < (blockDim.x / 32 - 1) ? 1 : 0;"),
    ("wrong initial value", "float sum = 0.0f;", "float sum = 1.0f;"),
    ("sum overwritten", "sum += x[i];", "sum = x[i];"),
    ("sum subtracts", "sum += x[i];", "sum -= x[i];"),
    ("term added twice", "sum += x[i];", "sum += 2.0f * (x[i]);"),
    ("every second turn", "for (; i < n; i += 256) {}", "for (; i < n; i += 2 * 256) {}"),
    ("truncated loop", "for (int k = 0; k < 4; ++k) {}", "for (int k = 0; k < 4 - 1; ++k) {}"),
    ("first turn skipped", "for (int k = 0; k < 4; ++k) {}", "for (int k = 1; k < 4; ++k) {}"),
    ("lane off by one", "int i = threadIdx.x;", "int i = (threadIdx.x + 1);"),
    ("stale index in odd lanes", "int i = threadIdx.x;", "int i = (threadIdx.x & ~1u);"),
    ("wrong axis of the grid", "row = blockIdx.x;", "row = blockIdx.y;"),
    ("same block for all", "row = blockIdx.x;", "row = 0;"),
    ("block off by one", "row = blockIdx.x;", "row = (blockIdx.x + 1);"),
    ("swapped stride", "v = x[row * n + i];", "v = x[row * m + i];"),
    ("stride one short", "v = x[row * n + i];", "v = x[row * (n - 1) + i];"),
    ("wrong broadcast", "v = tile[threadIdx.x][threadIdx.y + k];", "v = tile[threadIdx.y + k][threadIdx.x];"),
    ("store off by one", "y[i] = v;", "y[i + 1] = v;"),
    ("eps dropped", "v = rsqrtf(s / N + 1e-5f);", "v = rsqrtf(s / N);"),
    ("eps outside the root", "v = rsqrtf(s / N + 1e-5f);", "v = (1.0f / (sqrtf(s / N) + 1e-5f));"),
    ("constant off by a hundredth", "v = 0.5f * x;", "v = (1.01f * 0.5f) * x;"),
    ("constant off in its fifth digit", "v = 0.5f * x;", "v = (1.00003f * 0.5f) * x;"),
    ("constant's sign", "v = 0.5f * x;", "v = (-0.5f) * x;"),
    ("maximum is not subtracted", "v = expf(row[i] - highest);", "v = expf(row[i]);"),
    ("lost sign", "v = expf(-x);", "v = expf(x);"),
    ("difference reversed", "v = x[i] - mean;", "v = mean - x[i];"),
    ("division dropped", "v = x / sum;", "v = x;"),
    ("divided by one less", "v = x / N;", "v = x / (N - 1);"),
    ("ignored argument", "v = x * weight[i];", "v = x;"),
    ("factor dropped", "v = x * scale;", "v = x;"),
    ("wrong function", "v = expf(x);", "v = exp2f(x);"),
    ("fast function", "v = expf(x);", "v = __expf(x);"),
    ("result rounded to bfloat16", "y[i] = v;", "y[i] = __uint_as_float(__float_as_uint(v) & 0xffff0000u);"),
    ("result truncated", "y[i] = v;", "y[i] = (int)(v);"),
    ("only the first block is written", "y[i] = v;", "if (blockIdx.x == 0) y[i] = v;"),
    ("last block is not written", "y[i] = v;", "if (blockIdx.x + 1 != gridDim.x) y[i] = v;"),
    ("grid rounded down", '// launch: {"kernel": "k", "grid": ["ceil_div(n, 64)"], "block": [256]}',
     '// launch: {"kernel": "k", "grid": ["max(1, (n) / 64)"], "block": [256]}'),
    ("grid one short", '// launch: {"kernel": "k", "grid": ["M"], "block": [256]}',
     '// launch: {"kernel": "k", "grid": ["max(1, M - 1)"], "block": [256]}'),
    ("grid of one", '// launch: {"kernel": "k", "grid": ["M"], "block": [256]}', '// launch: {"kernel": "k", "grid": [1], "block": [256]}'),
    ("grid one long", '// launch: {"kernel": "k", "grid": ["M"], "block": [256]}',
     '// launch: {"kernel": "k", "grid": ["M + 1"], "block": [256]}'),
    ("block too small", '// launch: {"kernel": "k", "grid": ["M"], "block": [256]}', '// launch: {"kernel": "k", "grid": ["M"], "block": [128]}'),
    ("block too large", '// launch: {"kernel": "k", "grid": ["M"], "block": [256]}', '// launch: {"kernel": "k", "grid": ["M"], "block": [512]}'),
]
EXAMPLES = [("triton", DEVICE_FILE, DEVICE), ("triton", HOST_FILE, HOST), ("triton", WHOLE_FILE, WHOLE), ("cuda", WHOLE_FILE, CUDA)]


def honest():
    for language, suffix in (("triton", "py"), ("cuda", "cu")):
        for file in sorted((ROOT / "tests/honest" / language).glob(f"*.{suffix}")):
            yield language, file


class MutationRules(unittest.TestCase):
    def test_each_rule_changes_its_example_as_expected(self):
        for language, file, table in EXAMPLES:
            for rule, before, after in table:
                with self.subTest(rule=rule, language=language):
                    texts = [text for name, _, text, _ in mutation_rules.mutants(file.format(before), language) if name == rule]
                    self.assertTrue(texts, "the rule changes nothing")
                    self.assertEqual(texts[0], file.format(after))

    def test_each_rule_has_an_example(self):
        for language, rules in (("triton", mutation_triton.RULES), ("cuda", mutation_cuda.RULES)):
            shown = {rule for other, _, table in EXAMPLES if other == language for rule, _, _ in table}
            self.assertEqual(shown, set(rules))

    def test_there_are_enough_rules_and_kernels(self):
        self.assertGreaterEqual(len(mutation_rules.rule_names()), 60)
        self.assertGreaterEqual(sum(1 for _ in honest()), 100)
        self.assertLessEqual(mutation_rules.RACES, set(mutation_rules.rule_names()))

    def test_mutants_of_honest_kernels_parse_and_differ_in_one_place(self):
        used = set()
        for number, (language, file) in enumerate(honest()):
            text = file.read_text()
            mutants = mutation_rules.mutants(text, language)
            self.assertGreaterEqual(len({rule for rule, *_ in mutants}), 5, file)
            self.assertEqual(len({mutated for _, _, mutated, _ in mutants} | {text}), len(mutants) + 1, file)
            for rule, _, mutated, line in mutants:
                used.add((language, rule))
                head, tail = common_ends(text, mutated)
                self.assertLessEqual(text[head:len(text) - tail].count("\n"), 3, (file, rule))
                self.assertLessEqual(line, text.count("\n") + 1, (file, rule))
                if language == "triton" and number % 4 == 0:
                    ast.parse(mutated, f"{file.name}: {rule}")
        for language, rules in (("triton", mutation_triton.RULES), ("cuda", mutation_cuda.RULES)):
            self.assertEqual([rule for rule in rules if (language, rule) not in used], [], "these rules change no honest kernel")


def common_ends(a, b):
    """Characters that two texts share at their begin and, of what is left, at their end."""
    shorter = min(len(a), len(b))
    head = bisect.bisect_left(range(1, shorter + 1), True, key=lambda n: a[:n] != b[:n])
    tail = bisect.bisect_left(range(1, shorter - head + 1), True, key=lambda n: a[-n:] != b[-n:])
    return head, tail


if __name__ == "__main__":
    unittest.main()
