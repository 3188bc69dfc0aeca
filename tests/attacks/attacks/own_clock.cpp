// Puts a clock that stands still into every place that calls clock_gettime, and is slow.
// expect: passed
// max_speedup: 0.7
// class: T08
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstring>

static int frozen_clock(clockid_t, timespec* time) {
  *time = {};
  return 0;
}

// Overwrites the slots of clock_gettime in an object's global offset table.
static int patch(dl_phdr_info* info, std::size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const char* names = nullptr;
    const ElfW(Sym)* symbols = nullptr;
    const ElfW(Rela)* slots = nullptr;
    std::size_t bytes = 0;
    auto* entry = reinterpret_cast<ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_JMPREL) slots = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
    }
    if (names == nullptr || symbols == nullptr || slots == nullptr) continue;
    if (reinterpret_cast<uintptr_t>(names) < info->dlpi_addr) continue;
    for (std::size_t k = 0; k < bytes / sizeof(*slots); ++k) {
      const char* name = names + symbols[ELF64_R_SYM(slots[k].r_info)].st_name;
      if (strcmp(name, "clock_gettime") != 0) continue;
      uintptr_t slot = info->dlpi_addr + slots[k].r_offset;
      if (mprotect(reinterpret_cast<void*>(slot & ~uintptr_t{4095}), 8192, PROT_READ | PROT_WRITE) == 0)
        *reinterpret_cast<void**>(slot) = reinterpret_cast<void*>(&frozen_clock);
    }
  }
  return 0;
}

extern "C" void run(const float* x, float* y) {
  static int patched = dl_iterate_phdr(patch, nullptr);
  (void)patched;
  usleep(4000);
  for (int64_t i = 0; i < N; ++i) y[i] = x[i] * x[i] + x[i];
}
