// memfd_create, seals and mmap.
#include "os/memory.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// glibc 2.36 lacks it, and linux/fcntl.h clashes with fcntl.h.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace kw::os {

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<Mapping> Mapping::shared(int fd, std::size_t bytes, bool writable) {
  int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (data == MAP_FAILED) return fail_errno(errno, fmt::format("cannot map {} bytes", bytes));
  return Mapping(static_cast<std::byte*>(data), bytes);
}

Result<Mapping> Mapping::copy_on_write(int fd, std::size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return fail_errno(errno, fmt::format("cannot map {} bytes", bytes));
  return Mapping(static_cast<std::byte*>(data), bytes);
}

Result<Mapping> Mapping::file(const std::filesystem::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "cannot open " + path.string());
  auto mapping = whole(fd.get());
  if (!mapping) return tl::unexpected(std::move(mapping).error().with_context(path.string()));
  return mapping;
}

Result<Mapping> Mapping::whole(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail_errno(errno, "cannot look at a file");
  if (!S_ISREG(status.st_mode) || status.st_size == 0)
    return fail(ErrorCode::kInvalidArgument, "empty, or not a file");
  auto bytes = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return fail_errno(errno, "cannot map a file");
  return Mapping(static_cast<std::byte*>(data), bytes);
}

Result<Mapping> Mapping::anonymous(std::size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return fail_errno(errno, fmt::format("cannot have {} bytes", bytes));
  ::madvise(data, bytes, MADV_HUGEPAGE);  // only faster
  return Mapping(static_cast<std::byte*>(data), bytes);
}

Result<UniqueFd> make_memory_file(const std::string& name, std::size_t bytes) {
  UniqueFd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return fail_errno(errno, "cannot make memory file " + name);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return fail_errno(errno, fmt::format("cannot give memory file {} {} bytes", name, bytes));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return fail_errno(errno, "cannot seal memory file " + name);
  return fd;
}

Status seal_against_new_writers(int fd) {
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
    return fail_errno(errno, "cannot seal a memory file");
  return {};
}

Status seal_seals(int fd) {
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL) != 0)
    return fail_errno(errno, "cannot seal a memory file");
  return {};
}

Result<UniqueFd> make_sealed_file(const std::string& name, std::string_view content) {
  UniqueFd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return fail_errno(errno, "cannot make memory file " + name);
  KW_TRY_STATUS(write_all(fd.get(), content));
  if (::lseek(fd.get(), 0, SEEK_SET) != 0)
    return fail_errno(errno, "cannot rewind memory file " + name);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) !=
      0) {
    return fail_errno(errno, "cannot seal memory file " + name);
  }
  return fd;
}

}  // namespace kw::os
