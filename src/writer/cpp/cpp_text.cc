#include "writer/cpp/cpp_text.h"

#include "writer/cpp/wide_accumulators.h"

namespace kw::writer {

using tensor::DType;

bool is_argument(ReduceOp op) {
  return op == ReduceOp::kArgMin || op == ReduceOp::kArgMax;
}

bool is_extreme(ReduceOp op) {
  return op == ReduceOp::kMin || op == ReduceOp::kMax;
}

CppText::CppText(const Nest& of, std::vector<std::string> names_of_buffers)
    : nest(of), names_(std::move(names_of_buffers)), sizes_(of), wide_(wide_accumulators(of)) {
  std::vector<Access> all;
  for (const NestNode& node : nest.body) {
    collect_reads(node, all);
    collect_writes(node, all);
  }
  for (const Access& access : all) used_.insert(access.buffer);
}

// ---- lines ----
void CppText::line(const std::string& text) {
  lines.push_back(std::string(indent_ * 2, ' ') + text);
}

void CppText::open(const std::string& head) {
  line(head.empty() ? "{" : head + " {");
  ++indent_;
}

void CppText::open_loop(const std::string& variable, const std::string& first,
                        const std::string& end) {
  open(fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0})", variable, first, end));
}

void CppText::open_loop(const Loop& loop) {
  open_loop(loop.variable, "0", index_text(loop.extent));
  ranges.loop(loop.variable, loop.extent);
}

void CppText::close(const std::string& end) {
  --indent_;
  line(end);
}

// ---- buffers ----
const Buffer& CppText::buffer(BufferId id) const {
  return nest.program.buffers[static_cast<std::size_t>(id)];
}

const LocalBuffer* CppText::local(BufferId id) const {
  const auto found = nest.locals.find(id);
  return found == nest.locals.end() ? nullptr : &found->second;
}

bool CppText::is_variable(BufferId id) const {
  const LocalBuffer* rest = local(id);
  return rest != nullptr && rest->dims.empty();
}

std::string CppText::pointer(BufferId id) const {
  return is_variable(id) ? fmt::format("(&{})", name(id)) : name(id);
}

std::string CppText::element(BufferId id, const std::vector<std::string>& index) {
  const Buffer& whole = buffer(id);
  if (whole.kind == Buffer::Kind::kScalar || is_variable(id)) return name(id);
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < index.size(); ++d) dims.push_back(d);
  if (const LocalBuffer* rest = local(id)) dims = rest->dims;
  std::string linear;
  for (std::size_t d : dims) {
    linear = linear.empty() ? index[d]
                            : fmt::format("({}) * ({}) + {}", linear,
                                          index_text(whole.type.shape[d]), index[d]);
  }
  return fmt::format("{}[{}]", name(id), linear.empty() ? "0" : linear);
}

std::string CppText::element(BufferId id, const std::vector<IntExpr>& index) {
  if (buffer(id).kind == Buffer::Kind::kScalar || is_variable(id)) return name(id);
  std::string text = fmt::format("{}[{}]", name(id), index_text(linear_index(nest, id, index)));
  const auto kept = kept_.find(text);
  return kept == kept_.end() ? text : kept->second;
}

void CppText::keep(BufferId id, const std::vector<IntExpr>& index) {
  std::string text = element(id, index);
  if (!text.ends_with(']')) return;  // a variable, or kept already
  std::string constant = new_name("k");
  format("const {} {} = {};", element_type(buffer(id).type.dtype), constant, text);
  kept_.emplace(std::move(text), std::move(constant));
}

std::string_view element_type(DType dtype) {
  return tensor::cpp_type(dtype);
}

// ---- expressions ----
std::string CppText::index_text(const IntExpr& expr) {
  return as_it_is(sizes_.in(expr));
}

std::vector<std::string> CppText::size_lines() {
  std::vector<std::string> out;
  for (const auto& [name, size] : sizes_.used())
    out.push_back(fmt::format("  const int64_t {} = {};", name, as_it_is(size)));
  return out;
}

// Divisions whose dividend may be negative round as IntFunction does.
std::string CppText::as_it_is(const IntExpr& expr) {
  return expr.cpp([this](const IntExpr& dividend) {
    if (ranges.nonnegative(dividend)) return true;
    functions.insert({"kw_floor_div", "kw_remainder"});
    return false;
  });
}

ScalarText CppText::scope() {
  return ScalarText(
      [this](BufferId id, const std::vector<std::string>& index) { return element(id, index); },
      [this](BufferId id, const std::vector<IntExpr>& index) { return element(id, index); },
      [this](const IntExpr& expr) { return index_text(expr); }, names);
}

std::string CppText::print(ScalarText& scope, const ScalarRef& value, const std::string& reduced) {
  std::vector<std::string> before;
  std::string out = scope.print(value, before, reduced);
  for (const std::string& each : before) line(each);
  functions.insert(scope.functions().begin(), scope.functions().end());
  return out;
}

std::string CppText::combine(ReduceOp op, DType dtype, const std::string& a, const std::string& b) {
  if (is_extreme(op) && tensor::is_floating(dtype))
    functions.insert(op == ReduceOp::kMin ? "kw_min" : "kw_max");
  return combined(op, dtype, a, b);
}

namespace {

std::string_view without_outer_parentheses(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return text;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text;
  }
  return text.substr(1, text.size() - 2);
}

}  // namespace

void CppText::store(const std::string& place, const std::string& value, DType to, DType from) {
  if (const std::string half = half_name(to); !half.empty()) {
    functions.insert("kw_" + half);
    const bool is_float = from == DType::kFloat32 || from == to;
    return format("*reinterpret_cast<kw_bits*>(&{}) = kw_to_{}({});", place, half,
                  is_float ? value : fmt::format("static_cast<float>({})", value));
  }
  const bool as_it_is =
      (to == from && tensor::is_floating(to) && tensor::size_of(to) >= sizeof(float)) ||
      (to == DType::kBool && from == DType::kBool);
  const std::string_view bare = without_outer_parentheses(value);
  if (as_it_is) return format("{} = {};", place, bare);
  format("{} = static_cast<{}>({});", place, tensor::cpp_type(to), bare);
}

const ScalarRef& before_rounding(const ScalarRef& value, DType to) {
  const auto* cast = std::get_if<Scalar::Cast>(&value->node);
  const bool rounds = cast != nullptr && value->dtype == to && !half_name(to).empty() &&
                      cast->value->dtype == DType::kFloat32;
  return rounds ? cast->value : value;
}

// ---- accumulators ----
void CppText::declare(const Declare& one) {
  const std::string_view type = is_wide(one.name) ? "double" : cpp_value_type(one.dtype);
  if (!is_argument(one.op)) {
    format("{} {} = {};", type, one.name, identity_text(one.op, one.dtype));
    return;
  }
  const ReduceOp best = one.op == ReduceOp::kArgMax ? ReduceOp::kMax : ReduceOp::kMin;
  format("{} {}_best = {};", type, one.name, identity_text(best, one.dtype));
  format("int64_t {} = 0;", one.name);
}

void CppText::accumulate(const Accumulate& step, ScalarText& scope) {
  std::string value = print(scope, step.value);
  const DType dtype = step.value->dtype;
  if (is_argument(step.op)) {
    const std::string v = new_name("v");
    format("const {} {} = {};", cpp_value_type(dtype), v, value);
    const char* better = step.op == ReduceOp::kArgMax ? ">" : "<";
    std::string condition = fmt::format("{} {} {}_best", v, better, step.name);
    if (tensor::is_floating(dtype))
      condition += fmt::format(" || ({0} != {0} && {1}_best == {1}_best)", v, step.name);
    format("if ({}) {{", condition);
    format("  {}_best = {};", step.name, v);
    format("  {} = {};", step.name, index_text(step.position));
    line("}");
    return;
  }
  switch (step.op) {
    case ReduceOp::kSum:
      return format("{} += {};", step.name, value);
    case ReduceOp::kProd:
      return format("{} *= {};", step.name, value);
    case ReduceOp::kAny:
      return format("{0} = {0} || {1};", step.name, value);
    case ReduceOp::kAll:
      return format("{0} = {0} && {1};", step.name, value);
    default: {
      const std::string v = new_name("v");
      format("const {} {} = {};", cpp_value_type(dtype), v, value);
      const DType kept = is_wide(step.name) ? DType::kFloat64 : dtype;
      format("{} = {};", step.name, combine(step.op, kept, step.name, v));
    }
  }
}

}  // namespace kw::writer
