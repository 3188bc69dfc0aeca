// Calls a function for each sample of a data set on all cores, and returns the results in the
// file's order.
#pragma once
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "data/files.h"
#include "os/parallel.h"

namespace kw::data {

// work is called for every sample, on any thread; take for every result, on the caller's. The first
// error, of a row or of take, ends it as in for_each_sample(). Memory: 512 rows, or 64 MiB of them.
// Returns the bytes read.
template <typename Value>
Result<std::uint64_t> map_samples(
    const std::filesystem::path& path, const std::function<Value(const Sample&)>& work,
    const std::function<Status(const std::string& id, std::string_view line, Value)>& take) {
  struct Row {
    std::string line, where, id;
    std::optional<Error> error;
    std::optional<Value> value;
  };
  const auto examine = [&work](Row& row) {
    auto json = parse_json(row.line);
    auto sample =
        json ? sample_from_json(*json) : Result<Sample>(tl::unexpected(std::move(json).error()));
    if (!sample) {
      row.error = std::move(sample).error();
      return;
    }
    row.value.emplace(work(*sample));
    row.id = std::move(sample->id);
  };
  constexpr std::size_t kRows = 512, kBytes = std::size_t{64} << 20U;
  KW_TRY(LineReader reader, LineReader::open(path));
  std::vector<Row> batch;
  std::size_t bytes = 0;
  bool any = false;
  for (std::string_view line;;) {
    KW_TRY(bool more, reader.next(line));
    if (more && !trim(line).empty()) {
      batch.emplace_back();
      batch.back().line = line;
      batch.back().where = reader.where();
      bytes += line.size();
      any = true;
    }
    if (more && batch.size() < kRows && bytes < kBytes) continue;
    os::in_parallel(batch.size(), bytes, [&](std::size_t i) { examine(batch[i]); });
    for (Row& row : batch) {
      if (row.error) return tl::unexpected(std::move(*row.error).with_context(row.where));
      KW_CHECK(row.value);
      KW_TRY_STATUS(take(row.id, row.line, std::move(*row.value)));
    }
    batch.clear();
    bytes = 0;
    if (!more) break;
  }
  if (!any) return fail(ErrorCode::kInvalidArgument, "{}: no samples", path.string());
  return reader.bytes();
}

}  // namespace kw::data
