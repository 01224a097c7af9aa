#include "actors/shards/step_run.h"

#include <chrono>
#include <new>
#include <utility>
#include <variant>

#include "actors/core/guarded.h"
#include "actors/membership/membership.h"

namespace troupe::detail {
namespace {

/// The pause before an owner that refused is asked again.
constexpr std::chrono::milliseconds kAskAgainAfter{50};

/// Returns whether a request fails so on the way, too, or before the owner has looked up the step.
bool says_nothing_of_the_step(ErrorCode refusal) {
  using enum ErrorCode;
  switch (refusal) {
    case timeout:
    case peer_down:
    case peer_unreachable:
    case peer_restarted:
    case shutting_down:
    case resource_exhausted: return true;
    default: return false;
  }
}

}  // namespace

StepRun::StepRun(Parts parts)
    : parts_(std::move(parts)),
      active_(parts_.node->waiting_calls().begin()),
      promise_(parts_.node->future_home()),
      outcome_(promise_.future()) {
  for (const NodeLife& owner : parts_.owners) open_.emplace(owner.name, Open());
}

void StepRun::begin() {
  for (const NodeLife& owner : parts_.owners) ask(owner);
}

StepOutcome StepRun::so_far() const {
  const std::lock_guard lock(mutex_);
  return so_far_;
}

std::map<NodeName, std::optional<Error>> StepRun::open() const {
  std::map<NodeName, std::optional<Error>> open;
  const std::lock_guard lock(mutex_);
  for (const auto& [owner, known] : open_) open.emplace(owner, known.refusal);
  return open;
}

void StepRun::ask(const NodeLife& owner) {
  try {
    parts_.node->request({owner.name, parts_.actor, "step", std::nullopt, parts_.make_message()},
                         [self = shared_from_this(), owner](Result<msg::AnyMessage> answer) {
                           if (answer || answer.error().execution != Execution::never) self->note_may_have_run(owner);
                           self->answered(owner, std::move(answer));
                         });
  } catch (const std::bad_alloc&) {
    // Others may have been asked: this owner is asked again, too.
    Error unasked = failure_of_current_exception("step");
    unasked.execution = Execution::maybe;
    answered(owner, std::move(unasked));
  }
}

void StepRun::answered(const NodeLife& owner, Result<msg::AnyMessage> answer) {
  if (answer && !answer.value().holds<msg::ShardStepped>()) {
    answer = parts_.node->error(ErrorCode::protocol_violation, owner.name, "step",
                                "the answer to a step is another message");
  }
  const Fate fate = answer ? Fate::open : fate_of(owner, answer.error());
  if (!answer && fate == Fate::open) {
    {
      const std::lock_guard lock(mutex_);
      const auto at = open_.find(owner.name);
      if (at == open_.end()) return;
      at->second.refusal = answer.error();
    }
    Clock& clock = parts_.node->clock();
    clock.at(clock.now() + kAskAgainAfter, [self = shared_from_this(), owner] { self->ask(owner); });
    return;
  }
  std::optional<StepOutcome> all;
  {
    const std::lock_guard lock(mutex_);
    if (open_.erase(owner.name) == 0) return;
    if (answer) {
      so_far_.applied.push_back(owner.name);
    } else {
      (fate == Fate::lost ? so_far_.lost : so_far_.not_applied).emplace(owner.name, answer.error());
    }
    if (open_.empty()) all = so_far_;
  }
  if (!all) return;
  parts_.resolved(*all);
  promise_.complete(*std::move(all));
}

void StepRun::note_may_have_run(const NodeLife& owner) {
  const std::lock_guard lock(mutex_);
  if (const auto at = open_.find(owner.name); at != open_.end()) at->second.may_have_run = true;
}

bool StepRun::may_have_run(const NodeLife& owner) const {
  const std::lock_guard lock(mutex_);
  const auto at = open_.find(owner.name);
  return at != open_.end() && at->second.may_have_run;
}

StepRun::Fate StepRun::fate_of(const NodeLife& owner, const Error& error) const {
  const NodeCore& node = *parts_.node;
  const bool is_refused = error.execution == Execution::never && parts_.refusal == Refusal::is_final;
  if (is_refused && !may_have_run(owner)) return Fate::not_applied;
  if (node.stopped() || node.membership().life_of(owner.name) != owner)
    return Fate::lost;  // another life knows nothing
  if (is_refused && !says_nothing_of_the_step(error.code)) return Fate::not_applied;
  if (parts_.refusal == Refusal::is_final) return Fate::open;
  // The owner considers this node dead, and has agreed with the others: the decision is no longer this node's.
  return error.code == ErrorCode::step_not_applied ? Fate::lost : Fate::open;
}

}  // namespace troupe::detail
