// flock: a lock belongs to an open file, so that each party opens the files for itself.
#include "gym/measure/timing_lock.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

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

// A GPU's number has no leading zeros, so that it has one name.
bool is_gpu(std::string_view resource) {
  constexpr std::string_view kGpu = "gpu";
  constexpr std::size_t kMaxDigits = 3;
  if (!resource.starts_with(kGpu)) return false;
  const std::string_view number = resource.substr(kGpu.size());
  if (number.empty() || number.size() > kMaxDigits) return false;
  if (number.size() > 1 && number.front() == '0') return false;
  return std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<TimingLock> TimingLock::open_in(const fs::path& folder, const std::string& prefix,
                                       std::string_view resource) {
  const bool cpu = resource == kCpu;
  if (!cpu && !is_gpu(resource))
    return fail(ErrorCode::kInvalidArgument, "no resource \"{}\" to time on: cpu, gpu0, gpu1 ...",
                resource);
  const std::string name = prefix + "timing." + (cpu ? "" : std::string(resource) + ".");
  KW_TRY(os::UniqueFd lock_file, open_file(folder / (name + "lock"), 0644));
  KW_TRY(os::UniqueFd queue_file, open_file(folder / (name + "queue"), 0644));
  TimingLock opened(std::move(lock_file), std::move(queue_file));
  if (cpu) return opened;
  KW_TRY(TimingLock of_cpu, open_in(folder, prefix));
  opened.cpu_ = std::make_unique<TimingLock>(std::move(of_cpu));
  return opened;
}

Result<TimingLock> TimingLock::open(std::string_view resource) {
  std::error_code ignored;
  const fs::path of_host = "/run/kernelwright";
  if (::geteuid() == 0) {
    fs::create_directories(of_host, ignored);
    ::chmod(of_host.c_str(), 0755);
  }
  auto opened = open_in(of_host, "", resource);
  if (opened || opened.error().code() == ErrorCode::kInvalidArgument) return opened;
  return open_in(fs::temp_directory_path(ignored), "kernelwright-", resource);
}

Status TimingLock::take(int how) {
  KW_TRY_STATUS(lock(queue_, LOCK_EX));
  Status taken = lock(lock_, how);
  ::flock(queue_.get(), LOCK_UN);
  if (!taken || cpu_ == nullptr) return taken;
  Status shared = cpu_->take_shared();
  if (!shared) ::flock(lock_.get(), LOCK_UN);
  return shared;
}

Status TimingLock::take_alone() {
  return take(LOCK_EX);
}

Status TimingLock::take_shared() {
  return take(LOCK_SH);
}

void TimingLock::give_back() {
  if (cpu_ != nullptr) cpu_->give_back();
  ::flock(lock_.get(), LOCK_UN);
}

bool TimingLock::is_wanted() const {
  if (::flock(queue_.get(), LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(queue_.get(), LOCK_UN);
  return cpu_ != nullptr && cpu_->is_wanted();
}

}  // namespace kw::gym
