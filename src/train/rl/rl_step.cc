#include "train/rl/rl_step.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include <ATen/ATen.h>

#include "base/check.h"
#include "base/random.h"
#include "train/data/packer.h"
#include "train/loss/loss_inputs.h"
#include "train/loss/policy_loss.h"
#include "train/model/distill_head.h"

namespace kw::train {
namespace {

// What passes before the step have found out of each sample; numbers as in PolicySample.
struct Before {
  std::vector<std::vector<float>> old, reference;
};

// One number of every place of a micro-batch: that of the target's token.
at::Tensor gathered(const PackedSamples& packed, at::Device device,
                    const std::function<const std::vector<float>&(std::size_t)>& of) {
  std::vector<float> all;
  all.reserve(packed.tokens.size());
  for (const std::size_t index : packed.samples) {
    const std::vector<float>& one = of(index);
    all.insert(all.end(), one.begin() + 1, one.end());
  }
  return on_device(at::tensor(all), device);
}

// The other way: a tensor of places [T] into the numbers of the samples.
void scatter(const PackedSamples& packed, const at::Tensor& values,
             std::vector<std::vector<float>>& into) {
  const at::Tensor host = values.to(at::kCPU, at::kFloat).contiguous();
  const float* from = host.const_data_ptr<float>();
  for (std::size_t i = 0; i < packed.samples.size(); ++i) {
    std::vector<float>& one = into[packed.samples[i]];
    one.assign(static_cast<std::size_t>(packed.lengths[i]) + 1, 0);
    std::copy_n(from, packed.lengths[i], one.begin() + 1);
    from += packed.lengths[i];
  }
}

// Sums over an optimizer step, without waiting for a GPU.
struct Sums {
  at::Tensor loss, clipped, kl;
  at::Tensor divergence, cross_entropy;  // of feedback and of observations, not averaged
};

// What the parts of an update's loss are divided by.
struct Divisors {
  LossDivisors policy{0, 0};
  double feedback = 0, observation = 0;  // tokens
};

class RlStep {
 public:
  RlStep(const RlParts& parts, std::span<const PolicySample> samples,
         const RlStepSettings& settings)
      : parts_(parts), samples_(samples), settings_(settings) {}

  RlStepResult run() {
    KW_CHECK(!settings_.teacher_loss || (settings_.feedback == 0 && settings_.observation == 0));
    before_.old.resize(samples_.size());
    before_.reference.resize(samples_.size());
    if (!one_pass()) look_before();
    std::vector<std::size_t> order(samples_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Rng rng(settings_.order);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    const auto updates = static_cast<std::size_t>(settings_.updates);
    for (std::size_t u = 0; u < updates; ++u) {
      const std::size_t begin = order.size() * u / updates, end = order.size() * (u + 1) / updates;
      if (begin < end) update(std::span(order).subspan(begin, end - begin));
    }
    if (parts_.ranks != nullptr) add_up();
    const auto count = static_cast<double>(std::max<std::int64_t>(out_.updates, 1));
    for (double* mean : {&out_.loss, &out_.policy_loss, &out_.gradient_norm}) *mean /= count;
    out_.feedback_divergence /=
        static_cast<double>(std::max<std::int64_t>(out_.feedback_tokens, 1));
    out_.observation_loss /=
        static_cast<double>(std::max<std::int64_t>(out_.observation_tokens, 1));
    const auto tokens = static_cast<double>(std::max<std::int64_t>(out_.tokens, 1));
    for (double* mean : {&out_.clip_share, &out_.kl, &out_.teacher_kl, &out_.entropy,
                         &out_.mismatch_k1, &out_.mismatch_k3})
      *mean /= tokens;
    return out_;
  }

 private:
  // The pass that gives the gradients is all that is computed: with one update the policy before
  // the step is the policy, token by token.
  bool one_pass() const {
    return settings_.updates == 1 && parts_.reference == nullptr &&
           !needs_whole_sequences(settings_.loss) &&
           settings_.loss.correction.mode == CorrectionMode::kNone;
  }

  // What the ranks have summed up over their shares.
  void add_up() {
    Collectives& ranks = *parts_.ranks;
    double* const sums[] = {&out_.loss,
                            &out_.policy_loss,
                            &out_.clip_share,
                            &out_.kl,
                            &out_.teacher_kl,
                            &out_.entropy,
                            &out_.mismatch_k1,
                            &out_.mismatch_k3,
                            &out_.feedback_divergence,
                            &out_.observation_loss};
    std::vector<double> mine;
    for (const double* one : sums) mine.push_back(*one);
    mine.push_back(static_cast<double>(out_.tokens));
    mine.push_back(static_cast<double>(out_.computed));
    const std::size_t first = mine.size();  // of the ranks' largest differences
    mine.resize(first + static_cast<std::size_t>(ranks.size()));
    mine[first + static_cast<std::size_t>(ranks.rank())] = out_.mismatch_largest;
    const std::vector<double> all = sum_over_ranks(ranks, parts_.weights.device(), mine);
    for (std::size_t i = 0; i < std::size(sums); ++i) *sums[i] = all[i];
    out_.tokens = static_cast<std::int64_t>(all[first - 2]);
    out_.computed = static_cast<std::int64_t>(all[first - 1]);
    out_.mismatch_largest =
        *std::max_element(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
  }

  bool is_mine(std::size_t index) const {
    return parts_.ranks == nullptr || index % static_cast<std::size_t>(parts_.ranks->size()) ==
                                          static_cast<std::size_t>(parts_.ranks->rank());
  }

  // The micro-batches of this rank's share.
  std::vector<PackedSamples> packed(std::span<const std::size_t> indices) const {
    std::vector<Sample> chosen;
    std::vector<std::size_t> mine;
    for (const std::size_t index : indices) {
      if (!is_mine(index)) continue;
      mine.push_back(index);
      chosen.push_back(samples_[index].sample);
    }
    std::vector<PackedSamples> out = pack(chosen, parts_.micro_tokens);
    for (PackedSamples& one : out)
      for (std::size_t& index : one.samples) index = mine[index];
    return out;
  }

  LossInputs inputs_of(const PackedSamples& packed, const Batch& batch) const {
    const at::Device device = parts_.weights.device();
    LossInputs out;
    out.weights = on_device(at::tensor(packed.weights), device);
    out.sequences = batch.sequences;
    out.sequence_count = std::ssize(packed.lengths);
    out.advantages = gathered(packed, device, [&](std::size_t i) -> const std::vector<float>& {
      return samples_[i].advantages;
    });
    out.sampler_logprobs = gathered(
        packed, device,
        [&](std::size_t i) -> const std::vector<float>& { return samples_[i].sampler_logprobs; });
    if (!before_.old[packed.samples[0]].empty())
      out.old_logprobs = gathered(packed, device, [&](std::size_t i) -> const std::vector<float>& {
        return before_.old[i];
      });
    if (parts_.reference != nullptr && !before_.reference[packed.samples[0]].empty())
      out.reference_logprobs = gathered(
          packed, device,
          [&](std::size_t i) -> const std::vector<float>& { return before_.reference[i]; });
    if (settings_.teacher > 0 && out.reference_logprobs.defined())
      out.advantages =
          out.advantages + settings_.teacher * (out.reference_logprobs - out.old_logprobs);
    return out;
  }

  // Undefined where the sampler truncates nothing. Numbers in bfloat16 are off by hundredths, but
  // for those that the sampler's own kernels make: there the sums of the head alone are others.
  Truncation truncation_of(const PackedSamples& packed) const {
    Truncation out;
    if (samples_[packed.samples[0]].cutoffs.empty()) return out;
    if (parts_.decoder.engine_products() != nullptr)
      out.slack = 5e-6;
    else
      out.slack = parts_.weights.compute_dtype() == at::kFloat ? 2e-5 : 0.02;
    out.cutoffs =
        gathered(packed, parts_.weights.device(),
                 [&](std::size_t i) -> const std::vector<float>& { return samples_[i].cutoffs; });
    return out;
  }

  // Log-probabilities of the policy and of the reference before the step, entropy, mismatch.
  void look_before() {
    std::vector<std::size_t> all(samples_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    HeadSettings head = parts_.head;
    head.entropy = true;
    for (const PackedSamples& one : packed(all)) {
      parts_.rest();
      const Batch batch = batch_of(one);
      const LossInputs inputs = inputs_of(one, batch);
      const HeadLogprobs now =
          head_logprobs(parts_.decoder.hidden(batch), parts_.weights.head.value, batch.targets,
                        head, truncation_of(one));
      measure(one, inputs, now);
      scatter(one, now.logprobs, before_.old);
      if (parts_.reference == nullptr) continue;
      const at::Tensor reference =
          head_logprobs(parts_.reference->hidden(batch), parts_.reference_weights->head.value,
                        batch.targets, parts_.head)
              .logprobs;
      scatter(one, reference, before_.reference);
      if (settings_.teacher > 0)
        out_.teacher_kl += ((now.logprobs - reference) * (inputs.weights > 0)).sum().item<double>();
    }
  }

  // Adds up what is logged of the policy before the step.
  void measure(const PackedSamples& one, const LossInputs& inputs, const HeadLogprobs& now) {
    CorrectionSettings plain;  // no mask and no weight
    plain.mode = CorrectionMode::kDecoupled;
    const Mismatch gap = correct_mismatch(now.logprobs, inputs, plain);
    out_.entropy += (now.entropies * inputs.weights).sum().item<double>();
    out_.mismatch_k1 += gap.k1.item<double>();
    out_.mismatch_k3 += gap.k3.item<double>();
    out_.mismatch_largest = std::max(out_.mismatch_largest, gap.largest.item<double>());
    out_.tokens += (inputs.weights > 0).sum().item<std::int64_t>();
    out_.computed += std::ssize(one.tokens);
  }

  Batch batch_of(const PackedSamples& one) const {
    Batch out = make_batch(one.tokens, one.targets, one.lengths, parts_.weights.device());
    if (parts_.decoder.engine_products() == nullptr) return out;
    // The sampler computes all that an answer follows as a prompt.
    for (std::size_t s = 0; s < one.samples.size(); ++s) {
      const auto answer = samples_[one.samples[s]].answer_tokens;
      const auto size = std::ssize(out.phases) + one.lengths[s];
      out.phases.resize(static_cast<std::size_t>(size + 1 - answer), lm::Phase::kPrefill);
      out.phases.resize(static_cast<std::size_t>(size), lm::Phase::kDecode);
    }
    return out;
  }

  bool is_taught(std::size_t index) const {
    return settings_.feedback > 0 && !samples_[index].teacher_context.empty();
  }

  Divisors divisors_of(std::span<const std::size_t> indices) {
    Divisors out;
    for (const std::size_t index : indices) {
      const PolicySample& one = samples_[index];
      const double sum =
          std::accumulate(one.sample.weights.begin() + 1, one.sample.weights.end(), 0.0);
      out.policy.tokens += sum;
      out.policy.sequences += sum > 0 ? 1 : 0;
      if (is_taught(index)) {
        out.feedback += static_cast<double>(one.answer_tokens);
        ++out_.feedback_answers;
      }
      if (settings_.observation > 0)
        out.observation += std::accumulate(one.observed.begin(), one.observed.end(), 0.0);
    }
    out_.feedback_tokens += static_cast<std::int64_t>(out.feedback);
    out_.observation_tokens += static_cast<std::int64_t>(out.observation);
    return out;
  }

  void update(std::span<const std::size_t> indices) {
    Divisors divisors = divisors_of(indices);
    if (divisors.policy.tokens + divisors.feedback + divisors.observation == 0) return;
    divisors.policy.tokens = std::max(divisors.policy.tokens, 1.0);
    divisors.policy.sequences = std::max(divisors.policy.sequences, 1.0);
    parts_.weights.clear_gradients();
    for (const PackedSamples& one : packed(indices)) {
      parts_.rest();
      const Sums sums =
          settings_.teacher_loss ? distilled(one, divisors.policy) : micro_batch(one, divisors);
      const double policy = sums.loss.item<double>();
      out_.policy_loss += policy;
      out_.loss += policy;
      out_.clip_share += sums.clipped.item<double>();
      out_.kl += sums.kl.item<double>();
      if (divisors.feedback > 0) {
        const double divergence = sums.divergence.item<double>();
        out_.feedback_divergence += divergence;
        out_.loss += settings_.feedback * divergence / divisors.feedback;
      }
      if (divisors.observation > 0) {
        const double nats = sums.cross_entropy.item<double>();
        out_.observation_loss += nats;
        out_.loss += settings_.observation * nats / divisors.observation;
      }
    }
    out_.gradient_norm += parts_.optimizer.step(settings_.learning_rate).item<double>();
    ++out_.updates;
  }

  // Adds to the weights' gradients.
  Sums micro_batch(const PackedSamples& one, const Divisors& divisors) {
    const Batch batch = batch_of(one);
    const LossInputs inputs = inputs_of(one, batch);
    const at::Tensor shares = token_shares(inputs, settings_.loss, divisors.policy);
    const at::Tensor observed =
        divisors.observation > 0
            ? observed_of(one).mul_(settings_.observation / divisors.observation)
            : at::Tensor();
    const at::Tensor zero = at::zeros({}, shares.options());
    Sums out{zero.clone(), zero.clone(), zero.clone(), zero.clone(), zero.clone()};
    Tape tape = parts_.decoder.forward(batch);
    auto add = [&out](const LossResult& part) {
      out.loss.add_(part.loss);
      out.clipped.add_(part.clipped);
      out.kl.add_(part.kl);
    };
    // A loss that looks at whole sequences is computed before the pass that gives gradients.
    const Truncation truncation = truncation_of(one);
    LossResult whole;
    const bool needs_whole = needs_whole_sequences(settings_.loss);
    if (needs_whole) {
      const at::Tensor logprobs = head_logprobs(tape.last.normed, parts_.weights.head.value,
                                                batch.targets, parts_.head, truncation)
                                      .logprobs;
      whole = policy_loss(logprobs, inputs, shares, settings_.loss);
      add(whole);
    }
    auto of_policy = [&](std::int64_t begin, const at::Tensor& logprobs) -> HeadSlopes {
      const std::int64_t count = logprobs.size(0);
      if (!needs_whole) {
        LossInputs some = narrow(inputs, begin, count);
        if (one_pass()) some.old_logprobs = logprobs;
        const LossResult part =
            policy_loss(logprobs, some, shares.narrow(0, begin, count), settings_.loss);
        add(part);
        return {part.gradient, part.entropy_gradient};
      }
      return {whole.gradient.narrow(0, begin, count),
              whole.entropy_gradient.defined() ? whole.entropy_gradient.narrow(0, begin, count)
                                               : at::Tensor()};
    };
    auto slopes = [&](std::int64_t begin, const at::Tensor& logprobs) {
      HeadSlopes sum = of_policy(begin, logprobs);
      if (observed.defined())
        sum.logprobs = sum.logprobs - observed.narrow(0, begin, logprobs.size(0));
      return sum;
    };
    HeadSettings asked = parts_.head;
    asked.entropy = one_pass();
    const HeadGradients head =
        head_gradients(tape.last.normed, parts_.weights.head.value, batch.targets,
                       gradient_sum(parts_.weights.head), slopes, asked, truncation);
    if (one_pass()) measure(one, inputs, head.forward);
    if (observed.defined()) out.cross_entropy.sub_((head.forward.logprobs * (observed > 0)).sum());
    if (divisors.feedback > 0)
      taught_by_feedback(one, {batch, tape.last.normed, head.hidden, divisors.feedback},
                         out.divergence);
    parts_.decoder.backward(batch, tape, head.hidden);
    return out;
  }

  at::Tensor observed_of(const PackedSamples& one) const {
    std::vector<float> all;
    for (std::size_t i = 0; i < one.samples.size(); ++i) {
      const std::vector<float>& from = samples_[one.samples[i]].observed;
      const auto count = static_cast<std::size_t>(one.lengths[i]);
      KW_CHECK(from.empty() || from.size() == count + 1);
      if (from.empty())
        all.insert(all.end(), count, 0);
      else
        all.insert(all.end(), from.begin() + 1, from.end());
    }
    return on_device(at::tensor(all), parts_.weights.device());
  }

  // The last hidden states of the teacher at the places of taught answers, [N, D].
  at::Tensor teacher_rows(const std::vector<std::size_t>& taught) const {
    const Decoder& decoder =
        parts_.feedback_teacher != nullptr ? *parts_.feedback_teacher : parts_.decoder;
    std::vector<at::Tensor> out;
    for (std::size_t first = 0, last = 0; first < taught.size(); first = last) {
      std::vector<std::int32_t> tokens, targets;
      std::vector<std::int64_t> lengths, places;
      for (; last < taught.size(); ++last) {
        const PolicySample& one = samples_[taught[last]];
        std::vector<std::int32_t> whole = one.teacher_context;
        whole.insert(whole.end(), one.sample.tokens.end() - one.answer_tokens,
                     one.sample.tokens.end());
        if (last > first && std::ssize(tokens) + std::ssize(whole) - 1 > parts_.micro_tokens) break;
        tokens.insert(tokens.end(), whole.begin(), whole.end() - 1);
        targets.insert(targets.end(), whole.begin() + 1, whole.end());
        lengths.push_back(std::ssize(whole) - 1);
        for (std::int64_t i = 0; i < one.answer_tokens; ++i)
          places.push_back(std::ssize(tokens) - one.answer_tokens + i);
      }
      const at::Device device = parts_.weights.device();
      const Batch batch = make_batch(tokens, targets, lengths, device);
      out.push_back(decoder.hidden(batch).index_select(0, on_device(at::tensor(places), device)));
    }
    return at::cat(out);
  }

  // A micro-batch whose head has been computed.
  struct TaughtBatch {
    const Batch& batch;
    const at::Tensor& hidden;  // what the head took, [T, D]
    at::Tensor by_hidden;      // the loss by it, to which is added
    double divisor;
  };

  // Adds the feedback's part to the gradients, and its divergences to the sum.
  void taught_by_feedback(const PackedSamples& one, TaughtBatch in, at::Tensor& sum) const {
    std::vector<std::size_t> taught;
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < one.samples.size(); ++i) {
      if (!is_taught(one.samples[i])) continue;
      taught.push_back(one.samples[i]);
      const std::int64_t count = samples_[one.samples[i]].answer_tokens;
      for (std::int64_t t = in.batch.bounds[i + 1] - count; t < in.batch.bounds[i + 1]; ++t)
        places.push_back(t);
    }
    if (taught.empty()) return;
    const at::Tensor rows = on_device(at::tensor(places), parts_.weights.device());
    const at::Tensor head = parts_.weights.head.value;
    const DistillLoss& loss = settings_.feedback_loss;
    const double square = loss.temperature * loss.temperature;  // a factor of the loss of rows
    const at::Tensor shares = at::full({rows.size(0)}, settings_.feedback / (in.divisor * square),
                                       head.options().dtype(at::kFloat));
    const DistillGradients got = distill_gradients(
        {in.hidden.index_select(0, rows), head, teacher_rows(taught),
         parts_.feedback_weights != nullptr ? parts_.feedback_weights->head.value : head,
         in.batch.targets.index_select(0, rows)},
        shares, gradient_sum(parts_.weights.head), loss,
        distill_chunk_tokens(head.size(0), head.is_cuda()));
    in.by_hidden.index_add_(0, rows, got.hidden);
    sum.add_(got.forward.divergences.sum());
  }

  // The same by the teacher's distributions.
  Sums distilled(const PackedSamples& one, const LossDivisors& divisors) {
    const Batch batch = batch_of(one);
    const DistillLoss& loss = *settings_.teacher_loss;
    const double square = loss.temperature * loss.temperature;  // a factor of the loss of rows
    const at::Tensor shares = token_shares(inputs_of(one, batch), settings_.loss, divisors)
                                  .mul(settings_.teacher / square);
    Tape tape = parts_.decoder.forward(batch);
    const at::Tensor head = parts_.weights.head.value;
    const DistillGradients got =
        distill_gradients({tape.last.normed, head, parts_.reference->hidden(batch),
                           parts_.reference_weights->head.value, batch.targets},
                          shares, gradient_sum(parts_.weights.head), loss,
                          distill_chunk_tokens(head.size(0), head.is_cuda()));
    parts_.decoder.backward(batch, tape, got.hidden);
    const at::Tensor zero = at::zeros({}, shares.options());
    return {(got.forward.divergences * shares).sum() * square, zero, zero, {}, {}};
  }

  const RlParts& parts_;
  const std::span<const PolicySample> samples_;
  const RlStepSettings& settings_;
  Before before_;
  RlStepResult out_;
};

}  // namespace

RlStepResult rl_step(const RlParts& parts, std::span<const PolicySample> samples,
                     const RlStepSettings& settings) {
  return RlStep(parts, samples, settings).run();
}

}  // namespace kw::train
