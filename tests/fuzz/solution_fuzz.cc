// Solutions: what is accepted is written and read again with the same bytes and the same hash.
#include "fuzz.h"
#include "task/solution_json.h"

namespace kw::fuzz {

KW_FUZZ(solution, text) {
  auto read = [](const Json& value) { return task::solution_from_json(value, ""); };
  auto write = [](const task::Candidate& c) { return task::solution_to_json(c, "d"); };
  if (!round_trip(text, read, write)) return;
  task::Candidate candidate = read(parse_json(text).value()).value();
  KW_CHECK(candidate.entry_source() != nullptr);
  KW_CHECK(read(write(candidate)).value().hash == candidate.hash);
  KW_CHECK(task::candidate_hash(candidate) == candidate.hash);
}

}  // namespace kw::fuzz
