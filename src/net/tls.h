// Private: TLS settings of server and client.
#pragma once
#include <filesystem>
#include <memory>

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

#include "base/result.h"
#include "net/server.h"

namespace kw::net {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// kInvalidArgument, naming the file, when the certificate chain (PEM) or the key cannot be read, do
// not belong together, or when the certificate has expired.
Result<TlsContext> make_server_tls(const std::filesystem::path& certificate_file,
                                   const std::filesystem::path& key_file);
// The same of texts; names: what messages call the two.
Result<TlsContext> make_server_tls(const TlsText& text, const TlsFiles& names);

// A handshake of the server that failed as the client speaks HTTP without TLS.
bool is_plain_http(const boost::system::error_code& error);
// A handshake of the client that failed as the server does not speak TLS.
bool is_no_tls(const boost::system::error_code& error);

// The file of PEM certificates that a client trusts instead of the system's: ca_file, else the
// value of SSL_CERT_FILE; empty without either.
std::filesystem::path trusted_file(const std::filesystem::path& ca_file);
// ca_file: as of trusted_file(). kInvalidArgument, naming the file, when it cannot be read.
Result<TlsContext> make_client_tls(const std::filesystem::path& ca_file);
// Trusts the certificates of a text in PEM alone. kInvalidArgument when it has none.
Result<TlsContext> make_client_tls_of(const std::string& ca_text);

}  // namespace kw::net
