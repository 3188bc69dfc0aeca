// Normalisation form C (Unicode annex 15), with the tables of HF `tokenizers`, whatever the
// system's Unicode version is.
#pragma once
#include <string>
#include <string_view>

namespace kw::lm {

// No character whose form could be another, so normalising is left out. text is UTF-8.
bool is_surely_nfc(std::string_view text);

// text must be UTF-8.
std::string to_nfc(std::string_view text);

}  // namespace kw::lm
