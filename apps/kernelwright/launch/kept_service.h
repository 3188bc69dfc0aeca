// A server and its workers as processes that are kept running.
#pragma once
#include <vector>

#include "base/result.h"
#include "kernelwright/launch/kept_processes.h"
#include "kernelwright/services.h"

namespace kw::front {

inline constexpr const char* kServerProcess = "server";

// Until it is asked to stop. The URL that the process kServerProcess prints goes to stdout, what
// happens to processes to stderr. An error when one fails again and again.
Result<int> keep_service(const std::vector<KeptProcess>& processes, const Services& services);

}  // namespace kw::front
