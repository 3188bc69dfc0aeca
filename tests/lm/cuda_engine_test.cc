// The engine on a GPU against the one on CPU cores, whose own tests compare it with transformers:
// prompts, decoding, both in one step, copies of slots; and sequences alone against in batches.
#include "lm/cuda/cuda_engine.h"

#include <cmath>
#include <cstdio>

#include "cuda_models.h"
#include "serving/generator.h"

namespace kw::lm {
namespace {

// ||a - b|| / ||b||; infinite where a number is not finite.
double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    if (!std::isfinite(d)) return INFINITY;
    difference += d * d;
    size += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(difference / size);
}

struct Case {
  TestShape shape;
  WeightType type;
  cuda::MatmulChoice matmuls = cuda::MatmulChoice::kBatchInvariant;
  // Rounding to bfloat16 at the same places, of sums in another order.
  double tolerance() const { return type == WeightType::kFloat32 ? 2e-5 : 1.5e-2; }
};

std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const TestShape& shape : kTestShapes) {
    out.push_back({shape, WeightType::kBFloat16});
    if (shape.hidden < 800) out.push_back({shape, WeightType::kFloat32});
  }
  for (const char* name : {"qwen3", "large_group", "qwen2.5_1.5b"})
    out.push_back({test_shape(name), WeightType::kBFloat16, cuda::MatmulChoice::kFastest});
  return out;
}

class CudaEngine : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { KW_SKIP_WITHOUT_GPU(); }
  static cuda::CudaOptions options_of(EngineLimits limits) {
    auto out = gpu_options(limits);
    out.matmuls = GetParam().matmuls;
    return out;
  }
  void expect_same_logits(Engine& gpu, Engine& cpu, const Step& step, const char* what) {
    const double error = relative_error(logits_of(gpu, step), logits_of(cpu, step));
    std::printf("%s %s %s: %.2e\n", GetParam().shape.name,
                std::string(to_string(GetParam().type)).c_str(), what, error);
    EXPECT_LT(error, GetParam().tolerance()) << what;
  }
};

INSTANTIATE_TEST_SUITE_P(Models, CudaEngine, ::testing::ValuesIn(all_cases()), [](const auto& one) {
  std::string name =
      std::string(one.param.shape.name) + "_" + std::string(to_string(one.param.type));
  if (one.param.matmuls == cuda::MatmulChoice::kFastest) name += "_fastest";
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
});

void add_prompt(Step& step, const std::vector<std::int32_t>& tokens, std::size_t first,
                std::size_t last, std::int32_t slot) {
  for (std::size_t i = first; i < last; ++i)
    step.add(tokens[i], static_cast<std::int32_t>(i), slot);
}

TEST_P(CudaEngine, PromptsAtOnceInPiecesAndTokenByToken) {
  const auto& shape = GetParam().shape;
  Pair engines = make_pair_of_engines(shape, GetParam().type, options_of({3, 400, 330}));
  ASSERT_TRUE(engines.gpu && engines.cpu);
  const auto tokens = random_tokens(300, shape.vocabulary, 1);
  Step step;
  add_prompt(step, tokens, 0, 300, 1);
  for (std::size_t row : {0U, 1U, 15U, 63U, 64U, 100U, 128U, 200U, 299U})
    step.samples.push_back(request_at(row));
  expect_same_logits(*engines.gpu, *engines.cpu, step, "prompt at once");
  const auto at_once = logits_of(*engines.gpu, step);

  // The same prompt in pieces of all sorts into another slot; the last token's logits.
  std::size_t at = 0;
  std::vector<float> last;
  for (std::size_t size : {1U, 2U, 70U, 1U, 1U, 100U, 17U, 64U, 43U, 1U}) {
    step.clear();
    add_prompt(step, tokens, at, at + size, 2);
    at += size;
    step.samples = {request_at(size - 1)};
    last = logits_of(*engines.gpu, step);
  }
  ASSERT_EQ(at, 300U);
  const std::vector<float> expected(at_once.end() - static_cast<std::ptrdiff_t>(last.size()),
                                    at_once.end());
  const double error = relative_error(last, expected);
  std::printf("%s pieces against at once: %.2e\n", shape.name, error);
  EXPECT_LT(error, GetParam().tolerance());
  if (GetParam().matmuls == cuda::MatmulChoice::kBatchInvariant) {
    EXPECT_TRUE(last == expected) << "how a prompt is cut must change nothing";
  }

  for (std::size_t i = 0; i < 3; ++i) {  // goes on from what lies in the slot of both
    step.clear();
    step.add(tokens[i], static_cast<std::int32_t>(300 + i), 1, Phase::kDecode);
    step.samples = {request_at(0)};
    expect_same_logits(*engines.gpu, *engines.cpu, step, "decoding");
  }
}

// Rows of all sorts in one step, not in the order of slots.
TEST_P(CudaEngine, MixedSteps) {
  const auto& shape = GetParam().shape;
  Pair engines = make_pair_of_engines(shape, GetParam().type, options_of({6, 300, 400}));
  ASSERT_TRUE(engines.gpu && engines.cpu);
  const auto tokens = random_tokens(300, shape.vocabulary, 2);
  Step step;
  add_prompt(step, tokens, 0, 140, 3);
  add_prompt(step, tokens, 0, 5, 0);
  step.add(tokens[7], 0, 4);
  step.samples = {request_at(144)};
  expect_same_logits(*engines.gpu, *engines.cpu, step, "first");
  step.clear();
  for (std::size_t i = 0; i < 80; ++i) {  // two prompts interleaved
    step.add(tokens[i + 3], static_cast<std::int32_t>(i), 5);
    step.add(tokens[i + 5], static_cast<std::int32_t>(i + 5), 0);
  }
  step.add(tokens[140], 140, 3, Phase::kDecode);
  step.add(tokens[8], 1, 4, Phase::kDecode);
  step.add(tokens[9], 0, 1);
  for (std::size_t row : {162U, 0U, 1U, 60U, 61U, 158U, 159U, 160U, 161U})
    step.samples.push_back(request_at(row));
  expect_same_logits(*engines.gpu, *engines.cpu, step, "mixed");
  step.clear();
  for (auto [position, slot] : {std::pair(141, 3), {85, 0}, {2, 4}, {80, 5}, {1, 1}})
    step.add(tokens[static_cast<std::size_t>(position)], position, slot, Phase::kDecode);
  for (std::size_t row : {0U, 1U, 2U, 3U, 4U}) step.samples.push_back(request_at(row));
  expect_same_logits(*engines.gpu, *engines.cpu, step, "all decode");
}

TEST_P(CudaEngine, CopiesSlots) {
  const auto& shape = GetParam().shape;
  Pair engines = make_pair_of_engines(shape, GetParam().type, options_of({4, 300, 256}));
  ASSERT_TRUE(engines.gpu && engines.cpu);
  const auto tokens = random_tokens(200, shape.vocabulary, 3);
  Step prompt;
  add_prompt(prompt, tokens, 0, 170, 2);
  prompt.samples = {request_at(169)};
  for (Engine* engine : {engines.gpu.get(), engines.cpu.get()}) {
    (void)logits_of(*engine, prompt);
    engine->copy_slot(2, 0, 170);
    engine->copy_slot(2, 3, 131);
  }
  Step step;
  step.add(tokens[0], 131, 3, Phase::kDecode);
  step.add(tokens[1], 170, 0, Phase::kDecode);
  step.add(tokens[2], 170, 2, Phase::kDecode);
  for (std::size_t row : {0U, 1U, 2U}) step.samples.push_back(request_at(row));
  expect_same_logits(*engines.gpu, *engines.cpu, step, "after copies");
}

// Through graphs: log-probabilities of given tokens, as the CPU has them. Sequences of different
// lengths over several parts of attention, and numbers of rows that are filled up.
TEST_P(CudaEngine, DecodesThroughGraphs) {
  const auto& shape = GetParam().shape;
  auto options = options_of({11, 500, 300});
  options.split_tiles = 1;
  Pair engines = make_pair_of_engines(shape, GetParam().type, options);
  ASSERT_TRUE(engines.gpu && engines.cpu);
  const auto tokens = random_tokens(500, shape.vocabulary, 4);
  const std::vector<std::int32_t> lengths = {1, 3, 127, 128, 129, 200, 255, 256, 257, 290, 2};
  for (std::size_t slot = 0; slot < lengths.size(); ++slot) {
    Step prompt;
    add_prompt(prompt, tokens, 0, static_cast<std::size_t>(lengths[slot]),
               static_cast<std::int32_t>(slot));
    std::vector<Sample> none;
    engines.gpu->run(prompt, none);
    engines.cpu->run(prompt, none);
  }
  double worst = 0, sum = 0;
  int count = 0;
  for (std::int32_t i = 0; i < 4; ++i) {
    Step step;
    for (std::size_t slot = 0; slot < lengths.size(); ++slot) {
      step.add(tokens[slot + static_cast<std::size_t>(i)], lengths[slot] + i,
               static_cast<std::int32_t>(slot), Phase::kDecode);
      step.samples.push_back(request_at(slot));
      step.samples.back().forced = tokens[slot + 10];
    }
    std::vector<Sample> gpu(lengths.size()), cpu(lengths.size());
    engines.gpu->run(step, gpu);
    engines.cpu->run(step, cpu);
    for (std::size_t k = 0; k < gpu.size(); ++k) {
      EXPECT_EQ(gpu[k].token, cpu[k].token);
      const double error = std::abs(gpu[k].logprob - cpu[k].logprob);
      EXPECT_TRUE(std::isfinite(error));
      worst = std::max(worst, error);
      sum += error;
      ++count;
      EXPECT_NEAR(gpu[k].entropy, cpu[k].entropy,
                  GetParam().type == WeightType::kFloat32 ? 1e-4 : 0.05);
    }
  }
  std::printf("%s logprobs through graphs: worst %.2e, mean %.2e\n", shape.name, worst,
              sum / count);
  EXPECT_LT(worst, GetParam().type == WeightType::kFloat32 ? 1e-4 : 0.15);
}

// The same without graphs, without overlapping kernels, and with shorter parts of attention.
TEST_P(CudaEngine, OptionsGiveTheSameNumbers) {
  const auto& shape = GetParam().shape;
  auto options = options_of({5, 700, 600});
  auto changed = options;
  changed.graphs = changed.overlap = false;
  auto shorter = options;
  shorter.split_tiles = 2;
  auto parameters = random_parameters(shape, GetParam().type);
  const auto tokens = random_tokens(700, shape.vocabulary, 5);
  std::vector<std::vector<Sample>> results;
  for (const auto& one : {options, changed, shorter}) {
    auto engine = cuda::make_cuda_engine(*parameters, one);
    ASSERT_TRUE(engine) << engine.error().message();
    std::vector<Sample> all;
    for (std::int32_t slot = 0; slot < 5; ++slot) {
      Step prompt;
      add_prompt(prompt, tokens, 0, static_cast<std::size_t>(100 + 110 * slot), slot);
      std::vector<Sample> none;
      (*engine)->run(prompt, none);
    }
    for (std::int32_t i = 0; i < 3; ++i) {
      Step step;
      for (std::int32_t slot = 0; slot < 5; ++slot) {
        step.add(tokens[static_cast<std::size_t>(slot)], 100 + 110 * slot + i, slot,
                 Phase::kDecode);
        step.samples.push_back(request_at(static_cast<std::size_t>(slot)));
        step.samples.back().forced = tokens[static_cast<std::size_t>(slot + 9)];
      }
      std::vector<Sample> samples(5);
      (*engine)->run(step, samples);
      all.insert(all.end(), samples.begin(), samples.end());
    }
    results.push_back(std::move(all));
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    const double tolerance = GetParam().type == WeightType::kFloat32 ? 1e-4 : 0.1;
    const bool invariant = GetParam().matmuls == cuda::MatmulChoice::kBatchInvariant;
    EXPECT_NEAR(results[0][i].logprob, results[1][i].logprob, invariant ? 0 : tolerance);
    EXPECT_NEAR(results[0][i].logprob, results[2][i].logprob, tolerance);
  }
}

// Alone and beside others: to the bit, over all numbers of rows that steps are filled up to.
class CudaBatches : public ::testing::Test {
 protected:
  void SetUp() override { KW_SKIP_WITHOUT_GPU(); }
};

struct Sequence {
  std::vector<std::int32_t> tokens;
  std::vector<float> logprobs;
  std::size_t prompt = 0;
};

// `batch` sequences of a batch of `count`, from index `first`, all steps together. Temperature 1.
std::vector<Sequence> generate(Engine& engine, std::size_t first, std::size_t batch,
                               std::int64_t vocabulary, std::int32_t steps) {
  std::vector<Sequence> out(batch);
  for (std::size_t i = 0; i < batch; ++i) {
    Step prompt;
    out[i].prompt = 5 + (first + i) * 7 % 150;
    out[i].tokens = random_tokens(out[i].prompt, vocabulary, 100 + first + i);
    add_prompt(prompt, out[i].tokens, 0, out[i].prompt - 1, static_cast<std::int32_t>(i));
    std::vector<Sample> none;
    engine.run(prompt, none);
  }
  for (std::int32_t s = 0; s < steps; ++s) {
    Step step;
    for (std::size_t i = 0; i < batch; ++i) {
      const auto position = static_cast<std::int32_t>(out[i].tokens.size()) - 1;
      step.add(out[i].tokens.back(), position, static_cast<std::int32_t>(i), Phase::kDecode);
      step.samples.push_back(request_at(i));
      step.samples.back().seed = 5;
      step.samples.back().sequence = first + i;
      step.samples.back().position = static_cast<std::uint32_t>(position + 1);
    }
    std::vector<Sample> samples(batch);
    engine.run(step, samples);
    for (std::size_t i = 0; i < batch; ++i) {
      out[i].tokens.push_back(samples[i].token);
      out[i].logprobs.push_back(samples[i].logprob);
    }
  }
  return out;
}

struct Differences {
  std::size_t tokens = 0, different_tokens = 0, different_logprobs = 0;
  double worst = 0;  // of log-probabilities, before the first different token
};

Differences compare(const std::vector<Sequence>& a, const std::vector<Sequence>& b) {
  Differences out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a[i].logprobs.size(); ++k) {
      ++out.tokens;
      const bool same = a[i].tokens[a[i].prompt + k] == b[i].tokens[b[i].prompt + k];
      if (!same) {  // what follows another token is another answer
        ++out.different_tokens;
        break;
      }
      if (a[i].logprobs[k] != b[i].logprobs[k]) ++out.different_logprobs;
      out.worst = std::max(out.worst, std::abs(static_cast<double>(a[i].logprobs[k]) -
                                               static_cast<double>(b[i].logprobs[k])));
    }
  }
  return out;
}

TEST_F(CudaBatches, SequencesAreTheSameAloneAndInABatch) {
  const TestShape& shape = test_shape("qwen2");
  auto parameters = random_parameters(shape, WeightType::kBFloat16);
  for (auto choice : {cuda::MatmulChoice::kBatchInvariant, cuda::MatmulChoice::kFastest}) {
    auto options = gpu_options({256, 512, 256});
    options.matmuls = choice;
    auto engine = cuda::make_cuda_engine(*parameters, options);
    ASSERT_TRUE(engine) << engine.error().message();
    const bool invariant = choice == cuda::MatmulChoice::kBatchInvariant;
    const auto together = generate(**engine, 0, 100, shape.vocabulary, 100);
    std::vector<Sequence> alone;
    for (std::size_t i = 0; i < 100; ++i)
      alone.push_back(generate(**engine, i, 1, shape.vocabulary, 100)[0]);
    std::vector<Sequence> groups;  // 3, 5, 12, 30 and 50
    for (std::size_t size : {3U, 5U, 12U, 30U, 50U})
      for (Sequence& one : generate(**engine, groups.size(), size, shape.vocabulary, 100))
        groups.push_back(std::move(one));
    for (const auto* other : {&alone, &groups}) {
      const Differences d = compare(together, *other);
      std::printf(
          "%s, %s against a batch of 100: %zu tokens, %zu sequences that differ, %zu "
          "log-probabilities, worst %.2e\n",
          invariant ? "batch-invariant" : "fastest", other == &alone ? "alone" : "in groups",
          d.tokens, d.different_tokens, d.different_logprobs, d.worst);
      if (invariant) {
        EXPECT_EQ(d.different_tokens, 0U);
        EXPECT_EQ(d.different_logprobs, 0U);
      } else {
        EXPECT_LT(d.worst, 0.2);
      }
    }
  }
}

// Through the scheduler: 100 sequences of 70 prompts, each with a few choices or one.
struct Heard : serving::SequenceListener {
  bool token(const Sample& sample) override {
    samples.push_back(sample);
    return true;
  }
  void finished(text::Finish) override {}
  std::vector<Sample> samples;
};

// together: so many prompts are submitted at first, and one after each step. 0: each when the one
// before is finished.
std::vector<Heard> schedule(const Parameters& parameters, EngineLimits limits,
                            std::size_t together) {
  auto engine = cuda::make_cuda_engine(parameters, gpu_options(limits));
  EXPECT_TRUE(engine) << engine.error().message();
  serving::Generator generator(**engine);
  std::vector<Heard> heard(100);
  std::size_t at = 0;
  for (std::size_t prompt = 0; at < heard.size(); ++prompt) {
    std::vector<serving::SequenceSettings> settings;
    std::vector<serving::SequenceListener*> listeners;
    for (std::size_t i = 0, choices = prompt % 10 == 3 ? 5 : 1; i < choices && at < heard.size();
         ++i) {
      settings.emplace_back();
      settings.back().max_tokens = 100;
      settings.back().sequence = at;
      listeners.push_back(&heard[at++]);
    }
    auto ids = generator.submit(
        random_tokens(1 + prompt * 37 % 211, parameters.config().vocabulary, 300 + prompt),
        settings, listeners);
    EXPECT_TRUE(ids);
    if (together == 0) {
      while (generator.step()) {
      }
    } else if (prompt >= together) {
      generator.step();
    }
  }
  while (generator.step()) {
  }
  return heard;
}

TEST_F(CudaBatches, SchedulesGiveTheSameSamples) {
  const TestShape& shape = test_shape("qwen2");
  auto parameters = random_parameters(shape, WeightType::kBFloat16);
  const auto alone = schedule(*parameters, {5, 400, 400}, 0);
  struct Way {
    EngineLimits limits;
    std::size_t together;
  };
  // All at once; prompts cut by what decoding leaves; few slots and small pieces; coming one by
  // one.
  for (const Way& way : {Way{{100, 400, 2048}, 100},
                         {{100, 400, 104}, 100},
                         {{7, 400, 37}, 100},
                         {{64, 512, 300}, 3}}) {
    const auto others = schedule(*parameters, way.limits, way.together);
    std::size_t tokens = 0, different = 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      ASSERT_EQ(others[i].samples.size(), alone[i].samples.size());
      for (std::size_t k = 0; k < alone[i].samples.size(); ++k, ++tokens) {
        const Sample &a = alone[i].samples[k], &b = others[i].samples[k];
        if (a.token != b.token || a.logprob != b.logprob || a.entropy != b.entropy) ++different;
      }
    }
    std::printf("alone against %lld slots and steps of %lld: %zu tokens, %zu different\n",
                static_cast<long long>(way.limits.slots),
                static_cast<long long>(way.limits.step_tokens), tokens, different);
    EXPECT_EQ(tokens, 10000U);
    EXPECT_EQ(different, 0U);
  }
}

// A prompt's logits to the bit, anywhere among other prompts, in steps of 1 to 8,192 rows.
TEST_F(CudaBatches, APromptIsTheSameInEveryStep) {
  constexpr std::size_t kLength = 130, kFillerLength = 3000;
  for (const char* name : {"qwen2.5_0.5b", "qwen2.5_1.5b", "large_group"}) {
    const TestShape& shape = test_shape(name);
    auto parameters = random_parameters(shape, WeightType::kBFloat16);
    auto engine = cuda::make_cuda_engine(*parameters, gpu_options({4, 4096, 8192}));
    ASSERT_TRUE(engine) << engine.error().message();
    const auto tokens = random_tokens(kLength, shape.vocabulary, 12);
    const auto filler = random_tokens(8192, shape.vocabulary, 13);
    // rows of the prompt's first tokens, after `before` others, of `total`.
    auto logits_in = [&](std::size_t rows, std::size_t before, std::size_t total) {
      Step step;
      auto fill = [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i)
          step.add(filler[i], static_cast<std::int32_t>(i % kFillerLength),
                   static_cast<std::int32_t>(1 + i / kFillerLength));
      };
      fill(0, before);
      add_prompt(step, tokens, 0, rows, 0);
      fill(before, total - rows);
      for (std::size_t row : {std::size_t{0}, rows / 2, rows - 1})
        step.samples.push_back(request_at(before + row));
      return logits_of(**engine, step);
    };
    Rng rng(5);
    std::size_t tried = 0;
    for (std::size_t rows : {std::size_t{1}, std::size_t{65}, kLength}) {
      const auto alone = logits_in(rows, 0, rows);
      for (std::size_t total : {131U, 200U, 256U, 300U, 500U, 1000U, 2048U, 2049U, 5000U, 8192U}) {
        const std::size_t before = static_cast<std::size_t>(rng.below(total - rows + 1));
        EXPECT_TRUE(logits_in(rows, before, total) == alone)
            << name << ": " << rows << " rows after " << before << " of " << total;
        ++tried;
      }
    }
    std::printf("%s: %zu steps\n", name, tried);
  }
}

// What decoding recorded, against one forward pass over the whole sequence.
TEST_F(CudaBatches, RecordedLogprobsAgreeWithAFullForwardPass) {
  for (auto [name, type] : {std::pair("qwen2", WeightType::kFloat32),
                            {"qwen3", WeightType::kFloat32},
                            {"qwen2", WeightType::kBFloat16},
                            {"qwen3", WeightType::kBFloat16},
                            {"qwen2.5_1.5b", WeightType::kBFloat16}}) {
    const TestShape& shape = test_shape(name);
    auto parameters = random_parameters(shape, type);
    auto engine = cuda::make_cuda_engine(*parameters, gpu_options({32, 512, 512}));
    ASSERT_TRUE(engine) << engine.error().message();
    const auto sequences = generate(**engine, 0, 24, shape.vocabulary, 120);
    double k3 = 0, worst = 0;
    int count = 0;
    for (const Sequence& one : sequences) {
      Step step;
      add_prompt(step, one.tokens, 0, one.tokens.size() - 1, 31);
      for (std::size_t k = 0; k < one.logprobs.size(); ++k) {
        step.samples.push_back(request_at(one.prompt - 1 + k));
        step.samples.back().forced = one.tokens[one.prompt + k];
      }
      std::vector<Sample> samples(step.samples.size());
      (*engine)->run(step, samples);
      for (std::size_t k = 0; k < samples.size(); ++k) {
        const double d =
            static_cast<double>(samples[k].logprob) - static_cast<double>(one.logprobs[k]);
        k3 += std::exp(d) - d - 1;
        worst = std::max(worst, std::abs(d));
        ++count;
      }
    }
    k3 /= count;
    std::printf("%s %s: %d tokens, mean k3 %.2e, worst %.2e\n", name,
                std::string(to_string(type)).c_str(), count, k3, worst);
    if (type == WeightType::kFloat32)
      EXPECT_LT(worst, 1e-4);
    else
      EXPECT_LT(k3, 1e-4);
  }
}

TEST_F(CudaBatches, SaysWhatToLowerWhenMemoryIsShort) {
  const TestShape& shape = test_shape("qwen2");
  auto parameters = random_parameters(shape, WeightType::kBFloat16);
  auto engine = cuda::make_cuda_engine(*parameters, gpu_options({60000, 4096, 512}));
  // 60,000 slots of 4,096 positions take 187 GB here.
  ASSERT_FALSE(engine);
  std::printf("%s\n", engine.error().message().c_str());
  EXPECT_EQ(engine.error().code(), ErrorCode::kResourceExhausted);
  EXPECT_NE(engine.error().message().find("lower the slots to"), std::string::npos);
}

TEST_F(CudaBatches, RefusesWhatItHasNot) {
  auto int8 = random_parameters(test_shape("qwen2"), WeightType::kInt8);
  auto engine = cuda::make_cuda_engine(*int8, gpu_options({1, 64, 8}));
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace kw::lm
