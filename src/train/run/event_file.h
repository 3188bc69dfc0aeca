// EventFile: a run's numbers as TensorBoard reads them, beside metrics.jsonl.
//
// A file is a list of records (TFRecord): length, masked CRC-32C of the length, an Event message of
// tensorboard/compat/proto/event.proto, masked CRC-32C of that. A resumed run has a file of its
// own, which tells TensorBoard to forget what earlier files have of its steps.
#pragma once
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace kw::train {

// One thread at a time.
class EventFile {
 public:
  // Begins a file in the run's folder, RUN/events.out.tfevents.SECONDS.STEP.kernelwright, for the
  // steps after `step`. Without `resume` earlier files are removed. wall_time: seconds since 1970.
  static Result<EventFile> begin(const std::filesystem::path& run, bool resume, std::int64_t step,
                                 double wall_time);

  // All finite numbers of the row, and of objects in it ("reward_parts/speed"), as scalars of its
  // "step". Tags begin with `prefix`. kResourceExhausted where the disk is full.
  Status add(const Json& row, double wall_time, std::string_view prefix = "");

 private:
  explicit EventFile(std::filesystem::path path)
      : path_(std::move(path)), file_(path_, std::ios::binary) {}
  Status write(std::string_view event);

  std::filesystem::path path_;
  std::ofstream file_;
};

// Seconds since 1970.
double wall_time();
// CRC-32C (Castagnoli, RFC 3720) of the bytes.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace kw::train
