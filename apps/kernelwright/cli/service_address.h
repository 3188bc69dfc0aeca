// The address of a service (kernelwright serve), as commands are given it.
#pragma once
#include <string>

#include "sandbox/sandbox.h"

namespace kw::front {

struct ServiceAddress {
  std::string url;               // with --judge: empty means that this machine judges
  std::string ca_file;           // PEM, trusted for https; empty: as of net::ClientOptions
  bool allow_plaintext = false;  // send the token over http to another machine
  // The worker that judges has at least this level; with --judge, see with_judge().
  sandbox::Level isolation_at_least = sandbox::Level::kNone;
};

// Descriptions of the flags.
inline constexpr const char* kTrustedHelp =
    "PEM, trusted for https; without it that of SSL_CERT_FILE, else the system's";
inline constexpr const char* kPlaintextHelp = "send the token over http to other machines";

}  // namespace kw::front
