#include "writer/generate/sample_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/check.h"

namespace kw::writer::generate {
namespace {

struct FamilyWeight {
  std::string_view family;
  double first, later;
  bool keeps_shape = false;  // all its operators may end a branch
  bool pointwise = false;    // what is equal stays equal
};
// How often a family begins a problem, and how often it goes on: about people's collections.
constexpr FamilyWeight kFamilies[] = {{"convolution", 36, 8, true},
                                      {"matmul", 18, 8},
                                      {"norm", 10, 14, true},
                                      {"reduction", 8, 9},
                                      {"activation", 8, 30, true, true},
                                      {"pooling", 7, 8},
                                      {"scan", 4, 2, true},
                                      {"loss", 6, 0},
                                      {"attention", 5, 0},
                                      {"elementwise", 2, 22, true, true},
                                      {"layout", 1, 4},
                                      {"gather", 2, 0},
                                      {"sort", 2, 2},
                                      {"recurrent", 2, 0},
                                      {"quantization", 2, 0},
                                      {"bits", 2, 10},
                                      {"sampling", 1.5, 0}};

const FamilyWeight& weight_of(std::string_view family) {
  const auto* found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const FamilyWeight& one) { return one.family == family; });
  KW_CHECK(found != std::end(kFamilies));
  return *found;
}

// Probabilities of depths 1 to 8.
constexpr double kDepths[] = {0.32, 0.15, 0.15, 0.13, 0.09, 0.07, 0.05, 0.04};

// Two branches and what joins them are three operators at least.
constexpr int kMinBranched = 3, kBranchDraws = 24;
constexpr double kBranched = 0.15;  // of the plans that are deep enough

// Whether another branch may have its result's shape.
bool keeps_shape(const OpSpec& one) {
  return one.keeps_shape || weight_of(one.family).keeps_shape;
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
    const bool parts = depth_ - least >= kMinBranched && rng_.uniform() < kBranched;
    int split = -1;
    if (parts) {
      const int places = depth_ - least - kMinBranched + 1;
      split = depth_ - kMinBranched -
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

  bool is_allowed(const OpSpec& one) const {
    const std::vector<std::string>& only = options_.only_operators;
    return only.empty() || std::ranges::find(only, one.name) != only.end();
  }

  template <typename Weight>
  const OpSpec* draw(const Weight& weight) {
    double sum = 0;
    const auto weight_of_allowed = [&](const OpSpec& one) {
      return is_allowed(one) ? weight(one) : 0.0;
    };
    for (const OpSpec& one : all_operators()) sum += weight_of_allowed(one);
    if (sum <= 0) return nullptr;
    double draw = rng_.uniform() * sum;
    const OpSpec* last = nullptr;
    for (const OpSpec& one : all_operators()) {
      const double mine = weight_of_allowed(one);
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
      return weight_of(one.family).first * share(one);
    });
  }

  std::int64_t size(std::int64_t low, std::int64_t high) { return human_size(rng_, low, high); }

  // What an operator's first operand may be.
  Domain domain_of(const OpSpec& spec) {
    Domain out = spec.domain;
    if (out == Domain::kNever) out = Domain::kAny;
    if (out == Domain::kAny) {
      const double draw = rng_.uniform();
      out = draw < 0.4 ? Domain::kMatrix : draw < 0.65 ? Domain::kSequence : Domain::kImage;
    }
    if (out != Domain::kImage) return out;
    const double draw = rng_.uniform();
    return draw < 0.57 ? Domain::kImage2 : draw < 0.78 ? Domain::kImage1 : Domain::kImage3;
  }

  // The input of the first operator, unless that makes its own.
  void start(const OpSpec& spec) {
    if (spec.domain == Domain::kNone) return;
    const Domain domain = domain_of(spec);
    Step none;
    Builder b(plan_, none, rng_, limits_);
    const double most = std::log2(static_cast<double>(options_.max_elements));
    const auto budget = static_cast<std::int64_t>(
        std::exp2(std::min(5.0, most) + rng_.uniform() * std::max(0.0, most - 5)));
    const bool uniform = rng_.uniform() < 0.4 && !spec.keeps_positive;
    InputShape shape{b, budget, {}};
    if (domain == Domain::kMatrix || domain == Domain::kWords)
      draw_matrix(shape);
    else if (domain == Domain::kSequence)
      draw_sequence(shape);
    else
      draw_image(shape, domain == Domain::kImage1 ? 1 : domain == Domain::kImage2 ? 2 : 3);
    const std::string name = rng_.uniform() < 0.8 ? "x" : "input_tensor";
    if (domain == Domain::kWords)
      b.whole_numbers(name, shape.dims, tensor::DType::kInt32, INT32_MIN, INT32_MAX);
    else
      b.input(name, shape.dims, uniform ? Filling::kUniform : Filling::kNormal);
    current_ = static_cast<int>(plan_.values.size()) - 1;
  }

  // A shape whose dimensions are drawn one after the other.
  struct InputShape {
    Builder& b;
    std::int64_t budget;  // elements
    Dims dims;

    void add(std::initializer_list<const char*> names, std::int64_t n) {
      dims.push_back(b.axis(*(names.begin() + b.rng.below(names.size())),
                            std::max<std::int64_t>(1, n), false));
    }
    std::int64_t left() const { return std::max<std::int64_t>(1, budget / elements(dims)); }
  };
  void draw_matrix(InputShape& shape) {
    const std::int64_t rows = size(1, std::max<std::int64_t>(1, shape.budget / 4));
    shape.add({"batch_size", "batch_size", "rows", "num_tokens"}, rows);
    shape.add(
        {"dim", "in_features", "features", "hidden_size", "input_size"},
        std::max<std::int64_t>(4, size(std::max<std::int64_t>(4, shape.left() / 2), shape.left())));
  }
  void draw_sequence(InputShape& shape) {
    shape.add({"batch_size", "batch_size", "B"},
              size(1, std::min<std::int64_t>(64, shape.left() / 16 + 1)));
    shape.add({"seq_len", "seq_length", "sequence_length", "T"},
              size(2, std::max<std::int64_t>(2, std::min<std::int64_t>(8192, shape.left() / 4))));
    shape.add({"hidden_size", "embed_dim", "d_model", "dim"},
              std::max<std::int64_t>(4, size(std::max<std::int64_t>(4, shape.left() / 2),
                                             std::min<std::int64_t>(16384, shape.left()))));
  }
  void draw_image(InputShape& shape, int rank) {
    shape.add({"batch_size", "batch_size", "batch"},
              size(1, std::min<std::int64_t>(128, shape.left() / 64 + 1)));
    shape.add({"in_channels", "in_channels", "channels"},
              size(1, std::max<std::int64_t>(1, std::min<std::int64_t>(512, shape.left() / 16))));
    const auto side =
        static_cast<std::int64_t>(std::pow(static_cast<double>(shape.left()), 1.0 / rank));
    const std::int64_t n =
        size(std::max<std::int64_t>(4, side / 2), std::max<std::int64_t>(4, side));
    const bool square = rng_.uniform() < 0.6;
    const auto each = [&] {
      return square ? n : size(std::max<std::int64_t>(4, n / 2), std::max<std::int64_t>(4, n));
    };
    if (rank == 1) shape.add({"length", "sequence_length", "width"}, n);
    if (rank == 3) shape.add({"depth", "depth", "frames"}, each());
    if (rank >= 2) {
      shape.add({"height", "height", "H"}, each());
      shape.add({"width", "width", "W"}, each());
    }
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
    return plan_.values[static_cast<std::size_t>(current_)].dtype == tensor::DType::kFloat32;
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
      const Join& join = op.join;
      if (join.weight == 0 || !tame || !op.fits(x, limits_)) return 0.0;
      return differ > (join.cuts ? 1U : 0U) || (join.adds && !curved) ? 0.0 : join.weight;
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
             !(x.positive() && one.keeps_positive) && !follows_badly(one) &&
             (!in_branch || keeps_shape(one));
    };
    if (wanted != nullptr && fits(*wanted)) return add(*wanted, current_), true;
    const OpSpec* found = draw([&](const OpSpec& one) {
      if (!fits(one)) return 0.0;
      return weight_of(one.family).later * share(one);
    });
    if (found == nullptr) return false;
    add(*found, current_);
    return true;
  }
  // The same operator twice in a row, an activation of an activation, an extreme of what is the
  // same for every row, a norm that forgets the bias in front of it, or zeros and ones at the end:
  // they tell little of the precision in which they were computed.
  bool follows_badly(const OpSpec& one) {
    const Step* made = maker_of(current_);
    if (made == nullptr) return false;
    if (one.two_valued && static_cast<int>(plan_.steps.size()) + 1 == depth_) return true;
    const OpSpec& last = *made->spec;
    if (last.name == one.name)
      return one.family != "matmul" && one.family != "convolution" && one.family != "bits";
    if (one.picks_extreme && plan_.values[static_cast<std::size_t>(current_)].equal) return true;
    if (one.forgets_shifts && last.shifts_channels && shifts(*made)) return true;
    return last.family == "activation" && one.family == "activation" && rng_.uniform() < 0.8;
  }
  // Without the flag it always does.
  static bool shifts(const Step& step) { return step.param("bias") == nullptr || step.is("bias"); }

  const Step* maker_of(int value) const {
    for (const Step& step : plan_.steps) {
      if (std::count(step.results.begin(), step.results.end(), value) > 0) return &step;
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
    const bool was_equal = operand >= 0 && plan_.values[static_cast<std::size_t>(operand)].equal;
    plan_.values[static_cast<std::size_t>(current_)].equal =
        spec.makes_equal || (was_equal && weight_of(spec.family).pointwise);
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
