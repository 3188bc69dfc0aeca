// OpenSSL's calls for a P-256 key and an X.509 certificate.
#include "net/testing/self_signed.h"

#include <cstdio>
#include <memory>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/check.h"

namespace kw::net::testing {
namespace {

void add_extension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  KW_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::unique_ptr<std::FILE, int (*)(std::FILE*)> open_to_write(const std::filesystem::path& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "we"),
                                                       &std::fclose);
  KW_CHECK(file != nullptr);
  return file;
}

}  // namespace

void write_self_signed(const std::filesystem::path& folder, const std::string& name,
                       const std::string& subject, std::chrono::seconds valid) {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
  KW_CHECK(key && certificate);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid.count());
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* subject_name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject_name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject_name);
  add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate.get(), NID_subject_alt_name, subject);
  KW_CHECK(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  PEM_write_X509(open_to_write(folder / (name + ".crt")).get(), certificate.get());
  PEM_write_PrivateKey(open_to_write(folder / (name + ".key")).get(), key.get(), nullptr, nullptr,
                       0, nullptr, nullptr);
}

}  // namespace kw::net::testing
