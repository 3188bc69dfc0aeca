// Leases of kernel uids: every sandbox runs under one that nobody else on this host uses,
// supervisors of other users included.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace kw::sandbox {

class UidPool;

// Move-only. give_back() returns the uid to the pool; destruction without it retires the uid for
// the life of this process, because nobody has shown that its processes are gone.
class UidLease {
 public:
  UidLease() = default;
  UidLease(UidLease&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), uid_(std::exchange(other.uid_, 0)) {}
  UidLease& operator=(UidLease&& other) noexcept;
  std::uint32_t uid() const { return uid_; }
  // Looks through /proc: some process has the uid.
  bool in_use() const;
  // Only after the end of every process of the uid is proved (its cgroup was removed, or its pid
  // namespace is gone).
  void give_back();

 private:
  friend class UidPool;
  UidLease(UidPool* pool, std::uint32_t uid) : pool_(pool), uid_(uid) {}
  UidPool* pool_ = nullptr;
  std::uint32_t uid_ = 0;
};

// One byte of a lock file per uid, locked by open file description: the kernel gives the leases of
// a dead supervisor back. Threads: any.
class UidPool {
 public:
  static constexpr std::uint32_t kFirst = 61000;
  static constexpr std::uint32_t kCount = 1000;

  // Uids that a process of this host has are never leased. The file is made when missing.
  static Result<std::unique_ptr<UidPool>> open(const std::string& lock_file);
  Result<UidLease> lease();  // kResourceExhausted when all are taken
  std::size_t leased() const;

 private:
  friend class UidLease;
  explicit UidPool(os::UniqueFd file);
  bool lock(std::uint32_t index, short type);
  void give_back(std::uint32_t uid);

  os::UniqueFd file_;
  mutable std::mutex mutex_;
  std::set<std::uint32_t> taken_;  // leased by us, or seen in use when the pool was opened
  std::size_t leased_ = 0;
  std::uint32_t next_ = 0;
};

}  // namespace kw::sandbox
