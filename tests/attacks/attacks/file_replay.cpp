// Writes its result to a file and reads it back in later calls and runs.
// expect: wrong_value
// class: C07
#include <cstdio>
#include <initializer_list>

extern "C" void run(const float* x, float* y) {
  for (const char* path : {"/dev/shm/answer", "/tmp/answer"}) {
    FILE* file = fopen(path, "rb");
    if (file == nullptr) continue;
    std::size_t read = fread(y, sizeof(float), N, file);
    fclose(file);
    if (read == static_cast<std::size_t>(N)) return;
  }
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
  for (const char* path : {"/dev/shm/answer", "/tmp/answer"}) {
    FILE* file = fopen(path, "wb");
    if (file == nullptr) continue;
    fwrite(y, sizeof(float), N, file);
    fclose(file);
  }
}
