// How other machines find a server of ours: by its address file, and with a certificate that the
// server has made itself.
#pragma once
#include <optional>
#include <string>

#include "base/result.h"
#include "net/server.h"

namespace kw::front {

struct PublicAddress {
  std::string host = {};         // that the server listens on
  std::string public_name = {};  // by which others know this machine; empty: as public_host() says
  std::string file = {};         // the address file; empty: none is written
};

// "https://name:8100", by which others reach the server.
std::string public_url(const PublicAddress& address, const net::Server& server);

// The public name; else this machine's where the server listens on all addresses, else the host.
std::string public_host(const PublicAddress& address);
// A certificate of this name that signs itself, new at each call.
Result<net::TlsText> own_certificate(const PublicAddress& address);
// self_signed: the certificate that clients will trust for this server.
Status write_address_file(const PublicAddress& address, const net::Server& server,
                          const std::optional<net::TlsText>& self_signed);

}  // namespace kw::front
