// Look-up tables over names and KernelBench's numbers.
#include "kernelwright/eval/pairing.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"

namespace kw::front {
namespace {

using Number = std::pair<std::int64_t, std::int64_t>;  // level, problem

class Problems {
 public:
  explicit Problems(const std::vector<task::Problem>& problems) : problems_(problems) {
    for (std::size_t i = 0; i < problems.size(); ++i) {
      by_name_[problems[i].name].push_back(i);
      if (!problems[i].is_module() || problems[i].module().problem_id == 0) continue;
      by_number_[{problems[i].module().level, problems[i].module().problem_id}].push_back(i);
    }
  }

  // Two problems of one name or number matter only to a candidate that names them.
  Result<std::optional<std::size_t>> find(const task::Candidate& candidate) const {
    const std::vector<std::size_t>& found = look_up(candidate);
    if (found.empty()) return std::nullopt;
    if (found.size() == 1) return found[0];
    return fail(ErrorCode::kInvalidArgument,
                "solution {} fits two problems of the data set: {} and {}",
                printable(candidate.name, 120), printable(problems_[found[0]].origin, 300),
                printable(problems_[found[1]].origin, 300));
  }

 private:
  const std::vector<std::size_t>& look_up(const task::Candidate& candidate) const {
    if (!candidate.definition.empty()) return look_up(by_name_, candidate.definition);
    if (!candidate.sample) return look_up(by_name_, candidate.name);
    const auto& found =
        look_up(by_number_, Number{candidate.sample->level, candidate.sample->problem_id});
    // A file outside a folder level<L> has no level.
    return found.empty() ? look_up(by_number_, Number{0, candidate.sample->problem_id}) : found;
  }

  template <typename Key>
  static const std::vector<std::size_t>& look_up(const std::map<Key, std::vector<std::size_t>>& map,
                                                 const Key& key) {
    static const std::vector<std::size_t> kNone;
    auto found = map.find(key);
    return found == map.end() ? kNone : found->second;
  }

  const std::vector<task::Problem>& problems_;
  std::map<std::string, std::vector<std::size_t>> by_name_;
  std::map<Number, std::vector<std::size_t>> by_number_;
};

}  // namespace

Result<Pairing> pair_up(const std::vector<task::Problem>& problems,
                        const std::vector<task::Candidate>& candidates) {
  Problems known(problems);
  Pairing out;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    KW_TRY(std::optional<std::size_t> problem, known.find(candidates[i]));
    if (problem) {
      out.pairs.push_back({*problem, i});
    } else {
      out.without_problem.push_back(candidates[i].name);
    }
  }
  if (out.pairs.empty()) {
    return fail(ErrorCode::kNotFound,
                "none of the {} solutions fits a problem of the data set, for example {}",
                candidates.size(),
                out.without_problem.empty() ? "" : printable(out.without_problem.front(), 200));
  }
  std::stable_sort(out.pairs.begin(), out.pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.problem < b.problem; });
  return out;
}

}  // namespace kw::front
