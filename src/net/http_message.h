// What a handler of the server gets and gives: values without a connection.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "net/headers.h"

namespace kw::net {

struct Request {
  std::string method;  // "GET", as sent: methods are case-sensitive
  std::string path;    // "/v1/models/a%20b": still percent-encoded, and its escapes are valid
  std::string query;   // after '?', still encoded
  Headers headers;
  std::string body;
  int minor_version = 1;  // HTTP/1.0 or 1.1
  std::string peer;       // "127.0.0.1"
  std::string route;      // the pattern that matched: "/v1/models/{id}"

  struct Parameter {
    std::string name, value;
  };
  std::vector<Parameter> parameters;  // of the path, decoded

  // A parameter of the route's pattern. Its bytes are the client's: any but NUL.
  const std::string& parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  // Content-Length, Transfer-Encoding, Connection and Date are the server's; those given are
  // dropped.
  Headers headers;
  std::string body;
};

std::string_view reason_phrase(int status);  // "Not Found"; "" for unknown ones

}  // namespace kw::net
