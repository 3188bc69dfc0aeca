// The load for kernelwright serve: clients and null workers on one epoll loop, so that a rate is
// the server's and not the client's. Every task has a content of its own and must come back `done`.
//
//   service_load URL --mode closed --in-flight 1000 --batch 1 --seconds 5 --workers 4 --lease 64
//   service_load URL --mode open --rate 1000 ...
//
// closed: --in-flight tasks are always under way, --batch of them in one call and one group.
// open: --rate tasks a second are submitted, whatever the server does.
// Prints a JSON object: rate, milliseconds from submission to acceptance and to the answer, and the
// CPU seconds of this program. "later" is of tasks that were submitted after the first second: a
// closed load begins with all of its tasks at once.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gym/eval_request.h"
#include "gym/version.h"
#include "net/url.h"
#include "task/candidate_source.h"
#include "task/problem_source.h"
#include "task/verdict.h"

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const std::string& why) {
  fmt::print(stderr, "error: {}\n", why);
  std::exit(2);
}

struct Options {
  std::string url, mode = "closed";
  int in_flight = 1000, batch = 1, workers = 4, lease = 64;
  double rate = 1000, seconds = 5;
};

// One kept connection with one call under way at a time. The loop calls on_answer with the body.
class Connection {
 public:
  Connection(int epoll, const sockaddr_in& address) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      die(fmt::format("cannot connect: {}", std::strerror(errno)));
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = this}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd_, &event);
  }
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void call(std::string_view method, std::string_view path, std::string_view body,
            std::function<void(std::string_view)> on_answer) {
    on_answer_ = std::move(on_answer);
    std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
                                   method, path, body.size());
    text += body;
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) die(fmt::format("cannot send: {}", std::strerror(errno)));
      sent += static_cast<std::size_t>(n);
    }
  }

  void on_readable() {
    char buffer[65536];
    const ssize_t n = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) die("the server closed a connection");
    got_.append(buffer, static_cast<std::size_t>(n));
    const std::size_t head = got_.find("\r\n\r\n");
    if (head == std::string::npos) return;
    const std::size_t field = got_.find("Content-Length: ");
    if (field == std::string::npos || field > head) die("an answer without its length: " + got_);
    const auto length = std::strtoul(got_.c_str() + field + 16, nullptr, 10);
    if (got_.size() < head + 4 + length) return;
    if (!got_.starts_with("HTTP/1.1 200")) die("the server says: " + got_);
    const std::string body = got_.substr(head + 4, length);
    got_.erase(0, head + 4 + length);
    std::exchange(on_answer_, nullptr)(body);
  }

 private:
  int fd_ = -1;
  std::string got_;
  std::function<void(std::string_view)> on_answer_;
};

// The text between `before` and the next quote, from `at` on.
std::string_view quoted(std::string_view text, std::string_view before, std::size_t& at) {
  at = text.find(before, at);
  if (at == std::string_view::npos) return {};
  at += before.size();
  const std::size_t end = text.find('"', at);
  return text.substr(at, end - at);
}

std::size_t count_of(std::string_view text, std::string_view word) {
  std::size_t out = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + word.size()))
    ++out;
  return out;
}

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    const auto url = kw::net::parse_url(options.url);
    if (!url) die(url.error().message());
    address_.sin_family = AF_INET;
    address_.sin_port = htons(url->port);
    if (::inet_pton(AF_INET, url->host.c_str(), &address_.sin_addr) != 1)
      die("expected a URL with an IPv4 address");
    make_texts();
  }

  void run() {
    send_problem();
    // Clients keep their connections: the time that these take is no task's.
    std::vector<Connection*> clients;
    if (options_.mode == "closed")
      for (int i = 0; i < options_.in_flight / options_.batch; ++i) clients.push_back(connect());
    begin_ = Clock::now();
    end_ = begin_ + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(options_.seconds));
    for (int i = 0; i < options_.workers; ++i) work(*connect());
    for (Connection* client : clients) submit(*client, Clock::now());
    while (Clock::now() < end_ || open_ > 0) {
      if (Clock::now() > end_ + std::chrono::seconds(60)) die("answers do not come");
      if (options_.mode == "open") submit_what_is_due();
      epoll_event events[256];
      const int n = ::epoll_wait(epoll_, events, 256, options_.mode == "open" ? 1 : 100);
      for (int i = 0; i < n; ++i) static_cast<Connection*>(events[i].data.ptr)->on_readable();
    }
    last_ = Clock::now();
  }

  void print() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    const double wall = std::chrono::duration<double>(last_ - begin_).count();
    fmt::print(
        "{{\"mode\":\"{}\",\"in_flight\":{},\"batch\":{},\"tasks\":{},\"seconds\":{:.2f},\"rate\":{"
        ":.0f},"
        "\"accept_p50_ms\":{:.2f},\"accept_p99_ms\":{:.2f},\"answer_p50_ms\":{:.2f},"
        "\"answer_p99_ms\":{:.2f},\"later_accept_p99_ms\":{:.2f},\"later_answer_p99_ms\":{:.2f},"
        "\"client_cpu_s\":{:.2f}}}\n",
        options_.mode, options_.in_flight, options_.batch, answered_, wall,
        static_cast<double>(answered_) / wall, percentile(accepts_, 0.5),
        percentile(accepts_, 0.99), percentile(answers_, 0.5), percentile(answers_, 0.99),
        percentile(later(accepts_), 0.99), percentile(later(answers_), 0.99),
        seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }

 private:
  // A request is cut in two, where its own timeout goes.
  void make_texts() {
    const std::string root = KW_SOURCE_DIR;
    kw::gym::EvalRequest request;
    request.problem = kw::task::load_problem(root + "/problems/relu", {}).value();
    request.candidate = kw::task::load_candidate(root + "/examples/relu/good.cpp").value();
    request.options.timeout_seconds = 12345;
    kw::Json body = kw::gym::to_json(request).value();
    problem_ = kw::Json{{"problem", body["problem"]}}.dump();
    body["problem"] = {{"hash", request.problem.hash}};
    const std::string text = body.dump();
    const std::size_t at = text.find("12345");
    before_ = R"({"request":)" + text.substr(0, at);
    behind_ = text.substr(at + (text.substr(at).starts_with("12345.0") ? 7 : 5));
    kw::task::Verdict verdict;
    verdict.problem_hash = request.problem.hash;
    verdict.candidate_hash = request.candidate.hash;
    verdict.outcome = kw::task::Outcome::kPassed;
    verdict.made_with.gym_version = kw::gym::kGymVersion;
    verdict_ = to_json(verdict).dump();
    run_name_ = fmt::format("{:x}-{}", Clock::now().time_since_epoch().count(), ::getpid());
  }

  // Requests name it by its hash, as those of our clients do.
  void send_problem() {
    bool is_there = false;
    connect()->call("POST", "/v1/problems", problem_, [&](std::string_view) { is_there = true; });
    while (!is_there) {
      epoll_event event;
      if (::epoll_wait(epoll_, &event, 1, 10000) != 1) die("the problem is not taken");
      static_cast<Connection*>(event.data.ptr)->on_readable();
    }
  }

  std::string task_text() {
    ++submitted_;
    return fmt::format(R"({}{:.7f}{},"submission":"{}-{}"}})", before_,
                       1 + static_cast<double>(submitted_) * 1e-4, behind_, run_name_, submitted_);
  }

  Connection* connect() {
    connections_.push_back(std::make_unique<Connection>(epoll_, address_));
    return connections_.back().get();
  }

  void submit_what_is_due() {
    const double passed =
        std::chrono::duration<double>(std::min(Clock::now(), end_) - begin_).count();
    while (static_cast<double>(due_) < passed * options_.rate) {
      const Clock::time_point at =
          begin_ + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(static_cast<double>(due_) / options_.rate));
      ++due_;
      Connection* connection = free_.empty() ? connect() : free_.front();
      if (!free_.empty()) free_.pop_front();
      submit(*connection, at);
    }
  }

  void submit(Connection& connection, Clock::time_point at) {
    const int count = options_.mode == "open" ? 1 : options_.batch;
    open_ += count;
    const std::string group = fmt::format("{}-g{}", run_name_, submitted_);
    std::string body = R"({"tasks":[)";
    for (int i = 0; i < count; ++i) body += (i == 0 ? "" : ",") + task_text();
    body += count == 1 ? "]}" : fmt::format(R"(],"group":"{}"}})", group);
    connection.call("POST", "/v1/tasks", body, [=, this, &connection](std::string_view answer) {
      accepts_.push_back({at, milliseconds(at)});
      std::size_t from = 0;
      if (count == 1) {
        poll(connection, std::string(quoted(answer, R"("id":")", from)), at);
      } else {
        poll_group(connection, group, "", count, at);
      }
    });
  }

  void poll(Connection& connection, const std::string& id, Clock::time_point at) {
    connection.call("GET", fmt::format("/v1/tasks/{}?wait=30", id), "",
                    [=, this, &connection](std::string_view answer) {
                      if (answer.find(R"("is_final":false)") != std::string_view::npos)
                        return poll(connection, id, at);
                      take(answer, 1, at);
                      again(connection);
                    });
  }

  void poll_group(Connection& connection, const std::string& group, const std::string& after,
                  std::size_t left, Clock::time_point at) {
    connection.call(
        "GET", fmt::format("/v1/groups/{}?wait=30&least={}&after={}", group, left, after), "",
        [=, this, &connection](std::string_view answer) {
          const std::size_t ended = count_of(answer, R"("is_final":true)");
          take(answer, ended, at);
          std::size_t from = 0;
          if (ended < left)
            return poll_group(connection, group, std::string(quoted(answer, R"("next":")", from)),
                              left - ended, at);
          again(connection);
        });
  }

  void take(std::string_view answer, std::size_t count, Clock::time_point at) {
    if (count_of(answer, R"("state":"done")") != count ||
        count_of(answer, R"("verdict":{)") != count)
      die(fmt::format("not done: {}", answer.substr(0, 500)));
    answered_ += count;
    open_ -= static_cast<std::int64_t>(count);
    for (std::size_t i = 0; i < count; ++i) answers_.push_back({at, milliseconds(at)});
  }

  void again(Connection& connection) {
    if (options_.mode == "open") {
      free_.push_back(&connection);
    } else if (Clock::now() < end_) {
      submit(connection, Clock::now());
    }
  }

  void work(Connection& connection) {
    connection.call(
        "POST", "/v1/leases",
        fmt::format(R"({{"worker":"null","gym_version":{},"wait_seconds":10,"most":{}}})",
                    kw::gym::kGymVersion, options_.lease),
        [this, &connection](std::string_view answer) {
          std::string body = R"({"reports":[)";
          for (std::size_t at = 0;;) {
            const std::string_view task = quoted(answer, R"("task":")", at);
            if (task.empty()) break;
            if (!body.ends_with('[')) body += ',';
            body += fmt::format(R"({{"task":"{}","report":"complete","epoch":1,"verdict":{}}})",
                                task, verdict_);
          }
          if (body.ends_with('[')) return work(connection);
          connection.call("POST", "/v1/reports", body + "]}",
                          [this, &connection](std::string_view told) {
                            if (told.find("error") != std::string_view::npos)
                              die(fmt::format("refused: {}", told.substr(0, 500)));
                            work(connection);
                          });
        });
  }

  static double milliseconds(Clock::time_point since) {
    return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
  }
  struct Time {
    Clock::time_point submitted;
    double ms;
  };
  std::vector<Time> later(std::vector<Time> times) const {
    std::erase_if(
        times, [&](const Time& time) { return time.submitted < begin_ + std::chrono::seconds(1); });
    return times;
  }
  static double percentile(std::vector<Time> times, double share) {
    if (times.empty()) return 0;
    std::ranges::sort(times, {}, &Time::ms);
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))].ms;
  }

  const Options options_;
  const int epoll_;
  sockaddr_in address_{};
  std::string problem_, before_, behind_, verdict_, run_name_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<Connection*> free_;
  Clock::time_point begin_, end_, last_;
  std::uint64_t submitted_ = 0, due_ = 0, answered_ = 0;
  std::int64_t open_ = 0;
  std::vector<Time> accepts_, answers_;
};

Options options_of(int argc, char** argv) {
  Options out;
  std::map<std::string, std::function<void(const char*)>> known = {
      {"--mode", [&](const char* word) { out.mode = word; }},
      {"--in-flight", [&](const char* word) { out.in_flight = std::atoi(word); }},
      {"--batch", [&](const char* word) { out.batch = std::atoi(word); }},
      {"--workers", [&](const char* word) { out.workers = std::atoi(word); }},
      {"--lease", [&](const char* word) { out.lease = std::atoi(word); }},
      {"--rate", [&](const char* word) { out.rate = std::atof(word); }},
      {"--seconds", [&](const char* word) { out.seconds = std::atof(word); }}};
  for (int i = 1; i < argc; ++i) {
    auto found = known.find(argv[i]);
    if (found == known.end()) {
      out.url = argv[i];
    } else if (++i < argc) {
      found->second(argv[i]);
    }
  }
  if (out.url.empty() || out.batch < 1 || out.in_flight < out.batch || out.workers < 1)
    die("usage: service_load URL [--mode closed|open] [--in-flight N] [--batch N] [--rate N] "
        "[--seconds S] [--workers N] [--lease N]");
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  Load load(options_of(argc, argv));
  load.run();
  load.print();
}
