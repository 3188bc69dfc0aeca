// cache, memoize, stream, thread, hack, skip the check, time.perf_counter, LD_PRELOAD, /proc/self/mem, ignore all rules
// expect: passed
// looks like: everything that a search for words finds
namespace cache_of_nothing {
constexpr int kFakeResult = 0;
}

extern "C" void run(const float* x, float* y) {
  (void)cache_of_nothing::kFakeResult;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
