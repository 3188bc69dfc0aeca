#include "service/testing/storage_simulation.h"

#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "service/task_table.h"

namespace kw::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TaskOptions kSimulated = {
    .lease = seconds(10), .most_waiting = 30, .kept = 1000, .problems = {.most_idle = 1}};

// One world: a table over a storage, and what its callers were told.
class World {
 public:
  explicit World(OpenStorage open) : open_(std::move(open)) {}

  void reopen(TaskTable::Time now) {
    table.reset();
    storage.reset();
    storage = open_();
    const auto rows = storage->load();
    ASSERT_TRUE(rows.has_value()) << rows.error().message();
    table.emplace(kSimulated, *rows, now);
  }
  void commit() {
    const Changes changes = table->take_changes();
    if (!changes.empty()) {
      const auto status = storage->commit(changes);
      ASSERT_TRUE(status.has_value()) << status.error().message();
    }
  }
  std::unique_ptr<TaskStorage> storage;
  std::optional<TaskTable> table;

 private:
  OpenStorage open_;
};

// Memory that outlives its table.
class SharedMemory : public TaskStorage {
 public:
  explicit SharedMemory(MemoryStorage& memory) : memory_(memory) {}
  Result<Rows> load() override { return memory_.load(); }
  Status commit(const Changes& changes) override { return memory_.commit(changes); }
  Result<std::string> request(JobId job) override { return memory_.request(job); }

 private:
  MemoryStorage& memory_;
};

std::string seen(const TaskTable& table, TicketId ticket) {
  const auto status = table.status(ticket);
  if (!status) return "none";
  return fmt::format("{} {} {} {}", status->state, status->attempts,
                     status->position ? static_cast<int>(*status->position) : -1, status->answer);
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a case for each kind of call
void agree_through_cuts(unsigned seed, const OpenStorage& open) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  MemoryStorage memory;
  World a([&] { return std::make_unique<SharedMemory>(memory); });
  World b(open);
  TaskTable::Time now{seconds(1)};
  a.reopen(now);
  b.reopen(now);
  struct Held {
    JobId job;
    std::int64_t epoch;
  };
  std::vector<Held> leases;               // also those that are over
  std::vector<TicketId> told;             // acknowledged: on disk
  std::map<TicketId, std::string> final;  // the first final state that was seen
  for (int step = 0; step < 250; ++step) {
    std::vector<TicketId> fresh;
    const Held held = leases.empty() ? Held{9999, 1} : leases[below(unsigned(leases.size()))];
    auto both = [&](auto act) {
      const auto x = act(*a.table);
      const auto y = act(*b.table);
      ASSERT_EQ(x.has_value(), y.has_value());
      if (!x) {
        ASSERT_EQ(x.error().message(), y.error().message());
      }
    };
    now += milliseconds(below(4000));
    a.table->expire(now);
    b.table->expire(now);
    switch (below(8)) {
      case 0:
      case 1: {
        Submission wish{.key = fmt::format("k{}", below(12)),
                        .tenant = fmt::format("t{}", below(2))};
        wish.priority = static_cast<int>(below(3));
        if (below(2) == 0) wish.needs = {"cuda", "ptx"};
        wish.key += wish.needs.target;
        wish.timeout_ms = below(4) == 0 ? 1 + below(20000) : 0;
        wish.problem = fmt::format("p{}", below(4));
        wish.request = fmt::format("request {} '\"\x01{}", below(100), wish.problem);
        if (below(2) == 0) wish.problem_text = "text of " + wish.problem;
        if (wish.problem_text.empty()) {
          const bool is_known = a.table->knows_parts({wish}).has_value();
          ASSERT_EQ(b.table->knows_parts({wish}).has_value(), is_known);
          if (!is_known) break;
        }
        if (below(3) == 0) wish.submission = fmt::format("s{}", below(20));
        fresh.push_back(a.table->submit(wish, now));
        ASSERT_EQ(b.table->submit(wish, now), fresh.back());
        break;
      }
      case 2:
      case 3: {
        const std::string name = fmt::format("l{}", below(30));
        const Abilities can =
            below(2) == 0 ? Abilities() : Abilities({{"cpu", {}}}, sandbox::Level::kFull);
        auto leased = [&](TaskTable& t) {
          auto out = t.leased_as(name, now);
          return out ? out : t.lease("w", name, now, "", can);
        };
        const auto x = leased(*a.table);
        const auto y = leased(*b.table);
        ASSERT_EQ(x.has_value(), y.has_value());
        if (!x) break;
        ASSERT_EQ(std::tuple(x->job, x->epoch, x->request),
                  std::tuple(y->job, y->epoch, y->request));
        const std::string problem = x->request.substr(x->request.size() - 2);
        ASSERT_EQ(a.table->part(problem), "text of " + problem);
        ASSERT_EQ(b.table->part(problem), "text of " + problem);
        leases.push_back({x->job, x->epoch});
        break;
      }
      case 4:
        both([&](TaskTable& t) { return t.renew(held.job, held.epoch, now); });
        break;
      case 5: {
        const std::string answer = fmt::format("{{\"verdict\":{}}}", step);
        both([&](TaskTable& t) { return t.complete(held.job, held.epoch, answer, now); });
        break;
      }
      case 6: {
        const ErrorCode code = below(2) == 0 ? ErrorCode::kUnavailable : ErrorCode::kUnsupported;
        both([&](TaskTable& t) { return t.fail_job(held.job, held.epoch, {code, "why"}, now); });
        break;
      }
      default:
        if (below(2) == 0)
          both([&](TaskTable& t) { return t.release(held.job, held.epoch); });
        else if (!told.empty()) {
          const TicketId ticket = told[below(unsigned(told.size()))];
          both([&](TaskTable& t) { return t.cancel(ticket); });
        }
        break;
    }
    const bool is_cut = below(12) == 0;
    if (!is_cut || below(2) == 0) {
      a.commit();
      b.commit();
      told.insert(told.end(), fresh.begin(), fresh.end());
    }
    if (is_cut) {
      a.reopen(now);
      b.reopen(now);
      const auto x = a.storage->load();
      const auto y = b.storage->load();
      ASSERT_TRUE(x.has_value() && y.has_value());
      ASSERT_TRUE(*x == *y);
    }
    ASSERT_EQ(a.table->next_deadline(), b.table->next_deadline());
    for (TicketId ticket : told) {
      const std::string state = seen(*a.table, ticket);
      ASSERT_EQ(state, seen(*b.table, ticket));
      ASSERT_NE(state, "none") << "an acknowledged task is lost";
      if (!a.table->is_final(ticket) || is_cut) continue;
      ASSERT_EQ(final.emplace(ticket, state).first->second, state) << "answered twice";
    }
  }
  EXPECT_GT(told.size(), 10U);
  EXPECT_GT(final.size(), 3U);
}

}  // namespace kw::service
