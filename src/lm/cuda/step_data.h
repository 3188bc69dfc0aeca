// StepData: what a step's kernels need to know, written on the host and sent in one copy.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/memory.h"
#include "cuda/stream.h"
#include "lm/cuda/kernels.h"
#include "lm/engine.h"

namespace kw::lm::cuda {

// One phase of a step that has both, and the places of its samples in that step.
struct StepPart {
  Step step;
  std::vector<std::size_t> samples;
};
// Decoded rows come first, at most `most_decode_rows` in a part. Parts without rows are left out.
std::vector<StepPart> split_by_phase(const Step& step, std::int64_t most_decode_rows);
// Whether the step is its only part.
bool is_one_part(const Step& step, std::int64_t most_decode_rows);

// How attention takes a step's rows: decoded ones by themselves, prompts in tiles of up to 64 rows
// of one slot in their order.
struct StepPlan {
  std::vector<std::int32_t> decode_rows, prefill_rows;
  struct Tile {
    std::int32_t first = 0, count = 0;  // of prefill_rows
  };
  std::vector<Tile> tiles;
  std::int32_t last_position = 0;  // of the decode rows, the largest

  bool only_decodes() const { return prefill_rows.empty(); }
};
StepPlan plan_step(const Step& step, std::int64_t slots);  // slots: of the engine

SampleSettings settings_of(const SampleRequest& request, std::int32_t mask,
                           std::int64_t vocabulary);

// A page-locked block and its image on the GPU. It is always sent whole.
class StepData {
 public:
  StepData() = default;
  static Result<StepData> make(std::int64_t rows, std::int64_t samples);
  static std::size_t bytes_of(std::int64_t rows, std::int64_t samples);

  std::int64_t rows() const { return rows_; }
  std::int64_t samples() const { return samples_; }
  // Rows that the step lacks, up to rows(), belong to no slot. Samples that it lacks are of row 0.
  // masks: for each request the index of its words, or -1.
  void write(const Step& step, const StepPlan& plan, std::span<const std::int32_t> masks,
             std::int64_t vocabulary);
  Status send(const kw::cuda::Stream& stream) const;

  // Addresses on the GPU.
  DevicePointer tokens() const { return at(0); }
  DevicePointer positions() const { return at(1); }
  DevicePointer slots() const { return at(2); }
  DevicePointer decode_rows() const { return at(3); }
  DevicePointer prefill_rows() const { return at(4); }
  DevicePointer tiles() const { return at(5); }  // two numbers each
  DevicePointer sample_rows() const { return at(7); }
  DevicePointer settings() const;

 private:
  std::int32_t* numbers(std::int64_t part) const { return host_.as<std::int32_t>() + part * rows_; }
  DevicePointer at(std::int64_t part) const {
    return device_.address() + static_cast<DevicePointer>(part * rows_ * 4);
  }
  static std::size_t settings_offset(std::int64_t rows, std::int64_t samples);

  std::int64_t rows_ = 0, samples_ = 0;
  kw::cuda::PinnedBuffer host_;
  kw::cuda::DeviceBuffer device_;
};

}  // namespace kw::lm::cuda
