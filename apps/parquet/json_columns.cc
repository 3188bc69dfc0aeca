#include "json_columns.h"

#include <cmath>

#include "base/text.h"

namespace kw::parquet_files {
namespace {

using arrow::Type;

template <typename ArrayType>
Json number_at(const arrow::Array& array, std::int64_t index) {
  return static_cast<const ArrayType&>(array).Value(index);
}

template <typename ArrayType>
Json floating_at(const arrow::Array& array, std::int64_t index) {
  const double value = static_cast<const ArrayType&>(array).Value(index);
  return std::isfinite(value) ? Json(value) : Json();
}

template <typename ArrayType>
Result<Json> text_at(const arrow::Array& array, std::int64_t index) {
  const std::string_view text = static_cast<const ArrayType&>(array).GetView(index);
  if (!is_valid_utf8(text)) return fail(ErrorCode::kUnsupported, "binary that is no UTF-8 text");
  return Json(std::string(text));
}

template <typename ListType>
Result<Json> list_at(const arrow::Array& array, std::int64_t index) {
  const auto& list = static_cast<const ListType&>(array);
  Json out = Json::array();
  const std::int64_t begin = list.value_offset(index);
  for (std::int64_t i = begin; i < begin + list.value_length(index); ++i) {
    KW_TRY(Json value, json_of(*list.values(), i));
    out.push_back(std::move(value));
  }
  return out;
}

Result<Json> struct_at(const arrow::Array& array, std::int64_t index) {
  const auto& fields = static_cast<const arrow::StructArray&>(array);
  Json out = Json::object();
  for (int i = 0; i < fields.num_fields(); ++i) {
    KW_TRY(Json value, json_of(*fields.field(i), index));
    out[fields.struct_type()->field(i)->name()] = std::move(value);
  }
  return out;
}

Result<Json> printed_at(const arrow::Array& array, std::int64_t index) {
  auto scalar = array.GetScalar(index);
  KW_TRY_STATUS(status_of(scalar.status(), "reading a value"));
  return Json((*scalar)->ToString());
}

tl::unexpected<Error> wrong(const std::string& where, const char* expected) {
  return fail(ErrorCode::kInvalidArgument, "{}: expected {}", where, expected);
}

template <typename Builder, typename Value>
Status append_value(arrow::ArrayBuilder& builder, const Value& value, const std::string& where) {
  return status_of(static_cast<Builder&>(builder).Append(value), where);
}

Status append_list(arrow::ListBuilder& builder, const Json& value, const std::string& where) {
  KW_TRY_STATUS(status_of(builder.Append(), where));
  for (const Json& one : value) KW_TRY_STATUS(append(*builder.value_builder(), one, where + "[]"));
  return {};
}

Status append_struct(arrow::StructBuilder& builder, const Json& value, const std::string& where) {
  KW_TRY_STATUS(status_of(builder.Append(), where));
  const std::shared_ptr<arrow::DataType> owner = builder.type();
  const auto& type = static_cast<const arrow::StructType&>(*owner);
  std::size_t found = 0;
  for (int i = 0; i < type.num_fields(); ++i) {
    const std::string& name = type.field(i)->name();
    auto field = value.find(name);
    if (field != value.end()) ++found;
    KW_TRY_STATUS(append(*builder.field_builder(i), field == value.end() ? Json() : *field,
                         where + "." + name));
  }
  if (found != value.size()) return wrong(where, "only the fields of the schema");
  return {};
}

}  // namespace

Status status_of(const arrow::Status& status, const std::string& what) {
  if (status.ok()) return {};
  const ErrorCode code = status.IsOutOfMemory()      ? ErrorCode::kResourceExhausted
                         : status.IsIOError()        ? ErrorCode::kUnavailable
                         : status.IsNotImplemented() ? ErrorCode::kUnsupported
                                                     : ErrorCode::kInvalidArgument;
  return fail(code, "{}: {}", what, printable(status.message(), 500));
}

Result<Json> json_of(const arrow::Array& array, std::int64_t index) {
  if (array.IsNull(index)) return Json();
  switch (array.type_id()) {
    case Type::NA:
      return Json();
    case Type::BOOL:
      return number_at<arrow::BooleanArray>(array, index);
    case Type::INT8:
      return number_at<arrow::Int8Array>(array, index);
    case Type::INT16:
      return number_at<arrow::Int16Array>(array, index);
    case Type::INT32:
      return number_at<arrow::Int32Array>(array, index);
    case Type::INT64:
      return number_at<arrow::Int64Array>(array, index);
    case Type::UINT8:
      return number_at<arrow::UInt8Array>(array, index);
    case Type::UINT16:
      return number_at<arrow::UInt16Array>(array, index);
    case Type::UINT32:
      return number_at<arrow::UInt32Array>(array, index);
    case Type::UINT64:
      return number_at<arrow::UInt64Array>(array, index);
    case Type::FLOAT:
      return floating_at<arrow::FloatArray>(array, index);
    case Type::DOUBLE:
      return floating_at<arrow::DoubleArray>(array, index);
    case Type::STRING:
    case Type::BINARY:
      return text_at<arrow::BinaryArray>(array, index);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return text_at<arrow::LargeBinaryArray>(array, index);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return text_at<arrow::BinaryViewArray>(array, index);
    case Type::LIST:
    case Type::MAP:
      return list_at<arrow::ListArray>(array, index);
    case Type::LARGE_LIST:
      return list_at<arrow::LargeListArray>(array, index);
    case Type::FIXED_SIZE_LIST:
      return list_at<arrow::FixedSizeListArray>(array, index);
    case Type::STRUCT:
      return struct_at(array, index);
    case Type::DICTIONARY: {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(array);
      return json_of(*coded.dictionary(), coded.GetValueIndex(index));
    }
    case Type::DATE32:
    case Type::DATE64:
    case Type::TIME32:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      return printed_at(array, index);
    default:
      return fail(ErrorCode::kUnsupported, "a column of type {}", array.type()->ToString());
  }
}

Result<std::shared_ptr<arrow::DataType>> type_of(const Json& example) {
  if (example == "string") return arrow::utf8();
  if (example == "int64") return arrow::int64();
  if (example == "float64") return arrow::float64();
  if (example == "bool") return arrow::boolean();
  if (example.is_array() && example.size() == 1) {
    KW_TRY(auto element, type_of(example[0]));
    return arrow::list(element);
  }
  if (example.is_object()) {
    arrow::FieldVector fields;
    for (const auto& [name, value] : example.items()) {
      KW_TRY(auto type, type_of(value));
      fields.push_back(arrow::field(name, type));
    }
    return arrow::struct_(fields);
  }
  return fail(ErrorCode::kInvalidArgument, "schema: unknown type {}", example.dump());
}

Status append(arrow::ArrayBuilder& builder, const Json& value, const std::string& where) {
  if (value.is_null()) return status_of(builder.AppendNull(), where);
  switch (builder.type()->id()) {
    case Type::STRING:
      if (!value.is_string()) return wrong(where, "a text");
      return append_value<arrow::StringBuilder>(builder, value.get_ref<const std::string&>(),
                                                where);
    case Type::INT64:
      if (!value.is_number_integer()) return wrong(where, "an integer");
      return append_value<arrow::Int64Builder>(builder, value.get<std::int64_t>(), where);
    case Type::DOUBLE:
      if (!value.is_number()) return wrong(where, "a number");
      return append_value<arrow::DoubleBuilder>(builder, value.get<double>(), where);
    case Type::BOOL:
      if (!value.is_boolean()) return wrong(where, "a boolean");
      return append_value<arrow::BooleanBuilder>(builder, value.get<bool>(), where);
    case Type::LIST:
      if (!value.is_array()) return wrong(where, "a list");
      return append_list(static_cast<arrow::ListBuilder&>(builder), value, where);
    case Type::STRUCT:
      if (!value.is_object()) return wrong(where, "an object");
      return append_struct(static_cast<arrow::StructBuilder&>(builder), value, where);
    default:
      return wrong(where, "another type in the schema");
  }
}

}  // namespace kw::parquet_files
