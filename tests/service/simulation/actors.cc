#include "actors.h"

#include <algorithm>

#include "base/present.h"

namespace kw::service::simulation {
namespace {

constexpr std::chrono::seconds kPatience{600};
constexpr milliseconds kPoll{20000};
constexpr int kKeys = 8;
// A judgement of these kills its worker, and of those fails by ours.
bool is_poison(const std::string& key) {
  return key == "key-0";
}
bool is_cursed(const std::string& key) {
  return key == "key-1";
}

// Every third key is for a GPU.
Needs needs_of(const std::string& key) {
  return {.target = (key.back() - '0') % 3 == 2 ? "cuda" : "cpu"};
}

Patience patience_at(Time now) {
  return Patience(now + kPatience);
}

}  // namespace

Client::Client(Scene scene, std::string name)
    : scene_(scene), name_(std::move(name)), sends_problem_(scene.world.below(2) == 0) {
  World& world = scene_.world;
  owner_ = fmt::format("tenant-{}", world.below(3));
  weight_ = 1 + static_cast<int>(world.below(3));
  priority_ = static_cast<int>(world.below(3));
  const std::size_t count = world.below(2) == 0 ? 1 : 2 + world.below(3);
  if (count > 1 || world.below(2) == 0) group_ = fmt::format("{}/{}", owner_, name_);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t key = world.below(kKeys);
    Wish wish{.name = fmt::format("{}/{}-{}", owner_, name_, i),
              .key = fmt::format("key-{}", key),
              .request = fmt::format(R"({{"key":"key-{}"}})", key)};
    if (world.below(3) == 0) wish.timeout = world.between(500, 60000);
    wishes_.push_back(std::move(wish));
  }
}

std::vector<Submission> Client::submissions() const {
  std::vector<Submission> out;
  for (const Wish& wish : wishes_) {
    Submission each{.submission = wish.name, .key = wish.key, .tenant = owner_, .owner = owner_};
    each.most_open = 40;
    each.weight = weight_;
    each.priority = priority_;
    each.timeout_ms = wish.timeout.count();
    each.group = group_;
    each.needs = needs_of(wish.key);
    each.problem = "problem of " + wish.key;
    if (sends_problem_) each.problem_text = "{}";
    each.request = wish.request;
    out.push_back(std::move(each));
  }
  return out;
}

void Client::begin() {
  World& world = scene_.world;
  for (Wish& wish : wishes_) wish.sent = scene_.server.clock();
  if (world.below(10) == 0)
    world.after(world.between(0, 30000), [this] {
      if (is_over_) return;
      scene_.world.trace("{}: goes away", name_);
      *is_gone_ = true;
    });
  submit();
}

void Client::submit() {
  using Submitted = TaskService::Submitted;
  call_patiently<Submitted>(
      scene_, is_gone_,
      [wishes = submissions()](TaskService& service, TaskService::Reply<Submitted> reply) {
        service.submit(wishes, std::move(reply));
      },
      [this](Result<Submitted> submitted, Time at) {
        if (!submitted && submitted.error().code() == ErrorCode::kNotFound && !sends_problem_)
          return send_problems();
        if (!submitted || submitted->no_room) {
          scene_.world.trace("{}: {}", name_,
                             submitted ? submitted->no_room->why : submitted.error().message());
          return end();
        }
        tickets_ = std::move(submitted->tickets);
        scene_.world.trace("{}: accepted as {}", name_, fmt::join(tickets_, ", "));
        for (std::size_t i = 0; i < tickets_.size(); ++i)
          scene_.promises.accepted(wishes_[i], tickets_[i], at);
        if (scene_.world.below(5) == 0)
          scene_.world.after(scene_.world.between(0, 20000), [this] {
            if (!is_over()) cancel(tickets_[scene_.world.below(tickets_.size())]);
          });
        if (scene_.world.below(5) == 0) spy();
        if (group_.empty()) {
          poll(0);
        } else {
          poll_group();
        }
      },
      patience_at(scene_.world.now));
}

void Client::send_problems() {
  const std::string problem = "problem of " + wishes_[polled_].key;
  call_patiently<std::string>(
      scene_, is_gone_,
      [problem](TaskService& service, TaskService::Reply<std::string> reply) {
        service.put_part(problem, "{}", std::move(reply));
      },
      [this](const Result<std::string>&, Time) {
        if (++polled_ < wishes_.size()) return send_problems();
        polled_ = 0;
        submit();
      },
      patience_at(scene_.world.now));
}

void Client::poll(std::size_t number) {
  if (number == tickets_.size()) return end();
  const TicketId ticket = tickets_[number];
  call_patiently<TaskStatus>(
      scene_, is_gone_,
      [ticket, owner = owner_](TaskService& service, TaskService::Reply<TaskStatus> reply) {
        service.status(ticket, owner, kPoll, std::move(reply));
      },
      [this, number, ticket](const Result<TaskStatus>& status, Time at) {
        if (!status && status.error().code() != ErrorCode::kNotFound) return end();
        scene_.promises.seen(ticket, status, at);
        if (!status) return end();
        if (status->is_final)
          scene_.world.trace("{}: task {} is {} {}", name_, ticket, status->state, status->answer);
        poll(status->is_final ? number + 1 : number);
      },
      patience_at(scene_.world.now));
}

void Client::poll_group() {
  struct Seen {
    GroupStatus group;
    std::string start_name;
  };
  call_patiently<Seen>(
      scene_, is_gone_,
      [this](TaskService& service, const TaskService::Reply<Seen>& reply) {
        const std::string start_name = service.start_name();
        TaskService::GroupCall call{.name = group_, .wait = kPoll};
        call.after = start_name == place_start_ ? place_ : 0;
        call.least = 1 + scene_.world.below(2);
        call.most = 1 + scene_.world.below(4);
        service.group(call, [reply, start_name](Result<GroupStatus> group) {
          if (!group) return reply(tl::unexpected(group.error()));
          reply(Seen{std::move(*group), start_name});
        });
      },
      [this](const Result<Seen>& seen, Time at) {
        if (!seen && seen.error().code() == ErrorCode::kNotFound)
          scene_.promises.broken("accepted group is lost: " + seen.error().message());
        if (!seen) return end();
        see_group(seen->group, at, seen->start_name);
      },
      patience_at(scene_.world.now));
}

void Client::see_group(const GroupStatus& group, Time at, const std::string& start_name) {
  if (start_name != place_start_) told_.clear();
  place_start_ = start_name;
  place_ = group.next;
  for (const auto& [ticket, status] : group.ended) {
    scene_.world.trace("{}: task {} is {} {}", name_, ticket, status.state, status.answer);
    told_.push_back(ticket);
    if (!scene_.promises.wishes().contains(ticket))
      return scene_.promises.broken(fmt::format("group {} has task {}", group_, ticket));
    scene_.promises.seen(ticket, status, at);
  }
  if (group.open > 0 || group.next < group.in_all) return poll_group();
  scene_.promises.group_ended(group_, tickets_, told_);
  end();
}

void Client::cancel(TicketId ticket) {
  scene_.promises.will_cancel(ticket);
  scene_.world.trace("{}: cancels {}", name_, ticket);
  call_patiently<TaskStatus>(
      scene_, is_gone_,
      [ticket, owner = owner_](TaskService& service, TaskService::Reply<TaskStatus> reply) {
        service.cancel(ticket, owner, std::move(reply));
      },
      [this, ticket](const Result<TaskStatus>& status, Time at) {
        if (!status && status.error().code() != ErrorCode::kNotFound) return;
        scene_.promises.seen(ticket, status, at);
        if (status) scene_.promises.cancelled(ticket, *status);
      },
      patience_at(scene_.world.now));
}

// Asks for the task of another tenant.
void Client::spy() {
  const TicketId ticket = tickets_.front();
  scene_.server.call<TaskStatus>(
      [ticket](TaskService& service, TaskService::Reply<TaskStatus> reply) {
        service.cancel(ticket, "nobody", std::move(reply));
      },
      [this](const Result<TaskStatus>& status, Time) {
        if (status) scene_.promises.broken("a tenant cancels another tenant's task");
      });
}

// Once more, much later: an end does not change.
void Client::end() {
  if (!has_asked_again_ && !tickets_.empty() && scene_.world.below(2) == 0) {
    has_asked_again_ = true;
    return scene_.world.after(scene_.world.between(0, 60000), [this] {
      if (!*is_gone_) submit();
    });
  }
  is_over_ = true;
}

struct Worker::Judgement {
  Lease lease;
  std::string key;
  HeldLease held;
  std::shared_ptr<bool> is_gone;
  bool is_ended = false, is_stopped = false;
};

Worker::Worker(Scene scene, std::string name, milliseconds lease, bool can_all)
    : scene_(scene), name_(std::move(name)), lease_(lease), can_all_(can_all) {}

std::string Worker::fresh_name() {
  return fmt::format("{}/{}/{}", name_, lives_, ++names_);
}

void Worker::begin() {
  ++lives_;
  is_gone_ = std::make_shared<bool>(false);
  if (intent_ && scene_.world.below(2) == 0) tell_lost();
  intent_.reset();  // or the file is lost too
  ask();
}

// The life before had this lease.
void Worker::tell_lost() {
  using Reports = std::vector<Result<bool>>;
  const Lease& lost = present(intent_);
  const LeaseReport report{.kind = ReportKind::kLost, .job = lost.job, .epoch = lost.epoch};
  scene_.world.trace("{}: tells lost of job {}, epoch {}", name_, report.job, report.epoch);
  scene_.promises.told_lost(report);
  call_patiently<Reports>(
      scene_, is_gone_,
      [report, scene = scene_, name = name_](TaskService& service,
                                             const TaskService::Reply<Reports>& reply) {
        service.report({report}, [scene, report, name, reply](Result<Reports> answers) {
          if (answers && answers->front())
            scene.promises.failure_taken(report, name, scene.server.turn_at());
          reply(std::move(answers));
        });
      },
      [](const Result<Reports>&, Time) {}, patience_at(scene_.world.now));
}

void Worker::die() {
  scene_.world.trace("{}: dies", name_);
  *is_gone_ = true;
  scene_.world.after(scene_.world.between(500, 20000), [this] { begin(); });
}

void Worker::ask() {
  using Leases = std::vector<Lease>;
  LeaseCall call{.worker = name_, .name = fresh_name()};
  call.problem = fmt::format("problem of key-{}", scene_.world.below(kKeys));
  call.wait = kPoll;
  if (!can_all_) call.can = Abilities({{"cpu", {}}}, sandbox::Level::kFull);
  call_patiently<Leases>(
      scene_, is_gone_,
      [call, scene = scene_](TaskService& service, const TaskService::Reply<Leases>& reply) {
        service.lease(call, {}, [scene, reply, call](Result<Leases> leases) {
          if (leases)
            for (const Lease& each : *leases) {
              scene.promises.heard(each.job, each.epoch);
              scene.promises.leased(each, call.worker, scene.server.turn_at());
            }
          reply(std::move(leases));
        });
      },
      [this, name = call.name](const Result<Leases>& leases, Time) {
        if (!leases) return scene_.promises.broken("a worker ends: " + leases.error().message());
        take(*leases, name);
      },
      patience_at(scene_.world.now));
}

void Worker::take(const std::vector<Lease>& leases, const std::string& name) {
  if (leases.empty()) return ask();
  World& world = scene_.world;
  const Lease& lease = leases.front();
  world.trace("{}: leases job {}, epoch {}", name_, lease.job, lease.epoch);
  scene_.promises.granted(lease, name);
  intent_ = lease;
  auto judgement = std::make_shared<Judgement>(
      Judgement{.lease = lease,
                .key = scene_.promises.key_of(lease.request).value_or(""),
                .held = HeldLease(std::chrono::duration<double>(lease_).count()),
                .is_gone = is_gone_});
  if (!can_all_ && needs_of(judgement->key).target != "cpu")
    scene_.promises.broken(fmt::format("{} got job {}, which it cannot judge", name_, lease.job));
  if (is_poison(judgement->key)) {
    scene_.promises.killed(lease.job);
    world.after(world.between(10, 3000), [this, judgement] {
      if (!*judgement->is_gone) die();
    });
    return;
  }
  if (world.chance(world.weather.death))
    world.after(world.between(10, 8000), [this, judgement] {
      if (!*judgement->is_gone && !judgement->is_ended) die();
    });
  if (world.chance(world.weather.freeze)) {
    frozen_until_ = world.now + world.between(1000, 40000);
    world.trace("{}: is paused", name_);
  }
  renew(judgement);
  world.after(world.between(20, world.below(4) == 0 ? 25000 : 3000),
              [this, judgement] { end(judgement); });
}

void Worker::renew(const std::shared_ptr<Judgement>& judgement) {
  World& world = scene_.world;
  world.after(judgement->held.renewal_pause(), [this, judgement, &world] {
    if (*judgement->is_gone || judgement->is_ended) return;
    if (world.now < frozen_until_) return renew(judgement);
    const Lease& lease = judgement->lease;
    using Reports = std::vector<Result<bool>>;
    scene_.server.call<Reports>(
        [lease, scene = scene_](TaskService& service, TaskService::Reply<Reports> reply) {
          scene.promises.heard(lease.job, lease.epoch);
          service.report({{.kind = ReportKind::kRenew, .job = lease.job, .epoch = lease.epoch}},
                         std::move(reply));
        },
        [this, judgement](const Result<Reports>& answers, Time) {
          if (*judgement->is_gone || judgement->is_ended) return;
          const Result<bool> renewed =
              answers ? answers->front() : Result<bool>(tl::unexpected(answers.error()));
          if (judgement->held.goes_on_after(renewed)) return renew(judgement);
          judgement->is_stopped = true;
          end(judgement);
        },
        judgement->held.renewal_pause());
  });
}

void Worker::end(const std::shared_ptr<Judgement>& judgement) {
  World& world = scene_.world;
  if (*judgement->is_gone || judgement->is_ended) return;
  if (world.now < frozen_until_)
    return world.after(std::chrono::duration_cast<milliseconds>(frozen_until_ - world.now),
                       [this, judgement] { end(judgement); });
  judgement->is_ended = true;
  const Lease& lease = judgement->lease;
  LeaseReport report{.job = lease.job, .epoch = lease.epoch};
  const bool fails = is_cursed(judgement->key) || world.chance(world.weather.infrastructure);
  const auto code = world.below(4) == 0 ? ErrorCode::kInternal : ErrorCode::kUnavailable;
  if (judgement->is_stopped) {
    report.why = Error(ErrorCode::kCancelled, "stopped");
  } else if (fails) {
    report.why = Error(code, fmt::format("{} could not be judged", lease.job));
  }
  report.kind = judgement->held.report_of(report.why ? &*report.why : nullptr, false);
  if (report.kind == ReportKind::kComplete) {
    report.answer = fmt::format(R"({{"verdict":"{} {} by {} in its life {}"}})", lease.job,
                                lease.epoch, name_, lives_);
    scene_.promises.answers(lease, report.answer);
  }
  if (report.kind == ReportKind::kFail) scene_.promises.fails(report);
  this->report(judgement, std::move(report));
}

void Worker::report(const std::shared_ptr<Judgement>& judgement, LeaseReport report) {
  using Reports = std::vector<Result<bool>>;
  scene_.world.trace("{}: tells {} of job {}, epoch {}", name_, to_string(report.kind), report.job,
                     report.epoch);
  // The error of a report is that of its call.
  call_patiently<Reports>(
      scene_, judgement->is_gone,
      [report, scene = scene_, name = name_](TaskService& service,
                                             const TaskService::Reply<Reports>& reply) {
        scene.promises.heard(report.job, report.epoch);
        service.report({report}, [scene, report, name, reply](Result<Reports> answers) {
          if (answers && answers->front() && report.kind == ReportKind::kFail)
            scene.promises.failure_taken(report, name, scene.server.turn_at());
          if (answers && !answers->front()) return reply(tl::unexpected(answers->front().error()));
          reply(std::move(answers));
        });
      },
      [this, report](const Result<Reports>& answers, Time) {
        scene_.world.trace("{}: {} of job {}, epoch {}: {}", name_, to_string(report.kind),
                           report.job, report.epoch, answers ? "taken" : answers.error().message());
        if (answers && report.kind == ReportKind::kComplete) scene_.promises.answer_taken(report);
        intent_.reset();
        ask();
      },
      patience_at(scene_.world.now));
}

}  // namespace kw::service::simulation
