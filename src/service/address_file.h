// The file by which clients and workers find a server (docs/launch.md): written by the server when
// it listens, and again by its successor, which may listen elsewhere.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw::service {

struct ServerAddress {
  std::string url;          // without a path
  std::string certificate;  // PEM, to be trusted for this server alone; empty: as for other servers
};

// Readers see the old or the new content.
Status write_address(const std::filesystem::path& file, const ServerAddress& address);

std::string address_text(const ServerAddress& address);
// kInvalidArgument names the key.
Result<ServerAddress> address_from_text(std::string_view text);

// Whether the word of --server or --judge names such a file: it is no URL, and has a "/" or ends
// with ".json".
bool is_address_file(std::string_view word);

}  // namespace kw::service
