// The clients and workers of a simulation. What they do when a call fails, and about a lease, is
// the real Patience and HeldLease.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "promises.h"
#include "server_host.h"
#include "service/held_lease.h"
#include "service/patience.h"
#include "world.h"

namespace kw::service::simulation {

// What actors share.
struct Scene {
  World& world;
  ServerHost& server;
  Promises& promises;
};

// A call that is tried again while the patience lasts, and the actor lives.
template <typename T>
void call_patiently(Scene scene, std::shared_ptr<const bool> is_gone,
                    std::function<void(TaskService&, TaskService::Reply<T>)> act,
                    std::function<void(Result<T>, Time)> done, Patience patience) {
  scene.server.call<T>(act, [=](Result<T> result, Time at) mutable {
    if (*is_gone) return;
    if (result) return done(std::move(result), at);
    const auto pause = patience.pause_after(result.error(), scene.world.now);
    if (!pause) return done(std::move(result), at);
    scene.world.after(*pause, [=] {
      if (!*is_gone) call_patiently<T>(scene, is_gone, act, done, patience);
    });
  });
}

// It submits tasks, alone or as a group, waits for their ends, and asks once more later. Some
// clients cancel a task, and some go away.
class Client {
 public:
  Client(Scene scene, std::string name);

  void begin();
  // It has what it wanted, or has gone.
  bool is_over() const { return *is_gone_ || is_over_; }
  // Empty: tasks that are asked for one by one.
  const std::string& group() const { return group_; }
  std::size_t wanted() const { return wishes_.size(); }
  const std::string& owner() const { return owner_; }

 private:
  std::vector<Submission> submissions() const;
  void submit();
  void send_problems();
  void poll(std::size_t number);
  void poll_group();
  void see_group(const GroupStatus& group, Time at, const std::string& start_name);
  void cancel(TicketId ticket);
  void spy();
  void end();

  Scene scene_;
  std::string name_, group_, owner_;
  int weight_ = 1, priority_ = 0;
  bool sends_problem_;
  std::vector<Wish> wishes_;
  std::vector<TicketId> tickets_;
  std::size_t polled_ = 0;
  std::string place_start_;
  std::size_t place_ = 0;
  std::vector<TicketId> told_;
  std::shared_ptr<bool> is_gone_ = std::make_shared<bool>(false);
  bool is_over_ = false, has_asked_again_ = false;
};

// A slot of a worker: leases, judges, renews and answers, dies and comes back.
class Worker {
 public:
  // can_all: it judges every target.
  Worker(Scene scene, std::string name, milliseconds lease, bool can_all);

  void begin();

 private:
  // A judgement under way.
  struct Judgement;
  void ask();
  void take(const std::vector<Lease>& leases, const std::string& name);
  void renew(const std::shared_ptr<Judgement>& judgement);
  void end(const std::shared_ptr<Judgement>& judgement);
  void report(const std::shared_ptr<Judgement>& judgement, LeaseReport report);
  void die();
  void tell_lost();
  std::string fresh_name();

  Scene scene_;
  std::string name_;
  milliseconds lease_;
  bool can_all_;
  std::optional<Lease> intent_;  // what its file says that it has
  int names_ = 0, lives_ = 0;
  Time frozen_until_{};
  std::shared_ptr<bool> is_gone_ = std::make_shared<bool>(false);  // of this life
};

}  // namespace kw::service::simulation
