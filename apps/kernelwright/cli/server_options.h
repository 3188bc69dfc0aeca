// A server that has the model, where a command's model is a URL.
#pragma once
#include <string>

#include "base/option_facts.h"
#include "kernelwright/cli/service_address.h"

namespace kw::front {

struct ServerOptions {
  std::string model_name;        // empty: the only one that it lists
  std::string key_env;           // empty: KERNELWRIGHT_API_KEY, if that is set
  bool allow_plaintext = false;  // send the key over http to other machines
  std::string ca_file;           // PEM
  double requests_per_minute = 0, tokens_per_minute = 0;
  int burst_seconds = 10;  // of a minute's share that may be used at once
  int tries = 6;
  double deadline_seconds = 1800;                 // of one request
  double max_cost = 0, max_total_tokens = 0;      // 0: no budget
  double prompt_price = 0, completion_price = 0;  // for a million tokens
  double cached_prompt_price = 0;                 // 0: as prompt_price
  double hedge_seconds = 0;                       // 0: no second request beside a slow one
};

template <OptionsOf<ServerOptions> Options, typename Visit>
void describe(Options& o, Visit&& visit) {
  using Facts = OptionFacts;
  const char* const server = "Server, when --model is a URL";
  visit("model_name", o.model_name,
        Facts{"--model-name", "NAME", server,
              "of the server's models; without it the only one that it lists"});
  visit("key_env", o.key_env,
        Facts{"--key-env", "NAME", server,
              "environment variable with the key; without it KERNELWRIGHT_API_KEY, if that is "
              "set"});
  visit("allow_plaintext", o.allow_plaintext,
        Facts{"--allow-plaintext", "", server, "send the key over http to other machines"});
  visit("ca_file", o.ca_file, Facts{"--ca-file", "FILE", server, kTrustedHelp});
  visit("requests_per_minute", o.requests_per_minute,
        Facts{"--requests-per-minute", "R", server, "0: no limit"});
  visit("tokens_per_minute", o.tokens_per_minute,
        Facts{"--tokens-per-minute", "T", server,
              "of prompts and answers, estimated before; 0: no limit"});
  visit("burst_seconds", o.burst_seconds,
        Facts{"--burst", "S", server, "of a minute's share that may be used at once", 1, 60});
  visit("tries", o.tries,
        Facts{"--tries", "N", server,
              "of a request, when the server is busy, fails or cannot be reached", 1, 1000});
  visit("deadline_seconds", o.deadline_seconds,
        Facts{"--deadline", "S", server, "of a request, retries included", 0.001, 1e6});
  visit("max_cost", o.max_cost,
        Facts{"--max-cost", "C", server, "of all requests, by the prices; 0: no limit", 0, 1e12});
  visit("max_total_tokens", o.max_total_tokens,
        Facts{"--max-total-tokens", "N", server, "of all requests; 0: no limit", 0, 1e15});
  visit("prompt_price", o.prompt_price,
        Facts{"--prompt-price", "P", server, "of a million tokens"});
  visit("completion_price", o.completion_price,
        Facts{"--completion-price", "P", server, "of a million tokens"});
  visit("cached_prompt_price", o.cached_prompt_price,
        Facts{"--cached-prompt-price", "P", server,
              "of a million tokens of a prompt that the server had before; 0: as --prompt-price", 0,
              1e12});
  visit("hedge_seconds", o.hedge_seconds,
        Facts{"--hedge-after", "S", server,
              "ask once more when there is no answer by then, and take the first; both are paid; "
              "0: never",
              0, 1e6});
}

}  // namespace kw::front
