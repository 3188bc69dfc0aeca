#include "train/rl/sampler.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace kw::train {
namespace {

// An answer that has a slot.
struct Running {
  std::size_t job = 0;
  std::int32_t slot = 0;
  std::size_t fed = 0;  // tokens of the prompt whose keys and values the slot has
};

class Sampling {
 public:
  Sampling(lm::Engine& engine, const std::vector<SampleJob>& jobs, const SamplerSettings& settings)
      : engine_(engine), jobs_(jobs), settings_(settings), answers_(jobs.size()) {
    for (auto slot = static_cast<std::int32_t>(engine.limits().slots); slot > 0; --slot)
      free_.push_back(slot - 1);
    for (const SampleJob& job : jobs)
      KW_CHECK(!job.prompt->empty() &&
               static_cast<std::int64_t>(job.prompt->size()) < engine.limits().context);
    waiting_.resize(jobs.size());
    std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  }

  bool done() const { return waiting_.empty() && running_.empty(); }

  void step() {
    admit();
    build();
    samples_.resize(step_.samples.size());
    engine_.run(step_, samples_);
    for (std::size_t i = 0; i < samples_.size(); ++i) take(running_[sampled_[i]], samples_[i]);
    release();
  }

  std::vector<SampledAnswer> answers() && { return std::move(answers_); }

 private:
  const std::vector<std::int32_t>& prompt_of(const Running& one) const {
    return *jobs_[one.job].prompt;
  }

  // A running answer to the same prompt; nullptr: there is none.
  const Running* alike(const SampleJob& job) const {
    for (const Running& one : running_)
      if (jobs_[one.job].prompt == job.prompt) return &one;
    return nullptr;
  }

  // In the order of jobs. An answer whose prompt is being computed for another one waits for it.
  void admit() {
    std::erase_if(waiting_, [this](std::size_t index) {
      if (free_.empty()) return false;
      const SampleJob& job = jobs_[index];
      Running one{index, free_.back(), 0};
      if (const Running* first = alike(job)) {
        if (first->fed < job.prompt->size()) return false;
        // The last token is computed again: its logits are what is sampled from.
        one.fed = job.prompt->size() - 1;
        engine_.copy_slot(first->slot, one.slot, static_cast<std::int32_t>(one.fed));
      }
      free_.pop_back();
      running_.push_back(one);
      return true;
    });
  }

  void build() {
    step_.clear();
    sampled_.clear();
    std::int64_t room = engine_.limits().step_tokens;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Running& one = running_[i];
      const std::vector<std::int32_t>& prompt = prompt_of(one);
      if (one.fed == prompt.size() && room > 0) {
        const SampledAnswer& answer = answers_[one.job];
        const std::size_t place = prompt.size() + answer.tokens.size() - 1;
        step_.add(answer.tokens.back(), static_cast<std::int32_t>(place), one.slot,
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
  void ask(std::size_t running) {
    const Running& one = running_[running];
    lm::SampleRequest request;
    request.row = static_cast<std::int32_t>(step_.tokens.size()) - 1;
    request.settings = settings_.sampling;
    request.seed = settings_.seed;
    request.sequence = jobs_[one.job].sequence;
    request.position = static_cast<std::uint32_t>(step_.positions.back()) + 1;
    step_.samples.push_back(request);
    sampled_.push_back(running);
  }

  void take(const Running& one, const lm::Sample& sample) {
    SampledAnswer& answer = answers_[one.job];
    answer.tokens.push_back(sample.token);
    answer.logprobs.push_back(sample.policy_logprob);
    answer.versions.push_back(sample.weights);
    if (lm::truncates(settings_.sampling)) answer.cutoffs.push_back(sample.cutoff);
    answer.ended = std::find(settings_.ends.begin(), settings_.ends.end(), sample.token) !=
                   settings_.ends.end();
  }

  bool over(const Running& one) const {
    const SampledAnswer& answer = answers_[one.job];
    const auto size = static_cast<std::int64_t>(answer.tokens.size());
    const auto whole = static_cast<std::int64_t>(prompt_of(one).size()) + size;
    return answer.ended || size >= settings_.answer_tokens || whole >= engine_.limits().context;
  }

  void release() {
    std::erase_if(running_, [this](const Running& one) {
      if (!over(one)) return false;
      free_.push_back(one.slot);
      return true;
    });
  }

  lm::Engine& engine_;
  const std::vector<SampleJob>& jobs_;
  const SamplerSettings& settings_;
  std::vector<SampledAnswer> answers_;
  std::vector<std::int32_t> free_;
  std::vector<Running> running_;
  std::vector<std::size_t> waiting_;  // jobs without a slot, in their order
  // Of a step; sampled_ has an index of running_ for each sample.
  lm::Step step_;
  std::vector<std::size_t> sampled_;
  std::vector<lm::Sample> samples_;
};

}  // namespace

Result<std::vector<SampledAnswer>> sample_answers(lm::Engine& engine,
                                                  const std::vector<SampleJob>& jobs,
                                                  const SamplerSettings& settings,
                                                  const std::function<bool()>& stop) {
  Sampling sampling(engine, jobs, settings);
  while (!sampling.done()) {
    if (stop()) return fail(ErrorCode::kCancelled, "interrupted");
    sampling.step();
  }
  return std::move(sampling).answers();
}

}  // namespace kw::train
