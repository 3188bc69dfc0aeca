# The executor with modules: construction, state, and its restoration before each call.
import unittest

import torch
from torch import nn

from checker import ExecutorTest, of, tensor_argument

import pages

LINEAR = """
import torch
from torch import nn
class ModelNew(nn.Module):
    def __init__(self, width, shape, scale=1.0):
        super().__init__()
        assert shape == (3, 3) and self.training
        self.fc = nn.Linear(width, width)
        self.scale = scale
    def forward(self, x):
        return self.fc(x) * self.scale
"""


def module(source, x, out, statics=(), **setup):
    setup = {"kind": "module", "entry": "ModelNew", **setup}
    return (source, [of("x", x)], [of("y", out, "output")], statics), setup


def static(key, tensor, is_buffer=False):
    name = key.replace(".", "_")
    return of(name, tensor, "static", state_key=key, is_buffer=is_buffer), tensor


class ModuleTest(ExecutorTest):
    def test_the_seed_makes_the_parameters(self):
        x = torch.randn(4, 8)
        args, setup = module(LINEAR, x, x, init_args="[8, (3, 3), 0.5]", param_seed=7)
        checker = self.prepared(*args, **setup)
        torch.manual_seed(7)
        fc = nn.Linear(8, 8)
        self.assertTrue(checker.call([x]))
        torch.testing.assert_close(checker.returned(), (fc(x) * 0.5).detach())

    def test_without_handed_over_state_the_seed_decides_and_calls_change_it(self):
        source = """
import torch
from torch import nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8))
    def forward(self, x):
        self.w.data += 1
        return x * self.w
"""
        x = torch.randn(4, 8)
        args, setup = module(
            source, x, x, [static("w", torch.zeros(8))], param_seed=42, hand_over_state=False
        )
        checker = self.prepared(*args, **setup)
        torch.manual_seed(42)
        w = torch.randn(8)
        for number in (1, 2):
            self.assertTrue(checker.call([x]))
            torch.testing.assert_close(checker.returned(), x * (w + number))

    def test_private_inputs_may_be_written_to(self):
        source = """
from torch import nn
class ModelNew(nn.Module):
    def forward(self, x):
        out = x * 2
        x.zero_()
        return out
"""
        x = torch.randn(4, 8)
        args, setup = module(source, x, x, private_inputs=True)
        checker = self.prepared(*args, **setup)
        before = bytes(checker.files["in0"].map)
        self.assertTrue(checker.call([x]))
        torch.testing.assert_close(checker.returned(), x * 2)
        self.assertIn(x.numpy().tobytes(), bytes(checker.files["in0"].map))
        self.assertNotEqual(before, bytes(checker.files["in0"].map))

    def test_keyword_arguments_of_the_kernelbook_form(self):
        x = torch.randn(4, 8)
        args, setup = module(LINEAR, x, x, init_args="[[8], {'shape': (3, 3), 'scale': 2.0}]")
        checker = self.prepared(*args, **setup)
        self.assertTrue(checker.call([x]))

    def test_given_state_is_copied_where_names_and_shapes_agree(self):
        x, weight, bias = torch.randn(4, 8), torch.randn(8, 8), torch.randn(8)
        statics = [static("fc.weight", weight), static("fc.bias", bias)]
        statics += [static("gone", bias), static("fc.other.weight", weight)]
        args, setup = module(LINEAR, x, x, statics, init_args="[8, (3, 3)]")
        checker = self.prepared(*args, **setup)
        self.assertTrue(checker.call([x]))
        torch.testing.assert_close(checker.returned(), x @ weight.t() + bias)

    def test_prepare_sees_the_given_state(self):
        source = LINEAR + (
            "    def prepare(self):\n        self.fc.weight.mul_(2)\n"
            "        del self.fc.bias\n        self.fc.bias = None\n"
        )
        x, weight = torch.randn(4, 8), torch.randn(8, 8)
        statics = [static("fc.weight", weight), static("fc.bias", torch.ones(8))]
        args, setup = module(source, x, x, statics, init_args="[8, (3, 3)]")
        checker = self.prepared(*args, **setup)
        for _ in range(2):
            self.assertTrue(checker.call([x]))
            torch.testing.assert_close(checker.returned(), x @ weight.t() * 2)

    def test_changed_state_is_restored_before_each_call(self):
        source = """
import torch
from torch import nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
        self.register_buffer("count", torch.zeros(8))
        self.register_buffer("replaced", torch.zeros(8))
    def forward(self, x):
        before = self.norm.running_mean + self.count + self.replaced
        self.norm(x)
        self.count += 1
        self.replaced = self.replaced + 1
        return before.expand(4, 8).contiguous()
"""
        x = torch.randn(4, 8)
        mean, count, replaced = torch.randn(3, 8)
        statics = [
            static("norm.running_mean", mean, True),
            static("count", count, True),
            static("replaced", replaced, True),
        ]
        args, setup = module(source, x, x, statics)
        checker = self.prepared(*args, **setup)
        expected = (mean + count + replaced).expand(4, 8)
        for _ in range(3):
            # Within the first launch nothing is known yet of batch norm's silent change.
            self.assertTrue(checker.call([x]))
            self.assertTrue(checker.call([x], [x]))
            torch.testing.assert_close(checker.returned(0), expected)
            torch.testing.assert_close(checker.returned(1), expected)

    def test_train_mode_batch_norm(self):
        source = """
from torch import nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
    def forward(self, x):
        return self.norm(x)
"""
        x, weight = torch.randn(16, 8), torch.rand(8) + 0.5
        args, setup = module(source, x, x, [static("norm.weight", weight)])
        checker = self.prepared(*args, **setup)
        norm = nn.BatchNorm1d(8)
        norm.weight.data.copy_(weight)
        for _ in range(2):
            self.assertTrue(checker.call([x]))
            torch.testing.assert_close(checker.returned(), norm(x).detach())

    def test_a_large_parameter_of_the_outputs_size_stays_out_of_the_arena(self):
        source = """
import torch
from torch import nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(64, 64))
    def forward(self, x):
        return x @ self.w
"""
        x, w = torch.randn(64, 64), torch.randn(64, 64)
        args, setup = module(source, x, x, [static("w", w)])
        checker = self.prepared(*args, **setup)
        checker.files["arena"].map[:] = bytes(checker.files["arena"].size)
        self.assertTrue(checker.call([x]))
        torch.testing.assert_close(checker.returned(), x @ w)

    def test_compiled_module(self):
        x, weight = torch.randn(4, 8), torch.randn(8, 8)
        statics = [static("fc.weight", weight), static("fc.bias", torch.zeros(8))]
        args, setup = module(LINEAR, x, x, statics, init_args="[8, (3, 3)]", compilation="compile")
        checker = self.prepared(*args, **setup)
        self.assertTrue(checker.call([x]))
        torch.testing.assert_close(checker.returned(), x @ weight.t())

    def test_an_error_in_the_constructor(self):
        x = torch.ones(4)
        args, setup = module(LINEAR, x, x, init_args="[8, 9]")
        checker = self.start(*args, **setup)
        self.assertFalse(checker.prepare())
        self.assertEqual(checker.words()[1], pages.FAILURE_EXCEPTION)
        self.assertIn("assert shape == (3, 3)", checker.leaf.log)

    def test_scalars_of_get_inputs(self):
        source = "class ModelNew:\n    def __call__(self, x, n):\n        return x * n\n"
        x = torch.ones(4)
        n = {"name": "n", "role": "scalar", "dtype": "int64", "shape": [], "value": 3}
        outputs = [tensor_argument("y", "float32", [4], "output")]
        checker = self.prepared(
            source, [of("x", x), n], outputs, kind="module", entry="ModelNew"
        )
        self.assertTrue(checker.call([x]))
        self.assertEqual(checker.returned().tolist(), [3.0] * 4)


if __name__ == "__main__":
    unittest.main()
