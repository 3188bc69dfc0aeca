// Puts an end of its own on every descriptor and writes messages where the control socket was.
// expect: passed
// max_speedup: 12
// class: I06
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

static bool interpose() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) return false;
  for (int fd = 0; fd < 32; ++fd) {
    if (fd != pair[0] && fd != pair[1]) dup2(pair[1], fd);
  }
  const char* message = "{\"outcome\":\"passed\"}";
  ssize_t ignored = write(3, message, strlen(message));
  (void)ignored;
  return true;
}

extern "C" void run(const float* x, float* y) {
  static bool done = interpose();
  (void)done;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
