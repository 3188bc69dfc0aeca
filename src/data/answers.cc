#include "data/answers.h"

#include <fstream>
#include <optional>
#include <utility>

namespace kw::data {
namespace {

Json error_json(const Error& error) {
  return {{"code", to_string(error.code())}, {"message", error.message()}};
}

}  // namespace

Spent& Spent::operator+=(const Spent& other) {
  tokens += other.tokens;
  cost += other.cost;
  return *this;
}

void AttemptBook::add(const openai::Attempt& attempt) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_[attempt.tag];
  entry.spent += {attempt.usage.tokens(), attempt.usage.cost_usd};
  if (attempt.outcome != openai::Outcome::kCancelled) entry.last = attempt.outcome;
}

AttemptBook::Entry AttemptBook::take(const std::string& tag) {
  std::lock_guard lock(mutex_);
  const auto node = entries_.extract(tag);
  return node.empty() ? Entry() : node.mapped();
}

Result<Answers> Answers::open(const std::filesystem::path& log, const Json& header) {
  std::unordered_map<std::string, SessionLog::Place> places;
  bool any = false;
  Spent all;
  KW_TRY(SessionLog session,
         SessionLog::open(log, header, [&](const Json& line, SessionLog::Place place) -> Status {
           KW_TRY(ObjectReader reader, ObjectReader::make(line, ""));
           KW_TRY(std::string key, reader.string("key"));
           Spent spent;
           KW_TRY(spent.tokens, reader.integer("spent_tokens"));
           KW_TRY(spent.cost, reader.number("cost"));
           all += spent;
           any = any || reader.has("answer") || reader.has("too_large");
           if (!reader.has("failed")) places[std::move(key)] = place;
           return {};
         }));
  Answers out(std::move(session));
  out.places_ = std::move(places);
  out.any_ = any;
  out.spent_ = all;
  return out;
}

Status Answers::append(const std::string& key, Json line, const Spent& spent, bool settles) {
  line["spent_tokens"] = spent.tokens;
  line["cost"] = spent.cost;
  KW_TRY(const SessionLog::Place place, log_.append(line));
  spent_ += spent;
  if (settles) places_[key] = place;
  return {};
}

Status Answers::add_answer(const std::string& key, const openai::ChatAnswer& answer,
                           const Spent& spent) {
  const openai::Choice& choice = answer.choices.front();
  Json line = {{"key", key},
               {"answer", choice.text},
               {"finish", choice.finish_reason},
               {"suspicion", to_string(choice.suspicion)},
               {"model", answer.model},
               {"prompt_tokens", answer.usage.prompt_tokens},
               {"completion_tokens", answer.usage.completion_tokens},
               {"tries", answer.tries}};
  if (!choice.reasoning.empty()) line["reasoning"] = choice.reasoning;
  any_ = true;
  return append(key, std::move(line), spent, true);
}

Status Answers::add_too_large(const std::string& key, const Error& error, const Spent& spent) {
  any_ = true;
  return append(key, {{"key", key}, {"too_large", error_json(error)}}, spent, true);
}

Status Answers::add_refusal(const std::string& key, const Error& error, const Spent& spent) {
  return append(key, {{"key", key}, {"refused", error_json(error)}}, spent, true);
}

Status Answers::add_cost(const std::string& key, const Error& error, const Spent& spent) {
  return append(key, {{"key", key}, {"failed", error_json(error)}}, spent, false);
}

Result<Json> Answers::entry(const std::string& key) const {
  const SessionLog::Place& place = places_.at(key);
  std::ifstream file(path(), std::ios::binary);
  std::string text(place.bytes, '\0');
  file.seekg(static_cast<std::streamoff>(place.begin));
  if (!file.read(text.data(), static_cast<std::streamsize>(text.size())))
    return fail(ErrorCode::kDataLoss, "{} ends at byte {}", path().string(), place.begin);
  return parse_json(text);
}

}  // namespace kw::data
