// For tests: the supervisor's roles over launchers that start no process. The programs are files
// that exist and are never run.
#pragma once
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "gym/supervisor/launchers.h"
#include "gym/supervisor/programs.h"
#include "gym/supervisor/roles.h"
#include "os/file.h"
#include "sandbox/testing/fake_launcher.h"

namespace kw::gym::testing {

struct FakeRoles {
  FakeRoles() {
    programs.compiler = program("compiler");
    programs.executor = program("executor");
    programs.gpu_executor = program("gpu-executor");
    programs.checker = program("checker");
    programs.launcher = program("launcher");
    programs.python = "/nowhere/python3";
    launchers = Launchers::start(programs, sandbox::Level::kFull, [this](auto options) {
                  return Result<std::unique_ptr<sandbox::Launcher>>(
                      std::make_unique<sandbox::FakeLauncher>(launches, std::move(options)));
                }).value();
    roles = std::make_unique<Roles>(*launchers, programs);
  }

  os::TempDir folder = os::TempDir::make("kw-fake-roles-").value();
  sandbox::FakeLaunches launches;
  Programs programs;
  std::unique_ptr<Launchers> launchers;
  std::unique_ptr<Roles> roles;

 private:
  std::filesystem::path program(const std::string& name) {
    const std::filesystem::path path = folder.path() / name;
    EXPECT_TRUE(os::write_file_atomic(path, ""));
    return path;
  }
};

}  // namespace kw::gym::testing
