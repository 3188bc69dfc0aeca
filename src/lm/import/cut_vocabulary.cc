// Why kept tokens merge as before: the merges that make a token are made within its own text, in
// the order of their ranks. They are all kept, and what is left out of the merges was not made
// there.
#include "lm/import/cut_vocabulary.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "base/text.h"
#include "lm/tokenizer/byte_level.h"
#include "lm/tokenizer/chat_template.h"
#include "lm/tokenizer/unicode.h"
#include "text/chat_message.h"

namespace kw::lm {
namespace {

namespace fs = std::filesystem;

// Marks the tokens of every text of a data set.
class UsedTokens {
 public:
  explicit UsedTokens(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer), chat_(ChatTemplate::of(tokenizer)), used_(tokenizer.size()) {}

  Status add_row(const Json& row) {
    if (row.is_object() && row.contains("messages")) {
      KW_TRY(auto messages,
             text::chat_messages_from_json(row["messages"], "messages", text::OtherKeys::kIgnored));
      for (ChatEnd end : {ChatEnd::kNothing, ChatEnd::kGenerationPrompt}) {
        KW_TRY(std::string text, chat_.render(messages, {.end = end}));
        KW_TRY_STATUS(add_text(text));
      }
    }
    return add_texts(row, 0);
  }
  const std::vector<bool>& used() const { return used_; }

 private:
  Status add_texts(const Json& value, int depth) {
    constexpr int kMaxDepth = 20;
    if (value.is_string()) return add_text(value.get_ref<const std::string&>());
    if (!value.is_structured()) return {};
    if (depth > kMaxDepth) return fail(ErrorCode::kInvalidArgument, "nested too deeply");
    for (const Json& inner : value) KW_TRY_STATUS(add_texts(inner, depth + 1));
    return {};
  }
  Status add_text(std::string_view text) {
    KW_TRY(auto ids, tokenizer_.encode(text));
    for (TokenId id : ids) used_[static_cast<std::size_t>(id)] = true;
    return {};
  }

  const Tokenizer& tokenizer_;
  ChatTemplate chat_;
  std::vector<bool> used_;
};

Result<std::size_t> read_rows(const fs::path& data, UsedTokens& used) {
  std::ifstream file(data);
  if (!file) return fail(ErrorCode::kNotFound, "{}: cannot be read", data.string());
  std::size_t line = 0, rows = 0;
  for (std::string text; std::getline(file, text);) {
    ++line;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto row = parse_json(text);
    Status added = row ? used.add_row(*row) : Status(tl::unexpected(row.error()));
    if (!added)
      return tl::unexpected(
          std::move(added).error().with_context(fmt::format("{}:{}", data.string(), line)));
    ++rows;
  }
  if (rows == 0) return fail(ErrorCode::kInvalidArgument, "{}: has no rows", data.string());
  return rows;
}

using Pair = std::pair<std::string, std::string>;

Result<std::vector<Pair>> pairs_of(const Json& merges) {
  std::vector<Pair> out;
  for (const Json& merge : merges) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      out.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const std::size_t space = text.find(' ');
    if (space == std::string::npos)
      return fail(ErrorCode::kInvalidArgument, "merges[{}]: expected two tokens", out.size());
    out.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
  return out;
}

// Adds what merges into `token`, its bytes among them.
void add_parts(const std::string& token, const std::map<Pair, std::size_t>& ranks,
               std::set<std::string>& kept) {
  std::vector<std::string> parts;
  for (std::string_view rest = token; !rest.empty();) {
    parts.emplace_back(rest.substr(0, read_utf8(rest).length));
    rest.remove_prefix(parts.back().size());
  }
  while (true) {
    kept.insert(parts.begin(), parts.end());
    std::size_t best = parts.size(), best_rank = SIZE_MAX;
    for (std::size_t at = 0; at + 1 < parts.size(); ++at) {
      auto found = ranks.find({parts[at], parts[at + 1]});
      if (found != ranks.end() && found->second < best_rank) {
        best = at;
        best_rank = found->second;
      }
    }
    if (best == parts.size()) return;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

// The new vocabulary: old ids in the order of the new ones, -1 for a byte that had no token.
struct NewVocabulary {
  std::vector<std::int64_t> old_ids;
  std::map<std::int64_t, std::int64_t> new_ids;  // by old id
  std::size_t bytes_added = 0;
};

NewVocabulary renumber(const std::set<std::string>& kept, std::map<std::string, std::int64_t>& ids,
                       Json& vocab) {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  NewVocabulary out;
  for (const std::string& token : kept) {
    if (auto known = ids.find(token); known != ids.end()) sorted.emplace_back(known->second, token);
  }
  std::sort(sorted.begin(), sorted.end());
  Json::object_t tokens;
  for (const auto& [id, token] : sorted) {
    out.new_ids[id] = static_cast<std::int64_t>(tokens.size());
    out.old_ids.push_back(id);
    tokens.emplace_back(token, tokens.size());
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string text = to_byte_level(std::string(1, static_cast<char>(byte)));
    if (ids.count(text) > 0) continue;
    out.old_ids.push_back(-1);
    tokens.emplace_back(std::move(text), tokens.size());
    ++out.bytes_added;
  }
  vocab = Json(std::move(tokens));
  return out;
}

void renumber_tokenizer(Json& tokenizer, const NewVocabulary& vocabulary) {
  for (Json& token : tokenizer["added_tokens"])
    token["id"] = vocabulary.new_ids.at(token["id"].get<std::int64_t>());
  Json& processor = tokenizer["post_processor"];
  if (!processor.contains("special_tokens")) return;
  for (auto& [name, token] : processor["special_tokens"].items()) {
    for (Json& id : token["ids"]) id = vocabulary.new_ids.at(id.get<std::int64_t>());
  }
}

// Rows of the embedding or the head.
void copy_rows(const Matrix& from, const Matrix& to, const std::vector<std::int64_t>& old_ids) {
  std::vector<float> row(static_cast<std::size_t>(from.columns));
  std::vector<double> sum(row.size());
  for (std::int64_t at = 0; at < from.rows; ++at) {
    decode_row(from, at, row);
    for (std::size_t column = 0; column < row.size(); ++column)
      sum[column] += static_cast<double>(row[column]);
  }
  std::vector<float> mean(row.size());
  for (std::size_t column = 0; column < row.size(); ++column)
    mean[column] = static_cast<float>(sum[column] / static_cast<double>(from.rows));
  for (std::size_t at = 0; at < old_ids.size(); ++at) {
    if (old_ids[at] >= 0) decode_row(from, old_ids[at], row);
    encode_row(old_ids[at] >= 0 ? row : mean, to, static_cast<std::int64_t>(at));
  }
}

Result<Parameters> cut_parameters(const Parameters& from, const NewVocabulary& vocabulary) {
  ModelConfig config = from.config();
  auto renumbered = [&](std::int64_t& id) {
    auto found = vocabulary.new_ids.find(id);
    if (found != vocabulary.new_ids.end()) id = found->second;
  };
  config.vocabulary = static_cast<std::int64_t>(vocabulary.old_ids.size());
  if (config.bos) renumbered(*config.bos);
  for (std::int64_t& id : config.eos) renumbered(id);
  KW_TRY(Parameters to, Parameters::make(config, from.type()));
  const auto sources = from.named(), targets = to.named();
  std::vector<float> row;
  for (std::size_t at = 0; at < targets.size(); ++at) {
    const NamedParameter &source = sources[at], &target = targets[at];
    if (!target.is_matrix()) {
      std::copy(source.vector.begin(), source.vector.end(), target.vector.begin());
    } else if (source.matrix.rows != target.matrix.rows) {
      copy_rows(source.matrix, target.matrix, vocabulary.old_ids);
    } else {
      row.resize(static_cast<std::size_t>(source.matrix.columns));
      for (std::int64_t r = 0; r < source.matrix.rows; ++r) {
        decode_row(source.matrix, r, row);
        encode_row(row, target.matrix, r);
      }
    }
  }
  return to;
}

}  // namespace

Result<CutReport> cut_vocabulary(ImportedModel& model, const fs::path& data) {
  Json tokenizer_json = model.tokenizer.tokenizer;
  Json& bpe = tokenizer_json["model"];
  KW_TRY(Tokenizer tokenizer,
         Tokenizer::from_json(model.tokenizer.tokenizer, &model.tokenizer.config));
  UsedTokens used(tokenizer);
  CutReport report;
  KW_TRY(report.rows, read_rows(data, used));

  std::map<std::string, std::int64_t> ids;
  for (const auto& [token, id] : bpe["vocab"].items()) ids[token] = id.get<std::int64_t>();
  KW_TRY(const std::vector<Pair> merges, pairs_of(bpe["merges"]));
  std::map<Pair, std::size_t> ranks;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) ranks.emplace(merges[rank], rank);
  std::set<std::string> kept;
  for (const Json& token : tokenizer_json["added_tokens"]) {
    kept.insert(token["content"].get<std::string>());
    ids[token["content"].get<std::string>()] = token["id"].get<std::int64_t>();
  }
  for (unsigned byte = 0; byte < 256; ++byte)
    kept.insert(to_byte_level(std::string(1, static_cast<char>(byte))));
  for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    const Json token = model.tokenizer.config.value(name, Json());
    if (token.is_string()) kept.insert(token.get<std::string>());
  }
  const std::set<std::string> whole = kept;
  for (const auto& [token, id] : ids) {
    if (!used.used()[static_cast<std::size_t>(id)] || whole.count(token) > 0) continue;
    add_parts(token, ranks, kept);
    kept.insert(token);
  }

  report.tokens_before = ids.size();
  const NewVocabulary vocabulary = renumber(kept, ids, bpe["vocab"]);
  report.tokens_after = vocabulary.old_ids.size();
  report.bytes_added = vocabulary.bytes_added;
  Json left = Json::array();
  for (const auto& [first, second] : merges) {
    if (kept.count(first) > 0 && kept.count(second) > 0 && kept.count(first + second) > 0)
      left.push_back(Json::array({first, second}));
  }
  bpe["merges"] = std::move(left);
  renumber_tokenizer(tokenizer_json, vocabulary);
  KW_TRY(Parameters parameters, cut_parameters(model.parameters, vocabulary));
  model.parameters = std::move(parameters);
  model.tokenizer.tokenizer = std::move(tokenizer_json);
  return report;
}

}  // namespace kw::lm
