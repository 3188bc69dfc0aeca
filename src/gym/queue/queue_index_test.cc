// The index of Queue against the queue that looks at every job, over random histories.
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gym/queue/queue.h"
#include "gym/queue/testing/naive_queue.h"

namespace kw::gym {
namespace {

class Histories {
 public:
  explicit Histories(unsigned seed)
      : random_(seed),
        tenants_(1 + below(4)),
        levels_(1 + below(3)),
        pools_(1 + below(2)),
        kinds_(1 + below(3)),
        is_crowded_(seed % 4 == 0) {}

  void step() {
    if (is_crowded_ && below(2) == 0) return submit();
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return submit();
      case 4:
        return cancel();
      case 5:
        return started(queue_.start({}), naive_.start({}));
      case 6: {
        const std::uint64_t divisor = 2 + below(5);
        const auto preferred = [=](Queue::JobId job) { return job % divisor == 0; };
        return started(queue_.start(preferred), naive_.start(preferred));
      }
      case 7: {
        const std::string affinity = below(4) == 0 ? "" : problem();
        const std::string without = fmt::format("{}", below(4));  // of kinds; 3: takes all
        const Queue::Accepts accepts = [&](const std::string& pool, const std::string& kind) {
          return kind != without && (without != "2" || pool == "0");
        };
        return started(queue_.start_with(affinity, accepts), naive_.start_with(affinity, accepts));
      }
      case 8:
        now_ += std::chrono::seconds(below(5));
        queue_.age(now_);
        naive_.age(now_);
        break;
      case 9:
        return change_kind();
      default:
        return end();
    }
  }

  void compare() const {
    ASSERT_EQ(queue_.waiting(), naive_.waiting());
    for (const auto& [job, is_running] : jobs_) {
      if (!is_running) {
        ASSERT_EQ(queue_.position(job), naive_.position(job));
      }
    }
  }
  int starts = 0;

 private:
  unsigned below(std::size_t n) { return static_cast<unsigned>(random_() % n); }

  // A crowd has more of them than a start looks at.
  std::string problem() {
    return fmt::format("p{}", below(is_crowded_ ? 2 * Queue::kMaxLookedAt : 4));
  }

  void submit() {
    Queue::Wish wish{.key = fmt::format("k{}", below(is_crowded_ ? 5000 : 60)),
                     .tenant = fmt::format("t{}", below(tenants_))};
    wish.affinity = below(3) == 0 ? "" : problem();
    wish.priority = static_cast<int>(below(levels_)) - 1;
    wish.pool = fmt::format("{}", below(pools_));
    wish.kind = fmt::format("{}", below(kinds_));
    wish.weight = wish.tenant == "t1" ? 3 : 1;
    if (below(3) == 0) wish.ages_at = now_ + std::chrono::seconds(below(100));
    const auto x = queue_.submit(wish), y = naive_.submit(wish);
    ASSERT_EQ(std::tuple(x.ticket, x.job, x.is_new), std::tuple(y.ticket, y.job, y.is_new));
    tickets_.push_back(x.ticket);
    if (x.is_new) jobs_[x.job] = false;
  }
  void cancel() {
    if (tickets_.empty()) return;
    const auto ticket = tickets_[below(static_cast<unsigned>(tickets_.size()))];
    const auto x = queue_.cancel(ticket), y = naive_.cancel(ticket);
    ASSERT_EQ(x.stop, y.stop);
    ASSERT_EQ(x.dropped, y.dropped);
    if (x.dropped) jobs_.erase(*x.dropped);
  }
  void started(std::optional<Queue::JobId> x, std::optional<Queue::JobId> y) {
    ASSERT_EQ(x, y);
    if (!x) return;
    jobs_.at(*x) = true;
    ++starts;
  }
  void change_kind() {
    if (jobs_.empty()) return;
    auto job = jobs_.begin();
    std::advance(job, below(static_cast<unsigned>(jobs_.size())));
    const std::string kind = fmt::format("{}", below(kinds_));
    queue_.set_kind(job->first, kind);
    naive_.set_kind(job->first, kind);
  }
  void end() {
    std::vector<Queue::JobId> running;
    for (const auto& [job, is_running] : jobs_)
      if (is_running) running.push_back(job);
    if (running.size() < 3) return;  // some wait most of the time
    const auto job = running[below(static_cast<unsigned>(running.size()))];
    std::optional<Queue::Cost> cost;
    if (below(3) > 0) cost = std::chrono::milliseconds(below(4000));
    if (below(2) == 0) {
      ASSERT_EQ(queue_.finish(job, cost), naive_.finish(job, cost));
      jobs_.erase(job);
      return;
    }
    const bool waits = queue_.give_back(job, cost);
    ASSERT_EQ(waits, naive_.give_back(job, cost));
    if (waits) {
      jobs_.at(job) = false;
    } else {
      jobs_.erase(job);
    }
  }

  std::mt19937 random_;
  const unsigned tenants_, levels_, pools_, kinds_;
  const bool is_crowded_;
  Queue::Time now_{};
  Queue queue_;
  NaiveQueue naive_;
  std::vector<Queue::TicketId> tickets_;
  std::map<Queue::JobId, bool> jobs_;  // whether each runs
};

TEST(QueueIndex, ChoosesAsTheQueueThatLooksAtEveryJob) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Histories histories(seed);
    for (int step = 0; step < 1500; ++step) {
      histories.step();
      if (step % 50 == 0) histories.compare();
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(histories.starts, 100);
  }
}

}  // namespace
}  // namespace kw::gym
