// Divergences from a teacher against autograd in float64: over all tokens, and over its likeliest.
#include "train/model/distill_head.h"

#include <string>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace kw::train {
namespace {

constexpr std::int64_t kHeadTokens = 150, kStudentWidth = 12, kTeacherWidth = 20, kOutcomes = 50;

at::TensorOptions in_float64() {
  return at::TensorOptions(at::kDouble);
}

double apart(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

struct DistillCase {
  DistillInput in;  // autograd records what the student's tensors go into
  at::Tensor shares;
};

DistillCase make_distill_case() {
  at::manual_seed(7);
  DistillCase out;
  out.in.hidden = at::randn({kHeadTokens, kStudentWidth}, in_float64()).requires_grad_(true);
  out.in.weight = at::randn({kOutcomes, kStudentWidth}, in_float64()).requires_grad_(true);
  out.in.teacher_hidden = at::randn({kHeadTokens, kTeacherWidth}, in_float64());
  out.in.teacher_weight = at::randn({kOutcomes, kTeacherWidth}, in_float64());
  out.in.targets = at::randint(kOutcomes, {kHeadTokens}, at::kLong);
  out.shares = at::rand({kHeadTokens}, in_float64());
  return out;
}

// On one thread: these matrices are small, and threads would wait for each other.
class DistillHead : public ::testing::Test {
 protected:
  DistillHead() { at::set_num_threads(1); }
  ~DistillHead() override { at::set_num_threads(threads_); }

 private:
  int threads_ = at::get_num_threads();
};

// Probabilities of the outcomes, [T, k + 1]: the same as in the formula, not as computed.
at::Tensor lumped(const at::Tensor& probabilities, const at::Tensor& chosen) {
  const at::Tensor some = probabilities.gather(1, chosen);
  return at::cat({some, 1 - some.sum(1, true)}, 1);
}

at::Tensor kl_of(const at::Tensor& a, const at::Tensor& b) {
  return (a * (a / b).log()).sum(1);
}

at::Tensor plain_divergence(at::Tensor p, at::Tensor q, const DistillLoss& loss) {
  if (loss.top_k > 0) {
    const at::Tensor chosen = std::get<1>(p.topk(loss.top_k, 1));
    p = lumped(p, chosen);
    q = lumped(q, chosen);
  }
  if (loss.divergence == Divergence::kForward) return kl_of(p, q);
  if (loss.divergence == Divergence::kReverse) return kl_of(q, p);
  const at::Tensor m = loss.beta * p + (1 - loss.beta) * q;
  return loss.beta * kl_of(p, m) + (1 - loss.beta) * kl_of(q, m);
}

std::string name_of(const DistillLoss& loss) {
  return "divergence " + std::to_string(static_cast<int>(loss.divergence)) + " top_k " +
         std::to_string(loss.top_k) + " cross_entropy " + std::to_string(loss.cross_entropy);
}

TEST_F(DistillHead, GradientsAreAutograds) {
  const DistillCase one = make_distill_case();
  const DistillInput& in = one.in;
  for (const Divergence kind :
       {Divergence::kForward, Divergence::kReverse, Divergence::kJensenShannon})
    for (const std::int64_t top_k : {0, 1, 6})
      for (const double cross_entropy : {0.0, 0.3}) {
        const DistillLoss loss{kind, 0.2, top_k, 1.7, cross_entropy};
        SCOPED_TRACE(name_of(loss));
        const at::Tensor logits = in.hidden.matmul(in.weight.t());
        const at::Tensor p =
            at::softmax(in.teacher_hidden.matmul(in.teacher_weight.t()) / loss.temperature, 1);
        const at::Tensor values =
            plain_divergence(p, at::softmax(logits / loss.temperature, 1), loss);
        const at::Tensor logprobs =
            at::log_softmax(logits, 1).gather(1, in.targets.unsqueeze(1)).squeeze(1);
        const at::Tensor total =
            (one.shares * ((1 - cross_entropy) * 1.7 * 1.7 * values - cross_entropy * logprobs))
                .sum();
        const auto want = torch::autograd::grad({total}, {in.hidden, in.weight});

        DistillInput plain = in;
        plain.hidden = in.hidden.detach();
        plain.weight = in.weight.detach();
        const at::Tensor by_weight = at::zeros({kOutcomes, kStudentWidth}, in_float64());
        const DistillGradients got = distill_gradients(plain, one.shares, by_weight, loss, 64);
        EXPECT_LT(apart(got.hidden, want[0]), 1e-10);
        EXPECT_LT(apart(by_weight, want[1]), 1e-10);
        EXPECT_LT(apart(got.forward.divergences, values.detach()), 1e-10);
        EXPECT_LT(apart(got.forward.logprobs, logprobs.detach()), 1e-12);
        const DistillRows rows = distill_rows(plain, loss, 64);
        EXPECT_TRUE(rows.divergences.equal(got.forward.divergences));
      }
}

// Outcomes lumped together can only hide differences; all tokens but one hide none.
TEST_F(DistillHead, TheLikeliestTokensBoundTheDivergence) {
  const DistillCase one = make_distill_case();
  for (const Divergence kind :
       {Divergence::kForward, Divergence::kReverse, Divergence::kJensenShannon}) {
    const at::Tensor full = distill_rows(one.in, {.divergence = kind}, 64).divergences;
    at::Tensor before = at::zeros_like(full);
    for (const std::int64_t top_k : {1, 5, 20}) {
      const at::Tensor some =
          distill_rows(one.in, {.divergence = kind, .top_k = top_k}, 64).divergences;
      EXPECT_TRUE((some >= before - 1e-12).all().item<bool>());
      EXPECT_TRUE((some <= full + 1e-12).all().item<bool>());
      before = some;
    }
    for (const std::int64_t top_k : {kOutcomes - 1, kOutcomes}) {
      const at::Tensor all =
          distill_rows(one.in, {.divergence = kind, .top_k = top_k}, 64).divergences;
      EXPECT_LT(apart(all, full), 1e-12);
    }
  }
}

// Probabilities that are 0 in float32 leave no number that is not finite.
TEST_F(DistillHead, SharpDistributionsStayFinite) {
  const auto floats = at::TensorOptions(at::kFloat);
  at::manual_seed(2);
  DistillInput in;
  in.hidden = at::randn({80, kStudentWidth}, floats) * 100;
  in.weight = at::randn({kOutcomes, kStudentWidth}, floats);
  in.teacher_hidden = at::randn({80, kTeacherWidth}, floats) * 100;
  in.teacher_weight = at::randn({kOutcomes, kTeacherWidth}, floats);
  in.targets = at::randint(kOutcomes, {80}, at::kLong);
  for (const Divergence kind :
       {Divergence::kForward, Divergence::kReverse, Divergence::kJensenShannon})
    for (const std::int64_t top_k : {0, 4}) {
      const DistillLoss loss{kind, 0.5, top_k, 1, 0.5};
      SCOPED_TRACE(name_of(loss));
      const at::Tensor by_weight = at::zeros({kOutcomes, kStudentWidth}, floats);
      const DistillGradients got =
          distill_gradients(in, at::ones({80}, floats), by_weight, loss, 64);
      EXPECT_TRUE(got.forward.divergences.isfinite().all().item<bool>());
      EXPECT_TRUE(got.hidden.isfinite().all().item<bool>());
      EXPECT_TRUE(by_weight.isfinite().all().item<bool>());
    }
}

}  // namespace
}  // namespace kw::train
