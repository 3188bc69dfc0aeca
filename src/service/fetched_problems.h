// FetchedProblems: the problems of a worker's tasks, each asked of the server once.
#pragma once
#include <cstddef>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "service/service_client.h"
#include "task/problem.h"

namespace kw::service {

// Thread-safe. The client must outlive it.
class FetchedProblems {
 public:
  explicit FetchedProblems(ServiceClient& client) : client_(client) {}

  // A task::ProblemReader: a reference is looked up, or fetched with the client's patience.
  // kDataLoss when the server gives another problem.
  Result<task::Problem> read(const Json& value, const std::string& where,
                             const std::stop_token& stop);

 private:
  static constexpr std::size_t kMaxProblems = 32;
  Result<task::Problem> fetch(const std::string& hash, const std::stop_token& stop);

  ServiceClient& client_;
  std::mutex mutex_;
  std::list<task::Problem> problems_;  // guarded by mutex_; the one that was wanted last is first
};

}  // namespace kw::service
