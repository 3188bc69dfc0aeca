#include "command_line_parts.h"

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

}  // namespace kw::front
