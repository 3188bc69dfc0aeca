// Kernels templated on their order of summation and arithmetic, for families.cc.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>

#include "gym/correctness/testing/families.h"

namespace kw::gym::testing {

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
inline float fast_exp(float x) {
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

inline Floats welford_norm(const std::vector<Floats>& in, std::size_t columns) {
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

inline Floats linear_fma(const std::vector<Floats>& in, std::size_t k) {
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

inline Floats blocked_scan(const std::vector<Floats>& in, std::size_t columns) {
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

inline Floats scan_in_double(const std::vector<Floats>& in, std::size_t columns) {
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
inline float gelu_by_erfc(float x) {
  return 0.5F * x * std::erfc(-x * 0.707106781F);
}
inline float gelu_by_tanh(float x) {
  return 0.5F * x * (1.0F + std::tanh(0.797884561F * (x + 0.044715F * x * x * x)));
}
template <typename T>
T silu(T x) {
  return x / (T(1) + std::exp(-x));
}
inline float silu_fast(float x) {
  return x * (1.0F / (1.0F + fast_exp(std::min(-x, 87.0F))));
}

}  // namespace kw::gym::testing
