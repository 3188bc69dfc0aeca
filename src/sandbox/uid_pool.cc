// Uid leases over byte-range locks.
#include "sandbox/uid_pool.h"

#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "base/text.h"

namespace kw::sandbox {
namespace {

// The owners of all processes, by the owner of their folder in /proc.
std::set<std::uint32_t> uids_in_use() {
  std::set<std::uint32_t> uids;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string name = entry.path().filename().string();
    struct stat info{};
    if (name.find_first_not_of("0123456789") != std::string::npos ||
        ::stat(entry.path().c_str(), &info) != 0)
      continue;
    uids.insert(info.st_uid);
  }
  return uids;
}

}  // namespace

UidPool::UidPool(os::UniqueFd file) : file_(std::move(file)) {
  for (std::uint32_t uid : uids_in_use()) {
    if (uid >= kFirst && uid < kFirst + kCount) taken_.insert(uid);
  }
  // Supervisors start at different places, and a returned uid rests until the others were used.
  next_ = static_cast<std::uint32_t>(entropy_seed() % kCount);
}

Result<std::unique_ptr<UidPool>> UidPool::open(const std::string& lock_file) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(lock_file).parent_path(), error);
  os::UniqueFd file(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return fail_errno(errno, "cannot open the uid lock file " + lock_file);
  return std::unique_ptr<UidPool>(new UidPool(std::move(file)));
}

bool UidPool::lock(std::uint32_t index, short type) {
  struct flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = index;
  range.l_len = 1;
  return ::fcntl(file_.get(), F_OFD_SETLK, &range) == 0;
}

Result<UidLease> UidPool::lease() {
  std::lock_guard guard(mutex_);
  for (std::uint32_t tried = 0; tried < kCount; ++tried) {
    std::uint32_t index = next_;
    next_ = (next_ + 1) % kCount;
    if (taken_.contains(kFirst + index) || !lock(index, F_WRLCK)) continue;
    taken_.insert(kFirst + index);
    ++leased_;
    return UidLease(this, kFirst + index);
  }
  return fail(ErrorCode::kResourceExhausted, "all {} sandbox uids are in use", kCount);
}

std::size_t UidPool::leased() const {
  std::lock_guard guard(mutex_);
  return leased_;
}

void UidPool::give_back(std::uint32_t uid) {
  std::lock_guard guard(mutex_);
  lock(uid - kFirst, F_UNLCK);
  taken_.erase(uid);
  --leased_;
}

UidLease& UidLease::operator=(UidLease&& other) noexcept {
  pool_ = std::exchange(other.pool_, nullptr);
  uid_ = std::exchange(other.uid_, 0);
  return *this;
}

bool UidLease::in_use() const {
  return uids_in_use().contains(uid_);
}

void UidLease::give_back() {
  if (UidPool* pool = std::exchange(pool_, nullptr)) pool->give_back(uid_);
}

}  // namespace kw::sandbox
