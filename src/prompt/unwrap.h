// Code that an answer wrapped once more: in JSON, or with HTML's entities for < and >.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "prompt/blocks.h"

namespace kw::prompt {

// The strings of a JSON text that can be code, in order, with the file name beside them ("path",
// "file", "filename", "name") and the "language" as tag; fences in a string are looked into. Empty
// when the text is not JSON.
std::vector<CodeBlock> blocks_of_json(std::string_view text);

// Code with &lt; or &gt; and without any < or >: with the entities replaced. Else the code itself.
std::string without_entities(std::string code);

}  // namespace kw::prompt
