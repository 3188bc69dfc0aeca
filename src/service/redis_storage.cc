#include "service/redis_storage.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "os/pause.h"
#include "service/service_client.h"

namespace kw::service {
namespace redis {  // SQLite's names are the same
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kSchema = "1";
constexpr const char* kFence = "kernelwright:fence";    // the name of who led last
constexpr const char* kLeader = "kernelwright:leader";  // its URL; gone when its lease has ended
constexpr const char* kCommit = "kernelwright:commit";  // the number of its last transaction
constexpr const char* kSchemaKey = "kernelwright:schema";
constexpr const char* kNextId = "kernelwright:next_id";
// Hashes, from numbers (problems: from their hashes) to MessagePack arrays, or to texts.
constexpr const char* kJobs = "kernelwright:jobs";
constexpr const char* kRequests = "kernelwright:requests";
constexpr const char* kAnswers = "kernelwright:answers";
constexpr const char* kTickets = "kernelwright:tickets";
constexpr const char* kProblems = "kernelwright:problems";

constexpr milliseconds kPause{100};       // between tries
constexpr std::size_t kReadAtOnce = 500;  // texts of jobs
constexpr int kRenewals = 3;              // in a lease

// Keys: fence, leader, commit. Arguments: the name, the lease in ms, the URL. Nothing when it is
// done, else the leader's URL.
constexpr const char* kTakeScript = R"(
local led = redis.call('GET', KEYS[2])
if led then return led end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[2])
redis.call('SET', KEYS[3], '0')
return false)";
// The same; then for a transaction its number and its commands, a MessagePack array of arrays, of
// which all are carried out or none. One that came late, as its repetition was faster, is left out.
constexpr const char* kWriteScript = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('FENCED another server leads') end
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[2])
if not ARGV[4] or tonumber(redis.call('GET', KEYS[3])) >= tonumber(ARGV[4]) then return true end
for _, command in ipairs(cmsgpack.unpack(ARGV[5])) do redis.call(unpack(command)) end
redis.call('SET', KEYS[3], ARGV[4])
return true)";
constexpr const char* kReturnScript = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
return true)";

std::string packed(const Json& value) {
  std::string out;
  nlohmann::ordered_json::to_msgpack(value, out);
  return out;
}

std::string packed_row(const JobRow& row) {
  return packed(
      Json::array({row.key, row.tenant, row.problem, static_cast<int>(row.state), row.epoch,
                   row.lost, row.failures, row.worker, row.lease, row.ended, row.needs}));
}
std::string packed_row(const TicketRow& row) {
  return packed(Json::array({row.job, row.submission, row.priority, row.timeout_ms,
                             static_cast<int>(row.state), row.owner, row.group}));
}

tl::unexpected<Error> damaged(const char* what, const std::string& name) {
  return fail(ErrorCode::kDataLoss, "{}: the row {} cannot be read", what, printable(name, 100));
}

// The fields of a row: as many as are asked for, by types that nlohmann checks.
Result<JobRow> job_of(const std::string& id, const std::string& text) {
  try {
    const Json row = Json::from_msgpack(text);
    return JobRow{.id = std::stoull(id),
                  .key = row.at(0).get<std::string>(),
                  .tenant = row.at(1).get<std::string>(),
                  .problem = row.at(2).get<std::string>(),
                  // Rows of before have ten fields.
                  .needs = row.size() > 10 ? row.at(10).get<std::string>() : std::string(),
                  .state = static_cast<JobState>(row.at(3).get<int>()),
                  .epoch = row.at(4).get<std::int64_t>(),
                  .lost = row.at(5).get<int>(),
                  .failures = row.at(6).get<int>(),
                  .worker = row.at(7).get<std::string>(),
                  .lease = row.at(8).get<std::string>(),
                  .ended = row.at(9).get<std::uint64_t>()};
  } catch (const std::exception&) {
    return damaged(kJobs, id);
  }
}
Result<TicketRow> ticket_of(const std::string& id, const std::string& text) {
  try {
    const Json row = Json::from_msgpack(text);
    return TicketRow{.id = std::stoull(id),
                     .job = row.at(0).get<JobId>(),
                     .submission = row.at(1).get<std::string>(),
                     .priority = row.at(2).get<int>(),
                     .timeout_ms = row.at(3).get<std::int64_t>(),
                     .state = static_cast<TicketState>(row.at(4).get<int>()),
                     .owner = row.at(5).get<std::string>(),
                     .group = row.at(6).get<std::string>()};
  } catch (const std::exception&) {
    return damaged(kTickets, id);
  }
}

bool read_number(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

using Commands = std::vector<std::vector<std::string>>;

Result<std::string> setting(RedisConnection& redis, const char* name) {
  auto found = redis.call({"CONFIG", "GET", name});
  if (!found) {
    if (found.error().code() == ErrorCode::kUnavailable) return tl::unexpected(found.error());
    return fail(ErrorCode::kUnsupported, "its settings cannot be seen: {}",
                found.error().message());
  }
  return found->list.size() == 2 ? found->list[1].text : std::string();
}

// The value behind "name:" in a text of INFO.
std::string fact(const std::string& info, std::string_view name) {
  for (const std::string& line : split(info, '\n'))
    if (line.starts_with(name)) return std::string(trim(line.substr(name.size())));
  return {};
}

// Whether what Redis acknowledges is on disk, and stays what it is.
Status check_settings(RedisConnection& redis, bool accept_everysec) {
  KW_TRY(const RedisReply info, redis.call({"INFO", "server"}));
  const std::string version = fact(info.text, "redis_version:");
  std::uint64_t major = 0;
  if (!read_number(std::string_view(version).substr(0, version.find('.')), major) || major < 7)
    return fail(ErrorCode::kUnsupported, "version {} of Redis; 7 or later is needed",
                printable(version, 30));
  if (fact(info.text, "redis_mode:") != "standalone")
    return fail(ErrorCode::kUnsupported, "a Redis cluster or sentinel; one server is needed");
  KW_TRY(const RedisReply role, redis.call({"ROLE"}));
  if (role.list.empty() || role.list[0].text != "master")
    return fail(ErrorCode::kUnsupported, "a replica, which takes no writes");
  struct Needed {
    const char *name, *value, *why;
  };
  for (const Needed& each :
       {Needed{"appendonly", "yes", "without it a crash of Redis loses acknowledged tasks"},
        {"no-appendfsync-on-rewrite", "no",
         "with it Redis does not sync while it rewrites its file"},
        {"maxmemory-policy", "noeviction", "with another one Redis may drop tasks"}}) {
    KW_TRY(const std::string value, setting(redis, each.name));
    if (value != each.value)
      return fail(ErrorCode::kUnsupported, "its setting \"{} {}\" must be \"{} {}\": {}", each.name,
                  printable(value, 50), each.name, each.value, each.why);
  }
  KW_TRY(const std::string sync, setting(redis, "appendfsync"));
  if (sync == "always" || (sync == "everysec" && accept_everysec)) return {};
  return fail(ErrorCode::kUnsupported,
              "its setting \"appendfsync {}\" must be \"appendfsync always\": without it a loss of "
              "power loses acknowledged tasks{}",
              printable(sync, 50),
              sync == "everysec" ? ", those of a second; --accept-everysec takes that" : "");
}

Result<RedisConnection> connect(const RedisOptions& options) {
  KW_TRY(RedisConnection out,
         RedisConnection::open(options.address, options.password, options.call_timeout));
  KW_TRY_STATUS(check_settings(out, options.accept_everysec));
  return out;
}

// It carries what one server that leads says to Redis. Each thread of the server's has its own.
class LeaderLink {
 public:
  LeaderLink(const RedisOptions& options, std::string name)
      : options_(options), name_(std::move(name)) {}

  // Repeats the call while Redis cannot be reached, until the patience or the stop ends. words:
  // such as may be carried out twice.
  Result<RedisReply> call(const std::vector<std::string>& words, milliseconds patience) {
    const auto end = steady_clock::now() + patience;
    while (true) {
      Result<RedisReply> out = call_once(words);
      const bool may_come = !out && out.error().code() == ErrorCode::kUnavailable;
      if (!may_come || options_.stop.stop_requested() || steady_clock::now() >= end) return out;
      (void)os::pause(kPause, options_.stop);
    }
  }

  // commands: a MessagePack array. number: of the transaction, one higher than the last.
  Status write(std::uint64_t number, const std::string& commands) {
    std::vector<std::string> words = with_script(kWriteScript);
    words.push_back(std::to_string(number));
    words.push_back(commands);
    KW_TRY_STATUS(call(words, options_.patience));
    return {};
  }
  // kAlreadyExists: another server leads.
  Status renew(milliseconds patience = milliseconds(0)) {
    KW_TRY_STATUS(call(with_script(kWriteScript), patience));
    return {};
  }
  void give_back() { (void)call_once(with_script(kReturnScript)); }

  // How many there have been. While it stays, so does the process that answers.
  std::uint64_t connections() const { return connections_; }

  std::vector<std::string> with_script(const char* script) const {
    return {"EVAL",      script,  "3",   kFence,
            kLeader,     kCommit, name_, std::to_string(options_.lease.count()),
            options_.url};
  }

 private:
  Result<RedisReply> call_once(const std::vector<std::string>& words) {
    if (!redis_ || redis_->is_lost()) {
      auto opened = connect(options_);
      if (!opened) return tl::unexpected(named(std::move(opened).error()));
      redis_.emplace(std::move(*opened));
      ++connections_;
    }
    auto out = redis_->call(words);
    if (!out) return tl::unexpected(named(std::move(out).error()));
    return out;
  }
  Error named(Error error) const { return std::move(error).with_context(options_.address.text()); }

  const RedisOptions& options_;
  const std::string name_;
  std::optional<RedisConnection> redis_;
  std::uint64_t connections_ = 0;
};

class RedisStorage : public TaskStorage {
 public:
  RedisStorage(RedisOptions options, const std::string& name)
      : options_(std::move(options)), link_(options_, name), renewing_(options_, name) {}
  ~RedisStorage() override {
    renewer_.request_stop();
    if (renewer_.joinable()) renewer_.join();
    link_.give_back();
  }
  RedisStorage(const RedisStorage&) = delete;
  RedisStorage& operator=(const RedisStorage&) = delete;

  // The URL of the server that leads; nothing when this one does now.
  Result<std::optional<std::string>> take_lead() {
    KW_TRY(const RedisReply led, link_.call(link_.with_script(kTakeScript), milliseconds(0)));
    if (led.kind == RedisReply::Kind::kText) return led.text;
    KW_TRY_STATUS(check_schema());
    renewer_ = std::jthread([this](const std::stop_token& stop) { renew(stop); });
    return std::nullopt;
  }

  // Rows belong together only where one process of Redis gave all of them, since another one goes
  // through its hashes in another order, and where nobody else led meanwhile.
  Result<Rows> load() override {
    const auto end = steady_clock::now() + options_.patience;
    while (true) {
      KW_TRY_STATUS(link_.renew(options_.patience));
      const std::uint64_t connection = link_.connections();
      Result<Rows> out = read_rows();
      KW_TRY_STATUS(link_.renew(options_.patience));
      if (link_.connections() == connection) return out;
      if (options_.stop.stop_requested() || steady_clock::now() >= end)
        return fail(ErrorCode::kUnavailable, "{}: it was started anew while its rows were read",
                    options_.address.text());
    }
  }

  Status commit(const Changes& changes) override {
    const std::string commands = packed(Json(commands_of(changes)));
    if (Status written = link_.write(++last_commit_, commands); !written) {
      if (written.error().code() != ErrorCode::kAlreadyExists) return written;
      say_lost(written.error());
      return fail(ErrorCode::kUnavailable, written.error().message());
    }
    for (const TicketRow& row : changes.tickets) {
      std::vector<TicketId>& known = tickets_of_[row.job];
      if (std::ranges::find(known, row.id) == known.end()) known.push_back(row.id);
    }
    for (JobId job : changes.forgotten) tickets_of_.erase(job);
    return {};
  }

  Result<std::string> request(JobId job) override {
    KW_TRY(RedisReply found, read({"HGET", kRequests, std::to_string(job)}));
    if (found.kind != RedisReply::Kind::kText) return no_request(job);
    return std::move(found.text);
  }

 private:
  Result<Rows> read_rows() {
    Rows out;
    tickets_of_.clear();
    KW_TRY_STATUS(each(kJobs, [&](const std::string& id, std::string& row) -> Status {
      KW_TRY(JobRow job, job_of(id, row));
      out.jobs.push_back(std::move(job));
      return {};
    }));
    KW_TRY_STATUS(each(kTickets, [&](const std::string& id, std::string& row) -> Status {
      KW_TRY(TicketRow ticket, ticket_of(id, row));
      tickets_of_[ticket.job].push_back(ticket.id);
      out.tickets.push_back(std::move(ticket));
      return {};
    }));
    KW_TRY_STATUS(each(kProblems, [&](const std::string& hash, std::string& text) -> Status {
      out.problems.push_back({.hash = hash, .text = std::move(text)});
      return {};
    }));
    std::ranges::sort(out.jobs, {}, &JobRow::id);
    std::ranges::sort(out.tickets, {}, &TicketRow::id);
    std::ranges::sort(out.problems, {}, &ProblemRow::hash);
    std::vector<JobRow*> open, all;
    for (JobRow& row : out.jobs) {
      all.push_back(&row);
      if (!is_final(row.state)) open.push_back(&row);
    }
    KW_TRY_STATUS(read_texts(kRequests, open, &JobRow::request));
    KW_TRY_STATUS(read_texts(kAnswers, all, &JobRow::answer));
    KW_TRY(const RedisReply next, read({"GET", kNextId}));
    if (next.kind == RedisReply::Kind::kText && !read_number(next.text, out.next_id))
      return damaged(kNextId, next.text);
    return out;
  }

  Result<RedisReply> read(const std::vector<std::string>& words) {
    return link_.call(words, options_.patience);
  }

  Status check_schema() {
    const Commands first = {{"SETNX", kSchemaKey, kSchema}};
    KW_TRY_STATUS(link_.write(++last_commit_, packed(Json(first))));
    KW_TRY(const RedisReply schema, read({"GET", kSchemaKey}));
    if (schema.text == kSchema) return {};
    return fail(ErrorCode::kUnsupported, "{}: schema {}, where this version reads {}",
                options_.address.text(), printable(schema.text, 30), kSchema);
  }

  // The pairs of a hash, which is read a part at a time.
  template <typename Visit>
  Status each(const char* hash, const Visit& visit) {
    std::map<std::string, std::string> seen;  // HSCAN may give a field twice
    std::string cursor = "0";
    do {
      KW_TRY(RedisReply part, read({"HSCAN", hash, cursor, "COUNT", std::to_string(kReadAtOnce)}));
      cursor = part.list.at(0).text;
      std::vector<RedisReply>& pairs = part.list.at(1).list;
      for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
        seen.insert_or_assign(std::move(pairs[i].text), std::move(pairs[i + 1].text));
    } while (cursor != "0");
    for (auto& [name, text] : seen) KW_TRY_STATUS(visit(name, text));
    return {};
  }

  Status read_texts(const char* hash, const std::vector<JobRow*>& rows,
                    std::optional<std::string> JobRow::* field) {
    for (std::size_t from = 0; from < rows.size(); from += kReadAtOnce) {
      const std::size_t to = std::min(rows.size(), from + kReadAtOnce);
      std::vector<std::string> words = {"HMGET", hash};
      for (std::size_t i = from; i < to; ++i) words.push_back(std::to_string(rows[i]->id));
      KW_TRY(RedisReply texts, read(words));
      for (std::size_t i = from; i < to; ++i) {
        RedisReply& text = texts.list.at(i - from);
        if (text.kind == RedisReply::Kind::kText) rows[i]->*field = std::move(text.text);
      }
    }
    return {};
  }

  Commands commands_of(const Changes& changes) const {
    Commands out;
    const auto put = [&out](const char* hash, auto id, std::string text) {
      out.push_back({"HSET", hash, fmt::format("{}", id), std::move(text)});
    };
    const auto drop = [&out](const char* hash, auto id) {
      out.push_back({"HDEL", hash, fmt::format("{}", id)});
    };
    for (const JobRow& row : changes.jobs) {
      put(kJobs, row.id, packed_row(row));
      if (row.request) put(kRequests, row.id, *row.request);
      if (row.answer) put(kAnswers, row.id, *row.answer);
    }
    for (const TicketRow& row : changes.tickets) put(kTickets, row.id, packed_row(row));
    for (JobId job : changes.forgotten) {
      for (const char* hash : {kJobs, kRequests, kAnswers}) drop(hash, job);
      if (const auto known = tickets_of_.find(job); known != tickets_of_.end())
        for (TicketId ticket : known->second) drop(kTickets, ticket);
      for (const TicketRow& row : changes.tickets)
        if (row.job == job) drop(kTickets, row.id);
    }
    for (const ProblemRow& row : changes.problems) put(kProblems, row.hash, row.text);
    for (const std::string& hash : changes.forgotten_problems) drop(kProblems, hash);
    if (changes.next_id != 0) out.push_back({"SET", kNextId, std::to_string(changes.next_id)});
    return out;
  }

  // Until another server leads. Other errors are those of the next transaction to tell.
  void renew(const std::stop_token& stop) {
    while (os::pause(options_.lease / kRenewals, stop)) {
      const Status renewed = renewing_.renew();
      if (!renewed && renewed.error().code() == ErrorCode::kAlreadyExists)
        return say_lost(renewed.error());
    }
  }
  void say_lost(const Error& why) {
    if (!has_said_lost_.exchange(true)) options_.on_lost(why);
  }

  const RedisOptions options_;
  LeaderLink link_;      // of the storage's thread
  LeaderLink renewing_;  // of the renewer
  std::uint64_t last_commit_ = 0;
  std::atomic<bool> has_said_lost_ = false;
  std::map<JobId, std::vector<TicketId>> tickets_of_;
  std::jthread renewer_;  // last: it uses the rest
};

}  // namespace
}  // namespace redis

Result<RedisLead> try_to_lead(const RedisOptions& options) {
  auto storage = std::make_unique<redis::RedisStorage>(options, unique_name());
  KW_TRY(std::optional<std::string> leader, storage->take_lead());
  if (leader) return RedisLead{.leader = std::move(*leader)};
  return RedisLead{.storage = std::move(storage)};
}

}  // namespace kw::service
