#include "train/data/row_file.h"

#include <limits>

#include "base/text.h"

namespace kw::train {

Result<RowFile> RowFile::open(const std::filesystem::path& path) {
  RowFile out;
  out.name_ = path.string();
  KW_TRY(out.mapping_, os::Mapping::file(path));
  const std::string_view text(reinterpret_cast<const char*>(out.mapping_.data()),
                              out.mapping_.size());
  std::uint32_t line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++line;
    const std::string_view row = text.substr(begin, end - begin);
    if (row.size() > std::numeric_limits<std::uint32_t>::max())
      return fail(ErrorCode::kInvalidArgument, "{}:{}: over 4 GiB", out.name_, line);
    if (!trim(row).empty())
      out.rows_.push_back({begin, static_cast<std::uint32_t>(row.size()), line});
    begin = end + 1;
  }
  if (out.rows_.empty()) return fail(ErrorCode::kInvalidArgument, "{}: has no rows", out.name_);
  return out;
}

std::string RowFile::where(std::size_t row) const {
  return fmt::format("{}:{}", name_, rows_[row].line);
}

Result<Json> RowFile::read(std::size_t row) const {
  const Row& place = rows_[row];
  auto value = parse_json(
      std::string_view(reinterpret_cast<const char*>(mapping_.data()) + place.offset, place.bytes));
  if (!value) return tl::unexpected(std::move(value).error().with_context(where(row)));
  return value;
}

}  // namespace kw::train
