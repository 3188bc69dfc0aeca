// MemoryDisk: a disk in memory that SQLite writes to, as its default file layer. It loses what was
// not synced when the power goes, is full when it is told to be, and counts what it does.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

struct sqlite3_vfs;

namespace kw::service::simulation {

// One thread; one disk at a time.
class MemoryDisk {
 public:
  explicit MemoryDisk(std::mt19937_64& random);
  ~MemoryDisk();
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  // The files that are open belong to a process that is no more: they fail from now on.
  void kill_process();
  // The same, and each write since the last sync of its file is lost, kept or torn.
  void cut_power();
  // Nothing grows any more.
  void set_full(bool full) { is_full_ = full; }
  // The process dies at that write (0: the next); negative: it lives.
  void set_last_write(int writes) { writes_left_ = writes; }
  bool is_dead() const { return is_dead_; }

  struct Write {
    std::size_t offset = 0;
    std::string bytes;
    bool is_cut = false;  // to `offset` bytes
  };
  struct File {
    std::string content;
    std::string synced;
    std::vector<Write> unsynced;
    bool was_synced = false;
  };

  // For the layer's functions. Whether the process may do it.
  bool is_alive(std::uint64_t process) const { return process == process_ && !is_dead_; }
  bool counts_write();
  bool is_full() const { return is_full_; }
  std::uint64_t process() const { return process_; }
  std::map<std::string, std::shared_ptr<File>>& files() { return files_; }

 private:
  std::mt19937_64& random_;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::uint64_t process_ = 1;
  int writes_left_ = -1;
  bool is_full_ = false, is_dead_ = false;
  std::unique_ptr<sqlite3_vfs> layer_;
};

}  // namespace kw::service::simulation
