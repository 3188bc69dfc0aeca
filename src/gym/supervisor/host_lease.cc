// flock and freezing of others.
#include "gym/supervisor/host_lease.h"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

namespace kw::gym {

Result<std::unique_ptr<HostLease>> HostLease::open(Launchers* launchers) {
  std::error_code ignored;
  std::string path = "/run/kernelwright";
  if (::geteuid() == 0) {
    std::filesystem::create_directories(path, ignored);
    ::chmod(path.c_str(), 0755);
  }
  // The file is made by root and only locked by others: a read-only descriptor is enough for flock.
  os::UniqueFd file(
      ::open((path + "/timing.lock").c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.valid())
    file.reset(::open((path + "/timing.lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) {
    path = (std::filesystem::temp_directory_path(ignored) / "kernelwright-timing.lock").string();
    file.reset(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file.valid()) file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  }
  if (!file.valid()) return fail_errno(errno, "cannot open the timing lock " + path);
  return std::unique_ptr<HostLease>(new HostLease(std::move(file), launchers));
}

Status HostLease::acquire(const std::vector<const sandbox::Sandbox*>& keep_running) {
  exclusive_.lock();
  while (::flock(lock_file_.get(), LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    int error = errno;
    exclusive_.unlock();
    return fail_errno(error, "cannot take the timing lock");
  }
  if (auto frozen = launchers_->freeze_others(keep_running); !frozen)
    log::debug(frozen.error().message());
  return {};
}

void HostLease::release() {
  if (auto thawed = launchers_->thaw_others(); !thawed) log::warning(thawed.error().message());
  ::flock(lock_file_.get(), LOCK_UN);
  exclusive_.unlock();
}

}  // namespace kw::gym
