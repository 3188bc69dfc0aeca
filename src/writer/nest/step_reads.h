// What a program's steps read, for the transformations that merge them.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "writer/nest/nest.h"

namespace kw::writer {

// A scatter reads what it updates; a sort all of its input, with no index.
std::vector<Access> reads_of(const Step& step);
bool reads_buffer(const Step& step, BufferId buffer);

// The one step that reads what step `at` makes; nullopt: none, several, or one before it.
std::optional<std::size_t> only_reader(const Program& program, std::size_t at, BufferId buffer);

}  // namespace kw::writer
