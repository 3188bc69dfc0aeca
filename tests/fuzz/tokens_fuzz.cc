// The file of tokens, and the header that a token comes in: the first line says what a caller sends
// as Authorization, the rest is the file. Who is let in has a scope, and weights and limits in
// range.
#include <chrono>

#include "fuzz.h"
#include "service/tokens.h"

namespace kw::fuzz {

KW_FUZZ(tokens, text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const auto tokens = service::Tokens::parse(text.substr(std::min(end + 1, text.size())));
  if (!accepted(tokens)) return;
  net::Request request;
  request.headers.add("Authorization", std::string(text.substr(0, end)));
  const auto who = tokens->identity(request, std::chrono::system_clock::now());
  if (!who) return;
  KW_CHECK(who->token.size() == 8);
  KW_CHECK(who->weight >= 1);
  KW_CHECK((who->scopes & ~7U) == 0 && who->scopes != 0);
}

}  // namespace kw::fuzz
