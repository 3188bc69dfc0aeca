// Private: answers as bytes.
#pragma once
#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace kw::net {

// How the end of an answer is told.
struct Framing {
  std::optional<std::size_t> length;  // Content-Length
  bool chunked = false;               // neither: the connection's end
  bool keep_alive = true;
  int minor_version = 1;  // the client's
};

// 204 and 304 have none, whatever the handler says.
bool may_have_body(int status);
// False for a status or fields that would break the message: line ends, names that are no tokens.
bool is_sendable(const Response& response);

// Status line and fields, with the empty line. date: "Sun, 06 Nov 1994 08:49:37 GMT".
void append_head(std::string& out, const Response& response, const Framing& framing,
                 std::string_view date);
// One chunk; nothing for no bytes, because an empty chunk would end the body.
void append_chunk(std::string& out, std::string_view bytes);
void append_last_chunk(std::string& out);

std::string http_date(std::time_t time);

}  // namespace kw::net
