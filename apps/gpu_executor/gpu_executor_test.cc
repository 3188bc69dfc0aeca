// The real kernelwright-gpu-executor and the checker's client. Tests of kernels skip themselves,
// saying so, where there is no GPU.
#include <chrono>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "gym/cuda/device_memory.h"
#include "gym/cuda/plan_file.h"
#include "testing/gpu_process.h"

namespace kw::gym {
namespace {

using namespace std::chrono_literals;

PlanContents plan_of(const std::string& kernel, const char* grid = "1") {
  PlanContents out;
  out.modules = {os::read_file(KW_SOURCE_DIR "/apps/gpu_executor/testdata/kernels.cubin").value()};
  out.plan.modules = {
      {task::ModuleKind::kCubin,
       {"kernels", sha256_hex(out.modules[0]), static_cast<std::int64_t>(out.modules[0].size())}}};
  task::PlanLaunch launch;
  launch.function = kernel;
  launch.grid = {task::LaunchExpression::parse(grid).value()};
  launch.block = {task::LaunchExpression(256)};
  task::PlanScalar n;
  n.dtype = tensor::DType::kInt64;
  n.value = task::LaunchExpression(testing::kWorkloadElements);
  launch.arguments = {task::PlanMemory{task::MemoryKind::kInput, 0},
                      task::PlanMemory{task::MemoryKind::kOutput, 0}, n};
  out.plan.steps = {launch};
  return out;
}

// y = 3 x + 1 over two sets of memory.
class GpuExecutor : public ::testing::Test {
 protected:
  void make_memory(TensorAllocator& allocator) {
    signature_ = testing::workload_signature();
    for (std::uint64_t s = 0; s < 2; ++s) {
      inputs_.push_back(
          allocator.allocate("inputs", Layout::for_reading(tensors_of(signature_.inputs)), true)
              .value());
      ASSERT_TRUE(inputs_[s]->fill(0, {tensor::DType::kFloat32, {256}, {}}, s));
    }
    output_ = OutputMemory::make(allocator, signature_, 2).value();
    Rng rng(7);
    for (const auto& destination : output_.destinations) {
      destination->move(rng);
      ASSERT_TRUE(destination->write_canaries(5));
      ASSERT_TRUE(destination->poison(0, tensor::DType::kFloat32, 6));
    }
  }
  void attach(const std::string& program) {
    auto [pid, socket] = testing::start_gpu_executor();
    ExecutorMemory memory;
    for (const auto& set : inputs_) memory.inputs.push_back(set.get());
    memory.output = &output_;
    ExecutorClient::Attach attach;
    attach.control = std::move(socket);
    attach.monitor = std::make_unique<testing::ChildMonitor>(pid);
    attach.source = os::make_sealed_file("source", program).value();
    attach.setup.language = ExecutorLanguage::kPlan;
    attach.setup.device = 0;
    attach.turn = &turn_;
    attach.clock = &host_clock();
    client_ = ExecutorClient::attach(std::move(attach), signature_, memory).value();
  }
  static std::vector<float> floats(std::span<const std::byte> bytes) {
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }

  std::unique_ptr<TensorAllocator> allocator_;
  task::Signature signature_;
  std::vector<std::unique_ptr<TensorMemory>> inputs_;
  OutputMemory output_;
  os::TempDir folder_ = os::TempDir::make("kw-gpu").value();
  Turn turn_{testing::lone_lock(folder_)};
  std::unique_ptr<ExecutorClient> client_;
};

// Kernels run.
class GpuKernels : public GpuExecutor {
 protected:
  void SetUp() override {
    auto source = cuda_source(0, {});
    if (!source) GTEST_SKIP() << "no GPU: " << source.error().message();
    allocator_ = std::make_unique<DeviceAllocator>(std::move(*source));
    make_memory(*allocator_);
  }
  void start(const std::string& kernel, const char* grid = "1") {
    attach(write_plan_file(plan_of(kernel, grid)).value());
    load_ = client_->load(20s).value();
  }
  LaunchEnd launch(std::initializer_list<std::uint32_t> sets,
                   std::chrono::nanoseconds timeout = 20s) {
    const std::vector<std::uint32_t> list(sets);
    last_ = client_->launch(list, timeout).value();
    return last_.end;
  }
  void expect_right(std::size_t set) {
    const std::vector<float> x = floats(inputs_[set]->view(0).value());
    const std::vector<float> y = floats(output_.destinations[set]->view(0).value());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], std::fma(3.0F, x[i], 1.0F)) << i;
    EXPECT_TRUE(output_.destinations[set]->canaries_intact(5).value());
  }
  LaunchResult load_, last_;
};

TEST_F(GpuExecutor, SaysThatMemoryOfTheHostIsNoneOfAGpus) {
  HostAllocator host;
  make_memory(host);
  attach("no plan");
  const LaunchResult load = client_->load(20s).value();
  EXPECT_EQ(load.end, LaunchEnd::kFailed);
  EXPECT_EQ(client_->end().failure, Failure::kLoad);
}

TEST_F(GpuKernels, ComputeEverySetOfALaunch) {
  start("affine");
  ASSERT_EQ(load_.end, LaunchEnd::kDone);
  EXPECT_EQ(client_->style(), Style::kDestinationPassing);
  ASSERT_EQ(client_->null_launch(20s).value().end, LaunchEnd::kDone);
  EXPECT_NE(floats(output_.destinations[0]->view(0).value())[0],
            std::fma(3.0F, floats(inputs_[0]->view(0).value())[0], 1.0F));
  ASSERT_EQ(launch({1, 0}), LaunchEnd::kDone);
  expect_right(0);
  expect_right(1);
}

TEST_F(GpuKernels, EachKernelOfACallIsTimedByItself) {
  PlanContents contents = plan_of("affine");
  contents.plan.scratch = {{"partial", task::LaunchExpression(1 << 20), 256, true}};
  contents.plan.steps.push_back(contents.plan.steps.front());
  attach(write_plan_file(contents).value());
  ASSERT_EQ(client_->load(20s)->end, LaunchEnd::kDone);
  ASSERT_EQ(launch({0}), LaunchEnd::kDone);
  ASSERT_TRUE(client_->runs_plan());
  ASSERT_EQ(client_->profile(0, 20s)->end, LaunchEnd::kDone);
  const PlanCall call = client_->plan_call();
  ASSERT_EQ(call.kernels.size(), 1U);
  EXPECT_EQ(call.kernels[0].launches, 2U);
  EXPECT_EQ(call.kernels[0].threads, 256U);
  EXPECT_GT(call.kernels[0].registers, 0U);
  EXPECT_GT(call.kernels[0].ns, 0U);
  EXPECT_GT(call.kernels[0].resident_threads, 0U);
  EXPECT_LE(call.kernels[0].resident_threads, call.most_threads);
  EXPECT_EQ(call.other_steps, 1U);  // scratch is cleared
  EXPECT_GT(call.other_time.count(), 0);
  EXPECT_EQ(client_->call_bytes(), (1 << 20) + 256 * 4);
  ASSERT_EQ(launch({1}), LaunchEnd::kDone);
  expect_right(1);
}

TEST_F(GpuKernels, AWriteToAnInputFaultsAndChangesNothing) {
  const std::uint64_t before = inputs_[0]->hash(3, 1U << 20U).value();
  start("greedy");
  EXPECT_EQ(launch({0}), LaunchEnd::kFailed);
  EXPECT_EQ(client_->end().failure, Failure::kKernelFault);
  EXPECT_EQ(inputs_[0]->hash(3, 1U << 20U).value(), before);
  // The next executor uses the same memory.
  start("affine");
  ASSERT_EQ(launch({0}), LaunchEnd::kDone);
  expect_right(0);
}

TEST_F(GpuKernels, AKernelThatDoesNotEndIsATimeout) {
  start("slow");
  EXPECT_EQ(launch({0}, 200ms), LaunchEnd::kTimeout);
  client_.reset();
  start("affine");
  ASSERT_EQ(launch({0}), LaunchEnd::kDone);
  expect_right(0);
}

TEST_F(GpuKernels, AStrayWriteBreaksTheCanary) {
  start("stray");
  ASSERT_EQ(launch({0}), LaunchEnd::kDone);
  EXPECT_FALSE(output_.destinations[0]->canaries_intact(5).value());
  EXPECT_TRUE(output_.destinations[1]->canaries_intact(5).value());
}

TEST_F(GpuKernels, AKernelThatIsMissingDoesNotLoad) {
  start("absent");
  EXPECT_EQ(load_.end, LaunchEnd::kFailed);
  EXPECT_EQ(client_->end().failure, Failure::kLoad);
}

}  // namespace
}  // namespace kw::gym
