#include "train/loss/divergence.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "base/check.h"

namespace kw::train {
namespace {

// The divergences of O outcomes with log-probabilities `teacher` and `student`, both [C, O].
struct OfOutcomes {
  at::Tensor values;   // [C]
  at::Tensor by_logs;  // [C, O]: by the logits whose softmax the student's probabilities are
};

OfOutcomes forward(const at::Tensor& teacher, const at::Tensor& student) {
  const at::Tensor p = teacher.exp();
  return {(p * (teacher - student)).sum(1), student.exp().sub_(p)};
}

// dD/dq = log(q / p) + 1, and through the softmax q (log(q / p) - D).
OfOutcomes reverse(const at::Tensor& teacher, const at::Tensor& student) {
  const at::Tensor q = student.exp(), ratio = student - teacher;
  OfOutcomes out;
  out.values = (q * ratio).sum(1);
  out.by_logs = (ratio - out.values.unsqueeze(1)).mul_(q);
  return out;
}

// dD/dq = (1 - beta) log(q / m) and a constant, as the derivatives of both logarithms of m add up
// to one: through the softmax (1 - beta) q (log(q / m) - KL(q || m)).
OfOutcomes jensen_shannon(const at::Tensor& teacher, const at::Tensor& student, double beta) {
  const at::Tensor mixed = at::logaddexp(teacher + std::log(beta), student + std::log1p(-beta));
  const at::Tensor by_teacher = (teacher.exp() * (teacher - mixed)).sum(1);
  OfOutcomes out = reverse(mixed, student);
  out.values = beta * by_teacher + (1 - beta) * out.values;
  out.by_logs.mul_(1 - beta);
  return out;
}

OfOutcomes of_outcomes(const at::Tensor& teacher, const at::Tensor& student,
                       const DistillLoss& loss) {
  switch (loss.divergence) {
    case Divergence::kForward:
      return forward(teacher, student);
    case Divergence::kReverse:
      return reverse(teacher, student);
    case Divergence::kJensenShannon:
      return jensen_shannon(teacher, student, loss.beta);
  }
  KW_CHECK(false);
}

// [C, K + 1]: the chosen log-probabilities, and that of any other token.
at::Tensor with_rest(const at::Tensor& logs, const at::Tensor& chosen) {
  const at::Tensor rest =
      logs.scatter(1, chosen, -std::numeric_limits<double>::infinity()).logsumexp(1, true);
  return at::cat({logs.gather(1, chosen), rest}, 1);
}

}  // namespace

DivergenceResult divergence(at::Tensor student, at::Tensor teacher, const DistillLoss& loss,
                            bool slopes) {
  KW_CHECK(loss.top_k <= student.size(1));
  if (loss.temperature != 1) {
    student.div_(loss.temperature);
    teacher.div_(loss.temperature);
  }
  at::Tensor logs = at::log_softmax(student, 1);
  student.reset();
  at::Tensor of_teacher = at::log_softmax(teacher, 1);
  teacher.reset();
  DivergenceResult out;
  if (loss.top_k == 0 || loss.top_k == logs.size(1)) {
    OfOutcomes all = of_outcomes(of_teacher, logs, loss);
    out.values = std::move(all.values);
    if (slopes) out.by_logits = std::move(all.by_logs);
  } else {
    const at::Tensor chosen = std::get<1>(of_teacher.topk(loss.top_k, 1));
    const at::Tensor outcomes = with_rest(logs, chosen);
    OfOutcomes few = of_outcomes(with_rest(of_teacher, chosen), outcomes, loss);
    out.values = std::move(few.values);
    // The share of the rest is divided among its tokens by their probabilities in it.
    if (slopes)
      out.by_logits = logs.sub_(outcomes.narrow(1, loss.top_k, 1))
                          .exp_()
                          .mul_(few.by_logs.narrow(1, loss.top_k, 1))
                          .scatter_(1, chosen, few.by_logs.narrow(1, 0, loss.top_k));
  }
  if (slopes && loss.temperature != 1) out.by_logits.div_(loss.temperature);
  return out;
}

}  // namespace kw::train
