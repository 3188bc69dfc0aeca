// The options for a server with OpenAI's API as settings of its client.
#pragma once
#include <stop_token>
#include <string>

#include "kernelwright/cli/options.h"
#include "kernelwright/services.h"
#include "openai/chat_client.h"

namespace kw::front {

bool is_server_url(const std::string& model);  // http:// or https://
// A URL, or the path of a server's address file (docs/launch.md), which ends with ".json".
bool is_server(const std::string& model);
bool is_on_this_host(const std::string& model);  // a server whose host is a name of this one's own

bool is_priced(const ServerOptions& server);  // what an answer costs can be told

// model: is_server(). concurrency: requests on the wire. Attempts that failed are told on
// services.console. kInvalidArgument names the option; a limit of cost without a price is one.
// kUnavailable when the address file is not there yet.
Result<openai::ChatSettings> server_settings(const ServerOptions& server, const std::string& model,
                                             int concurrency, const Services& services);

// The name that was given, or that of the server's one model.
Result<std::string> model_name(openai::ChatClient& client, const std::string& given,
                               const std::stop_token& stop);

}  // namespace kw::front
