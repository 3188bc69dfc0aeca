// Softmax, norms, sums, products, scans, losses, pooling, convolution and elementwise functions,
// each templated on its arithmetic.
#include "gym/check/testing/families.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace kw::gym::testing {
namespace {

using task::Distribution;
using task::InputPolicy;

const InputPolicy kNormal{};
const InputPolicy kOffset{Distribution::kNormal, 3.0, 1.0};
const InputPolicy kPositive{Distribution::kUniform, {}, {}};
const InputPolicy kSpikes{Distribution::kSpikes, {}, {}};
const InputPolicy kOneHot{Distribution::kOneHot, {}, {}};
const InputPolicy kWide{Distribution::kWideRange, {}, {}};
const InputPolicy kWhole{Distribution::kIntegers, {}, {}};
const InputPolicy kChances{Distribution::kProbabilities, {}, {}};

// ---- orders of summation: term(i) for i in [0, n) ----
struct Sequential {
  template <typename T, typename Term>
  static T sum(std::size_t n, Term term) {
    T s = 0;
    for (std::size_t i = 0; i < n; ++i) s += term(i);
    return s;
  }
};

template <std::size_t lanes>
struct Lanes {
  template <typename T, typename Term>
  static T sum(std::size_t n, Term term) {
    T s[lanes] = {};
    for (std::size_t i = 0; i < n; ++i) s[i % lanes] += term(i);
    T all = 0;
    for (T part : s) all += part;
    return all;
  }
};

struct Pairwise {
  template <typename T, typename Term>
  static T sum(std::size_t n, Term term) {
    return range<T>(0, n, term);
  }
  template <typename T, typename Term>
  static T range(std::size_t begin, std::size_t end, Term term) {
    if (end - begin <= 16) {
      T s = 0;
      for (std::size_t i = begin; i < end; ++i) s += term(i);
      return s;
    }
    std::size_t middle = begin + (end - begin) / 2;
    return range<T>(begin, middle, term) + range<T>(middle, end, term);
  }
};

struct Kahan {
  template <typename T, typename Term>
  static T sum(std::size_t n, Term term) {
    volatile T s = 0, c = 0;
    for (std::size_t i = 0; i < n; ++i) {
      volatile T y = term(i) - c;
      volatile T t = s + y;
      c = (t - s) - y;
      s = t;
    }
    return s;
  }
};

struct InDouble {
  template <typename T, typename Term>
  static T sum(std::size_t n, Term term) {
    double s = 0;
    for (std::size_t i = 0; i < n; ++i) s += static_cast<double>(term(i));
    return static_cast<T>(s);
  }
};

// Adds in a narrow dtype.
template <int bits>
struct Narrow {
  template <typename T, typename Term>
  static T sum(std::size_t n, Term term) {
    float s = 0;
    for (std::size_t i = 0; i < n; ++i) s = round_mantissa(s + static_cast<float>(term(i)), bits);
    return static_cast<T>(s);
  }
};

// Leaves out the last sixteenth.
struct NoTail {
  template <typename T, typename Term>
  static T sum(std::size_t n, Term term) {
    return Sequential::sum<T>(n - n / 16, term);
  }
};

struct SkipOneOf64 {
  template <typename T, typename Term>
  static T sum(std::size_t n, Term term) {
    return Sequential::sum<T>(n, [&](std::size_t i) { return i % 64 == 17 ? T(0) : term(i); });
  }
};

struct OffByOne {
  template <typename T, typename Term>
  static T sum(std::size_t n, Term term) {
    return Sequential::sum<T>(n - 1, term);
  }
};

// exp with a polynomial of degree 6 after range reduction: about 2 units in the last place.
float fast_exp(float x) {
  if (x < -87.0F) return 0;
  float n = std::nearbyint(x * 1.44269504F);
  float r = std::fma(n, -0.693145752F, x);
  r = std::fma(n, -1.42860677e-6F, r);
  float p = 1.0F / 720;
  for (float c : {1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F}) p = std::fma(p, r, c);
  return std::ldexp(p, static_cast<int>(n));
}

struct LibraryExp {
  template <typename T>
  static T exp(T x) {
    return std::exp(x);
  }
};
struct FastExp {
  template <typename T>
  static T exp(T x) {
    return fast_exp(x);
  }
};

template <typename T>
using Values = std::vector<T>;
template <typename T>
using Arguments = std::vector<Values<T>>;

template <typename T>
std::span<const T> row_of(const Values<T>& x, std::size_t row, std::size_t columns) {
  return std::span(x).subspan(row * columns, columns);
}

// ---- families; T: float or double ----
template <typename Order, typename T>
Values<T> row_sum(const Arguments<T>& in, std::size_t columns) {
  Values<T> out;
  for (std::size_t r = 0; r * columns < in[0].size(); ++r) {
    auto x = row_of(in[0], r, columns);
    out.push_back(Order::template sum<T>(columns, [&](std::size_t i) { return x[i]; }));
  }
  return out;
}

template <typename Order, typename T>
Values<T> column_mean(const Arguments<T>& in, std::size_t columns) {
  std::size_t rows = in[0].size() / columns;
  Values<T> out;
  for (std::size_t c = 0; c < columns; ++c) {
    out.push_back(
        Order::template sum<T>(rows, [&](std::size_t i) { return in[0][i * columns + c]; }) /
        static_cast<T>(rows));
  }
  return out;
}

template <typename Order, typename T>
Values<T> row_norm(const Arguments<T>& in, std::size_t columns) {
  Values<T> out;
  for (std::size_t r = 0; r * columns < in[0].size(); ++r) {
    auto x = row_of(in[0], r, columns);
    T norm = std::sqrt(Order::template sum<T>(columns, [&](std::size_t i) { return x[i] * x[i]; }));
    for (T v : x) out.push_back(v / norm);
  }
  return out;
}

template <typename Order, typename Exp, typename T>
Values<T> softmax(const Arguments<T>& in, std::size_t columns, bool subtract = true) {
  Values<T> out;
  for (std::size_t r = 0; r * columns < in[0].size(); ++r) {
    auto x = row_of(in[0], r, columns);
    T most = subtract ? *std::max_element(x.begin(), x.end()) : T(0);
    Values<T> e;
    for (T v : x) e.push_back(Exp::exp(v - most));
    T scale = T(1) / Order::template sum<T>(columns, [&](std::size_t i) { return e[i]; });
    for (T v : e) out.push_back(v * scale);
  }
  return out;
}

template <typename Order, typename Exp, typename T>
Values<T> log_softmax(const Arguments<T>& in, std::size_t columns) {
  Values<T> out;
  for (std::size_t r = 0; r * columns < in[0].size(); ++r) {
    auto x = row_of(in[0], r, columns);
    T most = *std::max_element(x.begin(), x.end());
    T total = std::log(
        Order::template sum<T>(columns, [&](std::size_t i) { return Exp::exp(x[i] - most); }));
    for (T v : x) out.push_back(v - most - total);
  }
  return out;
}

template <typename Order, typename T>
Values<T> layer_norm(const Arguments<T>& in, std::size_t columns, double epsilon = 1e-5,
                     std::size_t divisor_less = 0) {
  Values<T> out;
  auto n = static_cast<T>(columns);
  for (std::size_t r = 0; r * columns < in[0].size(); ++r) {
    auto x = row_of(in[0], r, columns);
    T mean = Order::template sum<T>(columns, [&](std::size_t i) { return x[i]; }) / n;
    T variance = Order::template sum<T>(
                     columns, [&](std::size_t i) { return (x[i] - mean) * (x[i] - mean); }) /
                 static_cast<T>(columns - divisor_less);
    T scale = T(1) / std::sqrt(variance + static_cast<T>(epsilon));
    for (std::size_t i = 0; i < columns; ++i)
      out.push_back((x[i] - mean) * scale * in[1][i] + in[2][i]);
  }
  return out;
}

Floats welford_norm(const std::vector<Floats>& in, std::size_t columns) {
  Floats out;
  for (std::size_t r = 0; r * columns < in[0].size(); ++r) {
    auto x = row_of(in[0], r, columns);
    float mean = 0, square = 0, n = 0;
    for (float v : x) {
      n += 1;
      float d = v - mean;
      mean += d / n;
      square += d * (v - mean);
    }
    float scale = 1.0F / std::sqrt(square / n + 1e-5F);
    for (std::size_t i = 0; i < columns; ++i)
      out.push_back((x[i] - mean) * scale * in[1][i] + in[2][i]);
  }
  return out;
}

// [m, k] x [n, k] transposed -> [m, n]
template <typename Order, typename T>
Values<T> linear(const Arguments<T>& in, std::size_t k) {
  Values<T> out;
  std::size_t m = in[0].size() / k, n = in[1].size() / k;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const T* a = in[0].data() + i * k;
      const T* b = in[1].data() + j * k;
      out.push_back(Order::template sum<T>(k, [&](std::size_t p) { return a[p] * b[p]; }));
    }
  }
  return out;
}

Floats linear_fma(const std::vector<Floats>& in, std::size_t k) {
  Floats out;
  for (std::size_t i = 0; i * k < in[0].size(); ++i) {
    for (std::size_t j = 0; j * k < in[1].size(); ++j) {
      float s = 0;
      for (std::size_t p = 0; p < k; ++p) s = std::fma(in[0][i * k + p], in[1][j * k + p], s);
      out.push_back(s);
    }
  }
  return out;
}

// [c, h, h] with [o, c, 3, 3], no padding -> [o, h - 2, h - 2]
template <typename Order, typename T>
Values<T> convolution(const Arguments<T>& in, std::size_t channels, std::size_t h) {
  Values<T> out;
  std::size_t filters = in[1].size() / (channels * 9);
  for (std::size_t o = 0; o < filters; ++o) {
    for (std::size_t y = 0; y + 2 < h; ++y) {
      for (std::size_t x = 0; x + 2 < h; ++x) {
        out.push_back(Order::template sum<T>(channels * 9, [&](std::size_t p) {
          std::size_t c = p / 9, dy = p % 9 / 3, dx = p % 3;
          return in[0][(c * h + y + dy) * h + x + dx] * in[1][o * channels * 9 + p];
        }));
      }
    }
  }
  return out;
}

template <typename T>
Values<T> scan(const Arguments<T>& in, std::size_t columns) {
  Values<T> out;
  for (std::size_t i = 0; i < in[0].size(); ++i)
    out.push_back(i % columns == 0 ? in[0][i] : out[i - 1] + in[0][i]);
  return out;
}

Floats blocked_scan(const std::vector<Floats>& in, std::size_t columns) {
  Floats out;
  float carry = 0, local = 0;
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    if (i % columns == 0) carry = local = 0;
    if (i % columns % 128 == 0) carry += local, local = 0;
    local += in[0][i];
    out.push_back(carry + local);
  }
  return out;
}

Floats scan_in_double(const std::vector<Floats>& in, std::size_t columns) {
  Floats out;
  double sum = 0;
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    sum = (i % columns == 0 ? 0 : sum) + static_cast<double>(in[0][i]);
    out.push_back(static_cast<float>(sum));
  }
  return out;
}

template <typename Order, typename T>
Values<T> mse(const Arguments<T>& in) {
  T sum = Order::template sum<T>(
      in[0].size(), [&](std::size_t i) { return (in[0][i] - in[1][i]) * (in[0][i] - in[1][i]); });
  return {sum / static_cast<T>(in[0].size())};
}

template <typename Order, typename Exp, typename T>
Values<T> kl_divergence(const Arguments<T>& in, std::size_t columns) {
  Values<T> rows;
  Values<T> logs = log_softmax<Order, Exp, T>({in[0]}, columns);
  for (std::size_t r = 0; r * columns < in[0].size(); ++r) {
    rows.push_back(Order::template sum<T>(columns, [&](std::size_t i) {
      T p = in[1][r * columns + i];
      return p * (std::log(p) - logs[r * columns + i]);
    }));
  }
  return rows;
}

template <typename Function, typename T>
Values<T> map(const Values<T>& x, Function f) {
  Values<T> out;
  for (T v : x) out.push_back(f(v));
  return out;
}

template <typename T>
T gelu(T x) {
  return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752)));
}
float gelu_by_erfc(float x) {
  return 0.5F * x * std::erfc(-x * 0.707106781F);
}
float gelu_by_tanh(float x) {
  return 0.5F * x * (1.0F + std::tanh(0.797884561F * (x + 0.044715F * x * x * x)));
}
template <typename T>
T silu(T x) {
  return x / (T(1) + std::exp(-x));
}
float silu_fast(float x) {
  return x * (1.0F / (1.0F + fast_exp(std::min(-x, 87.0F))));
}

// ---- variants ----
Variant low_inputs(const Variant& right, int bits) {
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

// What every problem has: no output at all, half of it, the tail missing, a neighbour's value,
// lower precision.
void add_common(Family& family, const std::vector<int>& low_bits) {
  Variant right{"right", family.trusted};
  auto changed = [&](const char* name, auto change) {
    family.dishonest.push_back({name, [right, change](const std::vector<Floats>& in) {
                                  Floats out = right.run(in);
                                  change(out);
                                  return out;
                                }});
  };
  changed("zeros", [](Floats& out) { std::ranges::fill(out, 0.0F); });
  changed("one percent too large", [](Floats& out) {
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
  family.dishonest.push_back({"one term of 64 skipped", make(SkipOneOf64{})});
  if (coarse) return;
  family.dishonest.push_back({"last term missing", make(OffByOne{})});
  family.dishonest.push_back({"sum kept in bfloat16", make(Narrow<7>{})});
  family.dishonest.push_back({"sum kept in float16", make(Narrow<10>{})});
}

Family rows_family(const char* name, std::int64_t rows, std::int64_t columns, bool reduced) {
  Family family;
  family.name = std::string(name) + " " + std::to_string(rows) + "x" + std::to_string(columns);
  family.shapes = {{rows, columns}};
  family.output = reduced ? Shape{rows} : Shape{rows, columns};
  family.reduction_length = columns;
  return family;
}

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
  add_common(f, low_bits);
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
  e.dishonest.push_back({"clamped", [](const std::vector<Floats>& in) {
                           return map(in[0], [](float x) { return std::exp(std::min(x, 80.0F)); });
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
  all.push_back(t);
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
                             linear_family(300, 96, 10, low_bits, coarse),
                             convolution_family(low_bits, coarse),
                             scan_family(16, 4096, low_bits, coarse),
                             scan_family(1, 65536, low_bits, coarse),
                             loss_family(low_bits, coarse),
                             divergence_family(low_bits, coarse)};
  add_elementwise(all, low_bits, coarse);
  return all;
}

}  // namespace kw::gym::testing
