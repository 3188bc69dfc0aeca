// Whole numbers by their bits.
#include <algorithm>

#include "writer/generate/operators.h"

namespace kw::writer::generate {
namespace {

using tensor::DType;
constexpr auto kWord = DType::kInt32;

bool is_words(const Value& x, const Limits&) {
  return x.dtype == kWord && !x.shape.empty();
}

ValueId right(Builder& b, ValueId x, std::int64_t by, const Dims& shape) {
  return b.call("bitwise_right_shift.Tensor_Scalar", {x, by}, shape, kWord);
}
ValueId left(Builder& b, ValueId x, std::int64_t by, const Dims& shape) {
  return b.call("bitwise_left_shift.Tensor_Scalar", {x, by}, shape, kWord);
}
ValueId exclusive_or(Builder& b, ValueId x, ValueId y, const Dims& shape) {
  return b.call("bitwise_xor.Tensor", {x, y}, shape, kWord);
}
// A shift to the right that brings in zeros: `by` of them.
ValueId logical_right(Builder& b, ValueId x, std::int64_t by, const Dims& shape) {
  const std::int64_t kept = (std::int64_t{1} << (32 - by)) - 1;
  return b.call("bitwise_and.Scalar", {right(b, x, by, shape), kept}, shape, kWord);
}
std::int64_t say_mask(Builder& b, std::int64_t by) {
  return b.whole("mask", (std::int64_t{1} << (32 - by)) - 1);
}

// One step of Marsaglia's generator
void xorshift(Builder& b) {
  struct Shifts {
    std::int64_t first, second, third;
  };
  const Dims shape = b.x().shape;
  const auto s = b.pick<Shifts>({{13, 17, 5}, {13, 17, 5}, {5, 9, 7}, {7, 1, 9}, {3, 1, 14}});
  b.whole("first", s.first);
  b.whole("second", s.second);
  b.whole("third", s.third);
  say_mask(b, s.second);
  ValueId x = b.x().id;
  x = exclusive_or(b, x, left(b, x, s.first, shape), shape);
  x = exclusive_or(b, x, logical_right(b, x, s.second, shape), shape);
  b.result(exclusive_or(b, x, left(b, x, s.third, shape), shape), shape);
}

void gray_code(Builder& b) {
  const Dims shape = b.x().shape;
  b.result(exclusive_or(b, b.x().id, logical_right(b, b.x().id, 1, shape), shape), shape);
}

void rotate_bits(Builder& b) {
  const Dims shape = b.x().shape;
  const std::int64_t by = b.whole("by", b.between(1, 31));
  b.whole("rest", 32 - by);
  say_mask(b, 32 - by);
  const ValueId low = logical_right(b, b.x().id, 32 - by, shape);
  const ValueId high = left(b, b.x().id, by, shape);
  b.result(b.call("bitwise_or.Tensor", {high, low}, shape, kWord), shape);
}

void xor_words(Builder& b) {
  const Dims shape = b.x().shape;
  const ValueId y = b.whole_numbers("key", shape, kWord, INT32_MIN, INT32_MAX).id;
  b.result(exclusive_or(b, b.x().id, y, shape), shape);
}

void popcount(Builder& b) {
  const Dims shape = b.x().shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  Dims one = shape, each = shape;
  one.push_back({1, 1});
  each.push_back({32, 32});
  const ValueId wide = b.call("unsqueeze.default", {b.x(), rank}, one, kWord);
  const ValueId places = b.call("arange.start_step", {0, 32, 1, kWord}, {Dim{32, 32}}, kWord);
  const ValueId moved = b.call("bitwise_right_shift.Tensor", {wide, places}, each, kWord);
  const ValueId bits = b.call("bitwise_and.Scalar", {moved, 1}, each, kWord);
  const ValueId sum =
      b.call("sum.dim_IntList", {bits, std::vector<IntExpr>{rank}, false}, shape, DType::kInt64);
  b.result(b.call("_to_copy.default", {sum, kWord}, shape, kWord), shape).range(0, 32);
}

// Eight booleans to a byte, the first in the lowest bit
void pack_bits(Builder& b) {
  const std::int64_t columns =
      b.size(1, std::clamp<std::int64_t>(b.limits.max_elements / 16, 1, 4096));
  const std::int64_t rows =
      b.size(2, std::clamp<std::int64_t>(b.limits.max_elements / (8 * columns), 2, 8192));
  const Dim bit = {8, 8};
  const Dims shape = {b.axis("rows", rows, false), b.axis("num_bytes", columns, false)};
  const Dims all = {shape[0], shape[1], bit};
  b.input(b.pick({"bits", "flags", "mask"}), all, Filling::kMask);
  const ValueId places = b.call("arange.start_step", {0, 8, 1, kWord}, {bit}, kWord);
  const ValueId powers = b.call("pow.Scalar", {2, places}, {bit}, kWord);
  const ValueId ones = b.call("_to_copy.default", {b.x(), kWord}, all, kWord);
  const ValueId weights = b.call("mul.Tensor", {ones, powers}, all, kWord);
  const ValueId sum =
      b.call("sum.dim_IntList", {weights, std::vector<IntExpr>{2}, false}, shape, DType::kInt64);
  b.result(b.call("_to_copy.default", {sum, DType::kUInt8}, shape, DType::kUInt8), shape);
}

OpSpec xorshift_operator() {
  return {
      .name = "xorshift",
      .weight = 1.5,
      .tier = 2,
      .domain = Domain::kWords,
      .fits = is_words,
      .build = xorshift,
      .words =
          "one step of a 32-bit xorshift generator (left {first}, logical right {second}, left "
          "{third})",
      .ways = {{"", R"({t:s} = {x} ^ ({x} << {first})
{t:s} = {t:s} ^ (({t:s} >> {second}) & {mask})
{t:s} ^ ({t:s} << {third}))"},
               {"", R"({t:state} = torch.bitwise_xor({x}, torch.bitwise_left_shift({x}, {first}))
{t:high} = torch.bitwise_and(torch.bitwise_right_shift({t:state}, {second}), {mask})
{t:state} = torch.bitwise_xor({t:state}, {t:high})
torch.bitwise_xor({t:state}, torch.bitwise_left_shift({t:state}, {third})))"},
               {"", R"({t:w} = {x}.bitwise_xor({x}.bitwise_left_shift({first}))
{t:w} = {t:w}.bitwise_xor({t:w}.bitwise_right_shift({second}).bitwise_and({mask}))
{t:w}.bitwise_xor({t:w}.bitwise_left_shift({third})))"},
               {"", R"({t:wide} = {x}.to(torch.int64) & 0xFFFFFFFF
{t:wide} = ({t:wide} ^ ({t:wide} << {first})) & 0xFFFFFFFF
{t:wide} = {t:wide} ^ ({t:wide} >> {second})
{t:wide} = ({t:wide} ^ ({t:wide} << {third})) & 0xFFFFFFFF
{t:wide}.to(torch.int32))"},
               {"", R"({t:a} = {x} ^ torch.mul({x}, 1 << {first})
{t:b} = {t:a} ^ (torch.div({t:a}, 1 << {second}, rounding_mode="floor") & {mask})
{t:b} ^ torch.mul({t:b}, 1 << {third}))"}}};
}

OpSpec gray_code_operator() {
  return {.name = "gray_code",
          .domain = Domain::kWords,
          .fits = is_words,
          .build = gray_code,
          .words = "the Gray code of 32-bit words",
          .ways = {{"", "{x} ^ (({x} >> 1) & 0x7FFFFFFF)"},
                   {"",
                    "torch.bitwise_xor({x}, torch.bitwise_and(torch.bitwise_right_shift({x}, 1), "
                    "0x7FFFFFFF))"},
                   {"", "{x}.bitwise_xor({x}.bitwise_right_shift(1).bitwise_and(2 ** 31 - 1))"},
                   {"", R"({t:half} = {x} >> 1
{t:half} = torch.where({x} < 0, {t:half} - (-2 ** 31), {t:half})
{x} ^ {t:half})"},
                   {"", R"({t:wide} = {x}.long() & 0xFFFFFFFF
({t:wide} ^ ({t:wide} >> 1)).to(torch.int32))"}}};
}

OpSpec rotate_bits_operator() {
  return {.name = "rotate_bits",
          .domain = Domain::kWords,
          .fits = is_words,
          .build = rotate_bits,
          .words = "rotating 32-bit words to the left by {by} bits",
          .ways = {{"", "({x} << {by}) | (({x} >> {rest}) & {mask})"},
                   {"", "torch.bitwise_or({x} << {by}, torch.bitwise_and({x} >> {rest}, {mask}))"},
                   {"", R"({t:high} = torch.bitwise_left_shift({x}, {by})
{t:low} = torch.bitwise_right_shift({x}, {rest}) & {mask}
{t:high} + {t:low})"},
                   {"", "({x} << {by}) ^ ({x}.bitwise_right_shift({rest}).bitwise_and({mask}))"},
                   {"", R"({t:wide} = {x}.to(torch.int64) & 0xFFFFFFFF
{t:turned} = (({t:wide} << {by}) | ({t:wide} >> {rest})) & 0xFFFFFFFF
{t:turned}.to(torch.int32))"}}};
}

OpSpec xor_words_operator() {
  return {.name = "xor_words",
          .weight = 0.7,
          .domain = Domain::kWords,
          .fits = is_words,
          .build = xor_words,
          .words = "the exclusive or of the bits of two tensors,",
          .ways = {{"", "{x} ^ {y}"},
                   {"", "torch.bitwise_xor({x}, {y})"},
                   {"", "{y}.bitwise_xor({x})"},
                   {"", "({x} | {y}) - ({x} & {y})"},
                   {"", "({x} & ~{y}) | (~{x} & {y})"}}};
}

OpSpec popcount_operator() {
  return {
      .name = "popcount",
      .tier = 2,
      .domain = Domain::kWords,
      .fits = is_words,
      .build = popcount,
      .words = "the number of one bits of each 32-bit word",
      .ways = {
          {"",
           "(({x}.unsqueeze(-1) >> torch.arange(32, dtype=torch.int32)) & "
           "1).sum(-1).to(torch.int32)"},
          {"",
           "torch.bitwise_and(torch.bitwise_right_shift({x}[..., None], torch.arange(32, "
           "dtype=torch.int32)), 1).sum(dim=-1, dtype=torch.int32)"},
          {"", R"({t:count} = torch.zeros_like({x})
for {t:bit} in range(32):
    {t:count} = {t:count} + (({x} >> {t:bit}) & 1)
{t:count})"},
          {"",
           "torch.stack([({x} >> {t:i}) & 1 for {t:i} in range(32)]).sum(dim=0).to(torch.int32)"},
          {"", R"({t:v} = {x}.long() & 0xFFFFFFFF
{t:v} = {t:v} - (({t:v} >> 1) & 0x55555555)
{t:v} = ({t:v} & 0x33333333) + (({t:v} >> 2) & 0x33333333)
{t:v} = ({t:v} + ({t:v} >> 4)) & 0x0F0F0F0F
((({t:v} * 0x01010101) >> 24) & 0xFF).to(torch.int32))"}}};
}

OpSpec pack_bits_operator() {
  return {
      .name = "pack_bits",
      .tier = 2,
      .domain = Domain::kNone,
      .build = pack_bits,
      .words = "packing eight booleans into a byte, the first in the lowest bit,",
      .ways = {
          {"", R"({t:powers} = 2 ** torch.arange(8, dtype=torch.int32)
({x}.to(torch.int32) * {t:powers}).sum(dim=-1).to(torch.uint8))"},
          {"",
           "({x}.to(torch.int32) << torch.arange(8, dtype=torch.int32)).sum(-1).to(torch.uint8)"},
          {"", R"({t:packed} = {x}[..., 0].to(torch.uint8)
for {t:i} in range(1, 8):
    {t:packed} = {t:packed} | ({x}[..., {t:i}].to(torch.uint8) << {t:i})
{t:packed})"},
          {"",
           "torch.where({x}, 2 ** torch.arange(8, dtype=torch.int32), "
           "0).sum(dim=-1).to(torch.uint8)"},
          {"",
           "torch.stack([{x}[..., {t:k}].int() * 2 ** {t:k} for {t:k} in "
           "range(8)]).sum(0).to(torch.uint8)"}}};
}

}  // namespace

std::vector<OpSpec> bit_operators() {
  return {xorshift_operator(),  gray_code_operator(), rotate_bits_operator(),
          xor_words_operator(), popcount_operator(),  pack_bits_operator()};
}

}  // namespace kw::writer::generate
