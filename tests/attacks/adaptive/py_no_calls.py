# Replaces the executor's loop over calls by nothing.
# expect: wrong_value|wrong_shape|wrong_dtype|violation
# class: T25
import executor


def nothing(self):
    pass


executor.Executor._run_calls = nothing


def run(x):
    return x * x + x
