// A sample as a row of a table for others: one set of columns, one type a column.
#pragma once
#include <string_view>
#include <vector>

#include "base/json.h"
#include "data/sample.h"

namespace kw::data {

struct ExportColumn {
  std::string_view name, meaning;
  Json type;  // as kernelwright-parquet reads it: "string", "int64", [TYPE], {"field": TYPE}
};
const std::vector<ExportColumn>& export_columns();
Json export_schema();  // {"name": type, ...}

// Every column in every row. The row holds all of the sample but its schema number.
Json export_row(const Sample& sample);

}  // namespace kw::data
