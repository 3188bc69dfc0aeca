#include "gym/cuda/kernel_runner.h"

#include "cuda/program.h"
#include "gym/cuda/kernel_sources.h"

namespace kw::gym {

Result<std::string> compile_kernels(const std::string& architecture,
                                    const std::filesystem::path& folder) {
  cuda::ProgramSource source{.name = "gym", .text = {}, .definitions = {}, .contracts = false};
  for (std::string_view text :
       {kernel_source::tasks, kernel_source::random, kernel_source::elements, kernel_source::draw,
        kernel_source::ranges, kernel_source::compare})
    source.text.append(text);
  return cuda::Compiler(architecture, folder).compile(source);
}

}  // namespace kw::gym
