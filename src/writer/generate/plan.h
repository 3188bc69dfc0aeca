// A problem before it is written down: axes, tensors, and operators with their constants.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "task/problem.h"
#include "writer/graph/graph.h"

namespace kw::writer::generate {

// A size with its value at the sizes that the module has.
struct Dim {
  IntExpr size;
  std::int64_t n = 1;
};
using Dims = std::vector<Dim>;

struct Axis {
  std::string name;    // in the definition
  std::string wanted;  // the name that people give it: "batch_size", "in_channels"
  std::int64_t n = 1;
  bool fixed = false;  // a weight has it, or an operator needs this very value
  // Its size where a kernel is interpreted (stretched()); 0: the same as elsewhere.
  std::int64_t small = 0;
};

// A tensor with what is known of its numbers, so that no chain of operators overflows or becomes
// constant.
struct Value {
  ValueId id;
  tensor::DType dtype = tensor::DType::kFloat32;
  Dims shape;
  double low = -3, high = 3;  // the range in which its numbers are expected
  bool centred = false;       // normalised: its mean along some dimension is a constant
  bool equal = false;  // many elements are the same number, so that an extreme of them tells little
  bool plateaus = false;  // runs of equal elements: a row may have no variance but rounding
  std::string hint = "x";

  double magnitude() const { return std::max(-low, high); }
  bool positive() const { return low >= 0; }
  void range(double from, double to) {
    low = from;
    high = to;
  }
};

enum class Filling {
  kNormal,
  kUniform,
  kIndices,
  kMask,
  kCausalMask,
  kSigns,
  kProbabilities,
  kWhole,  // from Slot::low to Slot::high
};
enum class Start { kWeight, kOnes, kZeros, kVariance };  // initial values of parameters

// A tensor that is given to the problem.
struct Slot {
  int value = 0;  // index of Plan::values
  InputRole role = InputRole::kInput;
  std::string suffix;  // "x", or the parameter's name in its layer: "weight"
  int step = -1;       // the step that has this parameter
  bool buffer = false;
  Filling filling = Filling::kNormal;
  std::int64_t below = 0;  // kIndices: 0 <= index < below
  Dim below_dim;
  std::int64_t low = 0, high = 0;  // kWhole
  Start start = Start::kWeight;
  Dim fan;  // weights are about 1 / sqrt(fan)
};

using ParamValue =
    std::variant<std::int64_t, double, bool, std::vector<std::int64_t>, std::string, Dim>;
struct Param {
  std::string name;
  ParamValue value;         // a std::string is written as it is
  bool is_default = false;  // an optional part of a rendering may leave it out
};

struct OpSpec;
struct Step {
  const OpSpec* spec = nullptr;
  std::vector<int> operands;  // indices of Plan::values
  std::vector<int> slots;     // parameters, in the order of the layer's state
  std::vector<Param> params;
  std::vector<int> results;

  const Param* param(std::string_view name) const;
  bool is(std::string_view flag) const;  // a parameter that is true, and is there
};

struct Plan {
  tensor::DType dtype = tensor::DType::kFloat32;  // of every floating-point value in the plan
  std::vector<Axis> axes;
  std::deque<Value> values;
  std::vector<Slot> slots;  // inputs in call order
  std::vector<Step> steps;
  std::vector<int> outputs;
  std::vector<Node> nodes;  // inputs are numbered as in `slots`

  Axis* axis(std::string_view name);
  const Axis* axis(std::string_view name) const;
};

}  // namespace kw::writer::generate
