// What is done to text before tokens are looked for: `normalizer` of tokenizer.json.
#pragma once
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kw::lm {

// A string that stands for another: `Replace` of normalisers and decoders.
struct Replacement {
  std::string from, to;  // from is not empty

  // Reads "pattern" (String) and "content".
  static Result<Replacement> from_json(ObjectReader& reader);
  // With each occurrence replaced, from left to right.
  std::string in(std::string_view text) const;
};

class Normalizer {
 public:
  // Reads NFC, Replace (of a string), Prepend, and a Sequence of these; nullptr: text stays as it
  // is. kUnsupported names the key below `where`.
  static Result<Normalizer> from_json(const Json* value, const std::string& where);

  // text is UTF-8.
  std::string run(std::string_view text) const;
  // False where text surely stays as it is.
  bool may_change(std::string_view text) const;

 private:
  struct Nfc {};
  struct Prepend {
    std::string text;  // nothing is put before nothing
  };
  Status read(const Json& value, const std::string& where, int depth);
  std::vector<std::variant<Nfc, Replacement, Prepend>> steps_;
};

}  // namespace kw::lm
