// kernelwright-parquet: Parquet as JSON Lines, for `kernelwright data`, which links no Arrow.
// usage: kernelwright-parquet read FILE           rows to the socket
//        kernelwright-parquet write FILE SCHEMA   rows from the socket; then "ok ROWS"
// The socket is descriptor 3. A line that begins with "!" is an error, and the last one.
#include <exception>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "os/fd.h"
#include "parquet_file.h"

namespace {

constexpr int kSocket = 3;

// Rows that nobody has read would take what was said last with them when the socket closes.
void drain() {
  char block[4096];
  while (::read(kSocket, block, sizeof block) > 0) {
  }
}

kw::Result<std::string> run(const std::vector<std::string>& words) {
  using kw::ErrorCode;
  if (words.size() == 2 && words[0] == "read") {
    KW_TRY_STATUS(kw::parquet_files::read_rows(words[1], kSocket));
    return std::string();
  }
  if (words.size() == 3 && words[0] == "write") {
    KW_TRY(kw::Json schema, kw::parse_json(words[2]));
    KW_TRY(std::int64_t rows, kw::parquet_files::write_rows(kSocket, words[1], schema));
    return fmt::format("ok {}\n", rows);
  }
  return kw::fail(ErrorCode::kInvalidArgument, "usage: read FILE, or write FILE SCHEMA");
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  kw::Result<std::string> result = std::string();
  try {
    result = run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& e) {  // of Parquet, for files that are none
    result = kw::fail(kw::ErrorCode::kInvalidArgument, "{}", e.what());
  }
  const std::string last =
      result ? *result
             : fmt::format("!{} {}\n", to_string(result.error().code()), result.error().message());
  const bool said = kw::os::write_all(kSocket, last).has_value();
  if (!result) drain();
  return said && result ? 0 : 2;
}
