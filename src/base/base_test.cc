// Tests of errors, JSON, hashes, random numbers and text.
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "base/result.h"
#include "base/seed.h"
#include "base/text.h"

namespace kw {
namespace {

Result<int> parse_positive(int value) {
  if (value <= 0) return fail(ErrorCode::kInvalidArgument, "value {} is not positive", value);
  return value;
}

Result<int> twice(int value) {
  KW_TRY(int parsed, parse_positive(value));
  return 2 * parsed;
}

TEST(Result, TryPassesValuesAndErrorsOn) {
  EXPECT_EQ(twice(4).value(), 8);
  ASSERT_FALSE(twice(-1));
  EXPECT_EQ(twice(-1).error().message(), "value -1 is not positive");
  EXPECT_EQ(exit_code(twice(-1).error().code()), 2);
  EXPECT_EQ(exit_code(ErrorCode::kIsolationTooWeak), 3);
  EXPECT_EQ(http_status(ErrorCode::kNotFound), 404);
  EXPECT_EQ(http_status(ErrorCode::kInternal), 500);
  EXPECT_EQ(fail_errno(ENOENT, "cannot open x").value().code(), ErrorCode::kNotFound);
}

TEST(Json, NamesWhatIsWrong) {
  EXPECT_TRUE(parse_json(R"({"a": [1, 2.5, "x", null, true]})"));
  EXPECT_THAT(parse_json(R"({"a": 1, "a": 2})").error().message(),
              testing::HasSubstr("\"a\" is given twice"));
  EXPECT_THAT(parse_json("{\"a\": }").error().message(), testing::HasSubstr("line 1"));
  EXPECT_FALSE(parse_json("\"\xff\""));
  EXPECT_FALSE(parse_json(""));
  std::string deep(100, '[');
  EXPECT_THAT(parse_json(deep).error().message(), testing::HasSubstr("nested deeper"));

  Json value = parse_json(R"({"name": "x", "axess": {}, "n": 2.5})").value();
  ObjectReader reader = ObjectReader::make(value, "definition").value();
  EXPECT_EQ(reader.string("name").value(), "x");
  EXPECT_EQ(reader.integer("n").error().message(), "definition.n: expected an integer, found 2.5");
  EXPECT_EQ(reader.get("axes").error().message(), "definition.axes: missing");
  EXPECT_EQ(reader.no_other_keys().error().message(),
            "definition.axess: unknown key (did you mean \"axes\"?)");
}

TEST(Json, NothingStandsBehindANul) {
  using std::string_view_literals::operator""sv;
  EXPECT_FALSE(parse_json("false\0\xff"sv));
  EXPECT_FALSE(parse_json("{}\0"sv));
  EXPECT_EQ(parse_json("[1]\0[2]"sv).error().message(), "not valid JSON: byte 4 is NUL");
}

// Hundreds of thousands of keys take no longer than their bytes: comparing each with all before it
// would take minutes.
TEST(Json, WideObjectsAreReadInOnePass) {
  std::string text = "{";
  for (int i = 0; i < 400'000; ++i) text += fmt::format("{}\"k{}\":{}", i == 0 ? "" : ",", i, i);
  auto value = parse_json(text + "}");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->size(), 400'000U);
  EXPECT_EQ(value->back(), 399'999);
  EXPECT_FALSE(parse_json(text + ",\"k0\":1}"));
}

TEST(Json, CanonicalFormIgnoresOrderAndSpace) {
  auto a = parse_json(R"({"b": 1, "a": {"d": [1.5, true], "c": "x"}})").value();
  auto b = parse_json(R"( {"a":{"c":"x","d":[1.5,true]},"b":1} )").value();
  EXPECT_EQ(canonical_json(a), canonical_json(b));
  EXPECT_EQ(canonical_json(a), R"({"a":{"c":"x","d":[1.5,true]},"b":1})");
}

// The sorted maps of nlohmann are the reference.
TEST(Json, CanonicalFormIsThatOfSortedMaps) {
  for (const char* text :
       {R"([])", R"({})", R"({"b":[],"a":{},"B":[{}],"":null,"ab":1,"a b":2})",
        R"(["\u0000","\u001f","\u007f","a\"b","\\","/","\n","\u00e9\ud83d\ude00",{"\"":true}])",
        R"([0,-1,1.0,-0.0,0.1,1e300,5e-324,18446744073709551615,-9223372036854775808])"})
    EXPECT_EQ(canonical_json(parse_json(text).value()), nlohmann::json::parse(text).dump());
  const Json wrong = Json{{"\xff", "a\xc3"}};
  EXPECT_EQ(canonical_json(wrong), "{\"\xEF\xBF\xBD\":\"a\xEF\xBF\xBD\"}");
}

TEST(Json, KeysAreToldApartInSmallAndLargeObjects) {
  for (const int count : {1, 15, 16, 17, 40}) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += fmt::format("\"k{}\":{{\"k0\":{}}},", i, i);
    EXPECT_EQ(parse_json(text + "\"x\":0}").value().size(), static_cast<std::size_t>(count) + 1);
    for (const int twice : {0, count / 2, count - 1})
      EXPECT_FALSE(parse_json(text + fmt::format("\"k{}\":0}}", twice))) << count << " " << twice;
  }
}

TEST(Hash, Sha256OfKnownText) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Seed, HasTheBitsThatServersKeep) {
  EXPECT_EQ(seed_of("abc"), 0xba7816bf8f01U);
  EXPECT_NE(seed_of("abc"), seed_of("abd"));
  for (int i = 0; i < 100; ++i) EXPECT_LT(seed_of(std::to_string(i)), std::uint64_t{1} << 53U);
}

TEST(Hash, KeyedHashSeesEveryByte) {
  std::vector<std::byte> bytes(1000);
  std::set<std::uint64_t> seen = {keyed_hash(bytes, 7)};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte{1};
    EXPECT_TRUE(seen.insert(keyed_hash(bytes, 7)).second) << i;
    bytes[i] = std::byte{0};
  }
  EXPECT_NE(keyed_hash(bytes, 7), keyed_hash(bytes, 8));
  EXPECT_NE(keyed_hash(std::span(bytes).first(999), 7), keyed_hash(bytes, 7));
}

TEST(Rng, HasTheMomentsItPromises) {
  Rng rng(1);
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    double x = rng.normal();
    sum += x;
    squares += x * x;
    EXPECT_LT(rng.below(10), 10U);
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_EQ(Rng(5).next(), Rng(5).next());
  EXPECT_NE(Rng(5).next(), Rng(6).next());
}

TEST(Text, SuggestsAndSanitises) {
  EXPECT_EQ(nearest("evla", {"eval", "doctor"}), "eval");
  EXPECT_EQ(nearest("zzzzzz", {"eval", "doctor"}), "");
  EXPECT_EQ(printable("a\x1b[31mb\xff\xe2\x80\xae", 100), "a?[31mb??");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("z\xc3\xa4", 2), "z...");
  EXPECT_FALSE(is_valid_utf8("\xc0\x80"));
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_ms(0.0123), "12.3 us");
}

}  // namespace
}  // namespace kw
