# The Triton leaf's parts: the stand-in for a GPU, identities, configurations, the census.
import importlib.util
import os
import subprocess
import sys
import textwrap
import unittest

import support

HAS_TRITON = importlib.util.find_spec("triton") is not None


def run(text, interpret=True):
    """What a script prints in a process of its own: patches of torch and Triton last for a process's life."""
    environment = {**os.environ, "PYTHONPATH": support.PYTHON_FOLDER, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.update({"TRITON_INTERPRET": "1"} if interpret else {})
    folder = support.environment()["TMPDIR"]
    path = os.path.join(folder, "script.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(text))
    done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


INTERPRETER = """
import torch, triton, triton.language as tl
from triton_support.interpret import Interpreter
torch.set_grad_enabled(False)
interpreter = Interpreter({"compiled": COMPILED, "arch": 90, "autotune_seed": SEED, "drop_stores": DROP})

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


def interpreter_script(body, compiled=(), seed=0, drop=False):
    head = INTERPRETER.replace("COMPILED", repr(list(compiled))).replace("SEED", str(seed)).replace("DROP", str(drop))
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
            wrapped = interpreter.wrap(call)
            x = torch.arange(100.0)
            print((wrapped(x) == x + 1).all().item(), (wrapped(x) == x + 1).all().item())
            [kernel] = interpreter.launches.kernels.values()
            print(kernel.name, kernel.launches, interpreter.census.calls)
        """)))
        self.assertEqual(lines, ["True True", "add_one 2 0"])

    def test_a_seed_chooses_one_configuration_of_those_compiled(self):
        chosen = set()
        for seed in range(6):
            lines = run(interpreter_script(textwrap.dedent(self.ANY) + textwrap.dedent("""
                call(torch.zeros(100))
                print(add_one.best_config.kwargs["BLOCK"], next(iter(interpreter.launches.kernels)).hex())
            """), seed=seed))
            block, identity = lines[0].split()
            chosen.add(block)
        self.assertGreater(len(chosen), 1)
        body = """
            call(torch.zeros(100))
            print(add_one.best_config.kwargs["BLOCK"])
        """
        for seed in (11, 12):
            self.assertEqual(run(interpreter_script(body, compiled=[identity], seed=seed)), [block])

    def test_without_stores_nothing_is_written(self):
        lines = run(interpreter_script(textwrap.dedent(self.ANY) + textwrap.dedent("""
            print(call(torch.zeros(100)).unique().tolist())
        """), drop=True))
        self.assertEqual(lines, ["[5.0]"])

    def test_the_census_counts_what_computes(self):
        lines = run(interpreter_script("""
            def count(function):
                before = interpreter.census.calls
                interpreter.wrap(function)(torch.arange(12.0).view(3, 4))
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
            return launches.identify(kernel.fn, args, kwargs).identity.hex()

        first = of(None, 3, BLOCK=16)
        print(first)
        print(of(None, 4, 16) == first, of(None, 3, tl.constexpr(16), True) == first)
        print(of(None, 3, BLOCK=32) != first, of(None, 3, 16, FLAG=False) != first, of(None, 3, 16, num_warps=8) != first)
    """

    def test_constants_and_options_count_and_nothing_else(self):
        interpreted = run(self.SCRIPT)
        self.assertEqual(interpreted[1:], ["True True", "True True True"])
        self.assertEqual(run(self.SCRIPT, interpret=False), interpreted)


if __name__ == "__main__":
    unittest.main()
