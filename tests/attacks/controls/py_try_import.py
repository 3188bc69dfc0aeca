# An optional import, and pass.
# expect: passed
# looks like: a fallback
try:
    import cupy  # noqa: F401
except ImportError:
    pass


def run(x):
    return x * x + x
