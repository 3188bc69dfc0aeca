// Signatures: what is accepted is written and read again with the same bytes, and problem.h has
// nothing in it that a name brought.
#include <algorithm>

#include "fuzz.h"
#include "task/signature.h"

namespace kw::fuzz {

namespace {

// Declarations and comments of ours: every line is ASCII, and the preprocessor only includes.
void check_header(const std::string& header) {
  KW_CHECK(std::all_of(header.begin(), header.end(),
                       [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); }));
  for (const std::string& line : split(header, '\n')) {
    if (!trim(line).starts_with("#")) continue;
    KW_CHECK(line == "#pragma once" || line.starts_with("#include <"));
  }
}

}  // namespace

KW_FUZZ(signature, text) {
  auto read = [](const Json& value) { return task::signature_from_json(value, "signature"); };
  if (!round_trip(text, read, [](const task::Signature& s) { return to_json(s); })) return;
  task::Signature signature = read(parse_json(text).value()).value();
  for (const auto* arguments : {&signature.inputs, &signature.statics, &signature.outputs}) {
    for (const task::Argument& argument : *arguments)
      KW_CHECK(argument.bytes() <= static_cast<std::size_t>(task::kMaxTensorBytes));
  }
  for (bool has_prepare : {false, true}) {
    check_header(task::problem_header(signature, has_prepare));
    check_header(task::call_shim(signature, has_prepare));
  }
}

}  // namespace kw::fuzz
