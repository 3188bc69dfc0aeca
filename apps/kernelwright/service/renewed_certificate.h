// kernelwright serve: new files of a certificate without a new start.
#pragma once
#include "kernelwright/services.h"
#include "net/server.h"

namespace kw::front {

// While it lives, SIGHUP renews the certificate of a server that has it from files; has_files:
// whether this one does. The server must outlive it.
class RenewedByHangup {
 public:
  RenewedByHangup(const Services& services, net::Server& server, bool has_files)
      : services_(services) {
    if (!has_files) return;
    services.on_hangup([&services, &server] {
      const Status renewed = server.renew_tls();
      services.console.err(renewed ? "the TLS files have been read again\n"
                                   : fmt::format("the TLS certificate stays as it was: {}\n",
                                                 renewed.error().message()));
    });
  }
  ~RenewedByHangup() { services_.on_hangup({}); }
  RenewedByHangup(const RenewedByHangup&) = delete;
  RenewedByHangup& operator=(const RenewedByHangup&) = delete;

 private:
  const Services& services_;
};

}  // namespace kw::front
