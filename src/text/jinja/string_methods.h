// Methods of strings, as Python has them.
#pragma once
#include <string>

#include "base/result.h"
#include "text/jinja/operations.h"

namespace kw::text::jinja {

bool is_string_method(std::string_view name);
// kUnsupported for a method that is not read, and for changes of case beyond ASCII.
Result<Value> call_string_method(const std::string& name, const std::string& self,
                                 const Arguments& arguments);

}  // namespace kw::text::jinja
