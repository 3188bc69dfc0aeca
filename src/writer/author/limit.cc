#include "writer/author/limit.h"

#include <algorithm>
#include <cmath>

#include "writer/loops/scalar.h"

namespace kw::writer {
namespace {

constexpr double kOperationsPerByte = 10;

using Sizes = std::map<std::string, std::int64_t>;

Result<double> iterations(const std::vector<Loop>& loops, const Sizes& sizes) {
  double out = 1;
  for (const Loop& loop : loops) {
    KW_TRY(const std::int64_t extent, loop.extent.evaluate(sizes));
    out *= static_cast<double>(extent);
  }
  return out;
}

double operations_in(const ScalarRef& value) {
  double out = 0;
  if (!value) return out;
  visit(value, [&out](const Scalar& one) {
    const auto* call = std::get_if<Scalar::Call>(&one.node);
    if (call != nullptr && call->op != ScalarOp::kSelect && one.dtype != tensor::DType::kBool)
      out += 1;
  });
  return out;
}

struct Operations {
  const Program& program;

  Result<double> operator()(const Stage& stage) const {
    KW_TRY(const double outputs, iterations(stage.loops, program.sizes));
    KW_TRY(const double terms, iterations(stage.reduced, program.sizes));
    const double collect = stage.reduced.empty() ? 0 : 1;
    return outputs *
           (terms * (operations_in(stage.body) + collect) + operations_in(stage.epilogue));
  }
  Result<double> operator()(const Scan& scan) const {
    KW_TRY(const double steps, iterations(scan.stage.loops, program.sizes));
    return steps * (operations_in(scan.stage.body) + 1 + operations_in(scan.stage.epilogue));
  }
  Result<double> operator()(const Sort& sort) const {
    const Shape& shape = program.buffers[static_cast<std::size_t>(sort.in)].type.shape;
    KW_TRY(const std::int64_t elements, element_count(shape).evaluate(program.sizes));
    if (shape.empty()) return 0.0;
    KW_TRY(const std::int64_t row, shape.back().evaluate(program.sizes));
    return static_cast<double>(elements) * std::log2(std::max<double>(static_cast<double>(row), 1));
  }
  Result<double> operator()(const Scatter& scatter) const {
    KW_TRY(const double steps, iterations(scatter.loops, program.sizes));
    const double collect = scatter.op == ScatterOp::kAssign ? 0 : 1;
    return steps * (operations_in(scatter.value) + collect);
  }
};

}  // namespace

Result<std::string_view> limit_of(const Program& program) {
  double operations = 0, bytes = 0;
  for (const Step& step : program.steps) {
    KW_TRY(const double more, std::visit(Operations{program}, step));
    operations += more;
  }
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind != Buffer::Kind::kInput && buffer.kind != Buffer::Kind::kOutput) continue;
    KW_TRY(const std::int64_t elements, element_count(buffer.type.shape).evaluate(program.sizes));
    bytes +=
        static_cast<double>(elements) * static_cast<double>(tensor::size_of(buffer.type.dtype));
  }
  return std::string_view(operations > kOperationsPerByte * bytes ? "arithmetic" : "memory");
}

}  // namespace kw::writer
