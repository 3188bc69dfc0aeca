// Answers JSON requests, one a line, for cross_check.py and bench/similarity.py. Texts are in hex,
// so that any bytes can be asked about.
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

#include <fmt/core.h>

#include "base/json.h"
#include "reward/execution.h"
#include "reward/format.h"
#include "reward/similarity.h"

namespace kw::reward {
namespace {

std::string bytes_of_hex(const std::string& hex) {
  std::string out;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    out.push_back(static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16)));
  return out;
}

std::string bytes(const Json& request, const char* key) {
  return bytes_of_hex(request.at(key).get<std::string>());
}

Json similarity(const Json& request) {
  std::string a = bytes(request, "a"), b = bytes(request, "b");
  Json out{{"ratio", similarity_ratio(a, b)}, {"ms", Json::array()}};
  for (int round = 0; round < request.value("rounds", 0); ++round) {
    auto start = std::chrono::steady_clock::now();
    double ratio = similarity_ratio(a, b);
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (ratio != out["ratio"].get<double>()) throw std::runtime_error("another ratio");
    out["ms"].push_back(took.count());
  }
  return out;
}

Json format(const Json& request) {
  std::string completion = bytes(request, "completion"), end = bytes(request, "end_of_text");
  Format found = format_reward(completion, end);
  Json out{{"reward", found.reward}, {"code", nullptr}};
  if (found.code) {
    out["code"] = std::string();
    for (char c : *found.code)
      out["code"].get_ref<std::string&>() += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  out["sum"] = format_and_similarity_reward(completion, bytes(request, "oracle"), end);
  return out;
}

Finding finding_from(const Json& request) {
  if (request.at("outcome").is_null()) return no_code(false);
  task::Verdict verdict;
  auto outcome = task::outcome_from_string(request["outcome"].get<std::string>());
  if (!outcome) throw std::runtime_error("unknown outcome");
  verdict.outcome = *outcome;
  if (const Json& s = request.at("speedup"); !s.is_null()) verdict.speedup = {s[0], s[1], s[2]};
  if (const Json& c = request.at("coverage"); !c.is_null()) verdict.coverage = {c[0], c[1]};
  return finding_of(verdict);
}

Json number(const std::optional<Score>& score) {
  return score ? Json(score->total()) : Json(nullptr);
}

Json execution(const Json& request) {
  Finding finding = finding_from(request);
  auto estimate = request.at("low").get<bool>() ? Estimate::kLow : Estimate::kMedian;
  auto kind = request.at("by_count").get<bool>() ? CoverageKind::kCount : CoverageKind::kTime;
  const Json& w = request.at("weights");
  StagedWeights staged{w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], estimate};
  KevinWeights kevin{w[0], w[6].get<double>(), w[8], estimate};
  KernelGymWeights gym{w[0], w[1], w[2], w[3], w[6], w[8], kind, estimate};
  Rejection rejection{w[9], w[10], std::nullopt, kind};
  return {{"staged", number(staged_reward(finding, request.at("names"), staged))},
          {"staged_default", number(staged_reward(finding, request.at("names")))},
          {"kevin", number(kevin_reward(finding, kevin))},
          {"kevin_default", number(kevin_reward(finding))},
          {"kernelgym", number(kernelgym_reward(finding, gym))},
          {"kernelgym_default", number(kernelgym_reward(finding))},
          {"threshold", number(kernelgym_threshold_reward(finding, w[7], gym))},
          {"steps", number(kernelgym_step_reward(finding, estimate))},
          {"keep", keep_probability(finding, rejection)}};
}

Json answer(const Json& request) {
  std::string what = request.at("do");
  if (what == "similarity") return similarity(request);
  return what == "format" ? format(request) : execution(request);
}

int serve() {
  for (std::string line; std::getline(std::cin, line);) {
    auto request = parse_json(line);
    if (!request) {
      fmt::print(stderr, "reward_tool: {}\n", request.error().message());
      return 1;
    }
    std::cout << answer(*request).dump() << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace kw::reward

int main() {
  try {
    return kw::reward::serve();
  } catch (const std::exception& error) {
    fmt::print(stderr, "reward_tool: {}\n", error.what());
    return 1;
  }
}
