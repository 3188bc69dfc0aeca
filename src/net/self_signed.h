// A certificate that signs itself, for a server whose clients get it by another way than TLS.
#pragma once
#include <chrono>
#include <string>

#include "base/result.h"
#include "net/server.h"

namespace kw::net {

// A new P-256 key. names: "DNS:localhost,IP:127.0.0.1"; common_name: for people. Valid from
// yesterday on, as clocks differ, until `valid` from now; with a negative time it has expired.
// kInvalidArgument for names that are none.
Result<TlsText> make_self_signed(const std::string& common_name, const std::string& names,
                                 std::chrono::seconds valid);
// The names of a host, as make_self_signed() takes them: "DNS:node7" or "IP:10.0.0.7".
std::string certificate_name(const std::string& host);

}  // namespace kw::net
