# Warns and logs.
# expect: passed
# looks like: forged output
import logging
import warnings

logging.basicConfig(level=logging.INFO)
logging.getLogger("kernel").info("correct: True")
warnings.warn("outcome: passed", stacklevel=1)


def run(x):
    return x * x + x
