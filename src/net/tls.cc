// TLS 1.2 or later with forward secrecy; the client always verifies.
#include "net/tls.h"

#include <boost/asio/ssl/verify_mode.hpp>
#include <boost/system/error_code.hpp>
#include <openssl/ssl.h>

namespace kw::net {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

TlsContext make_context(ssl::context::method method) {
  auto context = std::make_shared<ssl::context>(method);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_cipher_list(native, "ECDHE+AESGCM:ECDHE+CHACHA20");  // of TLS 1.2
  // Idle connections keep no record buffers: 34 KiB each.
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  return context;
}

tl::unexpected<Error> bad_file(const std::filesystem::path& file, const error_code& ec) {
  return fail(ErrorCode::kInvalidArgument, "TLS: cannot use {}: {}", file.string(), ec.message());
}

}  // namespace

Result<TlsContext> make_server_tls(const std::filesystem::path& certificate_file,
                                   const std::filesystem::path& key_file) {
  TlsContext context = make_context(ssl::context::tls_server);
  error_code ec;
  context->use_certificate_chain_file(certificate_file.string(), ec);
  if (ec) return bad_file(certificate_file, ec);
  context->use_private_key_file(key_file.string(), ssl::context::pem, ec);
  if (ec) return bad_file(key_file, ec);
  return context;
}

Result<TlsContext> make_client_tls(const std::filesystem::path& ca_file) {
  TlsContext context = make_context(ssl::context::tls_client);
  context->set_verify_mode(ssl::verify_peer);
  error_code ec;
  if (!ca_file.empty()) {
    context->load_verify_file(ca_file.string(), ec);
    if (ec) return bad_file(ca_file, ec);
    return context;
  }
  context->set_default_verify_paths(ec);
  // A statically linked OpenSSL looks where its builder's system has them; other systems, here.
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    error_code missing;
    if (!std::filesystem::exists(file, missing)) continue;
    context->load_verify_file(file, ec);
    if (!ec) break;
  }
  return context;
}

}  // namespace kw::net
