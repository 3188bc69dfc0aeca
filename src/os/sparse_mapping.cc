#include "os/sparse_mapping.h"

#include <cerrno>

#include <sys/mman.h>

namespace kw::os {

Result<SparseMapping> SparseMapping::shared(int fd, std::size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) return fail_errno(errno, fmt::format("cannot map {} bytes", bytes));
  SparseMapping out;
  out.bytes_ = {static_cast<std::byte*>(data), bytes};
  return out;
}

SparseMapping::~SparseMapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace kw::os
