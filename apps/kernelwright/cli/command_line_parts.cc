#include "kernelwright/cli/command_line_parts.h"

#include <type_traits>

#include "kernelwright/cli/described_options.h"

namespace kw::front {

void add_server_options(CLI::App& app, ServerOptions& server, bool own_tries) {
  add_described(app, server, own_tries ? "" : "--tries");
}

void add_engine_options(CLI::App& app, EngineOptions& engine, const char* group,
                        const char* threads, const char* context_description) {
  describe(engine, [&](const char*, auto& value, OptionFacts facts) {
    facts.group = group;
    if (facts.flag == std::string_view("--threads")) facts.flag = threads;
    if (facts.flag == std::string_view("--context")) facts.help = context_description;
    add_option(app, facts, value);
  });
}

CLI::Option* add_isolation(CLI::App& app, std::string& level) {
  return text(app, "--isolation-at-least", level, "LEVEL",
              "refuse to run below it (exit 3): none, basic, namespaces, full");
}

void add_judge(CLI::App& app, ServiceAddress& judge, const char* group) {
  text(app, "--judge", judge.url, "URL|FILE",
       "of kernelwright serve, or its --address-file: its workers judge, each with the isolation "
       "that it has")
      ->group(group);
  text(app, "--judge-ca-file", judge.ca_file, "FILE", kTrustedHelp)->group(group);
  flag(app, "--judge-allow-plaintext", judge.allow_plaintext, kPlaintextHelp)->group(group);
}

void add_server(CLI::App& app, ServiceAddress& server) {
  text(app, "--server", server.url, "URL|FILE", "of kernelwright serve, or its --address-file")
      ->required();
  text(app, "--ca-file", server.ca_file, "FILE", kTrustedHelp);
  flag(app, "--allow-plaintext", server.allow_plaintext, kPlaintextHelp);
}

void add_candidate_limits(CLI::App& app, const char* group, double& timeout_seconds,
                          std::string& memory, std::string& isolation, bool& no_evidence) {
  number(app, "--timeout", timeout_seconds, "S",
         "of one call in seconds; 0: 20 x the reference, at least 2 s")
      ->group(group);
  text(app, "--memory", memory, "SIZE",
       "of the candidate, 4GiB for example; 0: 2 GiB + 4 x (inputs + outputs)")
      ->group(group);
  add_isolation(app, isolation)->group(group);
  flag(app, "--no-evidence", no_evidence, "do not store what kernelwright rejudge needs")
      ->group(group);
}

void set_words(CLI::App& app, std::vector<std::string>& words, const char* description) {
  app.add_option("--set", words, description)->type_name("NAME=VALUE")->allow_extra_args(false);
}

void add_eval_settings(CLI::App& app, gym::EvalOptions& options, EvalWords& words) {
  gym::describe(options, [&](const char*, auto& value, const OptionFacts& facts) {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, gym::Baseline>) {
      add_option(app, facts, words.baseline);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      add_option(app, facts, words.memory);
      add_isolation(app, words.isolation)->group(facts.group);
    } else {
      add_option(app, facts, value);
    }
  });
}

Status read_words(const EvalWords& words, std::uint64_t& memory_bytes, sandbox::Level& isolation) {
  auto memory = parse_bytes(words.memory);
  if (!memory) return tl::unexpected(std::move(memory).error().with_context("--memory"));
  auto level = parse_level(words.isolation);
  if (!level) return tl::unexpected(std::move(level).error().with_context("--isolation-at-least"));
  memory_bytes = *memory;
  isolation = *level;
  return {};
}

}  // namespace kw::front
