// Settings says which environment of kernels a trainer wants: it is the table [environment] of the
// trainer's configuration (docs/environment.md).
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gym/eval_options.h"
#include "reward/named_reward.h"
#include "task/candidate.h"

namespace kw::environment_program {

struct Settings {
  std::string kind = "kernels";       // kernels: an answer has a kernel; plans: it has a plan
  std::vector<std::string> problems;  // paths as kernelwright eval takes them
  std::vector<std::string> set;       // NAME=VALUE for the constants of modules
  std::string language = "cpp";       // of the kernels
  std::string prompt = "zero_shot";   // kernels: the template
  std::string strategy;               // compact kernels: how they shall be written; empty: not said
  bool list_choices = true;           // plans: the prompt names what there is to choose
  int turns = 1;                      // of an episode
  int jobs = 2;                       // answers that are judged at once
  std::string judge;                  // a service's URL; empty: this machine judges
  std::string judge_ca_file;          // PEM, trusted for https; empty: as of net::ClientOptions
  bool judge_allow_plaintext = false;  // send the token over http to another machine
  std::string verdicts;                // file of verdicts that runs share; empty: none
  reward::RewardSettings reward;       // the table [environment.reward]
  gym::EvalOptions eval;               // the table [environment.eval]
};

// Strict. kInvalidArgument names the key.
Result<Settings> settings_from_json(const Json& value);
task::Language language_of(const Settings& settings);

}  // namespace kw::environment_program
