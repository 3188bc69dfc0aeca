// What the server grants to a client. docs/net.md has the table.
#pragma once
#include <chrono>
#include <cstddef>

namespace kw::net {

struct Limits {
  std::size_t target_bytes = 8192;                  // of the request line's target; over it: 414
  std::size_t header_bytes = 16384;                 // request line and fields; over it: 431
  std::size_t header_fields = 64;                   // over it: 431
  std::size_t body_bytes = std::size_t{16} << 20U;  // over it: 413; a route may say otherwise
  std::size_t body_bytes_in_all = std::size_t{1} << 30U;    // of all that run: 503
  std::size_t connections = 4096;                           // over it: 503
  std::size_t connections_per_address = 64;                 // over it: 429; 0: no limit
  std::size_t requests_per_connection = 10000;              // then it is closed; 0: no limit
  std::size_t send_buffer_bytes = std::size_t{256} << 10U;  // of one stream: then kFull
  std::size_t body_bytes_per_second = 1024;                 // the least that an upload must do

  std::chrono::milliseconds header_timeout{5000};  // TLS handshake; first byte to last: 408
  std::chrono::milliseconds body_timeout{10000};   // plus bytes received / body_bytes_per_second
  std::chrono::milliseconds write_timeout{30000};  // without a byte taken by the peer
  std::chrono::milliseconds idle_timeout{30000};   // between requests
  std::chrono::milliseconds request_deadline{600000};  // header to answer's end: 504; 0: none
  std::chrono::milliseconds linger_timeout{1000};      // reading what a refused client still sends
};

}  // namespace kw::net
