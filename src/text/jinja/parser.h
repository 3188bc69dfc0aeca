// Tokens to the tree of a Jinja template, by Jinja 3.1's grammar.
#pragma once
#include <string_view>

#include "base/result.h"
#include "text/jinja/syntax.h"

namespace kw::text::jinja {

// Read are output, if, for, set, macro, break, continue and generation. Other statements are
// kUnsupported by name, and what is no template kInvalidArgument; both name the line.
Result<Block> parse(std::string_view source);

}  // namespace kw::text::jinja
