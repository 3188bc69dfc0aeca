#include "train/data/row_file.h"

#include <iterator>
#include <limits>

#include "base/text.h"
#include "train/data/parquet_lines.h"

namespace kw::train {
namespace {

// A table has all columns in all rows.
void leave_out_nulls(Json& value) {
  if (value.is_object())
    for (auto one = value.begin(); one != value.end();)
      one = one->is_null() ? value.erase(one) : std::next(one);
  if (value.is_structured())
    for (Json& one : value) leave_out_nulls(one);
}

}  // namespace

Result<RowFile> RowFile::open(const std::filesystem::path& path) {
  RowFile out;
  out.name_ = path.string();
  out.is_table_ = path.extension() == ".parquet";
  KW_TRY(out.mapping_, out.is_table_ ? parquet_lines(path) : os::Mapping::file(path));
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
  return fmt::format("{}{}{}", name_, is_table_ ? ": row " : ":", rows_[row].line);
}

Result<Json> RowFile::read(std::size_t row) const {
  const Row& place = rows_[row];
  auto value = parse_json(
      std::string_view(reinterpret_cast<const char*>(mapping_.data()) + place.offset, place.bytes));
  if (!value) return tl::unexpected(std::move(value).error().with_context(where(row)));
  if (is_table_) leave_out_nulls(*value);
  return value;
}

}  // namespace kw::train
