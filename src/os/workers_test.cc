// Threads with a bounded queue, work that may not begin yet, and the mailbox that results come
// through.
#include "os/workers.h"

#include <future>
#include <latch>

#include <gtest/gtest.h>

#include "os/mailbox.h"
#include "os/pause.h"

namespace kw::os {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Workers, NoMoreAtOnceThanThreads) {
  std::mutex mutex;
  int at_once = 0, most = 0;
  std::latch all_busy(3), done(30);
  Workers workers(3, 100);
  for (int i = 0; i < 30; ++i) {
    workers.post([&, i](const std::stop_token&) {
      {
        std::lock_guard lock(mutex);
        most = std::max(most, ++at_once);
      }
      if (i < 3) all_busy.arrive_and_wait();  // the first three are under way together
      {
        std::lock_guard lock(mutex);
        --at_once;
      }
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(most, 3);
}

TEST(Workers, AFullQueueHoldsThePosterUp) {
  std::promise<void> begun, go_on;
  Workers workers(1, 2);
  workers.post([&](const std::stop_token&) {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  std::latch done(3);
  const auto work = [&](const std::stop_token&) { done.count_down(); };
  workers.post(work);
  workers.post(work);
  std::atomic<bool> posted = false;
  std::jthread poster([&] {
    workers.post(work);
    posted = true;
  });
  std::this_thread::yield();
  EXPECT_FALSE(posted);  // two wait already
  go_on.set_value();
  done.wait();
  poster.join();
  EXPECT_TRUE(posted);
}

TEST(Workers, WorkThatMayNotBeginYetKeepsNoThread) {
  std::promise<void> other, later;
  std::atomic<bool> never = false;
  {
    Workers workers(1, 10);
    workers.post([&](const std::stop_token&) { never = true; }, Workers::Clock::now() + hours(1));
    workers.post([&](const std::stop_token&) { later.set_value(); },
                 Workers::Clock::now() + milliseconds(20));
    workers.post([&](const std::stop_token&) { other.set_value(); });
    other.get_future().wait();
    later.get_future().wait();
  }
  EXPECT_FALSE(never);
}

TEST(Workers, WhatMayBeginComesInTheOrderOfPosting) {
  std::promise<void> go_on;
  std::vector<int> order;
  std::latch done(3);
  Workers workers(1, 10);
  workers.post([&](const std::stop_token&) { go_on.get_future().wait(); });
  for (int i = 0; i < 3; ++i) {
    workers.post(
        [&, i](const std::stop_token&) {
          order.push_back(i);
          done.count_down();
        },
        Workers::Clock::now() - milliseconds(i));
  }
  go_on.set_value();
  done.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

// With every thread waiting for a later one, each new one is seen, and the later one is not lost.
TEST(Workers, ALaterOneIsNotLost) {
  for (int round = 0; round < 50; ++round) {
    std::latch done(3);
    Workers workers(2, 10);
    const auto now = Workers::Clock::now();
    const auto work = [&](const std::stop_token&) { done.count_down(); };
    workers.post(work, now + milliseconds(3));
    workers.post(work, now + milliseconds(1));
    workers.post(work);
    done.wait();
  }
}

TEST(Workers, AStopDropsWhatWaits) {
  std::promise<void> begun;
  std::atomic<int> ran = 0;
  Workers workers(1, 10);
  workers.post([&](const std::stop_token& stop) {
    begun.set_value();
    pause(hours(1), stop);
    ++ran;
  });
  begun.get_future().wait();
  workers.post([&](const std::stop_token&) { ++ran; });
  workers.stop();
  EXPECT_EQ(ran, 1);
}

TEST(Mailbox, MessagesComeInOrder) {
  Mailbox<int> box;
  EXPECT_EQ(box.take_if_there(), std::nullopt);
  for (int i = 0; i < 3; ++i) box.put(i);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(box.take({}, milliseconds(0)), i);
  EXPECT_EQ(box.take({}, milliseconds(1)), std::nullopt);
}

TEST(Mailbox, AMessageEndsTheWait) {
  Mailbox<int> box;
  std::jthread other([&] { box.put(7); });
  EXPECT_EQ(box.take({}, hours(1)), 7);
}

TEST(Mailbox, AStopEndsTheWaitWhateverIsThere) {
  Mailbox<int> box;
  std::stop_source stop;
  std::jthread other([&] { stop.request_stop(); });
  EXPECT_EQ(box.take(stop.get_token(), hours(1)), std::nullopt);
  box.put(1);
  EXPECT_EQ(box.take(stop.get_token(), hours(1)), std::nullopt);
  EXPECT_EQ(box.take_if_there(), 1);  // and it is not lost
}

}  // namespace
}  // namespace kw::os
