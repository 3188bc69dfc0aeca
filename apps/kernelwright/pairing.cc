// Look-up tables over names and KernelBench's numbers.
#include "pairing.h"

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
  static Result<Problems> make(const std::vector<task::Problem>& problems) {
    Problems out;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const task::Problem& problem = problems[i];
      if (!out.by_name_.emplace(problem.name, i).second) {
        return fail(ErrorCode::kInvalidArgument, "{}: another problem has the name \"{}\"",
                    problem.origin, problem.name);
      }
      if (!problem.is_module() || problem.module().problem_id == 0) continue;
      Number number{problem.module().level, problem.module().problem_id};
      if (!out.by_number_.emplace(number, i).second) {
        return fail(ErrorCode::kInvalidArgument, "{}: another problem has level {} and number {}",
                    problem.origin, number.first, number.second);
      }
    }
    return out;
  }

  std::optional<std::size_t> find(const task::Candidate& candidate) const {
    if (!candidate.definition.empty()) return look_up(by_name_, candidate.definition);
    if (candidate.sample)
      return look_up(by_number_, Number{candidate.sample->level, candidate.sample->problem_id});
    return look_up(by_name_, candidate.name);
  }

 private:
  template <typename Key>
  static std::optional<std::size_t> look_up(const std::map<Key, std::size_t>& map, const Key& key) {
    auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::string, std::size_t> by_name_;
  std::map<Number, std::size_t> by_number_;
};

}  // namespace

Result<Pairing> pair_up(const std::vector<task::Problem>& problems,
                        const std::vector<task::Candidate>& candidates) {
  KW_TRY(Problems known, Problems::make(problems));
  Pairing out;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (auto problem = known.find(candidates[i])) {
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
