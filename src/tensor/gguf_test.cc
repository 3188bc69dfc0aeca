// GGUF files made here, good and hostile, and blocks worked by hand. tests/lm/gguf_test.py compares
// each type with transformers and the gguf package.
#include "tensor/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/values.h"
#include "tensor/testing/gguf_builder.h"

namespace kw::tensor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<float>;

Values dequantised(GgufType type, std::string block) {
  const GgufBlock& known = *gguf_block(static_cast<std::uint32_t>(type));
  block.resize(known.bytes, '\0');
  Values out(known.values);
  dequantise(type, file_bytes(block), out);
  return out;
}

constexpr const char* kOne = "\x00\x3C";   // 1 as float16
constexpr const char* kHalf = "\x00\x38";  // 0.5

std::string half_of(const char* bytes) {
  return {bytes, 2};
}

TEST(GgufBlocks, SmallBlocks) {
  Values q4_0 = dequantised(GgufType::kQ4_0, half_of(kHalf) + "\xF1");
  EXPECT_EQ(q4_0[0], 0.5F * (1 - 8));
  EXPECT_EQ(q4_0[16], 0.5F * (15 - 8));
  EXPECT_EQ(q4_0[1], 0.5F * -8);
  Values q4_1 = dequantised(GgufType::kQ4_1, half_of(kHalf) + half_of(kOne) + "\xF1");
  EXPECT_EQ(q4_1[0], 1.5F);
  EXPECT_EQ(q4_1[16], 8.5F);
  // The fifth bits of values 0 and 17.
  std::string high = {"\x01\x00\x02\x00", 4};
  Values q5_0 = dequantised(GgufType::kQ5_0, half_of(kOne) + high + "\x21\x30");
  EXPECT_EQ(q5_0[0], 1 + 16 - 16);
  EXPECT_EQ(q5_0[16], 2 - 16);
  EXPECT_EQ(q5_0[17], 3 + 16 - 16);
  Values q5_1 = dequantised(GgufType::kQ5_1, half_of(kOne) + half_of(kHalf) + high + "\x21\x30");
  EXPECT_EQ(q5_1[0], 17.5F);
  EXPECT_EQ(q5_1[17], 19.5F);
  Values q8_0 = dequantised(GgufType::kQ8_0, half_of(kHalf) + "\x02\xFF");
  EXPECT_EQ(q8_0[0], 1);
  EXPECT_EQ(q8_0[1], -0.5F);
}

TEST(GgufBlocks, BlocksOf256) {
  // Scales: group 0 has 2 (its minimum 3), group 7 has 1 + 16 (its minimum 2 + 32).
  std::string scales(12, '\0');
  scales[0] = 2;
  scales[4] = 3;
  scales[3] = static_cast<char>(1 << 6);
  scales[7] = static_cast<char>(2 << 6);
  scales[11] = static_cast<char>(0x21);
  std::string head = half_of(kOne) + half_of(kHalf) + scales;
  Values q4 = dequantised(GgufType::kQ4_K, head + "\x05");
  EXPECT_EQ(q4[0], 2 * 5 - 0.5F * 3);
  EXPECT_EQ(q4[224], -0.5F * 34);
  std::string high(32, '\0');
  high[0] = static_cast<char>(0x81);
  Values q5 = dequantised(GgufType::kQ5_K, head + high + "\x05");
  EXPECT_EQ(q5[0], 2 * (5 + 16) - 0.5F * 3);
  EXPECT_EQ(q5[224], 17 * 16 - 0.5F * 34);
  std::string q6(210, '\0');
  q6[0] = static_cast<char>(0x5F);
  q6[128] = static_cast<char>(0x12);  // bits 4 and 5 of values 0 (2) and 64 (1)
  q6[192] = 3;
  q6[196] = static_cast<char>(-1);
  q6[208] = kOne[0];
  q6[209] = kOne[1];
  Values six = dequantised(GgufType::kQ6_K, q6);
  EXPECT_EQ(six[0], 3 * (15 + 32 - 32));
  EXPECT_EQ(six[64], -1 * (5 + 16 - 32));
}

TEST(Gguf, ReadsMetadataAndTensors) {
  GgufBuilder builder;
  builder.key("a.number", 7U);
  builder.key("a.epsilon", 1e-5F);
  builder.key("a.words", std::vector<std::string>{"x", "\u00E9"});
  builder.key("a.flag", 7, std::string(1, '\1'));
  builder.tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  builder.tensor("b", {32}, GgufType::kQ8_0, half_of(kOne) + std::string(32, '\2'));
  for (std::uint32_t version : {2U, 3U}) {
    const std::string file = builder.file(version);
    auto read = parse_gguf(file_bytes(file));
    ASSERT_TRUE(read) << message_of(read);
    EXPECT_EQ(read->metadata["a.number"], 7);
    EXPECT_EQ(read->metadata["a.epsilon"].get<double>(), static_cast<double>(1e-5F));
    EXPECT_EQ(read->metadata["a.words"], Json({"x", "\u00E9"}));
    EXPECT_EQ(read->metadata["a.flag"], true);
    const GgufTensor* w = read->find("w");
    ASSERT_NE(w, nullptr);
    EXPECT_THAT(w->shape, ElementsAre(2, 3));
    Values row(3);
    dequantise_row(*w, 1, row);
    EXPECT_THAT(row, ElementsAre(4, 5, 6));
    Values b(32);
    dequantise_row(*read->find("b"), 0, b);
    EXPECT_EQ(b[31], 2);
    EXPECT_EQ(read->find("c"), nullptr);
  }
}

TEST(Gguf, TrustsNoLength) {
  auto problem = [](const std::string& file) { return message_of(parse_gguf(file_bytes(file))); };
  auto with = [&](auto change) {
    GgufBuilder builder;
    change(builder);
    return problem(builder.file());
  };
  const std::string good = [] {
    GgufBuilder builder;
    builder.key("k", std::vector<std::string>{"x"});
    builder.tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6});
    return builder.file();
  }();
  // A file that is cut anywhere is refused.
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_NE(problem(good.substr(0, size)), "") << size;
  EXPECT_THAT(problem("GGML" + good.substr(4)), HasSubstr("no GGUF file"));
  EXPECT_THAT(problem("GGUF\1" + good.substr(5)), HasSubstr("version 1"));
  EXPECT_THAT(problem("GGUF" + std::string("\0\0\0\3", 4) + good.substr(8)), HasSubstr("version"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.key("k", 13, ""); }), HasSubstr("k: values of type 13"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.key("k", 8, GgufBuilder::raw(UINT64_MAX)); }),
              HasSubstr("k: the file ends within it"));
  EXPECT_THAT(with([](GgufBuilder& b) {
                b.key("k", 9, GgufBuilder::raw(0U) + GgufBuilder::raw(std::uint64_t{1} << 60U));
              }),
              HasSubstr("k: the file ends within it"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.key("k", "\xFF"); }), HasSubstr("k: a text is no UTF-8"));
  EXPECT_THAT(with([](GgufBuilder& b) {
                b.key("k", 1U);
                b.key("k", 2U);
              }),
              HasSubstr("k: is there twice"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.key("general.alignment", 3U); }),
              HasSubstr("general.alignment: expected a power of two"));
  EXPECT_THAT(with([](GgufBuilder& b) {
                b.tensor("w", {1}, {1});
                b.tensor("w", {1}, {1});
              }),
              HasSubstr("w: is there twice"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.tensor("w", {}, {}); }), HasSubstr("w: 0 dimensions"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.tensor("w", {1, 1, 1, 1, 1}, {1}); }),
              HasSubstr("w: 5 dimensions"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.tensor("w", {0}, {}); }),
              HasSubstr("w: a dimension of 0"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.tensor("w", {1U << 31U, 1U << 31U, 8}, {1}); }),
              HasSubstr("w: its size overflows"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.tensor("w", {2}, {1}); }),
              HasSubstr("w: 8 bytes at 0 are outside the file's 4"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.tensor("w", {33}, GgufType::kQ4_0, ""); }),
              HasSubstr("w: 33 columns are no whole blocks of 32"));
  EXPECT_THAT(with([](GgufBuilder& b) { b.tensor("w", {1}, static_cast<GgufType>(10), ""); }),
              HasSubstr("w: numbers of type 10 are not read; read are F32"));
}

TEST(Gguf, TensorsDoNotOverlap) {
  GgufBuilder builder;
  builder.tensor("a", {16}, Values(16));
  builder.tensor("b", {1}, {1});
  std::string file = builder.file();
  const std::string offset = GgufBuilder::raw<std::uint64_t>(64);
  const std::size_t at = file.find(offset, file.find('b'));
  ASSERT_NE(at, std::string::npos);
  file.replace(at, 8, GgufBuilder::raw<std::uint64_t>(32));
  EXPECT_THAT(message_of(parse_gguf(file_bytes(file))), HasSubstr("a and b overlap"));
  file.replace(at, 8, GgufBuilder::raw<std::uint64_t>(33));
  EXPECT_THAT(message_of(parse_gguf(file_bytes(file))), HasSubstr("b: begins at 33"));
}

}  // namespace
}  // namespace kw::tensor
