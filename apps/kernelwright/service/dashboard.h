// The page at / of kernelwright serve. Its files hold no data: its script asks the API, with the
// token that the reader types in, so everybody who reaches the server may have them.
#pragma once
#include <functional>
#include <string>

#include "net/http_message.h"
#include "net/router.h"

namespace kw::front {

bool is_of_dashboard(const net::Request& request);

// GET / is the page to who accepts text/html, and a short JSON object to others, with the time of
// day.
void add_dashboard(net::Router& router, std::function<std::string()> timestamp);

}  // namespace kw::front
