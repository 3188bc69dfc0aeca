// FlashInfer-Bench's Definition in JSON: docs/formats/definition.md. Key order is the call
// interface and is kept both ways.
#pragma once
#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "task/launch.h"
#include "task/problem.h"
#include "task/signature.h"

namespace kw::task {

Json to_json(const Definition& definition);
// Every rule of the format is checked; kInvalidArgument names the field. where: path of the value
// inside its document, "" at the top.
Result<Definition> definition_from_json(const Json& value, const std::string& where);

// Bytes of a tensor under these values of the variable axes; 0 for a host scalar. kInvalidArgument
// when an axis has no value or the product overflows or exceeds kMaxTensorBytes.
Result<std::int64_t> tensor_bytes(const TensorSpec& tensor, const Definition& definition,
                                  const AxisValues& values);

}  // namespace kw::task
