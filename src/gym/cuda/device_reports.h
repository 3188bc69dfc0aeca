// DeviceReports: what our kernels find, in a GPU's memory until somebody asks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "gym/cuda/device_bytes.h"

namespace kw::gym {

// A ring of reports. Whoever asks for one gets the bytes of all that were made since the last time,
// by one copy: so kernels of one check are queued together, and the host waits once for all of
// them. One thread.
class DeviceReports {
 public:
  static constexpr std::size_t kBytes = 1024;  // of a report
  // So many are kept: a launch of all sets, each with an input hash and its outputs' reports, needs
  // a third.
  static constexpr std::size_t kPlaces = 1024;

  struct Report {
    std::uint64_t number = 0;
    std::uint64_t address = 0;  // of kBytes in the GPU's memory, for kernels
  };

  // source: borrowed. Memory is taken with the first report.
  explicit DeviceReports(DeviceSource& source) : source_(&source) {}

  // A report that is all zero. The kernel that writes to it is queued before the next read().
  Result<Report> make();
  // Returns what kernels have written to it, valid until the next call. Waits for all that is
  // queued. kInternal: kPlaces others were made since.
  Result<std::span<const std::byte>> read(const Report& report);
  template <typename T>
  Result<T> read(const Report& report) {
    static_assert(sizeof(T) <= kBytes && std::is_trivially_copyable_v<T>);
    KW_TRY(std::span<const std::byte> bytes, read(report));
    T out;
    std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }

 private:
  Status fetch();
  Status fetch_piece(std::uint64_t first, std::size_t count);

  DeviceSource* source_;
  std::unique_ptr<DeviceBytes> memory_;
  std::vector<std::byte> copies_;  // of all places
  std::uint64_t next_ = 0;         // the number of the next report
  std::uint64_t fetched_ = 0;      // copies_ has all reports below this number
};

}  // namespace kw::gym
