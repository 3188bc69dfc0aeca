// The teacher's log: what was answered to each question, what will not be, and what was paid.
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

// What attempts cost, by the request that made them: a failed request says nothing of it itself.
// Any thread.
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

// Answers in the log, found by key. One thread at a time.
class Answers {
 public:
  static Result<Answers> open(const std::filesystem::path& log, const Json& header);

  bool contains(const std::string& key) const { return places_.contains(key); }
  bool any() const { return any_; }  // an answer, whatever it is worth
  const Spent& spent() const { return spent_; }
  const std::filesystem::path& path() const { return log_.path(); }

  Status add_answer(const std::string& key, const openai::ChatAnswer& answer, const Spent& spent);
  // An answer that the client could not take.
  Status add_too_large(const std::string& key, const Error& error, const Spent& spent);
  Status add_refusal(const std::string& key, const Error& error, const Spent& spent);
  // Nothing came of it but a bill; the question stays open.
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
