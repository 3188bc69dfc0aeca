"""What the checks of integrations share: a problem, answers to it, and what each is paid without timing."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROBLEM = "relu"
OPTIONS = {"timing": False, "store_evidence": False}
RIGHT, WRONG = (f"```cpp\n{(ROOT / 'examples' / 'relu' / name).read_text()}```" for name in ("good.cpp", "wrong.cpp"))
BROKEN, EMPTY = "```cpp\nint\n```", "I do not know."
PAID = {RIGHT: 0.3, WRONG: 0.0, BROKEN: 0.0, EMPTY: 0.0}
