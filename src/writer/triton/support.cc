#include "writer/triton/support.h"

#include <map>

#include "base/check.h"

namespace kw::writer::triton {
namespace {

const std::map<std::string, const char*>& definitions() {
  static const std::map<std::string, const char*> all = {
      {"floor_div",
       "def floor_div(a, b):\n"
       "    # // of integers cuts towards 0.\n"
       "    return a // b - ((a % b != 0) & ((a < 0) != (b < 0))).to(a.dtype)\n"},
      {"integer_remainder",
       "def integer_remainder(a, b):\n"
       "    r = a % b\n"
       "    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)\n"},
      {"remainder",
       "def remainder(a, b):\n"
       "    r = libdevice.fmod(a, b)\n"
       "    return tl.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)\n"},
      {"integer_power",
       "def integer_power(base, exponent):\n"
       "    out = base * 0 + exponent * 0 + 1\n"
       "    power = base + exponent * 0\n"
       "    rest = exponent + base * 0\n"
       "    for _ in range(0, 63):\n"
       "        out = tl.where((rest & 1) != 0, out * power, out)\n"
       "        power = power * power\n"
       "        rest = rest >> 1\n"
       "    return out\n"},
      {"log_add_exp",
       "def log_add_exp(a, b):\n"
       "    high = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)\n"
       "    low = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)\n"
       "    return tl.where(low == high, high + 0.6931471805599453 * (low == "
       "high).to(high.dtype),\n"
       "                    high + tl.log(1.0 + tl.exp(low - high)))\n"},
      {"multiply", "def multiply(a, b):\n    return a * b\n"},
      {"larger", "def larger(a, b):\n    return tl.maximum(a, b)\n"},
      {"larger_or_nan",
       "def larger_or_nan(a, b):\n"
       "    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)\n"},
      {"smaller", "def smaller(a, b):\n    return tl.minimum(a, b)\n"},
      {"smaller_or_nan",
       "def smaller_or_nan(a, b):\n"
       "    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)\n"},
      {"max_with_nan",
       "def max_with_nan(x, axis: tl.constexpr, keep_dims: tl.constexpr):\n"
       "    # tl.max passes over NaN.\n"
       "    nan = tl.max((x != x).to(tl.int32), axis=axis, keep_dims=keep_dims)\n"
       "    largest = tl.max(tl.where(x != x, float(\"-inf\"), x), axis=axis, "
       "keep_dims=keep_dims)\n"
       "    return tl.where(nan != 0, float(\"nan\"), largest)\n"},
      {"min_with_nan",
       "def min_with_nan(x, axis: tl.constexpr, keep_dims: tl.constexpr):\n"
       "    # tl.min passes over NaN.\n"
       "    nan = tl.max((x != x).to(tl.int32), axis=axis, keep_dims=keep_dims)\n"
       "    smallest = tl.min(tl.where(x != x, float(\"inf\"), x), axis=axis, "
       "keep_dims=keep_dims)\n"
       "    return tl.where(nan != 0, float(\"nan\"), smallest)\n"},
      {"frexp_exponent",
       "def frexp_exponent(x):\n"
       "    scaled = tl.where(tl.abs(x) < 1.1754943508222875e-38, x * 16777216.0, x)\n"
       "    bits = scaled.to(tl.float32).to(tl.int32, bitcast=True)\n"
       "    exponent = ((bits >> 23) & 255) - 126\n"
       "    exponent = tl.where(tl.abs(x) < 1.1754943508222875e-38, exponent - 24, exponent)\n"
       "    return tl.where((x == 0.0) | (x != x) | (tl.abs(x) == float(\"inf\")), 0, exponent)\n"},
      {"frexp_fraction",
       "def frexp_fraction(x):\n"
       "    scaled = tl.where(tl.abs(x) < 1.1754943508222875e-38, x * 16777216.0, x)\n"
       "    bits = scaled.to(tl.float32).to(tl.int32, bitcast=True)\n"
       "    fraction = ((bits & -2139095041) | 1056964608).to(tl.float32, bitcast=True)\n"
       "    return tl.where((x == 0.0) | (x != x) | (tl.abs(x) == float(\"inf\")), x, fraction)\n"},
  };
  return all;
}

}  // namespace

std::string support_text(const std::set<std::string>& functions) {
  std::string out;
  for (const std::string& name : functions) {
    auto found = definitions().find(name);
    KW_CHECK(found != definitions().end());
    out += std::string("@triton.jit\n") + found->second + "\n\n";
  }
  return out;
}

}  // namespace kw::writer::triton
