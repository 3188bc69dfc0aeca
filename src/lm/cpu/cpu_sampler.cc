// Inverse transform: the token at which the sum of probabilities passes a uniform number.
#include "lm/cpu/cpu_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace kw::lm::cpu {
namespace {

void apply_mask(std::span<float> logits, const LogitMask& mask) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    bool allowed = i / 64 < mask.size() && ((mask[i / 64] >> (i % 64)) & 1U) != 0;
    if (!allowed) logits[i] = -std::numeric_limits<float>::infinity();
  }
}

// The order in which candidates are kept.
struct Likelier {
  template <typename Candidate>
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  }
};

double logprob_of(float logit, float scale, const RowStatistics& statistics) {
  return static_cast<double>(scale * logit - statistics.largest) - std::log(statistics.sum);
}

bool truncates(const SamplingSettings& s, std::size_t vocabulary) {
  bool few = s.top_k > 0 && static_cast<std::size_t>(s.top_k) < vocabulary;
  return few || s.top_p < 1 || s.min_p > 0;
}

}  // namespace

Sample CpuSampler::draw(std::span<float> logits, const SampleRequest& request) {
  const auto size = static_cast<std::int64_t>(logits.size());
  const SamplingSettings& settings = request.settings;
  const RowStatistics own = kernels_.row_statistics(logits.data(), size, 1);
  Sample out;
  if (request.top_logprobs > 0) out.top = top_of(logits, request.top_logprobs, own);
  if (request.forced >= 0) {
    out.token = request.forced;
    out.logprob =
        static_cast<float>(logprob_of(logits[static_cast<std::size_t>(out.token)], 1, own));
    out.policy_logprob = out.logprob;
    out.entropy = static_cast<float>(std::log(own.sum) - own.mean);
    return out;
  }
  std::vector<float> unmasked;
  if (request.mask != nullptr && !request.mask->empty()) {
    unmasked.assign(logits.begin(), logits.end());
    apply_mask(logits, *request.mask);
  }
  const bool greedy = settings.temperature == 0;
  const float scale = greedy ? 1.0F : static_cast<float>(1 / settings.temperature);
  const bool same = unmasked.empty() && scale == 1.0F;
  const RowStatistics drawn_from = same ? own : kernels_.row_statistics(logits.data(), size, scale);
  out.entropy = static_cast<float>(std::log(drawn_from.sum) - drawn_from.mean);
  if (greedy) {
    // The largest logit is its own: the scale is 1.
    auto found = std::find(logits.begin(), logits.end(), drawn_from.largest);
    out.token = found != logits.end() ? static_cast<std::int32_t>(found - logits.begin())
                                      : largest_of(logits);
  } else {
    const double uniform = uniform_at(request.seed, request.sequence, request.position);
    if (truncates(settings, logits.size())) {
      double sum = keep_candidates(logits, request, scale, drawn_from);
      double left = uniform * sum;
      std::size_t at = 0;
      auto share = [&](std::size_t i) {
        return std::exp(static_cast<double>(scale * candidates_[i].logit - drawn_from.largest));
      };
      while (at + 1 < candidates_.size() && left >= share(at)) left -= share(at++);
      out.token = candidates_[at].token;
      out.policy_logprob = static_cast<float>(std::log(share(at) / sum));
      const auto least = std::min_element(
          candidates_.begin(), candidates_.end(),
          [](const Candidate& a, const Candidate& b) { return a.logit < b.logit; });
      out.cutoff = static_cast<float>(logprob_of(least->logit, scale, drawn_from));
    } else {
      out.token = draw_from_all(logits, scale, drawn_from, uniform);
      out.policy_logprob = static_cast<float>(
          logprob_of(logits[static_cast<std::size_t>(out.token)], scale, drawn_from));
    }
  }
  std::span<const float> original = unmasked.empty() ? logits : std::span<float>(unmasked);
  out.logprob =
      static_cast<float>(logprob_of(original[static_cast<std::size_t>(out.token)], 1, own));
  return out;
}

std::int32_t CpuSampler::largest_of(std::span<const float> logits) const {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::vector<TokenLogprob> CpuSampler::top_of(std::span<const float> logits, std::int32_t count,
                                             const RowStatistics& own) {
  // A heap of the likeliest so far, the least of them in front.
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const Candidate one{logits[i], static_cast<std::int32_t>(i)};
    if (candidates_.size() == static_cast<std::size_t>(count)) {
      if (!Likelier{}(one, candidates_.front())) continue;
      std::pop_heap(candidates_.begin(), candidates_.end(), Likelier{});
      candidates_.pop_back();
    }
    candidates_.push_back(one);
    std::push_heap(candidates_.begin(), candidates_.end(), Likelier{});
  }
  std::sort_heap(candidates_.begin(), candidates_.end(), Likelier{});
  std::vector<TokenLogprob> out;
  for (const Candidate& one : candidates_)
    out.push_back({one.token, static_cast<float>(logprob_of(one.logit, 1, own))});
  return out;
}

std::int32_t CpuSampler::draw_from_all(std::span<const float> logits, float scale,
                                       const RowStatistics& statistics, double uniform) {
  const auto size = static_cast<std::int64_t>(logits.size());
  exponentials_.resize(logits.size());
  sums_.resize(static_cast<std::size_t>((size + kSumBlock - 1) / kSumBlock));
  kernels_.exponentials(logits.data(), size, scale, statistics.largest, exponentials_.data(),
                        sums_.data());
  double left = uniform * std::accumulate(sums_.begin(), sums_.end(), 0.0);
  std::size_t block = 0;
  while (block + 1 < sums_.size() && left >= sums_[block]) left -= sums_[block++];
  // Rounding can pass the end of a block: then it is the last that can be drawn.
  auto token = static_cast<std::int64_t>(block) * kSumBlock;
  const std::int64_t end = std::min(size, token + kSumBlock);
  std::int64_t last = -1;
  for (; token < end; ++token) {
    const double share = exponentials_[static_cast<std::size_t>(token)];
    if (share <= 0) continue;
    last = token;
    if (left < share) break;
    left -= share;
  }
  return last >= 0 ? static_cast<std::int32_t>(last) : largest_of(logits);
}

void CpuSampler::sort_candidates(std::size_t count) {
  count = std::min(count, candidates_.size());
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(count),
                    candidates_.end(), Likelier{});
}

double CpuSampler::keep_candidates(std::span<const float> logits, const SampleRequest& request,
                                   float scale, const RowStatistics& statistics) {
  const SamplingSettings& settings = request.settings;
  // exp(-60) of the largest is below what 53 random bits can hit: it is never drawn.
  const float never = -60;
  const float least =
      std::max(never, settings.min_p > 0 ? static_cast<float>(std::log(settings.min_p)) : never);
  const bool min_p_first =
      settings.min_p > 0;  // relative to the largest: its place does not matter
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    float below = scale * logits[i] - statistics.largest;
    if (below >= (min_p_first && settings.top_p >= 1 ? least : never))
      candidates_.push_back({logits[i], static_cast<std::int32_t>(i)});
  }
  KW_CHECK(!candidates_.empty());
  auto share = [&](const Candidate& one) {
    return std::exp(static_cast<double>(scale * one.logit - statistics.largest));
  };
  std::size_t sorted = 64;
  if (settings.top_k > 0) {
    sorted = std::min(candidates_.size(), static_cast<std::size_t>(settings.top_k));
    sort_candidates(sorted);
    candidates_.resize(sorted);
  }
  double sum = 0;
  for (const Candidate& one : candidates_) sum += share(one);
  if (settings.top_p < 1) {
    if (settings.top_k == 0) sort_candidates(sorted);
    double reached = 0;
    std::size_t kept = 0;
    while (kept < candidates_.size() && reached < settings.top_p * sum) {
      if (kept == sorted) sort_candidates(sorted *= 4);
      reached += share(candidates_[kept++]);
    }
    candidates_.resize(std::max<std::size_t>(1, kept));
  }
  if (min_p_first) {
    const double threshold = settings.min_p;
    auto small = [&](const Candidate& one) { return share(one) < threshold; };
    candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), small),
                      candidates_.end());
  }
  sum = 0;
  for (const Candidate& one : candidates_) sum += share(one);
  return sum;
}

}  // namespace kw::lm::cpu
