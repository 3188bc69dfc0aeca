#include "service/intent_file.h"

#include <gtest/gtest.h>

#include "os/file.h"

namespace kw::service {
namespace {

TEST(IntentFile, ASuccessorFindsWhatWasHeld) {
  const auto folder = os::TempDir::make("kw-intent-").value();
  const auto path = folder.path() / "workers" / "a.json";
  {
    const auto file = IntentFile::open(path).value();
    EXPECT_TRUE(file->left().empty());
    ASSERT_TRUE(file->put({"7", 3}));
    ASSERT_TRUE(file->put({"8", 1}));
    ASSERT_TRUE(file->remove("7"));
    const auto twin = IntentFile::open(path);
    ASSERT_FALSE(twin);
    EXPECT_EQ(twin.error().code(), ErrorCode::kAlreadyExists);
  }
  const auto next = IntentFile::open(path).value();
  EXPECT_EQ(next->left(), (std::vector<Intent>{{"8", 1}}));
  ASSERT_TRUE(next->remove("8"));
  EXPECT_EQ(os::read_file(path).value(), "{\"schema\":1,\"leases\":[]}\n");
}

TEST(IntentFile, ADamagedOneIsBegunAnewAndAnEmptyPathKeepsNothing) {
  const auto folder = os::TempDir::make("kw-intent-").value();
  for (const char* text :
       {"", "{", R"({"schema":2,"leases":[]})", R"({"schema":1,"leases":[3]})"}) {
    ASSERT_TRUE(os::write_file_atomic(folder.path() / "a.json", text));
    const auto file = IntentFile::open(folder.path() / "a.json");
    ASSERT_TRUE(file) << text << file.error().message();
    EXPECT_TRUE((*file)->left().empty());
    EXPECT_TRUE((*file)->put({"1", 1}));
  }
  const auto none = IntentFile::open("").value();
  EXPECT_TRUE(none->put({"1", 1}));
}

}  // namespace
}  // namespace kw::service
