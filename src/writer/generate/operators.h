// The table of operators that problems are made of. An entry says when the operator fits, what it
// draws, which nodes it becomes, and in which ways people write it.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "writer/generate/plan.h"

namespace kw::writer::generate {

// The input that the first operator of a problem starts from.
enum class Domain {
  kAny,       // any with an input
  kMatrix,    // [rows, columns]
  kSequence,  // [batch, length, width]
  kImage,     // any of the next three
  kImage1,    // [batch, channels, length]
  kImage2,    // [batch, channels, height, width]
  kImage3,    // [batch, channels, depth, height, width]
  kWords,     // [rows, columns] of int32, all bits random
  kNone,      // its build function makes all inputs
  kNever,     // it does not begin a problem
};

// A way to write an operator. Text with {places}: {x} {y} {z} are operands, {m} the layer, {weight}
// a parameter, {kernel_size} a constant, {t:mean} a new local variable "mean". [[...]] is left out
// where all constants in it have their default values. A forward text of several lines ends in the
// expression; "" calls the layer.
struct Rendering {
  std::string_view layer;  // constructor; empty: works in a definition too
  std::string_view forward;
  std::string_view when = {};    // flags of the step that must be set, "!": must not: "bias !tuple"
  std::string_view helper = {};  // a class or function in front of the model
};

struct Limits {
  std::int64_t max_elements = 0, max_work = 0;
};

class Builder;

// A Join says how an operator joins two branches.
struct Join {
  double weight = 0;  // 0: it does not
  bool cuts = false;  // the shapes may differ in one dimension
  bool adds = false;  // linear parts of the two branches may cancel
};

struct OpSpec {
  std::string_view name;
  std::string_view family = {};  // all_operators() sets it
  double weight = 1;             // within its family
  int tier = 1;                  // how hard it is to write well: 1 to 4
  Domain domain = Domain::kAny;
  bool (*fits)(const Value& x, const Limits& limits) = nullptr;
  void (*build)(Builder& b) = nullptr;
  std::string_view words;  // "ReLU"; places as in renderings
  std::vector<Rendering> ways;
  Join join = {};
  std::string_view attribute = {};  // the name of its layer; empty: its own name
  bool keeps_shape = false;         // a branch may end in it: its result may have x's shape
  bool keeps_positive = false;      // returns a value that is not negative unchanged
  bool picks_extreme = false;       // may choose any of several equal elements
  bool makes_equal = false;         // gives many elements the same number
  bool two_valued = false;          // its result is zeros and ones: no end of a problem
  bool shifts_channels = false;     // with the flag "bias" it adds a number to each channel
  bool forgets_shifts = false;      // such a number changes nothing of its result
  std::optional<bool> half = {};    // it and its ways hold for float16 and bfloat16: in_half_too()
};

// An argument of a node.
struct Arg {
  Attribute value;
  Arg(std::nullptr_t) {}                                               // NOLINT: arguments convert
  Arg(bool v) : value(v) {}                                            // NOLINT
  Arg(int v) : value(IntExpr(v)) {}                                    // NOLINT
  Arg(std::int64_t v) : value(IntExpr(v)) {}                           // NOLINT
  Arg(double v) : value(v) {}                                          // NOLINT
  Arg(const char* v) : value(std::string(v)) {}                        // NOLINT
  Arg(tensor::DType v) : value(v) {}                                   // NOLINT
  Arg(const IntExpr& v) : value(v) {}                                  // NOLINT
  Arg(const Dim& v) : value(v.size) {}                                 // NOLINT
  Arg(ValueId v) : value(v) {}                                         // NOLINT
  Arg(const Value& v) : value(v.id) {}                                 // NOLINT
  Arg(std::vector<IntExpr> v) : value(std::move(v)) {}                 // NOLINT
  Arg(const Dims& v);                                                  // NOLINT
  Arg(const std::vector<std::int64_t>& v);                             // NOLINT
  Arg(std::vector<std::optional<ValueId>> v) : value(std::move(v)) {}  // NOLINT
};

// Adds one operator to a plan. Only one thread may use it.
class Builder {
 public:
  Builder(Plan& plan, Step& step, Rng& random, const Limits& most)
      : rng(random), limits(most), plan_(plan), step_(step) {}

  Rng& rng;
  const Limits& limits;
  // The range of values that belong to another branch; companion() never returns them.
  int hidden_begin = 0, hidden_end = 0;

  // Draws.
  bool chance(double probability) { return rng.uniform() < probability; }
  std::int64_t between(std::int64_t low, std::int64_t high);  // both may come
  template <typename T>
  T pick(std::initializer_list<T> of) {
    return *(of.begin() + rng.below(of.size()));
  }
  std::int64_t size(std::int64_t low, std::int64_t high);  // log-uniform, as people choose
  double number(std::initializer_list<double> usual);  // one of these, or a number near one of them

  // Operands. The first is what the operator before made.
  const Value& x() const { return in(0); }
  const Value& in(std::size_t operand) const {
    return plan_.values[static_cast<std::size_t>(step_.operands[operand])];
  }
  Value& input(std::string hint, Dims shape, Filling filling = Filling::kNormal);
  Value& indices(std::string hint, Dims shape, const Dim& below);
  // Whole numbers, both may come.
  Value& whole_numbers(std::string hint, Dims shape, tensor::DType dtype, std::int64_t low,
                       std::int64_t high);
  // The other operand: the one that the step was given, as where two branches join, or else an
  // earlier tensor of the shape or a new input.
  const Value& companion(const Dims& shape);
  // The same, but for an earlier tensor.
  const Value& other(const Dims& shape);
  // A parameter of the operator, in the order of its layer's state.
  Value& weight(std::string suffix, Dims shape, Start start = Start::kWeight, const Dim& fan = {});
  Value& buffer(std::string suffix, Dims shape, Start start);

  // Constants.
  Dim axis(const std::string& wanted, std::int64_t n, bool fixed = true);
  std::int64_t whole(std::string name, std::int64_t value, std::int64_t usual = INT64_MIN);
  double real(std::string name, double value, double usual = -1e300);
  bool flag(std::string name, bool value, bool usual = false);
  std::vector<std::int64_t> tuple(std::string name, const std::vector<std::int64_t>& value,
                                  // Written as a single number where all elements agree.
                                  std::int64_t usual = INT64_MIN);
  void text(std::string name, std::string value, bool is_default = false);
  void size_of(std::string name, const Dim& dim);
  void fix(const Dim& dim);  // the problem holds for this value alone

  // Nodes; the types of their results are given.
  ValueId call(std::string_view op, std::vector<Arg> arguments, const Dims& shape,
               tensor::DType dtype = tensor::DType::kFloat32);
  // Adds a node with several outputs. Only outputs that have a type here are used.
  int call_several(std::string_view op, std::vector<Arg> arguments,
                   std::vector<std::optional<TensorType>> outputs);
  Value& result(ValueId id, Dims shape);

  // Adds one node whose result has x's shape.
  Value& pointwise(std::string_view op, std::vector<Arg> more = {});

  Plan& plan() { return plan_; }
  Step& step() { return step_; }

 private:
  Value& slot(Slot slot, std::string hint, Dims shape, tensor::DType dtype);
  Plan& plan_;
  Step& step_;
};

// Shapes.
std::int64_t elements(const Dims& shape);
TensorType type_of(const Dims& shape, tensor::DType dtype = tensor::DType::kFloat32);
Dim times(const Dim& a, const Dim& b);
Dim product(const Dims& shape, std::size_t first, std::size_t last);
Dim floor_div(const Dim& a, std::int64_t b);

// Conditions of many operators.
bool is_number(const Value& x, const Limits& limits);     // float32 below 1e4
bool has_elements(const Value& x, const Limits& limits);  // the same, at least four of a tensor
bool is_float(const Value& x, const Limits& limits);      // a tensor of float32
bool is_mixed(const Value& x, const Limits& limits);      // the same, of both signs, below 50

// Each of them with `half`, but where it says otherwise.
std::vector<OpSpec> in_half_too(std::vector<OpSpec> operators);

// Draws that need no builder.
std::int64_t human_size(Rng& rng, std::int64_t low, std::int64_t high);

// A part of a family each.
std::vector<OpSpec> activation_operators();
std::vector<OpSpec> rectifier_operators();
std::vector<OpSpec> function_operators();
std::vector<OpSpec> matmul_operators();
std::vector<OpSpec> convolution_operators();
std::vector<OpSpec> norm_operators();
std::vector<OpSpec> reduction_operators();
std::vector<OpSpec> pooling_operators();
std::vector<OpSpec> scan_operators();
std::vector<OpSpec> loss_operators();
std::vector<OpSpec> attention_operators();
std::vector<OpSpec> layout_operators();
std::vector<OpSpec> channel_norm_operators();
std::vector<OpSpec> arithmetic_operators();
std::vector<OpSpec> expression_operators();
std::vector<OpSpec> join_operators();
std::vector<OpSpec> product_operators();
std::vector<OpSpec> sorting_operators();
std::vector<OpSpec> recurrent_operators();
std::vector<OpSpec> gate_operators();
std::vector<OpSpec> gather_operators();
std::vector<OpSpec> bit_operators();
std::vector<OpSpec> sampling_operators();
std::vector<OpSpec> quantization_operators();

const std::vector<OpSpec>& all_operators();

}  // namespace kw::writer::generate
