# Parts of the leaves without processes: calling styles, constants, literals, texts, struct offsets.
import ast
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import torch

from support import PYTHON_FOLDER

import calling
import device_memory
import failures
import gpu_executor
import loading
import messages
import modules
import pages
import results
from _paritybench_helpers import _mock_config
from dtypes import NUMBER_OF_NAME


class KernelBenchTest(unittest.TestCase):
    def test_the_trials_seeds_are_those_drawn_from_42(self):
        path = os.path.join(PYTHON_FOLDER, "../src/gym/checker/kernelbench_trials.h")
        with open(path) as file:
            numbers = re.search(r"kInputSeeds = \{(.*?)\}", file.read(), re.S)[1]
        torch.manual_seed(42)
        drawn = [torch.randint(0, 2**32 - 1, (1,)).item() for _ in range(5)]
        self.assertEqual([int(n) for n in numbers.split(",")], drawn)


class UnmatchedStateTest(unittest.TestCase):
    def test_names_both_sides(self):
        module = torch.nn.Linear(4, 2)
        given = {"weight": torch.zeros(2, 4), "bias": torch.zeros(2)}
        self.assertEqual(modules.unmatched_note(module, given), "")
        given = {"conv3d.weight": torch.zeros(8, 3), "bias": torch.zeros(2)}
        self.assertEqual(
            modules.unmatched_note(module, given),
            "Linear has no parameter or buffer to take these of the problem: conv3d.weight [8, 3]; "
            "its own without a counterpart: weight [2, 4]",
        )
        given["bias"] = torch.zeros(1)
        self.assertIn("bias [1]; its own", modules.unmatched_note(module, given))

    def test_names_some_of_many(self):
        given = {f"part{i}": torch.zeros(1) for i in range(11)}
        self.assertTrue(modules.unmatched_note(torch.nn.ReLU(), given).endswith("part7 [1] and 3 more"))


class MessagesTest(unittest.TestCase):
    def test_a_long_one_comes_in_a_file(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        body = {"op": "run", "fds": ["text"], "rows": list(range(75000))}
        with tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as file, ours, theirs:
            file.write(json.dumps(body).encode())
            file.seek(0)
            socket.send_fds(ours, [b'{"message_in_file": true}'], [text.fileno(), file.fileno()])
            message = messages.receive(theirs)
            self.assertEqual(message.body, body)
            self.assertTrue(os.path.sameopenfile(message.fds["text"], text.fileno()))
            message.close()


class DecomposedTest(unittest.TestCase):
    PROGRAM = """
import sys, torch, second_implementation
x = torch.randn(4, 8)
works = [torch.relu, lambda x: torch.softmax(x, 1), torch.nn.functional.gelu, lambda x: torch.nn.functional.layer_norm(x, (8,)), lambda x: x.clamp(0, 1)]
for work in works:
    right = work(x)
    with second_implementation.scope():
        found = work(x)
    assert torch.allclose(found, right, atol=1e-6), (found, right)
print("torch._dynamo" in sys.modules)
"""

    def test_nothing_of_torch_compile_is_imported(self):
        ended = subprocess.run([sys.executable, "-c", self.PROGRAM], cwd=PYTHON_FOLDER, capture_output=True, text=True)
        self.assertEqual((ended.stdout.strip(), ended.stderr), ("False", ""))


class CallingTest(unittest.TestCase):
    def plan(self, function, passing=None):
        found = calling.plan(function, ["x", "w"], ["y"], passing)
        return found.destination_passing, found.order

    def test_the_number_of_parameters_decides(self):
        self.assertEqual(self.plan(lambda x, w: 0), (False, [0, 1]))
        self.assertEqual(self.plan(lambda x, w, y: 0), (True, [0, 1]))

    def test_required_parameters_come_before_optional_ones(self):
        self.assertEqual(self.plan(lambda x, w, eps=1: 0), (False, [0, 1]))
        self.assertEqual(self.plan(lambda x, w, y, eps=1: 0), (True, [0, 1]))
        self.assertEqual(self.plan(lambda x, w=None: 0), (False, [0, 1]))

    def test_names_decide_the_order(self):
        self.assertEqual(self.plan(lambda w, x: 0), (False, [1, 0]))
        self.assertEqual(self.plan(lambda w, x, out: 0), (True, [1, 0]))
        self.assertEqual(self.plan(lambda a, x: 0), (False, [0, 1]))

    def test_what_fits_neither_needs_the_style_given(self):
        for function in (lambda x: 0, lambda *all_of_them: 0, lambda a, b, c, d: 0, max):
            with self.assertRaises(calling.CallError):
                self.plan(function)
            self.assertEqual(self.plan(function, True), (True, [0, 1]))


class ConstantsTest(unittest.TestCase):
    def replaced(self, source, name, literal):
        tree = ast.parse(source)
        loading.replace_constant(tree, name, literal)
        return ast.unparse(tree)

    def test_every_kind_of_assignment(self):
        self.assertEqual(self.replaced("a = 1\nb = a", "a", "2"), "a = 2\nb = a")
        self.assertEqual(self.replaced("a: int = 1", "a", "(2, 3)"), "a: int = (2, 3)")
        self.assertEqual(self.replaced("a, b = 1, 2", "b", "-5"), "a, b = (1, -5)")
        self.assertEqual(self.replaced("a = 1\na = a + 1", "a", "'x'"), "a = 'x'\na = 'x'")

    def test_values_that_are_handed_over(self):
        inner = _mock_config(sizes=(1, 2), name="a'b")
        value = [[1, -2.5, None, True], {"config": _mock_config(inner=inner, n=3)}]
        read = modules.from_literal(modules.literal(value))
        self.assertEqual(read, value)
        self.assertEqual((read[1]["config"].inner.sizes, read[1]["config"]["n"]), ((1, 2), 3))
        for text in ("f(1)", "_mock_config(1, 2)", "_mock_config(f())", "[open('x')]", "_mock_config"):
            with self.assertRaises(ValueError, msg=text):
                modules.from_literal(text)
        for value in (float("inf"), {1: {2}}, _mock_config(x=object())):
            with self.assertRaises(ValueError):
                modules.literal(value)

    def test_what_is_no_constant_or_no_literal(self):
        for source, name, literal in (
            ("a = 1", "b", "1"),
            ("def f():\n    b = 1", "b", "1"),
            ("a = 1", "a", "f()"),
            ("a = 1", "a", "1 +"),
            ("a = 1", "a", "__import__('os')"),
        ):
            with self.assertRaises(loading.BadSetting):
                self.replaced(source, name, literal)


class TextTest(unittest.TestCase):
    def test_head_and_tail_are_kept(self):
        text = failures.shorten("a" * 100_000 + "end")
        self.assertTrue(text.startswith("aaa") and text.endswith("aend"))
        self.assertLess(len(text), failures.MAX_TEXT + 100)
        self.assertEqual(failures.shorten("short"), "short")

    def test_literals_read_back(self):
        for value in ([], [(1,)], [(1, (2, -3.5)), {"a": [True, None]}], [torch.Size([2, 3])]):
            self.assertEqual(ast.literal_eval(modules.literal(value)), value)


class OverlapTest(unittest.TestCase):
    def test_only_shared_elements_overlap(self):
        x = torch.zeros(4, 6, 8)
        for view in (x, x.permute(2, 0, 1), x[:, ::2, 1:5], x[:, :, :1], x[1], x[:0]):
            self.assertFalse(results._overlaps(view))
        overlapping = (x[:, :1].expand(4, 3, 8), x.as_strided((4, 4), (3, 1)), x[0, 0].unfold(0, 3, 1))
        for view in overlapping:
            self.assertTrue(results._overlaps(view))


class BitsTest(unittest.TestCase):
    def test_nan_equals_itself_and_zero_has_a_sign(self):
        nan = torch.tensor([float("nan"), 1.0])
        self.assertTrue(modules.same_bits(nan, nan.clone()))
        self.assertFalse(modules.same_bits(torch.tensor(0.0), torch.tensor(-0.0)))
        self.assertFalse(modules.same_bits(torch.zeros(2), torch.zeros(2, dtype=torch.int32)))
        self.assertTrue(modules.same_bits(torch.zeros(3, 2).t(), torch.zeros(2, 3)))


class ContractTest(unittest.TestCase):
    """The numbers of protocol.h and dtype.h, read from the headers."""

    def header(self, path):
        with open(os.path.join(PYTHON_FOLDER, "..", "src", path)) as file:
            return file.read()

    def test_limits_and_enumerations(self):
        text = self.header("gym/protocol.h")
        for name, value in (
            ("kMaxSets", pages.MAX_SETS),
            ("kMaxInputs", pages.MAX_INPUTS),
            ("kMaxOutputs", pages.MAX_OUTPUTS),
            ("kMaxRank", pages.MAX_RANK),
            ("kPrepare", pages.OP_PREPARE),
            ("kCall", pages.OP_CALL),
            ("kNullCall", pages.OP_NULL_CALL),
            ("kExit", pages.OP_EXIT),
            ("kReady", pages.STATE_READY),
            ("kFailed", pages.STATE_FAILED),
            ("kLoad", pages.FAILURE_LOAD),
            ("kEntryMissing", pages.FAILURE_ENTRY_MISSING),
            ("kException", pages.FAILURE_EXCEPTION),
            ("kOutputKind", pages.FAILURE_OUTPUT_KIND),
            ("kOutputCount", pages.FAILURE_OUTPUT_COUNT),
            ("kUnsupported", pages.FAILURE_UNSUPPORTED),
            ("kDestinationPassing", pages.STYLE_DESTINATION_PASSING),
            ("kReturning", pages.STYLE_RETURNING),
        ):
            self.assertRegex(text, rf"\b{name} = {value}\b")

    def test_dtypes(self):
        text = self.header("tensor/dtype.h")
        numbers = {n.lower(): int(v) for n, v in re.findall(r"k(\w+) = (\d+),", text)}
        expected = {name.replace("_", ""): number for name, number in NUMBER_OF_NAME.items()}
        self.assertEqual(numbers, expected)


class FakeEvent:
    """The GPU is at the call, or is not, when the executor looks."""

    def __init__(self, late=()):
        self.late = list(late)
        self.looks = 0

    def record(self):
        pass

    def query(self):
        self.looks += 1
        return self.late.pop(0) if self.late else False

    def elapsed_time(self, end):
        return self.looks  # of the last call


class FakeFlush:
    count = 0

    def zero_(self):
        self.count += 1


class FakeArguments:
    def of_set(self, number):
        return ()


class FakeCandidate:
    keeper = None

    class plan:
        destination_passing = True

    def call(self):
        pass


def fake_gpu_executor(late):
    executor = gpu_executor.GpuExecutor.__new__(gpu_executor.GpuExecutor)
    executor._reset_persisting = lambda: None
    executor._flush, executor._begin, executor._end = FakeFlush(), FakeEvent(late), FakeEvent()
    executor._arguments, executor._candidate = FakeArguments(), FakeCandidate()
    executor._launching = 1e-9, 1.0
    executor._attempts = gpu_executor.ATTEMPTS
    executor._worked = time.perf_counter()
    return executor


class GpuExecutorTest(unittest.TestCase):
    """What of it needs no GPU."""

    def test_a_call_that_the_gpu_waited_for_is_made_again(self):
        with unittest.mock.patch("torch.cuda.synchronize"):
            executor = fake_gpu_executor([True, False])
            self.assertEqual(executor._timed_in_time(0), 2_000_000)
            self.assertEqual(executor._flush.count, gpu_executor.MIN_FLUSHES * 3)
            self.assertEqual(executor._timed_in_time(0), 3_000_000)

    def test_a_call_that_waits_for_the_gpu_is_made_once(self):
        with unittest.mock.patch("torch.cuda.synchronize"):
            executor = fake_gpu_executor([True] * 4 + [False, True, False])
            calls = []
            for _ in range(4):
                executor._timed_in_time(0)
                calls.append(executor._begin.looks)
            # Three times; then once, late, and once in time; then again until it is in time.
            self.assertEqual(calls, [3, 4, 5, 7])

    def test_tensors_lie_where_the_checker_says(self):
        region = device_memory.DeviceRegion.__new__(device_memory.DeviceRegion)
        region._bytes, region._all = torch.arange(256, dtype=torch.uint8), {}
        region._device = torch.device("cpu")
        for dtype, shape, offset in (
            (torch.float32, [2, 3], 64),
            (torch.float16, [3, 1, 2], 128),
            (torch.bool, [5], 192),
            (torch.int64, [], 64),
            (torch.float32, [2, 0], 64),
        ):
            tensor = region.tensor(dtype, shape, offset)
            size = tensor.numel() * dtype.itemsize
            there = region._bytes[offset : offset + size]
            self.assertEqual((list(tensor.shape), tensor.dtype), (shape, dtype))
            self.assertTrue(tensor.is_contiguous())
            self.assertEqual(bytes(tensor.reshape(-1).view(torch.uint8).tolist()), bytes(there.tolist()))
            if size > 0:
                self.assertEqual(tensor.data_ptr(), there.data_ptr())

    def test_the_gpu_is_kept_busy_while_the_host_launches(self):
        flush = 40e-6
        self.assertEqual(gpu_executor.flushes_for(10e-6, flush, 1e-3), gpu_executor.MIN_FLUSHES)
        self.assertEqual(gpu_executor.flushes_for(10e-6, flush, 5e-3), gpu_executor.FLUSHES_AFTER_SHORT_REST)
        self.assertEqual(gpu_executor.flushes_for(10e-6, flush, 16e-3), gpu_executor.FLUSHES_AFTER_REST)
        self.assertEqual(gpu_executor.flushes_for(4e-3, flush, 1e-3), 125)
        self.assertEqual(gpu_executor.next_launching(4e-6, False, 8e-6), 6e-6)
        self.assertEqual(gpu_executor.next_launching(9e-6, False, 8e-6), 9e-6)
        self.assertEqual(gpu_executor.next_launching(4e-6, True, 8e-6), 12e-6)
        self.assertEqual(gpu_executor.flushes_for(1.0, flush, 1e-3), gpu_executor.MAX_FLUSHES)

    def test_both_executors_flush_alike(self):
        path = os.path.join(PYTHON_FOLDER, "../apps/gpu_executor/flushes.h")
        with open(path) as file:
            text = file.read()
        self.assertIn(f"kMin = {gpu_executor.MIN_FLUSHES};", text)
        self.assertIn(f"kAfterShortRest = {gpu_executor.FLUSHES_AFTER_SHORT_REST};", text)
        self.assertIn(f"kAfterRest = {gpu_executor.FLUSHES_AFTER_REST};", text)
        self.assertIn(f"kMaxFlushes = {gpu_executor.MAX_FLUSHES};", text)
        self.assertIn(f"kNoRest = std::chrono::milliseconds({round(1e3 * gpu_executor.NO_REST)});", text)
        self.assertIn(f"kShortRest = std::chrono::milliseconds({round(1e3 * gpu_executor.SHORT_REST)});", text)

    def test_results_come_in_the_order_of_the_outputs(self):
        a, b = torch.zeros(1), torch.ones(1)
        self.assertEqual(gpu_executor.results_of(a, ["a"]), [a])
        self.assertEqual(gpu_executor.results_of({"b": b, "a": a}, ["a", "b"]), [a, b])
        with self.assertRaises(failures.Failed) as raised:
            gpu_executor.results_of((a, b), ["a"])
        self.assertEqual(raised.exception.failure, pages.FAILURE_OUTPUT_COUNT)

    def test_mappings_are_whole_granules(self):
        self.assertEqual(device_memory.contiguous_strides((2, 3, 4)), (12, 4, 1))
        self.assertEqual(device_memory.contiguous_strides(()), ())
        self.assertEqual(device_memory.round_up(0, 4096), 4096)
        self.assertEqual(device_memory.round_up(4096, 4096), 4096)
        self.assertEqual(device_memory.round_up(4097, 4096), 8192)

    def test_the_times_lie_where_the_checker_reads_them(self):
        view = bytearray(pages.REPLY_BYTES)
        page = pages.ReplyPage(memoryview(view))
        page.device_times[0], page.device_times[1] = 7, 9
        self.assertEqual(view[88], 7)
        self.assertEqual(view[96], 9)

    def test_a_state_is_restored_whatever_its_version_says(self):
        module = torch.nn.BatchNorm1d(2)
        keeper = modules.StateKeeper(module, {"weight": module.weight.detach().clone()})
        with torch.no_grad():
            module.weight.data.fill_(5)
            keeper.restore_all()
        self.assertEqual(module.weight.tolist(), [1.0, 1.0])


if __name__ == "__main__":
    unittest.main()
