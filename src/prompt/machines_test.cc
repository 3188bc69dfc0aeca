#include "prompt/machines.h"

#include <set>

#include <gtest/gtest.h>

namespace kw::prompt {
namespace {

std::string name_of(const std::vector<HardwareCard>& known, std::string_view asked) {
  const auto card = machine_named(known, asked);
  return card ? card->name : card.error().message();
}

TEST(Machines, AreFoundByWordsOfTheirNames) {
  EXPECT_EQ(name_of(known_gpus(), "H100 SXM"), "NVIDIA H100 SXM");
  EXPECT_EQ(name_of(known_gpus(), "h100"), "NVIDIA H100 SXM");
  EXPECT_EQ(name_of(known_gpus(), "rtx 4090"), "NVIDIA GeForce RTX 4090");
  EXPECT_EQ(name_of(known_processors(), "epyc 9654"), "AMD EPYC 9654 96-Core Processor");
}

TEST(Machines, AnUnknownOneIsAnErrorThatNamesTheKnown) {
  for (const char* asked : {"V100", "", "  ", "epyc"}) {
    const auto card = machine_named(known_gpus(), asked);
    ASSERT_FALSE(card) << asked;
    EXPECT_EQ(card.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(card.error().message().find("NVIDIA H200"), std::string::npos)
        << card.error().message();
  }
}

TEST(Machines, HaveFactsThatAKernelIsWrittenBy) {
  std::set<std::string> names;
  for (const HardwareCard& card : known_gpus()) {
    EXPECT_TRUE(names.insert(card.name).second) << card.name;
    EXPECT_GT(card.multiprocessors, 0) << card.name;
    EXPECT_GE(card.shared_memory_bytes, 99 << 10) << card.name;
    EXPECT_LE(card.shared_memory_bytes, 227 << 10) << card.name;
    // Balance of a GPU: some hundred operations for each byte.
    const double balance = card.peak_flops.front().second / card.memory_bytes_per_s;
    EXPECT_GT(balance, 100) << card.name;
    EXPECT_LT(balance, 500) << card.name;
  }
  for (const HardwareCard& card : known_processors()) {
    EXPECT_TRUE(names.insert(card.name).second) << card.name;
    EXPECT_EQ(card.cores, 1) << card.name;
    EXPECT_LT(card.l1_data_bytes, card.l2_bytes) << card.name;
    EXPECT_LT(card.l2_bytes, card.l3_bytes) << card.name;
  }
}

}  // namespace
}  // namespace kw::prompt
