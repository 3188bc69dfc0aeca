// IntentFile: the leases that a worker has, in a file, so that whoever starts after its sudden
// death can tell the server at once, and the tasks need not wait until their leases are over.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace kw::service {

struct Intent {
  std::string task = {};
  std::int64_t epoch = 0;
  bool operator==(const Intent&) const = default;
};

// Thread-safe.
class IntentFile {
 public:
  // An empty path keeps nothing. kAlreadyExists while another worker has the file. What cannot be
  // read counts as no lease, as these end by themselves.
  static Result<std::unique_ptr<IntentFile>> open(std::filesystem::path path);

  // The worker before left these.
  const std::vector<Intent>& left() const { return left_; }
  Status put(const Intent& intent);
  Status remove(const std::string& task);

 private:
  explicit IntentFile(std::filesystem::path path) : path_(std::move(path)) {}
  Status write();

  const std::filesystem::path path_;
  os::UniqueFd lock_;
  std::vector<Intent> left_;
  std::mutex mutex_;  // guards held_ and the file
  std::vector<Intent> held_;
};

}  // namespace kw::service
