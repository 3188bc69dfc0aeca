// Names of source files where answers give them: behind a fence, in a heading, in a first comment.
#pragma once
#include <string>
#include <string_view>

namespace kw::prompt {

// "kernel.cu", "src/a.h": a relative path without ".." with the ending of a source file.
bool is_file_name(std::string_view word);
// The one file name among the words of a text, "" when there is none or more than one.
std::string file_name_in(std::string_view text);
// Of a line that does no more than to name a file: "### `kernel.h`", "File: kernel.h",
// "// kernel.h", "**2. main.cpp**:".
std::string file_name_of_heading(std::string_view line);
// Of the first line of code, when it is a comment that holds nothing but a name.
std::string file_name_of_code(std::string_view code);

enum class FileFamily { kNone, kC, kPython, kPtx };
FileFamily family_of(std::string_view file_name);  // by its ending

}  // namespace kw::prompt
