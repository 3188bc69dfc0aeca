// The build stage end to end: our side drives the real kernelwright-compiler and g++.
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gym/compile/shared_object.h"
#include "gym/protocol.h"
#include "testing/build_stage.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST_F(CompilerTest, BuildsAndStoresASharedObject) {
  CompilePlan scale = plan(candidate(kScale));
  EXPECT_FALSE(find_build(scale, cache_).value());
  BuildOutcome outcome = build(scale);
  ASSERT_EQ(outcome.status, BuildStatus::kBuilt) << outcome.diagnostics;
  EXPECT_FALSE(outcome.cached);
  EXPECT_GT(outcome.compile_ms, 1);
  float x[4] = {1, -2, 3, -4}, y[4] = {};
  double factor = 2;
  std::int64_t negate = 1, n = 4;
  Loaded(outcome.artifact).call(nullptr, {x, &factor, &negate, y, &n});
  EXPECT_THAT(y, testing::ElementsAre(1, -1, -3, -5));

  BuildOutcome again = find_build(scale, cache_).value().value();
  EXPECT_TRUE(again.cached);
  negate = 0;
  Loaded(again.artifact).call(nullptr, {x, &factor, &negate, y, &n});
  EXPECT_THAT(y, testing::ElementsAre(5, 7, 9, 11));
}

TEST_F(CompilerTest, EqualSourcesGiveEqualBytes) {
  auto bytes = [&] {
    BuildOutcome outcome =
        build(std::string("namespace { int hidden(int64_t n) { return n > 3; } }\n"
                          "const char* built = __DATE__ __TIME__ __FILE__;\n") +
              kScale + "int use(int64_t n) { return hidden(n); }\n");
    EXPECT_EQ(outcome.status, BuildStatus::kBuilt) << outcome.diagnostics;
    return os::read_to_end(outcome.artifact.get(), 1 << 26).value();
  };
  std::string first = bytes();
  EXPECT_EQ(first, bytes());
  EXPECT_THAT(first, HasSubstr("Jan  1 1970"));
}

TEST_F(CompilerTest, SeveralFilesWithPrepare) {
  task::Candidate c = candidate(R"(
#include "lib/helper.h"
void* prepare(int64_t n) { return new float(helper(n)); }
void run(void* state, const float* x, float, bool, float* y, int64_t) { y[0] = *(float*)state + x[0]; }
)");
  c.sources.push_back({"lib/helper.h", "float helper(int64_t n);\n"});
  c.sources.push_back(
      {"lib/helper.cc", "#include \"helper.h\"\nfloat helper(int64_t n) { return n * width; }\n"});
  BuildOutcome outcome = build(plan(c));
  ASSERT_EQ(outcome.status, BuildStatus::kBuilt) << outcome.diagnostics;
  EXPECT_TRUE(outcome.has_prepare);
  Loaded object(outcome.artifact);
  std::int64_t n = 4;
  float x[4] = {1}, y[4] = {};
  double factor = 2;
  void* state = object.prepare({&n});
  ASSERT_NE(state, nullptr);
  object.call(state, {x, &factor, &n, y, &n});
  EXPECT_EQ(y[0], 13.0F);
  delete static_cast<float*>(state);
}

TEST_F(CompilerTest, ErrorsComeBackWithTheirLines) {
  BuildOutcome outcome = build(
      "void run(const float* x, float, bool, float* y, int64_t n) {\n  y[0] = "
      "undeclared(x[0]);\n}\n");
  EXPECT_EQ(outcome.status, BuildStatus::kFailed);
  EXPECT_THAT(outcome.diagnostics,
              HasSubstr("main.cpp:2:10: error: 'undeclared' was not declared"));
  EXPECT_THAT(outcome.diagnostics, HasSubstr("y[0] = undeclared(x[0]);"));
  EXPECT_EQ(cache_.size().value().entries, 0U);
}

TEST_F(CompilerTest, AnotherSignatureDoesNotCompile) {
  for (const char* source : {
           "extern \"C\" void run(float* x, float, bool, float* y, int64_t n) {}",
           "void run(const double* x, float, bool, float* y, int64_t n) {}",
           "int64_t unrelated(int64_t n) { return n; }",
           "static void run(const float*, float, bool, float*, int64_t) {}",
       }) {
    BuildOutcome outcome = build(source);
    EXPECT_EQ(outcome.status, BuildStatus::kFailed) << source;
    EXPECT_THAT(outcome.diagnostics, HasSubstr("run")) << source;
  }
  BuildOutcome state = build(
      "void* prepare(const float* w) { return 0; }\n"
      "void run(void*, const float*, float, bool, float*, int64_t) {}");
  EXPECT_EQ(state.status, BuildStatus::kFailed);
  EXPECT_THAT(state.diagnostics, HasSubstr("prepare"));
}

TEST_F(CompilerTest, UndefinedFunctionsFailHereAndNotInTheExecutor) {
  BuildOutcome outcome =
      build(std::string("void nowhere();\nint use() { nowhere(); return 1; }\n") + kScale);
  EXPECT_EQ(outcome.status, BuildStatus::kFailed);
  EXPECT_THAT(outcome.diagnostics, HasSubstr("undefined reference to `nowhere()'"));
}

TEST_F(CompilerTest, ACompilationThatTakesTooLong) {
  CompilePlan slow = plan(candidate(kScale));
  slow.commands = {{"sleep", "30"}};
  Process process;
  BuildOutcome outcome =
      run_compile(slow, process.link(std::chrono::milliseconds(50)), cache_).value();
  EXPECT_EQ(outcome.status, BuildStatus::kTimedOut);
  EXPECT_THAT(outcome.diagnostics, HasSubstr("took longer than"));
}

TEST_F(CompilerTest, ArtefactsThatAreNone) {
  auto outcome_of = [&](std::vector<std::vector<std::string>> commands) {
    CompilePlan p = plan(candidate(kScale));
    std::vector<std::string> gcc = p.commands[0];
    p.commands = std::move(commands);
    if (p.commands[0].empty()) p.commands[0] = gcc;
    return build(p);
  };
  // {} stands for the real build: a good object, then something done to it.
  EXPECT_EQ(outcome_of({{}, {"true"}}).status, BuildStatus::kBuilt);
  ASSERT_TRUE(cache_.clean());
  for (const auto& after : std::vector<std::vector<std::string>>{
           {"rm", "kw_out.so"},
           {"ln", "kw_out.so", "other.so"},
           {"sh", "-c", "mv kw_out.so real.so; ln -s real.so kw_out.so"},
           {"sh", "-c", "rm kw_out.so; mkfifo kw_out.so"},
           {"sh", "-c", "rm kw_out.so; mkdir kw_out.so"},
           {"sh", "-c", "echo text > kw_out.so"},
           {"sh", "-c", "truncate -s 200 kw_out.so"},
           {"false"},
           {"sh", "-c", "kill -9 $$"},
           {"no-such-program"},
           {"sh", "-c", "kill -9 $PPID"},
       }) {
    BuildOutcome outcome = outcome_of({{}, after});
    EXPECT_EQ(outcome.status, BuildStatus::kFailed) << after.back();
    EXPECT_NE(outcome.diagnostics, "") << after.back();
    EXPECT_FALSE(outcome.artifact.valid());
  }
  BuildOutcome large = outcome_of({{}, {"truncate", "-s", "65M", "kw_out.so"}});
  EXPECT_EQ(large.status, BuildStatus::kTooLarge);
  EXPECT_EQ(cache_.size().value().entries, 0U);
}

TEST_F(CompilerTest, FilesStayBeneathTheFolder) {
  for (const char* path : {"../escaped", "/tmp/kw-escaped", "link/escaped", "a/../../escaped", "",
                           "./x", "a//b", "twice"}) {
    Process process;
    fs::create_directory(process.folder() / "outside");
    fs::create_symlink("../outside", process.work() / "link");
    std::ofstream(process.work() / "twice") << "there already";
    os::UniqueFd sources = os::make_sealed_file("sources", "text").value();
    os::UniqueFd output = os::make_memory_file("output", 4096).value();
    Json request{{"op", "compile"},
                 {"fds", {"sources", "output"}},
                 {"files", Json::array({Json{{"path", path}, {"size", 4}}})},
                 {"commands", Json::array({Json::array({"true"})})},
                 {"artifact", "kw_out.so"},
                 {"artifact_limit", 100}};
    ASSERT_TRUE(os::send_message(process.control(), request, {sources.get(), output.get()}));
    EXPECT_EQ(os::receive_message(process.control(), std::chrono::seconds(20)).error().code(),
              ErrorCode::kUnavailable);
    BuildHeader header{};
    ASSERT_EQ(::pread(output.get(), &header, sizeof header, 0), ssize_t{sizeof header});
    EXPECT_EQ(header.magic, 0U) << path;
    EXPECT_FALSE(fs::exists(process.folder() / "escaped")) << path;
    EXPECT_FALSE(fs::exists(process.folder() / "outside" / "escaped")) << path;
    EXPECT_FALSE(fs::exists("/tmp/kw-escaped")) << path;
  }
}

// A process that answers whatever a test wrote into its output: the supervisor must not believe it.
TEST_F(CompilerTest, LiesOfTheCompilerAreNotBelieved) {
  struct Lie {
    BuildHeader header;
    BuildStatus expected;
  };
  constexpr std::uint64_t kMagic = BuildHeader::kMagic;
  auto header = [](std::uint64_t magic, std::uint32_t status, std::uint64_t bytes) {
    BuildHeader out{};
    out.magic = magic;
    out.status = status;
    out.artifact_bytes = bytes;
    return out;
  };
  for (const Lie& lie : {
           Lie{header(0, 0, 0), BuildStatus::kFailed},
           Lie{header(kMagic, 0, 0), BuildStatus::kFailed},
           Lie{header(kMagic, 0, 5000), BuildStatus::kFailed},
           Lie{header(kMagic, 0, ~0ULL), BuildStatus::kTooLarge},
           Lie{header(kMagic, 0, kMaxArtifactBytes + 1), BuildStatus::kTooLarge},
           Lie{header(kMagic, 77, 0), BuildStatus::kFailed},
       }) {
    os::SocketPair pair = os::make_message_socket_pair().value();
    std::jthread liar([&] {
      auto message = os::receive_message(pair.second.get(), std::chrono::seconds(20)).value();
      EXPECT_EQ(::pwrite(message.fds[1].get(), &lie.header, sizeof lie.header, 0),
                ssize_t{sizeof lie.header});
      EXPECT_TRUE(os::send_message(pair.second.get(), Json{{"ignored", true}}));
      pair.second.reset();
    });
    CompilerLink link;
    link.control = pair.first.get();
    BuildOutcome outcome = run_compile(plan(candidate(kScale)), link, cache_).value();
    EXPECT_EQ(outcome.status, lie.expected);
    EXPECT_FALSE(outcome.artifact.valid());
    EXPECT_EQ(cache_.size().value().entries, 0U);
  }
}

}  // namespace
}  // namespace kw::gym
