#include "kernelwright/cli/command_line_parts.h"

namespace kw::front {

void add_server_options(CLI::App& app, ServerOptions& server, bool own_tries) {
  const char* group = "Server, when --model is a URL";
  text(app, "--model-name", server.model_name, "NAME",
       "of the server's models; without it the only one that it lists")
      ->group(group);
  text(app, "--key-env", server.key_env, "NAME",
       "environment variable with the key; without it KERNELWRIGHT_API_KEY, if that is set")
      ->group(group);
  flag(app, "--allow-plaintext", server.allow_plaintext, "send the key over http to other machines")
      ->group(group);
  text(app, "--ca-file", server.ca_file, "FILE", "PEM, trusted for https; without it the system's")
      ->group(group);
  number(app, "--requests-per-minute", server.requests_per_minute, "R", "0: no limit")
      ->group(group);
  number(app, "--tokens-per-minute", server.tokens_per_minute, "T",
         "of prompts and answers, estimated before; 0: no limit")
      ->group(group);
  number(app, "--burst", server.burst_seconds, "S", "of a minute's share that may be used at once")
      ->group(group);
  if (own_tries)
    number(app, "--tries", server.tries, "N",
           "of a request, when the server is busy, fails or cannot be reached")
        ->group(group);
  number(app, "--deadline", server.deadline_seconds, "S", "of a request, retries included")
      ->group(group);
  number(app, "--max-cost", server.max_cost, "C", "of all requests, by the prices; 0: no limit")
      ->group(group);
  number(app, "--max-total-tokens", server.max_total_tokens, "N", "of all requests; 0: no limit")
      ->group(group);
  number(app, "--prompt-price", server.prompt_price, "P", "of a million tokens")->group(group);
  number(app, "--completion-price", server.completion_price, "P", "of a million tokens")
      ->group(group);
  number(app, "--cached-prompt-price", server.cached_prompt_price, "P",
         "of a million tokens of a prompt that the server had before; 0: as --prompt-price")
      ->group(group);
  number(app, "--hedge-after", server.hedge_seconds, "S",
         "ask once more when there is no answer by then, and take the first; both are paid; 0: "
         "never")
      ->group(group);
}

void add_engine_options(CLI::App& app, EngineOptions& engine, const char* group,
                        const char* threads, const char* context_description) {
  text(app, "--device", engine.device, "NAME", "cpu or cuda")->group(group);
  text(app, "--dtype", engine.dtype, "NAME",
       "weights in memory: float32, bfloat16, int8, or auto: as in the folder")
      ->group(group);
  text(app, "--products", engine.products, "NAME",
       "of matrices, on cuda: batch_invariant, or fastest: then an answer depends on what else is "
       "computed")
      ->group(group);
  number(app, threads, engine.threads, "N", "0: all cores")->group(group);
  number(app, "--slots", engine.slots, "N", "sequences at once")->group(group);
  number(app, "--context", engine.context, "N", context_description)->group(group);
}

CLI::Option* add_isolation(CLI::App& app, std::string& level) {
  return text(app, "--isolation-at-least", level, "LEVEL",
              "refuse to run below it (exit 3): none, basic, namespaces, full");
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
  text(app, "--target", options.target, "NAME", "what the candidate runs on");
  text(app, "--baseline", options.baseline, "NAME",
       "what speedups are over: eager (torch), compile (torch.compile) or a candidate's file")
      ->group("Measuring");
  number(app, "--half-width", options.half_width_percent, "PERCENT",
         "measure until the speedup's 95 % interval is so narrow")
      ->group("Measuring");
  flag(app, "--precise", options.precise, "to 0.5 %, over several process pairs")
      ->group("Measuring");
  number(app, "--pairs", options.process_pairs, "N",
         "of fresh processes that measure; 0: one, or eight where memory is the limit")
      ->group("Measuring");
  number(app, "--threads", options.threads, "N", "for candidate and baseline")->group("Measuring");
  number(app, "--max-seconds", options.max_seconds, "S", "for measuring one workload")
      ->group("Measuring");
  flag(app, "--no-timing", words.no_timing, "correctness only")->group("Measuring");
  add_candidate_limits(app, "Limits", options.timeout_seconds, words.memory, words.isolation,
                       words.no_evidence);
  app.add_option("--disable", options.disabled,
                 "switch off a mechanism of the gym, for tests that show what it is for; verdicts "
                 "are worth nothing then")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group("Limits");
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
