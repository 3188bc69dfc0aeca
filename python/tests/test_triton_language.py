# What Triton's compiler takes and a GPU does, in the interpreter: constants, operators, narrow floats, memory, tuning.
import textwrap
import unittest

from test_triton import HAS_TRITON, interpreter_script, run

ANY = """
from triton_support import launches
class Everything(set):
    def __contains__(self, item):
        return True
interpreter._compiled = Everything()
"""


def lines_of(body, **settings):
    return run(interpreter_script(textwrap.dedent(ANY) + textwrap.dedent(body), **settings))


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class Language(unittest.TestCase):
    def test_arguments_and_constants_are_what_the_compiler_makes_of_them(self):
        lines = lines_of("""
            @triton.jit
            def start_of(kind, size):
                kind_ = kind.value
                if kind_.is_floating() and size.value == 8:
                    start: tl.constexpr = float("-inf")
                    return start
                else:
                    start: tl.constexpr = 0
                    return start

            @tl.constexpr
            def doubled(number):
                return number * 2

            @triton.jit
            def kernel(x, y, factor, flag, n, BLOCK: tl.constexpr):
                at = tl.arange(0, BLOCK)
                factor = factor.to(tl.float32)
                largest = tl.max(tl.load(x + at, mask=at < n, other=start_of(x.type.element_ty, 8)), 0)
                if flag and not (n > 1000 or largest > 1e6):
                    tl.store(y, largest * factor + tl.cast(n, tl.float32) + doubled(BLOCK) + BLOCK.value)

            y = torch.zeros(1)
            kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](-torch.arange(1.0, 6.0), y, 0.5, True, 5, BLOCK=8)
            print(y.item())
        """)
        self.assertEqual(lines, [str(-0.5 + 5 + 16 + 8)])

    def test_and_or_not_between_blocks(self):
        lines = lines_of("""
            @triton.jit
            def kernel(x, y, m, n, FLAG: tl.constexpr):
                rows, columns = tl.arange(0, 4)[:, None], tl.arange(0, 8)[None, :]
                inside = rows < m and columns < n
                outside = not inside or rows == 0
                value = tl.load(x + rows * 8 + columns, mask=inside and FLAG, other=-1.0)
                tl.store(y + rows * 8 + columns, tl.where(outside, 10.0, value))

            x, y = torch.arange(32.0), torch.zeros(4, 8)
            kernel[(1,)](x, y, 3, 5, True)
            rows, columns = torch.arange(4)[:, None], torch.arange(8)[None, :]
            print(torch.equal(y, torch.where(~((rows < 3) & (columns < 5)) | (rows == 0), 10.0, x.view(4, 8))))
        """)
        self.assertEqual(lines, ["True"])

    def test_builtins_under_other_names(self):
        lines = lines_of("""
            from triton.language import load, store, arange
            fetch, make, span = tl.load, tl.make_tensor_descriptor, tl.range

            @triton.jit
            def kernel(x, y):
                at = arange(0, 64)
                total = fetch(x) * 0
                for i in span(0, 3):
                    total += load(x + i)
                tile = make(x, [8, 8], [8, 1], [8, 8]).load([0, 0])
                store(y + at, tl.reshape(tile, (64,)) + total)

            x, y = torch.arange(64.0), torch.zeros(64)
            try:
                kernel[(1,)](x, y)
            except Exception as error:
                print("no allocator was set" in str(error))
            triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
            kernel[(1,)](x, y)
            print(torch.equal(y, x + 3))
        """)
        self.assertEqual(lines, ["True", "True"])

    def test_names_of_builtins_have_one_identity_in_both_roles(self):
        script = """
            import torch, triton, triton.language as tl
            from triton.language import load
            from triton_support import launches, host
            import os
            if "TRITON_INTERPRET" in os.environ:
                from triton_support.interpret import Interpreter
                Interpreter({"compiled": [], "arch": 90})
            fetch = tl.load

            @tl.constexpr
            def doubled(n):
                return n * 2

            @triton.jit
            def kernel(x, n: tl.constexpr):
                for i in tl.static_range(0, n):
                    tl.static_assert(n > 0)
                    tl.store(x + i, load(x) + fetch(x) + tl.sum(tl.load(x + tl.arange(0, 4)), 0) + tl.math.exp(0.0) + doubled(n))

            print(launches.identify(kernel, (torch.zeros(4), 3), {}).identity.hex())
        """
        self.assertEqual(run(script), run(script, interpret=False))

    def test_warmup_run_and_what_tutorials_read(self):
        lines = lines_of("""
            @triton.jit
            def twice(x, y, BLOCK: tl.constexpr, STAGES: tl.constexpr):
                at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                tl.store(y + at, tl.load(x + at) * 2)

            x, y = torch.arange(32.0), torch.zeros(32)
            kernel = twice.warmup(x, y, BLOCK=16, STAGES=2, num_warps=8, grid=(1,))
            kernel._init_handles()
            print(kernel.metadata.num_warps, kernel.n_regs > 0, kernel.metadata.shared > 0)
            kernel[(2, 1, 1)](x, y, 16, 2)
            print(torch.equal(y, x * 2))
            twice.run(y, y, BLOCK=16, STAGES=1, grid=(2,), warmup=False)
            print(torch.equal(y, x * 4), [k.launches for k in interpreter.launches.kernels.values()])
        """)
        self.assertEqual(lines, ["8 True True", "True", "True [1, 1]"])

    def test_functions_of_single_elements(self):
        lines = lines_of("""
            @triton.jit
            def selu(x, alpha):
                if x > 0:
                    return x
                else:
                    return alpha * (tl.exp(x) - 1)

            @triton.jit
            def kernel(x, y):
                at = tl.arange(0, 8)
                tl.store(y + at, tl.map_elementwise(selu, tl.load(x + at), 2.0))

            x, y = torch.linspace(-2, 2, 8), torch.zeros(8)
            kernel[(1,)](x, y)
            print((y - torch.where(x > 0, x, 2 * (x.exp() - 1))).abs().max().item() < 1e-6)
        """)
        self.assertEqual(lines, ["True"])

    def test_files_of_torch_inductor(self):
        lines = lines_of("""
            from torch._inductor.runtime.triton_heuristics import grid
            from torch._inductor.runtime import triton_heuristics
            from torch._C import _cuda_getCurrentRawStream as get_raw_stream
            empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cuda
            reinterpret_tensor = torch._C._dynamo.guards._reinterpret_tensor

            @triton.jit
            def plus(x, y, xnumel, XBLOCK: tl.constexpr):
                at = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
                tl.store(y + at, tl.load(x + at, at < xnumel) + 1, at < xnumel)

            decorated = triton_heuristics.pointwise(size_hints=[128], triton_meta={}, inductor_meta={})(plus)

            with torch.cuda._DeviceGuard(0):
                torch.cuda.set_device(0)
                x = torch.arange(100.0)
                y = empty_strided_cuda((10, 10), (10, 1), torch.float32)
                plus[grid(100)](x, y, 100, XBLOCK=64)
                decorated.run(y, y, 100, grid=grid(100), stream=get_raw_stream(0))
            print(torch.equal(reinterpret_tensor(y, (100,), (1,), 0), x + 2))
        """)
        self.assertEqual(lines, ["True"])


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class NarrowFloats(unittest.TestCase):
    def test_bfloat16_is_computed_on_its_values(self):
        lines = lines_of("""
            @triton.jit
            def kernel(a, b, y, KIND: tl.constexpr):
                at = tl.arange(0, 256)
                p, q = tl.load(a + at), tl.load(b + at)
                if KIND == "add":
                    r = p + q
                elif KIND == "sub":
                    r = p - q
                elif KIND == "mul":
                    r = p * q
                elif KIND == "number":
                    r = p * 2.5
                elif KIND == "negative":
                    r = -p
                elif KIND == "less":
                    r = tl.where(p < q, p, q)
                elif KIND == "maximum":
                    r = tl.maximum(p, q)
                elif KIND == "sum":
                    r = tl.sum(p, 0) + tl.zeros([256], tl.bfloat16)
                elif KIND == "max":
                    r = tl.max(p, 0) + tl.zeros([256], tl.bfloat16)
                elif KIND == "sort":
                    r = tl.sort(p)
                elif KIND == "cumsum":
                    r = tl.cumsum(p.to(tl.float32), 0).to(tl.bfloat16)
                tl.store(y + at, r)

            torch.manual_seed(0)
            a, b, y = torch.randn(256).bfloat16(), torch.randn(256).bfloat16(), torch.empty(256).bfloat16()
            true = {"add": a + b, "sub": a - b, "mul": a * b, "number": a * 2.5, "negative": -a, "less": torch.minimum(a, b),
                    "maximum": torch.maximum(a, b), "max": a.max().expand(256), "sort": a.sort().values}
            for kind, value in true.items():
                kernel[(1,)](a, b, y, kind)
                assert torch.equal(y, value), kind
            kernel[(1,)](a, b, y, "sum")
            print(abs(y[0].item() - a.double().sum().item()) < 0.25, (y == y[0]).all().item())
            kernel[(1,)](a, b, y, "cumsum")
            print(torch.equal(y, a.float().cumsum(0).bfloat16()))
        """)
        self.assertEqual(lines, ["True True", "True"])

    def test_conversions_round_to_the_nearest_with_carry(self):
        lines = lines_of("""
            @triton.jit
            def convert(x, y, z, KIND: tl.constexpr, SIZE: tl.constexpr, N: tl.constexpr):
                at = tl.arange(0, N)
                value = tl.load(x + at).to(KIND)
                tl.store(y + at, value.to(SIZE, bitcast=True))
                tl.store(z + at, value.to(tl.float32))

            torch.manual_seed(1)
            x = torch.cat([torch.randn(2000) * 2.0 ** torch.randint(-20, 8, (2000,)), torch.tensor([1.9999999, 0.99999994, 255.9, 0.0, -0.0])])
            x = torch.cat([x, 1 + torch.arange(4096 - len(x)) / 4096])
            for kind, of_torch, whole, size in ((tl.bfloat16, torch.bfloat16, torch.int16, tl.int16),
                                                (tl.float8e5, torch.float8_e5m2, torch.int8, tl.int8),
                                                (tl.float8e4nv, torch.float8_e4m3fn, torch.int8, tl.int8)):
                given = x.clamp(-400, 400)
                y, z = torch.empty(4096, dtype=whole), torch.empty(4096)
                convert[(1,)](given, y, z, kind, size, 4096)
                true = given.to(of_torch)
                print(torch.equal(y, true.view(whole)), torch.equal(z, true.float()))
            y, z = torch.empty(4, dtype=torch.int8), torch.empty(4)
            convert[(1,)](torch.tensor([1e6, -1e6, torch.inf, torch.nan]), y, z, tl.float8e4nv, tl.int8, 4)
            print(z.tolist())
        """)
        self.assertEqual(lines, ["True True"] * 3 + ["[448.0, -448.0, 448.0, nan]"])

    def test_atomics_and_products_of_narrow_floats(self):
        lines = lines_of("""
            @triton.jit
            def add(x, y):
                at = tl.arange(0, 16)
                tl.atomic_add(y + at % 4, tl.load(x + at))

            @triton.jit
            def product(a, b, a_scale, b_scale, y, FORM: tl.constexpr, KA: tl.constexpr, K: tl.constexpr):
                rows = tl.arange(0, 16)
                ka, k = tl.arange(0, KA), tl.arange(0, K)
                left = tl.load(a + rows[:, None] * KA + ka[None, :])
                right = tl.load(b + k[:, None] * 16 + rows[None, :])
                scales = tl.load(a_scale + rows[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
                scales_b = tl.load(b_scale + rows[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
                tl.store(y + rows[:, None] * 16 + rows[None, :], tl.dot_scaled(left, scales, FORM, right, scales_b, "bf16"))

            torch.manual_seed(2)
            x, y = torch.randint(-4, 4, (16,)).bfloat16(), torch.zeros(4).bfloat16()
            add[(1,)](x, y)
            print(torch.equal(y, x.view(4, 4).sum(0)))
            for form in ("e4m3", "e2m1"):
                sa, sb = (torch.randint(120, 134, (16, 2), dtype=torch.uint8) for _ in range(2))
                b, y = torch.randn(64, 16).bfloat16(), torch.empty(16, 16)
                if form == "e4m3":
                    a = torch.randn(16, 64).to(torch.float8_e4m3fn)
                    values = a.double()
                else:
                    a = torch.randint(0, 256, (16, 32), dtype=torch.uint8)
                    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
                    values = torch.stack([table[(a & 15).long()], table[(a >> 4).long()]], -1).reshape(16, 64).double()
                product[(1,)](a, b, sa, sb, y, form, a.shape[1], 64)
                left = values * torch.exp2(sa.double() - 127).repeat_interleave(32, 1)
                right = b.double() * torch.exp2(sb.double() - 127).repeat_interleave(32, 1).t()
                print(((y - left @ right).abs().max() / (left @ right).abs().max()).item() < 1e-5)
        """)
        self.assertEqual(lines, ["True"] * 3)


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class Memory(unittest.TestCase):
    def test_what_a_gpu_refuses_or_cannot_be_interpreted_says_so(self):
        lines = lines_of("""
            from triton.language.extra.cuda import globaltimer

            @triton.jit
            def small(x):
                tl.store(x, 1.0)

            @triton.jit
            def wild(x):
                tl.store(x, tl.load(x + (1 << 40)))

            @triton.jit
            def waits(x):
                if tl.program_id(0) == 0:
                    while tl.load(x, volatile=True) == 0:
                        pass
                else:
                    tl.store(x, 1.0)

            @triton.jit
            def locks(x):
                while tl.atomic_cas(x, 0, 1) == 1:
                    pass

            @triton.jit
            def assembly(x):
                tl.store(x, tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.load(x)], dtype=tl.float32, is_pure=True, pack=1))

            @triton.jit
            def clock(x):
                tl.store(x, globaltimer())

            @triton.jit
            def folded(x, y, n, HINT: tl.constexpr):
                at = tl.arange(0, 64) % n
                if HINT:
                    at = tl.max_contiguous(tl.multiple_of(at, 64), 64)
                tl.store(y + tl.arange(0, 64), tl.load(x + at))

            def told(kernel, *args, grid=(1,)):
                try:
                    kernel[grid](*args)
                    print("passed")
                except Exception as error:
                    print(type(error).__name__, str(error).split(" (")[0].split(":")[0].split(" at 0x")[0].strip(","))

            x, y = torch.zeros(64), torch.zeros(64)
            for grid in ((1, 65535, 1), (1, 65536, 1), (1, 1, 70000), (1, 2, 3, 4)):
                told(small, x, grid=grid)
            told(wild, x)
            told(waits, torch.zeros(1), grid=(2,))
            told(locks, torch.ones(1, dtype=torch.int32))
            told(assembly, x)
            told(clock, x)
            for n, hint in ((48, True), (50, True), (50, False)):
                told(folded, x, y, n, hint)
        """)
        self.assertEqual(lines[:5], ["passed", "RuntimeError invalid argument", "RuntimeError invalid argument",
                                     "RuntimeError a grid has one to three dimensions, not 4",
                                     "RuntimeError a kernel reads outside of every tensor"])  # fmt: skip
        self.assertEqual(lines[5:7], ["Unsupported a program waits for another program"] * 2)
        self.assertEqual(lines[7], "Unsupported inline PTX cannot be interpreted")
        self.assertEqual(lines[8], "Unsupported globaltimer cannot be interpreted")
        self.assertEqual(lines[9:], ["passed", "RuntimeError misaligned address", "passed"])


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class Tuning(unittest.TestCase):
    def test_what_trial_launches_leave_is_there(self):
        lines = lines_of("""
            def tuned(**options):
                @triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"], **options)
                @triton.jit
                def kernel(x, y, n, BLOCK: tl.constexpr):
                    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                    tl.store(x + at, tl.load(x + at, mask=at < n) * 3, mask=at < n)
                    tl.atomic_add(y, 1)
                return kernel

            for options in ({}, {"restore_value": ["x", "y"]}, {"reset_to_zero": ["x", "y"]}):
                x, y = torch.ones(64), torch.zeros(1)
                kernel = tuned(**options)
                for _ in range(2):
                    kernel[lambda meta: (triton.cdiv(64, meta["BLOCK"]),)](x, y, 64)
                    print(x[0].item(), y.item())
        """)
        self.assertEqual(lines, ["9.0 4.0", "27.0 6.0", "3.0 2.0", "9.0 4.0", "0.0 2.0", "0.0 4.0"])


if __name__ == "__main__":
    unittest.main()
