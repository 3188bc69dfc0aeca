#include "openai/hedge.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace kw::openai {
namespace {

struct Race {
  struct Side {
    bool started = false, ended = false;
    bool sent = false;  // there was room for it
    Reply reply;
  };
  std::mutex mutex;
  std::condition_variable change;
  std::array<Side, 2> sides;  // the first, the second
  int winner = -1;

  void end(int side, std::optional<Reply> reply) {
    std::lock_guard lock(mutex);
    Side& mine = sides[static_cast<std::size_t>(side)];
    mine.ended = true;
    mine.sent = reply.has_value();
    if (reply) mine.reply = std::move(*reply);
    if (winner < 0 && mine.sent && mine.reply.outcome == Outcome::kAnswered) winner = side;
    change.notify_all();
  }
  bool over() const {
    return winner >= 0 || (sides[0].ended && (sides[1].ended || !sides[1].started));
  }
};

}  // namespace

HedgedReply run_hedged(const std::function<Reply(std::stop_token)>& first,
                       const std::function<std::optional<Reply>(std::stop_token)>& second,
                       std::chrono::milliseconds after, const std::stop_token& stop) {
  Race race;
  race.sides[0].started = true;
  std::jthread main([&](const std::stop_token& mine) { race.end(0, first(mine)); });
  std::jthread hedge;
  std::stop_callback end_main(stop, [&] { main.request_stop(); });
  std::unique_lock lock(race.mutex);
  if (!race.change.wait_for(lock, after, [&] { return race.sides[0].ended; })) {
    race.sides[1].started = true;
    hedge = std::jthread([&](const std::stop_token& mine) { race.end(1, second(mine)); });
  }
  std::stop_source hedge_source = hedge.get_stop_source();
  std::stop_callback end_hedge(stop, [&] { hedge_source.request_stop(); });
  race.change.wait(lock, [&] { return race.over(); });
  lock.unlock();
  main.request_stop();
  hedge.request_stop();
  main.join();
  if (hedge.joinable()) hedge.join();
  HedgedReply out;
  out.hedged = race.sides[1].sent;
  out.second_won = race.winner == 1;
  out.reply = std::move(race.sides[out.second_won ? 1 : 0].reply);
  return out;
}

}  // namespace kw::openai
