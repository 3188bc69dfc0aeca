// Where a server's chat completions are, from what people write as its base URL.
#pragma once
#include <string>

#include "base/result.h"

namespace kw::openai {

struct Endpoint {
  std::string chat_url;       // ".../v1/chat/completions"
  std::string models_url;     // ".../v1/models"
  std::string authority;      // "host:port", for messages
  bool private_path = false;  // TLS, or this machine: a key may be sent
};

// "http://host:8000", with or without "/v1" (or another version: a path that has one is taken as it
// is), also with "/chat/completions". kInvalidArgument: no http(s) URL, a query, which could be a
// secret.
Result<Endpoint> read_endpoint(const std::string& base_url);

}  // namespace kw::openai
