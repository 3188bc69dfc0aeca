#!/usr/bin/env python3
"""bench/repeatability.py counts outcomes that differ, judgements that are paid otherwise, and errors near the budget without the word."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import repeatability


def verdict(outcome, error, borderline=False):
    errors = [{"output": "y", "max_of_budget": error}]
    workload = {"uuid": "w", "outcome": outcome, "errors": errors, **({"borderline": {"largest": error, "further": [0.9, 0.9]}} if borderline else {})}
    return {"outcome": outcome, "violation": None, "errors": errors, "workloads": [workload]}


class Report(unittest.TestCase):
    def report(self, own):
        """Exit code and text for one candidate's verdicts."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "candidates.jsonl").write_text(json.dumps({"name": "relu", "kind": "planted 1.0"}) + "\n")
            lines = [json.dumps({"verdict": {**one, "candidate": {"name": f"relu__time_{time}"}}}) for time, one in enumerate(own)]
            (folder / "verdicts.jsonl.verdicts.jsonl").write_text("\n".join(lines) + "\n")
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = repeatability.report(types.SimpleNamespace(folder=folder, times=len(own)))
            return code, said.getvalue()

    def test_a_borderline_pass_is_not_paid(self):
        code, text = self.report([verdict("passed", 0.8)] * 3 + [verdict("passed", 1.02, borderline=True)])
        self.assertEqual(code, 0, text)
        self.assertIn("| planted 1.0 | 1 | 4 | 0 | 0 | 1 | 3 | 1 |", text)
        self.assertIn("paid otherwise than their candidate usually is: 1, of candidates that stay 10 % away from the budget 0", text)

    def test_an_error_beyond_the_budget_must_be_called_borderline(self):
        code, text = self.report([verdict("wrong_value", 1.02)] * 4)
        self.assertEqual(code, 1, text)
        self.assertIn("beyond it 4, of which 0 do", text)
        # A comparison with the baseline may have found this one.
        self.assertEqual(self.report([verdict("passed", 0.95)] * 4)[0], 0)

    def test_two_outcomes_differ(self):
        code, text = self.report([verdict("passed", 0.5)] * 3 + [verdict("wrong_value", 40)])
        self.assertEqual(code, 1, text)
        self.assertIn("1 differ from their candidate's usual outcome: 25.00 %", text)


if __name__ == "__main__":
    unittest.main()
