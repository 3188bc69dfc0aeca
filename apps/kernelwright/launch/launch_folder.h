// The folder of a launch: the files in it that the server, its workers and clients need.
#pragma once
#include <filesystem>

#include "base/result.h"

namespace kw::front {

// Files and folders as the machines that use them see them.
struct LaunchPaths {
  std::filesystem::path folder;   // absolute
  std::filesystem::path program;  // kernelwright
  std::filesystem::path data;     // the server's tasks
  std::filesystem::path python;   // of the workers' gym; empty: what the machines have

  std::filesystem::path address() const { return folder / "server.json"; }
  std::filesystem::path tokens() const { return folder / "tokens"; }  // of the server
  std::filesystem::path token() const { return folder / "token"; }    // of workers and clients
  std::filesystem::path logs() const { return folder / "logs"; }
};

// The workers' Python is that of KW_PYTHON.
LaunchPaths launch_paths(const std::filesystem::path& folder, const std::filesystem::path& program);

// kInvalidArgument when it is not there and cannot be made.
Status make_folder(const std::filesystem::path& folder);

// One token for clients and workers, and its hash for the server; the owner alone may read them.
// Those of an earlier launch over the same folder stay.
Status make_tokens(const LaunchPaths& paths);

}  // namespace kw::front
