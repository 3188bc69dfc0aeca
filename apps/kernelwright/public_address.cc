#include "kernelwright/public_address.h"

#include <array>
#include <chrono>

#include <unistd.h>

#include "net/self_signed.h"
#include "net/url.h"
#include "service/address_file.h"

namespace kw::front {
namespace {

// A certificate that signs itself is good for so long; a server makes another one at each start.
constexpr std::chrono::hours kSelfSignedTime{10 * 365 * 24};

}  // namespace

std::string public_host(const PublicAddress& address) {
  if (!address.public_name.empty()) return address.public_name;
  const bool is_everywhere = address.host == "0.0.0.0" || address.host == "::";
  std::array<char, 256> name{};
  if (is_everywhere && ::gethostname(name.data(), name.size() - 1) == 0) return name.data();
  return address.host;
}

Result<net::TlsText> own_certificate(const PublicAddress& address) {
  const std::string host = public_host(address);
  return net::make_self_signed(host, net::certificate_name(host), kSelfSignedTime);
}

std::string public_url(const PublicAddress& address, const net::Server& server) {
  return net::Url{server.origin().starts_with("https") ? "https" : "http", public_host(address),
                  server.port(), "/"}
      .origin();
}

Status write_address_file(const PublicAddress& address, const net::Server& server,
                          const std::optional<net::TlsText>& self_signed) {
  if (address.file.empty()) return {};
  return service::write_address(
      address.file, {public_url(address, server), self_signed ? self_signed->certificate : ""});
}

}  // namespace kw::front
