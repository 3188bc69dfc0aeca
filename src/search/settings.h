// Settings of a search: what run.toml holds under [search].
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/option_facts.h"
#include "base/result.h"
#include "search/method.h"
#include "task/candidate.h"
#include "task/target.h"

namespace kw::search {

struct Settings {
  std::string method = "best_of_n";
  int samples = 8;         // attempts of each problem at most
  int parallel = 0;        // attempts of a problem in flight; 0: see resolve()
  int jobs = 2;            // problems at once
  int judges = 0;          // candidates being built and checked at once; 0: see resolve()
  int first = 4;           // metr
  double alpha = 1;        // metr
  std::uint64_t seed = 0;  // below 2^63
  std::string language = "cpp";
  task::Target target = task::Target::kCpu;
  std::string prompt_template = "zero_shot";
  std::string machine = {};  // machine whose facts a prompt tells; empty: this machine's CPU

  // Stop rules of each problem; 0: none. They look only at attempts that are finished for certain
  // when the next one begins, so a run replays in any order of completion.
  bool first_correct = false;
  double target_speedup = 0;  // reached by the interval's lower end
  std::int64_t tokens = 0;    // tokens of prompts and answers
  double seconds = 0;
  // Limits of the whole run: beyond them no new attempt begins.
  double total_seconds = 0;
  double cost_usd = 0;

  int tries = 4;  // tries of a request or a judgement that failed through no fault of its own
  double retry_seconds = 1;  // before the second try, doubled each time, with jitter

  task::Language language_value() const;
  MethodOptions method_options() const;
};

inline constexpr const char* kMachineHelp =
    "whose facts the prompt tells (template hardware or full): words of its name, such as \"H100 "
    "SXM\"; without it this machine's CPU";
inline constexpr double kMaxSearchSeconds = 1e8;

// visit(name, field, facts) for each, in order.
template <typename S, typename Visit>
void describe(S& s, Visit&& visit) {
  using Facts = OptionFacts;
  const char* const search = "Search";
  const char* const proposer = "Who proposes";
  const char* const stop = "When it stops";
  visit("method", s.method,
        Facts{"--method", "NAME", search,
              "base, best_of_n, refine or metr (docs/solve.md); without it refine for the writer "
              "and both, else best_of_n"});
  visit("samples", s.samples,
        Facts{"--samples", "N", search, "attempts of each problem at most", 1, 100000});
  visit("parallel", s.parallel,
        Facts{"--parallel", "N", search,
              "attempts of a problem in flight; 0: four where none needs another's verdict, else "
              "one",
              0, 256});
  visit("jobs", s.jobs, Facts{"--jobs", "N", search, "problems at once", 1, 256});
  visit("judges", s.judges,
        Facts{"--judges", "N", search,
              "candidates being built and checked at once, 0: by cores; timing is never parallel",
              0, 256});
  visit("first", s.first,
        Facts{"--first", "N", search, "metr: attempts before parents are drawn", 1, 100000});
  visit("alpha", s.alpha,
        Facts{"--alpha", "A", search, "metr: parents are drawn by speedup to the power of A", 0,
              100});
  visit("seed", s.seed, Facts{"--seed", "S", search, "of everything that is drawn"});
  visit("language", s.language,
        Facts{"--language", "NAME", proposer, "of the kernels: cpp, python or triton"});
  visit("target", s.target, Facts{""});  // EvalOptions has the flag
  visit("template", s.prompt_template,
        Facts{"--template", "NAME", proposer,
              "of prompts: zero_shot, one_shot, hardware, plan_first or full"});
  visit("machine", s.machine, Facts{"--machine", "NAME", proposer, kMachineHelp});
  visit("first_correct", s.first_correct,
        Facts{"--first-correct", "", stop, "stop a problem at its first correct kernel"});
  visit("target_speedup", s.target_speedup,
        Facts{"--target-speedup", "X", stop,
              "stop a problem at this speedup, by its interval's lower end; 0: never", 0, 1e6});
  visit("tokens", s.tokens,
        Facts{"--tokens", "N", stop, "of each problem, prompts and answers; 0: any", 0, 1e15});
  visit("seconds", s.seconds,
        Facts{"--seconds", "S", stop,
              "of each problem, 0: any; 60 for the writer where no flag of this group and no "
              "--samples is given",
              0, kMaxSearchSeconds});
  visit("total_seconds", s.total_seconds,
        Facts{"--total-seconds", "S", stop, "of the whole run; 0: any", 0, kMaxSearchSeconds});
  visit("cost_usd", s.cost_usd,
        Facts{"--cost", "USD", stop, "of the whole run, by the server's prices; 0: any", 0, 1e9});
  visit("tries", s.tries,
        Facts{"--tries", "N", stop,
              "of a request or a judgement that failed through no fault of its own", 1, 100});
  visit("retry_seconds", s.retry_seconds,
        Facts{"--retry-seconds", "S", stop, "before the second try, doubled each time", 0, 3600});
}

// Fills in settings that are 0 by default, and checks ranges: kInvalidArgument names the flag.
// cores: this machine's.
Status resolve(Settings& settings, int cores);

Json to_json(const Settings& settings);
Result<Settings> settings_from_json(const Json& value, const std::string& where);

}  // namespace kw::search
