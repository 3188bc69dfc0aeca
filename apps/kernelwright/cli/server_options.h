// Of a server that has the model, where a command's model is a URL.
#pragma once
#include <string>

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

}  // namespace kw::front
