// The rows of tasks in an SQLite file.
#pragma once
#include <filesystem>
#include <memory>

#include "service/task_storage.h"

namespace kw::service {

// Makes the folder and FOLDER/tasks.sqlite (WAL, synchronous=FULL). One server at a time:
// kAlreadyExists when another has it. kUnsupported on a network file system, where SQLite's locks
// cannot be trusted, and for a file of another schema; kDataLoss for a damaged file.
Result<std::unique_ptr<TaskStorage>> open_sqlite_storage(const std::filesystem::path& folder);

// kUnsupported for a folder on a network file system: SQLite works there, until two machines
// believe that they hold a lock.
Status refuse_network_folder(const std::filesystem::path& folder);

}  // namespace kw::service
