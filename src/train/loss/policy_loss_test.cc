// The loss core and the LM head's gradients against torch autograd in float64: each case's loss is
// written again from its formula, one sequence at a time, over whole logits.
#include "train/loss/policy_loss.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/generated/variable_factories.h>

#include "train/model/lm_head.h"

namespace kw::train {
namespace {

constexpr std::int64_t kTokens = 23, kHidden = 5, kVocabulary = 11;
const std::vector<std::int64_t> kLengths = {6, 1, 9, 7};

at::Tensor random(at::IntArrayRef shape, std::uint64_t seed, double scale) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble) * scale;
}

// A tiny policy, hidden @ weight^T, and all that losses may want to know of its tokens.
struct Problem {
  at::Tensor hidden = random({kTokens, kHidden}, 1, 1);
  at::Tensor weight = random({kVocabulary, kHidden}, 2, 0.7);
  at::Tensor targets = at::arange(kTokens, at::kLong) * 7 % kVocabulary;
  LossInputs inputs;
  LossDivisors divisors;

  // near: how far the other distributions' log-probabilities lie, as standard deviation.
  explicit Problem(double near = 0.3) {
    const at::Tensor own = head_logprobs(hidden, weight, targets, {}).logprobs;
    inputs.old_logprobs = own + random({kTokens}, 3, near);
    inputs.sampler_logprobs = inputs.old_logprobs + random({kTokens}, 4, near);
    inputs.reference_logprobs = own + random({kTokens}, 5, near);
    inputs.advantages = random({kTokens}, 6, 1);
    inputs.weights = at::ones({kTokens}, at::kDouble);
    inputs.weights[0] = 0;
    inputs.weights[9] = 0.5;
    inputs.weights[20] = 0;
    // A token without a weight may hold anything.
    inputs.sampler_logprobs[20] = std::numeric_limits<double>::quiet_NaN();
    inputs.old_logprobs[0] = -std::numeric_limits<double>::infinity();
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < kLengths.size(); ++i)
      ids.insert(ids.end(), static_cast<std::size_t>(kLengths[i]), static_cast<std::int64_t>(i));
    inputs.sequences = at::tensor(ids, at::kLong);
    inputs.sequence_count = static_cast<std::int64_t>(kLengths.size());
    divisors = {inputs.weights.sum().item<double>(), 4};
  }
};

at::Tensor weighted(const at::Tensor& values, const at::Tensor& weights) {
  return values.index({weights > 0});
}

// The correction's weights of one sequence, from the formulas in loss_settings.h.
at::Tensor reference_correction(const at::Tensor& l, const CorrectionSettings& c) {
  at::Tensor out = at::ones_like(l);
  if (c.importance == ImportanceLevel::kToken) out = at::clamp_max(at::exp(l), c.importance_cap);
  if (c.importance == ImportanceLevel::kSequence)
    out = out * std::min(std::exp(l.sum().item<double>()), c.importance_cap);
  const double mean = l.mean().item<double>();
  if (c.geometric_low && (std::exp(mean) < *c.geometric_low || std::exp(mean) > *c.geometric_high))
    out = out * 0;
  if (c.max_absolute && l.abs().mean().item<double>() > *c.max_absolute) out = out * 0;
  if (c.veto && l.exp().min().item<double>() < *c.veto) out = out * 0;
  return out;
}

at::Tensor reference_surrogate(const at::Tensor& ratio, const at::Tensor& a,
                               const LossSettings& s) {
  const at::Tensor plain =
      -at::minimum(ratio * a, at::clamp(ratio, 1 - s.clip_low, 1 + s.clip_high) * a);
  if (!s.dual_clip) return plain;
  return at::where(a < 0, at::minimum(plain, -*s.dual_clip * a), plain);
}

at::Tensor reference_policy(const at::Tensor& logp, const at::Tensor& old, const at::Tensor& a,
                            const LossSettings& s) {
  const at::Tensor ratio = at::exp(logp - old);
  switch (s.loss) {
    case PolicyLoss::kSft:
      return -logp;
    case PolicyLoss::kReinforce:
      return -a * logp;
    case PolicyLoss::kPpo:
      return reference_surrogate(ratio, a, s);
    case PolicyLoss::kCispo:
      return -at::clamp_max(ratio, 1 + s.clip_high).detach() * a * logp;
    case PolicyLoss::kGspo: {
      const at::Tensor whole = at::exp((logp - old).mean()).detach();
      return reference_surrogate(whole * at::exp(logp - logp.detach()), a, s);
    }
  }
  return {};
}

at::Tensor reference_kl(const at::Tensor& d, KlForm form) {
  if (form == KlForm::kK1) return d;
  if (form == KlForm::kK2) return d * d / 2;
  return at::exp(-d) + d - 1;
}

// The loss of a whole step by autograd; entropy's part included.
at::Tensor reference_loss(const Problem& p, const at::Tensor& hidden, const at::Tensor& weight,
                          const LossSettings& s) {
  const at::Tensor all = at::log_softmax(at::matmul(hidden, weight.t()), 1);
  at::Tensor total = at::zeros({}, at::kDouble);
  std::int64_t begin = 0;
  for (std::int64_t length : kLengths) {
    auto part = [&](const at::Tensor& x) { return x.narrow(0, begin, length); };
    const at::Tensor w = part(p.inputs.weights), rows = part(all);
    const at::Tensor logp_all = rows.gather(1, part(p.targets).unsqueeze(1)).squeeze(1);
    const at::Tensor entropy = weighted(-(rows * rows.exp()).sum(1), w);
    const at::Tensor logp = weighted(logp_all, w), a = weighted(part(p.inputs.advantages), w);
    const at::Tensor mu = weighted(part(p.inputs.sampler_logprobs), w);
    const at::Tensor old = weighted(part(p.inputs.old_logprobs), w);
    const at::Tensor weights = weighted(w, w);
    const at::Tensor reference = weighted(part(p.inputs.reference_logprobs), w);
    begin += length;
    if (weights.size(0) == 0) continue;
    const bool bypass = s.correction.mode == CorrectionMode::kBypass;
    at::Tensor token = reference_policy(logp, bypass ? mu : old, a, s);
    if (s.correction.mode != CorrectionMode::kNone)
      token = token * reference_correction((bypass ? logp : old).detach() - mu, s.correction);
    if (s.kl != KlForm::kNone) {
      token = token + s.kl_coefficient * reference_kl(logp - reference, s.kl);
    }
    token = (token - s.entropy_coefficient * entropy) * weights;
    double divisor = p.divisors.tokens;
    if (s.aggregation == Aggregation::kSequenceMean)
      divisor = p.divisors.sequences * weights.sum().item<double>();
    if (s.aggregation == Aggregation::kConstant) divisor = p.divisors.sequences * s.constant_length;
    total = total + token.sum() / divisor;
  }
  return total;
}

double relative_norm(const at::Tensor& got, const at::Tensor& want) {
  return ((got - want).norm() / (want.norm() + 1e-30)).item<double>();
}

struct Gradients {
  at::Tensor loss, hidden, weight, clipped;
  Mismatch mismatch;
};

Gradients ours(const Problem& p, const LossSettings& s, std::int64_t chunk) {
  const at::Tensor shares = token_shares(p.inputs, s, p.divisors);
  Gradients out{at::zeros({}, at::kDouble), {}, at::zeros_like(p.weight), {}, {}};
  LossResult whole;
  const bool early = needs_whole_sequences(s);
  if (early) {
    whole =
        policy_loss(head_logprobs(p.hidden, p.weight, p.targets, {}).logprobs, p.inputs, shares, s);
    out.loss = whole.loss;
  }
  const HeadGradients head = head_gradients(
      p.hidden, p.weight, p.targets, out.weight,
      [&](std::int64_t begin, const at::Tensor& logprobs) -> HeadSlopes {
        const std::int64_t count = logprobs.size(0);
        auto part = [&](const at::Tensor& x) {
          return x.defined() ? x.narrow(0, begin, count) : x;
        };
        if (early) return {part(whole.gradient), part(whole.entropy_gradient)};
        whole = policy_loss(logprobs, narrow(p.inputs, begin, count), part(shares), s);
        out.loss = out.loss + whole.loss;
        return {whole.gradient, whole.entropy_gradient};
      },
      {.chunk_tokens = chunk, .entropy = true});
  out.hidden = head.hidden;
  out.clipped = whole.clipped;
  out.mismatch = whole.mismatch;
  if (s.entropy_coefficient != 0)
    out.loss = out.loss - s.entropy_coefficient * (shares * head.forward.entropies).sum();
  return out;
}

void expect_autograd(const Problem& p, const LossSettings& s, const std::string& name) {
  SCOPED_TRACE(name);
  ASSERT_TRUE(check(s));
  const at::Tensor hidden = p.hidden.clone().set_requires_grad(true);
  const at::Tensor weight = p.weight.clone().set_requires_grad(true);
  const at::Tensor want = reference_loss(p, hidden, weight, s);
  const std::vector<at::Tensor> grads = torch::autograd::grad({want}, {hidden, weight});
  ASSERT_GT(grads[1].norm().item<double>(), 1e-4) << "nothing is compared";
  for (std::int64_t chunk : {4, 100}) {
    const Gradients got = ours(p, s, chunk);
    EXPECT_NEAR(got.loss.item<double>(), want.item<double>(), 1e-9);
    EXPECT_LT(relative_norm(got.hidden, grads[0]), 1e-9);
    EXPECT_LT(relative_norm(got.weight, grads[1]), 1e-9);
  }
}

TEST(PolicyLoss, EveryLossAndAggregationEqualsAutograd) {
  const Problem p;
  for (auto loss : {PolicyLoss::kSft, PolicyLoss::kReinforce, PolicyLoss::kPpo, PolicyLoss::kCispo,
                    PolicyLoss::kGspo}) {
    for (auto aggregation :
         {Aggregation::kTokenMean, Aggregation::kSequenceMean, Aggregation::kConstant}) {
      LossSettings s;
      s.loss = loss;
      s.aggregation = aggregation;
      s.constant_length = 50;
      if (loss == PolicyLoss::kGspo) s.clip_low = 0.02, s.clip_high = 0.03;
      expect_autograd(p, s, fmt::format("{} {}", to_string(loss), to_string(aggregation)));
    }
  }
}

// Ratios far from 1 on both sides, so that every branch of the clips is taken.
TEST(PolicyLoss, ClipsEqualAutograd) {
  const Problem p(1.2);
  for (auto dual : {std::optional<double>(), std::optional(1.5), std::optional(3.0)}) {
    LossSettings s;
    s.loss = PolicyLoss::kPpo;
    s.clip_low = 0.1;
    s.clip_high = 0.4;
    s.dual_clip = dual;
    expect_autograd(p, s, fmt::format("dual {}", dual.value_or(0)));
    const double clipped = ours(p, s, 100).clipped.item<double>();
    EXPECT_GT(clipped, 2);
    EXPECT_LT(clipped, 21);
  }
}

TEST(PolicyLoss, KlAndEntropyEqualAutograd) {
  const Problem p;
  for (auto form : {KlForm::kK1, KlForm::kK2, KlForm::kK3}) {
    LossSettings s;
    s.loss = PolicyLoss::kReinforce;
    s.kl = form;
    s.kl_coefficient = 0.7;
    s.entropy_coefficient = 0.3;
    expect_autograd(p, s, std::string(to_string(form)));
  }
}

TEST(PolicyLoss, CorrectionsEqualAutograd) {
  const Problem p;
  std::vector<CorrectionSettings> all(6);
  all[1].importance = ImportanceLevel::kToken;
  all[1].importance_cap = 1.2;
  all[2].importance = ImportanceLevel::kSequence;
  all[2].importance_cap = 1.1;
  all[3].geometric_low = 0.9;
  all[3].geometric_high = 1.1;
  all[4].max_absolute = 0.28;
  all[5].veto = 0.6;
  for (auto mode : {CorrectionMode::kBypass, CorrectionMode::kDecoupled}) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      LossSettings s;
      s.correction = all[i];
      s.correction.mode = mode;
      const bool weights = s.correction.importance != ImportanceLevel::kNone;
      s.loss =
          mode == CorrectionMode::kBypass && weights ? PolicyLoss::kReinforce : PolicyLoss::kPpo;
      expect_autograd(p, s, fmt::format("{} {}", to_string(mode), i));
      const double masked = ours(p, s, 100).mismatch.masked_tokens.item<double>();
      // A mask must drop some and keep some, or the case shows nothing.
      EXPECT_EQ(masked > 0 && masked < 20, i >= 3) << to_string(mode) << i << " " << masked;
    }
  }
}

TEST(PolicyLoss, MismatchIsMeasured) {
  Problem p;
  LossSettings s;
  s.loss = PolicyLoss::kReinforce;
  s.correction.mode = CorrectionMode::kDecoupled;
  const Mismatch got = ours(p, s, 100).mismatch;
  const at::Tensor l =
      weighted(p.inputs.old_logprobs - p.inputs.sampler_logprobs, p.inputs.weights);
  EXPECT_NEAR(got.k1.item<double>(), -l.sum().item<double>(), 1e-12);
  EXPECT_NEAR(got.k3.item<double>(), (l.exp() - l - 1).sum().item<double>(), 1e-12);
  EXPECT_NEAR(got.largest.item<double>(), l.abs().max().item<double>(), 1e-12);
}

TEST(PolicyLoss, SettingsThatCountTwiceAreRefused) {
  LossSettings s;
  s.loss = PolicyLoss::kPpo;
  s.correction.mode = CorrectionMode::kBypass;
  EXPECT_TRUE(check(s));
  s.correction.importance = ImportanceLevel::kToken;
  const Status bad = check(s);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), ErrorCode::kInvalidArgument);
  s.loss = PolicyLoss::kReinforce;
  EXPECT_TRUE(check(s));
  s.correction.geometric_low = 0.9;
  EXPECT_FALSE(check(s)) << "one bound of two";
}

}  // namespace
}  // namespace kw::train
