// For tests: a GPU's memory that is vectors of this process. It refuses bytes
// outside an allocation, which the driver might let through.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "gym/cuda/device_bytes.h"

namespace kw::gym::testing {

class VectorBytes final : public DeviceBytes {
 public:
  explicit VectorBytes(std::size_t bytes) : words_((bytes + sizeof(Word) - 1) / sizeof(Word)) {
    bytes_ = std::as_writable_bytes(std::span(words_)).first(bytes);
  }
  std::size_t size() const override { return bytes_.size(); }
  std::uint64_t address() const override { return reinterpret_cast<std::uint64_t>(bytes_.data()); }
  int descriptor() const override { return -1; }
  Status upload(std::size_t offset, std::span<const std::byte> from) override {
    KW_TRY_STATUS(check(offset, from.size()));
    std::ranges::copy(from, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }
  Status download(std::size_t offset, std::span<std::byte> to) const override {
    KW_TRY_STATUS(check(offset, to.size()));
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    return {};
  }
  Status copy(std::size_t offset, const DeviceBytes& from, std::size_t from_offset,
              std::size_t bytes) override {
    KW_TRY_STATUS(check(offset, bytes));
    return from.download(from_offset, bytes_.subspan(offset, bytes));
  }
  Status zero() override {
    std::ranges::fill(bytes_, std::byte{0});
    return {};
  }
  Status zero(std::size_t offset, std::size_t bytes) override {
    KW_TRY_STATUS(check(offset, bytes));
    std::ranges::fill(bytes_.subspan(offset, bytes), std::byte{0});
    return {};
  }
  Status settle() const override { return {}; }

 private:
  Status check(std::size_t offset, std::size_t bytes) const {
    if (offset <= bytes_.size() && bytes <= bytes_.size() - offset) return {};
    return fail(ErrorCode::kInternal, "bytes {} to {} of {}", offset, offset + bytes,
                bytes_.size());
  }
  struct alignas(64) Word {
    std::byte bytes[64];
  };
  std::vector<Word> words_;
  std::span<std::byte> bytes_;
};

class VectorSource final : public DeviceSource {
 public:
  // failing: every allocation is refused. kernels: borrowed, may be null.
  explicit VectorSource(bool failing = false, KernelRunner* kernels = nullptr)
      : failing_(failing), kernels_(kernels) {}
  KernelRunner* kernels() override { return kernels_; }
  Result<std::unique_ptr<DeviceBytes>> make(std::size_t bytes) override {
    if (failing_) return fail(ErrorCode::kResourceExhausted, "the GPU's memory is full");
    return std::make_unique<VectorBytes>(bytes);
  }

 private:
  bool failing_;
  KernelRunner* kernels_;
};

}  // namespace kw::gym::testing
