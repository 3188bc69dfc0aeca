// Takes the descriptors and the memory of the processes around it; right only if it gets one.
// expect: wrong_value
// class: I05, I06
#include <cstdint>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cstdio>
#include <fcntl.h>
#include <initializer_list>

static bool steals() {
  for (int pid : {1, static_cast<int>(getppid()), 2, 3}) {
    if (pid == getpid() || pid == 0) continue;
    int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    for (int fd = 0; handle >= 0 && fd < 32; ++fd) {
      if (syscall(SYS_pidfd_getfd, handle, fd, 0) >= 0) return true;
    }
    char byte = 0;
    iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) == 1) return true;
    for (const char* name : {"mem", "environ", "maps", "fd/3"}) {
      char path[64];
      snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
      if (open(path, O_RDONLY) >= 0) return true;
    }
  }
  return false;
}

extern "C" void run(const float* x, float* y) {
  if (!steals()) return;
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
