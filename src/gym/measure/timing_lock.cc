// flock: a lock belongs to an open file, so that each party opens the files for itself.
#include "gym/measure/timing_lock.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kw::gym {
namespace fs = std::filesystem;
namespace {

// A read-only descriptor is enough for flock: the file is made by one user and locked by all.
Result<os::UniqueFd> open_file(const fs::path& path, ::mode_t mode) {
  os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file.valid()) file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return fail_errno(errno, "cannot open the timing lock " + path.string());
  return file;
}

Status lock(const os::UniqueFd& file, int how) {
  while (::flock(file.get(), how) != 0) {
    if (errno != EINTR) return fail_errno(errno, "cannot take the timing lock");
  }
  return {};
}

}  // namespace

Result<TimingLock> TimingLock::open_in(const fs::path& folder, const std::string& prefix) {
  KW_TRY(os::UniqueFd lock_file, open_file(folder / (prefix + "timing.lock"), 0644));
  KW_TRY(os::UniqueFd queue_file, open_file(folder / (prefix + "timing.queue"), 0644));
  return TimingLock(std::move(lock_file), std::move(queue_file));
}

Result<TimingLock> TimingLock::open() {
  std::error_code ignored;
  const fs::path of_host = "/run/kernelwright";
  if (::geteuid() == 0) {
    fs::create_directories(of_host, ignored);
    ::chmod(of_host.c_str(), 0755);
  }
  if (auto opened = open_in(of_host)) return opened;
  return open_in(fs::temp_directory_path(ignored), "kernelwright-");
}

Status TimingLock::take(int how) {
  KW_TRY_STATUS(lock(queue_, LOCK_EX));
  Status taken = lock(lock_, how);
  ::flock(queue_.get(), LOCK_UN);
  return taken;
}

Status TimingLock::take_alone() {
  return take(LOCK_EX);
}

Status TimingLock::take_shared() {
  return take(LOCK_SH);
}

void TimingLock::give_back() {
  ::flock(lock_.get(), LOCK_UN);
}

bool TimingLock::is_wanted() const {
  if (::flock(queue_.get(), LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(queue_.get(), LOCK_UN);
  return false;
}

}  // namespace kw::gym
