// GPT-2's map between bytes and printable characters: how byte-level vocabularies write tokens in
// tokenizer.json.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace kw::lm {

// " a" is "Ġa".
std::string to_byte_level(std::string_view bytes);

// nullopt where a character stands for no byte.
std::optional<std::string> from_byte_level(std::string_view text);

// The bytes that a decoder of type ByteLevel writes for a token: those that its characters stand
// for, or the token itself where one stands for none.
std::string decoded_bytes(std::string_view token);

}  // namespace kw::lm
