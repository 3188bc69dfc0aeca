// A server that misbehaves by a plan, for tests of whole programs: openai/testing's, with a seed's
// requests told apart. Prints its URL, then a JSON line for each chat request, and runs until its
// standard input ends; a line there lets those that hang go on.
// usage: kw_server_faults PLAN
// PLAN: a JSON list with a row for each seed, in the order in which seeds come. A row: what is done
// about each request with the seed, the last one again and again:
//   {"do": "answer" | "stream" | "hang", "text": T, "finish": F}   hang: streamed, the end of it
//   late
//   {"do": "echo"}   the prompt, and what was asked of the model behind it
//   {"do": "busy" | "error" | "reset" | "cut" | "cut_body" | "malformed" | "refused" | "no_key"}
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"
#include "openai/testing/scripted_server.h"
#include "os/file.h"

namespace kw::openai::testing {
namespace {

Act with_reset(std::string bytes) {
  Act out(std::move(bytes));
  out.reset = true;
  return out;
}

Act act_of(const Json& step) {
  const std::string what = step.at("do");
  const std::string text = step.value("text", ""), finish = step.value("finish", "stop");
  const std::string half = text.substr(0, text.size() / 2), rest = text.substr(half.size());
  const std::string end = chunk(rest, finish) + usage_chunk(10, 5) + event("[DONE]");
  if (what == "answer") return answer(text, finish);
  if (what == "stream") return stream_head() + chunk(half) + end;
  if (what == "hang") return {stream_head() + chunk(half), true, end};
  if (what == "busy") return http(429, "{}", "application/json", "Retry-After: 1\r\n");
  if (what == "error") return http(500, "Internal Server Error", "text/plain");
  if (what == "reset") return with_reset("");
  if (what == "cut") return with_reset(stream_head() + chunk("half of it"));
  if (what == "malformed") return http(200, "<html>no JSON</html>");
  if (what == "refused") return http(400, R"({"error": {"message": "too long a prompt"}})");
  if (what == "no_key") return http(401, R"({"error": {"message": "no such key"}})");
  KW_CHECK(what == "cut_body");
  const std::string whole = answer("half of it is not enough");
  return whole.substr(0, whole.size() - 20);
}

class Plan {
 public:
  explicit Plan(Json rows) : rows_(std::move(rows)) {}

  Act next(const Received& request) {
    if (request.head.starts_with("GET ")) return http(200, R"({"data": [{"id": "faults"}]})");
    const auto seed = request.json().at("seed").get<std::uint64_t>();
    std::lock_guard lock(mutex_);
    const auto row = seeds_.emplace(seed, seeds_.size()).first->second;
    const std::size_t number = asked_[seed]++;
    const Json& steps = rows_.at(row);
    const Json& step = steps.at(std::min(number, steps.size() - 1));
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    fmt::print("{}\n", Json{{"seed", seed},
                            {"row", row},
                            {"try", number + 1},
                            {"do", step.at("do")},
                            {"at_s", std::chrono::duration<double>(now).count()}}
                           .dump());
    std::fflush(stdout);
    if (step.at("do") != "echo") return act_of(step);
    return answer(request.json().at("messages").back().at("content").get<std::string>() +
                  step.value("text", ""));
  }

 private:
  const Json rows_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::size_t> seeds_, asked_;
};

int serve(const char* path) {
  auto text = os::read_file(path);
  auto rows = text ? parse_json(*text) : Result<Json>(tl::unexpected(text.error()));
  if (!rows) {
    fmt::print(stderr, "{}\n", rows.error().message());
    return 2;
  }
  Plan plan(std::move(*rows));
  ScriptedServer server([&plan](const Received& request) { return plan.next(request); });
  fmt::print("{}\n", server.url());
  std::fflush(stdout);
  for (int byte = 0; (byte = std::getchar()) != EOF;)
    if (byte == '\n') server.release();
  return 0;
}

}  // namespace
}  // namespace kw::openai::testing

int main(int count, char** arguments) {
  if (count == 2) return kw::openai::testing::serve(arguments[1]);
  fmt::print(stderr, "usage: kw_server_faults PLAN\n");
  return 2;
}
