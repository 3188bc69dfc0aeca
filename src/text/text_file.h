// Text files that people hand in: with a size cap and valid UTF-8, or an error that names the file.
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace kw::text {

inline constexpr std::size_t kMaxSourceFile = 2ULL << 20U;  // candidates, problems, definitions
inline constexpr std::size_t kMaxDataFile = 512ULL << 20U;  // JSON Lines of data sets and solutions

// kNotFound; kInvalidArgument for a folder, a device, an empty file or one over max_bytes.
Result<std::string> read_bytes(const std::filesystem::path& path, std::size_t max_bytes);
// The same, and kInvalidArgument where the bytes are not UTF-8.
Result<std::string> read_text(const std::filesystem::path& path, std::size_t max_bytes);
Result<Json> read_json(const std::filesystem::path& path, std::size_t max_bytes);

// The entries of a folder with this extension (".json"), by name; "1_x" sorts before "10_x". below:
// of all folders below it too, but for hidden ones. kNotFound when it cannot be read,
// kInvalidArgument where there is too much.
Result<std::vector<std::filesystem::path>> files_with_extension(const std::filesystem::path& folder,
                                                                std::string_view extension,
                                                                bool below);
// Whether a comes before b when runs of digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace kw::text
