// Patterns are looked for in at most 64Ki elements spread over the tensor.
#include "gym/correctness/mismatch.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "tensor/half.h"

namespace kw::gym {
namespace {

constexpr std::size_t kSamples = 1U << 16U;
// Share of |expected| + RMS below which two values count as the same for a pattern.
constexpr double kClose = 1e-2;
constexpr double kNearly = 0.98;  // share of the samples that must show a pattern

std::size_t same_place(std::size_t i) {
  return i;
}

class Patterns {
 public:
  Patterns(const TensorView& candidate, const TensorView& expected)
      : candidate_(candidate), expected_(expected), elements_(expected.elements()) {
    // A step that shares no factor with common row lengths walks over all columns.
    step_ = std::max<std::size_t>(1, elements_ / kSamples);
    if (step_ > 1) step_ |= 1U;
    double square = 0, count = 0;
    for (std::size_t i = 0; i < elements_; i += step_) {
      double e = at(expected_, i);
      if (std::isfinite(e)) square += e * e, count += 1;
    }
    rms_ = count > 0 ? std::sqrt(square / count) : 0;
    floating_ = tensor::is_floating(expected.dtype);
  }

  bool constant() const {
    double first = at(candidate_, 0);
    return elements_ > 1 && all([&](std::size_t i) { return at(candidate_, i) == first; }) &&
           share_close(same_place) < kNearly;
  }

  bool zeros() const {
    return share_of_wrong([&](std::size_t i) { return at(candidate_, i) == 0; }) > 0.9;
  }

  bool tail() const {
    double wrong_in_tail =
        share_of_wrong([&](std::size_t i) { return i >= elements_ - elements_ / 8; });
    return elements_ >= 64 && wrong_in_tail == 1;
  }

  bool transposed() const {
    auto rank = expected_.shape.size();
    if (rank < 2) return false;
    auto n = static_cast<std::size_t>(expected_.shape[rank - 1]),
         m = static_cast<std::size_t>(expected_.shape[rank - 2]);
    if (n < 2 || m < 2) return false;
    return explains([&](std::size_t i) {
      std::size_t in = i % (m * n);  // candidate holds [n, m] where [m, n] belongs
      return i - in + in % m * n + in / m;
    });
  }

  bool shifted() const {
    auto row = expected_.shape.empty() ? 1 : static_cast<std::size_t>(expected_.shape.back());
    for (std::size_t by : {std::size_t{1}, row}) {
      if (by >= elements_) continue;
      if (explains([&](std::size_t i) { return std::min(i + by, elements_ - 1); })) return true;
      if (explains([&](std::size_t i) { return i >= by ? i - by : 0; })) return true;
    }
    return false;
  }

  bool scaled() const {
    double factor = 0, seen = 0, same_factor = 0;
    for (std::size_t i = 0; i < elements_; i += step_) {
      double c = at(candidate_, i), e = at(expected_, i);
      if (!(std::abs(e) > 0.1 * rms_) || !std::isfinite(c)) continue;
      if (seen == 0) factor = c / e;
      seen += 1;
      if (std::abs(c / e - factor) <= kClose * std::abs(factor)) same_factor += 1;
    }
    return seen >= 8 && factor != 0 && std::abs(factor - 1) > kClose &&
           same_factor > kNearly * seen;
  }

  bool rounding() const {
    return floating_ &&
           all([&](std::size_t i) { return close(at(candidate_, i), at(expected_, i)); });
  }

 private:
  static double at(const TensorView& view, std::size_t i) {
    double value = 0;
    load(view.dtype, view.bytes, i, std::span(&value, 1));
    return value;
  }
  bool close(double a, double b) const {
    return floating_ ? std::abs(a - b) <= kClose * (std::abs(b) + rms_) : a == b;
  }
  template <typename Condition>
  bool all(Condition condition) const {
    for (std::size_t i = 0; i < elements_; i += step_) {
      if (!condition(i)) return false;
    }
    return true;
  }
  template <typename Map>
  double share_close(Map from) const {
    double seen = 0, fits = 0;
    for (std::size_t i = 0; i < elements_; i += step_) {
      seen += 1;
      fits += close(at(candidate_, i), at(expected_, from(i))) ? 1 : 0;
    }
    return seen > 0 ? fits / seen : 1;
  }
  // The candidate's elements are the expected ones from other places, and those differ from the
  // ones that belong there.
  template <typename Map>
  bool explains(Map from) const {
    return share_close(from) > kNearly && share_close(same_place) < 0.5;
  }
  template <typename Condition>
  double share_of_wrong(Condition condition) const {
    double wrong = 0, fits = 0;
    for (std::size_t i = 0; i < elements_; i += step_) {
      if (close(at(candidate_, i), at(expected_, i))) continue;
      wrong += 1;
      fits += condition(i) ? 1 : 0;
    }
    return wrong > 0 ? fits / wrong : 0;
  }

  const TensorView& candidate_;
  const TensorView& expected_;
  std::size_t elements_, step_ = 1;
  double rms_ = 0;
  bool floating_ = true;
};

std::string share_of(const CheckReport& report) {
  double share = static_cast<double>(report.wrong) /
                 static_cast<double>(std::max<std::uint64_t>(1, report.elements));
  if (share > 0.99) return "all";
  if (share > 0.5) return "most";
  if (share > 0.05) return "many";
  return share > 0.001 ? "some" : "few";
}

std::string_view words(MismatchKind kind) {
  switch (kind) {
    case MismatchKind::kNan:
      return "there are NaNs";
    case MismatchKind::kInfinite:
      return "there are infinities where none belong, or none where they do";
    case MismatchKind::kUnwritten:
      return "some elements were not written";
    case MismatchKind::kZeros:
      return "the wrong elements are zero";
    case MismatchKind::kConstant:
      return "every element is the same";
    case MismatchKind::kTransposed:
      return "the last two dimensions are exchanged";
    case MismatchKind::kShifted:
      return "elements hold their neighbours' values (off by one?)";
    case MismatchKind::kScaled:
      return "all elements are off by one factor";
    case MismatchKind::kTail:
      return "only the end of the tensor is wrong";
    case MismatchKind::kRounding:
      return "values are close but off by more than rounding explains (lower precision, another "
             "formula or constant?)";
    case MismatchKind::kBias:
      return "values are within rounding one by one, but all err to the same side (terms left "
             "out?)";
    case MismatchKind::kCluster:
      return "values are within rounding one by one, but whole stretches err together (lower "
             "precision in parts?)";
  }
  return "";
}

}  // namespace

Mismatch describe_mismatch(const TensorView& candidate, const TensorView& expected,
                           const CheckReport& report, std::size_t unwritten) {
  Mismatch mismatch;
  auto add = [&](MismatchKind kind, bool applies) {
    if (applies) mismatch.kinds.push_back(kind);
    return applies;
  };
  Patterns patterns(candidate, expected);
  add(MismatchKind::kUnwritten, unwritten > 0);
  add(MismatchKind::kNan, report.nan > 0);
  add(MismatchKind::kInfinite, report.infinite > 0);
  if (report.wrong > 0 && expected.elements() > 0) {
    bool found = add(MismatchKind::kConstant, patterns.constant());
    found = add(MismatchKind::kZeros, patterns.zeros()) || found;
    found = add(MismatchKind::kTransposed, !found && patterns.transposed()) || found;
    found = add(MismatchKind::kShifted, !found && patterns.shifted()) || found;
    found = add(MismatchKind::kScaled, !found && patterns.scaled()) || found;
    add(MismatchKind::kTail, patterns.tail());
    add(MismatchKind::kRounding, !found && report.nan == 0 && patterns.rounding());
  }
  add(MismatchKind::kBias, report.wrong == 0 && report.biased);
  add(MismatchKind::kCluster, report.wrong == 0 && report.clustered);
  mismatch.share = share_of(report);
  if (report.wrong > 0) mismatch.text = fmt::format("{} elements are wrong", mismatch.share);
  for (MismatchKind kind : mismatch.kinds) {
    if (!mismatch.text.empty()) mismatch.text += "; ";
    mismatch.text += words(kind);
  }
  return mismatch;
}

}  // namespace kw::gym
