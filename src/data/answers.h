// The teacher's log: the answer to each question, the questions that will get none, and what was
// paid.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "data/session_log.h"
#include "openai/chat_client.h"

namespace kw::data {

struct Spent {
  std::int64_t tokens = 0;
  double cost = 0;
  Spent& operator+=(const Spent& other);
};

// Counts what attempts cost, by the tag of the request that made them, because a failed request
// does not report its cost. Any thread may call it.
class AttemptBook {
 public:
  struct Entry {
    Spent spent;
    openai::Outcome last = openai::Outcome::kAnswered;
  };
  void add(const openai::Attempt& attempt);
  Entry take(const std::string& tag);  // and forgets it

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
};

// Answers in the log, found by key. Only one thread may use it at a time.
class Answers {
 public:
  static Result<Answers> open(const std::filesystem::path& log, const Json& header);

  bool contains(const std::string& key) const { return places_.contains(key); }
  bool any() const { return any_; }  // an answer, useful or not
  const Spent& spent() const { return spent_; }
  const std::filesystem::path& path() const { return log_.path(); }

  Status add_answer(const std::string& key, const openai::ChatAnswer& answer, const Spent& spent);
  // An answer that the client could not take.
  Status add_too_large(const std::string& key, const Error& error, const Spent& spent);
  Status add_refusal(const std::string& key, const Error& error, const Spent& spent);
  // Records the cost of a request that gave no answer; the question stays open.
  Status add_cost(const std::string& key, const Error& error, const Spent& spent);

  // Reads from the file. kDataLoss where it is shorter.
  Result<Json> entry(const std::string& key) const;

 private:
  explicit Answers(SessionLog log) : log_(std::move(log)) {}
  Status append(const std::string& key, Json line, const Spent& spent, bool settles);

  SessionLog log_;
  std::unordered_map<std::string, SessionLog::Place> places_;
  bool any_ = false;
  Spent spent_;
};

}  // namespace kw::data
