// The model service of src/link over a session: takes messages between steps.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "link/channel.h"
#include "link/model_messages.h"
#include "model_session.h"

namespace kw::lm_program {

// Theory of operation. One thread: messages, then a step of the scheduler, then what the step has
// to tell, again and again. It waits for messages when there is nothing to generate, and for
// nothing else: what the front program does not read is kept up to kMaxQueuedBytes, and a request
// that has more to tell then is cancelled.
class ModelService {
 public:
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{16} << 20U;

  ModelService(ModelSession& session, link::Channel& channel);
  ~ModelService();

  // Until the front program is gone.
  Status run();

 private:
  class Answer;
  Status take_messages(bool& front_is_gone);
  Status take(link::FrontMessage message);
  Status start(const link::Generate& generate);
  Result<std::vector<lm::TokenId>> prompt_of(const link::GenerateRequest& request,
                                             link::FailureReason& reason) const;
  Status refuse(link::RequestId id, const Error& error,
                link::FailureReason reason = link::FailureReason::kOther);
  void tell(const link::EngineMessage& message);
  link::Statistics statistics(link::RequestId id) const;
  void drop_ended();

  ModelSession& session_;
  link::Channel& channel_;
  std::size_t longest_token_ = 1;  // in bytes
  std::map<link::RequestId, std::unique_ptr<Answer>> answers_;
  std::vector<link::RequestId> too_slow_, ended_;
};

}  // namespace kw::lm_program
