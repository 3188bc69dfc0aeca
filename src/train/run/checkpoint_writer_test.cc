// A checkpoint has what was there when it began.
#include "train/run/checkpoint_writer.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lm/model/checkpoint.h"
#include "os/file.h"
#include "train/run/checkpoint_folders.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

lm::ModelConfig small_model() {
  lm::ModelConfig c;
  c.family = lm::Family::kLlama;
  c.vocabulary = 40;
  c.hidden = 16;
  c.layers = 1;
  c.heads = c.kv_heads = 2;
  c.head_dim = 8;
  c.intermediate = 24;
  c.max_position = 32;
  c.tied_embeddings = true;
  return c;
}

struct SmallRun {
  explicit SmallRun(std::uint64_t seed) {
    lm::initialise(parameters, seed);
    weights = std::make_unique<Weights>(parameters, at::kCPU, at::kFloat);
    optimizer = std::make_unique<Optimizer>(*weights, OptimizerSettings{});
    weights->gradients().fill_(0.01);
    optimizer->step(1e-3);
  }
  at::Tensor all() const {
    return at::cat({weights->masters(), optimizer->first_moments(), optimizer->second_moments()});
  }

  lm::Parameters parameters = lm::Parameters::make(small_model(), lm::WeightType::kFloat32).value();
  std::unique_ptr<Weights> weights;
  std::unique_ptr<Optimizer> optimizer;
};

TEST(CheckpointWriter, TrainingGoesOnWhileACheckpointIsWritten) {
  const auto folder = os::TempDir::make("kw-writer-").value();
  std::vector<fs::path> told;
  CheckpointWriter writer(folder.path(), folder.path() / "none", 2,
                          [&](const fs::path& path) { told.push_back(path); });
  EXPECT_EQ(writer.finish().value(), "");
  SmallRun run(1);
  std::vector<at::Tensor> were;
  for (std::int64_t step = 1; step <= 3; ++step) {
    TrainingState state;
    state.step = step;
    state.settings = Json::object();
    were.push_back(run.all());
    ASSERT_TRUE(writer.begin(state, *run.weights, *run.optimizer));
    state.step = 99;
    for (int i = 0; i < 5; ++i) run.optimizer->step(1e-2);
    EXPECT_GT((run.all() - were.back()).abs().max().item<double>(), 1e-3);
    if (step == 2) continue;  // the next one waits for it
    const auto path = writer.finish();
    ASSERT_TRUE(path) << path.error().message();
    EXPECT_EQ(path->filename(), "step-00000" + std::to_string(step));
    EXPECT_EQ(told.size(), static_cast<std::size_t>(step));
  }
  const auto found = checkpoints_in(folder.path()).value();
  ASSERT_EQ(found.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    SmallRun read(9);
    const auto state = read_training_state(found[i], 0);
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(state->step, static_cast<std::int64_t>(i) + 2);
    ASSERT_TRUE(load_training_state(found[i], *state, *read.weights, *read.optimizer));
    EXPECT_TRUE(read.all().equal(were[i + 1]));
    const auto config = lm::read_model_config(found[i]);
    ASSERT_TRUE(config) << config.error().message();
    auto model = lm::load_checkpoint(found[i], *config, lm::WeightType::kFloat32);
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_TRUE(Weights(*model, at::kCPU, at::kFloat).masters().equal(read.weights->masters()));
  }
}

TEST(CheckpointWriter, WritingStandsStillWithTheRun) {
  const auto folder = os::TempDir::make("kw-writer-").value();
  os::Standstill standstill;
  CheckpointWriter writer(
      folder.path(), folder.path() / "none", 0, [](const fs::path&) {}, &standstill);
  SmallRun run(1);
  TrainingState state;
  state.settings = Json::object();
  std::atomic<int> stands = 0;
  standstill.ask([&] { ++stands; });
  EXPECT_EQ(stands, 1);
  ASSERT_TRUE(writer.begin(state, *run.weights, *run.optimizer));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(fs::is_empty(folder.path()));
  standstill.resume();
  // Whenever it is asked for, it begins, and the checkpoint is whole in the end.
  standstill.ask([&] { ++stands; });
  while (stands < 2) std::this_thread::yield();
  standstill.resume();
  const auto path = writer.finish();
  ASSERT_TRUE(path) << path.error().message();
  EXPECT_EQ(checkpoints_in(folder.path()).value().size(), 1U);
}

TEST(CheckpointWriter, AnErrorIsThatOfFinish) {
  const auto folder = os::TempDir::make("kw-writer-").value();
  const fs::path run = folder.path() / "file";
  ASSERT_TRUE(os::write_file_atomic(run, "not a folder"));
  CheckpointWriter writer(run, run, 0, [](const fs::path&) { FAIL(); });
  SmallRun trained(1);
  TrainingState state;
  state.settings = Json::object();
  ASSERT_TRUE(writer.begin(state, *trained.weights, *trained.optimizer));
  EXPECT_FALSE(writer.finish().has_value());
  EXPECT_EQ(writer.finish().value(), "");
}

}  // namespace
}  // namespace kw::train
