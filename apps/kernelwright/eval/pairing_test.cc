// Solutions find their problems.
#include "kernelwright/eval/pairing.h"

#include <gtest/gtest.h>

namespace kw::front {
namespace {

task::Problem definition(std::string name) {
  task::Problem problem;
  problem.name = std::move(name);
  return problem;
}

task::Problem module(std::string name, std::int64_t level, std::int64_t id) {
  task::Problem problem = definition(std::move(name));
  task::Module body;
  body.level = level;
  body.problem_id = id;
  problem.body = body;
  return problem;
}

task::Candidate candidate(std::string name, std::string definition_name = "") {
  task::Candidate out;
  out.name = std::move(name);
  out.definition = std::move(definition_name);
  return out;
}

task::Candidate sample(std::int64_t level, std::int64_t id) {
  task::Candidate out = candidate("sample");
  out.sample = task::KernelBenchSample{level, id, 0};
  return out;
}

TEST(Pairing, ByDefinitionNumberAndName) {
  std::vector<task::Problem> problems = {definition("relu"), module("19_ReLU", 1, 19),
                                         module("19_Conv", 2, 19)};
  std::vector<task::Candidate> candidates = {
      candidate("x", "relu"),    sample(2, 19), sample(1, 19), candidate("relu"),
      candidate("relu", "gelu"), sample(3, 1)};
  auto pairing = pair_up(problems, candidates);
  ASSERT_TRUE(pairing);
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (const Pair& pair : pairing->pairs) found.emplace_back(pair.problem, pair.candidate);
  EXPECT_EQ(found,
            (std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {0, 3}, {1, 2}, {2, 1}}));
  EXPECT_EQ(pairing->without_problem, (std::vector<std::string>{"relu", "sample"}));
}

TEST(Pairing, AProblemWithoutALevelTakesSamplesOfAnyThatNoOtherHas) {
  const auto pairing =
      pair_up({module("7_Add", 0, 7), module("7_Mul", 2, 7)}, {sample(1, 7), sample(2, 7)}).value();
  ASSERT_EQ(pairing.pairs.size(), 2U);
  EXPECT_EQ(pairing.pairs[0].candidate, 0U);
  EXPECT_EQ(pairing.pairs[1].candidate, 1U);
}

TEST(Pairing, Ambiguity) {
  EXPECT_EQ(pair_up({definition("relu"), definition("relu")}, {candidate("relu")}).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(pair_up({module("a", 1, 1), module("b", 1, 1)}, {sample(1, 1)}).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_TRUE(pair_up({definition("relu"), definition("relu"), definition("gelu")},
                      {candidate("gelu"), candidate("other")}))
      << "no solution needs the name";
  EXPECT_TRUE(pair_up({module("a", 0, 0), module("b", 0, 0)}, {candidate("b")}))
      << "rows without numbers";
}

TEST(Pairing, NothingFits) {
  EXPECT_EQ(pair_up({definition("relu")}, {candidate("gelu")}).error().code(),
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kw::front
