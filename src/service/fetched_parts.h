// FetchedParts: the problems and baselines of a worker's tasks, each asked of the server once.
#pragma once
#include <cstddef>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "service/service_client.h"
#include "service/work.h"
#include "task/candidate.h"
#include "task/problem.h"

namespace kw::service {

// Thread-safe. The client must outlive it.
class FetchedParts {
 public:
  explicit FetchedParts(ServiceClient& client) : client_(client) {}

  // They look a reference up, or fetch it with the client's patience until the stop. kDataLoss when
  // the server gives another one. They borrow both.
  WorkReaders readers(const std::stop_token& stop);

 private:
  static constexpr std::size_t kMaxOfAKind = 32;
  template <typename T>
  using List = std::list<T>;  // the one that was wanted last is first
  template <typename T>
  struct Kind {
    const char *name, *folder;  // "problem", "/v1/problems/"
    Result<T> (*from_json)(const Json& value, const std::string& where);
    List<T>& kept;
  };
  template <typename T>
  Result<T> fetch(const Kind<T>& kind, const std::string& hash, const std::stop_token& stop);
  template <typename T>
  Result<T> read(const Kind<T>& kind, const Json& value, const std::string& where,
                 const std::stop_token& stop);

  ServiceClient& client_;
  std::mutex mutex_;
  // Guarded by mutex_.
  List<task::Problem> problems_;
  List<task::Candidate> baselines_;
};

}  // namespace kw::service
