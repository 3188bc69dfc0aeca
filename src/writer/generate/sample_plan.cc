#include "writer/generate/sample_plan.h"

#include <algorithm>
#include <cmath>

namespace kw::writer::generate {
namespace {

struct FamilyWeight {
  std::string_view family;
  double first, later;
};
// How often a family begins a problem, and how often it goes on: about people's collections.
constexpr FamilyWeight kFamilies[] = {
    {"convolution", 33, 8}, {"matmul", 17, 8},      {"norm", 10, 14},       {"reduction", 8, 9},
    {"activation", 8, 30},  {"pooling", 7, 8},      {"scan", 4, 2},         {"loss", 6, 0},
    {"attention", 5, 0},    {"elementwise", 2, 22}, {"layout", 1, 4},       {"gather", 2, 0},
    {"sort", 2, 2},         {"recurrent", 2, 0},    {"quantization", 1, 0},
};

// Probabilities of depths 1 to 8.
constexpr double kDepths[] = {0.32, 0.15, 0.15, 0.13, 0.09, 0.07, 0.05, 0.04};

// Two branches and what joins them are three operators at least.
constexpr int kLeastBranched = 3, kBranchDraws = 24;
constexpr double kBranched = 0.15;  // of the plans that are deep enough

struct JoinWeight {
  std::string_view name;
  double weight;
  bool cuts, adds;  // the shapes may differ in one dimension; it may cancel what is linear
};
constexpr JoinWeight kJoins[] = {
    {"residual", 3, false, true},    {"multiply", 2.5, false, false},
    {"concatenate", 4, true, false}, {"stack", 1, false, false},
    {"subtract", 1.5, false, true},  {"gate", 2, false, false},
    {"choose", 1, false, false},     {"extreme_of_two", 1, false, false},
};

// Whether another branch may have its result's shape.
bool keeps_shape(const OpSpec& one) {
  return one.family == "activation" || one.family == "elementwise" || one.family == "norm" ||
         one.family == "convolution" || one.family == "scan" || one.name == "linear";
}

// It gives back what is not negative.
bool keeps_positive(const OpSpec& one) {
  constexpr std::string_view kNames[] = {"relu", "leaky_relu", "elu", "celu", "prelu", "abs"};
  return std::find(std::begin(kNames), std::end(kNames), one.name) != std::end(kNames);
}

class Sampler {
 public:
  Sampler(Rng& rng, const GeneratorOptions& options)
      : rng_(rng), options_(options), limits_{options.max_elements, options.max_work} {}

  Result<Plan> sample() {
    depth_ = draw_depth();
    KW_TRY(const OpSpec* first, first_operator());
    start(*first);
    if (first->domain == Domain::kNone) add(*first, -1);
    // Behind how many operators the plan parts in two; none: -1.
    const int least = static_cast<int>(plan_.steps.size());
    const bool parts = depth_ - least >= kLeastBranched && rng_.uniform() < kBranched;
    int split = -1;
    if (parts) {
      const int places = depth_ - least - kLeastBranched + 1;
      split = depth_ - kLeastBranched -
              static_cast<int>(larger_below(static_cast<std::uint64_t>(places)));
    }
    while (static_cast<int>(plan_.steps.size()) < depth_) {
      const OpSpec* wanted = plan_.steps.empty() ? first : nullptr;
      if (static_cast<int>(plan_.steps.size()) == split) {
        split = -1;
        if (branches(wanted)) continue;
      }
      if (!next(wanted)) break;
    }
    if (plan_.steps.empty()) add(*all_named("relu"), current_);
    finish();
    return std::move(plan_);
  }

 private:
  int draw_depth() {
    const int low = std::max(1, options_.min_depth), high = std::min(8, options_.max_depth);
    double sum = 0;
    for (int d = low; d <= high; ++d) sum += kDepths[d - 1];
    double draw = rng_.uniform() * sum;
    for (int d = low; d < high; ++d) {
      draw -= kDepths[d - 1];
      if (draw < 0) return d;
    }
    return high;
  }

  static const OpSpec* all_named(std::string_view name) {
    for (const OpSpec& one : all_operators()) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }

  template <typename Weight>
  const OpSpec* draw(const Weight& weight) {
    double sum = 0;
    for (const OpSpec& one : all_operators()) sum += weight(one);
    if (sum <= 0) return nullptr;
    double draw = rng_.uniform() * sum;
    const OpSpec* last = nullptr;
    for (const OpSpec& one : all_operators()) {
      const double mine = weight(one);
      if (mine <= 0) continue;
      last = &one;
      draw -= mine;
      if (draw < 0) break;
    }
    return last;
  }
  // The weight of an operator among its family's.
  static double share(const OpSpec& one) {
    double sum = 0;
    for (const OpSpec& other : all_operators())
      if (other.family == one.family) sum += other.weight;
    return one.weight / sum;
  }

  Result<const OpSpec*> first_operator() {
    if (!options_.only_first.empty()) {
      const OpSpec* found = all_named(options_.only_first);
      if (found == nullptr)
        return fail(ErrorCode::kInvalidArgument, "unknown operator {}", options_.only_first);
      return found;
    }
    return draw([](const OpSpec& one) {
      if (one.domain == Domain::kNever) return 0.0;
      for (const FamilyWeight& each : kFamilies)
        if (each.family == one.family) return each.first * share(one);
      return 0.0;
    });
  }

  std::int64_t size(std::int64_t low, std::int64_t high) { return human_size(rng_, low, high); }

  void start(const OpSpec& spec) {
    Domain domain = spec.domain;
    if (domain == Domain::kNone) return;
    if (domain == Domain::kNever) domain = Domain::kAny;
    if (domain == Domain::kAny) {
      const double draw = rng_.uniform();
      domain = draw < 0.4 ? Domain::kMatrix : draw < 0.65 ? Domain::kSequence : Domain::kImage;
    }
    if (domain == Domain::kImage) {
      const double draw = rng_.uniform();
      domain = draw < 0.57 ? Domain::kImage2 : draw < 0.78 ? Domain::kImage1 : Domain::kImage3;
    }
    Step none;
    Builder b(plan_, none, rng_, limits_);
    const double most = std::log2(static_cast<double>(options_.max_elements));
    const auto budget = static_cast<std::int64_t>(
        std::exp2(std::min(5.0, most) + rng_.uniform() * std::max(0.0, most - 5)));
    const bool uniform = rng_.uniform() < 0.4 && !keeps_positive(spec);
    Dims shape;
    const auto add_axis = [&](std::initializer_list<const char*> names, std::int64_t n) {
      shape.push_back(
          b.axis(*(names.begin() + rng_.below(names.size())), std::max<std::int64_t>(1, n), false));
    };
    const auto left = [&] { return std::max<std::int64_t>(1, budget / elements(shape)); };
    if (domain == Domain::kMatrix) {
      const std::int64_t rows = size(1, std::max<std::int64_t>(1, budget / 4));
      add_axis({"batch_size", "batch_size", "rows", "num_tokens"}, rows);
      add_axis({"dim", "in_features", "features", "hidden_size", "input_size"},
               std::max<std::int64_t>(4, size(std::max<std::int64_t>(4, left() / 2), left())));
    } else if (domain == Domain::kSequence) {
      add_axis({"batch_size", "batch_size", "B"},
               size(1, std::min<std::int64_t>(64, left() / 16 + 1)));
      add_axis({"seq_len", "seq_length", "sequence_length", "T"},
               size(2, std::max<std::int64_t>(2, std::min<std::int64_t>(8192, left() / 4))));
      add_axis({"hidden_size", "embed_dim", "d_model", "dim"},
               std::max<std::int64_t>(4, size(std::max<std::int64_t>(4, left() / 2),
                                              std::min<std::int64_t>(16384, left()))));
    } else {
      const int rank = domain == Domain::kImage1 ? 1 : domain == Domain::kImage2 ? 2 : 3;
      add_axis({"batch_size", "batch_size", "batch"},
               size(1, std::min<std::int64_t>(128, left() / 64 + 1)));
      add_axis({"in_channels", "in_channels", "channels"},
               size(1, std::max<std::int64_t>(1, std::min<std::int64_t>(512, left() / 16))));
      const auto side =
          static_cast<std::int64_t>(std::pow(static_cast<double>(left()), 1.0 / rank));
      const std::int64_t n =
          size(std::max<std::int64_t>(4, side / 2), std::max<std::int64_t>(4, side));
      const bool square = rng_.uniform() < 0.6;
      const auto each = [&] {
        return square ? n : size(std::max<std::int64_t>(4, n / 2), std::max<std::int64_t>(4, n));
      };
      if (rank == 1) add_axis({"length", "sequence_length", "width"}, n);
      if (rank == 3) add_axis({"depth", "depth", "frames"}, each());
      if (rank >= 2) {
        add_axis({"height", "height", "H"}, each());
        add_axis({"width", "width", "W"}, each());
      }
    }
    b.input(rng_.uniform() < 0.8 ? "x" : "input_tensor", shape,
            uniform ? Filling::kUniform : Filling::kNormal);
    current_ = static_cast<int>(plan_.values.size()) - 1;
  }

  // Two branches of one to three operators each from the current value, or one of them from another
  // input like it, and what joins them. False where no draw could be joined: nothing was added.
  bool branches(const OpSpec* wanted) {
    if (wanted != nullptr && !keeps_shape(*wanted)) return false;
    const Plan before = plan_;
    const int from = current_;
    const auto left = static_cast<std::uint64_t>(depth_) - plan_.steps.size() - 1;  // but the join
    const std::uint64_t first = 1 + larger_below(std::min<std::uint64_t>(3, left - 1));
    const std::uint64_t second = 1 + larger_below(std::min<std::uint64_t>(3, left - first));
    for (int tries = 0; tries < kBranchDraws; ++tries) {
      const bool joined = try_branches(wanted, first, second);
      hidden_begin_ = hidden_end_ = 0;
      if (joined) return true;
      plan_ = before;
      current_ = from;
    }
    return false;
  }
  // The larger of two draws, so that branches are not all short.
  std::uint64_t larger_below(std::uint64_t bound) {
    return std::max(rng_.below(bound), rng_.below(bound));
  }
  bool try_branches(const OpSpec* wanted, std::uint64_t first, std::uint64_t second) {
    const int from = current_;
    const std::size_t begin = plan_.steps.size();
    hidden_begin_ = static_cast<int>(plan_.values.size());
    if (!branch(wanted, first)) return false;
    const int one = current_;
    current_ = from;
    hidden_end_ = static_cast<int>(plan_.values.size());
    if (rng_.uniform() < 0.3) {
      Step none;
      Builder b(plan_, none, rng_, limits_);
      b.input(b.pick({"y", "other", "context", "second"}),
              plan_.values[static_cast<std::size_t>(from)].shape);
      current_ = static_cast<int>(plan_.values.size()) - 1;
    }
    if (!branch(nullptr, second)) return false;
    return join(begin, one, current_);
  }
  // Some operators behind the current value that leave what can be joined.
  bool branch(const OpSpec* wanted, std::uint64_t length) {
    for (std::uint64_t i = 0; i < length; ++i) {
      if (!next(i == 0 ? wanted : nullptr, true)) return false;
    }
    return plan_.values[static_cast<std::size_t>(current_)].dtype == task::DType::kFloat32;
  }
  bool join(std::size_t begin, int one, int other) {
    const Value& x = plan_.values[static_cast<std::size_t>(one)];
    const Value& y = plan_.values[static_cast<std::size_t>(other)];
    if (x.shape.size() != y.shape.size()) return false;
    const bool tame = y.magnitude() < 1e4;
    std::size_t differ = 0;
    for (std::size_t d = 0; d < x.shape.size(); ++d) differ += x.shape[d].size != y.shape[d].size;
    // Of lines of one tensor the sum or difference may be a constant.
    const bool curved =
        std::any_of(plan_.steps.begin() + static_cast<std::ptrdiff_t>(begin), plan_.steps.end(),
                    [](const Step& step) { return step.spec->family != "elementwise"; });
    const OpSpec* found = draw([&](const OpSpec& op) {
      for (const JoinWeight& each : kJoins) {
        if (each.name != op.name || !tame || !op.fits(x, limits_)) continue;
        if (differ > (each.cuts ? 1U : 0U) || (each.adds && !curved)) return 0.0;
        return each.weight;
      }
      return 0.0;
    });
    if (found == nullptr) return false;
    add(*found, one, other);
    return true;
  }

  // An operator behind the current value; false where none fits. In a branch only those that leave
  // a tensor of about the same shape.
  bool next(const OpSpec* wanted, bool in_branch = false) {
    const Value& x = plan_.values[static_cast<std::size_t>(current_)];
    const auto fits = [&](const OpSpec& one) {
      return one.domain != Domain::kNone && one.fits != nullptr && one.fits(x, limits_) &&
             !(x.positive() && keeps_positive(one)) && !follows_badly(one) &&
             (!in_branch || keeps_shape(one));
    };
    if (wanted != nullptr && fits(*wanted)) return add(*wanted, current_), true;
    const OpSpec* found = draw([&](const OpSpec& one) {
      if (!fits(one)) return 0.0;
      for (const FamilyWeight& each : kFamilies)
        if (each.family == one.family) return each.later * share(one);
      return 0.0;
    });
    if (found == nullptr) return false;
    add(*found, current_);
    return true;
  }
  // The same operator twice in a row, an activation of an activation, or zeros and ones at the end:
  // they tell little of the precision in which they were computed.
  bool follows_badly(const OpSpec& one) {
    const OpSpec* maker = maker_of(current_);
    if (maker == nullptr) return false;
    if (one.name == "compare" && static_cast<int>(plan_.steps.size()) + 1 == depth_) return true;
    const OpSpec& last = *maker;
    if (last.name == one.name) return one.family != "matmul" && one.family != "convolution";
    const bool extreme = one.name == "min" || one.name == "max" || one.name == "argmin" ||
                         one.name == "argmax" || one.name == "bottomk" || one.name == "median";
    const bool has_equal = last.name == "relu" || last.name == "squared_relu" ||
                           last.name == "threshold" || last.name == "compare" ||
                           last.name == "masked_fill";
    if (extreme && has_equal) return true;  // the same for every row
    return last.family == "activation" && one.family == "activation" && rng_.uniform() < 0.8;
  }

  const OpSpec* maker_of(int value) const {
    for (const Step& step : plan_.steps) {
      if (std::count(step.results.begin(), step.results.end(), value) > 0) return step.spec;
    }
    return nullptr;
  }

  void add(const OpSpec& spec, int operand, int other = -1) {
    plan_.steps.emplace_back();
    Step& step = plan_.steps.back();
    step.spec = &spec;
    if (operand >= 0) step.operands.push_back(operand);
    if (other >= 0) step.operands.push_back(other);
    Builder b(plan_, step, rng_, limits_);
    b.hidden_begin = hidden_begin_;
    b.hidden_end = hidden_end_;
    spec.build(b);
    current_ = step.results[0];
  }

  void finish() {
    const Step& last = plan_.steps.back();
    plan_.outputs = {last.results[0]};
    if (last.results.size() > 1) plan_.outputs = last.results;
  }

  Rng& rng_;
  const GeneratorOptions& options_;
  Limits limits_;
  Plan plan_;
  int current_ = -1, depth_ = 1;
  int hidden_begin_ = 0, hidden_end_ = 0;  // the first branch's values, for the second one
};

}  // namespace

Result<Plan> sample_plan(Rng& rng, const GeneratorOptions& options) {
  return Sampler(rng, options).sample();
}

}  // namespace kw::writer::generate
