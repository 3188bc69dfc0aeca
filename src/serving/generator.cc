// Theory of operation. A sequence is a list of tokens of which the first `computed` are in its
// slot. Prefill, decoding and going on after parking are one thing: feed tokens that are not
// computed yet, and sample when the last one is. Only a sampled token by itself is decoded
// (lm::Phase); a prompt's last token is a prompt's, also where a step's room leaves it alone.
// Sequences of one prompt begin with a copy of their leader's part.
#include "serving/generator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kw::serving {

Generator::Generator(lm::Engine& engine) : engine_(engine), weights_(engine.weight_version()) {
  for (auto slot = static_cast<std::int32_t>(engine.limits().slots); slot-- > 0;)
    free_slots_.push_back(slot);
}

Status Generator::check(const std::vector<std::int32_t>& tokens, std::int64_t before,
                        const SequenceSettings& settings) const {
  const std::int64_t context = engine_.limits().context;
  if (tokens.empty() && before == 0)
    return fail(ErrorCode::kInvalidArgument, "an empty prompt: give at least one token");
  if (before + static_cast<std::int64_t>(tokens.size()) >= context)
    return fail(ErrorCode::kInvalidArgument,
                "{} tokens leave no room for an answer in a context of {}: shorten the prompt or "
                "raise the context",
                before + static_cast<std::int64_t>(tokens.size()), context);
  for (std::int32_t token : tokens)
    if (token < 0 || token >= engine_.vocabulary())
      return fail(ErrorCode::kInvalidArgument, "token {} is outside the vocabulary of {}", token,
                  engine_.vocabulary());
  if (settings.max_tokens < 1)
    return fail(ErrorCode::kInvalidArgument, "max_tokens: expected 1 or more");
  if (settings.top_logprobs < 0 || settings.top_logprobs > lm::kMaxTopLogprobs)
    return fail(ErrorCode::kInvalidArgument, "top_logprobs: expected 0 to {}, not {}",
                lm::kMaxTopLogprobs, settings.top_logprobs);
  return lm::check(settings.sampling);
}

Result<std::vector<SequenceId>> Generator::submit(const std::vector<std::int32_t>& prompt,
                                                  const std::vector<SequenceSettings>& settings,
                                                  const std::vector<SequenceListener*>& listeners) {
  KW_CHECK(!settings.empty() && settings.size() == listeners.size());
  for (const SequenceSettings& one : settings) KW_TRY_STATUS(check(prompt, 0, one));
  std::vector<SequenceId> ids;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    Sequence sequence;
    sequence.id = next_id_++;
    sequence.tokens = prompt;
    sequence.prompt = static_cast<std::int64_t>(prompt.size());
    sequence.settings = settings[i];
    sequence.listener = listeners[i];
    if (i > 0) {
      sequence.leader = ids.front();
      // The last token is computed by each: a sample follows it.
      sequence.shared = static_cast<std::int64_t>(prompt.size()) - 1;
    }
    waiting_.push_back(sequence.id);
    ids.push_back(sequence.id);
    sequences_.emplace(sequence.id, std::move(sequence));
  }
  return ids;
}

Status Generator::resume(SequenceId id, const std::vector<std::int32_t>& tokens,
                         const SequenceSettings& settings, SequenceListener* listener) {
  auto parked = std::find(parked_.begin(), parked_.end(), id);
  if (parked == parked_.end()) return fail(ErrorCode::kNotFound, "sequence {} is not parked", id);
  Sequence& sequence = sequences_.at(id);
  KW_TRY_STATUS(check(tokens, static_cast<std::int64_t>(sequence.tokens.size()), settings));
  parked_.erase(parked);
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  // Without new tokens and with its slot, what is left is one that was sampled.
  if (!tokens.empty() || sequence.slot < 0)
    sequence.prompt = static_cast<std::int64_t>(sequence.tokens.size());
  sequence.sampled = 0;
  sequence.settings = settings;
  sequence.listener = listener;
  if (sequence.slot >= 0)
    running_.push_back(id);
  else
    waiting_.push_back(id);
  return {};
}

void Generator::release(SequenceId id) {
  auto parked = std::find(parked_.begin(), parked_.end(), id);
  if (parked == parked_.end()) return;
  parked_.erase(parked);
  Sequence& sequence = sequences_.at(id);
  if (sequence.slot >= 0) free_slots_.push_back(sequence.slot);
  sequences_.erase(id);
}

void Generator::cancel(SequenceId id) {
  auto found = sequences_.find(id);
  if (found == sequences_.end() || found->second.listener == nullptr) return;
  found->second.settings.keep = false;
  finish(id, text::Finish::kCancelled);
}

bool Generator::take_free_slot(std::int32_t& slot) {
  if (free_slots_.empty()) {
    // What is parked can be computed again from its tokens.
    auto evicted = std::find_if(parked_.begin(), parked_.end(),
                                [&](SequenceId id) { return sequences_.at(id).slot >= 0; });
    if (evicted == parked_.end()) return false;
    Sequence& sequence = sequences_.at(*evicted);
    free_slots_.push_back(std::exchange(sequence.slot, -1));
    sequence.computed = 0;
    ++statistics_.evictions;
  }
  slot = free_slots_.back();
  free_slots_.pop_back();
  return true;
}

// Not before the common part is computed, as long as the leader is still at it.
bool Generator::may_start(const Sequence& sequence) const {
  auto leader = sequences_.find(sequence.leader);
  if (leader == sequences_.end()) return true;
  const Sequence& one = leader->second;
  return one.listener == nullptr || (one.slot >= 0 && one.computed >= sequence.shared);
}

void Generator::give_slot(Sequence& sequence) {
  auto leader = sequences_.find(sequence.leader);
  if (leader == sequences_.end()) return;
  const Sequence& one = leader->second;
  if (one.slot < 0 || one.computed < sequence.shared || sequence.shared == 0) return;
  engine_.copy_slot(one.slot, sequence.slot, static_cast<std::int32_t>(sequence.shared));
  sequence.computed = sequence.shared;
  statistics_.copied_tokens += sequence.shared;
}

void Generator::admit_waiting() {
  for (std::size_t i = 0; i < waiting_.size();) {
    Sequence& sequence = sequences_.at(waiting_[i]);
    if (!may_start(sequence)) {
      ++i;  // those behind it may be of another prompt
      continue;
    }
    // A slot that its leader has left with the common part in it is taken over in finish().
    if (sequence.slot < 0 && !take_free_slot(sequence.slot)) return;
    if (sequence.computed == 0) give_slot(sequence);
    running_.push_back(sequence.id);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Generator::add_tokens(Sequence& sequence, std::int64_t room) {
  const auto size = static_cast<std::int64_t>(sequence.tokens.size());
  const std::int64_t end = std::min(size, sequence.computed + room);
  for (std::int64_t at = sequence.computed; at < end; ++at)
    step_.add(sequence.tokens[static_cast<std::size_t>(at)], static_cast<std::int32_t>(at),
              sequence.slot, at < sequence.prompt ? lm::Phase::kPrefill : lm::Phase::kDecode);
  statistics_.prompt_tokens +=
      end - sequence.computed - (end == size && sequence.sampled > 0 ? 1 : 0);
  sequence.computed = end;
  if (end < size) return;
  lm::SampleRequest request;
  request.row = static_cast<std::int32_t>(step_.tokens.size()) - 1;
  request.settings = sequence.settings.sampling;
  request.seed = sequence.settings.seed;
  request.sequence = sequence.settings.sequence;
  request.position = static_cast<std::uint32_t>(size);
  request.mask = sequence.settings.mask;
  request.top_logprobs = sequence.settings.top_logprobs;
  step_.samples.push_back(std::move(request));
  sampled_.push_back(sequence.id);
}

void Generator::drop_what_earlier_weights_computed() {
  if (engine_.weight_version() == weights_) return;
  weights_ = engine_.weight_version();
  for (auto& [id, sequence] : sequences_) {
    sequence.computed = 0;
    sequence.prompt = static_cast<std::int64_t>(sequence.tokens.size());
  }
}

bool Generator::step() {
  drop_what_earlier_weights_computed();
  admit_waiting();
  if (running_.empty()) return false;
  step_.clear();
  sampled_.clear();
  // Those that only decode come first: nobody's next token waits for somebody else's prompt.
  const std::int64_t most = engine_.limits().step_tokens;
  for (bool decoding : {true, false}) {
    for (SequenceId id : running_) {
      Sequence& sequence = sequences_.at(id);
      const std::int64_t room = most - static_cast<std::int64_t>(step_.tokens.size());
      const auto left = static_cast<std::int64_t>(sequence.tokens.size()) - sequence.computed;
      if (room > 0 && left > 0 && (left == 1) == decoding) add_tokens(sequence, room);
    }
  }
  samples_.resize(sampled_.size());
  engine_.run(step_, samples_);
  ++statistics_.steps;
  const std::vector<SequenceId> told = sampled_;
  for (std::size_t i = 0; i < told.size(); ++i) {
    auto found = sequences_.find(told[i]);  // a listener may have cancelled it
    if (found != sequences_.end() && found->second.listener != nullptr)
      hear(found->second, samples_[i]);
  }
  return true;
}

void Generator::hear(Sequence& sequence, const lm::Sample& sample) {
  const SequenceId id = sequence.id;
  sequence.tokens.push_back(sample.token);
  ++sequence.sampled;
  ++statistics_.sampled_tokens;
  const bool wanted = sequence.listener->token(sample);
  auto found = sequences_.find(id);
  if (found == sequences_.end() || found->second.listener == nullptr) return;  // cancelled itself
  const SequenceSettings& settings = found->second.settings;
  const bool stop = std::find(settings.stop_tokens.begin(), settings.stop_tokens.end(),
                              sample.token) != settings.stop_tokens.end();
  if (stop || !wanted) return finish(id, text::Finish::kStop);
  const auto size = static_cast<std::int64_t>(found->second.tokens.size());
  if (found->second.sampled >= settings.max_tokens || size >= engine_.limits().context)
    finish(id, text::Finish::kLength);
}

void Generator::finish(SequenceId id, text::Finish finish) {
  Sequence& sequence = sequences_.at(id);
  SequenceListener* listener = std::exchange(sequence.listener, nullptr);
  std::erase(running_, id);
  std::erase(waiting_, id);
  if (sequence.settings.keep && finish != text::Finish::kCancelled) {
    parked_.push_back(id);
  } else {
    // Whoever waits for the same beginning takes the slot as it is.
    const std::int32_t slot = sequence.slot;
    const std::int64_t computed = sequence.computed;
    sequences_.erase(id);
    bool taken = false;
    for (SequenceId other : waiting_) {
      Sequence& one = sequences_.at(other);
      if (taken || slot < 0 || one.leader != id || one.slot >= 0 || computed < one.shared) continue;
      one.slot = slot;
      one.computed = one.shared;
      taken = true;
      for (auto& [key, follower] : sequences_)
        if (follower.leader == id && key != other) follower.leader = other;
      one.leader = 0;
    }
    if (slot >= 0 && !taken) free_slots_.push_back(slot);
  }
  listener->finished(finish);
}

}  // namespace kw::serving
