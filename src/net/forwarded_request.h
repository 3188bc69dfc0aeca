// Chooses what a server of ours hands on of a request and of its answer (RFC 9110, section 7.6).
#pragma once
#include <string>

#include "net/headers.h"
#include "net/http_message.h"
#include "net/url.h"

namespace kw::net {

// The fields that are meant for more than one connection: none of Connection, those that it names,
// and others that each connection has for itself (lengths, Host, Expect, Upgrade, ...).
Headers end_to_end_fields(const Headers& fields);

// Whether a Forwarder has handed it on before: by the field Via.
bool was_forwarded(const Request& request);

// The request as the server of `origin` gets it, written anew from what was read: with one length,
// the field Via, and GET for HEAD, as the answer's length must be known. Empty when a field or the
// target could end a line.
std::string forwarded_request(const Request& request, const Url& origin);

}  // namespace kw::net
