#include "service/fetched_problems.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "service/work.h"

namespace kw::service {

Result<task::Problem> FetchedProblems::fetch(const std::string& hash, const std::stop_token& stop) {
  KW_TRY(const Json answer, client_.call_patiently("GET", "/v1/problems/" + hash, nullptr, stop));
  KW_TRY(ObjectReader reader, ObjectReader::make(answer, "answer"));
  KW_TRY(const Json* problem, reader.get("problem"));
  KW_TRY(task::Problem out, task::problem_from_json(*problem, "problem"));
  if (out.hash != hash)
    return fail(ErrorCode::kDataLoss, "{}: problem {} came as {}", client_.url(),
                printable(hash, 80), out.hash);
  return out;
}

Result<task::Problem> FetchedProblems::read(const Json& value, const std::string& where,
                                            const std::stop_token& stop) {
  const auto hash = hash_in_reference(value);
  if (!hash) return task::problem_from_json(value, where);
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(problems_, *hash, &task::Problem::hash);
    if (found != problems_.end()) {
      problems_.splice(problems_.begin(), problems_, found);
      return *found;
    }
  }
  KW_TRY(task::Problem out, fetch(*hash, stop));
  std::lock_guard lock(mutex_);
  problems_.push_front(out);
  if (problems_.size() > kMaxProblems) problems_.pop_back();
  return out;
}

}  // namespace kw::service
