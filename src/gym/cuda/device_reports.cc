#include "gym/cuda/device_reports.h"

#include <algorithm>

namespace kw::gym {

Result<DeviceReports::Report> DeviceReports::make() {
  if (memory_ == nullptr) {
    KW_TRY(memory_, source_->make(kPlaces * kBytes));
    copies_.resize(kPlaces * kBytes);
  }
  if (next_ - fetched_ == kPlaces) KW_TRY_STATUS(fetch());
  const Report report{next_, memory_->address() + next_ % kPlaces * kBytes};
  ++next_;
  return report;
}

Result<std::span<const std::byte>> DeviceReports::read(const Report& report) {
  if (report.number >= next_ || next_ - report.number > kPlaces)
    return fail(ErrorCode::kInternal, "report {} of {} is gone", report.number, next_);
  if (report.number >= fetched_) KW_TRY_STATUS(fetch());
  return std::span<const std::byte>(copies_).subspan(report.number % kPlaces * kBytes, kBytes);
}

Status DeviceReports::fetch() {
  const std::uint64_t first = fetched_ % kPlaces;
  const auto count = static_cast<std::size_t>(next_ - fetched_);
  const std::size_t until_end = std::min<std::size_t>(count, kPlaces - first);
  KW_TRY_STATUS(fetch_piece(first, until_end));
  if (count > until_end) KW_TRY_STATUS(fetch_piece(0, count - until_end));
  fetched_ = next_;
  return {};
}

// Its places are all zero for the reports that get them next.
Status DeviceReports::fetch_piece(std::uint64_t first, std::size_t count) {
  const std::size_t start = first * kBytes, bytes = count * kBytes;
  KW_TRY_STATUS(memory_->download(start, std::span(copies_).subspan(start, bytes)));
  return memory_->zero(start, bytes);
}

}  // namespace kw::gym
