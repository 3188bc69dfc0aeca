#include "task/gpu_facts.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "task/gpu_text.h"

namespace kw::task {
namespace {

GpuKernel kernel(const std::string& name, KernelOrigin origin, std::int64_t launches, double ms) {
  GpuKernel out;
  out.name = name;
  out.origin = origin;
  out.launches = launches;
  out.ms = ms;
  out.registers = 32;
  out.threads = 256;
  out.occupancy = 0.75;
  return out;
}

GpuFacts some_facts() {
  GpuFacts out;
  out.context = GpuContext::kResident;
  out.call = GpuCall{{kernel("softmax", KernelOrigin::kOwn, 2, 3),
                      kernel("ampere_sgemm_64x64_nn", KernelOrigin::kLibrary, 1, 1),
                      kernel("kw_copy", KernelOrigin::kMover, 1, 0.5)},
                     1,
                     0.5};
  out.candidate_bytes = 4096;
  out.baseline_bytes = 8192;
  out.roofline = GpuRoofline{2'000'000'000, 3'000'000'000'000, 4e12, 6e14, "bfloat16"};
  return out;
}

Result<GpuFacts> read_back(const Json& json) {
  KW_TRY(ObjectReader reader, ObjectReader::make(json, "gpu"));
  return gpu_facts_from(reader);
}

TEST(GpuFacts, AreReadAsTheyAreWritten) {
  const GpuFacts facts = some_facts();
  const Json json = to_json(facts, 10);
  EXPECT_EQ(read_back(json).value(), facts);
  EXPECT_EQ(read_back(to_json(GpuFacts{})).value(), GpuFacts{});
}

TEST(GpuFacts, TheRooflineIsTheLongerOfMemoryAndProducts) {
  const GpuRoofline roofline = *some_facts().roofline;
  EXPECT_DOUBLE_EQ(roofline.memory_ms(), 0.5);
  EXPECT_DOUBLE_EQ(roofline.compute_ms(), 5);
  EXPECT_DOUBLE_EQ(roofline.least_ms(), 5);
  EXPECT_EQ(roofline.limit(), "compute");
  const Json json = to_json(some_facts(), 10);
  EXPECT_DOUBLE_EQ(json["roofline"]["share"].get<double>(), 0.5);
  EXPECT_FALSE(to_json(some_facts())["roofline"].contains("share"));
  EXPECT_EQ(GpuRoofline{}.least_ms(), 0);
}

// 3 of 5 ms, 2 of 5 steps.
TEST(GpuFacts, CoverageCountsTheCandidatesOwnKernelsAlone) {
  const GpuCall call = *some_facts().call;
  const Coverage one = coverage_of({&call}).value();
  EXPECT_DOUBLE_EQ(one.time, 0.6);
  EXPECT_DOUBLE_EQ(one.count, 0.4);
  const GpuCall whole{{kernel("softmax", KernelOrigin::kOwn, 5, 15)}, 0, 0};
  const Coverage two = coverage_of({&call, &whole}).value();
  EXPECT_DOUBLE_EQ(two.time, 18.0 / 20);
  EXPECT_DOUBLE_EQ(two.count, 7.0 / 10);
  EXPECT_FALSE(coverage_of({}).has_value());
}

TEST(GpuFacts, NumbersThatNoMeasurementGivesAreRefusedByName) {
  struct Case {
    std::string name;
    std::function<void(GpuFacts&)> spoil;
  };
  const std::vector<Case> cases = {
      {"call.kernels.ms", [](GpuFacts& f) { f.call->kernels[0].ms = -1; }},
      {"call.kernels.occupancy", [](GpuFacts& f) { f.call->kernels[1].occupancy = 1.5; }},
      {"call.kernels.launches", [](GpuFacts& f) { f.call->kernels[1].launches = -2; }},
      {"call.other_ms",
       [](GpuFacts& f) { f.call->other_ms = std::numeric_limits<double>::infinity(); }},
      {"baseline_bytes", [](GpuFacts& f) { f.baseline_bytes = -1; }},
      {"roofline.flops", [](GpuFacts& f) { f.roofline->flops = -1; }},
      {"roofline.bytes_per_second", [](GpuFacts& f) { f.roofline->bytes_per_second = 1e30; }},
  };
  for (const Case& each : cases) {
    GpuFacts facts = some_facts();
    each.spoil(facts);
    const Status refused = check(facts, "gpu");
    ASSERT_FALSE(refused) << each.name;
    EXPECT_NE(refused.error().message().find("gpu." + each.name), std::string::npos)
        << refused.error().message();
  }
}

TEST(GpuFacts, AreToldInWords) {
  const GpuFacts facts = some_facts();
  EXPECT_EQ(kernel_text(facts.call->kernels[0]),
            "softmax (3 ms, 2 launches, 32 registers, occupancy 75 %)");
  GpuKernel spilling = facts.call->kernels[1];
  spilling.local_bytes = 64;
  spilling.shared_bytes = 2048;
  EXPECT_EQ(kernel_text(spilling),
            "ampere_sgemm_64x64_nn (1 ms, a library's, 32 registers, 64 bytes of spills and arrays "
            "a thread, 2.0 KiB of shared memory a block, occupancy 75 %)");
  EXPECT_EQ(roofline_text(*facts.roofline, 10), "50 % of what products in bfloat16 allow (5 ms)");
  EXPECT_EQ(roofline_text(GpuRoofline{}, 10), "");
  EXPECT_EQ(call_memory_text(facts), "4.0 KiB, the baseline 8.0 KiB");
  EXPECT_EQ(call_memory_text(GpuFacts{}), "");
}

TEST(GpuFacts, UnknownNamesAndKeysAreRefused) {
  Json json = to_json(some_facts());
  json["call"]["kernels"][0]["origin"] = "stolen";
  EXPECT_FALSE(read_back(json));
  json = to_json(some_facts());
  json["roofline"]["speed"] = 1;
  EXPECT_FALSE(read_back(json));
}

}  // namespace
}  // namespace kw::task
