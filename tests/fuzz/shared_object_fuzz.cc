// The ELF check of artefacts: an object that passes has its headers inside the file.
#include <cstring>

#include <elf.h>

#include "fuzz.h"
#include "gym/compile/shared_object.h"

namespace kw::fuzz {

KW_FUZZ(shared_object, text) {
  if (!accepted(gym::check_shared_object(text))) return;
  Elf64_Ehdr header;
  KW_CHECK(text.size() >= sizeof header);
  std::memcpy(&header, text.data(), sizeof header);
  KW_CHECK(header.e_type == ET_DYN && header.e_phnum > 0);
  KW_CHECK(header.e_phoff <= text.size());
  KW_CHECK((text.size() - header.e_phoff) / sizeof(Elf64_Phdr) >= header.e_phnum);
  KW_CHECK(gym::check_shared_object(std::string(text) + "behind"));
}

}  // namespace kw::fuzz
