// interpret(): each stage is turned into nodes with numbered variables, then walked for every
// element.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "writer/loops/interpreted_numbers.h"
#include "writer/loops/loops.h"
#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

using tensor::DType;

constexpr std::int64_t kMaxElements = std::int64_t{1} << 28;

struct IntCode {
  struct Factor {
    int slot = -1;  // -1: a call
    IntFunction function = IntFunction::kFloorDiv;
    int a = 0, b = 0;
  };
  struct Term {
    std::int64_t coefficient = 0;
    std::vector<Factor> factors;
  };
  std::vector<Term> terms;
};

struct Code {
  DType dtype = DType::kFloat32;
  enum class Kind { kConstant, kIndex, kLoad, kCall, kCast, kReduced } kind = Kind::kConstant;
  Number constant;
  int expr = 0;
  std::size_t buffer = 0;
  ScalarOp op = ScalarOp::kNeg;
  std::vector<int> arguments;
};

struct Data {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<double> reals;
  std::vector<std::int64_t> wholes;
  bool floating() const { return tensor::is_floating(dtype); }
  std::size_t count() const { return floating() ? reals.size() : wholes.size(); }
  Number get(std::size_t i) const {
    return floating() ? Number{.real = reals[i]} : Number{.whole = wholes[i]};
  }
};

class Interpreter {
 public:
  Interpreter(const Program& program, const std::map<std::string, std::int64_t>& sizes,
              Rounding rounding)
      : program_(program), sizes_(sizes), rounding_(rounding) {
    for (const auto& [name, value] : sizes) {
      slots_.emplace(name, static_cast<int>(variables_.size()));
      variables_.push_back(value);
    }
  }

  Result<std::vector<std::vector<double>>> run(const std::vector<std::vector<double>>& inputs) {
    KW_TRY_STATUS(allocate(inputs));
    for (const Step& step : program_.steps) {
      KW_TRY_STATUS(std::visit([&](const auto& each) { return run_step(each); }, step));
      if (!failure_.empty()) return fail(ErrorCode::kInvalidArgument, "{}", failure_);
    }
    std::vector<std::vector<double>> out;
    for (BufferId id : program_.outputs) {
      const Data& data = data_[static_cast<std::size_t>(id)];
      if (data.floating())
        out.push_back(data.reals);
      else
        out.emplace_back(data.wholes.begin(), data.wholes.end());
    }
    return out;
  }

 private:
  Status allocate(const std::vector<std::vector<double>>& inputs) {
    std::size_t next = 0;
    for (const Buffer& buffer : program_.buffers) {
      Data data{.dtype = buffer.type.dtype, .shape = {}, .reals = {}, .wholes = {}};
      std::int64_t count = 1;
      for (const IntExpr& each : buffer.type.shape) {
        KW_TRY(std::int64_t extent, each.evaluate(sizes_));
        if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > kMaxElements)
          return fail(ErrorCode::kInvalidArgument, "{} has a size of {}", buffer.name, extent);
        data.shape.push_back(extent);
      }
      const auto size = static_cast<std::size_t>(count);
      if (data.floating())
        data.reals.resize(size);
      else
        data.wholes.resize(size);
      const bool given =
          buffer.kind == Buffer::Kind::kInput || buffer.kind == Buffer::Kind::kScalar;
      if (given) {
        if (next >= inputs.size() || inputs[next].size() != size)
          return fail(ErrorCode::kInvalidArgument, "input {} needs {} numbers", buffer.name, size);
        for (std::size_t i = 0; i < size; ++i)
          store(data, i, cast_real(data.dtype, rounding_, inputs[next][i]));
        ++next;
      }
      data_.push_back(std::move(data));
    }
    if (next != inputs.size())
      return fail(ErrorCode::kInvalidArgument, "{} inputs instead of {}", inputs.size(), next);
    return {};
  }

  // ---- from expressions to code ----
  int slot_of(const std::string& name) {
    auto [place, added] = slots_.emplace(name, static_cast<int>(variables_.size()));
    if (added) variables_.push_back(0);
    return place->second;
  }

  int compile(const IntExpr& expr) {
    IntCode code;
    for (const IntTerm& term : expr.sum()) {
      IntCode::Term out{.coefficient = term.coefficient, .factors = {}};
      for (const IntFactor& factor : term.factors) {
        IntCode::Factor each;
        if (factor.symbol.empty()) {
          each.function = factor.function;
          each.a = compile(factor.a);
          each.b = compile(factor.b);
        } else {
          each.slot = slot_of(factor.symbol);
        }
        out.factors.push_back(each);
      }
      code.terms.push_back(std::move(out));
    }
    ints_.push_back(std::move(code));
    return static_cast<int>(ints_.size() - 1);
  }

  int compile(const ScalarRef& value) {
    if (auto found = compiled_.find(value.get()); found != compiled_.end()) return found->second;
    Code code;
    code.dtype = value->dtype;
    if (const auto* constant = std::get_if<Scalar::Constant>(&value->node)) {
      code.constant = {constant->number, constant->integer};
      if (tensor::is_floating(code.dtype))
        code.constant = real_number(code.dtype, rounding_, constant->number);
    } else if (const auto* index = std::get_if<Scalar::Index>(&value->node)) {
      code.kind = Code::Kind::kIndex;
      code.expr = compile(index->expr);
    } else if (const auto* load = std::get_if<Scalar::Load>(&value->node)) {
      code.kind = Code::Kind::kLoad;
      code.buffer = static_cast<std::size_t>(load->buffer);
      for (const ScalarRef& each : load->index) code.arguments.push_back(compile(each));
    } else if (const auto* called = std::get_if<Scalar::Call>(&value->node)) {
      code.kind = Code::Kind::kCall;
      code.op = called->op;
      for (const ScalarRef& each : called->arguments) code.arguments.push_back(compile(each));
    } else if (const auto* casted = std::get_if<Scalar::Cast>(&value->node)) {
      code.kind = Code::Kind::kCast;
      code.arguments = {compile(casted->value)};
    } else {
      code.kind = Code::Kind::kReduced;
    }
    codes_.push_back(std::move(code));
    compiled_.emplace(value.get(), static_cast<int>(codes_.size() - 1));
    return static_cast<int>(codes_.size() - 1);
  }

  // ---- values ----
  Number cast_number(DType from, DType to, const Number& value) const {
    if (tensor::is_floating(from)) return cast_real(to, rounding_, value.real);
    return tensor::is_floating(to) ? real_number(to, rounding_, static_cast<double>(value.whole))
                                   : whole_number(to, value.whole);
  }

  static void store(Data& data, std::size_t place, const Number& value) {
    if (data.floating())
      data.reals[place] = value.real;
    else
      data.wholes[place] = value.whole;
  }

  std::int64_t evaluate(int code) {
    std::int64_t sum = 0;
    for (const IntCode::Term& term : ints_[static_cast<std::size_t>(code)].terms) {
      std::int64_t product = term.coefficient;
      for (const IntCode::Factor& factor : term.factors) {
        if (factor.slot >= 0) {
          product *= variables_[static_cast<std::size_t>(factor.slot)];
          continue;
        }
        const std::int64_t a = evaluate(factor.a), b = evaluate(factor.b);
        if (factor.function == IntFunction::kMin)
          product *= std::min(a, b);
        else if (factor.function == IntFunction::kMax)
          product *= std::max(a, b);
        else
          product *= divided(factor.function == IntFunction::kFloorDiv, a, b, failure_);
      }
      sum += product;
    }
    return sum;
  }

  // Row-major place of an index; nullopt, and a failure, where it is out of bounds.
  std::optional<std::size_t> place(const Data& data, const std::vector<int>& index,
                                   const std::string& name) {
    std::int64_t out = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t at = evaluate_scalar(index[d]).whole;
      if (d >= data.shape.size() || at < 0 || at >= data.shape[d]) {
        failure_ = fmt::format("index {} of dimension {} of {} is out of bounds", at, d, name);
        return std::nullopt;
      }
      out = out * data.shape[d] + at;
    }
    if (index.size() != data.shape.size()) {
      failure_ = fmt::format("{} indices into {}", index.size(), name);
      return std::nullopt;
    }
    return static_cast<std::size_t>(out);
  }

  Number evaluate_scalar(int id) {
    const Code& code = codes_[static_cast<std::size_t>(id)];
    switch (code.kind) {
      case Code::Kind::kConstant:
        return code.constant;
      case Code::Kind::kIndex:
        return {.whole = evaluate(code.expr)};
      case Code::Kind::kReduced:
        return reduced_;
      case Code::Kind::kLoad: {
        const Data& data = data_[code.buffer];
        const auto at = place(data, code.arguments, program_.buffers[code.buffer].name);
        return at ? data.get(*at) : Number{};
      }
      case Code::Kind::kCast: {
        const int from = code.arguments[0];
        return cast_number(codes_[static_cast<std::size_t>(from)].dtype, code.dtype,
                           evaluate_scalar(from));
      }
      case Code::Kind::kCall:
        break;
    }
    if (code.op == ScalarOp::kSelect)
      return evaluate_scalar(code.arguments[evaluate_scalar(code.arguments[0]).whole != 0 ? 1 : 2]);
    const DType of = codes_[static_cast<std::size_t>(code.arguments[0])].dtype;
    const Number a = evaluate_scalar(code.arguments[0]);
    if (code.op == ScalarOp::kAnd && a.whole == 0) return {};
    if (code.op == ScalarOp::kOr && a.whole != 0) return {.whole = 1};
    const Number b = code.arguments.size() > 1 ? evaluate_scalar(code.arguments[1]) : Number{};
    if (tensor::is_floating(of)) return of_reals(code.op, code.dtype, rounding_, a.real, b.real);
    return whole_number(code.dtype, of_wholes(code.op, a.whole, b.whole, failure_));
  }

  // ---- steps ----
  struct Range {
    int slot = 0;
    std::int64_t extent = 0;
  };

  Result<std::vector<Range>> ranges_of(const std::vector<Loop>& loops) {
    std::vector<Range> out;
    for (const Loop& loop : loops) {
      KW_TRY(std::int64_t extent, loop.extent.evaluate(sizes_));
      out.push_back({slot_of(loop.variable), extent});
    }
    return out;
  }

  template <typename Body>
  void for_all(const std::vector<Range>& ranges, const Body& body, std::size_t depth = 0) {
    if (!failure_.empty()) return;
    if (depth == ranges.size()) return body();
    for (std::int64_t i = 0; i < ranges[depth].extent; ++i) {
      variables_[static_cast<std::size_t>(ranges[depth].slot)] = i;
      for_all(ranges, body, depth + 1);
    }
  }

  struct StageCode {
    int body = 0;
    std::optional<int> epilogue;
  };
  StageCode compile(const Stage& stage) {
    StageCode out{compile(stage.body), std::nullopt};
    if (stage.epilogue) out.epilogue = compile(stage.epilogue);
    return out;
  }

  Number finished(const StageCode& code, const RunningReduction& sum, DType accumulator) {
    reduced_ = sum.result(accumulator, rounding_);
    return code.epilogue ? evaluate_scalar(*code.epilogue) : reduced_;
  }

  Status check_dtype(const Stage& stage, const StageCode& code, bool reduces) const {
    const auto dtype_of = [&](int id) { return codes_[static_cast<std::size_t>(id)].dtype; };
    const DType out = program_.buffers[static_cast<std::size_t>(stage.out)].type.dtype;
    const DType last = code.epilogue           ? dtype_of(*code.epilogue)
                       : !reduces              ? dtype_of(code.body)
                       : gives_place(stage.op) ? DType::kInt64
                                               : stage.accumulator;
    if (last != out || (reduces && dtype_of(code.body) != stage.accumulator))
      return fail(ErrorCode::kInternal, "{}: a value of another dtype than its place's",
                  stage.label);
    return {};
  }

  Status run_step(const Stage& stage) {
    KW_TRY(const auto loops, ranges_of(stage.loops));
    KW_TRY(const auto reduced, ranges_of(stage.reduced));
    const StageCode code = compile(stage);
    const bool reduces = !reduced.empty();
    KW_TRY_STATUS(check_dtype(stage, code, reduces));
    Data& out = data_[static_cast<std::size_t>(stage.out)];
    RunningReduction sum{.op = stage.op, .floating = tensor::is_floating(stage.accumulator)};
    std::size_t next = 0;
    for_all(loops, [&] {
      if (next >= out.count()) {
        failure_ = stage.label + ": more elements than its buffer has";
        return;
      }
      if (!reduces) return store(out, next++, evaluate_scalar(code.body));
      sum.start();
      for_all(reduced, [&] { sum.take(evaluate_scalar(code.body)); });
      store(out, next++, finished(code, sum, stage.accumulator));
    });
    if (failure_.empty() && next != out.count())
      failure_ = stage.label + ": fewer elements than its buffer has";
    if (!failure_.empty()) failure_ = stage.label + ": " + failure_;
    return {};
  }

  Status run_step(const Scan& scan) {
    const Stage& stage = scan.stage;
    KW_TRY(auto loops, ranges_of(stage.loops));
    const StageCode code = compile(stage);
    KW_TRY_STATUS(check_dtype(stage, code, true));
    Data& out = data_[static_cast<std::size_t>(stage.out)];
    RunningReduction sum{.op = stage.op,
                         .floating = tensor::is_floating(stage.accumulator),
                         .last_of_equal = gives_place(stage.op)};
    const Range axis = loops[scan.axis];
    std::int64_t inner = 1, outer = 0;
    for (std::size_t d = scan.axis + 1; d < loops.size(); ++d) inner *= loops[d].extent;
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(scan.axis));
    for_all(loops, [&] {
      sum.start();
      const std::int64_t start = outer / inner * inner * axis.extent + outer % inner;
      ++outer;
      for (std::int64_t k = 0; k < axis.extent; ++k) {
        const std::int64_t i = scan.reversed ? axis.extent - 1 - k : k;
        variables_[static_cast<std::size_t>(axis.slot)] = i;
        sum.take(evaluate_scalar(code.body));
        store(out, static_cast<std::size_t>(start + i * inner),
              finished(code, sum, stage.accumulator));
      }
    });
    return {};
  }

  Status run_step(const Sort& sort) {
    const Data& in = data_[static_cast<std::size_t>(sort.in)];
    Data &values = data_[static_cast<std::size_t>(sort.values)],
         &indices = data_[static_cast<std::size_t>(sort.indices)];
    const auto length = static_cast<std::size_t>(in.shape.back());
    std::size_t kept = length;
    if (sort.first) {
      KW_TRY(std::int64_t first, sort.first->evaluate(sizes_));
      if (first < 0 || static_cast<std::size_t>(first) > length)
        return fail(ErrorCode::kInvalidArgument, "{}: {} of {}", sort.label, first, length);
      kept = static_cast<std::size_t>(first);
    }
    std::vector<std::size_t> order(length);
    for (std::size_t row = 0; length > 0 && row < in.count() / length; ++row) {
      std::iota(order.begin(), order.end(), row * length);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
        if (sort.descending) std::swap(x, y);
        if (!in.floating()) return in.wholes[x] < in.wholes[y];
        if (std::isnan(in.reals[x])) return false;
        return std::isnan(in.reals[y]) || in.reals[x] < in.reals[y];
      });
      for (std::size_t k = 0; k < kept; ++k) {
        store(values, row * kept + k, in.get(order[k]));
        indices.wholes[row * kept + k] = static_cast<std::int64_t>(order[k] - row * length);
      }
    }
    return {};
  }

  Status run_step(const Scatter& scatter) {
    KW_TRY(const auto loops, ranges_of(scatter.loops));
    std::vector<int> index;
    for (const ScalarRef& each : scatter.index) index.push_back(compile(each));
    const int value = compile(scatter.value);
    const auto id = static_cast<std::size_t>(scatter.out);
    const DType dtype = data_[id].dtype;
    const bool floating = tensor::is_floating(dtype);
    static constexpr std::pair<ScatterOp, ScalarOp> kOps[] = {
        {ScatterOp::kAdd, ScalarOp::kAdd},
        {ScatterOp::kMultiply, ScalarOp::kMul},
        {ScatterOp::kMin, ScalarOp::kMin},
        {ScatterOp::kMax, ScalarOp::kMax}};
    ScalarOp op = ScalarOp::kAdd;
    for (const auto& [mine, scalar] : kOps) {
      if (mine == scatter.op) op = scalar;
    }
    for_all(loops, [&] {
      const Number x = evaluate_scalar(value);
      const auto at = place(data_[id], index, program_.buffers[id].name);
      if (!at) return;
      const Number old = data_[id].get(*at);
      if (scatter.op == ScatterOp::kAssign)
        store(data_[id], *at, x);
      else if (floating)
        store(data_[id], *at, of_reals(op, dtype, rounding_, old.real, x.real));
      else
        store(data_[id], *at, whole_number(dtype, of_wholes(op, old.whole, x.whole, failure_)));
    });
    return {};
  }

  const Program& program_;
  const std::map<std::string, std::int64_t>& sizes_;
  Rounding rounding_;
  std::vector<Data> data_;
  std::unordered_map<std::string, int> slots_;
  std::vector<std::int64_t> variables_;
  std::vector<IntCode> ints_;
  std::vector<Code> codes_;
  std::unordered_map<const Scalar*, int> compiled_;
  Number reduced_;
  std::string failure_;
};

}  // namespace

Result<std::vector<std::vector<double>>> interpret(const Program& program,
                                                   const std::vector<std::vector<double>>& inputs,
                                                   const std::map<std::string, std::int64_t>& sizes,
                                                   Rounding rounding) {
  return Interpreter(program, sizes, rounding).run(inputs);
}

}  // namespace kw::writer
