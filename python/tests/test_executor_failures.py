# The executor with candidates that fail: exceptions, wrong kinds of results, crashes.
import signal
import unittest

import torch

from checker import ExecutorTest, of

import pages

X = torch.arange(64.0)
ONE = [of("x", X)], [of("y", X, "output")]


class LoadTest(ExecutorTest):
    def failure_of(self, source, **setup):
        checker = self.start(source, *ONE, **setup)
        self.assertFalse(checker.wait_ready())
        self.assertEqual(checker.leaf.wait(), 1)
        return checker.words()[1], checker.leaf.log

    def test_syntax_error(self):
        failure, log = self.failure_of("def run(x):\n    return x +\n")
        self.assertEqual(failure, pages.FAILURE_LOAD)
        self.assertIn("SyntaxError", log)
        self.assertIn("return x +", log)

    def test_error_while_loading(self):
        failure, log = self.failure_of("import no_such_module_at_all\n")
        self.assertEqual(failure, pages.FAILURE_LOAD)
        self.assertIn("no_such_module_at_all", log)

    def test_exit_while_loading(self):
        self.assertEqual(self.failure_of("import sys\nsys.exit(0)\n")[0], pages.FAILURE_LOAD)

    def test_no_entry(self):
        failure, log = self.failure_of("def start(x):\n    return x\n")
        self.assertEqual(failure, pages.FAILURE_ENTRY_MISSING)
        self.assertIn("main.py has no run", log)

    def test_parameters_that_fit_neither_style(self):
        failure, log = self.failure_of("def run(a, b, c):\n    return a\n")
        self.assertEqual(failure, pages.FAILURE_ENTRY_MISSING)
        self.assertIn("run(a, b, c)", log)
        self.assertIn("expected 1 parameters (x)", log)

    def test_paths_stay_in_the_folder(self):
        failure, log = self.failure_of(
            {"main.py": "def run(x):\n    return x\n", "../other.py": "1"}
        )
        self.assertEqual(failure, pages.FAILURE_LOAD)
        self.assertIn("leaves", log)


class HeadlineTest(ExecutorTest):
    def test_the_exception_and_the_candidates_line_come_first(self):
        files = {
            "main.py": "from kernels.add import plus\ndef run(x):\n    return plus(x)\n",
            "kernels/add.py": "import torch\ndef plus(x):\n    return torch.add(x, torch.ones(3, 5))\n",
        }
        checker = self.prepared(files, *ONE)
        self.assertFalse(checker.call([X]))
        checker.leaf.wait()
        first, second, third = checker.leaf.log.splitlines()[:3]
        self.assertTrue(first.startswith("RuntimeError: The size of tensor a"), first)
        line = "return torch.add(x, torch.ones(3, 5))"
        self.assertEqual(second, f"  at kernels/add.py:3 in plus: {line}")
        self.assertTrue(third.startswith("Traceback"), third)


class CallTest(ExecutorTest):
    def failure_of(self, body, head=""):
        checker = self.prepared(f"import torch\n{head}\ndef run(x):\n    {body}\n", *ONE)
        self.assertFalse(checker.call([X], [X]))
        checker.leaf.wait()
        return checker.words()[1], checker.leaf.log

    def test_exception_with_its_source_line(self):
        failure, log = self.failure_of("return x @ torch.ones(3)  # too short")
        self.assertEqual(failure, pages.FAILURE_EXCEPTION)
        self.assertIn("# too short", log)
        self.assertIn("RuntimeError", log)
        self.assertNotIn("executor.py", log)

    def test_the_call_that_failed_is_told(self):
        head = "calls = 0"
        body = "global calls; calls += 1; assert calls < 2; return x"
        checker = self.prepared(f"{head}\ndef run(x):\n    {body}\n", *ONE)
        self.assertFalse(checker.call([X], [X], [X]))
        self.assertEqual(checker.words()[6], 1)

    def test_exit_is_an_exception(self):
        self.assertEqual(self.failure_of("raise SystemExit(0)")[0], pages.FAILURE_EXCEPTION)

    def test_a_long_text_is_shortened(self):
        failure, log = self.failure_of("raise ValueError('a' * 10_000_000 + 'the end')")
        self.assertEqual(failure, pages.FAILURE_EXCEPTION)
        self.assertLess(len(log), 20_000)
        self.assertIn("the end", log)

    def test_an_exception_that_cannot_be_shown(self):
        head = "class Odd(Exception):\n    def __str__(self):\n        raise KeyError(1)\n"
        self.assertEqual(self.failure_of("raise Odd()", head)[0], pages.FAILURE_EXCEPTION)

    def test_results_that_are_no_dense_cpu_tensors(self):
        subclass = "class Sub(torch.Tensor): pass\n"
        for body in (
            "return None",
            "return 1.0",
            "return {'y': [x]}",
            "return [x.tolist()]",
            "return x.to_sparse()",
            "return x.to('meta')",
            "return x.as_subclass(Sub)",
            "return torch._to_functional_tensor(x.clone())",
            "return x.to(torch.complex64)",
            "return torch.quantize_per_tensor(x, 1.0, 0, torch.quint8)",
            "return x.view([1] * 9 + [64])",
        ):
            with self.subTest(body):
                failure, log = self.failure_of(body, subclass)
                self.assertEqual(failure, pages.FAILURE_OUTPUT_KIND, log)
                self.assertNotIn("Traceback", log)

    def test_a_wrong_number_of_outputs(self):
        for body in ("return x, x", "return ()"):
            self.assertEqual(self.failure_of(body)[0], pages.FAILURE_OUTPUT_COUNT)

    def test_no_room_for_a_single_output(self):
        x = torch.zeros(1 << 20)
        checker = self.prepared(
            "def run(x): return x", [of("x", x)], [of("y", x, "output")], arena=1 << 20, buffer=8 << 20
        )
        self.assertFalse(checker.call([x]))
        self.assertEqual(checker.words()[1], pages.FAILURE_UNSUPPORTED)


class CrashTest(ExecutorTest):
    def crash(self, body):
        checker = self.prepared(f"import torch, ctypes\ndef run(x):\n    {body}\n", *ONE)
        self.assertFalse(checker.call([X]))
        return checker, checker.leaf.wait()

    def test_a_write_to_an_input_is_recorded(self):
        for body in ("return x.add_(1)", "x[5] = 1; return x", "ctypes.memset(x.data_ptr(), 0, 8)"):
            with self.subTest(body):
                checker, code = self.crash(body)
                self.assertEqual(code, -signal.SIGSEGV)
                _, _, _, number, address, on_input, call = checker.words()
                self.assertEqual((number, on_input, call), (signal.SIGSEGV, 1, 0))
                self.assertNotEqual(address, 0)
                self.assertIn("in run", checker.leaf.log)

    def test_another_bad_address_is_no_write_to_an_input(self):
        checker, code = self.crash("ctypes.memset(16, 0, 8)")
        self.assertEqual(code, -signal.SIGSEGV)
        self.assertEqual(checker.words()[3:6], (signal.SIGSEGV, 16, 0))

    def test_a_signal_that_was_sent_is_no_write_to_an_input(self):
        checker, code = self.crash("import os; os.kill(os.getpid(), 11)")
        self.assertEqual(code, -signal.SIGSEGV)
        self.assertEqual(checker.words()[3:6], (signal.SIGSEGV, 0, 0))


if __name__ == "__main__":
    unittest.main()
