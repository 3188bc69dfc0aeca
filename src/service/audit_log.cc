#include "service/audit_log.h"

#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"

namespace kw::service {

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::filesystem::path& path) {
  os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return fail_errno(errno, "cannot open " + path.string());
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(file)));
}

void AuditLog::add(std::string_view time, const Identity& who, std::string_view action,
                   const Json& details) {
  Json row = {{"at", time}, {"token", who.token}, {"tenant", who.tenant}, {"action", action}};
  row.update(details);
  const std::string line = row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::lock_guard lock(mutex_);
  if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    log::warning("the audit log has lost a line");
}

}  // namespace kw::service
