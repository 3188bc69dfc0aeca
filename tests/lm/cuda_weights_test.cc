// An engine over weights of somebody else, who changes them between its steps, against engines that
// were made with each of these weights.
#include <gtest/gtest.h>

#include "cuda/memory.h"
#include "cuda/stream.h"
#include "cuda_models.h"
#include "lm/cuda/shared_weights.h"
#include "tensor/half.h"

namespace kw::lm {
namespace {

constexpr std::int32_t kSequences = 5, kPrompt = 70, kAnswer = 24;

// What a trainer has on the GPU: all numbers as float32, and as bfloat16.
class Blocks {
 public:
  static Result<Blocks> make(std::size_t bytes) {
    Blocks out;
    KW_TRY(out.masters_, kw::cuda::DeviceBuffer::make(bytes));
    KW_TRY(out.computed_, kw::cuda::DeviceBuffer::make(bytes / 2));
    return out;
  }
  // On the default stream, which the engine's stream is not ordered with.
  Status write(const Parameters& parameters) {
    const auto* numbers = reinterpret_cast<const float*>(parameters.embedding.data);
    const std::size_t count = parameters.bytes() / sizeof(float);
    std::vector<std::uint16_t> rounded(count);
    for (std::size_t i = 0; i < count; ++i) rounded[i] = tensor::float_to_bfloat16(numbers[i]);
    const kw::cuda::Stream stream;
    KW_TRY_STATUS(stream.copy(masters_.address(), numbers, count * 4));
    return stream.copy(computed_.address(), rounded.data(), count * 2);
  }
  cuda::SharedWeights shared(const Parameters& arrangement) const {
    return {&arrangement, reinterpret_cast<const void*>(masters_.address()),
            reinterpret_cast<const void*>(computed_.address())};
  }

 private:
  kw::cuda::DeviceBuffer masters_, computed_;
};

// Prompts together, then sampled tokens through graphs.
std::vector<Sample> answers(Engine& engine) {
  Step step;
  for (std::int32_t slot = 0; slot < kSequences; ++slot) {
    const auto prompt =
        random_tokens(kPrompt, engine.vocabulary(), 50 + static_cast<std::uint64_t>(slot));
    for (std::int32_t i = 0; i < kPrompt; ++i)
      step.add(prompt[static_cast<std::size_t>(i)], i, slot);
    step.samples.push_back(request_at(step.tokens.size() - 1));
    step.samples.back().sequence = static_cast<std::uint64_t>(slot);
  }
  std::vector<Sample> out, drawn(kSequences);
  for (std::int32_t i = 0; i < kAnswer; ++i) {
    engine.run(step, drawn);
    out.insert(out.end(), drawn.begin(), drawn.end());
    step.clear();
    for (std::int32_t slot = 0; slot < kSequences; ++slot) {
      step.add(drawn[static_cast<std::size_t>(slot)].token, kPrompt + i, slot, Phase::kDecode);
      step.samples.push_back(request_at(static_cast<std::size_t>(slot)));
      step.samples.back().sequence = static_cast<std::uint64_t>(slot);
      step.samples.back().position = static_cast<std::uint32_t>(i) + 1;
    }
  }
  return out;
}

std::size_t differences(const std::vector<Sample>& a, const std::vector<Sample>& b) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    out += a[i].token != b[i].token || a[i].policy_logprob != b[i].policy_logprob ? 1 : 0;
  return out;
}

class CudaWeights : public ::testing::Test {
 protected:
  void SetUp() override { KW_SKIP_WITHOUT_GPU(); }
};

TEST_F(CudaWeights, TheNextSampleIsOfTheWeightsThatWereWritten) {
  for (const char* name : {"qwen2", "qwen3", "llama", "qwen2.5_0.5b"}) {
    const TestShape& shape = test_shape(name);
    const auto arrangement = random_parameters(shape, WeightType::kFloat32);
    auto context = kw::cuda::Context::open(0);
    ASSERT_TRUE(context);
    Blocks blocks = Blocks::make(arrangement->bytes()).value();
    const auto options = gpu_options({kSequences, 256, 512});
    auto shared = cuda::make_cuda_engine(blocks.shared(*arrangement), options);
    ASSERT_TRUE(shared) << shared.error().message();
    std::vector<Sample> before;
    std::int32_t version = 10;
    for (const std::uint64_t seed : {7U, 21U, 7U}) {
      ASSERT_TRUE(blocks.write(*random_parameters(shape, WeightType::kFloat32, seed)));
      (*shared)->weights_changed(++version);
      const std::vector<Sample> found = answers(**shared);
      const auto own = random_parameters(shape, WeightType::kBFloat16, seed);
      auto engine = cuda::make_cuda_engine(*own, options);
      ASSERT_TRUE(engine) << engine.error().message();
      EXPECT_EQ(differences(found, answers(**engine)), 0U) << name << ", seed " << seed;
      for (const Sample& one : found) EXPECT_EQ(one.weights, version);
      if (!before.empty()) {
        EXPECT_GT(differences(found, before), found.size() / 2);
      }
      before = found;
    }
  }
}

}  // namespace
}  // namespace kw::lm
