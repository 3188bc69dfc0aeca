// The end of a process that found a bug of ours.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace kw {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "kernelwright: internal error at %s:%d: %s is false\n", file, line,
               condition);
  std::abort();
}

}  // namespace kw
