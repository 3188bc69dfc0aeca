#include "memory_disk.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <sqlite3.h>

namespace kw::service::simulation {
namespace {

constexpr std::size_t kSector = 512;

void carry_out(std::string& content, const MemoryDisk::Write& write) {
  if (write.is_cut) {
    content.resize(std::min(content.size(), write.offset));
    return;
  }
  content.resize(std::max(content.size(), write.offset + write.bytes.size()));
  content.replace(write.offset, write.bytes.size(), write.bytes);
}

struct OpenFile {
  sqlite3_file base;  // first: SQLite sees it alone
  MemoryDisk* disk;
  std::uint64_t process;
  std::shared_ptr<MemoryDisk::File> file;

  bool is_alive() const { return disk->is_alive(process); }
};
OpenFile& of(sqlite3_file* file) {
  return *reinterpret_cast<OpenFile*>(file);
}
MemoryDisk& disk_of(sqlite3_vfs* layer) {
  return *static_cast<MemoryDisk*>(layer->pAppData);
}

int close(sqlite3_file* file) {
  of(file).file.~shared_ptr();
  return SQLITE_OK;
}

int read(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
  if (!of(file).is_alive()) return SQLITE_IOERR_READ;
  const std::string& content = of(file).file->content;
  const auto wanted = static_cast<std::size_t>(size), at = static_cast<std::size_t>(offset);
  const std::size_t there = at < content.size() ? std::min(wanted, content.size() - at) : 0;
  if (there > 0) std::memcpy(to, content.data() + at, there);
  if (there == wanted) return SQLITE_OK;
  std::memset(static_cast<char*>(to) + there, 0, wanted - there);
  return SQLITE_IOERR_SHORT_READ;
}

int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
  if (!of(file).is_alive() || !of(file).disk->counts_write()) return SQLITE_IOERR_WRITE;
  MemoryDisk::File& to = *of(file).file;
  MemoryDisk::Write one{.offset = static_cast<std::size_t>(offset),
                        .bytes = {static_cast<const char*>(from), static_cast<std::size_t>(size)}};
  if (of(file).disk->is_full() && one.offset + one.bytes.size() > to.content.size())
    return SQLITE_FULL;
  carry_out(to.content, one);
  to.unsynced.push_back(std::move(one));
  return SQLITE_OK;
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (!of(file).is_alive() || !of(file).disk->counts_write()) return SQLITE_IOERR_TRUNCATE;
  MemoryDisk::File& to = *of(file).file;
  to.unsynced.push_back({.offset = static_cast<std::size_t>(size), .bytes = {}, .is_cut = true});
  carry_out(to.content, to.unsynced.back());
  return SQLITE_OK;
}

int sync(sqlite3_file* file, int) {
  if (!of(file).is_alive() || !of(file).disk->counts_write()) return SQLITE_IOERR_FSYNC;
  MemoryDisk::File& to = *of(file).file;
  for (const MemoryDisk::Write& each : to.unsynced) carry_out(to.synced, each);
  to.unsynced.clear();
  to.was_synced = true;
  return SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* out) {
  if (!of(file).is_alive()) return SQLITE_IOERR_FSTAT;
  *out = static_cast<sqlite3_int64>(of(file).file->content.size());
  return SQLITE_OK;
}

int lock(sqlite3_file*, int) {
  return SQLITE_OK;
}
int is_locked(sqlite3_file*, int* out) {
  *out = 0;
  return SQLITE_OK;
}
int control(sqlite3_file*, int, void*) {
  return SQLITE_NOTFOUND;
}
int sector_size(sqlite3_file*) {
  return static_cast<int>(kSector);
}
int characteristics(sqlite3_file*) {
  return 0;
}

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 1,
    .xClose = close,
    .xRead = read,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = file_size,
    .xLock = lock,
    .xUnlock = lock,
    .xCheckReservedLock = is_locked,
    .xFileControl = control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open(sqlite3_vfs* layer, const char* name, sqlite3_file* out, int flags, int* flags_out) {
  MemoryDisk& disk = disk_of(layer);
  out->pMethods = nullptr;
  if (!disk.is_alive(disk.process())) return SQLITE_CANTOPEN;
  std::shared_ptr<MemoryDisk::File> file;
  if (name == nullptr) {
    file = std::make_shared<MemoryDisk::File>();
  } else if (auto found = disk.files().find(name); found != disk.files().end()) {
    file = found->second;
  } else if ((flags & SQLITE_OPEN_CREATE) == 0) {
    return SQLITE_CANTOPEN;
  } else {
    file = disk.files()[name] = std::make_shared<MemoryDisk::File>();
  }
  new (&of(out)) OpenFile{{&kMethods}, &disk, disk.process(), std::move(file)};
  if (flags_out != nullptr) *flags_out = flags;
  return SQLITE_OK;
}

int remove(sqlite3_vfs* layer, const char* name, int) {
  MemoryDisk& disk = disk_of(layer);
  if (!disk.is_alive(disk.process())) return SQLITE_IOERR_DELETE;
  return disk.files().erase(name) > 0 ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
}

int access(sqlite3_vfs* layer, const char* name, int, int* out) {
  *out = disk_of(layer).files().contains(name) ? 1 : 0;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}

// SQLite asks once in a process: no seed may depend on it.
int randomness(sqlite3_vfs*, int size, char* out) {
  std::memset(out, 1, static_cast<std::size_t>(size));
  return size;
}
int sleep(sqlite3_vfs*, int microseconds) {
  return microseconds;
}
int current_time(sqlite3_vfs*, double* out) {
  *out = 2460000.5;
  return SQLITE_OK;
}
int last_error(sqlite3_vfs*, int, char*) {
  return 0;
}

}  // namespace

MemoryDisk::MemoryDisk(std::mt19937_64& random)
    : random_(random), layer_(std::make_unique<sqlite3_vfs>()) {
  sqlite3_initialize();
  layer_->iVersion = 1;
  layer_->szOsFile = sizeof(OpenFile);
  layer_->mxPathname = 512;
  layer_->zName = "kw_memory_disk";
  layer_->pAppData = this;
  layer_->xOpen = open;
  layer_->xDelete = remove;
  layer_->xAccess = access;
  layer_->xFullPathname = full_path;
  layer_->xRandomness = randomness;
  layer_->xSleep = sleep;
  layer_->xCurrentTime = current_time;
  layer_->xGetLastError = last_error;
  sqlite3_vfs_register(layer_.get(), 1);
}

MemoryDisk::~MemoryDisk() {
  sqlite3_vfs_unregister(layer_.get());
}

bool MemoryDisk::counts_write() {
  if (writes_left_ == 0) is_dead_ = true;
  if (writes_left_ >= 0) --writes_left_;
  return !is_dead_;
}

void MemoryDisk::kill_process() {
  ++process_;
  is_dead_ = false;
  writes_left_ = -1;
}

void MemoryDisk::cut_power() {
  kill_process();
  std::erase_if(files_,
                [&](const auto& each) { return !each.second->was_synced && random_() % 2 == 0; });
  for (auto& [name, file] : files_) {
    for (Write& each : file->unsynced) {
      const std::uint64_t fate = random_() % 4;
      if (fate == 0) continue;
      if (fate == 1 && each.bytes.size() > kSector)
        each.bytes.resize(kSector * (1 + random_() % (each.bytes.size() / kSector)));
      carry_out(file->synced, each);
    }
    file->unsynced.clear();
    file->content = file->synced;
    file->was_synced = true;
  }
}

}  // namespace kw::service::simulation
