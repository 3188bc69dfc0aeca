#include "writer/triton/kernel_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "base/check.h"
#include "writer/fusion/fusion.h"

namespace kw::writer::triton {

using tensor::DType;

std::string wrapped(const Text& text, int loosest) {
  return text.level <= loosest ? text.text : "(" + text.text + ")";
}

std::string_view triton_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return "tl.float64";
    case DType::kFloat32:
      return "tl.float32";
    case DType::kFloat16:
      return "tl.float16";
    case DType::kBFloat16:
      return "tl.bfloat16";
    case DType::kFloat8E4M3Fn:
      return "tl.float8e4nv";
    case DType::kFloat8E5M2:
      return "tl.float8e5";
    case DType::kInt64:
      return "tl.int64";
    case DType::kInt32:
      return "tl.int32";
    case DType::kInt16:
      return "tl.int16";
    case DType::kInt8:
      return "tl.int8";
    case DType::kUInt8:
      return "tl.uint8";
    case DType::kBool:
      return "tl.int1";
    case DType::kFloat4E2M1:
      break;
  }
  return "tl.uint8";
}

std::string_view value_type(DType dtype) {
  if (tensor::is_floating(dtype) && tensor::size_of(dtype) < sizeof(float)) return "tl.float32";
  return triton_type(dtype);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  return fmt::format("{:#}", value).ends_with('.') ? fmt::format("{:#}0", value)
                                                   : fmt::format("{:#}", value);
}

namespace {

// Names that mean something in the file.
const std::set<std::string>& reserved() {
  static const std::set<std::string> all = {
      "tl",  "triton", "torch", "libdevice", "float", "int",   "range", "min",   "max",  "abs",
      "run", "nn",     "and",   "as",        "def",   "del",   "elif",  "else",  "for",  "from",
      "if",  "in",     "is",    "lambda",    "not",   "or",    "pass",  "raise", "with", "while",
      "try", "class",  "True",  "False",     "None",  "yield", "return"};
  return all;
}

// Variables that kernels have under these names, whatever sizes and host scalars are called.
bool is_local(const std::string& name) {
  static const std::set<std::string> all = {
      "at", "mask", "row",    "place", "rank",  "other", "before",   "equal",    "acc",
      "x",  "y",    "inside", "lane",  "start", "rows",  "lanes",    "m",        "n",
      "k",  "a",    "b",      "batch", "tile",  "tiles", "row_mask", "lane_mask"};
  return all.contains(name);
}

}  // namespace

KernelText::KernelText(const Program& program, std::string name)
    : program_(program),
      name_(std::move(name)),
      scopes_(1),
      used_(reserved()),
      ranges_(ranges_of(program)) {
  for (const auto& [size, value] : program.sizes) {
    if (!is_local(size)) used_.insert(size);
  }
  for (const Buffer& each : program.buffers) {
    if (each.kind != Buffer::Kind::kScalar) continue;
    if (!is_local(each.name)) used_.insert(each.name);
  }
}

unsigned KernelText::add_axis(const std::string& block, std::size_t dimension) {
  axes_.push_back({block, dimension, {}});
  rank_ = std::max(rank_, dimension + 1);
  if (used_.insert(block).second) constants_.push_back(block);
  return 1U << (axes_.size() - 1);
}

void KernelText::set_mask(unsigned axis, const Text& mask) {
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (axis == 1U << a) axes_[a].mask = mask;
  }
}

std::string KernelText::shape(unsigned axes) const {
  std::vector<std::string> extents(rank_, "1");
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if ((axes >> a & 1U) != 0) extents[axes_[a].dimension] = axes_[a].block;
  }
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::string KernelText::expand(unsigned axis) const {
  if (rank_ == 1) return {};
  std::vector<std::string> places(rank_, "None");
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if ((axis >> a & 1U) != 0) places[axes_[a].dimension] = ":";
  }
  return fmt::format("[{}]", fmt::join(places, ", "));
}

void KernelText::line(std::string text) {
  scopes_.back().lines.push_back(std::move(text));
}

void KernelText::line_at(std::size_t scope, std::string text) {
  scopes_[scope].lines.push_back(std::move(text));
}

std::size_t KernelText::open(std::string head) {
  scopes_.push_back({std::move(head), {}, {}, {}, flats_.size()});
  return scope();
}

void KernelText::close() {
  Scope inner = std::move(scopes_.back());
  scopes_.pop_back();
  for (const std::string& name : inner.bound) variables_.erase(name);
  flats_.resize(inner.flats);
  line(inner.head);
  for (const std::string& each : inner.lines) line("    " + each);
}

std::string KernelText::fresh(const std::string& wish) {
  std::string name = wish;
  for (int i = 1; !used_.insert(name).second; ++i) name = fmt::format("{}_{}", wish, i);
  return name;
}

const Text* KernelText::known(const Key& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->known.find(key); found != scope->known.end()) return &found->second;
  }
  return nullptr;
}

void KernelText::remember(const Key& key, const Text& text) {
  scopes_[text.scope].known.insert_or_assign(key, text);
}

std::string KernelText::pointer(BufferId id) {
  auto [place, is_new] = buffers_.try_emplace(id);
  if (is_new) {
    place->second = fresh(buffer(id).name + "_ptr");
    parameters_.push_back({place->second, id});
  }
  return place->second;
}

std::string KernelText::host_scalar(BufferId id) {
  if (program_.sizes.contains(buffer(id).name)) return size(IntExpr::symbol(buffer(id).name));
  auto [place, is_new] = buffers_.try_emplace(id);
  if (is_new) {
    place->second = is_local(buffer(id).name) ? fresh("number") : buffer(id).name;
    parameters_.push_back({place->second, id});
  }
  return place->second;
}

std::string KernelText::size(const IntExpr& expr) {
  if (auto number = expr.constant()) return fmt::format("{}", *number);
  auto [place, is_new] = sizes_.try_emplace(expr);
  if (!is_new) return place->second;
  const std::string text = expr.python();
  place->second = program_.sizes.contains(text) && !is_local(text) ? text : fresh("size");
  parameters_.push_back({place->second, expr});
  return place->second;
}

void KernelText::bind(const Loop& loop, Text text) {
  const std::string& variable = loop.variable;
  ranges_.loop(variable, loop.extent);
  scopes_.back().bound.insert(variable);
  variables_[variable] = std::move(text);
}

void KernelText::bind(Flat flat) {
  std::erase_if(flat.loops, [](const Loop& loop) { return loop.extent.constant() == 1; });
  for (const Loop& loop : flat.loops) ranges_.loop(loop.variable, loop.extent);
  flats_.emplace_back(std::move(flat), scope());
}

namespace {

std::span<const Loop> neighbours(const Flat& flat, std::size_t first, std::size_t last) {
  return std::span(flat.loops).subspan(first, last + 1 - first);
}

std::string segment_symbol(const Flat& flat, std::size_t first, std::size_t last) {
  return fmt::format("@{}:{}:{}", flat.name, first, last);
}

}  // namespace

// The variable of some neighbouring loops of a flattened nest, as one integer.
const Text& KernelText::segment(const Flat& flat, std::size_t first, std::size_t last,
                                std::size_t scope) {
  const std::string symbol = segment_symbol(flat, first, last);
  if (auto found = variables_.find(symbol); found != variables_.end()) return found->second;
  Text out{flat.name, flat.axes, kAtom, scope};
  const std::size_t end = flat.loops.size() - 1;
  if (first != 0 || last != end) {
    std::string text = flat.name;
    if (last != end) text += " // " + size(count_of(neighbours(flat, last + 1, end)));
    if (first != 0) text += " % " + size(count_of(neighbours(flat, first, last)));
    if (flat.is_narrow) text = fmt::format("({}).to(tl.int64)", text);
    out.text = fresh(first == last ? fmt::format("{}{}", flat.prefix, first)
                                   : fmt::format("{}{}_{}", flat.prefix, first, last));
    line_at(scope, fmt::format("{} = {}", out.text, text));
  } else if (flat.is_narrow) {
    out.text = fresh(flat.name + "_all");
    line_at(scope, fmt::format("{} = {}.to(tl.int64)", out.text, flat.name));
  }
  ranges_.loop(symbol, count_of(neighbours(flat, first, last)));
  scopes_[scope].bound.insert(symbol);
  return variables_[symbol] = out;
}

// c * (i0 * N + i1) + .. becomes c * s + .. where s runs over both loops.
IntExpr KernelText::with_segments(IntExpr expr) {
  for (const auto& [flat, scope] : flats_) {
    const std::size_t count = flat.loops.size();
    for (std::size_t length = count; length > 0; --length) {
      for (std::size_t first = 0; first + length <= count; ++first) {
        const std::size_t last = first + length - 1;
        const std::string& inner = flat.loops[last].variable;
        if (!expr.contains(inner)) continue;
        const IntExpr whole = IntExpr::symbol(segment_symbol(flat, first, last));
        if (length == 1) {
          segment(flat, first, last, scope);
          expr = expr.substitute({{inner, whole}});
          continue;
        }
        const auto coefficient = expr.coefficient(inner);
        if (!coefficient || *coefficient == IntExpr()) continue;
        const IntExpr rest = expr - *coefficient * row_major(neighbours(flat, first, last));
        bool separate = true;
        for (std::size_t i = first; i <= last; ++i)
          separate = separate && !rest.contains(flat.loops[i].variable);
        if (!separate) continue;
        segment(flat, first, last, scope);
        expr = rest + *coefficient * whole;
      }
    }
  }
  return expr;
}

bool KernelText::varies(const IntExpr& expr) const {
  for (const std::string& symbol : expr.symbols()) {
    if (variables_.contains(symbol)) return true;
    for (const auto& [flat, scope] : flats_) {
      for (const Loop& loop : flat.loops) {
        if (loop.variable == symbol) return true;
      }
    }
  }
  return false;
}

Text KernelText::factor(const IntFactor& one) {
  if (!one.symbol.empty()) {
    const auto found = variables_.find(one.symbol);
    KW_CHECK(found != variables_.end());
    return found->second;
  }
  const Text a = integer(one.a), b = integer(one.b);
  Text out{{}, a.axes | b.axes, kProduct, std::max(a.scope, b.scope)};
  const bool is_division =
      one.function == IntFunction::kFloorDiv || one.function == IntFunction::kMod;
  if (is_division && !ranges_.nonnegative(one.a)) {
    const char* name = one.function == IntFunction::kFloorDiv ? "floor_div" : "integer_remainder";
    functions_.insert(name);
    return {fmt::format("{}({}, {})", name, a.text, b.text), out.axes, kAtom, out.scope};
  }
  switch (one.function) {
    case IntFunction::kFloorDiv:
      out.text = fmt::format("{} // {}", wrapped(a, kProduct), wrapped(b, kUnary));
      break;
    case IntFunction::kMod:
      out.text = fmt::format("{} % {}", wrapped(a, kProduct), wrapped(b, kUnary));
      break;
    case IntFunction::kMin:
    case IntFunction::kMax:
      out.level = kAtom;
      out.text =
          fmt::format("tl.{}({}, {})", one.function == IntFunction::kMin ? "minimum" : "maximum",
                      a.text, b.text);
  }
  return out;
}

Text KernelText::integer(const IntExpr& expr) {
  if (!varies(expr)) return {size(expr)};
  // What varies in each term, and how often it is there in all.
  std::vector<std::pair<std::vector<IntFactor>, IntExpr>> terms;
  IntExpr plain;
  std::map<IntExpr, std::size_t> places;
  for (const IntTerm& term : with_segments(expr).sum()) {
    std::vector<IntFactor> varying;
    IntExpr known = term.coefficient, product = 1;
    for (const IntFactor& one : term.factors) {
      if (varies(one.expr())) {
        varying.push_back(one);
        product = product * one.expr();
      } else {
        known = known * one.expr();
      }
    }
    if (varying.empty()) {
      plain = plain + known;
      continue;
    }
    auto [place, is_new] = places.try_emplace(product, terms.size());
    if (is_new)
      terms.emplace_back(std::move(varying), known);
    else
      terms[place->second].second = terms[place->second].second + known;
  }
  Text out;
  const auto add = [&](const Text& text, bool negative) {
    out.axes |= text.axes;
    out.scope = std::max(out.scope, text.scope);
    if (out.text.empty()) {
      out.text = negative ? "-" + wrapped(text, kUnary) : text.text;
      out.level = negative ? static_cast<int>(kUnary) : text.level;
    } else {
      out.text +=
          fmt::format(" {} {}", negative ? "-" : "+", wrapped(text, negative ? kProduct : kSum));
      out.level = kSum;
    }
  };
  for (const auto& [factors, coefficient] : terms) {
    Text product;
    for (const IntFactor& one : factors) {
      const Text text = factor(one);
      if (product.text.empty()) {
        product = text;
        continue;
      }
      product = {fmt::format("{} * {}", wrapped(product, kProduct), wrapped(text, kUnary)),
                 product.axes | text.axes, kProduct, std::max(product.scope, text.scope)};
    }
    const bool negative = coefficient.constant().value_or(0) < 0;
    const IntExpr times = negative ? IntExpr() - coefficient : coefficient;
    if (times != IntExpr(1)) {
      product.text = fmt::format("{} * {}", wrapped(product, kProduct), size(times));
      product.level = kProduct;
    }
    add(product, negative);
  }
  if (plain != IntExpr()) {
    const bool negative = plain.constant().value_or(0) < 0;
    add({size(negative ? IntExpr() - plain : plain)}, negative);
  }
  if (out.text.empty()) out.text = "0";
  return out;
}

Text KernelText::mask(unsigned axes, const Text* condition) {
  Text out;
  const auto add = [&](const Text& text) {
    if (text.text.empty()) return;
    out.axes |= text.axes;
    out.scope = std::max(out.scope, text.scope);
    if (out.text.empty()) {
      out.text = text.text;
      out.level = text.level;
    } else {
      const Text so_far = out;
      out.text = fmt::format("{} & {}", wrapped(so_far, kBitAnd), wrapped(text, kShift));
      out.level = kBitAnd;
    }
  };
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if ((axes >> a & 1U) != 0) add(axes_[a].mask);
  }
  if (condition != nullptr) add(*condition);
  return out;
}

std::vector<Parameter> KernelText::parameters() const {
  std::vector<Parameter> out = parameters_;
  std::stable_partition(out.begin(), out.end(), [&](const Parameter& one) {
    const auto* id = std::get_if<BufferId>(&one.value);
    return id != nullptr && buffer(*id).kind != Buffer::Kind::kScalar;
  });
  return out;
}

std::string KernelText::text() const {
  KW_CHECK(scopes_.size() == 1);
  std::vector<std::string> names;
  for (const Parameter& one : parameters()) names.push_back(one.name);
  for (const std::string& one : constants_) names.push_back(one + ": tl.constexpr");
  std::string out = fmt::format("@triton.jit\ndef {}({}):\n", name_, fmt::join(names, ", "));
  for (const std::string& each : scopes_.front().lines) out += "    " + each + "\n";
  return out;
}

}  // namespace kw::writer::triton
