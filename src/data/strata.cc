#include "data/strata.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/hash.h"

namespace kw::data {

std::vector<std::string> cells_of(const Sample& sample) {
  std::set<std::string> operators(sample.labels.operators.begin(), sample.labels.operators.end());
  if (const auto made_of = sample.labels.other.find("made_of");
      made_of != sample.labels.other.end() && made_of->is_array()) {
    for (const Json& name : *made_of)
      if (name.is_string()) operators.insert(name.get<std::string>());
  }
  if (operators.empty()) operators.insert("");
  std::vector<std::string> out;
  for (const std::string& name : operators)
    out.push_back(fmt::format("{} | {} | {}", name, sample.labels.strategy, sample.language));
  return out;
}

std::uint64_t StratifiedChoice::key(const std::string& id) const {
  return keyed_hash(std::as_bytes(std::span(id)), seed_);
}

void StratifiedChoice::add(const Sample& sample) {
  const std::uint64_t own = key(sample.id);
  for (const std::string& name : cells_of(sample)) {
    auto& keys = cells_[name];
    keys.insert(own);
    if (keys.size() > per_cell_) keys.erase(std::prev(keys.end()));
  }
}

std::unordered_set<std::uint64_t> StratifiedChoice::chosen() const {
  std::unordered_set<std::uint64_t> out;
  for (const auto& [name, keys] : cells_) out.insert(keys.begin(), keys.end());
  return out;
}

void CellFindings::add(const Sample& sample, bool passed) {
  auto names = cells_of(sample);
  for (const std::string& name : names) {
    Cell& cell = cells_[name];
    ++cell.judged;
    if (!passed) ++cell.failed;
  }
  if (!passed) failures_.push_back(std::move(names));
}

std::set<std::string> CellFindings::failing() const {
  std::set<std::string> out;
  std::vector<const std::vector<std::string>*> open;
  for (const auto& failure : failures_) open.push_back(&failure);
  while (!open.empty()) {
    std::map<std::string, std::uint64_t> unexplained;
    for (const auto* failure : open) {
      for (const std::string& name : *failure) ++unexplained[name];
    }
    const auto worst = std::max_element(
        unexplained.begin(), unexplained.end(), [this](const auto& a, const auto& b) {
          const double share_a =
              static_cast<double>(a.second) / static_cast<double>(cells_.at(a.first).judged);
          const double share_b =
              static_cast<double>(b.second) / static_cast<double>(cells_.at(b.first).judged);
          return share_a != share_b ? share_a < share_b : a.second < b.second;
        });
    const std::string name = worst->first;
    out.insert(name);
    std::erase_if(open, [&](const auto* failure) {
      return std::find(failure->begin(), failure->end(), name) != failure->end();
    });
  }
  return out;
}

}  // namespace kw::data
