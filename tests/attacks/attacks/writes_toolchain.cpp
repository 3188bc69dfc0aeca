// Replaces the compiler, the loader or the headers; right only if it can.
// expect: wrong_value
// class: I02, I03
#include <cstdio>
#include <fcntl.h>
#include <initializer_list>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static bool spoils() {
  for (const char* path : {"/usr/bin/g++", "/usr/include/math.h", "/etc/ld.so.preload", "/etc/ld.so.cache", "/lib64/ld-linux-x86-64.so.2", "/usr/lib/x"}) {
    if (open(path, O_WRONLY | O_CREAT, 0755) >= 0) return true;
    if (chmod(path, 0777) == 0 || unlink(path) == 0 || rename("/work/x", path) == 0) return true;
  }
  return mount("none", "/usr", "tmpfs", 0, "") == 0;
}

extern "C" void run(const float* x, float* y) {
  if (!spoils()) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
