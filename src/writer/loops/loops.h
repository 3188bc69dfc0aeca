// Loops: a graph's work as loop nests over scalars, without a language or a machine yet. Each stage
// computes one buffer. Strategies decide what is merged, tiled and kept in registers, and a
// target's emitter prints the result.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/dtype.h"
#include "writer/graph/graph.h"

namespace kw::writer {

using BufferId = int;

struct Buffer {
  enum class Kind { kInput, kScalar, kOutput, kScratch };
  Kind kind = Kind::kScratch;
  std::string name;  // inputs and scalars as in the graph; outputs: out0; scratch: t0, t1
  TensorType type;   // contiguous, row-major
};

// ---- scalar expressions ----
enum class ScalarOp {
  // one argument
  kNeg,
  kAbs,
  kSign,
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kErfinv,
  kSigmoid,
  kFloor,
  kCeil,
  kRound,  // half to even
  kTrunc,
  kIsNan,
  kIsInf,
  kNot,
  kBitNot,
  kLgamma,
  kFrexpFraction,  // x = fraction * 2^exponent, 0.5 <= |fraction| < 1; 0, infinities and NaN: x and
                   // 0
  kFrexpExponent,  // int32
  // two
  kAdd,
  kSub,
  kMul,
  kDiv,  // integers are rounded towards 0
  kFloorDiv,
  kRemainder,  // the divisor's sign, as Python's %
  kFmod,
  kPow,
  kAtan2,
  kHypot,
  kMin,
  kMax,  // a NaN if one is
  kFmin,
  kFmax,  // the other if one is NaN
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kXor,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  // three
  // Condition (bool), value if true, value if false. Only the chosen one is evaluated: the other's
  // loads may be out of bounds, its indices negative.
  kSelect,
};

class Scalar;
using ScalarRef = std::shared_ptr<const Scalar>;  // shared: an expression is used in several places

// Immutable. dtype is that of the value; arithmetic is done in it. lower() makes no Call of float16
// or bfloat16 but kSelect: values are cast to float32, and an operator's result is cast back.
class Scalar {
 public:
  struct Constant {
    double number = 0;         // floating; infinities and NaN are allowed
    std::int64_t integer = 0;  // integers and bool
  };
  struct Index {  // a loop variable or size as a number
    IntExpr expr;
  };
  struct Load {
    BufferId buffer = 0;
    // One index for each dimension, as kInt64 scalars. Most are an Index; gathers have other
    // expressions. Wherever it is evaluated it is in bounds.
    std::vector<ScalarRef> index;
  };
  struct Call {
    ScalarOp op = ScalarOp::kNeg;
    std::vector<ScalarRef> arguments;
  };
  struct Cast {
    ScalarRef value;  // to dtype
  };
  // The value of a stage's reduction or scan at this place, for its epilogue.
  struct Reduced {};

  using Node = std::variant<Constant, Index, Load, Call, Cast, Reduced>;
  Scalar(tensor::DType type, Node content) : dtype(type), node(std::move(content)) {}

  tensor::DType dtype;
  Node node;
};

// ---- stages ----
struct Loop {
  std::string variable;  // unique in the program: i0, i1, r0
  IntExpr extent;        // an expression of sizes alone; every combination of loops is run
};

// How many iterations all of them have together; 1 without any.
IntExpr count_of(std::span<const Loop> loops);
// The number of an iteration, row-major over all loops. Loops of one iteration add nothing.
IntExpr row_major(std::span<const Loop> loops);

enum class ReduceOp {
  kSum,
  kProd,
  kMin,
  kMax,  // a NaN if one is
  // The place of the extreme value, row-major over `reduced`: the first of equal ones (in a Scan:
  // the place along the axis of the last of them). NaN beats every number. int64; `accumulator` is
  // the dtype of the values compared.
  kArgMin,
  kArgMax,
  kAny,
  kAll,
  kLogAddExp,  // log(exp(a) + exp(b)), of a Scan alone
};

// out[store] = epilogue(reduce over `reduced` of body), for all of `loops`. Without `reduced` it is
// the body alone (pointwise; the epilogue is null). The body has the dtype of `accumulator` where
// there is a reduction, and the stored value has the dtype of `out`.
struct Stage {
  std::string label;  // the graph's operator, for comments and plans: "conv2d", "softmax: sum"
  int node = -1;      // the graph's node; -1 for a copy into an output
  BufferId out = 0;
  std::vector<Loop> loops = {};    // one for each dimension of `out`, outermost first
  std::vector<Loop> reduced = {};  // outermost first
  ScalarRef body = {};
  ReduceOp op = ReduceOp::kSum;
  tensor::DType accumulator = tensor::DType::kFloat32;
  ScalarRef epilogue = {};  // an expression of Scalar::Reduced; null: the reduced value itself
};

// out = epilogue(running `op` of body along loops[axis], inclusive), from the axis's end backwards
// if reversed.
struct Scan {
  Stage stage;  // without `reduced`
  std::size_t axis = 0;
  bool reversed = false;
};

// Does not fit one expression an element; emitters have a routine for each.
struct Sort {  // along the last dimension, stable; NaN is the greatest
  std::string label;
  int node = -1;
  BufferId in = 0, values = 0, indices = 0;  // indices: int64
  bool descending = false;
  std::optional<IntExpr> first;  // top-k: the last dimension of values and indices
};

enum class ScatterOp { kAssign, kAdd, kMultiply, kMin, kMax };

// out[index] = out[index] op value, for all of `loops` one after the other in row-major order. An
// earlier step has filled `out`.
struct Scatter {
  std::string label;
  int node = -1;
  BufferId out = 0;
  std::vector<Loop> loops = {};
  std::vector<ScalarRef> index = {};  // one for each dimension of `out`, int64, in bounds
  ScalarRef value = {};               // has the dtype of out
  ScatterOp op = ScatterOp::kAdd;
};

using Step = std::variant<Stage, Scan, Sort, Scatter>;

struct Program {
  std::map<std::string, std::int64_t> sizes;  // the graph's sizes
  // The graph's conditions: sizes that break them need another program.
  std::vector<Condition> conditions;
  std::vector<Buffer> buffers;  // inputs in the graph's order first
  std::vector<Step> steps;      // each buffer is complete before it is read
  // In the graph's order; each a kOutput of its own, with the graph's elements in row-major order:
  // its shape may be another one of as many elements.
  std::vector<BufferId> outputs;
};

// Lowers one operator after the other and merges nothing: every stage is a whole operator or a part
// of one (softmax: max, exponentials and sum, quotient). Views, concatenation and padding are no
// stages; a stage that reads them reads through them. Steps whose results nothing reads are
// dropped. kUnsupported names every operator that is missing, kInvalidArgument an operator whose
// arguments do not fit each other.
Result<Program> lower(const Graph& graph);

enum class Rounding {
  kNone,   // floating values stay float64
  kDtype,  // each is rounded to its dtype
};

// Runs the program by walking its expressions in float64 and int64 (integers wrap at their dtype's
// width): slow, for tests. Buffers of inputs row-major, one vector each, as double.
// kInvalidArgument for an input of another length, an index out of bounds.
Result<std::vector<std::vector<double>>> interpret(const Program& program,
                                                   const std::vector<std::vector<double>>& inputs,
                                                   const std::map<std::string, std::int64_t>& sizes,
                                                   Rounding rounding = Rounding::kNone);

// For people and golden files; a step and a value of the program.
std::string to_text(const Program& program);
std::string to_text(const Program& program, const Step& step);
std::string to_text(const Program& program, const Scalar& value);

}  // namespace kw::writer
