// Shared parts of the functions that lower one operator each. A value of the graph is a Tensor: a
// rule that gives the scalar at an index. Stages make rules that load from a buffer, and views wrap
// another rule.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "writer/graph/int_ranges.h"
#include "writer/loops/loops.h"
#include "writer/loops/scalar.h"

namespace kw::writer {

using Index = std::vector<IntExpr>;  // one expression for each dimension
using Rule = std::function<ScalarRef(const Index&)>;

struct Tensor {
  TensorType type;
  Rule rule;
  std::optional<BufferId> buffer =
      std::nullopt;     // all of it in row-major order, perhaps of another shape
  bool number = false;  // a host number: promotes by its kind alone
  std::shared_ptr<const struct Flip> flip = nullptr;  // it is that, flipped
  // The cost of reading an element: how many tensors it chooses from, and how deep rules call each
  // other.
  int choices = 1, depth = 0;
  std::size_t rank() const { return type.shape.size(); }
};

struct Flip {
  Tensor of;
  std::vector<std::size_t> dims;
};

// The stages made so far and the names in use.
class Lowering {
 public:
  explicit Lowering(const Graph& graph);

  IntRanges ranges;

  // The element; its index may hold symbols of data_index().
  ScalarRef read(const Tensor& tensor, const Index& index);
  ScalarRef scalar_of(const IntExpr& expr);  // kInt64
  // A value that data decides as a part of indices: 0 <= value < extent.
  IntExpr data_index(const ScalarRef& value, const IntExpr& extent);
  // low <= expr < high as a scalar, true where it is proven.
  ScalarRef within(const IntExpr& expr, const IntExpr& low, const IntExpr& high);
  ScalarRef less(const IntExpr& a, const IntExpr& b);

  // Stages. Labels and node numbers are those of begin_node().
  void begin_node(int node, std::string label);
  void part(std::string name) { part_ = std::move(name); }  // "softmax: sum"
  Tensor map(const TensorType& type, const Rule& body);
  struct Reduction {
    ReduceOp op = ReduceOp::kSum;
    tensor::DType accumulator = tensor::DType::kFloat32;
    Shape extents;
    std::function<ScalarRef(const Index& at, const Index& reduced)> body;
    std::function<ScalarRef(const Index& at, const ScalarRef& value)> epilogue =
        {};  // empty: a cast
  };
  Tensor reduce(const TensorType& type, const Reduction& reduction);
  Tensor scan(const TensorType& type, std::size_t axis, bool reversed, ReduceOp op,
              tensor::DType accumulator, const Rule& body);
  struct Sorted {
    Tensor values, indices;
  };
  // Sorts along the last dimension.
  Sorted sort(const Tensor& in, bool descending, const std::optional<IntExpr>& first);
  // loops: extents of the scattered updates. place: the index into `out` of an update.
  Tensor scatter(const Tensor& start, const Shape& extents, ScatterOp op,
                 const std::function<Index(const Index&)>& place, const Rule& value);
  Tensor in_buffer(const Tensor& tensor);  // itself, or a copy in a buffer of its own

  Program finish(const std::vector<Tensor>& outputs);
  Tensor input(std::size_t index);

  // Index ranks that do not fit, seen by read(): the first is kept.
  std::optional<std::string> take_misfit();

 private:
  std::string fresh_name(const std::string& prefix, int& next);
  std::vector<Loop> loops_over(const Shape& extents, const std::string& prefix, Index& variables);
  BufferId new_buffer(const TensorType& type);
  Tensor of_buffer(BufferId buffer);
  std::string label() const { return part_.empty() ? label_ : label_ + ": " + part_; }
  void drop_unread_steps();
  void name_scratch();

  Program program_;
  std::size_t inputs_ = 0;
  std::set<std::string> names_;
  std::unordered_map<std::string, ScalarRef> data_;
  int node_ = -1, next_loop_ = 0, next_reduced_ = 0, next_data_ = 0;
  std::string label_, part_;
  std::optional<std::string> misfit_;
};

// A node that is being lowered. An argument of a form that the function cannot take makes the call
// fail with kUnsupported. After that, values are harmless ones and set() has no effect.
class OpCall {
 public:
  OpCall(Lowering& lowering, const Graph& graph, int node,
         const std::vector<std::vector<Tensor>>& values,
         const std::vector<std::vector<bool>>& used);

  Lowering& at;

  const std::string& op() const { return node_.op; }
  bool given(std::string_view name) const;  // there and not None
  Tensor tensor(std::string_view name);     // a number too
  std::vector<Tensor> tensors(std::string_view name);
  std::vector<std::optional<Tensor>> optional_tensors(std::string_view name);
  IntExpr size(std::string_view name);
  std::vector<IntExpr> sizes(std::string_view name);       // a single number is a list
  std::int64_t integer(std::string_view name);             // known while writing
  double number(std::string_view name, double otherwise);  // known while writing; None: otherwise
  // True for this number, where it is known while lowering.
  bool is(std::string_view name, double value) const;
  bool flag(std::string_view name);
  std::string text(std::string_view name);
  std::size_t dim(std::string_view name, std::size_t rank);
  // All dimensions where no argument is given.
  std::vector<std::size_t> dims(std::string_view name, std::size_t rank);
  std::size_t dim_of(std::int64_t dim, std::size_t rank);
  // Like sizes(), one number standing for all `count`; none given: `otherwise`.
  std::vector<IntExpr> sizes_each(std::string_view name, std::size_t count,
                                  const IntExpr& otherwise);
  // A number, a host scalar or a tensor without dimensions, as a scalar of the dtype.
  ScalarRef scalar(std::string_view name, tensor::DType dtype, double otherwise = 0);

  std::size_t outputs() const { return node_.outputs.size(); }
  const TensorType& type(std::size_t output = 0) const;
  bool used(std::size_t output) const;
  std::size_t first_used() const;  // 0 where none is
  void set(Tensor value) { set(0, std::move(value)); }
  // A view that costs too much to read becomes a stage.
  void set(std::size_t output, Tensor value);
  // Whether the output has so many dimensions; else the call fails.
  bool has_rank(std::size_t rank, std::size_t output = 0);

  void unsupported(std::string what);  // "argument form"
  void invalid(std::string what);
  bool failed() const { return failure_.has_value(); }
  const std::optional<Error>& failure() const { return failure_; }
  std::vector<Tensor> take() { return std::move(results_); }

  // Pointwise stage of the output's type: the body is cast to its dtype.
  void map(const Rule& body, std::size_t output = 0);
  // The operand broadcast to `shape`, cast to `dtype`.
  Rule operand(const Tensor& tensor, const Shape& shape, tensor::DType dtype);
  Rule operand(std::string_view name, tensor::DType dtype) {
    return operand(tensor(name), type().shape, dtype);
  }
  const Node& node() const { return node_; }
  int index() const { return index_; }
  const Graph& graph() const { return graph_; }

 private:
  const Attribute* find(std::string_view name) const;
  Tensor value(const ValueId& id);

  const Graph& graph_;
  int index_;
  const Node& node_;
  const std::vector<std::vector<Tensor>>& values_;
  const std::vector<std::vector<bool>>& used_;
  std::vector<Tensor> results_;
  int choices_ = 0, depth_ = 0;  // the most among the tensors that were asked for
  std::optional<Error> failure_;
};

using LowerFunction = std::function<void(OpCall&)>;
using LowerTable = std::map<std::string, LowerFunction, std::less<>>;

// Each family adds its overloads.
void add_views(LowerTable& table);
void add_joins(LowerTable& table);
void add_creation(LowerTable& table);
void add_elementwise_unary(LowerTable& table);
void add_elementwise_nary(LowerTable& table);  // operators of two or more tensors
void add_activations(LowerTable& table);
void add_reductions(LowerTable& table);
void add_softmax(LowerTable& table);
void add_norms(LowerTable& table);
void add_scans(LowerTable& table);
void add_products(LowerTable& table);
void add_convolutions(LowerTable& table);
void add_pooling(LowerTable& table);
void add_resampling(LowerTable& table);
void add_indexing(LowerTable& table);
void add_scatters(LowerTable& table);
void add_sorting(LowerTable& table);
void add_losses(LowerTable& table);

// Shapes.
IntExpr product(const Shape& shape, std::size_t first = 0, std::size_t last = SIZE_MAX);
tensor::DType promoted(const std::vector<Tensor>& tensors);  // torch.result_type

// Several dimensions of a tensor, reduced away or kept as 1.
struct Reduced {
  std::vector<std::size_t> dims;  // ascending
  bool keep = false;
  Shape extents(const Tensor& of) const;
  // The shape of the dimensions that are left; `keep` is ignored.
  Shape kept_shape(const Tensor& of) const;
  // An index into the reduced tensor, made of an index into the result and one into the reduced
  // dimensions.
  Index join(const Index& at, const Index& over) const;
  // Index into kept_shape() of one into the tensor.
  Index left(const Index& full) const;
};

// Mean over some dimensions, and what an epilogue makes of the sum of squared differences from it.
// The mean has kept_shape().
Tensor mean_over(Lowering& at, const Tensor& in, const Reduced& over, tensor::DType dtype);
Tensor square_sum_over(
    Lowering& at, const Tensor& in, const Tensor& mean, const Reduced& over, const TensorType& type,
    const std::function<ScalarRef(const Index& at, const ScalarRef& value)>& epilogue);
ScalarRef count_of(const Tensor& in, const Reduced& over, tensor::DType dtype);

// Softmax's parts over some dimensions: the maximum and the sum of exponentials, of kept_shape().
struct Exponentials {
  Tensor largest, sum;
};
Exponentials exponentials_over(Lowering& at, const Tensor& in, const Reduced& over,
                               tensor::DType dtype);

// Views, used by several families.
Tensor reshaped(Lowering& at, const Tensor& in, const Shape& shape);
Tensor permuted(const Tensor& in, const std::vector<std::size_t>& order);
Tensor unsqueezed(const Tensor& in, std::size_t dim);
Tensor flipped(const Tensor& in, const std::vector<std::size_t>& dims);

}  // namespace kw::writer
