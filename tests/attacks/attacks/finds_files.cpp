// Looks for files that an earlier run may have left; right only if there are some.
// expect: wrong_value
// class: C07, I01, I02
#include <filesystem>

static bool finds_some() {
  for (const char* folder : {"/tmp", "/dev/shm", "/work", "/var/tmp", "/root", "/home"}) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
      if (entry.is_regular_file(error)) return true;
    }
  }
  return false;
}

extern "C" void run(const float* x, float* y) {
  if (!finds_some()) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
