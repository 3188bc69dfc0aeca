// For tests: a blocking socket that sends any bytes, and a server's usual set-up.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/server.h"
#include "os/fd.h"

namespace kw::net::testing {

// Every wait ends after 20 s, as if the peer had closed.
class RawClient {
 public:
  // receive_buffer: of the system, 0: its own; small ones make a slow reader.
  explicit RawClient(std::uint16_t port, int receive_buffer = 0);

  // False when the peer has closed or reset the connection.
  bool send(std::string_view bytes);
  void finish_sending();
  // One answer with Content-Length, chunks (decoded) or none; "" when the peer closed before one.
  struct Answer {
    int status = 0;
    std::string head, body;
  };
  Answer answer(bool to_head = false);
  // At least one byte more; "" when the peer has closed.
  std::string some();
  std::string until_closed();
  // Reads until `text` has come; what came, or all until the end.
  std::string until(std::string_view text);
  // Whether bytes, or the end, come within that time.
  bool readable(std::chrono::milliseconds within);
  bool closed();  // waits for the peer to close
  void reset();   // closes with RST: what a killed client does

 private:
  os::UniqueFd fd_;
  std::string unread_;
};

// Sends one request and returns the answer, over a connection of its own.
RawClient::Answer ask(const Server& server, std::string_view request);

}  // namespace kw::net::testing
