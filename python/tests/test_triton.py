# The Triton leaf's parts: the stand-in for a GPU, identities, configurations, the census.
import importlib.util
import os
import subprocess
import sys
import textwrap
import unittest

import support

HAS_TRITON = importlib.util.find_spec("triton") is not None
assert HAS_TRITON or "KW_REQUIRE_TRITON" not in os.environ, "triton is not installed"


def run(text, interpret=True):
    """What a script prints in a process of its own: patches of torch and Triton last for a process's life."""
    environment = {**os.environ, "PYTHONPATH": support.PYTHON_FOLDER, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.update({"TRITON_INTERPRET": "1"} if interpret else {})
    folder = support.environment()["TMPDIR"]
    path = os.path.join(folder, "script.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(text))
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


INTERPRETER = """
import torch, triton, triton.language as tl
from triton_support.interpret import Interpreter
torch.set_grad_enabled(False)
interpreter = Interpreter({"compiled": COMPILED, "arch": 90, "configuration": CONFIGURATION, "drop_stores": DROP, "poison_masked": POISON})

def counted(function):
    def call(*arguments):
        returned = []
        interpreter.call(function, arguments, [], len(arguments), lambda value: returned.append(value) or ())
        return returned[0]
    return call

@triton.autotune(configs=[triton.Config({"BLOCK": 2 ** i}) for i in range(4, 9)], key=["n"])
@triton.jit
def add_one(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

def call(x):
    y = torch.full_like(x, 5)
    add_one[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y
"""


def interpreter_script(body, compiled=(), configuration=0, drop=False, poison=False):
    head = INTERPRETER.replace("COMPILED", repr(list(compiled))).replace("CONFIGURATION", str(configuration)).replace("DROP", str(drop))
    head = head.replace("POISON", str(poison))
    return head + textwrap.dedent(body)


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class Host(unittest.TestCase):
    def test_cpu_tensors_say_that_they_are_on_the_gpu(self):
        lines = run("""
            import torch
            from dtypes import true_device
            from triton_support import host
            host.install(host.Device(90), None)
            x = torch.zeros(3)
            print(x.is_cuda, x.is_cpu, x.device, x.get_device(), true_device(x))
            for made in (torch.empty(2, device="cuda"), torch.empty(2, device=x.device), x.to("cuda"), x.to("cuda:0"), x.cuda(),
                         torch.zeros_like(x, device="cuda"), torch.tensor([1], device="cuda"), x.new_empty(2, device="cuda")):
                print(true_device(made))
        """)
        self.assertEqual(lines[0], "True False cuda:0 0 cpu")
        self.assertEqual(lines[1:], ["cpu"] * 8)

    def test_questions_about_the_device_are_answered(self):
        lines = run("""
            import torch, triton
            from triton_support import host
            host.install(host.Device(90), None)
            print(torch.cuda.is_available(), torch.cuda.current_device(), torch.cuda.get_device_capability())
            print(torch.cuda.get_device_properties(0).multi_processor_count, torch.cuda.get_device_properties("cuda").major)
            print(triton.runtime.driver.active.get_current_target().arch)
            print(triton.runtime.driver.active.utils.get_device_properties(0)["max_shared_mem"])
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream), torch.cuda.device(0):
                event = torch.cuda.Event(enable_timing=True)
                event.record()
                torch.cuda.current_stream().wait_stream(stream)
            torch.cuda.synchronize()
            print("done")
        """)
        self.assertEqual(lines, ["True 0 (9, 0)", "132 9", "90", "232448", "done"])


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class Interpreting(unittest.TestCase):
    # Without an identity that was compiled, tuning has no configuration: these tests allow all.
    ANY = """
        from triton_support import launches
        class Everything(set):
            def __contains__(self, item):
                return True
        interpreter._compiled = Everything()
    """

    def test_kernels_run_and_are_counted(self):
        lines = run(interpreter_script(textwrap.dedent(self.ANY) + textwrap.dedent("""
            wrapped = counted(call)
            x = torch.arange(100.0)
            print((wrapped(x) == x + 1).all().item(), (wrapped(x) == x + 1).all().item())
            [kernel] = interpreter.launches.kernels.values()
            print(kernel.name, kernel.launches, interpreter.census.calls)
        """)))
        self.assertEqual(lines, ["True True", "add_one 2 0"])

    def test_the_first_configuration_of_those_compiled_is_taken_and_the_next_one_for_the_next_key(self):
        blocks = textwrap.dedent("""
            for n in (100, 101, 100, 102):
                call(torch.zeros(n))
                print(add_one.best_config.kwargs["BLOCK"], next(reversed(interpreter.launches.kernels)).hex())
        """)
        lines = [line.split() for line in run(interpreter_script(textwrap.dedent(self.ANY) + blocks))]
        self.assertEqual([block for block, _ in lines], ["16", "32", "16", "64"])
        # With others compiled alone they are passed by; another choice than the judged one needs no compilation.
        only = run(interpreter_script(blocks, compiled=[lines[1][1]]))
        self.assertEqual([line.split()[0] for line in only], ["32"] * 4)
        other = run(interpreter_script(blocks, compiled=[lines[0][1]], configuration=3))
        self.assertEqual([line.split()[0] for line in other], ["128", "256", "128", "16"])

    def test_without_stores_nothing_is_written(self):
        lines = run(interpreter_script(textwrap.dedent(self.ANY) + textwrap.dedent("""
            print(call(torch.zeros(100)).unique().tolist())
        """), drop=True))
        self.assertEqual(lines, ["[5.0]"])

    def test_the_census_counts_what_computes(self):
        lines = run(interpreter_script("""
            def count(function):
                before = interpreter.census.calls
                counted(function)(torch.arange(12.0).view(3, 4))
                return interpreter.census.calls - before
            print(count(lambda x: torch.empty_like(x).zero_().view(-1)[2:].t()), count(lambda x: x.clone().contiguous()))
            print(count(lambda x: x + 1), count(lambda x: torch.softmax(x, 1)), count(lambda x: x.half()))
            print(count(lambda x: x.numpy()), count(lambda x: x.tolist()), count(lambda x: x[0, 0].item()))
            many = torch.zeros(80)
            print(count(lambda x: [value.item() for value in many]) > 0)
        """))
        self.assertEqual(lines, ["0 0", "1 1 1", "1 1 0", "True"])


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class Identities(unittest.TestCase):
    SCRIPT = """
        import torch, triton, triton.language as tl
        from triton_support import launches

        @triton.jit
        def kernel(x, n, BLOCK: tl.constexpr, FLAG: tl.constexpr = True):
            tl.store(x, n)

        def of(*args, **kwargs):
            return launches.identify(kernel, args, kwargs).identity.hex()

        first = of(None, 3, BLOCK=16)
        print(first)
        print(of(None, 4, 16) == first, of(None, 3, tl.constexpr(16), True) == first)
        print(of(None, 3, BLOCK=32) != first, of(None, 3, 16, FLAG=False) != first, of(None, 3, 16, num_warps=8) != first)
    """

    def test_constants_and_options_count_and_nothing_else(self):
        interpreted = run(self.SCRIPT)
        self.assertEqual(interpreted[1:], ["True True", "True True True"])
        self.assertEqual(run(self.SCRIPT, interpret=False), interpreted)

    DECIDES = """
        import types
        import torch, triton, triton.language as tl
        from triton.language.extra import libdevice
        from triton_support import launches

        def make(factor, plus):
            FACTOR = tl.constexpr(factor)
            @triton.jit
            def kernel(x, n, CALLED: tl.constexpr, AS: tl.constexpr = tl.float32):
                tl.static_assert(n is not None, "n")
                for i in range(0, min(n, max(2, 3))):
                    tl.store(x, tl.sum(libdevice.erf(plus(tl.load(x) * FACTOR * GLOBAL, SHARED.FACTOR)).to(x.dtype.element_ty)))
            return kernel

        def helper(text, default=1):
            names = {"tl": tl, "triton": triton, "DEFAULT": tl.constexpr(default)}
            code = "@triton.jit\\ndef helper(x, y, z=DEFAULT):\\n    return " + text + "\\n"
            name = f"helper{len(linecache.cache)}"
            linecache.cache[name] = (len(code), None, code.splitlines(True), name)
            exec(compile(code, name, "exec"), names)
            return names["helper"]

        import linecache
        GLOBAL = tl.constexpr(1.0)
        SHARED = types.ModuleType("shared")
        SHARED.FACTOR = tl.constexpr(2)
        plus, float32, float16 = helper("x + y"), torch.zeros(1), torch.zeros(1).half()

        def of(kernel, *args, **kwargs):
            print(launches.identify(kernel, args, kwargs).identity.hex())

        of(make(1, plus), float32, 3, plus)
        of(make(2, plus), float32, 3, plus)
        of(make(1, helper("x - y")), float32, 3, plus)
        of(make(1, helper("x + y", 2)), float32, 3, plus)
        of(make(1, plus), float32, 3, helper("y + x"))
        of(make(1, plus), float16, 3, plus)
        of(make(1, plus), float32, 3.0, plus)
        of(make(1, plus), float32, 3, plus, AS=tl.float16)
        of(make(1, plus), float32, 3, plus, enable_fp_fusion=False)
        of(make(1, plus), float32, 3, plus, allowed_dot_input_precisions=("ieee",))
        GLOBAL = tl.constexpr(2.0)
        of(make(1, plus), float32, 3, plus)
        SHARED.FACTOR = tl.constexpr(3)
        of(make(1, plus), float32, 3, plus)
        tl_erf = libdevice.erf
        libdevice = types.SimpleNamespace(erf=libdevice.erfc)
        of(make(1, plus), float32, 3, plus)
    """

    def test_all_that_decides_what_a_kernel_computes_counts(self):
        interpreted = run(self.DECIDES)
        self.assertEqual(len(interpreted), 13)
        self.assertEqual(len(set(interpreted)), 13)
        # The last one names something that is no module: nobody can tell what it is.
        self.assertEqual(run(self.DECIDES, interpret=False)[:-1], interpreted[:-1])

    ASKS = """
        import os
        import triton, triton.language as tl
        from triton_support import launches

        @triton.jit
        def honest(x, TYPE: tl.constexpr):
            tl.store(x, tl.load(x).to(x.type.element_ty))

        @triton.jit
        def attribute(x, TYPE: tl.constexpr):
            tl.store(x, x.handle)

        @triton.jit
        def has(x, TYPE: tl.constexpr):
            tl.store(x, hasattr(x, "data"))

        @triton.jit
        def instance(x, TYPE: tl.constexpr):
            tl.store(x, isinstance(TYPE, int))

        @triton.jit
        def compares(x, TYPE: tl.constexpr):
            tl.store(x, x.type == TYPE)

        @triton.jit
        def calls(x, TYPE: tl.constexpr):
            has(x, TYPE)

        @triton.constexpr_function
        def role():
            return os.environ.get("TRITON_INTERPRET")

        @triton.jit
        def constant(x, TYPE: tl.constexpr):
            tl.store(x, role())

        for kernel in (honest, attribute, has, instance, compares, calls, constant):
            print(launches.identify(kernel, (None, tl.int32), {}).identity.hex())
    """

    def test_a_kernel_that_asks_where_it_runs_is_another_one_there(self):
        interpreted = run(self.ASKS)
        compiled = run(self.ASKS, interpret=False)
        self.assertEqual(interpreted[0], compiled[0])
        self.assertEqual(len(set(interpreted + compiled[1:])), 13)

    def test_what_was_compiled_once_has_one_identity(self):
        lines = run("""
            import triton, triton.language as tl
            from triton.runtime.jit import JITFunction
            JITFunction.run = lambda kernel, *args, grid, warmup, **kwargs: "what Triton remembers"
            from triton_support.compiler import Compiler
            compiler = object.__new__(Compiler)
            compiler._kernels, compiler._identities = {}, {}
            compiler._cover_launches()

            @triton.jit
            def kernel(x):
                tl.store(x, FACTOR)

            for FACTOR in (tl.constexpr(1), tl.constexpr(2)):
                kernel[(1,)](None)
                print(len(compiler._kernels))
        """, interpret=False)
        self.assertEqual(lines, ["1", "1"])


@unittest.skipUnless(HAS_TRITON, "triton is not installed")
class Semantics(unittest.TestCase):
    """What a GPU would do, in the interpreter."""

    def lines(self, body):
        return run(interpreter_script(textwrap.dedent(body)))

    DOT = """
        @triton.jit
        def dot(x, y, KIND: tl.constexpr):
            at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
            a = tl.load(x + at)
            if KIND == "default":
                c = tl.dot(a, a)
            elif KIND == "plain":
                c = tl.dot(a, a, allow_tf32=False)
            else:
                c = tl.dot(a, a, input_precision=KIND)
            tl.store(y + at, c)

        def error(kind, x=torch.rand(16, 16), **options):
            y = torch.empty(16, 16)
            dot[(1,)](x, y, kind, **options)
            true = x.double() @ x.double()
            return ((y - true).abs() / true.abs()).max().item()
    """

    def test_a_dot_of_float32_is_rounded_to_tf32_unless_it_says_otherwise(self):
        lines = self.lines(self.DOT + """
        print(*(1e-5 < error(kind) < 2e-3 for kind in ("default", "tf32")))
        print(*(error(kind) < 1e-6 for kind in ("plain", "ieee", "tf32x3", "bf16x6")))
        print(error("default", allowed_dot_input_precisions=("ieee",)) < 1e-6, error("default") > 1e-5)
        print(error("default", x=torch.eye(16) * 3), error("default", x=torch.full((16, 16), torch.inf)) >= 0)
        """)
        self.assertEqual(lines[:3], ["True True", "True True True True", "True True"])
        self.assertEqual(lines[3], "nan False")

    def test_masked_lanes_without_other_are_zero_or_what_shows_that_they_count(self):
        body = """
            @triton.jit
            def read(x, whole, largest, smallest, n, BLOCK: tl.constexpr):
                at = tl.arange(0, BLOCK)
                values = tl.load(x + at, mask=at < n)
                tl.store(whole + at, values, mask=at < n)
                tl.store(largest, tl.max(values, axis=0))
                tl.store(smallest, tl.min(values, axis=0))

            for dtype in (torch.float32, torch.float16, torch.float64, torch.bfloat16, torch.int8, torch.int32, torch.int64, torch.uint8):
                for n in (5, 8):
                    x = torch.tensor([0, 0, 0, 0, 0, 1, 2, 3]).to(dtype) + 2
                    whole, ends = torch.zeros(8, dtype=dtype), torch.zeros(2, dtype=dtype)
                    read[(1,)](x, whole, ends, ends[1:], n, BLOCK=8)
                    assert (whole[:n] == x[:n]).all()
                    print(ends[0].item() == x[:n].max().item(), ends[1].item())
            print(interpreter._masked.met)
        """
        self.assertEqual(self.lines(body), ["True 0.0", "True 2.0"] * 4 + ["True 0", "True 2"] * 4 + ["True"])
        poisoned = run(interpreter_script(textwrap.dedent(body), poison=True))
        self.assertEqual([line.split()[0] for line in poisoned], ["False", "True"] * 8 + ["True"])

    def test_masked_elements_get_their_other_whatever_it_is(self):
        lines = self.lines("""
            @triton.jit
            def read(x, y, n, OTHER: tl.constexpr):
                tl.store(y, tl.load(x, mask=n > 0, other=OTHER))  # a scalar
                block = tl.arange(0, 1)
                tl.store(y + 1 + block, tl.load(x + block, mask=block < n, other=OTHER))
                pair = tl.arange(0, 2)
                tl.store(y + 2 + pair, tl.load(x + pair, mask=pair < n, other=OTHER))

            for dtype in (torch.float32, torch.float16, torch.int32, torch.int64):
                for other in (0, 3):
                    for n in (0, 1):
                        x, y = torch.tensor([7, 8]).to(dtype), torch.zeros(4, dtype=dtype)
                        read[(1,)](x, y, n, other)
                        assert y.tolist() == [7 if n else other, 7 if n else other, 7 if n else other, other], (dtype, other, n, y)
            print("right")
        """)
        self.assertEqual(lines, ["right"])

    def test_hints_must_hold(self):
        lines = self.lines("""
            @triton.jit
            def hint(x, first, step, period, MULTIPLE: tl.constexpr, GROUP: tl.constexpr, CONSTANT: tl.constexpr):
                at = (first + tl.arange(0, 64) * step) % period
                at = tl.max_constancy(tl.max_contiguous(tl.multiple_of(at, MULTIPLE), GROUP), CONSTANT)
                pair = tl.multiple_of(at[:, None] + tl.zeros((1, 2), tl.int32), (MULTIPLE, 1))
                tl.assume(first >= 0)
                tl.store(tl.multiple_of(x, 16) + at, 1.0)

            storage = torch.zeros(1024)
            def holds(first, step, period, multiple, group, constant, x=storage):
                try:
                    hint[(1,)](x, first, step, period, multiple, group, constant)
                    return True
                except Exception as error:
                    return "multiple_of max_contiguous max_constancy assume".split()[["multiple_of" in str(error),
                        "max_contiguous" in str(error), "max_constancy" in str(error), "tl.assume" in str(error)].index(True)]
            print(holds(0, 1, 1000, 64, 64, 1), holds(64, 1, 1000, 64, 64, 1), holds(64, 1, 96, 64, 64, 1), holds(0, 16, 1024, 16, 1, 1))
            print(holds(5, 0, 1000, 1, 1, 64), holds(64, 1, 100, 4, 4, 1), holds(16, 1, 1000, 48, 64, 1), holds(64, 1, 97, 1, 16, 1))
            print(holds(8, 1, 1000, 16, 1, 1), holds(0, 3, 1000, 16, 1, 1), holds(64, -1, 1000, 1, 16, 1), holds(0, 2, 1000, 2, 2, 1))
            print(holds(0, 1, 1000, 1, 1, 2), holds(0, 1, 1000, 1, 1, 1, storage[1:]), holds(-1, 0, 1000, 1, 1, 1))
        """)
        self.assertEqual(lines[:2], ["True True True True", "True True True True"])
        self.assertEqual(lines[2:], ["multiple_of multiple_of max_contiguous max_contiguous", "max_constancy multiple_of assume"])

    def test_constants_of_the_module_and_of_the_function_around(self):
        lines = self.lines("""
            TWO = tl.constexpr(2)

            def make(three):
                THREE = tl.constexpr(three)

                @triton.jit
                def times(x):
                    \"\"\"A text
                def of(x): many lines\"\"\"
                    return x * THREE

                @triton.jit
                def compute(x, y, LAST: tl.constexpr = THREE):
                    at = tl.arange(0, 4)
                    n = tl.load(x + at)
                    tl.store(y + at, (TWO * n - THREE + times(n)) * LAST + (TWO < n).to(tl.float32) + TWO / n)
                return compute

            x, y = torch.arange(1.0, 5.0), torch.zeros(4)
            make(3)[(1,)](x, y)
            print(((2 * x - 3 + 3 * x) * 3 + (2 < x) + 2 / x - y).abs().max().item() < 1e-5)
            make(5)[(1,)](x, y)
            print(((2 * x - 5 + 5 * x) * 5 + (2 < x) + 2 / x - y).abs().max().item() < 1e-5)
        """)
        self.assertEqual(lines, ["True", "True"])

    def test_what_is_interpreted_is_the_text_that_is_the_identity(self):
        lines = self.lines("""
            import linecache
            from triton.runtime.interpreter import InterpretedFunction
            from triton_support import launches

            def show(text):
                linecache.cache["kernel"] = (len(text), None, text.splitlines(True), "kernel")

            TEXT = "@triton.jit\\ndef {}(x, y):\\n    return x + y * {}\\n"
            show(TEXT.format("plus", 1))
            exec(compile(TEXT.format("plus", 100), "kernel", "exec"))

            @triton.jit
            def kernel(x, y):
                tl.store(y, tl.reduce(tl.load(x + tl.arange(0, 4)), 0, plus) + 0)

            y = torch.zeros(1)
            first = launches.identify(kernel, (y, y), {}).identity
            InterpretedFunction.rewritten_fn[kernel.fn] = lambda x, y: tl.store(y, 77.0)
            show(TEXT.format("plus", 10))
            kernel[(1,)](torch.ones(4), y)
            print(y.item(), launches.identify(kernel, (y, y), {}).identity == first)
        """)
        self.assertEqual(lines, ["4.0 True"])

    def test_libdevice(self):
        lines = self.lines("""
            from triton.language.extra import libdevice
            from triton.language.extra.cuda import libdevice as of_cuda

            @triton.jit
            def apply(x, y, z, FUNCTION: tl.constexpr, MANY: tl.constexpr):
                at = tl.arange(0, 64)
                a = tl.load(x + at)
                if MANY == 1:
                    r = FUNCTION(a)
                elif MANY == 2:
                    r = FUNCTION(a, tl.load(y + at))
                else:
                    r = FUNCTION(a, tl.load(y + at), a)
                tl.store(z + at, r)

            def worst(function, true, many=1, dtype=torch.float32, low=-0.9, high=0.9):
                x, y = (torch.empty(64, dtype=torch.float64).uniform_(low, high).to(dtype) for _ in range(2))
                z = torch.empty(64, dtype=dtype)
                apply[(1,)](x, y, z, function, many)
                true = true(*[x.double(), y.double(), x.double()][:many]).double()
                return ((z - true).abs() / (true.abs() + 1e-6)).max().item()

            alike = "exp exp2 expm1 tanh sinh cosh sin cos tan asin acos atan asinh atanh erf erfc erfinv floor ceil trunc lgamma"
            for name in alike.split():
                for module in (libdevice, of_cuda):
                    assert worst(getattr(module, name), getattr(torch, name)) < 2e-5, name
            for name in "log log2 log10 log1p rsqrt sqrt acosh lgamma".split():
                assert worst(getattr(libdevice, name), getattr(torch, name), low=1.1, high=9) < 2e-5, name
            for name in "atan2 hypot copysign nextafter fmod".split():
                assert worst(getattr(libdevice, name), getattr(torch, name), 2) < 2e-5, name
            assert worst(libdevice.pow, torch.pow, 2, low=0.5, high=2) < 2e-5
            for name, true in {"cbrt": lambda x: x.sign() * x.abs() ** (1 / 3), "rint": torch.round, "nearbyint": torch.round,
                               "isnan": torch.isnan, "isinf": torch.isinf, "signbit": torch.signbit, "abs": torch.abs,
                               "round": lambda x: x.sign() * (x.abs() + 0.5).floor(), "fast_expf": torch.exp,
                               "float2int_rz": torch.trunc}.items():
                for high in (0.9, 2.5, 100):
                    assert worst(getattr(libdevice, name), true, low=-high, high=high if name != "fast_expf" else 1) < 2e-5, name
            assert worst(libdevice.fma, lambda x, y, z: x * y + z, 3) < 1e-6
            for name in ("tanh", "rsqrt", "exp"):
                true = getattr(torch, name)
                assert worst(getattr(libdevice, name), true, dtype=torch.float64, low=0.1) < 1e-12, name
            numbers = torch.tensor([0, 1, 12, -1] * 16, dtype=torch.int32)
            for name in ("popc", "clz", "ffs"):
                z = torch.zeros(64, dtype=torch.int32)
                apply[(1,)](numbers, numbers, z, getattr(libdevice, name), 1)
                print(z[:4].tolist())
            try:
                worst(libdevice.j0, torch.sin)
            except Exception as error:
                print("__nv_j0f" in str(error))
        """)
        self.assertEqual(lines, ["[0, 1, 2, 32]", "[32, 31, 28, 0]", "[0, 1, 3, 1]", "True"])


if __name__ == "__main__":
    unittest.main()
