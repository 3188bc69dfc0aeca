// Runs every harness on its corpus, so that a crash found once stays fixed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "fuzz.h"

namespace kw::fuzz {
namespace {

class Corpus : public testing::TestWithParam<Harness> {};

TEST_P(Corpus, Runs) {
  const Harness& harness = GetParam();
  std::vector<std::filesystem::path> files;
  std::filesystem::path folder =
      std::filesystem::path(KW_SOURCE_DIR) / "tests/fuzz/corpus" / harness.name;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  EXPECT_GE(files.size(), 2U);
  harness.run("");
  for (const std::filesystem::path& file : files) {
    // Seen when the harness ends the process.
    fmt::print(stderr, "{}\n", file.filename().string());
    std::ifstream in(file, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_LE(bytes.size(), 16384U) << file;
    harness.run(bytes);
  }
}

// gtest asks for the values when main runs: all harnesses are entered by then.
INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(harnesses()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace kw::fuzz
