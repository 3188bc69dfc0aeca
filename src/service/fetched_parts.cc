#include "service/fetched_parts.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "task/portable_candidate.h"
#include "task/portable_problem.h"

namespace kw::service {

template <typename T>
Result<T> FetchedParts::fetch(const Kind<T>& kind, const std::string& hash,
                              const std::stop_token& stop) {
  KW_TRY(const Json answer, client_.call_patiently("GET", kind.folder + hash, nullptr, stop));
  KW_TRY(ObjectReader reader, ObjectReader::make(answer, "answer"));
  KW_TRY(const Json* value, reader.get(kind.name));
  KW_TRY(T out, kind.from_json(*value, kind.name));
  if (out.hash != hash)
    return fail(ErrorCode::kDataLoss, "{}: {} {} came as {}", client_.url(), kind.name,
                printable(hash, 80), out.hash);
  return out;
}

template <typename T>
Result<T> FetchedParts::read(const Kind<T>& kind, const Json& value, const std::string& where,
                             const std::stop_token& stop) {
  const auto hash = hash_in_reference(value);
  if (!hash) return kind.from_json(value, where);
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kind.kept, *hash, &T::hash);
    if (found != kind.kept.end()) {
      kind.kept.splice(kind.kept.begin(), kind.kept, found);
      return *found;
    }
  }
  KW_TRY(T out, fetch(kind, *hash, stop));
  std::lock_guard lock(mutex_);
  kind.kept.push_front(out);
  if (kind.kept.size() > kMaxOfAKind) kind.kept.pop_back();
  return out;
}

WorkReaders FetchedParts::readers(const std::stop_token& stop) {
  return {.problem =
              [this, &stop](const Json& value, const std::string& where) {
                return read<task::Problem>(
                    {"problem", "/v1/problems/", task::problem_from_json, problems_}, value, where,
                    stop);
              },
          .baseline =
              [this, &stop](const Json& value, const std::string& where) {
                return read<task::Candidate>(
                    {"baseline", "/v1/baselines/", task::portable_candidate_from_json, baselines_},
                    value, where, stop);
              }};
}

}  // namespace kw::service
