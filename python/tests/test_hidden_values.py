# Under kernel_only host code sees made-up values, and kernels the real ones.
import textwrap
import unittest

from test_triton import HAS_TRITON, run

HEAD = """
import ctypes
import numpy as np
import torch, triton, triton.language as tl
from triton_support import launches
from triton_support.interpret import Interpreter
torch.set_grad_enabled(False)
interpreter = Interpreter({"compiled": [], "arch": 90, "drop_stores": False, "hide_values": True})

@triton.jit
def squares(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, v * v, mask=at < n)

@triton.jit
def squares_of(pointers, n, BLOCK: tl.constexpr):
    x = tl.load(pointers).to(tl.pointer_type(tl.float32))
    y = tl.load(pointers + 1).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, v * v, mask=at < n)

def launch(x, y):
    squares[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y

def judged(function, *arguments, outputs=()):
    given = []
    def store(value):
        given.append(value)
        return (value,) if isinstance(value, torch.Tensor) else ()
    interpreter.call(function, arguments + tuple(outputs), range(len(arguments)), len(arguments), store)
    return given[0]

x = torch.arange(12.0).view(3, 4)
"""


def lines_of(body):
    return run(HEAD + textwrap.dedent(body))


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class HiddenValues(unittest.TestCase):
    def test_kernels_see_real_values_and_the_host_made_up_ones(self):
        lines = lines_of("""
            seen = []
            def call(x):
                y = launch(x, torch.empty_like(x))
                seen.extend((x.sum(), np.ctypeslib.as_array(ctypes.cast(x.data_ptr(), ctypes.POINTER(ctypes.c_float)), (12,)).sum(),
                             torch.equal(y, x * x)))
                return y
            print(torch.equal(judged(call, x), x * x), *map(float, seen))
            print(torch.equal(judged(lambda x: x * x, x), x * x))
        """)
        self.assertEqual(lines, ["True 12.0 12.0 0.0", "False"])

    def test_what_the_host_may_do_reaches_the_real_values(self):
        lines = lines_of("""
            def transposed(x):
                return launch(x.t().contiguous(), torch.empty(4, 3))
            def parts(x):
                z = torch.zeros(2, 4)
                z[1].copy_(x[2])
                z[0, :2] = x[0, 2]
                return launch(z, torch.empty_like(z))
            def after_a_kernel(x):
                y = launch(x, torch.empty_like(x))
                z = y.clone()
                z[0].zero_()
                return z
            def through_pointers(x):
                y = torch.empty_like(x)
                squares_of[(1,)](torch.tensor([x.data_ptr(), y.data_ptr()]), x.numel(), BLOCK=16)
                return y
            print(torch.equal(judged(transposed, x), (x * x).t()))
            print(judged(parts, x).tolist())
            print(judged(after_a_kernel, x).tolist())
            print(torch.equal(judged(through_pointers, x), x * x))
            sizes = []
            judged(lambda x: sizes.append(x[1, 3].item()), x)
            judged(lambda x: sizes.append(int(launch(x, torch.empty_like(x))[2, 0])), x)
            print(sizes, interpreter.census.calls)
        """)
        self.assertEqual(lines[0], "True")
        self.assertEqual(lines[1], "[[4.0, 4.0, 0.0, 0.0], [64.0, 81.0, 100.0, 121.0]]")
        self.assertEqual(lines[2], "[[0.0, 0.0, 0.0, 0.0], [16.0, 25.0, 36.0, 49.0], [64.0, 81.0, 100.0, 121.0]]")
        self.assertEqual(lines[3:], ["True", "[7.0, 64] 0"])

    def test_workspaces_and_destinations_keep_their_values(self):
        lines = lines_of("""
            kept = []
            def with_workspace(x):
                if not kept:
                    kept.append(launch(x, torch.empty_like(x)))
                return launch(kept[0], torch.empty_like(x))
            first, second = judged(with_workspace, x), judged(with_workspace, torch.zeros_like(x))
            print(torch.equal(first, x ** 4), torch.equal(second, x ** 4))
            y, rest = torch.full((3, 4), 5.0), torch.full((3, 4), 7.0)
            def into(x, y, rest):
                launch(x, y)
            judged(into, x, outputs=(y, rest))
            print(torch.equal(y, x * x), rest.unique().tolist())
        """)
        self.assertEqual(lines, ["True True", "True [7.0]"])

    def test_memory_that_is_given_back_is_forgotten(self):
        lines = lines_of("""
            def call(x):
                for _ in range(50):
                    y = launch(x, torch.empty(100_000)[:12].view(3, 4))
                return y.clone()
            ok = all(torch.equal(judged(call, x + i), (x + i) ** 2) for i in range(3))
            interpreter._hidden.open(); interpreter._hidden.close()
            print(ok, len(interpreter._hidden._memories) < 10)
        """)
        self.assertEqual(lines, ["True True"])

    def test_a_store_beside_every_tensor_is_an_error(self):
        lines = lines_of("""
            raw = np.zeros(64, dtype=np.float32)
            for target in (lambda x: raw.ctypes.data, lambda x: x.data_ptr() + 48):
                def call(x):
                    pointers = torch.tensor([x.data_ptr(), target(torch.empty_like(x))])
                    squares_of[(1,)](pointers, x.numel(), BLOCK=16)
                try:
                    judged(call, x)
                    print("no error")
                except Exception as error:
                    print("outside of every tensor" in str(error))
            print(raw.any())
        """)
        self.assertEqual(lines, ["True", "True", "False"])

    def test_no_thread_looks_on(self):
        # Enforced for ordinary users: tests/attacks/adaptive/tri_thread_computes.py
        self.assertEqual(lines_of("import resource; print(resource.getrlimit(resource.RLIMIT_NPROC))"), ["(0, 0)"])


if __name__ == "__main__":
    unittest.main()
