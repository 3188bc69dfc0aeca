// Tests of the range checks of returned tensors, and of gathering against a plain loop.
#include "gym/correctness/returned.h"

#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace kw::gym {
namespace {

using task::Outcome;
using tensor::DType;

OutputReport report_of(DType dtype, std::vector<std::int64_t> shape,
                       std::vector<std::int64_t> stride, std::uint64_t offset = 0) {
  OutputReport report{};
  report.offset = offset;
  report.dtype = static_cast<std::uint32_t>(dtype);
  report.rank = static_cast<std::uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), report.shape);
  std::copy(stride.begin(), stride.end(), report.stride);
  return report;
}

task::Argument declared(DType dtype, std::vector<std::int64_t> shape) {
  task::Argument argument;
  argument.name = "y";
  argument.role = task::Role::kOutput;
  argument.dtype = dtype;
  argument.shape = std::move(shape);
  return argument;
}

Outcome outcome(const OutputReport& report, const task::Argument& expected,
                std::size_t arena = 4096) {
  return check_returned(report, expected, arena).outcome;
}

TEST(Returned, AcceptsViewsThatTorchMakes) {
  task::Argument y = declared(DType::kFloat32, {4, 6});
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {6, 1}), y), Outcome::kPassed);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {1, 4}, 64), y),
            Outcome::kPassed);  // transposed
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {16, 2}, 64), y),
            Outcome::kPassed);  // sliced
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {}, {}), declared(DType::kFloat32, {})),
            Outcome::kPassed);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {1, 6}, {0, 1}), declared(DType::kFloat32, {1, 6})),
            Outcome::kPassed);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {0, 6}, {0, 0}, 1 << 20),
                    declared(DType::kFloat32, {0, 6})),
            Outcome::kPassed);
}

TEST(Returned, RefusesOtherShapesAndDtypes) {
  task::Argument y = declared(DType::kFloat32, {4, 6});
  EXPECT_EQ(outcome(report_of(DType::kFloat64, {4, 6}, {6, 1}), y), Outcome::kWrongDtype);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {6, 4}, {4, 1}), y), Outcome::kWrongShape);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {24}, {1}), y), Outcome::kWrongShape);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {1, 4, 6}, {24, 6, 1}), y), Outcome::kWrongShape);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 0}, {6, 1}), y), Outcome::kWrongShape);
}

TEST(Returned, RefusesSharedElements) {
  task::Argument y = declared(DType::kFloat32, {4, 6});
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {0, 1}), y),
            Outcome::kWrongShape);  // one row four times
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {6, 0}), y), Outcome::kWrongShape);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {1, 1}), y),
            Outcome::kWrongShape);  // a sliding window
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {5, 1}), y), Outcome::kWrongShape);
}

TEST(Returned, RefusesWhatTheLeafNeverWrites) {
  task::Argument y = declared(DType::kFloat32, {4, 6});
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {6, 1}, 4096 - 95), y),
            Outcome::kViolation);  // misaligned
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {6, 1}, 4096 - 92), y),
            Outcome::kViolation);  // one element outside
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {6, 1}, 4096 - 96), y), Outcome::kPassed);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {1 << 20, 1}), y), Outcome::kViolation);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {-6, 1}), y), Outcome::kViolation);
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {6, 1},
                              std::numeric_limits<std::uint64_t>::max() - 3),
                    y),
            Outcome::kViolation);
  std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(outcome(report_of(DType::kFloat32, {4, 6}, {huge, huge}), y), Outcome::kViolation);
  OutputReport report = report_of(DType::kFloat32, {4, 6}, {6, 1});
  report.rank = 9;
  EXPECT_EQ(outcome(report, y), Outcome::kViolation);
  report = report_of(DType::kFloat32, {4, 6}, {6, 1});
  report.dtype = 13;
  EXPECT_EQ(outcome(report, y), Outcome::kViolation);
}

TEST(Returned, GathersLikeAPlainLoop) {
  std::vector<std::int16_t> memory(512);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::int16_t>(i);
  struct Strided {
    std::vector<std::int64_t> shape, stride;
  };
  for (const Strided& c : {Strided{{}, {}},
                           {{7}, {3}},
                           {{3, 5}, {5, 1}},
                           {{3, 5}, {1, 3}},
                           {{2, 3, 4}, {1, 8, 2}},
                           {{2, 1, 3, 2}, {100, 7, 20, 3}}}) {
    OutputReport report = report_of(DType::kInt16, c.shape, c.stride, 6);
    task::Argument y = declared(DType::kInt16, c.shape);
    ASSERT_EQ(outcome(report, y, 1024), Outcome::kPassed);
    std::vector<std::int64_t> expected = {
        3};  // offsets in elements, by building up dimension by dimension
    for (std::size_t d = 0; d < c.shape.size(); ++d) {
      std::vector<std::int64_t> next;
      for (std::int64_t base : expected) {
        for (std::int64_t i = 0; i < c.shape[d]; ++i) next.push_back(base + i * c.stride[d]);
      }
      expected = next;
    }
    std::vector<std::int16_t> out(expected.size());
    gather_returned(report, std::as_bytes(std::span(memory)),
                    std::as_writable_bytes(std::span(out)));
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], expected[i]);
  }
}

// An empty tensor may lie anywhere: its offset leads nowhere.
TEST(Returned, EmptyTensorsHaveNoPlace) {
  std::vector<std::byte> arena(64), copy;
  OutputReport empty = report_of(DType::kFloat32, {0}, {1}, std::uint64_t{1} << 60);
  ASSERT_EQ(outcome(empty, declared(DType::kFloat32, {0}), arena.size()), Outcome::kPassed);
  EXPECT_TRUE(returned_bytes(empty, arena, 0, copy).empty());
  OutputReport whole = report_of(DType::kFloat32, {16}, {1});
  EXPECT_EQ(returned_bytes(whole, arena, 64, copy).data(), arena.data());
  OutputReport spread = report_of(DType::kFloat32, {8}, {2});
  std::span<const std::byte> gathered = returned_bytes(spread, arena, 32, copy);
  EXPECT_EQ(gathered.data(), copy.data());
}

}  // namespace
}  // namespace kw::gym
