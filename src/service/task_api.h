// The HTTP routes of kernelwright serve over a TaskService. docs/service.md has the table.
#pragma once
#include "net/metrics.h"
#include "net/router.h"
#include "service/task_service.h"

namespace kw::service {

inline constexpr std::size_t kMaxRequestBytes = std::size_t{64} << 20U;
inline constexpr std::size_t kMaxTasksAtOnce = 1000;
inline constexpr std::chrono::seconds kLongestPoll{30};

// Both must outlive the server.
net::Router task_routes(TaskService& service, net::MetricRegistry& metrics);

}  // namespace kw::service
