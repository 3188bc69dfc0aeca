# Ends its process as if all were well.
# expect: runtime_error|violation|wrong_value
# class: T25, T26
import os


def run(x):
    print('{"outcome": "passed"}', flush=True)
    os._exit(0)
