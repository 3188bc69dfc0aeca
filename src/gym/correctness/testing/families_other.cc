// Convolution, scans, losses and elementwise functions.
#include "gym/correctness/testing/variants.h"

namespace kw::gym::testing {
namespace {

Family convolution_family(const std::vector<int>& low_bits, bool coarse) {
  Family f;
  f.name = "convolution";
  f.shapes = {{8, 22, 22}, {12, 8, 3, 3}};
  f.output = {12, 20, 20};
  f.reduction_length = 72;
  f.inputs = {{"normal", {kNormal, kNormal}},
              {"wide", {kWide, kWide}},
              {"spikes", {kSpikes, kNormal}},
              {"one hot", {kNormal, kOneHot}}};
  f.exact = [](const std::vector<Doubles>& in) { return convolution<Pairwise>(in, 8, 22); };
  f.trusted = [](const std::vector<Floats>& in) { return convolution<Lanes<8>>(in, 8, 22); };
  add_orders(
      f,
      [](auto order) {
        return
            [](const std::vector<Floats>& in) { return convolution<decltype(order)>(in, 8, 22); };
      },
      coarse);
  add_common(f, low_bits);
  return f;
}

Family scan_family(std::int64_t rows, std::int64_t columns, const std::vector<int>& low_bits,
                   bool coarse) {
  Family f = rows_family("cumulative sum", rows, columns, false);
  auto n = static_cast<std::size_t>(columns);
  f.inputs = {
      {"normal", {kNormal}}, {"positive", {kPositive}}, {"spikes", {kSpikes}}, {"whole", {kWhole}}};
  f.exact = [n](const std::vector<Doubles>& in) { return scan(in, n); };
  f.trusted = [n](const std::vector<Floats>& in) { return scan_in_double(in, n); };
  f.honest = {{"sequential", [n](const std::vector<Floats>& in) { return scan(in, n); }},
              {"blocked", [n](const std::vector<Floats>& in) { return blocked_scan(in, n); }}};
  f.dishonest = {
      {"starts again every 512", [](const std::vector<Floats>& in) { return scan(in, 512); }}};
  if (!coarse) {
    f.dishonest.push_back({"exclusive", [n](const std::vector<Floats>& in) {
                             Floats out = scan(in, n);
                             for (std::size_t i = 0; i < out.size(); ++i) out[i] -= in[0][i];
                             return out;
                           }});
    f.dishonest.push_back({"kept in bfloat16", [n](const std::vector<Floats>& in) {
                             Floats out = in[0];
                             for (std::size_t i = 1; i < out.size(); ++i) {
                               if (i % n != 0) out[i] = round_mantissa(out[i] + out[i - 1], 7);
                             }
                             return out;
                           }});
  }
  add_common(f, low_bits);
  return f;
}

Family loss_family(const std::vector<int>& low_bits, bool coarse) {
  Family f;
  f.name = "mean squared error";
  f.shapes = {{256, 256}, {256, 256}};
  f.reduction_length = 65536;
  f.inputs = {{"normal", {kNormal, kNormal}}, {"spikes", {kSpikes, kNormal}}};
  f.exact = [](const std::vector<Doubles>& in) { return mse<Pairwise>(in); };
  f.trusted = [](const std::vector<Floats>& in) { return mse<Lanes<32>>(in); };
  add_orders(
      f,
      [](auto order) {
        return [](const std::vector<Floats>& in) { return mse<decltype(order)>(in); };
      },
      coarse);
  std::erase_if(f.dishonest, [](const Variant& v) {
    return v.name == "last term missing";
  });  // one of 65536 terms: within rounding
  // A mean over 65536 terms, rounded to 16 bits, shows no rounding of its inputs.
  add_common(f, coarse ? std::vector<int>{} : low_bits);
  return f;
}

Family divergence_family(const std::vector<int>& low_bits, bool coarse) {
  Family f = rows_family("KL divergence", 64, 800, true);
  f.shapes = {{64, 800}, {64, 800}};
  f.inputs = {{"normal", {kNormal, kChances}}, {"wide", {kWide, kChances}}};
  f.exact = [](const std::vector<Doubles>& in) {
    return kl_divergence<Pairwise, LibraryExp>(in, 800);
  };
  f.trusted = [](const std::vector<Floats>& in) {
    return kl_divergence<Lanes<8>, LibraryExp>(in, 800);
  };
  f.honest = {
      {"sequential",
       [](const std::vector<Floats>& in) {
         return kl_divergence<Sequential, LibraryExp>(in, 800);
       }},
      {"approximated exp",
       [](const std::vector<Floats>& in) { return kl_divergence<Lanes<16>, FastExp>(in, 800); }},
      {"in double",
       [](const std::vector<Floats>& in) { return kl_divergence<InDouble, LibraryExp>(in, 800); }}};
  if (!coarse)
    f.dishonest = {{"one term of 64 skipped", [](const std::vector<Floats>& in) {
                      return kl_divergence<SkipOneOf64, LibraryExp>(in, 800);
                    }}};
  add_common(f, low_bits);
  return f;
}

template <typename Right, typename Exact>
Family map_family(const char* name, Right right, Exact exact, const std::vector<int>& low_bits) {
  Family f = rows_family(
      name, 40, 1200, false);  // a caller's guess of 1200 terms, which the perturbed runs correct
  f.inputs = {{"normal", {kNormal}}, {"wide", {{Distribution::kWideRange, -6.0, 4.0}}}};
  f.exact = [exact](const std::vector<Doubles>& in) { return map(in[0], exact); };
  f.trusted = [right](const std::vector<Floats>& in) { return map(in[0], right); };
  add_common(f, low_bits);
  return f;
}

void add_elementwise(std::vector<Family>& all, const std::vector<int>& low_bits, bool coarse) {
  Family g = map_family(
      "gelu", [](float x) { return gelu(x); }, [](double x) { return gelu(x); }, low_bits);
  g.honest = {{"by erfc", [](const std::vector<Floats>& in) { return map(in[0], gelu_by_erfc); }}};
  g.dishonest.push_back({"zero below -2", [](const std::vector<Floats>& in) {
                           return map(in[0], [](float x) { return x < -2 ? 0.0F : gelu(x); });
                         }});
  if (!coarse)
    g.dishonest.push_back(
        {"tanh formula", [](const std::vector<Floats>& in) { return map(in[0], gelu_by_tanh); }});
  all.push_back(g);
  Family s = map_family(
      "silu", [](float x) { return silu(x); }, [](double x) { return silu(x); }, low_bits);
  s.honest = {
      {"approximated exp", [](const std::vector<Floats>& in) { return map(in[0], silu_fast); }}};
  all.push_back(s);
  Family e = map_family(
      "exp", [](float x) { return std::exp(x); }, [](double x) { return std::exp(x); }, low_bits);
  e.inputs = {{"normal", {kNormal}}, {"overflowing", {{Distribution::kNormal, 0.0, 60.0}}}};
  e.honest = {{"by double", [](const std::vector<Floats>& in) {
                 return map(in[0], [](float x) {
                   return static_cast<float>(std::exp(static_cast<double>(x)));
                 });
               }}};
  // Up to 80: past float16's end.
  if (!coarse)
    e.dishonest.push_back({"clamped", [](const std::vector<Floats>& in) {
                             return map(in[0],
                                        [](float x) { return std::exp(std::min(x, 80.0F)); });
                           }});
  all.push_back(e);
  Family r = map_family(
      "relu", [](float x) { return std::max(x, 0.0F); }, [](double x) { return std::max(x, 0.0); },
      low_bits);
  r.honest = {{"by select", [](const std::vector<Floats>& in) {
                 return map(in[0], [](float x) { return x > 0 ? x : 0.0F; });
               }}};
  r.dishonest.push_back({"leaky", [](const std::vector<Floats>& in) {
                           return map(in[0], [](float x) { return x > 0 ? x : 0.01F * x; });
                         }});
  all.push_back(r);
  Family t = map_family(
      "tangent", [](float x) { return std::tan(x); }, [](double x) { return std::tan(x); },
      low_bits);
  t.honest = {{"sine over cosine", [](const std::vector<Floats>& in) {
                 return map(in[0], [](float x) { return std::sin(x) / std::cos(x); });
               }}};
  // Next to a pole 16 bits say little: a single missing element hides in the row's budget.
  if (coarse)
    std::erase_if(t.dishonest, [](const Variant& v) { return v.name == "last element missing"; });
  all.push_back(t);
}

}  // namespace

void add_other_families(std::vector<Family>& all, const std::vector<int>& low_bits, bool coarse) {
  all.push_back(convolution_family(low_bits, coarse));
  all.push_back(scan_family(16, 4096, low_bits, coarse));
  all.push_back(scan_family(1, 65536, low_bits, coarse));
  all.push_back(loss_family(low_bits, coarse));
  all.push_back(divergence_family(low_bits, coarse));
  add_elementwise(all, low_bits, coarse);
}

}  // namespace kw::gym::testing
