#include "parquet_file.h"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <unistd.h>

#include "json_columns.h"
#include "os/fd.h"

namespace kw::parquet_files {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kBatchRows = 512;
constexpr std::size_t kBlock = 1U << 18U;
constexpr std::size_t kMaxLine = 64ULL << 20U;
constexpr std::int64_t kGroupBytes = 64LL << 20U;
constexpr std::int64_t kGroupRows = 65536;

template <typename T>
Result<T> value_of(arrow::Result<T> result, const std::string& what) {
  KW_TRY_STATUS(status_of(result.status(), what));
  return std::move(result).ValueUnsafe();
}

// Rows until a row group is full, then to the file.
class RowWriter {
 public:
  static Result<RowWriter> open(const fs::path& partial, std::shared_ptr<arrow::Schema> schema) {
    RowWriter out;
    out.what_ = "writing " + partial.string();
    out.schema_ = std::move(schema);
    KW_TRY(out.file_, value_of(arrow::io::FileOutputStream::Open(partial.string()), out.what_));
    auto properties =
        parquet::WriterProperties::Builder().compression(parquet::Compression::ZSTD)->build();
    auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    KW_TRY(out.writer_,
           value_of(parquet::arrow::FileWriter::Open(*out.schema_, arrow::default_memory_pool(),
                                                     out.file_, properties, arrow_properties),
                    out.what_));
    KW_TRY(out.batch_,
           value_of(arrow::RecordBatchBuilder::Make(out.schema_, arrow::default_memory_pool()),
                    out.what_));
    return out;
  }

  Status add(const Json& row, std::size_t bytes) {
    const std::string where = "row " + std::to_string(rows_ + 1);
    if (!row.is_object()) return fail(ErrorCode::kInvalidArgument, "{}: no object", where);
    std::size_t found = 0;
    for (int i = 0; i < schema_->num_fields(); ++i) {
      const std::string& name = schema_->field(i)->name();
      auto field = row.find(name);
      if (field != row.end()) ++found;
      KW_TRY_STATUS(
          append(*batch_->GetField(i), field == row.end() ? Json() : *field, where + ": " + name));
    }
    if (found != row.size())
      return fail(ErrorCode::kInvalidArgument, "{}: a column that the schema lacks", where);
    ++rows_;
    in_batch_ += static_cast<std::int64_t>(bytes);
    if (in_batch_ < kGroupBytes && rows_ % kGroupRows != 0) return {};
    return flush();
  }

  Result<std::int64_t> close() {
    KW_TRY_STATUS(flush());
    KW_TRY_STATUS(status_of(writer_->Close(), what_));
    if (::fsync(file_->file_descriptor()) != 0) return fail_errno(errno, what_);
    KW_TRY_STATUS(status_of(file_->Close(), what_));
    return rows_;
  }

 private:
  RowWriter() = default;

  Status flush() {
    in_batch_ = 0;
    KW_TRY(auto batch, value_of(batch_->Flush(), what_));
    if (batch->num_rows() == 0) return {};
    KW_TRY_STATUS(status_of(writer_->NewBufferedRowGroup(), what_));
    return status_of(writer_->WriteRecordBatch(*batch), what_);
  }

  std::string what_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::io::FileOutputStream> file_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  std::unique_ptr<arrow::RecordBatchBuilder> batch_;
  std::int64_t rows_ = 0, in_batch_ = 0;
};

Result<std::int64_t> copy_lines(int from, RowWriter& writer) {
  std::string buffer;
  for (;;) {
    const std::size_t had = buffer.size();
    buffer.resize(had + kBlock);
    const ssize_t got = ::read(from, buffer.data() + had, kBlock);
    if (got < 0 && errno != EINTR) return fail_errno(errno, "cannot read the rows");
    buffer.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    std::size_t begin = 0;
    for (std::size_t end = buffer.find('\n', had); end != std::string::npos;
         end = buffer.find('\n', begin)) {
      KW_TRY(Json row, parse_json(std::string_view(buffer).substr(begin, end - begin)));
      KW_TRY_STATUS(writer.add(row, end - begin));
      begin = end + 1;
    }
    buffer.erase(0, begin);
    if (buffer.size() > kMaxLine) return fail(ErrorCode::kInvalidArgument, "a row is too long");
    if (got != 0) continue;
    if (!buffer.empty()) return fail(ErrorCode::kDataLoss, "the last row is cut off");
    return writer.close();
  }
}

}  // namespace

Status read_rows(const fs::path& path, int to) {
  const std::string what = "reading " + path.string();
  parquet::arrow::FileReaderBuilder builder;
  KW_TRY_STATUS(status_of(builder.OpenFile(path.string()), what));
  parquet::ArrowReaderProperties properties;
  properties.set_batch_size(kBatchRows);
  properties.set_pre_buffer(false);
  builder.properties(properties);
  KW_TRY(auto reader, value_of(builder.Build(), what));
  KW_TRY(auto batches, value_of(reader->GetRecordBatchReader(), what));
  std::string out;
  for (std::shared_ptr<arrow::RecordBatch> batch;;) {
    KW_TRY_STATUS(status_of(batches->ReadNext(&batch), what));
    if (batch == nullptr) return {};
    for (std::int64_t row = 0; row < batch->num_rows(); ++row) {
      Json line = Json::object();
      for (int i = 0; i < batch->num_columns(); ++i) {
        auto value = json_of(*batch->column(i), row);
        if (!value)
          return tl::unexpected(
              std::move(value).error().with_context(what + ": " + batch->column_name(i)));
        line[batch->column_name(i)] = std::move(*value);
      }
      out += line.dump(-1, ' ', false, Json::error_handler_t::replace);
      out += '\n';
      if (out.size() < kBlock) continue;
      KW_TRY_STATUS(os::write_all(to, out));
      out.clear();
    }
    KW_TRY_STATUS(os::write_all(to, out));
    out.clear();
  }
}

Result<std::int64_t> write_rows(int from, const fs::path& path, const Json& schema) {
  KW_TRY(auto type, type_of(schema));
  if (type->id() != arrow::Type::STRUCT)
    return fail(ErrorCode::kInvalidArgument, "schema: expected an object");
  fs::path partial = path;
  partial += ".partial";
  KW_TRY(RowWriter writer, RowWriter::open(partial, arrow::schema(type->fields())));
  auto rows = copy_lines(from, writer);
  std::error_code error;
  if (!rows) {
    fs::remove(partial, error);
    return rows;
  }
  fs::rename(partial, path, error);
  if (error)
    return fail(ErrorCode::kUnavailable, "cannot rename {}: {}", partial.string(), error.message());
  return rows;
}

}  // namespace kw::parquet_files
