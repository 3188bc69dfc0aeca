// UTF-8 decoding by the table of well-formed sequences (Unicode, table 3-7).
#include "reward/code_points.h"

namespace kw::reward {
namespace {

struct Decoded {
  std::uint32_t code;
  std::size_t length;
};

struct Lead {
  std::size_t length;             // 0: no sequence begins with this byte
  std::uint32_t bits, low, high;  // of the lead; bounds of the second byte
};

Lead lead_of(std::uint32_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2, byte & 0x1FU, 0x80, 0xBF};
  if (byte >= 0xE0 && byte <= 0xEF)
    return {3, byte & 0x0FU, byte == 0xE0 ? 0xA0U : 0x80U, byte == 0xED ? 0x9FU : 0xBFU};
  if (byte >= 0xF0 && byte <= 0xF4)
    return {4, byte & 0x07U, byte == 0xF0 ? 0x90U : 0x80U, byte == 0xF4 ? 0x8FU : 0xBFU};
  return {0, 0, 0, 0};
}

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

Decoded decode(std::string_view bytes, std::size_t at) {
  std::uint32_t first = byte_at(bytes, at);
  if (first < 0x80) return {first, 1};
  const Decoded escaped{0xDC00U + first, 1};
  Lead lead = lead_of(first);
  if (lead.length == 0 || bytes.size() - at < lead.length) return escaped;
  std::uint32_t code = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    std::uint32_t next = byte_at(bytes, at + i);
    bool fits = i == 1 ? next >= lead.low && next <= lead.high : (next & 0xC0U) == 0x80;
    if (!fits) return escaped;
    code = code << 6U | (next & 0x3FU);
  }
  return {code, lead.length};
}

bool is_space(std::uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 ||
         code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

}  // namespace

std::vector<std::uint32_t> code_points(std::string_view bytes) {
  std::vector<std::uint32_t> out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    Decoded next = decode(bytes, at);
    out.push_back(next.code);
    at += next.length;
  }
  return out;
}

std::string_view strip(std::string_view bytes) {
  std::size_t begin = bytes.size(), end = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    Decoded next = decode(bytes, at);
    if (!is_space(next.code)) {
      if (begin == bytes.size()) begin = at;
      end = at + next.length;
    }
    at += next.length;
  }
  return begin == bytes.size() ? std::string_view() : bytes.substr(begin, end - begin);
}

}  // namespace kw::reward
