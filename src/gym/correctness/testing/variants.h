// Families are made of these: input distributions, and the honest and dishonest variants that many
// families share.
#pragma once
#include <algorithm>
#include <string>

#include "gym/correctness/testing/families.h"
#include "gym/correctness/testing/kernels.h"

namespace kw::gym::testing {

using task::Distribution;
using task::InputPolicy;

inline const InputPolicy kNormal{};
inline const InputPolicy kOffset{Distribution::kNormal, 3.0, 1.0};
inline const InputPolicy kPositive{Distribution::kUniform, {}, {}};
inline const InputPolicy kSpikes{Distribution::kSpikes, {}, {}};
inline const InputPolicy kOneHot{Distribution::kOneHot, {}, {}};
inline const InputPolicy kWide{Distribution::kWideRange, {}, {}};
inline const InputPolicy kWhole{Distribution::kIntegers, {}, {}};
inline const InputPolicy kChances{Distribution::kProbabilities, {}, {}};

// ---- variants ----
inline Variant low_inputs(const Variant& right, int bits) {
  return {"inputs and output of " + std::to_string(bits) + " mantissa bits",
          [right, bits](const std::vector<Floats>& in) {
            std::vector<Floats> narrow = in;
            for (Floats& x : narrow) {
              for (float& v : x) v = round_mantissa(v, bits);
            }
            Floats out = right.run(narrow);
            for (float& v : out) v = round_mantissa(v, bits);
            return out;
          }};
}

// Adds the dishonest variants of every problem: no output at all, half of it, the tail missing, a
// neighbour's value, lower precision.
inline void add_common(Family& family, const std::vector<int>& low_bits) {
  Variant right{"right", family.trusted};
  auto changed = [&](const char* name, auto change) {
    family.dishonest.push_back({name, [right, change](const std::vector<Floats>& in) {
                                  Floats out = right.run(in);
                                  change(out);
                                  return out;
                                }});
  };
  changed("zeros", [](Floats& out) { std::ranges::fill(out, 0.0F); });
  changed("five percent too large", [](Floats& out) {
    for (float& v : out) v *= 1.05F;
  });
  for (int bits : low_bits) family.dishonest.push_back(low_inputs(right, bits));
  if (family.output.empty()) return;
  changed("second half zero", [](Floats& out) {
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(out.size() / 2), out.end(), 0.0F);
  });
  changed("last element missing", [](Floats& out) { out.back() = 3 - out.back(); });
  changed("shifted by one",
          [](Floats& out) { std::rotate(out.begin(), out.begin() + 1, out.end()); });
}

template <typename Make>
void add_orders(Family& family, Make make, bool coarse) {
  family.honest.push_back({"sequential", make(Sequential{})});
  family.honest.push_back({"8 lanes", make(Lanes<8>{})});
  family.honest.push_back({"16 lanes", make(Lanes<16>{})});
  family.honest.push_back({"pairwise", make(Pairwise{})});
  family.honest.push_back({"Kahan", make(Kahan{})});
  family.honest.push_back({"in double", make(InDouble{})});
  family.dishonest.push_back({"tail of the sum missing", make(NoTail{})});
  if (coarse) return;
  family.dishonest.push_back({"one term of 64 skipped", make(SkipOneOf64{})});
  family.dishonest.push_back({"last term missing", make(OffByOne{})});
  family.dishonest.push_back({"sum kept in bfloat16", make(Narrow<7>{})});
  family.dishonest.push_back({"sum kept in float16", make(Narrow<10>{})});
}

inline Family rows_family(const char* name, std::int64_t rows, std::int64_t columns, bool reduced) {
  Family family;
  family.name = std::string(name) + " " + std::to_string(rows) + "x" + std::to_string(columns);
  family.shapes = {{rows, columns}};
  family.output = reduced ? Shape{rows} : Shape{rows, columns};
  family.reduction_length = columns;
  return family;
}

// families_other.cc: convolution, scans, losses, elementwise functions.
void add_other_families(std::vector<Family>& all, const std::vector<int>& low_bits, bool coarse);

}  // namespace kw::gym::testing
