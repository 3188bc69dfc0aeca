// These test where the programs are looked for: beside the running one, in lib/ beside its folder,
// and which Python is taken.
#include "gym/supervisor/programs.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ProgramsTest : public ::testing::Test {
 protected:
  ProgramsTest() {
    for (const char* name : {"kernelwright-launcher", "kernelwright-checker",
                             "kernelwright-executor", "kernelwright-compiler"})
      put(fs::path("bin") / name);
    for (const char* name : {"libkw_arena.so", "libkw_sandbox_leaf.so"})
      put(fs::path("lib") / name);
    options_.programs_folder = root_ / "bin";
    options_.python = "/nowhere/python3";
  }
  void put(const fs::path& path) {
    fs::create_directories((root_ / path).parent_path());
    ASSERT_TRUE(os::write_file_atomic(root_ / path, ""));
  }

  os::TempDir folder_ = os::TempDir::make("kw-programs-").value();
  fs::path root_ = fs::canonical(folder_.path());
  GymOptions options_;
};

TEST_F(ProgramsTest, AreInTheFolderOrInLibBesideIt) {
  const auto programs = find_programs(options_);
  ASSERT_TRUE(programs) << programs.error().message();
  EXPECT_EQ(programs->checker, root_ / "bin/kernelwright-checker");
  EXPECT_EQ(programs->arena_library, root_ / "lib/libkw_arena.so");
  put("bin/libkw_arena.so");
  EXPECT_EQ(find_programs(options_)->arena_library, root_ / "bin/libkw_arena.so");
}

TEST_F(ProgramsTest, TheOneThatIsMissingIsNamedWithTheRemedy) {
  for (const char* name :
       {"bin/kernelwright-launcher", "bin/kernelwright-checker", "bin/kernelwright-executor",
        "bin/kernelwright-compiler", "lib/libkw_arena.so", "lib/libkw_sandbox_leaf.so"}) {
    fs::remove(root_ / name);
    const auto programs = find_programs(options_);
    ASSERT_FALSE(programs) << name;
    EXPECT_EQ(programs.error().code(), ErrorCode::kNotFound);
    EXPECT_THAT(programs.error().message(), HasSubstr(fs::path(name).filename().string()));
    EXPECT_THAT(programs.error().message(), HasSubstr("run ./kernelwright once"));
    put(name);
  }
}

// The CPU is judged without it.
TEST_F(ProgramsTest, TheGpusExecutorMayBeMissing) {
  EXPECT_EQ(find_programs(options_)->gpu_executor, "");
  put("bin/kernelwright-gpu-executor");
  EXPECT_EQ(find_programs(options_)->gpu_executor, root_ / "bin/kernelwright-gpu-executor");
}

TEST_F(ProgramsTest, ThePythonLeavesAreThoseOfTheCheckoutAboveUnlessTheOptionsSay) {
  put("python/zygote.py");
  EXPECT_EQ(find_programs(options_)->python_folder, root_ / "python");
  options_.python_folder = "/elsewhere";
  EXPECT_EQ(find_programs(options_)->python_folder, "/elsewhere");
}

// A virtual environment is known by its path, so that a link is not followed.
TEST_F(ProgramsTest, ThePythonOfTheOptionsComesFirst) {
  put("python/zygote.py");
  put(".venv/bin/python");
  EXPECT_EQ(find_programs(options_)->python, "/nowhere/python3");
}

}  // namespace
}  // namespace kw::gym
