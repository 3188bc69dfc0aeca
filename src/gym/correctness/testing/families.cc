// Sums, softmax, norms and products.
#include "gym/correctness/testing/families.h"

#include <bit>

#include "gym/correctness/testing/variants.h"

namespace kw::gym::testing {
namespace {

Family sum_family(std::int64_t rows, std::int64_t columns, const std::vector<int>& low_bits,
                  bool coarse) {
  Family f = rows_family("row sum", rows, columns, true);
  auto n = static_cast<std::size_t>(columns);
  f.inputs = {{"normal", {kNormal}},  {"positive", {kPositive}}, {"spikes", {kSpikes}},
              {"one hot", {kOneHot}}, {"wide", {kWide}},         {"whole", {kWhole}}};
  f.exact = [n](const std::vector<Doubles>& in) { return row_sum<Pairwise>(in, n); };
  f.trusted = [n](const std::vector<Floats>& in) { return row_sum<Lanes<32>>(in, n); };
  add_orders(
      f,
      [n](auto order) {
        return [n](const std::vector<Floats>& in) { return row_sum<decltype(order)>(in, n); };
      },
      coarse);
  add_common(f, low_bits);
  return f;
}

Family column_family(const std::vector<int>& low_bits, bool coarse) {
  Family f = rows_family("column mean", 2000, 96, false);
  f.output = {96};
  f.reduction_length = 2000;
  f.inputs = {
      {"normal", {kNormal}}, {"offset", {kOffset}}, {"spikes", {kSpikes}}, {"wide", {kWide}}};
  f.exact = [](const std::vector<Doubles>& in) { return column_mean<Pairwise>(in, 96); };
  f.trusted = [](const std::vector<Floats>& in) { return column_mean<Lanes<4>>(in, 96); };
  add_orders(
      f,
      [](auto order) {
        return [](const std::vector<Floats>& in) { return column_mean<decltype(order)>(in, 96); };
      },
      coarse);
  add_common(f, low_bits);
  return f;
}

Family softmax_family(std::int64_t rows, std::int64_t columns, const std::vector<int>& low_bits,
                      bool coarse) {
  Family f = rows_family("softmax", rows, columns, false);
  auto n = static_cast<std::size_t>(columns);
  f.inputs = {
      {"normal", {kNormal}}, {"offset", {kOffset}}, {"wide", {kWide}}, {"spikes", {kSpikes}}};
  f.exact = [n](const std::vector<Doubles>& in) { return softmax<Pairwise, LibraryExp>(in, n); };
  f.trusted = [n](const std::vector<Floats>& in) { return softmax<Lanes<8>, LibraryExp>(in, n); };
  add_orders(
      f,
      [n](auto order) {
        return [n](const std::vector<Floats>& in) {
          return softmax<decltype(order), LibraryExp>(in, n);
        };
      },
      coarse);
  f.honest.push_back({"approximated exp", [n](const std::vector<Floats>& in) {
                        return softmax<Lanes<8>, FastExp>(in, n);
                      }});
  // One term of 20000 is within rounding.
  std::erase_if(f.dishonest,
                [n](const Variant& v) { return n > 10000 && v.name == "last term missing"; });
  f.dishonest.push_back({"maximum not subtracted", [n](const std::vector<Floats>& in) {
                           return softmax<Lanes<8>, LibraryExp>(in, n, false);
                         }});
  f.dishonest.push_back({"small probabilities dropped", [n](const std::vector<Floats>& in) {
                           Floats out = softmax<Lanes<8>, LibraryExp>(in, n);
                           for (float& v : out) v = v < 0.1F / static_cast<float>(n) ? 0.0F : v;
                           return out;
                         }});
  add_common(f, low_bits);
  return f;
}

Family log_softmax_family(const std::vector<int>& low_bits, bool coarse) {
  Family f = rows_family("log softmax", 48, 3000, false);
  f.inputs = {{"normal", {kNormal}}, {"wide", {kWide}}};
  f.exact = [](const std::vector<Doubles>& in) {
    return log_softmax<Pairwise, LibraryExp>(in, 3000);
  };
  f.trusted = [](const std::vector<Floats>& in) {
    return log_softmax<Lanes<8>, LibraryExp>(in, 3000);
  };
  f.honest = {
      {"sequential",
       [](const std::vector<Floats>& in) { return log_softmax<Sequential, FastExp>(in, 3000); }},
      {"in double",
       [](const std::vector<Floats>& in) { return log_softmax<InDouble, LibraryExp>(in, 3000); }}};
  if (!coarse)
    f.dishonest = {{"tail missing", [](const std::vector<Floats>& in) {
                      return log_softmax<NoTail, LibraryExp>(in, 3000);
                    }}};
  add_common(f, low_bits);
  return f;
}

Family layer_norm_family(std::int64_t rows, std::int64_t columns, const std::vector<int>& low_bits,
                         bool coarse) {
  Family f = rows_family("layer norm", rows, columns, false);
  f.shapes = {{rows, columns}, {columns}, {columns}};
  auto n = static_cast<std::size_t>(columns);
  f.inputs = {{"normal", {kNormal, kNormal, kNormal}},
              {"offset", {kOffset, kPositive, kNormal}},
              {"spikes", {kSpikes, kPositive, kNormal}},
              {"wide", {kWide, kNormal, kNormal}}};
  f.exact = [n](const std::vector<Doubles>& in) { return layer_norm<Pairwise>(in, n); };
  f.trusted = [n](const std::vector<Floats>& in) { return layer_norm<Lanes<8>>(in, n); };
  add_orders(
      f,
      [n](auto order) {
        return [n](const std::vector<Floats>& in) { return layer_norm<decltype(order)>(in, n); };
      },
      coarse);
  f.honest.push_back(
      {"Welford", [n](const std::vector<Floats>& in) { return welford_norm(in, n); }});
  if (!coarse) {
    f.dishonest.push_back({"epsilon 1e-3 for 1e-5", [n](const std::vector<Floats>& in) {
                             return layer_norm<Lanes<8>>(in, n, 1e-3);
                           }});
    f.dishonest.push_back({"divided by n - 1", [n](const std::vector<Floats>& in) {
                             return layer_norm<Lanes<8>>(in, n, 1e-5, 1);
                           }});
  }
  add_common(f, low_bits);
  return f;
}

Family row_norm_family(const std::vector<int>& low_bits, bool coarse) {
  Family f = rows_family("L2 normalisation", 40, 1500, false);
  f.inputs = {{"normal", {kNormal}}, {"spikes", {kSpikes}}, {"wide", {kWide}}};
  f.exact = [](const std::vector<Doubles>& in) { return row_norm<Pairwise>(in, 1500); };
  f.trusted = [](const std::vector<Floats>& in) { return row_norm<Lanes<8>>(in, 1500); };
  add_orders(
      f,
      [](auto order) {
        return [](const std::vector<Floats>& in) { return row_norm<decltype(order)>(in, 1500); };
      },
      coarse);
  add_common(f, low_bits);
  return f;
}

Family linear_family(std::int64_t m, std::int64_t k, std::int64_t n,
                     const std::vector<int>& low_bits, bool coarse) {
  Family f;
  f.name = "linear " + std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n);
  f.shapes = {{m, k}, {n, k}};
  f.output = {m, n};
  f.reduction_length = k;
  f.inputs = {{"normal", {kNormal, kNormal}},      {"wide activations", {kWide, kNormal}},
              {"wide weights", {kNormal, kWide}},  {"one hot", {kOneHot, kNormal}},
              {"spikes", {kSpikes, kNormal}},      {"whole", {kWhole, kWhole}},
              {"positive", {kPositive, kPositive}}};
  auto length = static_cast<std::size_t>(k);
  f.exact = [length](const std::vector<Doubles>& in) { return linear<Pairwise>(in, length); };
  f.trusted = [length](const std::vector<Floats>& in) { return linear<Lanes<8>>(in, length); };
  add_orders(
      f,
      [length](auto order) {
        return
            [length](const std::vector<Floats>& in) { return linear<decltype(order)>(in, length); };
      },
      coarse);
  f.honest.push_back({"fused multiply-add",
                      [length](const std::vector<Floats>& in) { return linear_fma(in, length); }});
  add_common(f, low_bits);
  return f;
}

}  // namespace

float round_mantissa(float value, int bits) {
  auto shift = static_cast<unsigned>(23 - bits);
  std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7f800000U) == 0x7f800000U) return value;
  word += (1U << (shift - 1U)) - 1U + ((word >> shift) & 1U);
  return std::bit_cast<float>(word >> shift << shift);
}

std::vector<Family> families(const std::vector<int>& low_bits, bool coarse) {
  std::vector<Family> all = {sum_family(64, 1024, low_bits, coarse),
                             sum_family(40, 65536, low_bits, coarse),
                             column_family(low_bits, coarse),
                             softmax_family(64, 1000, low_bits, coarse),
                             softmax_family(6, 20000, low_bits, coarse),
                             log_softmax_family(low_bits, coarse),
                             layer_norm_family(64, 768, low_bits, coarse),
                             layer_norm_family(8, 8192, low_bits, coarse),
                             row_norm_family(low_bits, coarse),
                             linear_family(48, 512, 64, low_bits, coarse),
                             linear_family(300, 96, 10, low_bits, coarse)};
  add_other_families(all, low_bits, coarse);
  return all;
}

}  // namespace kw::gym::testing
