// The file that says where a server is: what is accepted is a URL without a path, and is written
// and read again with the same bytes.
#include "fuzz.h"
#include "net/url.h"
#include "service/address_file.h"

namespace kw::fuzz {

KW_FUZZ(address_file, text) {
  const auto address = service::address_from_text(text);
  if (!accepted(address)) return;
  KW_CHECK(net::parse_url(address->url)->target == "/");
  const std::string written = service::address_text(*address);
  const auto again = service::address_from_text(written);
  KW_CHECK(again.has_value());
  KW_CHECK(service::address_text(*again) == written);
}

}  // namespace kw::fuzz
