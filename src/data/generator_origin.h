// The origin of a generated sample, and its problem made from it again.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/sample.h"
#include "writer/generate/generate.h"

namespace kw::data {

// The number grows when the same seed gives other samples.
inline constexpr std::string_view kGenerator = "kernelwright-3";

// generator, seed, index of the sample; problem and bounds: what generate_problem() was given.
Json generator_origin(std::uint64_t seed, std::uint64_t index, std::uint64_t problem,
                      const writer::GeneratorOptions& bounds);

// The form of the problem that such a sample asks about; nullopt: the sample, or its answer, is of
// somebody else. kInvalidArgument for an origin that cannot be read, and where this version of the
// generator makes another problem of it.
Result<std::optional<writer::ProblemForm>> generated_form(const Sample& sample);

// Says what does not fit in the plan of such a sample's answer (writer/author/check_plan.h). ""
// when all fits, or when the generator's writer did not write the answer. Errors are those of
// generated_form() and of the writer.
Result<std::string> misfit_of_plan(const Sample& sample);

}  // namespace kw::data
