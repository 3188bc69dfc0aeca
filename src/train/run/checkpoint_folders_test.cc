#include "train/run/checkpoint_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class CheckpointFolders : public ::testing::Test {
 protected:
  void save(std::int64_t step, std::int64_t keep) {
    const fs::path partial = begin_checkpoint(run(), step).value();
    EXPECT_TRUE(fs::is_empty(partial));
    for (const char* name : {"model.safetensors", kCheckpointDone})
      EXPECT_TRUE(os::write_file_atomic(partial / name, "x"));
    EXPECT_EQ(finish_checkpoint(run(), step, keep).value().parent_path(), run() / "checkpoints");
  }
  void make(const std::string& name, const std::string& file) {
    fs::create_directories(run() / "checkpoints" / name);
    EXPECT_TRUE(os::write_file_atomic(run() / "checkpoints" / name / file, "x"));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(run() / "checkpoints"))
      out.push_back(entry.path().filename());
    return out;
  }
  std::vector<std::string> complete() const {
    std::vector<std::string> out;
    const std::vector<fs::path> all = checkpoints_in(run()).value();
    for (const fs::path& path : all) out.push_back(path.filename());
    return out;
  }
  fs::path run() const { return folder_.path() / "run"; }

 private:
  os::TempDir folder_ = os::TempDir::make("kw-checkpoints-").value();
};

TEST_F(CheckpointFolders, TheNewestStay) {
  EXPECT_THAT(complete(), ElementsAre());
  for (std::int64_t step : {8, 999'999, 1'000'000, 16}) save(step, 0);
  EXPECT_THAT(complete(), ElementsAre("step-000008", "step-000016", "step-999999", "step-1000000"));
  save(24, 2);
  EXPECT_THAT(names(), UnorderedElementsAre("step-999999", "step-1000000"));
}

TEST_F(CheckpointFolders, TheSameStepIsWrittenAnew) {
  save(8, 2);
  make("step-000008", "left");
  save(8, 2);
  EXPECT_FALSE(fs::exists(run() / "checkpoints/step-000008/left"));
  EXPECT_THAT(names(), ElementsAre("step-000008"));
}

// A kill while a checkpoint is written, while one is removed, and by an earlier version that
// removed files under the checkpoint's own name.
TEST_F(CheckpointFolders, LeftoversOfAKillAreRemovedAndNeverNamed) {
  save(8, 2);
  make("partial-step-000016", "model.safetensors");
  make("partial-step-000004", "DONE");
  make("step-000002", "model.safetensors");
  EXPECT_THAT(complete(), ElementsAre("step-000008"));
  save(16, 2);
  EXPECT_THAT(names(), UnorderedElementsAre("step-000008", "step-000016"));
}

TEST_F(CheckpointFolders, OtherFilesStay) {
  make("notes", "text");
  save(8, 1);
  save(16, 1);
  EXPECT_THAT(names(), UnorderedElementsAre("notes", "step-000016"));
}

}  // namespace
}  // namespace kw::train
