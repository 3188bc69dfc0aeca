#include "net/testing/self_signed.h"

#include <fstream>

#include "base/check.h"
#include "net/self_signed.h"

namespace kw::net::testing {

void write_self_signed(const std::filesystem::path& folder, const std::string& name,
                       const std::string& subject, std::chrono::seconds valid) {
  const auto made = make_self_signed(name, subject, valid);
  KW_CHECK(made.has_value());
  std::ofstream(folder / (name + ".crt")) << made->certificate;
  std::ofstream(folder / (name + ".key")) << made->key;
}

}  // namespace kw::net::testing
