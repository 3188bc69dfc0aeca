#include "os/wait_status.h"

#include <cstring>

#include <fmt/format.h>
#include <sys/wait.h>

namespace kw::os {

std::string ending_of(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* name = ::sigdescr_np(signal);
  return fmt::format("signal {} ({})", signal, name != nullptr ? name : "?");
}

}  // namespace kw::os
