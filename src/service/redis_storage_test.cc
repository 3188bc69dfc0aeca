// The rows in a real redis-server, which is killed and started again, and several that want to
// lead.
#include "service/redis_storage.h"

#include <csignal>
#include <future>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "service/testing/redis_proxy.h"
#include "service/testing/redis_server.h"
#include "service/testing/storage_simulation.h"

namespace kw::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RedisAddress, IsReadAndRefused) {
  EXPECT_EQ(redis_address("redis://a.b:1234/5").value().text(), "redis://a.b:1234/5");
  EXPECT_EQ(redis_address("redis://localhost").value().text(), "redis://localhost:6379/0");
  EXPECT_EQ(redis_address("redis://[::1]:7/").value().text(), "redis://[::1]:7/0");
  for (const auto& [url, reason] : std::vector<std::pair<std::string, std::string>>{
           {"http://a", "is no address"},
           {"rediss://a", "no TLS"},
           {"redis://", "has no host"},
           {"redis://:secret@a", "KERNELWRIGHT_REDIS_PASSWORD"},
           {"redis://a:0", "has no port"},
           {"redis://a:65536", "has no port"},
           {"redis://a:1/b", "has no number"},
           {"redis://a:1/-1", "has no number"}}) {
    const auto read = redis_address(url);
    ASSERT_FALSE(read.has_value()) << url;
    EXPECT_NE(read.error().message().find(reason), std::string::npos) << read.error().message();
    EXPECT_EQ(read.error().message().find("secret"), std::string::npos);
  }
}

class RedisStorageTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    (void)std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c)
  }
  void SetUp() override {
    if (!RedisServer::is_here()) GTEST_SKIP() << "no redis-server";
    server.start();
    options.address = server.address();
    options.url = "http://first";
  }
  std::unique_ptr<TaskStorage> lead(const RedisOptions& with) {
    auto out = try_to_lead(with);
    if (!out) throw std::runtime_error(out.error().message());
    if (!out->storage) throw std::runtime_error(out->leader + " leads");
    return std::move(out->storage);
  }
  static Changes of(JobId id) {
    return {.jobs = {{.id = id, .key = fmt::format("k{}", id), .request = "{}"}},
            .tickets = {{.id = id, .job = id}},
            .next_id = id + 1};
  }
  // Jobs 1 to last, as a leader of before stored them.
  void add_jobs(JobId last) {
    Changes all;
    for (JobId id = 1; id <= last; ++id) {
      const Changes one = of(id);
      all.jobs.push_back(one.jobs.front());
      all.tickets.push_back(one.tickets.front());
    }
    ASSERT_TRUE(lead(options)->commit(all));
  }
  RedisServer server;
  RedisOptions options;
};

TEST_F(RedisStorageTest, AgreesWithMemoryThroughCuts) {
  for (int seed = 1; seed <= 10; ++seed) {
    options.address.database = seed;
    agree_through_cuts(static_cast<unsigned>(seed), [&] { return lead(options); });
    if (HasFatalFailure()) return;
  }
}

TEST_F(RedisStorageTest, ForgetsAndKeeps) {
  {
    const auto storage = lead(options);
    ASSERT_TRUE(storage->load().has_value());
    Changes first = of(1);
    first.tickets.push_back({.id = 7, .job = 1, .owner = "\xff not UTF-8"});
    first.problems = {{"p", "text"}, {"q", "text"}};
    ASSERT_TRUE(storage->commit(first));
    ASSERT_TRUE(storage->commit(of(2)));
    Changes ended{
        .jobs = {{.id = 2, .key = "k2", .state = JobState::kDone, .answer = "{\"n\":1}"}}};
    ASSERT_TRUE(storage->commit(ended));
  }
  const auto storage = lead(options);
  Rows rows = storage->load().value();
  ASSERT_EQ(rows.jobs.size(), 2U);
  EXPECT_EQ(rows.jobs[0].request, "{}");
  EXPECT_EQ(rows.jobs[1].request, std::nullopt) << "it is final";
  EXPECT_EQ(rows.jobs[1].answer, "{\"n\":1}");
  EXPECT_EQ(rows.tickets.back().owner, "\xff not UTF-8");
  EXPECT_EQ(rows.next_id, 3U);
  EXPECT_EQ(storage->request(2).value(), "{}");
  EXPECT_EQ(storage->request(99).error().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(storage->commit({.forgotten = {1}, .forgotten_problems = {"p"}}));
  rows = storage->load().value();
  EXPECT_EQ(rows.jobs.size(), 1U);
  ASSERT_EQ(rows.tickets.size(), 1U) << "those of the forgotten job went with it";
  EXPECT_EQ(rows.tickets[0].id, 2U);
  ASSERT_EQ(rows.problems.size(), 1U);
  EXPECT_EQ(rows.problems[0].hash, "q");
  EXPECT_FALSE(storage->request(1).has_value());
}

TEST_F(RedisStorageTest, RowsSurviveKillsOfRedis) {
  const auto storage = lead(options);
  ASSERT_TRUE(storage->load().has_value());
  for (JobId id = 1; id <= 60; ++id) {
    std::thread restart;
    if (id % 20 == 10) {
      server.kill();
      restart = std::thread([&] { server.start(); });  // the commit waits for it
    }
    const Status committed = storage->commit(of(id));
    if (restart.joinable()) restart.join();
    ASSERT_TRUE(committed.has_value()) << committed.error().message();
  }
  server.kill();
  server.start();
  EXPECT_EQ(storage->load().value().jobs.size(), 60U);
}

TEST_F(RedisStorageTest, ADownRedisIsTriedUntilThePatienceEnds) {
  options.patience = milliseconds(300);
  const auto storage = lead(options);
  server.kill();
  const Status committed = storage->commit(of(1));
  ASSERT_FALSE(committed.has_value());
  EXPECT_EQ(committed.error().code(), ErrorCode::kUnavailable);
}

TEST_F(RedisStorageTest, OneLeadsUntilItGivesTheLeadBack) {
  auto first = lead(options);
  RedisOptions other = options;
  other.url = "http://second";
  const auto refused = try_to_lead(other);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->storage, nullptr);
  EXPECT_EQ(refused->leader, "http://first");
  first.reset();
  EXPECT_NO_THROW(lead(other));
}

TEST_F(RedisStorageTest, TheLeaseEndsWithoutRenewals) {
  const auto left = [&] { return server.call({"PTTL", "kernelwright:leader"}).number; };
  options.lease = milliseconds(60'000);
  auto storage = lead(options);
  EXPECT_GT(left(), 0);
  EXPECT_LE(left(), 60'000);
  server.call({"PEXPIRE", "kernelwright:leader", "1000000"});
  ASSERT_TRUE(storage->commit(of(1)));
  EXPECT_LE(left(), 60'000) << "a write renews it";
  storage.reset();
  options.lease = milliseconds(300);
  storage = lead(options);
  server.call({"PEXPIRE", "kernelwright:leader", "1000000"});
  const auto end = std::chrono::steady_clock::now() + seconds(30);
  while (left() > 300 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_LE(left(), 300) << "it is renewed without writes too";
}

TEST_F(RedisStorageTest, WhoLostTheLeadWritesNothing) {
  std::promise<Error> lost;
  options.lease = milliseconds(300);
  options.on_lost = [&](const Error& why) { lost.set_value(why); };
  auto first = lead(options);
  ASSERT_TRUE(first->load().has_value());
  ASSERT_TRUE(first->commit(of(1)));
  // Its lease ends, as if it had been paused, and another takes the lead.
  RedisOptions other = options;
  other.url = "http://second";
  other.lease = seconds(60);
  other.on_lost = [](const Error&) { ADD_FAILURE() << "the second leads"; };
  std::unique_ptr<TaskStorage> second;
  for (int i = 0; i < 1000 && second == nullptr; ++i) {
    server.call({"DEL", "kernelwright:leader"});
    second = std::move(try_to_lead(other).value().storage);
  }
  ASSERT_NE(second, nullptr);
  const Rows before = second->load().value();
  const Status late = first->commit(of(2));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code(), ErrorCode::kUnavailable) << "for callers, who try again";
  EXPECT_NE(late.error().message().find("another server leads"), std::string::npos);
  EXPECT_TRUE(second->load().value() == before);
  std::future<Error> told = lost.get_future();
  ASSERT_EQ(told.wait_for(seconds(30)), std::future_status::ready);
  EXPECT_EQ(told.get().code(), ErrorCode::kAlreadyExists);
  first.reset();
  EXPECT_EQ(try_to_lead(options).value().leader, "http://second")
      << "it was not the first's to give";
  EXPECT_TRUE(second->commit(of(3)));
}

TEST_F(RedisStorageTest, SettingsThatLoseTasksAreRefused) {
  const auto refused = [&](const char* name, const char* wrong, const char* right) {
    server.call({"CONFIG", "SET", name, wrong});
    const auto lead = try_to_lead(options);
    server.call({"CONFIG", "SET", name, right});
    if (lead) return std::string("nothing");
    EXPECT_EQ(lead.error().code(), ErrorCode::kUnsupported);
    return lead.error().message();
  };
  for (const auto& [name, wrong, right] :
       std::vector<std::array<const char*, 3>>{{"appendonly", "no", "yes"},
                                               {"appendfsync", "no", "always"},
                                               {"appendfsync", "everysec", "always"},
                                               {"no-appendfsync-on-rewrite", "yes", "no"},
                                               {"maxmemory-policy", "allkeys-lru", "noeviction"}}) {
    const std::string said = refused(name, wrong, right);
    EXPECT_NE(said.find(fmt::format("must be \"{} {}\"", name, right)), std::string::npos) << said;
  }
  EXPECT_NE(refused("appendfsync", "everysec", "always").find("--accept-everysec"),
            std::string::npos);
  options.accept_everysec = true;
  EXPECT_EQ(refused("appendfsync", "everysec", "always"), "nothing");
  EXPECT_NE(refused("appendfsync", "no", "always"), "nothing");
  server.call({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_NE(try_to_lead(options).error().message().find("a replica"), std::string::npos);
  server.call({"REPLICAOF", "NO", "ONE"});
  EXPECT_NO_THROW(lead(options));
}

TEST_F(RedisStorageTest, SettingsAreCheckedAtEachConnection) {
  const auto storage = lead(options);
  ASSERT_TRUE(storage->commit(of(1)));
  server.kill();
  server.start({"--appendfsync", "no"});
  const Status committed = storage->commit(of(2));
  ASSERT_FALSE(committed.has_value());
  EXPECT_EQ(committed.error().code(), ErrorCode::kUnsupported) << committed.error().message();
}

TEST_F(RedisStorageTest, RowsOfALaterSchemaAndDamagedOnesAreRefused) {
  server.call({"SET", "kernelwright:schema", "2"});
  const auto later = try_to_lead(options);
  ASSERT_FALSE(later.has_value());
  EXPECT_EQ(later.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(later.error().message().find("schema 2"), std::string::npos);
  server.call({"SET", "kernelwright:schema", "1"});
  server.call({"HSET", "kernelwright:jobs", "5", "no row"});
  const auto rows = lead(options)->load();
  ASSERT_FALSE(rows.has_value());
  EXPECT_EQ(rows.error().code(), ErrorCode::kDataLoss);
}

// A process of Redis goes through a hash in an order of its own: its cursor means nothing to
// another.
TEST_F(RedisStorageTest, RowsAreReadAnewWhereRedisIsStartedAnewMeanwhile) {
  constexpr JobId kJobs = 3000;  // several parts
  add_jobs(kJobs);
  std::atomic<int> parts = 0;
  const RedisProxy proxy(server.address().port, [&](std::string_view sent) {
    if (sent.find("HSCAN") == std::string_view::npos || ++parts != 3) return;
    server.kill();
    server.start();
  });
  options.address.port = proxy.port();
  const auto storage = lead(options);
  const auto rows = storage->load();
  ASSERT_TRUE(rows.has_value()) << rows.error().message();
  EXPECT_EQ(rows->jobs.size(), kJobs);
  EXPECT_EQ(rows->tickets.size(), kJobs);
  EXPECT_TRUE(check_rows(*rows));
}

TEST_F(RedisStorageTest, WhoLosesTheLeadWhileItReadsGetsNoRows) {
  add_jobs(1);
  RedisOptions other = options;
  other.url = "http://second";
  std::unique_ptr<TaskStorage> second;
  const RedisProxy proxy(server.address().port, [&](std::string_view sent) {
    if (sent.find("kernelwright:tickets") == std::string_view::npos || second != nullptr) return;
    server.call({"DEL", "kernelwright:leader"});
    second = lead(other);
    EXPECT_TRUE(second->commit(of(2)));
  });
  options.address.port = proxy.port();
  options.lease = seconds(60);  // nothing renews it meanwhile
  const auto storage = lead(options);
  const auto rows = storage->load();
  ASSERT_FALSE(rows.has_value());
  EXPECT_EQ(rows.error().code(), ErrorCode::kAlreadyExists) << rows.error().message();
}

TEST_F(RedisStorageTest, AFullRedisIsNoLostTask) {
  const auto storage = lead(options);
  ASSERT_TRUE(storage->load().has_value());
  ASSERT_TRUE(storage->commit(of(1)));
  server.call({"CONFIG", "SET", "maxmemory", "1"});
  const Status full = storage->commit(of(2));
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code(), ErrorCode::kResourceExhausted) << full.error().message();
  server.call({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(storage->load().value().jobs.size(), 1U) << "all or nothing";
}

}  // namespace
}  // namespace kw::service
