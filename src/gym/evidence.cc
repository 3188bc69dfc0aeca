// The fields of evidence, each with its key, and the bundle's file form.
#include "gym/evidence.h"

#include "base/hash.h"
#include "gym/messages/json_fields.h"
#include "os/file.h"

namespace kw::gym {

template <>
inline constexpr auto kLastOf<task::EvidenceLevel> = task::EvidenceLevel::kUntimed;

Status read_json(const Json& value, const std::string& where, Reading /*how*/, EvalOptions& out) {
  // Bundles of earlier versions name the file of a baseline candidate, whose content they lack.
  Json options = value;
  std::optional<task::Candidate> named;
  if (options.is_object() && options.contains("baseline") && options["baseline"].is_string() &&
      !compilation_from_string(options["baseline"].get_ref<const std::string&>())) {
    named.emplace();
    named->name = options["baseline"].get<std::string>();
    options.erase("baseline");
  }
  KW_TRY(out, eval_options_from_json(options, where));
  if (named) out.baseline = *std::move(named);
  return {};
}

template <typename F, Is<EvidenceProblem> M>
void fields(F& f, M& m) {
  f.required("name", m.name);
  f.required("hash", m.hash);
}

template <typename F, Is<EvidenceCandidate> M>
void fields(F& f, M& m) {
  f.required("name", m.name);
  f.required("hash", m.hash);
  f.required("language", m.language);
}

template <typename F, Is<EvidenceCost> M>
void fields(F& f, M& m) {
  f("compile_ms", m.compile_ms);
  f("total_ms", m.total_ms);
}

namespace {

constexpr std::size_t kMaxEvidence = 256ULL << 20U;

// A text that is written only where there is one.
template <typename F, Is<std::string> M>
void text_if_any(F& f, const char* key, M& text) {
  std::optional<std::string> given;
  if (!text.empty()) given = text;
  f(key, given);
  if constexpr (!std::is_const_v<M>) text = given.value_or("");
}

template <typename F, Is<Evidence> M>
void evidence_fields(F& f, M& m) {
  f.required("schema", m.schema);
  f("gym_version", m.gym_version);
  f("request", m.request);
  f.required("target", m.target);
  f.required("options", m.options);
  f.required("problem", m.problem);
  f.required("candidate", m.candidate);
  f("tenant", m.tenant);
  f("trajectory", m.trajectory);
  f("turn", m.turn);
  f.required("workloads", m.workloads);
  f("cost", m.cost);
  text_if_any(f, "quarantined", m.quarantined);
  text_if_any(f, "unsupported", m.unsupported);
  text_if_any(f, "compile_error", m.compile_error);
  f("build_cached", m.build_cached);
  f("evidence_level", m.evidence_level);
  text_if_any(f, "triton_version", m.triton_version);
  text_if_any(f, "compiler", m.made_with.compiler);
  text_if_any(f, "device_compiler", m.made_with.device_compiler);
  text_if_any(f, "torch", m.made_with.torch);
  text_if_any(f, "triton", m.made_with.triton);
}

}  // namespace

Evidence evidence_of(const EvalRequest& request) {
  Evidence evidence;
  evidence.request = request.hash();
  evidence.target = request.options.target;
  evidence.options = request.options;
  evidence.problem = {request.problem.name, request.problem.hash};
  evidence.candidate = {request.candidate.name, request.candidate.hash,
                        std::string(task::to_string(request.candidate.language))};
  evidence.tenant = request.tenant;
  evidence.trajectory = request.trajectory;
  evidence.turn = request.turn;
  return evidence;
}

Json to_json(const Evidence& evidence) {
  FieldWriter writer;
  evidence_fields(writer, evidence);
  return writer.take();
}

Result<Evidence> evidence_from_json(const Json& value) {
  KW_TRY(ObjectReader object, ObjectReader::make(value, "evidence"));
  KW_TRY(std::int64_t schema, object.integer("schema"));
  if (schema != kEvidenceSchema)
    return fail(ErrorCode::kUnsupported, "evidence.schema: {} is not {}", schema, kEvidenceSchema);
  FieldReader reader(std::move(object), Reading::kLenient);
  Evidence evidence;
  evidence_fields(reader, evidence);
  KW_TRY_STATUS(reader.finish());
  return evidence;
}

Result<std::filesystem::path> store_evidence(const std::filesystem::path& folder,
                                             const Json& evidence) {
  std::string body = canonical_json(evidence);
  std::string digest = sha256_hex(body);
  std::filesystem::path path = folder / digest.substr(0, 2) / (digest + ".json");
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return fail_errno(error.value(), "cannot make " + path.parent_path().string());
  KW_TRY_STATUS(
      os::write_file_atomic(path, Json{{"digest", digest}, {"evidence", evidence}}.dump()));
  return path;
}

Result<Json> load_evidence(const std::filesystem::path& path) {
  KW_TRY(std::string text, os::read_file(path, kMaxEvidence));
  auto bundle = parse_json(text);
  if (!bundle) return tl::unexpected(std::move(bundle).error().with_context(path.string()));
  KW_TRY(ObjectReader reader, ObjectReader::make(*bundle, path.string()));
  KW_TRY(std::string digest, reader.string("digest"));
  KW_TRY(const Json* evidence, reader.get("evidence"));
  KW_TRY_STATUS(reader.no_other_keys());
  if (sha256_hex(canonical_json(*evidence)) != digest)
    return fail(ErrorCode::kDataLoss, "{}: the evidence does not match its digest", path.string());
  return *evidence;
}

Result<task::Verdict> rejudge(const std::filesystem::path& path) {
  KW_TRY(Json evidence, load_evidence(path));
  KW_TRY(task::Verdict verdict, verdict_from_evidence(evidence));
  verdict.evidence = path.string();
  return verdict;
}

}  // namespace kw::gym
