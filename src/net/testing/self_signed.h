// For tests: a key and a certificate that signs itself, as PEM files.
#pragma once
#include <filesystem>
#include <string>

namespace kw::net::testing {

// Writes NAME.crt and NAME.key into the folder. subject: "DNS:localhost,IP:127.0.0.1".
void write_self_signed(const std::filesystem::path& folder, const std::string& name,
                       const std::string& subject);

}  // namespace kw::net::testing
