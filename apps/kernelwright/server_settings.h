// The options for a server with OpenAI's API as settings of its client.
#pragma once
#include <stop_token>
#include <string>

#include "openai/chat_client.h"
#include "options.h"
#include "services.h"

namespace kw::front {

bool is_server_url(const std::string& model);  // http:// or https://

// concurrency: requests on the wire. Attempts that failed are told on services.console.
// kInvalidArgument names the option.
Result<openai::ChatSettings> server_settings(const ServerOptions& server, const std::string& url,
                                             int concurrency, const Services& services);

// For run folders; the key itself is in none of them.
Json to_json(const ServerOptions& server);
Result<ServerOptions> server_options_from_json(const Json& value, const std::string& where);

// The name that was given, or that of the server's one model.
Result<std::string> model_name(openai::ChatClient& client, const std::string& given,
                               const std::stop_token& stop);

}  // namespace kw::front
