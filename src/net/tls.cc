// TLS 1.2 or later with forward secrecy; the client always verifies.
#include "net/tls.h"

#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/verify_mode.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "os/file.h"

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

TlsContext make_client_context() {
  TlsContext context = make_context(ssl::context::tls_client);
  context->set_verify_mode(ssl::verify_peer);
  return context;
}

tl::unexpected<Error> bad_file(const std::filesystem::path& file, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, "TLS: cannot use {}: {}", file.string(), why);
}

bool has_reason(const error_code& error, int reason) {
  return error.category() == boost::asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == reason;
}

// That a text has a block in PEM with that label.
Status check_pem(const std::string& text, const std::filesystem::path& name,
                 std::string_view label) {
  if (text.find(label) != std::string::npos) return {};
  return bad_file(name, fmt::format("it has no {} in PEM", label));
}

Result<std::string> text_of(const std::filesystem::path& file) {
  auto text = os::read_file(file);
  if (!text) return fail(ErrorCode::kInvalidArgument, "TLS: {}", text.error().message());
  return text;
}

// "2027-01-31 12:00:00 UTC"
std::string date_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable date";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

bool is_plain_http(const error_code& error) {
  return has_reason(error, SSL_R_HTTP_REQUEST);
}

bool is_no_tls(const error_code& error) {
  return has_reason(error, SSL_R_WRONG_VERSION_NUMBER);
}

Result<TlsContext> make_server_tls(const TlsText& text, const TlsFiles& names) {
  TlsContext context = make_context(ssl::context::tls_server);
  error_code ec;
  KW_TRY_STATUS(check_pem(text.certificate, names.certificate, "CERTIFICATE"));
  context->use_certificate_chain(boost::asio::buffer(text.certificate), ec);
  if (ec) return bad_file(names.certificate, ec.message());
  KW_TRY_STATUS(check_pem(text.key, names.key, "PRIVATE KEY"));
  // OpenSSL would ask for the password at the terminal.
  if (text.key.find("ENCRYPTED") != std::string::npos)
    return bad_file(names.key, "the key is encrypted; nobody is there to give its password");
  context->use_private_key(boost::asio::buffer(text.key), ssl::context::pem, ec);
  if (has_reason(ec, X509_R_KEY_VALUES_MISMATCH) || has_reason(ec, X509_R_KEY_TYPE_MISMATCH))
    return bad_file(names.key, "it is not the key of " + names.certificate.string());
  if (ec) return bad_file(names.key, ec.message());
  const ASN1_TIME* end = X509_get0_notAfter(SSL_CTX_get0_certificate(context->native_handle()));
  if (X509_cmp_current_time(end) < 0)
    return bad_file(names.certificate, "the certificate has expired: " + date_text(end));
  return context;
}

Result<TlsContext> make_server_tls(const std::filesystem::path& certificate_file,
                                   const std::filesystem::path& key_file) {
  TlsText text;
  KW_TRY(text.certificate, text_of(certificate_file));
  KW_TRY(text.key, text_of(key_file));
  return make_server_tls(text, {certificate_file, key_file});
}

std::filesystem::path trusted_file(const std::filesystem::path& ca_file) {
  if (!ca_file.empty()) return ca_file;
  const char* value = std::getenv("SSL_CERT_FILE");  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

Result<TlsContext> make_client_tls_of(const std::string& ca_text) {
  TlsContext context = make_client_context();
  error_code ec;
  KW_TRY_STATUS(check_pem(ca_text, "the server's certificate", "CERTIFICATE"));
  context->add_certificate_authority(boost::asio::buffer(ca_text), ec);
  if (ec) return bad_file("the server's certificate", ec.message());
  return context;
}

Result<TlsContext> make_client_tls(const std::filesystem::path& ca_file) {
  TlsContext context = make_client_context();
  error_code ec;
  if (const std::filesystem::path trusted = trusted_file(ca_file); !trusted.empty()) {
    KW_TRY(const std::string text, text_of(trusted));
    KW_TRY_STATUS(check_pem(text, trusted, "CERTIFICATE"));
    context->load_verify_file(trusted.string(), ec);
    if (ec) return bad_file(trusted, ec.message());
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
