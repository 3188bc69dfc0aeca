// For tests: a key and a certificate that signs itself, as PEM files.
#pragma once
#include <chrono>
#include <filesystem>
#include <string>

namespace kw::net::testing {

// Writes NAME.crt and NAME.key into the folder. subject: "DNS:localhost,IP:127.0.0.1". valid: from
// now; a negative time has expired.
void write_self_signed(const std::filesystem::path& folder, const std::string& name,
                       const std::string& subject,
                       std::chrono::seconds valid = std::chrono::hours(1));

}  // namespace kw::net::testing
