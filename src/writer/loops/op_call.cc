// OpCall: a node's arguments in the forms that lowering functions ask for.
#include <algorithm>

#include "writer/loops/lowering.h"

namespace kw::writer {

using tensor::DType;

namespace {

constexpr int kMaxChoices = 64, kMaxDepth = 64;

int kind_of(DType dtype) {  // bool < integers < floating
  if (tensor::is_floating(dtype)) return 2;
  return dtype == DType::kBool ? 0 : 1;
}

// torch.promote_types.
DType promote_two(DType a, DType b) {
  if (a == b) return a;
  const int a_kind = kind_of(a), b_kind = kind_of(b);
  if (a_kind != b_kind) return a_kind > b_kind ? a : b;
  if (a_kind == 2) {
    if (tensor::size_of(a) == tensor::size_of(b)) return DType::kFloat32;  // float16 with bfloat16
    return tensor::size_of(a) > tensor::size_of(b) ? a : b;
  }
  const bool is_unsigned = a == DType::kUInt8 || b == DType::kUInt8;
  if (is_unsigned && tensor::size_of(a) == tensor::size_of(b)) return DType::kInt16;
  return tensor::size_of(a) > tensor::size_of(b) ? a : b;
}

}  // namespace

DType promoted(const std::vector<Tensor>& tensors) {
  std::optional<DType> classes[3];  // with dimensions, without, numbers
  for (const Tensor& tensor : tensors) {
    DType dtype = tensor.type.dtype;
    if (tensor.number && tensor::is_floating(dtype)) dtype = DType::kFloat32;
    auto& mine = classes[tensor.number ? 2 : tensor.rank() == 0 ? 1 : 0];
    mine = mine ? promote_two(*mine, dtype) : dtype;
  }
  std::optional<DType> out;
  for (const auto& mine : classes) {
    if (!mine) continue;
    if (!out)
      out = mine;
    else if (kind_of(*mine) > kind_of(*out))
      out = promote_two(*out, *mine);
  }
  return out.value_or(DType::kFloat32);
}

OpCall::OpCall(Lowering& lowering, const Graph& graph, int node,
               const std::vector<std::vector<Tensor>>& values,
               const std::vector<std::vector<bool>>& used)
    : at(lowering),
      graph_(graph),
      index_(node),
      node_(graph.nodes[static_cast<std::size_t>(node)]),
      values_(values),
      used_(used) {
  for (const TensorType& type : node_.outputs)
    results_.push_back(
        {type, [dtype = type.dtype](const Index&) { return writer::number(dtype, 0); }});
}

void OpCall::unsupported(std::string what) {
  if (!failure_) failure_ = Error(ErrorCode::kUnsupported, fmt::format("{} ({})", node_.op, what));
}

void OpCall::invalid(std::string what) {
  if (!failure_)
    failure_ =
        Error(ErrorCode::kInvalidArgument, fmt::format("node {} ({}): {}", index_, node_.op, what));
}

const Attribute* OpCall::find(std::string_view name) const {
  for (const auto& [key, value] : node_.arguments) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool OpCall::given(std::string_view name) const {
  const Attribute* found = find(name);
  return found != nullptr && !std::holds_alternative<std::monostate>(*found);
}

Tensor OpCall::value(const ValueId& id) {
  Tensor out =
      id.is_input()
          ? at.input(id.input_index())
          : values_[static_cast<std::size_t>(id.node)][static_cast<std::size_t>(id.output)];
  choices_ = std::min(choices_ + out.choices, kMaxChoices + 1);
  depth_ = std::max(depth_, out.depth);
  return out;
}

bool OpCall::has_rank(std::size_t rank, std::size_t output) {
  const std::size_t mine = type(output).shape.size();
  if (mine != rank) invalid(fmt::format("its result has {} dimensions instead of {}", mine, rank));
  return !failed();
}

Tensor OpCall::tensor(std::string_view name) {
  const Attribute* found = find(name);
  const auto constant = [](DType dtype, const ScalarRef& value) {
    return Tensor{{dtype, {}}, [value](const Index&) { return value; }, std::nullopt, true};
  };
  if (found != nullptr) {
    if (const auto* id = std::get_if<ValueId>(found)) return value(*id);
    if (const auto* value = std::get_if<IntExpr>(found))
      return constant(DType::kInt64, index_number(*value));
    if (const auto* value = std::get_if<double>(found))
      return constant(DType::kFloat64, writer::number(DType::kFloat64, *value));
    if (const auto* value = std::get_if<bool>(found))
      return constant(DType::kBool, boolean(*value));
  }
  invalid(fmt::format("{} is no tensor", name));
  return constant(DType::kFloat32, writer::number(DType::kFloat32, 0));
}

std::vector<std::optional<Tensor>> OpCall::optional_tensors(std::string_view name) {
  std::vector<std::optional<Tensor>> out;
  const Attribute* found = find(name);
  const auto* list =
      found == nullptr ? nullptr : std::get_if<std::vector<std::optional<ValueId>>>(found);
  if (list == nullptr) {
    invalid(fmt::format("{} is no list of tensors", name));
    return out;
  }
  for (const auto& id : *list) {
    if (!id)
      out.emplace_back();
    else
      out.emplace_back(value(*id));
  }
  return out;
}

std::vector<Tensor> OpCall::tensors(std::string_view name) {
  std::vector<Tensor> out;
  for (auto& each : optional_tensors(name)) {
    if (each)
      out.push_back(std::move(*each));
    else
      invalid(fmt::format("{} holds None", name));
  }
  return out;
}

IntExpr OpCall::size(std::string_view name) {
  const Attribute* found = find(name);
  if (found != nullptr) {
    if (const auto* value = std::get_if<IntExpr>(found)) return *value;
    if (const auto* value = std::get_if<bool>(found)) return *value ? 1 : 0;
  }
  invalid(fmt::format("{} is no integer", name));
  return 1;
}

std::vector<IntExpr> OpCall::sizes(std::string_view name) {
  const Attribute* found = find(name);
  if (found == nullptr || std::holds_alternative<std::monostate>(*found)) return {};
  if (const auto* value = std::get_if<std::vector<IntExpr>>(found)) return *value;
  if (const auto* value = std::get_if<IntExpr>(found)) return {*value};
  // An empty list has no kind.
  if (const auto* value = std::get_if<std::vector<double>>(found); value && value->empty())
    return {};
  if (const auto* value = std::get_if<std::vector<bool>>(found); value && value->empty()) return {};
  invalid(fmt::format("{} is no list of integers", name));
  return {};
}

std::int64_t OpCall::integer(std::string_view name) {
  const auto value = size(name).constant();
  if (!value && !failed()) unsupported(fmt::format("{} that depends on a size", name));
  return value.value_or(1);
}

double OpCall::number(std::string_view name, double otherwise) {
  const Attribute* found = find(name);
  if (found == nullptr || std::holds_alternative<std::monostate>(*found)) return otherwise;
  if (const auto* value = std::get_if<double>(found)) return *value;
  if (const auto* value = std::get_if<bool>(found)) return *value ? 1 : 0;
  if (const auto* value = std::get_if<IntExpr>(found)) {
    if (const auto known = value->constant()) return static_cast<double>(*known);
  }
  unsupported(fmt::format("{} that is not a plain number", name));
  return otherwise;
}

bool OpCall::is(std::string_view name, double value) const {
  const Attribute* found = find(name);
  if (found == nullptr) return false;
  if (const auto* mine = std::get_if<double>(found)) return *mine == value;
  if (const auto* mine = std::get_if<IntExpr>(found)) {
    const auto known = mine->constant();
    return known && static_cast<double>(*known) == value;
  }
  return false;
}

bool OpCall::flag(std::string_view name) {
  const Attribute* found = find(name);
  if (found == nullptr || std::holds_alternative<std::monostate>(*found)) return false;
  if (const auto* value = std::get_if<bool>(found)) return *value;
  if (const auto* value = std::get_if<IntExpr>(found)) return *value == IntExpr(1);
  invalid(fmt::format("{} is no boolean", name));
  return false;
}

std::string OpCall::text(std::string_view name) {
  const Attribute* found = find(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<std::string>(found);
  return value == nullptr ? "" : *value;
}

std::size_t OpCall::dim_of(std::int64_t dim, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (dim < -count || dim >= count) {
    invalid(fmt::format("dimension {} of a tensor of {}", dim, rank));
    return 0;
  }
  return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
}

std::size_t OpCall::dim(std::string_view name, std::size_t rank) {
  return dim_of(integer(name), rank);
}

std::vector<std::size_t> OpCall::dims(std::string_view name, std::size_t rank) {
  std::vector<std::size_t> out;
  if (rank == 0) return out;
  for (const IntExpr& each : sizes(name)) {
    const auto number = each.constant();
    if (!number) {
      unsupported(fmt::format("{} that depends on a size", name));
      continue;
    }
    const std::size_t dim = dim_of(*number, rank);
    if (std::find(out.begin(), out.end(), dim) == out.end()) out.push_back(dim);
  }
  if (out.empty()) {
    for (std::size_t d = 0; d < rank; ++d) out.push_back(d);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<IntExpr> OpCall::sizes_each(std::string_view name, std::size_t count,
                                        const IntExpr& otherwise) {
  std::vector<IntExpr> out = sizes(name);
  if (out.empty()) out.push_back(otherwise);
  if (out.size() == 1) out.resize(count, out.front());
  if (out.size() != count) {
    invalid(fmt::format("{} holds {} numbers for {} dimensions", name, out.size(), count));
    out.assign(count, 1);
  }
  return out;
}

ScalarRef OpCall::scalar(std::string_view name, DType dtype, double otherwise) {
  if (!given(name)) return writer::number(dtype, otherwise);
  const Tensor value = tensor(name);
  if (value.rank() != 0) {
    invalid(fmt::format("{} is no number", name));
    return writer::number(dtype, otherwise);
  }
  return cast(dtype, at.read(value, {}));
}

const TensorType& OpCall::type(std::size_t output) const {
  static const TensorType kNone{DType::kFloat32, {0}};
  return output < node_.outputs.size() ? node_.outputs[output] : kNone;
}

bool OpCall::used(std::size_t output) const {
  const auto& mine = used_[static_cast<std::size_t>(index_)];
  return output < mine.size() && mine[output];
}

std::size_t OpCall::first_used() const {
  for (std::size_t i = 0; i < outputs(); ++i) {
    if (used(i)) return i;
  }
  return 0;
}

void OpCall::set(std::size_t output, Tensor value) {
  if (output >= results_.size() || failed() || !used(output)) return;
  if (!has_rank(value.rank(), output)) return;
  if (value.type.dtype != type(output).dtype) {
    value.buffer.reset();
    value.flip.reset();
    value.rule = [rule = value.rule, dtype = type(output).dtype](const Index& index) {
      return cast(dtype, rule(index));
    };
  }
  value.type = type(output);
  value.number = false;
  if (!value.buffer) {
    value.choices = std::max(choices_, 1);
    value.depth = depth_ + 1;
    value.rule = [inner = value, this_at = &at](const Index& index) {
      return this_at->read(inner, index);
    };
    if (value.choices > kMaxChoices || value.depth > kMaxDepth)
      value = at.map(value.type, value.rule);
  }
  results_[output] = std::move(value);
}

Rule OpCall::operand(const Tensor& tensor, const Shape& shape, DType dtype) {
  if (tensor.rank() > shape.size()) {
    invalid(
        fmt::format("an operand of {} dimensions for a result of {}", tensor.rank(), shape.size()));
    return [dtype](const Index&) { return writer::number(dtype, 0); };
  }
  const std::size_t skipped = shape.size() - tensor.rank();
  return [this_at = &at, tensor, skipped, dtype](const Index& index) {
    Index mine;
    for (std::size_t d = skipped; d < index.size(); ++d)
      mine.push_back(tensor.type.shape[d - skipped].constant() == 1 ? IntExpr() : index[d]);
    return cast(dtype, this_at->read(tensor, mine));
  };
}

void OpCall::map(const Rule& body, std::size_t output) {
  if (failed() || !used(output)) return;
  set(output, at.map(type(output), body));
}

}  // namespace kw::writer
