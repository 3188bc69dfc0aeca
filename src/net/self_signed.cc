// OpenSSL's calls for a P-256 key and an X.509 certificate.
#include "net/self_signed.h"

#include <memory>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/check.h"

namespace kw::net {
namespace {

constexpr long kYesterday = -86400;

bool add_extension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return true;
}

// Clients tell two certificates of one name apart by their numbers.
void set_random_number(X509* certificate) {
  std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_new(), &BN_free);
  KW_CHECK(number && BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1);
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
}

using Text = std::unique_ptr<BIO, decltype(&BIO_free)>;

std::string text_in(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace

std::string certificate_name(const std::string& host) {
  boost::system::error_code no_address;
  boost::asio::ip::make_address(host, no_address);  // NOLINT(bugprone-unused-return-value)
  return (no_address ? "DNS:" : "IP:") + host;
}

Result<TlsText> make_self_signed(const std::string& common_name, const std::string& names,
                                 std::chrono::seconds valid) {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  KW_CHECK(key && certificate);
  X509_set_version(certificate.get(), 2);
  set_random_number(certificate.get());
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), kYesterday);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid.count());
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), subject);
  KW_CHECK(add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE"));
  if (!add_extension(certificate.get(), NID_subject_alt_name, names))
    return fail(ErrorCode::kInvalidArgument, "TLS: no certificate can have the names {}", names);
  KW_CHECK(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  const Text certificate_text(BIO_new(BIO_s_mem()), &BIO_free);
  const Text key_text(BIO_new(BIO_s_mem()), &BIO_free);
  KW_CHECK(PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1);
  KW_CHECK(PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) == 1);
  return TlsText{text_in(certificate_text.get()), text_in(key_text.get())};
}

}  // namespace kw::net
