#include "writer/cpp/routine_text.h"

#include "writer/cpp/wide_accumulators.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

using tensor::DType;

// Both run along the same axis, over the same values, and the second finds the places of what the
// first finds.
bool is_with_places(const Scan& values, const Scan& places) {
  const Stage &first = values.stage, &second = places.stage;
  const bool is_place = (first.op == ReduceOp::kMax && second.op == ReduceOp::kArgMax) ||
                        (first.op == ReduceOp::kMin && second.op == ReduceOp::kArgMin);
  if (!is_place || values.axis != places.axis || values.reversed != places.reversed ||
      first.loops.size() != second.loops.size() || first.accumulator != second.body->dtype)
    return false;
  std::map<std::string, IntExpr> names;
  for (std::size_t d = 0; d < first.loops.size(); ++d) {
    if (first.loops[d].extent != second.loops[d].extent) return false;
    names[first.loops[d].variable] = IntExpr::symbol(second.loops[d].variable);
  }
  return is_equal(first.body, second.body, names);
}

// values: null, or the scan whose results come along with the places that this one finds.
void write_scan(const Scan& scan, const Scan* values, CppText& text) {
  const Stage& stage = scan.stage;
  std::vector<IntExpr> index;
  for (const Loop& loop : stage.loops) index.push_back(IntExpr::symbol(loop.variable));
  for (std::size_t d = 0; d < stage.loops.size(); ++d) {
    if (d != scan.axis) text.open_loop(stage.loops[d]);
  }
  const std::string accumulator = accumulator_of(scan);
  text.declare(
      {accumulator, stage.op, is_argument(stage.op) ? stage.body->dtype : stage.accumulator});
  const Loop& axis = stage.loops[scan.axis];
  if (scan.reversed) {
    text.open_loop({axis.variable + "_back", axis.extent});
    text.format("const int64_t {0} = {1} - 1 - {0}_back;", axis.variable,
                text.index_text(axis.extent));
    text.ranges.loop(axis.variable, axis.extent);
  } else {
    text.open_loop(axis);
  }
  ScalarText scope = text.scope();
  if (is_argument(stage.op)) {
    // The last of equal ones.
    const std::string value = text.print(scope, stage.body), v = text.new_name("v");
    text.format("const {} {} = {};", cpp_value_type(stage.body->dtype), v, value);
    text.open(fmt::format("if ({0} {1} {2}_best || {0} != {0})", v,
                          stage.op == ReduceOp::kArgMax ? ">=" : "<=", accumulator));
    text.format("{}_best = {};", accumulator, v);
    text.format("{} = {};", accumulator, axis.variable);
    text.close();
  } else {
    if (stage.op == ReduceOp::kLogAddExp) text.functions.insert("kw_log_add_exp");
    text.accumulate({accumulator, stage.op, stage.body, {}}, scope);
  }
  const auto put = [&](const Stage& of, const ScalarRef& epilogue, const std::string& found) {
    const DType from = epilogue ? epilogue->dtype : of.accumulator;
    text.store(text.element(of.out, index), epilogue ? text.print(scope, epilogue, found) : found,
               text.buffer(of.out).type.dtype, from);
  };
  if (values != nullptr) {
    std::map<std::string, IntExpr> names;
    for (std::size_t d = 0; d < stage.loops.size(); ++d)
      names[values->stage.loops[d].variable] = index[d];
    put(values->stage, substitute(values->stage.epilogue, names), accumulator + "_best");
  }
  put(stage, stage.epilogue,
      text.is_wide(accumulator) ? fmt::format("static_cast<float>({})", accumulator) : accumulator);
  for (std::size_t d = 0; d < stage.loops.size(); ++d) text.close();
}

void write_sort(const Sort& sort, CppText& text) {
  const Shape& shape = text.buffer(sort.in).type.shape;
  const IntExpr length = shape.empty() ? IntExpr(1) : shape.back();
  const std::string all = text.index_text(length),
                    kept = text.index_text(sort.first ? *sort.first : length);
  Shape rows = shape;
  if (!rows.empty()) rows.pop_back();
  const std::string order = fmt::format("order{}", sort.indices),
                    row = fmt::format("row{}", sort.indices);
  const DType dtype = text.buffer(sort.in).type.dtype;
  const bool narrow = tensor::size_of(dtype) <= 4;
  const char* const function = narrow ? "kw_sort_keys" : "kw_sort_values";
  text.functions.insert(function);
  text.format("static std::vector<{}> {};  // kept between calls", narrow ? "uint64_t" : "int64_t",
              order);
  text.open_loop({row, element_count(rows)});
  text.format("const auto* const kw_values = {} + {} * ({});", text.name(sort.in), row, all);
  text.format("{}<{}>(kw_values, {}, {}, {}, {});", function, cpp_value_type(dtype), all, kept,
              sort.descending, order);
  text.open_loop("kw_i", "0", kept);
  text.format("const auto kw_place = static_cast<int64_t>({}[static_cast<std::size_t>(kw_i)]{});",
              order, narrow ? " & 0xffffffffu" : "");
  const auto put = [&](BufferId out, const char* value) {
    if (text.is_used(out))
      text.format("{}[{} * ({}) + kw_i] = {};", text.name(out), row, kept, value);
  };
  put(sort.values, "kw_values[kw_place]");
  put(sort.indices, "kw_place");
  text.close();
  text.close();
}

std::string updated(ScatterOp op, DType dtype, const std::string& place, const std::string& value,
                    CppText& text) {
  switch (op) {
    case ScatterOp::kAssign:
      break;
    case ScatterOp::kAdd:
      return text.combine(ReduceOp::kSum, dtype, place, value);
    case ScatterOp::kMultiply:
      return text.combine(ReduceOp::kProd, dtype, place, value);
    case ScatterOp::kMin:
      return text.combine(ReduceOp::kMin, dtype, place, fmt::format("({})", value));
    case ScatterOp::kMax:
      return text.combine(ReduceOp::kMax, dtype, place, fmt::format("({})", value));
  }
  return value;
}

void write_scatter(const Scatter& scatter, CppText& text) {
  for (const Loop& loop : scatter.loops) text.open_loop(loop);
  ScalarText scope = text.scope();
  std::vector<std::string> index;
  for (const ScalarRef& one : scatter.index)
    index.push_back(fmt::format("({})", text.print(scope, one)));
  const DType to = text.buffer(scatter.out).type.dtype;
  const std::string value = text.print(scope, scatter.value);
  const std::string place = text.element(scatter.out, index);
  text.format("{} = static_cast<{}>({});", place, element_type(to),
              updated(scatter.op, to, place, value, text));
  for (std::size_t i = 0; i < scatter.loops.size(); ++i) text.close();
}

}  // namespace

void write_routine(const Routine& routine, CppText& text) {
  if (const auto* scan = std::get_if<Scan>(&routine.step))
    write_scan(*scan, nullptr, text);
  else if (const auto* sort = std::get_if<Sort>(&routine.step))
    write_sort(*sort, text);
  else
    write_scatter(std::get<Scatter>(routine.step), text);
}

bool write_together(const Routine& first, const Routine& second, CppText& text) {
  const auto* values = std::get_if<Scan>(&first.step);
  const auto* places = std::get_if<Scan>(&second.step);
  if (values == nullptr || places == nullptr || !is_with_places(*values, *places)) return false;
  write_scan(*places, values, text);
  return true;
}

}  // namespace kw::writer
