// Tests of the safetensors reader on files made here, good and hostile.
#include "tensor/safetensors.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/testing/folder.h"
#include "base/testing/values.h"

namespace kw::tensor {
namespace {

std::string file_of(const std::string& header, const std::string& data, std::int64_t claimed = -1) {
  std::uint64_t length = claimed < 0 ? header.size() : static_cast<std::uint64_t>(claimed);
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>((length >> (8 * i)) & 0xFFU);
  return out + header + data;
}

constexpr const char* kHeader =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"a":{"dtype":"I64","shape":[],"data_offsets":[8,16]},"none":{"dtype":"BOOL","shape":[0,3],"data_offsets":[16,16]}})";

TEST(Safetensors, WritesWhatItReads) {
  TestFolder folder;
  const float values[] = {1.5F, -2};
  const std::int64_t scalar = 42;
  const TensorView views[] = {{"b", DType::kFloat32, {2, 1}, values},
                              {"a", DType::kInt64, {}, &scalar},
                              {"none", DType::kBool, {0, 3}, nullptr}};
  const auto path = folder.write("t.safetensors", "what was there before");
  ASSERT_TRUE(write_safetensors(path, views));
  const auto entries = safetensors_entries(path);
  ASSERT_TRUE(entries) << message_of(entries);
  ASSERT_EQ(entries->size(), 3U);
  const StoredTensor b = read_safetensor(path, "b", 1000).value();
  EXPECT_EQ(b.shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(std::memcmp(b.data.data(), values, 8), 0);
  EXPECT_EQ(std::memcmp(read_safetensor(path, "a", 1000)->data.data(), &scalar, 8), 0);
  EXPECT_EQ(read_safetensor(path, "none", 1000)->dtype, DType::kBool);
  const Status refused = write_safetensors(folder.path() / "missing" / "t.safetensors", views);
  EXPECT_EQ(refused.error().code(), ErrorCode::kResourceExhausted);
}

TEST(Safetensors, ReadsOneTensor) {
  TestFolder folder;
  float values[2] = {1.5F, -2};
  std::int64_t scalar = 42;
  std::string data(16, '\0');
  std::memcpy(data.data(), values, 8);
  std::memcpy(data.data() + 8, &scalar, 8);
  auto path = folder.write("t.safetensors", file_of(kHeader, data));
  auto entries = safetensors_entries(path);
  ASSERT_TRUE(entries) << message_of(entries);
  EXPECT_EQ(entries->size(), 3U);
  StoredTensor b = read_safetensor(path, "b", 1000).value();
  EXPECT_EQ(b.dtype, DType::kFloat32);
  EXPECT_EQ(b.shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(std::memcmp(b.data.data(), values, 8), 0);
  StoredTensor a = read_safetensor(path, "a", 1000).value();
  EXPECT_TRUE(a.shape.empty());
  EXPECT_EQ(std::memcmp(a.data.data(), &scalar, 8), 0);
  EXPECT_TRUE(read_safetensor(path, "none", 1000)->data.empty());
  EXPECT_THAT(message_of(read_safetensor(path, "nonw", 1000)),
              testing::HasSubstr("no tensor \"nonw\" (did you mean \"none\"?)"));
  EXPECT_EQ(read_safetensor(path, "b", 7).error().code(), ErrorCode::kResourceExhausted);
  EXPECT_EQ(read_safetensor(folder.path() / "gone", "b", 7).error().code(), ErrorCode::kNotFound);
}

TEST(Safetensors, TrustsNoNumberInTheHeader) {
  TestFolder folder;
  auto problem = [&](const std::string& content) {
    return message_of(safetensors_entries(folder.write("x.safetensors", content)));
  };
  auto header = [&](const std::string& text) {
    return problem(file_of(text, std::string(16, '\0')));
  };
  EXPECT_THAT(problem(""), testing::HasSubstr("shorter than a safetensors header"));
  EXPECT_THAT(problem("1234567"), testing::HasSubstr("shorter than a safetensors header"));
  EXPECT_THAT(problem(file_of("{}", "", 1000)),
              testing::HasSubstr("says that its header has 1000 bytes, of 10"));
  EXPECT_THAT(problem(file_of("{}", "", INT64_MAX)), testing::HasSubstr("says that its header"));
  EXPECT_THAT(header("{"), testing::HasSubstr("not valid JSON"));
  EXPECT_THAT(header("[]"), testing::HasSubstr("header: expected an object"));
  EXPECT_THAT(header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{}})"),
              testing::HasSubstr("given twice"));
  EXPECT_THAT(header(R"({"a":1})"), testing::HasSubstr("a: expected an object"));
  EXPECT_THAT(header(R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})"),
              testing::HasSubstr("a.dtype: \"F33\" is not read"));
  EXPECT_THAT(header(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})"),
              testing::HasSubstr("a.shape: expected integers from 0"));
  EXPECT_THAT(
      header(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})"),
      testing::HasSubstr("a.shape: expected integers"));
  EXPECT_THAT(
      header(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})"),
      testing::HasSubstr("a.shape: overflows"));
  EXPECT_THAT(header(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})"),
              testing::HasSubstr("at most 8 integers"));
  EXPECT_THAT(header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})"),
              testing::HasSubstr("8 bytes, but shape and dtype need 4"));
  EXPECT_THAT(header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})"),
              testing::HasSubstr("outside the file"));
  EXPECT_THAT(header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}})"),
              testing::HasSubstr("outside the file's 16 bytes"));
  EXPECT_THAT(header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})"),
              testing::HasSubstr("outside the file"));
  EXPECT_THAT(
      header(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
      testing::HasSubstr("a and b overlap"));
  EXPECT_THAT(header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})"),
              testing::HasSubstr("a.x: unknown key"));
}

// What the reference reader refuses too, and tensors of no bytes, which it reads.
TEST(Safetensors, EachByteBelongsToOneTensor) {
  TestFolder folder;
  auto problem = [&](const std::string& header, std::size_t bytes) {
    auto path = folder.write("x.safetensors", file_of(header, std::string(bytes, '\0')));
    return message_of(safetensors_entries(path));
  };
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::string b = R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]})";
  EXPECT_THAT(problem("{" + a + "}", 8),
              testing::HasSubstr("4 bytes at the end belong to no tensor"));
  EXPECT_THAT(problem("{" + a + "," + b + "}", 12),
              testing::HasSubstr("4 bytes before b belong to no tensor"));
  EXPECT_THAT(problem("{" + b + "}", 12),
              testing::HasSubstr("8 bytes before b belong to no tensor"));
  EXPECT_THAT(problem("{}", 1), testing::HasSubstr("1 bytes at the end belong to no tensor"));
  EXPECT_THAT(problem(R"({"__metadata__":null,)" + a + "}", 4),
              testing::HasSubstr("__metadata__: expected an object of strings"));
  EXPECT_THAT(problem(R"({"__metadata__":{"format":null},)" + a + "}", 4),
              testing::HasSubstr("__metadata__.format: expected a string"));
  TestFolder good;
  const std::string empty = R"("z":{"dtype":"F32","shape":[0],"data_offsets":[4,4]})";
  const std::string c = R"("c":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})";
  auto path = good.write("x.safetensors",
                         file_of("{" + a + "," + empty + "," + c + "}", std::string(8, '\0')));
  EXPECT_TRUE(safetensors_entries(path));
}

}  // namespace
}  // namespace kw::tensor
