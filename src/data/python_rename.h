// Small rewrites of Python source by its tokens: comments, layout and texts stay as they are.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace kw::data {

// Whether a name stands anywhere in the code.
bool uses_name(std::string_view source, std::string_view name);

// Every occurrence as a name of its own, and behind a dot too.
std::string rename_names(std::string_view source, const std::map<std::string, std::string>& names);

// get_init_inputs() of KernelBook's form, `return [[ARGUMENTS], {KEYWORDS}]`, as KernelBench's flat
// list, where the keywords can stand by position: __init__ of entry_point has the names, and
// constant defaults for those left out. Otherwise the source as it is: the gym reads both.
std::string flat_init_inputs(std::string_view source, std::string_view entry_point);

}  // namespace kw::data
