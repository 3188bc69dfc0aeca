// AuditLog: a line of JSON for each thing that a caller asked for. The file only grows.
#pragma once
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "os/fd.h"
#include "service/tokens.h"

namespace kw::service {

// Any thread. A line is written at once, but not synced: a loss of power may take the last ones.
class AuditLog {
 public:
  // Makes the file, readable by its owner only.
  static Result<std::unique_ptr<AuditLog>> open(const std::filesystem::path& path);

  // A line that cannot be written is lost: tasks go on.
  void add(std::string_view time, const Identity& who, std::string_view action,
           const Json& details);

 private:
  explicit AuditLog(os::UniqueFd file) : file_(std::move(file)) {}

  std::mutex mutex_;
  const os::UniqueFd file_;
};

}  // namespace kw::service
