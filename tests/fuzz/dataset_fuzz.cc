// JSON Lines of a data set, as problems and as solutions. What is read as a module is a problem
// with a stable hash.
#include "fuzz.h"
#include "scratch_file.h"
#include "task/candidate_source.h"
#include "task/kernelbench.h"
#include "task/problem_source.h"

namespace kw::fuzz {

KW_FUZZ(dataset, text) {
  std::string file = scratch().write("d.jsonl", text).string();
  accepted(task::load_candidates(file));
  for (const char* key : {"", "#1/19", "#19_ReLU.py", "#Net_3"}) {
    auto problems = task::load_problems(file + key, {});
    if (!accepted(problems)) {
      KW_CHECK(problems.error().message().find("d.jsonl") != std::string::npos);
      continue;
    }
    for (const task::Problem& problem : *problems) {
      KW_CHECK(problem.is_module());
      KW_CHECK(problem.workloads.size() == 1);
      KW_CHECK(task::problem_hash(problem) == problem.hash);
    }
  }
}

}  // namespace kw::fuzz
