#include "actors/dist_optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "actors/node_core.h"
#include "actors/update_rule.h"

namespace troupe {
namespace {

using detail::NodeCore;

struct Answer {
  NodeName owner;
  Result<msg::AnyMessage> message;
};

/// Asks all owners at once and waits for all: every request ends.
template <class MakeMessage>
std::vector<Answer> ask_all(const Scope& scope, const std::vector<NodeName>& owners, const std::string& actor,
                            const std::string& operation, MakeMessage make_message) {
  NodeCore& node = *scope.state().node;
  std::vector<Future<msg::AnyMessage>> futures;
  for (const NodeName& owner : owners) {
    const Promise<msg::AnyMessage> promise(node.future_home());
    futures.push_back(promise.future());
    node.request({owner, actor, operation, due_of(scope.state()), make_message(owner)},
                 [promise](Result<msg::AnyMessage> answer) { promise.complete(std::move(answer)); });
  }
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    futures[i].state().wait();
    answers.push_back({owners[i], futures[i].state().result()});
  }
  return answers;
}

const Error* first_error(const std::vector<Answer>& answers) {
  const auto failed = std::ranges::find_if(answers, [](const Answer& answer) { return !answer.message.ok(); });
  return failed == answers.end() ? nullptr : &failed->message.error();
}

std::vector<NodeName> owners_that(bool succeeded, const std::vector<Answer>& answers) {
  std::vector<NodeName> owners;
  for (const Answer& answer : answers) {
    if (answer.message.ok() == succeeded) owners.push_back(answer.owner);
  }
  return owners;
}

[[noreturn]] void fail_step(ErrorCode code, Execution execution, const Error& cause, std::string message) {
  Error error;
  error.code = code;
  error.peer = cause.peer;
  error.incarnation = cause.incarnation;
  error.operation = "step";
  error.execution = execution;
  error.cause = cause.text();
  error.message = std::move(message);
  throw RemoteError(std::move(error));
}

/// The context's own end says more than that the step was not applied.
[[noreturn]] void fail_unapplied(const Error& cause) {
  if (cause.code == ErrorCode::context_aborted) throw RemoteError(cause);
  fail_step(ErrorCode::step_not_applied, Execution::never, cause, "no parameter was changed");
}

}  // namespace

struct DistOptimizer::State {
  State(std::weak_ptr<NodeCore> n, OptimizerId i, StepMode m) : node(std::move(n)), id(std::move(i)), mode(m) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const auto core = node.lock();
    if (!core) return;
    for (const NodeName& owner : owners) core->notify(owner, actor(), msg::ShardReleased{id});
  }

  [[nodiscard]] std::string actor() const { return "shard/" + id.text(); }

  void step_together(const Scope& scope, const StepId& step, const ContextId& context) const;
  void step_each(const Scope& scope, const StepId& step, const ContextId& context) const;

  const std::weak_ptr<NodeCore> node;
  const OptimizerId id;
  const StepMode mode;
  std::vector<RRef<Variable>> parameters;  // keeps the values
  std::vector<NodeName> owners;
};

DistOptimizer::DistOptimizer(const Scope& scope, const optim::RuleOptions& options,
                             std::vector<RRef<Variable>> parameters, StepMode mode) {
  if (parameters.empty()) throw std::invalid_argument("[DistOptimizer] there are no parameters");
  const std::shared_ptr<NodeCore>& node = scope.state().node;
  state_ = std::make_shared<State>(node, node->next_id<OptimizerId>(), mode);
  std::map<NodeName, std::vector<RRefId>> by_owner;
  for (const RRef<Variable>& parameter : parameters) by_owner[parameter.owner()].push_back(parameter.id());
  state_->parameters = std::move(parameters);
  for (const auto& [owner, ids] : by_owner) state_->owners.push_back(owner);

  const detail::UpdateRule rule = detail::rule_of(options);
  const auto answers = ask_all(scope, state_->owners, state_->actor(), "create optimizer", [&](const NodeName& owner) {
    return msg::ShardCreate{state_->id, rule.name, rule.options, by_owner.at(owner)};
  });
  if (const Error* error = first_error(answers)) throw RemoteError(*error);
}

void DistOptimizer::step(const Scope& scope) const {
  if (!scope.state().context) {
    throw std::logic_error("[DistOptimizer] the scope has no autograd context: step in the DistContext of the backward pass");
  }
  const auto step = scope.state().node->next_id<StepId>();
  // Alone, an owner takes the step or does not: nothing is gained by asking twice.
  const bool together = state_->mode == StepMode::atomic && state_->owners.size() > 1;
  (*state_.*(together ? &State::step_together : &State::step_each))(scope, step, *scope.state().context);
}

void DistOptimizer::State::step_together(const Scope& scope, const StepId& step, const ContextId& context) const {
  const auto prepared = ask_all(scope, owners, actor(), "step", [&](const NodeName&) {
    return msg::ShardPrepare{id, step, context};
  });
  if (const Error* error = first_error(prepared)) {
    for (const NodeName& owner : owners) scope.state().node->notify(owner, actor(), msg::ShardAbort{id, step});
    fail_unapplied(*error);
  }
  const auto committed = ask_all(scope, owners, actor(), "step", [&](const NodeName&) { return msg::ShardCommit{id, step}; });
  if (const Error* error = first_error(committed)) {
    fail_step(ErrorCode::step_unknown, Execution::maybe, *error,
              fmt::format("not known from {}, applied everywhere else", fmt::join(owners_that(false, committed), ", ")));
  }
}

void DistOptimizer::State::step_each(const Scope& scope, const StepId& step, const ContextId& context) const {
  const auto answers = ask_all(scope, owners, actor(), "step", [&](const NodeName&) {
    return msg::ShardStep{id, step, context};
  });
  const Error* error = first_error(answers);
  if (error == nullptr) return;
  const bool none = std::ranges::all_of(answers, [](const Answer& answer) {
    return !answer.message.ok() && answer.message.error().execution == Execution::never;
  });
  if (none) fail_unapplied(*error);
  fail_step(ErrorCode::step_unknown, Execution::maybe, *error,
            fmt::format("failed on {}, applied everywhere else", fmt::join(owners_that(false, answers), ", ")));
}

}  // namespace troupe
