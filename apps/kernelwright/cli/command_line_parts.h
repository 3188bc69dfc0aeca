// Options in one style, for the grammar's files. It includes CLI11, so only they may include
// it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "kernelwright/cli/options.h"
#include "kernelwright/cli/settings.h"
#include "task/target.h"

namespace kw::front {

// Adds a command below a parent; `result` is called when it was given.
using AddCommand =
    std::function<CLI::App*(CLI::App& parent, const char* name, const char* description,
                            std::function<Command()> result, const char* footer)>;

inline CLI::Option* text(CLI::App& app, const char* name, std::string& value, const char* type,
                         const char* description) {
  return app.add_option(name, value, description)->type_name(type)->capture_default_str();
}

CLI::Option* target_name(CLI::App& app, const char* name, task::Target& value, const char* type,
                         const char* description);

// CLI11 checks before it converts, so that the sentence about a word that is no number is ours.
template <typename Number>
CLI::Option* number(CLI::App& app, const char* name, Number& value, const char* type,
                    const char* description) {
  auto check = [](const std::string& word) -> std::string {
    if constexpr (std::is_integral_v<Number>) {
      auto parsed = parse_whole_number(word);
      return parsed ? "" : parsed.error().message();
    } else {
      auto parsed = parse_number(word);
      return parsed ? "" : parsed.error().message();
    }
  };
  return app.add_option(name, value, description)
      ->type_name(type)
      ->capture_default_str()
      ->check(check);
}

// Without "--json=false": only a program would write that.
inline CLI::Option* flag(CLI::App& app, const char* name, bool& value, const char* description) {
  return app.add_flag(name, value, description)->disable_flag_override();
}

void set_words(CLI::App& app, std::vector<std::string>& words, const char* description);

// own_tries: there is no other option of this name.
void add_server_options(CLI::App& app, ServerOptions& server, bool own_tries);

// The options of a model on this machine. The names and meanings of threads and context differ by
// command.
void add_engine_options(CLI::App& app, EngineOptions& engine, const char* group,
                        const char* threads, const char* context_description);

CLI::Option* add_isolation(CLI::App& app, std::string& level);
// --judge and what goes with it, for every command that judges.
void add_judge(CLI::App& app, ServiceAddress& judge, const char* group = "Options");
// --server and what goes with it, for commands that are nothing without it.
void add_server(CLI::App& app, ServiceAddress& server);

// Options for a candidate's limits, and for the files that are kept of it.
void add_candidate_limits(CLI::App& app, const char* group, double& timeout_seconds,
                          std::string& memory, std::string& isolation, bool& no_evidence);

// Words of options that need a second look after CLI11.
struct EvalWords {
  std::string memory = "0", isolation = "none", baseline = "eager";
};
// How candidates are judged.
void add_eval_settings(CLI::App& app, gym::EvalOptions& options, EvalWords& words);
Status read_words(const EvalWords& words, std::uint64_t& memory_bytes, sandbox::Level& isolation);

inline constexpr const char* kSetConstant =
    "replace a constant of a KernelBench problem by a Python literal; may be given again";

}  // namespace kw::front
