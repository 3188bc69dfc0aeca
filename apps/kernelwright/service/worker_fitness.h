// A worker looks at these before it takes a task: room on its disk, its GPUs, and after failures of
// ours a judgement whose verdict is known.
#pragma once
#include <filesystem>
#include <stop_token>

#include "base/result.h"
#include "gym/judge.h"
#include "kernelwright/services.h"
#include "service/abilities.h"
#include "service/fitness.h"

namespace kw::front {

// Builds, evidence and sandboxes need this much where the cache lies.
inline constexpr std::uintmax_t kLeastFreeBytes = 256ULL << 20U;

// kResourceExhausted when less is free. A folder that is not there yet counts as its parent.
Status look_at_disk(const std::filesystem::path& folder,
                    std::uintmax_t least_bytes = kLeastFreeBytes);
// Judges a right and a wrong C++ candidate of a tiny problem, without timing. kInternal when the
// verdicts are not those.
Status probe_judge(gym::Judge& judge, const std::stop_token& stop);

// judge, services: borrowed by what is returned. GPUs count where the worker offers them, the probe
// where it offers C++ on the CPU.
service::FitnessOptions fitness_options(gym::Judge& judge, const service::Abilities& can,
                                        const Services& services);

}  // namespace kw::front
