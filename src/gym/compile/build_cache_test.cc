// Tests of the build cache: content checks, eviction, several users of one folder; and of the look
// at shared objects.
#include "gym/compile/build_cache.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "gym/compile/shared_object.h"
#include "os/file.h"
#include "os/memory.h"

namespace kw::gym {
namespace {

namespace fs = std::filesystem;

std::string key_of(int i) {
  return sha256_hex(std::to_string(i));
}

class BuildCacheTest : public testing::Test {
 protected:
  os::TempDir dir_ = os::TempDir::make("kw-build-cache-").value();
  fs::path folder_ = dir_.path() / "builds";

  static std::string content(BuildCache& cache, int i) {
    auto found = cache.find(key_of(i)).value();
    return found ? os::read_to_end(found->get(), 1 << 20).value() : "nothing";
  }
  fs::path entry(int i) const { return folder_ / key_of(i).substr(0, 2) / (key_of(i) + ".build"); }

  void overwrite(int i, std::streamoff at, char value) const {
    std::fstream file(entry(i), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put(value);
  }
};

TEST_F(BuildCacheTest, GivesBackWhatWasInserted) {
  BuildCache cache(folder_);
  EXPECT_EQ(content(cache, 1), "nothing");
  EXPECT_EQ(cache.size().value().entries, 0U);
  ASSERT_TRUE(cache.insert(key_of(1), "one"));
  ASSERT_TRUE(cache.insert(key_of(2), std::string_view("t\0wo", 4)));
  EXPECT_EQ(content(cache, 1), "one");
  EXPECT_EQ(content(cache, 2), std::string_view("t\0wo", 4));
  BuildCache later(folder_);
  EXPECT_EQ(content(later, 1), "one");
  EXPECT_EQ(later.size().value().entries, 2U);
  EXPECT_EQ(later.size().value().bytes, 2 * 144 + 3 + 4U);
}

TEST_F(BuildCacheTest, HandsOutSealedMemory) {
  BuildCache cache(folder_);
  ASSERT_TRUE(cache.insert(key_of(1), "one"));
  auto found = cache.find(key_of(1)).value();
  EXPECT_EQ(::pwrite(found->get(), "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(found->get(), 0), -1);
}

TEST_F(BuildCacheTest, DamagedEntriesAreRemovedAndMissing) {
  BuildCache cache(folder_);
  for (std::streamoff at : {0, 8, 20, 100, 144, 146}) {
    ASSERT_TRUE(cache.insert(key_of(1), "one"));
    overwrite(1, at, '~');
    EXPECT_EQ(content(cache, 1), "nothing") << "byte " << at;
    EXPECT_FALSE(fs::exists(entry(1))) << "byte " << at;
  }
  for (std::uintmax_t size : {0U, 100U, 144U, 146U}) {
    ASSERT_TRUE(cache.insert(key_of(1), "one"));
    fs::resize_file(entry(1), size);
    EXPECT_EQ(content(cache, 1), "nothing") << size;
  }
  ASSERT_TRUE(cache.insert(key_of(1), "one"));
  EXPECT_EQ(content(cache, 1), "one");
}

TEST_F(BuildCacheTest, AnEntryUnderAnotherNameIsDamaged) {
  BuildCache cache(folder_);
  ASSERT_TRUE(cache.insert(key_of(1), "one"));
  ASSERT_TRUE(cache.insert(key_of(2), "two"));
  fs::copy_file(entry(1), entry(2), fs::copy_options::overwrite_existing);
  EXPECT_EQ(content(cache, 2), "nothing");
  // Nor is a link followed.
  fs::remove(entry(2));
  fs::create_symlink(entry(1), entry(2));
  EXPECT_EQ(content(cache, 2), "nothing");
  ASSERT_TRUE(cache.insert(key_of(2), "two"));
  EXPECT_EQ(content(cache, 2), "two");
  EXPECT_EQ(content(cache, 1), "one");
}

TEST_F(BuildCacheTest, EvictsTheLeastRecentlyUsed) {
  BuildCache cache(folder_, std::uint64_t{10} * (1000 + 144));
  std::string artifact(1000, 'x');
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(cache.insert(key_of(i), artifact));
    fs::last_write_time(entry(i), fs::file_time_type::clock::now() - std::chrono::hours(20 - i));
  }
  EXPECT_EQ(cache.size().value().entries, 10U);
  EXPECT_EQ(content(cache, 0), artifact);  // now the most recently used
  ASSERT_TRUE(cache.insert(key_of(10), artifact));
  EXPECT_EQ(cache.size().value().entries, 9U);
  EXPECT_TRUE(fs::exists(entry(0)));
  EXPECT_FALSE(fs::exists(entry(1)));
  EXPECT_FALSE(fs::exists(entry(2)));
  EXPECT_TRUE(fs::exists(entry(3)));
  EXPECT_TRUE(fs::exists(entry(10)));
}

TEST_F(BuildCacheTest, DoesNotKeepWhatIsLargerThanItself) {
  BuildCache cache(folder_, 1000);
  ASSERT_TRUE(cache.insert(key_of(1), std::string(900, 'x')));
  EXPECT_EQ(cache.size().value().entries, 0U);
}

TEST_F(BuildCacheTest, EvictionRemovesWhatCrashedWritersLeft) {
  BuildCache cache(folder_);
  ASSERT_TRUE(cache.insert(key_of(1), "one"));
  fs::path old = entry(1).parent_path() / ".unfinished-old";
  fs::path young = entry(1).parent_path() / ".unfinished-young";
  fs::path foreign = entry(1).parent_path() / "notes.txt";
  for (const fs::path& path : {old, young, foreign}) std::ofstream(path) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::last_write_time(foreign, fs::file_time_type::clock::now() - std::chrono::hours(2));
  BuildCache later(folder_);
  ASSERT_TRUE(later.insert(key_of(2), "two"));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(foreign));
  BuildCache::Size before = later.clean().value();
  EXPECT_EQ(before.entries, 2U);
  EXPECT_FALSE(fs::exists(young));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_EQ(later.size().value().bytes, 0U);
  EXPECT_EQ(content(later, 1), "nothing");
}

TEST_F(BuildCacheTest, SeveralUsersAtOnce) {
  std::atomic<int> wrong = 0;
  auto work = [&](int first) {
    BuildCache cache(folder_, 40'000);  // room for a few entries only: they evict each other's
    for (int round = 0; round < 150; ++round) {
      int i = (first + round) % 20;
      std::string artifact(5000, static_cast<char>('a' + i));
      if (!cache.insert(key_of(i), artifact)) ++wrong;
      auto found = cache.find(key_of(i));
      if (!found || (*found && os::read_to_end((*found)->get(), 1 << 20).value() != artifact))
        ++wrong;
    }
  };
  std::jthread a(work, 0);
  std::jthread b(work, 7);
  work(13);
  a.join();
  b.join();
  EXPECT_EQ(wrong, 0);
}

// The smallest object that passes: one dynamic segment.
std::string object(void (*spoil)(Elf64_Ehdr&, Elf64_Phdr&) = nullptr) {
  Elf64_Ehdr header{};
  Elf64_Phdr segment{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof segment;
  header.e_phnum = 1;
  segment.p_type = PT_DYNAMIC;
  segment.p_filesz = 8;
  if (spoil != nullptr) spoil(header, segment);
  std::string bytes(sizeof header + sizeof segment, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &segment, sizeof segment);
  return bytes;
}

TEST(SharedObject, OnlyThisMachinesSharedObjectsPass) {
  EXPECT_TRUE(check_shared_object(object()));
  EXPECT_FALSE(check_shared_object(""));
  EXPECT_FALSE(check_shared_object("#!/bin/sh\n" + std::string(100, ' ')));
  EXPECT_FALSE(check_shared_object(object().substr(0, 70)));
  using Spoil = void (*)(Elf64_Ehdr&, Elf64_Phdr&);
  for (Spoil spoil : {
           Spoil([](Elf64_Ehdr& h, Elf64_Phdr&) { h.e_ident[EI_CLASS] = ELFCLASS32; }),
           Spoil([](Elf64_Ehdr& h, Elf64_Phdr&) { h.e_ident[EI_DATA] = ELFDATA2MSB; }),
           Spoil([](Elf64_Ehdr& h, Elf64_Phdr&) { h.e_machine = EM_RISCV; }),
           Spoil([](Elf64_Ehdr& h, Elf64_Phdr&) { h.e_type = ET_EXEC; }),
           Spoil([](Elf64_Ehdr& h, Elf64_Phdr&) { h.e_phnum = 0; }),
           Spoil([](Elf64_Ehdr& h, Elf64_Phdr&) { h.e_phnum = 60'000; }),
           Spoil([](Elf64_Ehdr& h, Elf64_Phdr&) { h.e_phentsize = 8; }),
           Spoil([](Elf64_Ehdr& h, Elf64_Phdr&) { h.e_phoff = ~std::uint64_t{0} - 8; }),
           Spoil([](Elf64_Ehdr& h, Elf64_Phdr&) { h.e_shnum = 9; }),
           Spoil([](Elf64_Ehdr&, Elf64_Phdr& s) { s.p_type = PT_INTERP; }),
           Spoil([](Elf64_Ehdr&, Elf64_Phdr& s) { s.p_type = PT_LOAD; }),
           Spoil([](Elf64_Ehdr&, Elf64_Phdr& s) { s.p_filesz = 1 << 20; }),
           Spoil([](Elf64_Ehdr&, Elf64_Phdr& s) { s.p_offset = ~std::uint64_t{0} - 3; }),
       }) {
    EXPECT_FALSE(check_shared_object(object(spoil)));
  }
}

}  // namespace
}  // namespace kw::gym
