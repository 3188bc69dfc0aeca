#include "data/generate.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "data/files.h"
#include "data/generate_mutations.h"
#include "data/generator_origin.h"
#include "os/file.h"

namespace kw::data {
namespace {

GenerateOptions few(std::uint64_t count) {
  GenerateOptions out;
  out.seed = 5;
  out.count = count;
  out.workers = 1;
  return out;
}

class GenerateFile : public testing::Test {
 protected:
  void SetUp() override {
    auto made = os::TempDir::make("kw-generate");
    ASSERT_TRUE(made);
    folder_.emplace(std::move(*made));
  }
  std::filesystem::path path(const std::string& name) const { return folder_->path() / name; }
  std::string content(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path(name), std::ios::binary).rdbuf();
    return out.str();
  }
  Result<GenerateCounts> generate(const std::string& name, const GenerateOptions& options) const {
    return generate_file(path(name), options, {}, {});
  }
  std::optional<os::TempDir> folder_;
};

TEST_F(GenerateFile, IsTheSameForAnyNumberOfWorkersAndReadsBack) {
  GenerateOptions options = few(60);
  ASSERT_TRUE(generate("one", options));
  options.workers = 5;
  const auto counts = generate("five", options);
  ASSERT_TRUE(counts) << counts.error().message();
  EXPECT_EQ(counts->rows, 60U);
  EXPECT_EQ(counts->bytes, content("five").size());
  EXPECT_EQ(content("one"), content("five"));
  std::map<Kind, int> kinds;
  std::set<std::string> ids;
  const auto read =
      for_each_sample(path("one"), [&](const Sample& sample, std::string_view) -> Status {
        ++kinds[sample.kind];
        ids.insert(sample.id);
        EXPECT_TRUE(sample.answered());
        EXPECT_NE(sample.answer().find("```cpp"), std::string::npos);
        EXPECT_EQ(sample.pending.has_value(),
                  sample.kind == Kind::kRepair || sample.kind == Kind::kSpeedup);
        if (sample.pending) {
          EXPECT_NE(sample.pending->previous, sample.answer());
        }
        EXPECT_FALSE(sample.labels.operators.empty());
        EXPECT_FALSE(sample.labels.other["made_of"].empty());
        EXPECT_FALSE(sample.labels.strategy.empty());
        KW_TRY_STATUS(task::problem_of(*sample.problem, "test"));
        return {};
      });
  EXPECT_TRUE(read) << read.error().message();
  EXPECT_EQ(ids.size(), 60U);
  EXPECT_EQ(kinds.size(), 5U);
}

TEST_F(GenerateFile, GoesOnBehindTheLastWholeLine) {
  ASSERT_TRUE(generate("whole", few(30)));
  const std::string whole = content("whole");
  std::size_t cut = 0;
  for (int i = 0; i < 7; ++i) cut = whole.find('\n', cut) + 1;
  for (const std::size_t length : {cut, cut + 100, std::size_t{40}, std::size_t{0}}) {
    std::ofstream(path("rest.partial"), std::ios::binary) << whole.substr(0, length);
    const auto counts = generate("rest", few(30));
    ASSERT_TRUE(counts) << counts.error().message();
    EXPECT_EQ(counts->before, length >= cut ? 7U : 0U);
    EXPECT_EQ(content("rest"), whole);
    std::filesystem::remove(path("rest"));
  }
}

TEST_F(GenerateFile, ALongerRunGoneOnWithIsCutToTheCount) {
  ASSERT_TRUE(generate("whole", few(12)));
  const std::string whole = content("whole");
  std::ofstream(path("shorter.partial"), std::ios::binary) << whole;
  const auto counts = generate("shorter", few(5));
  ASSERT_TRUE(counts) << counts.error().message();
  EXPECT_EQ(counts->rows, 5U);
  const std::string shorter = content("shorter");
  EXPECT_EQ(std::count(shorter.begin(), shorter.end(), '\n'), 5);
  EXPECT_TRUE(whole.starts_with(shorter));
}

TEST_F(GenerateFile, RefusesWhatItWouldSpoil) {
  ASSERT_TRUE(generate("file", few(3)));
  const auto there = generate("file", few(3));
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().code(), ErrorCode::kAlreadyExists);
  GenerateOptions other = few(4);
  other.seed = 6;
  std::filesystem::copy(path("file"), path("other.partial"));
  const auto mixed = generate("other", other);
  ASSERT_FALSE(mixed);
  EXPECT_NE(mixed.error().message().find("line 3"), std::string::npos) << mixed.error().message();
  EXPECT_EQ(content("other.partial"), content("file"));
  const auto nowhere = generate("no/such/folder", few(1));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code(), ErrorCode::kNotFound);
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = generate_file(path("stopped"), few(5), {}, stop.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
}

TEST(GenerateMix, SixtyPerCentOfWhatAsksForAKernelAreSteps) {
  const Mix mix;
  EXPECT_DOUBLE_EQ(mix.implement / (mix.implement + mix.convert), 0.6);
  EXPECT_DOUBLE_EQ(mix.implement + mix.convert + mix.definition + mix.repair + mix.speedup, 100);
}

TEST(GenerateLabels, DepthIsTheLongestPathOfTheOperators) {
  for (std::uint64_t i = 0; i < 30; ++i) {
    const Labels labels = generate_sample(few(30), i)->labels;
    std::vector<std::int64_t> depths(labels.operators.size(), 1);
    for (std::size_t to = 1; to < depths.size() && !labels.edges; ++to)
      depths[to] = depths[to - 1] + 1;
    for (const auto& [from, to] : labels.edges.value_or(std::vector<std::pair<int, int>>()))
      depths[static_cast<std::size_t>(to)] = std::max(depths[static_cast<std::size_t>(to)],
                                                      depths[static_cast<std::size_t>(from)] + 1);
    EXPECT_EQ(labels.depth, *std::max_element(depths.begin(), depths.end())) << i;
  }
}

// Convolutions of every rank and kind are cells of their own.
TEST(GenerateLabels, SayWhatAProblemIsMadeOf) {
  GenerateOptions options = few(0);
  options.mix = *mix_from_text("convert=1");
  options.problems.max_elements = 4096;
  std::set<std::string> convolutions;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const auto sample = generate_sample(options, index);
    ASSERT_TRUE(sample) << sample.error().message();
    for (const Json& name : sample->labels.other["made_of"]) {
      if (name.get<std::string>().find("conv") != std::string::npos)
        convolutions.insert(name.get<std::string>());
    }
  }
  for (const char* name :
       {"conv1d", "conv2d", "conv3d", "grouped_conv2d", "depthwise_conv2d", "conv_transpose2d"})
    EXPECT_TRUE(convolutions.contains(name)) << name;
}

TEST(GenerateTiers, OriginsBoundsGiveTheProblemBack) {
  GenerateOptions options = few(0);
  options.problems.tiers = {1, 2};
  options.problems.interpreted_elements = 1 << 12;
  options.problems.max_elements = 1 << 18;
  options.mix = *mix_from_text("convert=1,definition=1");
  for (std::uint64_t index = 0; index < 20; ++index) {
    const auto sample = generate_sample(options, index);
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_LE(*sample->labels.tier, 2);
    const auto again = sample_from_json(*parse_json(to_line(*sample)));
    ASSERT_TRUE(again) << again.error().message();
    const auto form = generated_form(*again);
    ASSERT_TRUE(form) << form.error().message();
    EXPECT_EQ((*form)->problem.hash, again->problem->hash);
  }
}

TEST(GenerateMix, Texts) {
  const auto mix = mix_from_text("implement=60, convert=40");
  ASSERT_TRUE(mix) << mix.error().message();
  EXPECT_EQ(mix->implement, 60);
  EXPECT_EQ(mix->convert, 40);
  EXPECT_EQ(mix->repair, 0);
  for (const char* wrong : {"", "implement", "implement=x", "chat=1", "convert=0", "repair=-1"})
    EXPECT_FALSE(mix_from_text(wrong)) << wrong;
  GenerateOptions options = few(20);
  options.mix = *mix_from_text("repair=1");
  for (std::uint64_t i = 0; i < 20; ++i)
    EXPECT_EQ(generate_sample(options, i)->kind, Kind::kRepair);
}

TEST(GenerateMutations, EachKindHasAPlaceAndChangesIt) {
  constexpr std::string_view kSource = R"(#include <cmath>
extern "C" void run(const float* x, const float* bias, float* out) {
  float a1 = 0;
  float a2 = -std::numeric_limits<float>::infinity();
  for (int64_t i0 = 0; i0 < M; ++i0) {
    a1 += (x[N * i0 + r1] * 0.5f) + bias[i0];
    a2 = kw_max<float>(a2, ((i0 - r1 >= 0) ? x[i0] : 0.0f)) - x[i0];
    out[i0] = x[i0] - a1 / static_cast<float>((N));
  }
}
)";
  constexpr std::string_view kTriton = R"(import triton
import triton.language as tl
@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    total = total + tl.load(x + at, mask=at < n, other=0.0) * 1.5
    tl.store(out + at, tl.sum(total, axis=0), mask=at < n)
grid = triton.cdiv(n, 64)
)";
  for (const auto& [language, source] :
       {std::pair{task::Language::kCpp, kSource}, std::pair{task::Language::kTriton, kTriton}}) {
    Rng rng(1);
    for (const std::string_view kind : mutation_kinds(language)) {
      const auto mutant = mutate(source, language, kind, rng);
      ASSERT_TRUE(mutant) << kind;
      EXPECT_NE(mutant->source, source) << kind;
      EXPECT_EQ(mutant->kind, kind);
    }
    std::set<std::string> kinds;
    for (int i = 0; i < 200; ++i) kinds.insert(mutate(source, language, rng)->kind);
    EXPECT_EQ(kinds.size(), mutation_kinds(language).size());
  }
  Rng rng(1);
  const auto barrier =
      mutate("a();\n__syncthreads();\nb();\n", task::Language::kCuda, "missing_barrier", rng);
  ASSERT_TRUE(barrier);
  EXPECT_EQ(barrier->source, "a();\n\nb();\n");
  EXPECT_FALSE(mutate("", task::Language::kCpp, rng));
  EXPECT_FALSE(mutate(kSource, task::Language::kPtx, rng));
}

// Each kind that is offered for a language is possible in what the writer prints in it.
TEST(GenerateMutations, EachKindOccursInRealAnswers) {
  constexpr std::uint64_t kAnswers = 300;
  for (const auto language : {task::Language::kCpp, task::Language::kTriton}) {
    GenerateOptions options = few(kAnswers);
    options.language = language;
    options.problems.max_elements = 4096;
    options.mix = *mix_from_text("implement=1,convert=1");
    std::map<std::string_view, int> found;
    for (std::uint64_t index = 0; index < kAnswers; ++index) {
      const auto sample = generate_sample(options, index);
      ASSERT_TRUE(sample) << sample.error().message();
      const std::string& answer = sample->answer();
      const std::string source = answer.substr(answer.find("```"));
      Rng rng(index);
      for (const std::string_view kind : mutation_kinds(language))
        found[kind] += mutate(source, language, kind, rng) ? 1 : 0;
    }
    // A twentieth, but for what few kernels have.
    for (const std::string_view kind : mutation_kinds(language))
      EXPECT_GE(found[kind], 15) << kind << " in " << task::to_string(language);
    if (language == task::Language::kTriton) {
      EXPECT_GE(found["accumulator_overwritten"], 100);
    } else {
      EXPECT_GE(found["wrong_function"], 150);
    }
  }
}

}  // namespace
}  // namespace kw::data
