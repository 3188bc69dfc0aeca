// Making of the two pages.
#include "gym/checker/pages.h"

namespace kw::gym {

Result<Pages> Pages::make() {
  Pages pages;
  KW_TRY(pages.command_fd, os::make_memory_file("command", sizeof(CommandPage)));
  KW_TRY(pages.command_mapping,
         os::Mapping::shared(pages.command_fd.get(), sizeof(CommandPage), true));
  KW_TRY_STATUS(os::seal_against_new_writers(pages.command_fd.get()));
  KW_TRY(pages.reply_fd, os::make_memory_file("reply", sizeof(ReplyPage)));
  KW_TRY(pages.reply_mapping, os::Mapping::shared(pages.reply_fd.get(), sizeof(ReplyPage), true));
  KW_TRY_STATUS(os::seal_seals(pages.reply_fd.get()));
  return pages;
}

}  // namespace kw::gym
