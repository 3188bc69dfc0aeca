#include "lm/cuda/step_data.h"

#include <algorithm>

#include "base/check.h"

namespace kw::lm::cuda {

std::vector<StepPart> split_by_phase(const Step& step, std::int64_t most_decode_rows) {
  std::vector<StepPart> parts;
  struct Place {
    std::size_t part = 0, row = 0;
  };
  std::vector<Place> places(step.tokens.size());
  for (Phase phase : {Phase::kDecode, Phase::kPrefill}) {
    bool begins = true;
    for (std::size_t row = 0; row < step.tokens.size(); ++row) {
      if (step.phases[row] != phase) continue;
      const bool full =
          !begins && phase == Phase::kDecode &&
          parts.back().step.tokens.size() == static_cast<std::size_t>(most_decode_rows);
      if (begins || full) parts.emplace_back();
      begins = false;
      places[row] = {parts.size() - 1, parts.back().step.tokens.size()};
      parts.back().step.add(step.tokens[row], step.positions[row], step.slots[row], phase);
    }
  }
  for (std::size_t i = 0; i < step.samples.size(); ++i) {
    const Place place = places[static_cast<std::size_t>(step.samples[i].row)];
    StepPart& part = parts[place.part];
    part.step.samples.push_back(step.samples[i]);
    part.step.samples.back().row = static_cast<std::int32_t>(place.row);
    part.samples.push_back(i);
  }
  return parts;
}

bool is_one_part(const Step& step, std::int64_t most_decode_rows) {
  const Phase first = step.phases.front();
  if (std::any_of(step.phases.begin(), step.phases.end(),
                  [&](Phase phase) { return phase != first; }))
    return false;
  return first == Phase::kPrefill ||
         step.tokens.size() <= static_cast<std::size_t>(most_decode_rows);
}

StepPlan plan_step(const Step& step, std::int64_t slots) {
  std::vector<std::int32_t> rows_of(static_cast<std::size_t>(slots));
  for (std::int32_t slot : step.slots) ++rows_of[static_cast<std::size_t>(slot)];
  StepPlan out;
  for (std::size_t row = 0; row < step.slots.size(); ++row) {
    if (step.phases[row] == Phase::kPrefill) {
      out.prefill_rows.push_back(static_cast<std::int32_t>(row));
      continue;
    }
    KW_CHECK(rows_of[static_cast<std::size_t>(step.slots[row])] == 1);
    out.decode_rows.push_back(static_cast<std::int32_t>(row));
    out.last_position = std::max(out.last_position, step.positions[row]);
  }
  auto slot_of = [&](std::int32_t row) { return step.slots[static_cast<std::size_t>(row)]; };
  std::stable_sort(out.prefill_rows.begin(), out.prefill_rows.end(),
                   [&](std::int32_t a, std::int32_t b) { return slot_of(a) < slot_of(b); });
  const auto most = static_cast<std::int32_t>(kPrefillTile);
  for (std::size_t first = 0; first < out.prefill_rows.size();) {
    const std::int32_t count = rows_of[static_cast<std::size_t>(slot_of(out.prefill_rows[first]))];
    for (std::int32_t at = 0; at < count; at += most)
      out.tiles.push_back({static_cast<std::int32_t>(first) + at, std::min(most, count - at)});
    first += static_cast<std::size_t>(count);
  }
  return out;
}

SampleSettings settings_of(const SampleRequest& request, std::int32_t mask,
                           std::int64_t vocabulary) {
  const SamplingSettings& s = request.settings;
  SampleSettings out{};
  out.seed = request.seed;
  out.sequence = request.sequence;
  out.position = request.position;
  out.top_p = s.top_p;
  out.min_p = s.min_p;
  out.greedy = s.temperature == 0 ? 1 : 0;
  out.scale = s.temperature == 0 ? 1.0F : static_cast<float>(1 / s.temperature);
  out.top_k = static_cast<std::int32_t>(std::min(s.top_k, vocabulary));
  out.forced = request.forced;
  out.mask = mask;
  out.top = std::min(request.top_logprobs, kMaxTopLogprobs);
  return out;
}

// They stand behind the numbers of the samples' rows, at a multiple of 8.
std::size_t StepData::settings_offset(std::int64_t rows, std::int64_t samples) {
  return static_cast<std::size_t>((7 * rows + samples) * 4 + 7) / 8 * 8;
}

std::size_t StepData::bytes_of(std::int64_t rows, std::int64_t samples) {
  return settings_offset(rows, samples) +
         static_cast<std::size_t>(samples) * sizeof(SampleSettings);
}

Result<StepData> StepData::make(std::int64_t rows, std::int64_t samples) {
  StepData out;
  out.rows_ = rows;
  out.samples_ = samples;
  KW_TRY(out.host_, kw::cuda::PinnedBuffer::make(bytes_of(rows, samples)));
  KW_TRY(out.device_, kw::cuda::DeviceBuffer::make(bytes_of(rows, samples)));
  return out;
}

DevicePointer StepData::settings() const {
  return device_.address() + settings_offset(rows_, samples_);
}

void StepData::write(const Step& step, const StepPlan& plan, std::span<const std::int32_t> masks,
                     std::int64_t vocabulary) {
  const auto rows = static_cast<std::size_t>(rows_), count = step.tokens.size();
  KW_CHECK(count <= rows && step.samples.size() <= static_cast<std::size_t>(samples_));
  auto put = [&](std::int64_t part, const std::vector<std::int32_t>& values, std::int32_t rest) {
    std::int32_t* to = numbers(part);
    std::copy(values.begin(), values.end(), to);
    std::fill(to + values.size(), to + rows, rest);
  };
  put(0, step.tokens, 0);
  put(1, step.positions, 0);
  put(2, step.slots, -1);
  // A decode row that the step lacks names a row that the step lacks.
  put(3, plan.decode_rows, 0);
  for (std::size_t i = plan.decode_rows.size(); i < rows; ++i)
    numbers(3)[i] = static_cast<std::int32_t>(std::min(i, rows - 1));
  put(4, plan.prefill_rows, 0);
  for (std::size_t i = 0; i < plan.tiles.size(); ++i) {
    numbers(5)[2 * i] = plan.tiles[i].first;
    numbers(5)[2 * i + 1] = plan.tiles[i].count;
  }
  std::int32_t* sample_rows = numbers(7);
  SampleRequest nobody;
  nobody.forced = 0;  // the least work
  auto* settings = host_.as<SampleSettings>(settings_offset(rows_, samples_));
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples_); ++i) {
    const bool real = i < step.samples.size();
    sample_rows[i] = real ? step.samples[i].row : 0;
    settings[i] = real ? settings_of(step.samples[i], masks.empty() ? -1 : masks[i], vocabulary)
                       : settings_of(nobody, -1, vocabulary);
  }
}

Status StepData::send(const kw::cuda::Stream& stream) const {
  return stream.copy(device_.address(), host_.data(), host_.bytes());
}

}  // namespace kw::lm::cuda
