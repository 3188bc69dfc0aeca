// Upsampling of the last dimensions: nearest, linear (1 to 3 dimensions) and cubic.
#include <cmath>

#include "writer/loops/lowering.h"

namespace kw::writer {
namespace {

using tensor::DType;

// How output places map to input places along one dimension.
struct Axis {
  IntExpr in, out;
  std::optional<double> factor;  // asked for; else out / in
};

std::vector<Axis> axes_of(OpCall& call, const Tensor& self, std::size_t spatial) {
  std::vector<Axis> out;
  if (self.rank() != spatial + 2 || call.type().shape.size() != self.rank()) {
    call.invalid(fmt::format("a tensor of {} dimensions", self.rank()));
    return out;
  }
  for (std::size_t d = 0; d < spatial; ++d)
    out.push_back({self.type.shape[2 + d], call.type().shape[2 + d], std::nullopt});
  const char* const names[3][3] = {
      {"scales", "", ""}, {"scales_h", "scales_w", ""}, {"scales_d", "scales_h", "scales_w"}};
  const Attribute* list = nullptr;
  for (const auto& [name, value] : call.node().arguments) {
    if (name == "scale_factors") list = &value;
  }
  const auto* factors = list == nullptr ? nullptr : std::get_if<std::vector<double>>(list);
  for (std::size_t d = 0; d < spatial; ++d) {
    if (factors != nullptr && d < factors->size())
      out[d].factor = (*factors)[d];
    else if (call.given(names[spatial - 1][d]))
      out[d].factor = call.number(names[spatial - 1][d], 1);
  }
  return out;
}

// Input places an output place, as a number of the dtype.
ScalarRef scale_of(Lowering& at, const Axis& axis, DType dtype) {
  if (axis.factor) return writer::number(dtype, 1 / *axis.factor);
  return binary(ScalarOp::kDiv, cast(dtype, at.scalar_of(axis.in)),
                cast(dtype, at.scalar_of(axis.out)));
}

IntExpr nearest_place(Lowering& at, const Axis& axis, const IntExpr& out, bool exact) {
  if (axis.factor && *axis.factor >= 1 && *axis.factor == std::floor(*axis.factor) &&
      *axis.factor < 1e6)
    return at.ranges.floor_div(out, static_cast<std::int64_t>(*axis.factor));
  if (!axis.factor) {
    return exact ? at.ranges.floor_div(out * axis.in * 2 + axis.in, axis.out * 2)
                 : at.ranges.floor_div(out * axis.in, axis.out);
  }
  ScalarRef place = cast(DType::kFloat32, at.scalar_of(out));
  if (exact) place = binary(ScalarOp::kAdd, place, 0.5);
  place = binary(ScalarOp::kMul, place, scale_of(at, axis, DType::kFloat32));
  return at.ranges.min(at.data_index(cast(DType::kInt64, unary(ScalarOp::kFloor, place)), axis.in),
                       axis.in - 1);
}

void nearest(OpCall& call, std::size_t spatial, bool exact) {
  const Tensor self = call.tensor(call.given("self") ? "self" : "input");
  const auto axes = axes_of(call, self, spatial);
  if (call.failed()) return;
  call.set({call.type(), [=, &at = call.at](const Index& i) {
              Index mine = i;
              for (std::size_t d = 0; d < spatial; ++d)
                mine[2 + d] = nearest_place(at, axes[d], i[2 + d], exact);
              return at.read(self, mine);
            }});
}

// Where an output place lies between input places.
ScalarRef real_place(Lowering& at, const Axis& axis, const IntExpr& out, bool corners, bool cubic,
                     DType dtype) {
  const ScalarRef place = cast(dtype, at.scalar_of(out));
  if (corners) {
    if (axis.out == IntExpr(1)) return writer::number(dtype, 0);
    const ScalarRef scale = binary(ScalarOp::kDiv, cast(dtype, at.scalar_of(axis.in - 1)),
                                   cast(dtype, at.scalar_of(at.ranges.max(axis.out - 1, 1))));
    return binary(ScalarOp::kMul, place, scale);
  }
  const ScalarRef middle =
      binary(ScalarOp::kMul, binary(ScalarOp::kAdd, place, 0.5), scale_of(at, axis, dtype));
  const ScalarRef start = binary(ScalarOp::kSub, middle, 0.5);
  return cubic ? start : binary(ScalarOp::kMax, start, 0);
}

// Input places along one dimension with their weights.
using Taps = std::vector<std::pair<IntExpr, ScalarRef>>;

Taps linear_taps(Lowering& at, const Axis& axis, const IntExpr& out, bool corners, DType dtype) {
  const ScalarRef real = real_place(at, axis, out, corners, false, dtype);
  const ScalarRef whole = unary(ScalarOp::kFloor, real);
  const IntExpr low =
      at.ranges.min(at.data_index(cast(DType::kInt64, whole), axis.in), axis.in - 1);
  const ScalarRef high_weight = binary(ScalarOp::kSub, real, cast(dtype, at.scalar_of(low)));
  return {{low, binary(ScalarOp::kSub, 1.0, high_weight)},
          {at.ranges.min(low + 1, axis.in - 1), high_weight}};
}

// Keys' cubic kernel with a = -0.75.
ScalarRef cubic_weight(const ScalarRef& distance, bool near) {
  constexpr double kA = -0.75;
  const auto chain = [&](std::initializer_list<double> coefficients) {
    ScalarRef out;
    for (double each : coefficients)
      out = out ? binary(ScalarOp::kAdd, binary(ScalarOp::kMul, out, distance), each)
                : writer::number(distance->dtype, each);
    return out;
  };
  return near ? chain({kA + 2, -(kA + 3), 0, 1}) : chain({kA, -5 * kA, 8 * kA, -4 * kA});
}

Taps cubic_taps(Lowering& at, const Axis& axis, const IntExpr& out, bool corners, DType dtype) {
  const ScalarRef real = real_place(at, axis, out, corners, true, dtype);
  const ScalarRef whole = unary(ScalarOp::kFloor, real);
  const ScalarRef t = binary(ScalarOp::kSub, real, whole);
  // May be -1: the two outer taps are cut to the edges below.
  const IntExpr low = at.data_index(
      binary(ScalarOp::kAdd, cast(DType::kInt64, whole), integer(DType::kInt64, 1)), axis.in + 1);
  Taps taps;
  const ScalarRef distances[] = {binary(ScalarOp::kAdd, t, 1), t, binary(ScalarOp::kSub, 1.0, t),
                                 binary(ScalarOp::kSub, 2.0, t)};
  for (int k = 0; k < 4; ++k)
    taps.emplace_back(at.ranges.min(at.ranges.max(low + (k - 2), 0), axis.in - 1),
                      cubic_weight(distances[k], k == 1 || k == 2));
  return taps;
}

void blended(OpCall& call, std::size_t spatial, bool cubic) {
  Lowering& at = call.at;
  const Tensor self = call.tensor(call.given("self") ? "self" : "input");
  const auto axes = axes_of(call, self, spatial);
  const bool corners = call.flag("align_corners");
  if (call.failed()) return;
  const DType dtype = opmath(call.type().dtype);
  call.map([&](const Index& i) {
    std::vector<Taps> taps;
    for (std::size_t d = 0; d < spatial; ++d)
      taps.push_back(cubic ? cubic_taps(at, axes[d], i[2 + d], corners, dtype)
                           : linear_taps(at, axes[d], i[2 + d], corners, dtype));
    // Innermost dimension first.
    const std::function<ScalarRef(std::size_t, const Index&)> sum = [&](std::size_t d,
                                                                        const Index& index) {
      if (d == spatial) return cast(dtype, at.read(self, index));
      ScalarRef out;
      for (const auto& [place, weight] : taps[d]) {
        Index mine = index;
        mine[2 + d] = place;
        const ScalarRef part = binary(ScalarOp::kMul, weight, sum(d + 1, mine));
        out = out ? binary(ScalarOp::kAdd, out, part) : part;
      }
      return out;
    };
    return sum(0, i);
  });
}

}  // namespace

void add_resampling(LowerTable& table) {
  const char* const linear_names[] = {"upsample_linear1d", "upsample_bilinear2d",
                                      "upsample_trilinear3d"};
  for (const char* overload : {".default", ".vec"}) {
    for (std::size_t spatial = 1; spatial <= 3; ++spatial) {
      table[fmt::format("upsample_nearest{}d{}", spatial, overload)] = [spatial](OpCall& call) {
        nearest(call, spatial, false);
      };
      table[fmt::format("_upsample_nearest_exact{}d{}", spatial, overload)] =
          [spatial](OpCall& call) { nearest(call, spatial, true); };
      table[std::string(linear_names[spatial - 1]) + overload] = [spatial](OpCall& call) {
        blended(call, spatial, false);
      };
    }
    table[std::string("upsample_bicubic2d") + overload] = [](OpCall& call) {
      blended(call, 2, true);
    };
  }
}

}  // namespace kw::writer
