#include "search/messages.h"

namespace kw::search {
namespace {

Prompt from_chat(prompt::ChatPrompt chat) {
  Prompt out;
  out.template_id = std::move(chat.template_id);
  for (prompt::Message& message : chat.messages)
    out.messages.push_back({std::move(message.role), std::move(message.content)});
  return out;
}

}  // namespace

Result<Prompt> base_prompt(const Asking& asking) {
  KW_TRY(prompt::ChatPrompt chat,
         prompt::chat_prompt(asking.problem, asking.signature, asking.language, asking.chosen,
                             asking.options));
  return from_chat(std::move(chat));
}

Result<Prompt> refine_prompt(const Asking& asking, const Parent& parent) {
  prompt::Refinement refinement;
  if (const task::SourceFile* source = parent.candidate.entry_source())
    refinement.previous.code = source->content;
  refinement.previous.verdict = parent.verdict;
  refinement.best = parent.best;
  KW_TRY(prompt::ChatPrompt chat,
         prompt::refinement_prompt(asking.problem, asking.signature, asking.language, asking.chosen,
                                   refinement, asking.options));
  return from_chat(std::move(chat));
}

std::string messages_text(const std::vector<link::Message>& messages) {
  Json out = Json::array();
  for (const link::Message& message : messages)
    out.push_back({{"role", message.role}, {"content", message.content}});
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<link::Message>> messages_from_text(const std::string& text) {
  KW_TRY(Json value, parse_json(text));
  std::vector<link::Message> out;
  for (const Json& entry : value) {
    KW_TRY(ObjectReader reader, ObjectReader::make(entry, "messages"));
    link::Message message;
    KW_TRY(message.role, reader.string("role"));
    KW_TRY(message.content, reader.string("content"));
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace kw::search
