// Shapes that the engine's kernels are not for are refused by name, before a GPU is asked.
#include "train/cuda/engine_forward.h"

#include <string>

#include <gtest/gtest.h>

namespace kw::train::cuda {
namespace {

lm::ModelConfig small() {
  lm::ModelConfig out;
  out.hidden = 256;
  out.heads = 4;
  out.kv_heads = 2;
  out.head_dim = 64;
  out.intermediate = 512;
  out.vocabulary = 1003;
  return out;
}

std::string refusal(const lm::ModelConfig& config, std::int64_t context = 512) {
  const Status checked = EngineForward::check(config, context);
  if (checked) return "";
  EXPECT_EQ(checked.error().code(), ErrorCode::kUnsupported);
  return checked.error().message();
}

TEST(EngineForward, RefusesWidthsByName) {
  lm::ModelConfig config = small();
  config.hidden = 288;
  EXPECT_NE(refusal(config).find("hidden_size is 288"), std::string::npos);
  config = small();
  config.heads = 3;
  config.head_dim = 32;
  EXPECT_NE(refusal(config).find("queries is 96"), std::string::npos);
  config = small();
  config.intermediate = 520;
  EXPECT_NE(refusal(config).find("intermediate_size is 520"), std::string::npos);
}

TEST(EngineForward, RefusesHeadsAndLengthsByName) {
  lm::ModelConfig config = small();
  config.head_dim = 32;
  EXPECT_NE(refusal(config).find("head_dim is 32"), std::string::npos);
  EXPECT_NE(refusal(small(), 50'000).find("up to 40960 tokens, not 50000"), std::string::npos);
}

}  // namespace
}  // namespace kw::train::cuda
