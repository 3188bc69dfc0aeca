#include "train/rl/sampler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kw::train {

Sampler::Sampler(lm::Engine& engine) : engine_(engine) {
  for (auto slot = static_cast<std::int32_t>(engine.limits().slots); slot > 0; --slot)
    free_.push_back(slot - 1);
}

std::size_t Sampler::add(SampleJob job) {
  KW_CHECK(!job.prompt->empty() &&
           static_cast<std::int64_t>(job.prompt->size()) < engine_.limits().context);
  waiting_.push_back({added_, std::move(job), {}, 0, 0});
  return added_++;
}

std::vector<FinishedSample> Sampler::step() {
  admit();
  build();
  samples_.resize(step_.samples.size());
  engine_.run(step_, samples_);
  for (std::size_t i = 0; i < samples_.size(); ++i) take(running_[sampled_[i]], samples_[i]);
  return release();
}

// A running answer to the same prompt; nullptr: there is none.
const Sampler::Running* Sampler::alike(const SampleJob& job) const {
  for (const Running& one : running_)
    if (one.job.prompt == job.prompt) return &one;
  return nullptr;
}

// In the order of jobs. An answer whose prompt is being computed for another one waits for it.
void Sampler::admit() {
  std::erase_if(waiting_, [this](Running& one) {
    if (free_.empty()) return false;
    if (const Running* first = alike(one.job)) {
      if (first->fed < one.job.prompt->size()) return false;
      // The last token is computed again: its logits are what is sampled from.
      one.fed = one.job.prompt->size() - 1;
      engine_.copy_slot(first->slot, free_.back(), static_cast<std::int32_t>(one.fed));
    }
    one.slot = free_.back();
    free_.pop_back();
    running_.push_back(std::move(one));
    return true;
  });
}

void Sampler::build() {
  step_.clear();
  sampled_.clear();
  std::int64_t room = engine_.limits().step_tokens;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Running& one = running_[i];
    const std::vector<std::int32_t>& prompt = *one.job.prompt;
    if (one.fed == prompt.size() && room > 0) {
      const std::size_t place = prompt.size() + one.answer.tokens.size() - 1;
      step_.add(one.answer.tokens.back(), static_cast<std::int32_t>(place), one.slot,
                lm::Phase::kDecode);
      --room;
      ask(i);
      continue;
    }
    for (; room > 0 && one.fed < prompt.size(); --room, ++one.fed) {
      step_.add(prompt[one.fed], static_cast<std::int32_t>(one.fed), one.slot);
      if (one.fed + 1 == prompt.size()) ask(i);
    }
  }
}

// A sample behind the step's last row.
void Sampler::ask(std::size_t running) {
  const SampleJob& job = running_[running].job;
  lm::SampleRequest request;
  request.row = static_cast<std::int32_t>(step_.tokens.size()) - 1;
  request.settings = job.settings->sampling;
  request.seed = job.settings->seed;
  request.sequence = job.sequence;
  request.position = static_cast<std::uint32_t>(step_.positions.back()) + 1;
  step_.samples.push_back(request);
  sampled_.push_back(running);
}

void Sampler::take(Running& one, const lm::Sample& sample) const {
  const SamplerSettings& settings = *one.job.settings;
  SampledAnswer& answer = one.answer;
  answer.tokens.push_back(sample.token);
  answer.logprobs.push_back(sample.policy_logprob);
  answer.versions.push_back(sample.weights);
  if (lm::truncates(settings.sampling)) answer.cutoffs.push_back(sample.cutoff);
  answer.ended =
      std::find(settings.ends.begin(), settings.ends.end(), sample.token) != settings.ends.end();
}

bool Sampler::over(const Running& one) const {
  const auto size = static_cast<std::int64_t>(one.answer.tokens.size());
  const auto whole = static_cast<std::int64_t>(one.job.prompt->size()) + size;
  return one.answer.ended || size >= one.job.settings->answer_tokens ||
         whole >= engine_.limits().context;
}

std::vector<FinishedSample> Sampler::release() {
  std::vector<FinishedSample> out;
  std::erase_if(running_, [&](Running& one) {
    if (!over(one)) return false;
    free_.push_back(one.slot);
    out.push_back({one.number, std::move(one.answer)});
    return true;
  });
  return out;
}

}  // namespace kw::train
