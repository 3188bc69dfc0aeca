# Operations of a reference; on a GPU also the rates that they are held against.
import subprocess
import sys
import unittest

import torch

import support  # the path to the leaves

import roofline


class CountFlops(unittest.TestCase):
    def test_products_and_convolutions_count_two_a_multiplication(self):
        a, b = torch.randn(8, 16), torch.randn(16, 4)
        self.assertEqual(roofline.count_flops(lambda: torch.relu(a @ b + 1)), 2 * 8 * 16 * 4)
        x, w = torch.randn(1, 3, 8, 8), torch.randn(5, 3, 3, 3)
        self.assertEqual(roofline.count_flops(lambda: torch.nn.functional.conv2d(x, w)), 2 * 5 * 3 * 9 * 36)

    def test_elementwise_work_has_none(self):
        self.assertEqual(roofline.count_flops(lambda: torch.softmax(torch.randn(4, 4), 1)), 0)


    def test_they_are_those_that_torch_counts(self):
        from torch.utils.flop_counter import FlopCounterMode

        query = torch.randn(2, 4, 16, 32)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        works = {
            "a layer": lambda: layer(query[0]),
            "linear": lambda: torch.nn.functional.linear(query, torch.randn(5, 32), torch.randn(5)),
            "einsum": lambda: torch.einsum("bhij,bhkj->bhik", query, query),
            "transposed convolution": lambda: torch.nn.functional.conv_transpose1d(query[0], torch.randn(16, 3, 4)),
        }
        for name, work in works.items():
            with FlopCounterMode(display=False) as counter:
                work()
            self.assertGreater(counter.get_total_flops(), 0, name)
            self.assertEqual(roofline.count_flops(work), counter.get_total_flops(), name)

    def test_counting_imports_nothing_of_torch_compile(self):
        program = "import sys, torch, roofline\nroofline.count_flops(lambda: torch.ones(4, 4) @ torch.ones(4, 4))\nprint('torch._dynamo' in sys.modules)"
        ended = subprocess.run([sys.executable, "-c", program], cwd=support.PYTHON_FOLDER, capture_output=True, text=True, check=True)
        self.assertEqual(ended.stdout.strip(), "False")


class ProductDtype(unittest.TestCase):
    def test_is_the_first_floating_one(self):
        self.assertIs(roofline.product_dtype([torch.int64, torch.bfloat16, torch.float32]), torch.bfloat16)
        self.assertIsNone(roofline.product_dtype([torch.int32]))


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class Rates(unittest.TestCase):
    def test_are_those_of_a_gpu(self):
        given = torch.randn(512, 512, device="cuda")
        facts = roofline.measure(lambda: given @ given, torch.device("cuda", 0), [torch.float32])
        self.assertEqual(facts["flops"], 2 * 512**3)
        self.assertEqual(facts["precision"], "float32")
        self.assertGreater(facts["bytes_per_second"], 1e11)
        self.assertGreater(facts["flops_per_second"], 1e12)


if __name__ == "__main__":
    unittest.main()
