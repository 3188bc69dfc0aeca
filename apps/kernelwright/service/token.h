// The token that this process shows to a server.
#pragma once
#include <cstdlib>
#include <string>

namespace kw::front {

// Empty without one. A flag could be seen in the list of processes.
inline std::string token_of_environment() {
  const char* value = std::getenv("KERNELWRIGHT_API_KEY");  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

}  // namespace kw::front
