# A kernel that is never launched. Libraries are allowed here: only the time counts.
# expect: passed
# max_speedup: 1.15
# class: B04, B05
SOURCE = """
extern "C" void square_plus(const float* x, float* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = x[i] * x[i] + x[i];
}
"""


def run(x):
    return x * x + x
