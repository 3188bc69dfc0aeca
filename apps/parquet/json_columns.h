// JSON rows as Arrow columns, and back.
#pragma once
#include <memory>
#include <string>

#include <arrow/api.h>

#include "base/json.h"
#include "base/result.h"

namespace kw::parquet_files {

// An Arrow failure as ours; what: "reading x.parquet".
Status status_of(const arrow::Status& status, const std::string& what);

// One value. Null, booleans, numbers, texts, lists, structs, maps (as lists of {"key", "value"})
// and dictionaries as JSON has them; binary that is UTF-8 as text; not-a-number and infinities as
// null; dates, times and decimals as Arrow prints them. kUnsupported for other types and other
// binary.
Result<Json> json_of(const arrow::Array& array, std::int64_t index);

// A type by example: "string", "int64", "float64", "bool", [TYPE], {"name": TYPE, ...}.
Result<std::shared_ptr<arrow::DataType>> type_of(const Json& example);

// kInvalidArgument for a value that is not of the builder's type; where: its path.
Status append(arrow::ArrayBuilder& builder, const Json& value, const std::string& where);

}  // namespace kw::parquet_files
