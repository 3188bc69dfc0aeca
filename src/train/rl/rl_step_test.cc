// A step against what it must do: raise what was paid, whatever the packing, and measure the
// sampler's gap.
#include "train/rl/rl_step.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lm/cpu/cpu_engine.h"
#include "train/model/distill_head.h"
#include "train/rl/testing/sample_answers.h"

namespace kw::train {
namespace {

lm::ModelConfig tiny() {
  lm::ModelConfig c;
  c.family = lm::Family::kQwen3;
  c.vocabulary = 61;
  c.hidden = 32;
  c.layers = 2;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 8;
  c.intermediate = 48;
  c.max_position = 64;
  c.initializer_range = 0.2;
  c.tied_embeddings = true;
  c.qk_norm = true;
  return c;
}

// A model with answers of its own to two prompts, half of them paid.
struct Bench {
  explicit Bench(double top_p = 1, std::uint64_t seed = 3) {
    lm::SamplingSettings sampling;
    sampling.temperature = 0.8;
    sampling.top_p = top_p;
    lm::initialise(parameters, seed);
    lm::cpu::CpuOptions options;
    options.limits = {4, 64, 64};
    auto engine = lm::cpu::make_cpu_engine(parameters, options).value();
    const auto sampler = std::make_shared<const SamplerSettings>(
        SamplerSettings{.sampling = sampling, .answer_tokens = 9, .ends = {5}});
    std::vector<SampleJob> jobs;
    for (std::int32_t prompt = 0; prompt < 2; ++prompt) {
      const std::vector<std::int32_t> tokens{prompt, 7, 8};
      const auto shared = std::make_shared<const std::vector<std::int32_t>>(tokens);
      for (int i = 0; i < 3; ++i) jobs.push_back({shared, jobs.size(), sampler});
    }
    const std::vector<SampledAnswer> answers = sample_answers(*engine, jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      PolicySample one;
      one.sample.tokens = *jobs[i].prompt;
      one.sample.weights.assign(3, 0);
      one.sampler_logprobs.assign(3, 0);
      one.advantages.assign(3, 0);
      if (top_p < 1) one.cutoffs.assign(3, lm::kNoCutoff);
      one.cutoffs.insert(one.cutoffs.end(), answers[i].cutoffs.begin(), answers[i].cutoffs.end());
      for (std::size_t t = 0; t < answers[i].tokens.size(); ++t) {
        one.sample.tokens.push_back(answers[i].tokens[t]);
        one.sample.weights.push_back(1);
        one.sampler_logprobs.push_back(answers[i].logprobs[t]);
        one.advantages.push_back(i % 2 == 0 ? 1.0F : -1.0F);
      }
      samples.push_back(std::move(one));
    }
    parts.head.temperature = 0.8;
  }

  RlStepResult step(LossSettings loss, double rate, std::int64_t updates = 1) {
    return rl_step(parts, samples, {std::move(loss), updates, 1, rate});
  }
  static Batch batch_of(const Sample& one) {
    const std::vector<std::int32_t> tokens(one.tokens.begin(), one.tokens.end() - 1);
    const std::vector<std::int32_t> targets(one.tokens.begin() + 1, one.tokens.end());
    const std::vector<std::int64_t> lengths{static_cast<std::int64_t>(tokens.size())};
    return make_batch(tokens, targets, lengths, at::kCPU);
  }
  // Gives those of the answer's tokens of a sample.
  at::Tensor logprobs_of(const Sample& one) const {
    const Batch batch = batch_of(one);
    const at::Tensor all =
        head_logprobs(decoder.hidden(batch), weights.head.value, batch.targets, parts.head)
            .logprobs;
    return all.narrow(0, 2, all.size(0) - 2);
  }
  at::Tensor divergences_of(const Sample& one, const Bench& teacher,
                            const DistillLoss& loss) const {
    const Batch batch = batch_of(one);
    const DistillInput in{decoder.hidden(batch), weights.head.value, teacher.decoder.hidden(batch),
                          teacher.weights.head.value, batch.targets};
    const at::Tensor all = distill_rows(in, loss, 64).divergences;
    return all.narrow(0, 2, all.size(0) - 2);
  }
  // Mean log-probability of the answers that were paid, minus that of the others.
  double preference() const {
    double out = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
      out += logprobs_of(samples[i].sample).mean().item<double>() * (i % 2 == 0 ? 1 : -1);
    return out;
  }

  lm::Parameters parameters = lm::Parameters::make(tiny(), lm::WeightType::kFloat32).value();
  Weights weights{parameters, at::kCPU, at::kFloat};
  Decoder decoder{weights, {.context = 64}};
  Optimizer optimizer{weights, {}};
  RlParts parts{weights, decoder, optimizer, nullptr, nullptr, {}, 1000};
  std::vector<PolicySample> samples;
};

LossSettings loss_of(PolicyLoss loss) {
  LossSettings out;
  out.loss = loss;
  return out;
}

TEST(RlStep, EveryLossRaisesWhatWasPaid) {
  for (const PolicyLoss loss :
       {PolicyLoss::kReinforce, PolicyLoss::kPpo, PolicyLoss::kCispo, PolicyLoss::kGspo}) {
    Bench bench;
    const double before = bench.preference();
    for (int i = 0; i < 3; ++i) {
      const RlStepResult result = bench.step(loss_of(loss), 3e-3);
      EXPECT_EQ(result.updates, 1);
      EXPECT_GT(result.gradient_norm, 0);
    }
    EXPECT_GT(bench.preference(), before + 0.3) << to_string(loss);
  }
}

TEST(RlStep, TheSamplersNumbersAreTheTrainers) {
  Bench bench;
  const RlStepResult result = bench.step(loss_of(PolicyLoss::kPpo), 0);
  EXPECT_LT(result.mismatch_largest, 1e-4);
  EXPECT_LT(std::abs(result.mismatch_k3), 1e-6);
  EXPECT_GT(result.entropy, 0);
  EXPECT_LT(result.entropy, std::log(61.0));
  // A sampler with other numbers shows.
  for (PolicySample& one : bench.samples)
    for (std::size_t t = 3; t < one.sampler_logprobs.size(); ++t) one.sampler_logprobs[t] -= 0.5F;
  const RlStepResult shifted = bench.step(loss_of(PolicyLoss::kPpo), 0);
  EXPECT_NEAR(shifted.mismatch_k1, -0.5, 1e-3);
  EXPECT_NEAR(shifted.mismatch_k3, std::exp(0.5) - 0.5 - 1, 1e-3);
  EXPECT_NEAR(shifted.mismatch_largest, 0.5, 1e-3);
}

TEST(RlStep, TruncatedSamplesAreTrainedAsTheyWereDrawn) {
  for (const std::int64_t updates : {1, 2}) {
    Bench bench(0.7);
    const RlStepResult result = bench.step(loss_of(PolicyLoss::kPpo), 0, updates);
    EXPECT_LT(result.mismatch_largest, 1e-4);
    EXPECT_LT(std::abs(result.mismatch_k3), 1e-6);
    for (PolicySample& one : bench.samples) one.cutoffs.clear();  // the whole distribution
    EXPECT_GT(bench.step(loss_of(PolicyLoss::kPpo), 0, updates).mismatch_k3, 1e-2);
  }
}

// A reference, even one that is not used, makes the step look at the policy before it in a pass of
// its own.
TEST(RlStep, OnePassSaysWhatTwoSay) {
  for (const PolicyLoss loss : {PolicyLoss::kReinforce, PolicyLoss::kPpo}) {
    Bench one, two;
    two.parts.reference = &two.decoder;
    two.parts.reference_weights = &two.weights;
    one.parts.micro_tokens = two.parts.micro_tokens = 20;
    one.parts.head.chunk_tokens = two.parts.head.chunk_tokens = 7;
    const RlStepResult a = one.step(loss_of(loss), 1e-2), b = two.step(loss_of(loss), 1e-2);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.gradient_norm, b.gradient_norm);
    EXPECT_EQ(a.entropy, b.entropy);
    EXPECT_EQ(a.mismatch_k1, b.mismatch_k1);
    EXPECT_EQ(a.mismatch_k3, b.mismatch_k3);
    EXPECT_EQ(a.mismatch_largest, b.mismatch_largest);
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.computed, b.computed);
    EXPECT_EQ(one.preference(), two.preference());
  }
}

TEST(RlStep, MicroBatchesChangeNothing) {
  for (const PolicyLoss loss : {PolicyLoss::kPpo, PolicyLoss::kGspo}) {
    Bench whole, parts;
    parts.parts.micro_tokens = 12;
    parts.parts.head.chunk_tokens = 5;
    whole.step(loss_of(loss), 0);
    parts.step(loss_of(loss), 0);
    const at::Tensor a = whole.weights.gradients(), b = parts.weights.gradients();
    EXPECT_GT(a.norm().item<double>(), 0);
    EXPECT_LT((a - b).norm().item<double>(), 1e-5 * a.norm().item<double>()) << to_string(loss);
  }
}

TEST(RlStep, LaterUpdatesAreClippedAndCountTheirTokensOnce) {
  Bench bench;
  LossSettings loss = loss_of(PolicyLoss::kPpo);
  loss.clip_low = loss.clip_high = 1e-4;
  const RlStepResult result = bench.step(loss, 3e-2, 3);
  EXPECT_EQ(result.updates, 3);
  EXPECT_EQ(bench.optimizer.steps(), 3);
  EXPECT_GT(result.clip_share, 0.1);
  EXPECT_LT(result.clip_share, 1);
}

TEST(RlStep, KlToTheStartGrowsFromZero) {
  Bench start, bench;
  bench.parts.reference = &start.decoder;
  bench.parts.reference_weights = &start.weights;
  LossSettings loss = loss_of(PolicyLoss::kPpo);
  loss.kl = KlForm::kK3;
  EXPECT_NEAR(bench.step(loss, 1e-2).kl, 0, 1e-6);
  EXPECT_GT(bench.step(loss, 1e-2).kl, 1e-4);
}

// A teacher's advantages are written by hand, for the same step without one.
TEST(RlStep, ATeachersAdvantagesAreTheDifferencesOfLogprobs) {
  const Bench teacher(1, 4);
  Bench taught, by_hand;
  taught.parts.reference = &teacher.decoder;
  taught.parts.reference_weights = &teacher.weights;
  double kl = 0, tokens = 0;
  for (PolicySample& one : by_hand.samples) {
    const at::Tensor more =
        0.7 * (teacher.logprobs_of(one.sample) - by_hand.logprobs_of(one.sample));
    for (std::int64_t i = 0; i < more.size(0); ++i)
      one.advantages[static_cast<std::size_t>(3 + i)] += more[i].item<float>();
    kl -= more.sum().item<double>() / 0.7;
    tokens += static_cast<double>(more.size(0));
  }
  const LossSettings loss = loss_of(PolicyLoss::kPpo);
  const RlStepResult result =
      rl_step(taught.parts, taught.samples, {loss, 2, 1, 1e-2, /*teacher=*/0.7});
  by_hand.step(loss, 1e-2, 2);
  EXPECT_NEAR(result.teacher_kl, kl / tokens, 1e-5);
  EXPECT_EQ(result.kl, 0);
  EXPECT_LT((taught.weights.masters() - by_hand.weights.masters()).abs().max().item<float>(), 1e-5);
  EXPECT_GT((taught.weights.masters() - Bench().weights.masters()).abs().max().item<float>(), 1e-3);
}

TEST(RlStep, ATeacherAloneTeaches) {
  const Bench teacher(1, 4);
  Bench bench;
  bench.parts.reference = &teacher.decoder;
  bench.parts.reference_weights = &teacher.weights;
  for (PolicySample& one : bench.samples) std::ranges::fill(one.advantages, 0);
  const auto step = [&] {
    return rl_step(bench.parts, bench.samples, {loss_of(PolicyLoss::kReinforce), 1, 1, 3e-3, 1.0});
  };
  const double first = step().teacher_kl;
  double last = first;
  for (int i = 0; i < 10; ++i) last = step().teacher_kl;
  EXPECT_GT(first, 0.1);
  EXPECT_LT(std::abs(last), 0.5 * first);
}

// Beside its log-probabilities of the sampled tokens, its distributions teach without their noise.
TEST(RlStep, ATeachersDistributionsTeach) {
  const Bench teacher(1, 4);
  for (const Divergence kind : {Divergence::kForward, Divergence::kReverse}) {
    Bench bench;
    bench.parts.reference = &teacher.decoder;
    bench.parts.reference_weights = &teacher.weights;
    RlStepSettings settings{loss_of(PolicyLoss::kReinforce), 1, 1, 3e-3, 0.5};
    settings.teacher_loss = DistillLoss{.divergence = kind, .top_k = 9, .temperature = 2};
    double sum = 0, tokens = 0;
    for (const PolicySample& one : bench.samples) {
      const at::Tensor values = bench.divergences_of(one.sample, teacher, *settings.teacher_loss);
      sum += values.sum().item<double>();
      tokens += static_cast<double>(values.size(0));
    }
    const double first = rl_step(bench.parts, bench.samples, settings).loss;
    EXPECT_NEAR(first, 0.5 * sum / tokens, 1e-5);
    double last = first;
    for (int i = 0; i < 20; ++i) last = rl_step(bench.parts, bench.samples, settings).loss;
    EXPECT_GT(first, 0.001);
    EXPECT_LT(last, 0.5 * first);
  }
}

// Half of the answers failed, and one conversation has text of the environment.
struct TextBench : Bench {
  explicit TextBench(const Bench& teacher) {
    parts.feedback_teacher = &teacher.decoder;
    parts.feedback_weights = &teacher.weights;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      PolicySample& one = samples[i];
      one.answer_tokens = std::ssize(one.sample.tokens) - 3;
      if (i % 2 == 1) one.teacher_context = {11, 12, 13, 14, 15};
    }
    samples[4].observed.assign(samples[4].sample.tokens.size(), 0);
    samples[4].observed[1] = samples[4].observed[2] = 1;
    // Rewards teach nothing of these.
    for (const std::size_t i : {3, 4}) std::ranges::fill(samples[i].sample.weights, 0.0F);
  }
  RlStepSettings settings() const {
    RlStepSettings out{loss_of(PolicyLoss::kReinforce), 1, 1, 0};
    out.feedback = 0.6;
    out.feedback_loss = {.divergence = Divergence::kReverse, .temperature = 0.8};
    out.observation = 0.2;
    return out;
  }
  // Gives that of the answer's tokens of a sample, from what the teacher thinks of them.
  at::Tensor feedback_of(const PolicySample& one, const Bench& teacher) const {
    Sample told{one.teacher_context, {}};
    told.tokens.insert(told.tokens.end(), one.sample.tokens.begin() + 3, one.sample.tokens.end());
    const Batch with = batch_of(told), without = batch_of(one.sample);
    const DistillInput in{
        decoder.hidden(without).narrow(0, 2, one.answer_tokens), weights.head.value,
        teacher.decoder.hidden(with).narrow(0, 4, one.answer_tokens), teacher.weights.head.value,
        without.targets.narrow(0, 2, one.answer_tokens)};
    return distill_rows(in, settings().feedback_loss, 64).divergences;
  }
};

TEST(RlStep, EveryPartOfTheLossHasADivisorOfItsOwn) {
  const Bench teacher(1, 4);
  TextBench bench(teacher);
  double policy = 0, drawn = 0, divergence = 0, taught = 0;
  for (const PolicySample& one : bench.samples) {
    if (one.sample.weights.back() > 0) {
      policy -= one.advantages.back() * bench.logprobs_of(one.sample).sum().item<double>();
      drawn += static_cast<double>(one.answer_tokens);
    }
    if (one.teacher_context.empty()) continue;
    divergence += bench.feedback_of(one, teacher).sum().item<double>();
    taught += static_cast<double>(one.answer_tokens);
  }
  const Batch asked = Bench::batch_of(bench.samples[4].sample);
  const double nats = -head_logprobs(bench.decoder.hidden(asked), bench.weights.head.value,
                                     asked.targets, bench.parts.head)
                           .logprobs.narrow(0, 0, 2)
                           .sum()
                           .item<double>();
  const RlStepResult result = rl_step(bench.parts, bench.samples, bench.settings());
  EXPECT_NEAR(result.policy_loss, policy / drawn, 1e-5);
  EXPECT_NEAR(result.feedback_divergence, divergence / taught, 1e-5);
  EXPECT_NEAR(result.observation_loss, nats / 2, 1e-5);
  EXPECT_NEAR(result.loss, policy / drawn + 0.6 * divergence / taught + 0.2 * nats / 2, 1e-5);
  EXPECT_EQ(static_cast<double>(result.tokens), drawn);
  EXPECT_EQ(static_cast<double>(result.feedback_tokens), taught);
  EXPECT_EQ(result.feedback_answers, 3);
  EXPECT_EQ(result.observation_tokens, 2);

  TextBench parts(teacher);
  parts.parts.micro_tokens = 14;
  parts.parts.head.chunk_tokens = 5;
  rl_step(parts.parts, parts.samples, parts.settings());
  const at::Tensor a = bench.weights.gradients(), b = parts.weights.gradients();
  EXPECT_LT((a - b).norm().item<double>(), 1e-5 * a.norm().item<double>());
}

TEST(RlStep, FeedbackAloneTeaches) {
  const Bench teacher(1, 4);
  TextBench bench(teacher);
  for (PolicySample& one : bench.samples) {
    std::ranges::fill(one.sample.weights, 0.0F);
    one.observed.clear();
  }
  RlStepSettings settings = bench.settings();
  settings.learning_rate = 3e-3;
  const RlStepResult first = rl_step(bench.parts, bench.samples, settings);
  EXPECT_EQ(first.tokens, 0);
  EXPECT_EQ(first.updates, 1);
  RlStepResult last = first;
  for (int i = 0; i < 8; ++i) last = rl_step(bench.parts, bench.samples, settings);
  EXPECT_GT(first.feedback_divergence, 0.1);
  EXPECT_LT(last.feedback_divergence, 0.7 * first.feedback_divergence);
}

}  // namespace
}  // namespace kw::train
