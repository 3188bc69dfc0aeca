// JSON Lines: one document a line, empty lines skipped.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace kw::text {

// Calls read with the number of each line and what it holds: kInvalidArgument where it is not JSON.
// Stops at the first error that read returns.
Status for_each_line(std::string_view text,
                     const std::function<Status(std::size_t number, Result<Json>)>& read);

// Calls read for each line and stops at the first error, which gets "where:LINE" in front.
// kInvalidArgument for a line that is not JSON.
Status for_each_json_line(std::string_view text, const std::string& where,
                          const std::function<Status(const Json&)>& read);

}  // namespace kw::text
