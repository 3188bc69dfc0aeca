// Asks a server for the answer; right only if it gets a socket.
// expect: wrong_value
// class: B09
#include <sys/socket.h>

extern "C" void run(const float* x, float* y) {
  if (socket(AF_INET, SOCK_STREAM, 0) < 0 && socket(AF_INET6, SOCK_DGRAM, 0) < 0 && socket(AF_VSOCK, SOCK_STREAM, 0) < 0) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
