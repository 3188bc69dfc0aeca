#include "service/problem_shelf.h"

#include "base/check.h"
#include "base/result.h"
#include "base/text.h"

namespace kw::service {
namespace {

constexpr std::string_view kBaseline = "baseline:";

}  // namespace

std::string baseline_key(const std::string& hash) {
  return std::string(kBaseline) + hash;
}

std::string name_of_part(const std::string& key) {
  const bool is_baseline = key.starts_with(kBaseline);
  return fmt::format("{} {}", is_baseline ? "baseline" : "problem",
                     printable(key.substr(is_baseline ? kBaseline.size() : 0), 80));
}

void ProblemShelf::begin_idle(Known& known, const std::string& hash) {
  known.idle = idle_.insert(idle_.end(), hash);
  idle_bytes_ += known.text.size();
}

void ProblemShelf::end_idle(Known& known) {
  idle_.erase(known.idle);
  idle_bytes_ -= known.text.size();
}

void ProblemShelf::restore(const std::string& hash, std::string text) {
  const auto [place, is_new] = known_.try_emplace(hash);
  if (!is_new) return;
  place->second.text = std::move(text);
  begin_idle(place->second, hash);
}

void ProblemShelf::put(const std::string& hash, std::string text) {
  if (find(hash) != nullptr) return;
  restore(hash, std::move(text));
  added_.push_back(hash);
}

const std::string* ProblemShelf::find(const std::string& hash) {
  const auto found = known_.find(hash);
  if (found == known_.end()) return nullptr;
  Known& known = found->second;
  if (known.holders == 0) idle_.splice(idle_.end(), idle_, known.idle);
  return &known.text;
}

void ProblemShelf::hold(const std::string& hash) {
  Known& known = known_.at(hash);
  if (known.holders++ > 0) return;
  end_idle(known);
  held_bytes_ += known.text.size();
}

void ProblemShelf::let_go(const std::string& hash) {
  Known& known = known_.at(hash);
  KW_CHECK(known.holders > 0);
  if (--known.holders > 0) return;
  held_bytes_ -= known.text.size();
  begin_idle(known, hash);
}

ProblemShelf::Changes ProblemShelf::take_changes() {
  Changes out;
  for (const std::string& hash : std::exchange(added_, {}))
    out.added.emplace_back(hash, known_.at(hash).text);
  while (idle_.size() > limits_.most_idle || idle_bytes_ > limits_.most_idle_bytes) {
    const std::string hash = idle_.front();
    end_idle(known_.at(hash));
    known_.erase(hash);
    out.forgotten.push_back(hash);
  }
  return out;
}

}  // namespace kw::service
