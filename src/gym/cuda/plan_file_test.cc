// Plan files: what was written is read, and nothing that is damaged.
#include "gym/cuda/plan_file.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace kw::gym {
namespace {

PlanContents contents() {
  PlanContents out;
  out.modules = {"machine code", "more of it"};
  out.constants = {std::string("\0weights\0", 9)};
  for (const std::string& module : out.modules)
    out.plan.modules.push_back(
        {task::ModuleKind::kCubin,
         {"main", sha256_hex(module), static_cast<std::int64_t>(module.size())}});
  out.plan.constants.emplace_back("weights", sha256_hex(out.constants[0]), 9);
  task::PlanFill fill;
  fill.memory = {task::MemoryKind::kOutput, 0};
  fill.bytes = task::LaunchExpression::parse("4").value();
  out.plan.steps.emplace_back(fill);
  return out;
}

TEST(PlanFile, IsReadAsItWasWritten) {
  const PlanContents before = contents();
  auto file = write_plan_file(before);
  ASSERT_TRUE(file);
  auto after = read_plan_file(*file);
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(after->modules, before.modules);
  EXPECT_EQ(after->constants, before.constants);
  EXPECT_EQ(task::to_json(after->plan), task::to_json(before.plan));
}

TEST(PlanFile, NoPartOfAFileIsAFile) {
  const std::string file = write_plan_file(contents()).value();
  for (std::size_t bytes = 0; bytes < file.size(); ++bytes)
    EXPECT_FALSE(read_plan_file(std::string_view(file).substr(0, bytes))) << bytes;
  EXPECT_FALSE(read_plan_file(file + "x"));
}

TEST(PlanFile, ChangedContentIsSeen) {
  const std::string file = write_plan_file(contents()).value();
  for (std::size_t back : {1U, 9U, 10U, 20U}) {
    std::string changed = file;
    changed[changed.size() - back] ^= 1;
    EXPECT_FALSE(read_plan_file(changed)) << back;
  }
}

TEST(PlanFile, ContentsThatThePlanDoesNotNameAreNotWritten) {
  PlanContents other = contents();
  other.modules[1] = "something else";
  EXPECT_FALSE(write_plan_file(other));
  other = contents();
  other.constants.clear();
  EXPECT_FALSE(write_plan_file(other));
}

}  // namespace
}  // namespace kw::gym
