// Private: TLS settings of server and client.
#pragma once
#include <filesystem>
#include <memory>

#include <boost/asio/ssl/context.hpp>

#include "base/result.h"

namespace kw::net {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// kInvalidArgument, naming the file, when the certificate chain (PEM) or the key cannot be read or
// do not belong together.
Result<TlsContext> make_server_tls(const std::filesystem::path& certificate_file,
                                   const std::filesystem::path& key_file);
// ca_file: PEM certificates trusted instead of the system's; empty: the system's.
Result<TlsContext> make_client_tls(const std::filesystem::path& ca_file);

}  // namespace kw::net
