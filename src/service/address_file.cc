#include "service/address_file.h"

#include "base/json.h"
#include "net/url.h"
#include "os/file.h"

namespace kw::service {
namespace {

constexpr int kAddressSchema = 1;

}  // namespace

std::string address_text(const ServerAddress& address) {
  Json out = {{"schema", kAddressSchema}, {"url", address.url}};
  if (!address.certificate.empty()) out["certificate"] = address.certificate;
  return out.dump(1) + "\n";
}

Status write_address(const std::filesystem::path& file, const ServerAddress& address) {
  return os::write_file_atomic(file, address_text(address));
}

Result<ServerAddress> address_from_text(std::string_view text) {
  KW_TRY(const Json value, parse_json(text));
  KW_TRY(ObjectReader reader, ObjectReader::make(value, ""));
  KW_TRY(const std::int64_t schema, reader.integer("schema"));
  if (schema != kAddressSchema)
    return fail(ErrorCode::kUnsupported, "schema: {} is not {}, which is read here", schema,
                kAddressSchema);
  ServerAddress out;
  KW_TRY(out.url, reader.string("url"));
  KW_TRY(const net::Url url, net::parse_url(out.url));
  out.url = url.origin();
  if (reader.find("certificate") != nullptr) {
    KW_TRY(out.certificate, reader.string("certificate"));
  }
  return out;
}

bool is_address_file(std::string_view word) {
  if (word.starts_with("http://") || word.starts_with("https://")) return false;
  return word.find('/') != std::string_view::npos || word.ends_with(".json");
}

}  // namespace kw::service
