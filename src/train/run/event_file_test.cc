// Bytes that TensorBoard's own writer wrote of the same events.
#include "train/run/event_file.h"

#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char one : bytes)
    out += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(one)));
  return out;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(EventFile, HasTheBytesOfTensorBoardsWriter) {
  const auto folder = os::TempDir::make("kw-events-").value();
  auto file = EventFile::begin(folder.path(), true, 299, 1.5);
  ASSERT_TRUE(file);
  const Json row = {
      {"step", 300}, {"loss", 0.5}, {"name", "x"}, {"none", nullptr}, {"parts", {{"fast", -2}}}};
  ASSERT_TRUE(file->add(row, 1.5));
  const std::string name = "events.out.tfevents.0000000001.299.kernelwright";
  EXPECT_EQ(names_in(folder.path()), std::vector{name});
  EXPECT_EQ(hex(os::read_file(folder.path() / name).value()),
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c"
            "100000000000000095fbfe1809000000000000f83f10ac023a020801713b788a"
            "2e00000000000000c5cb57fa09000000000000f83f10ac022a200a0b0a046c6f7373150000003f"
            "0a110a0a70617274732f6661737415000000c0a781ee11");
}

TEST(EventFile, OnlyAResumedRunKeepsEarlierFiles) {
  const auto folder = os::TempDir::make("kw-events-").value();
  ASSERT_TRUE(os::write_file_atomic(folder.path() / "metrics.jsonl", ""));
  ASSERT_TRUE(EventFile::begin(folder.path(), false, 0, 5));
  ASSERT_TRUE(EventFile::begin(folder.path(), true, 4, 6));
  EXPECT_EQ(names_in(folder.path()).size(), 3U);
  ASSERT_TRUE(EventFile::begin(folder.path(), false, 0, 7));
  EXPECT_EQ(
      names_in(folder.path()),
      (std::vector<std::string>{"events.out.tfevents.0000000007.0.kernelwright", "metrics.jsonl"}));
  EXPECT_FALSE(EventFile::begin(folder.path() / "none", true, 0, 7));
}

TEST(EventFile, TheChecksumIsThatOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
}

}  // namespace
}  // namespace kw::train
