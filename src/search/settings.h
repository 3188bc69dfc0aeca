// Settings of a search: what run.toml holds under [search].
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "search/policy.h"
#include "task/candidate.h"

namespace kw::search {

struct Settings {
  std::string method = "best_of_n";
  int samples = 8;   // attempts of each problem at most
  int parallel = 0;  // attempts of a problem in flight; 0: see resolve()
  int jobs = 2;      // problems at once
  int judges = 0;    // candidates being built and checked at once; 0: see resolve()
  int first = 4;     // metr
  double alpha = 1;  // metr
  std::uint64_t seed = 0;
  std::string language = "cpp", target = "cpu";
  std::string prompt_template = "zero_shot";
  std::string machine = {};  // whose facts a prompt tells; empty: this one's CPU

  // Stop rules of each problem; 0: none. They look at the attempts that are finished for certain
  // when the next one begins, so that a run replays whatever the order of completion.
  bool first_correct = false;
  double target_speedup = 0;  // reached by the interval's lower end
  std::int64_t tokens = 0;    // of prompts and answers
  double seconds = 0;
  // Of the whole run: no new attempt begins.
  double total_seconds = 0;
  double cost_usd = 0;

  int tries = 4;             // of a request or a judgement that failed through no fault of its own
  double retry_seconds = 1;  // before the second try, doubled each time, with jitter

  task::Language language_value() const;
  PolicyOptions policy_options() const;
};

// visit(name, field) for each, in order.
template <typename S, typename Visit>
void describe(S& s, Visit&& visit) {
  visit("method", s.method);
  visit("samples", s.samples);
  visit("parallel", s.parallel);
  visit("jobs", s.jobs);
  visit("judges", s.judges);
  visit("first", s.first);
  visit("alpha", s.alpha);
  visit("seed", s.seed);
  visit("language", s.language);
  visit("target", s.target);
  visit("template", s.prompt_template);
  visit("machine", s.machine);
  visit("first_correct", s.first_correct);
  visit("target_speedup", s.target_speedup);
  visit("tokens", s.tokens);
  visit("seconds", s.seconds);
  visit("total_seconds", s.total_seconds);
  visit("cost_usd", s.cost_usd);
  visit("tries", s.tries);
  visit("retry_seconds", s.retry_seconds);
}

// Fills in what is 0 by default, and checks ranges: kInvalidArgument names the flag. cores: of this
// machine.
Status resolve(Settings& settings, int cores);

Json to_json(const Settings& settings);
Result<Settings> settings_from_json(const Json& value, const std::string& where);

}  // namespace kw::search
