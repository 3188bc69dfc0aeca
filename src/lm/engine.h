// Engine: one model on one device, with room for the keys and values of a fixed number of
// sequences. Who schedules (src/serving) gives it steps: tokens of any mix of sequences, and which
// of them are followed by a sample.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "lm/sampling/sampling.h"

namespace kw::lm {

// kDecode: a token that was sampled and is fed back, the only one of its slot in the step; all else
// is kPrefill. Who makes steps decides by the sequence alone: an engine may round the two
// differently, and a sequence's numbers depend on it.
enum class Phase : std::uint8_t { kPrefill, kDecode };

// T tokens. A slot's tokens stand in the order of their positions, and follow on what the slot has.
struct Step {
  std::vector<std::int32_t> tokens, positions, slots;  // [T]
  std::vector<Phase> phases;                           // [T]
  std::vector<SampleRequest> samples;                  // of the rows that are sampled from

  void clear();
  void add(std::int32_t token, std::int32_t position, std::int32_t slot,
           Phase phase = Phase::kPrefill);
};

struct EngineLimits {
  std::int64_t slots = 0;        // sequences at once
  std::int64_t context = 0;      // positions of a slot
  std::int64_t step_tokens = 0;  // T of a step, and samples
};

// One thread at a time.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const EngineLimits& limits() const = 0;
  virtual std::int64_t vocabulary() const = 0;
  // Writes keys and values of every token, and one sample for each request. Tokens, positions and
  // slots in range are the caller's part (KW_CHECK).
  virtual void run(const Step& step, std::span<Sample> samples) = 0;
  // The first positions of a slot in another one: sequences that begin alike.
  virtual void copy_slot(std::int32_t from, std::int32_t to, std::int32_t positions) = 0;
  // Like run, and gives the logits of the rows of its requests: [requests, V], for tests and
  // scoring.
  virtual void run_for_logits(const Step& step, std::span<float> logits) = 0;
  // The owner of the weights' memory has written other weights into it, between two steps. From the
  // next step on samples come from these and carry `version`. What slots hold is of no use: a
  // sequence begins again at position 0, and a step that goes on with one aborts (KW_CHECK).
  // Nothing is loaded again, and nothing that is prepared for a step is made again.
  virtual void weights_changed(std::int32_t version) = 0;
  virtual std::int32_t weight_version() const = 0;  // 0 at first
};

}  // namespace kw::lm
