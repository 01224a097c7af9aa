#include "actors/dist_optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/shards/step_run.h"
#include "actors/shards/update_rule.h"
#include "optim/clip.h"
#include "tensor/ops/global_norm.h"

namespace troupe {
namespace {

using detail::NodeCore;
using detail::StepRun;

struct Answer {
  NodeName owner;
  Result<msg::AnyMessage> message;
};

/// Sends a request to each owner and waits for all answers. Every request ends.
template <class MakeMessage>
std::vector<Answer> ask_all(NodeCore& node, std::optional<TimePoint> due, const std::vector<NodeLife>& owners,
                            const std::string& actor, const std::string& operation, MakeMessage make_message) {
  std::vector<Future<msg::AnyMessage>> futures;
  for (const NodeLife& owner : owners) {
    const Promise<msg::AnyMessage> promise(node.future_home());
    futures.push_back(promise.future());
    node.request({owner.name, actor, operation, due, make_message(owner.name)},
                 [promise](Result<msg::AnyMessage> answer) { promise.complete(std::move(answer)); });
  }
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    futures[i].state().wait();
    answers.push_back({owners[i].name, futures[i].state().result()});
  }
  return answers;
}

const Error* first_error(const std::vector<Answer>& answers) {
  const auto failed = std::ranges::find_if(answers, [](const Answer& answer) { return !answer.message.ok(); });
  return failed == answers.end() ? nullptr : &failed->message.error();
}

Error step_error(ErrorCode code, Execution execution, const Error& cause, std::string message) {
  Error error;
  error.code = code;
  error.peer = cause.peer;
  error.incarnation = cause.incarnation;
  error.operation = "step";
  error.execution = execution;
  error.cause = cause.text();
  error.message = std::move(message);
  return error;
}

/// Throws `cause` as step_not_applied, or the context's own error, which says more.
[[noreturn]] void fail_unapplied(const Error& cause) {
  if (cause.code == ErrorCode::context_aborted) throw RemoteError(cause);
  throw RemoteError(step_error(ErrorCode::step_not_applied, Execution::never, cause, "no parameter was changed"));
}

/// Returns the error of the last attempt at each owner.
std::map<NodeName, Error> reasons(const std::map<NodeName, std::optional<Error>>& open, const NodeCore& node) {
  std::map<NodeName, Error> reasons;
  for (const auto& [owner, error] : open) {
    reasons.emplace(owner,
                    error ? *error : node.error(ErrorCode::timeout, owner, "step", "no answer within the deadline"));
  }
  return reasons;
}

void require_context(const Scope& scope) {
  if (scope.state().context) return;
  throw std::logic_error(
      "[DistOptimizer] the scope has no autograd context: step in the DistContext of the backward pass");
}

std::string names_of(const std::map<NodeName, Error>& owners) {
  std::vector<NodeName> names;
  for (const auto& [owner, error] : owners) names.push_back(owner);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

struct DistOptimizer::State : std::enable_shared_from_this<State> {
  State(std::weak_ptr<NodeCore> n, OptimizerId i, StepMode m) : node(std::move(n)), id(std::move(i)), mode(m) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    const auto core = node.lock();
    if (!core) return;
    for (const NodeLife& owner : owners) core->notify(owner.name, actor(), msg::ShardReleased{id, settled()});
  }

  [[nodiscard]] std::string actor() const { return "shard/" + id.text(); }

  /// Registers a step without an outcome yet. Throws if no further step is possible.
  [[nodiscard]] StepId begin_step(NodeCore& core);
  /// Every owner has reported the step's outcome, or knows it without a report.
  void end_step(const StepId& step);
  /// An owner that may have been the first to apply it is gone: the others still need the outcome, and no step can
  /// follow.
  void lost(const Error& why);
  /// Returns the serial below which all outcomes are known.
  [[nodiscard]] std::uint64_t settled() const;

  void prepare(NodeCore& core, std::optional<TimePoint> due, const StepId& step, const ContextId& context,
               const msg::StepSettings& settings);
  /// Sends `make_message` to every owner and waits until `due` for the outcome.
  template <class MakeMessage>
  void carry_out(NodeCore& core, std::optional<TimePoint> due, const StepId& step, StepRun::Refusal refusal,
                 MakeMessage make_message);
  [[noreturn]] void fail_unknown(const StepId& step, const std::map<NodeName, Error>& open,
                                 const Future<StepOutcome>& outcome, std::string_view what);
  [[nodiscard]] Future<StepOutcome> outcome(const StepId& step) const;

  const std::weak_ptr<NodeCore> node;
  const OptimizerId id;
  const StepMode mode;
  std::vector<RRef<Variable>> parameters;  // keeps the values
  std::vector<NodeLife> owners;            // by name

 private:
  mutable std::mutex mutex_;
  std::set<std::uint64_t> unresolved_;                          // guarded by mutex_
  std::uint64_t last_ = 0;                                      // guarded by mutex_; serial of the latest step
  std::optional<Error> lost_;                                   // guarded by mutex_
  std::deque<std::pair<StepId, Future<StepOutcome>>> unknown_;  // guarded by mutex_; the oldest first
};

StepId DistOptimizer::State::begin_step(NodeCore& core) {
  const std::lock_guard lock(mutex_);
  if (lost_) fail_unapplied(*lost_);
  if (unresolved_.size() >= kUnresolvedMax) {
    Error error = core.error(ErrorCode::resource_exhausted, core.name(), "step",
                             fmt::format("{} steps of this optimizer have no outcome", unresolved_.size()));
    error.execution = Execution::never;
    throw RemoteError(std::move(error));
  }
  auto step = core.next_id<StepId>();
  last_ = step.serial;
  unresolved_.insert(step.serial);
  return step;
}

void DistOptimizer::State::end_step(const StepId& step) {
  const std::lock_guard lock(mutex_);
  unresolved_.erase(step.serial);
}

void DistOptimizer::State::lost(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = why;
}

std::uint64_t DistOptimizer::State::settled() const {
  const std::lock_guard lock(mutex_);
  return unresolved_.empty() ? last_ + 1 : *unresolved_.begin();
}

DistOptimizer::DistOptimizer(const Scope& scope, const optim::RuleOptions& options,
                             std::vector<RRef<Variable>> parameters, StepMode mode) {
  if (parameters.empty()) throw std::invalid_argument("[DistOptimizer] there are no parameters");
  const std::shared_ptr<NodeCore>& node = scope.state().node;
  state_ = std::make_shared<State>(node, node->next_id<OptimizerId>(), mode);
  std::map<NodeName, std::vector<RRefId>> by_owner;
  for (const RRef<Variable>& parameter : parameters) by_owner[parameter.owner()].push_back(parameter.id());
  state_->parameters = std::move(parameters);
  for (const auto& [owner, ids] : by_owner) state_->owners.push_back({owner, {}});

  const detail::UpdateRule rule = detail::rule_of(options);
  const auto answers = ask_all(*node, due_of(scope.state()), state_->owners, state_->actor(), "create optimizer",
                               [&](const NodeName& owner) {
                                 return msg::ShardCreate{state_->id, rule.name, rule.options, by_owner.at(owner)};
                               });
  if (const Error* error = first_error(answers)) throw RemoteError(*error);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto* created = std::get_if<msg::ShardCreated>(&answers[i].message.value());
    if (created == nullptr) {
      throw RemoteError(node->error(ErrorCode::protocol_violation, answers[i].owner, "create optimizer",
                                    "the answer to ShardCreate is another message"));
    }
    state_->owners[i].incarnation = created->incarnation;
  }
}

double DistOptimizer::gradient_norm(const Scope& scope) const {
  require_context(scope);
  std::map<NodeName, std::vector<RRef<Variable>>> by_owner;
  for (const RRef<Variable>& parameter : state_->parameters) by_owner[parameter.owner()].push_back(parameter);
  std::map<NodeName, Future<std::vector<double>>> asked;
  for (const auto& [owner, leaves] : by_owner) {
    asked.emplace(owner, scope.rpc_async(owner, &detail::gradient_norms, leaves));
  }
  std::map<NodeName, std::deque<double>> norms;
  for (const auto& [owner, answer] : asked) {
    const std::vector<double> all = answer.get();
    if (all.size() != by_owner.at(owner).size()) {
      throw RemoteError(scope.state().node->error(ErrorCode::protocol_violation, owner, "gradient_norm",
                                                  "the answer has another number of parameters"));
    }
    norms[owner].assign(all.begin(), all.end());
  }
  double sum = 0;
  for (const RRef<Variable>& parameter : state_->parameters) {
    std::deque<double>& next = norms.at(parameter.owner());
    sum += next.front() * next.front();
    next.pop_front();
  }
  return std::sqrt(sum);
}

void DistOptimizer::step(const Scope& scope, const DistStepOptions& options) const {
  require_context(scope);
  msg::StepSettings settings{options.lr, options.gradient_scale, options.gradient_limit};
  if (options.max_norm) {
    const double norm = std::abs(options.gradient_scale) * gradient_norm(scope);
    settings.gradient_scale *= optim::clip_scale(norm, *options.max_norm);
  }
  State& state = *state_;
  const ContextId& context = *scope.state().context;
  NodeCore& core = *scope.state().node;
  const auto due = due_of(scope.state());  // of the whole step
  const StepId step = state.begin_step(core);
  // A single owner takes the step or does not: a second phase gains nothing.
  if (state.mode == StepMode::atomic && state.owners.size() > 1) {
    state.prepare(core, due, step, context, settings);
    state.carry_out(core, due, step, StepRun::Refusal::is_repeated, [&state, step] {
      return msg::ShardCommit{state.id, step, state.settled()};
    });
  } else {
    state.carry_out(core, due, step, StepRun::Refusal::is_final, [&state, step, context, settings] {
      return msg::ShardStep{state.id, step, context, state.settled(), settings};
    });
  }
}

Future<StepOutcome> DistOptimizer::outcome(const StepId& step) const { return state_->outcome(step); }

void DistOptimizer::State::prepare(NodeCore& core, std::optional<TimePoint> due, const StepId& step,
                                   const ContextId& context, const msg::StepSettings& settings) {
  std::vector<msg::StepOwner> all;
  for (const NodeLife& owner : owners) all.push_back({owner.name, owner.incarnation});
  const auto prepared = ask_all(core, due, owners, actor(), "step", [&](const NodeName&) {
    return msg::ShardPrepare{id, step, context, all, settled(), settings};
  });
  const Error* error = first_error(prepared);
  if (error == nullptr) return;
  for (const NodeLife& owner : owners) core.notify(owner.name, actor(), msg::ShardAbort{id, step});
  end_step(step);
  fail_unapplied(*error);
}

template <class MakeMessage>
void DistOptimizer::State::carry_out(NodeCore& core, std::optional<TimePoint> due, const StepId& step,
                                     StepRun::Refusal refusal, MakeMessage make_message) {
  const auto run = std::make_shared<StepRun>(
      StepRun::Parts{core.shared_from_this(), actor(), owners,
                     [self = shared_from_this(), make_message] { return msg::AnyMessage(make_message()); }, refusal,
                     [self = shared_from_this(), step, refusal](const StepOutcome& all) {
                       const bool others_may_ask = refusal == StepRun::Refusal::is_repeated && !all.lost.empty();
                       others_may_ask ? self->lost(all.lost.begin()->second) : self->end_step(step);
                     }});
  run->begin();
  const Future<StepOutcome> outcome = run->outcome();
  if (due && !outcome.get_for(*due - core.clock().now())) {
    const auto open = reasons(run->open(), core);
    if (!open.empty()) fail_unknown(step, open, outcome, "not known from");
  }
  const StepOutcome& all = (outcome.state().wait(), outcome.state().result().value());
  if (!all.lost.empty()) fail_unknown(step, all.lost, outcome, "not known from");
  if (all.not_applied.empty()) return;
  if (all.applied.empty()) fail_unapplied(all.not_applied.begin()->second);
  fail_unknown(step, all.not_applied, outcome, "failed on");
}

void DistOptimizer::State::fail_unknown(const StepId& step, const std::map<NodeName, Error>& open,
                                        const Future<StepOutcome>& outcome, std::string_view what) {
  {
    const std::lock_guard lock(mutex_);
    unknown_.emplace_back(step, outcome);
    if (unknown_.size() > kUnknownMax) unknown_.pop_front();
  }
  throw StepUnknown(step_error(ErrorCode::step_unknown, Execution::maybe, open.begin()->second,
                               fmt::format("{} {}, applied everywhere else", what, names_of(open))),
                    step);
}

Future<StepOutcome> DistOptimizer::State::outcome(const StepId& step) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(unknown_, step, &std::pair<StepId, Future<StepOutcome>>::first);
  if (found != unknown_.end()) return found->second;
  const auto core = node.lock();
  const Promise<StepOutcome> none(core ? core->future_home() : detail::FutureHome{});
  Error error;
  error.code = ErrorCode::bad_argument;
  error.operation = "step";
  error.message = fmt::format("step {} did not end with step_unknown lately", step.text());
  none.complete(std::move(error));
  return none.future();
}

namespace detail {

std::vector<double> gradient_norms(Scope& scope, const std::vector<RRef<Variable>>& leaves) {
  const Gradients all = gradients(scope);
  std::vector<double> norms;
  for (const RRef<Variable>& leaf : leaves) {
    const Variable mine = *leaf.local_value(scope);
    const SparseTensor rows = all.sparse_of(mine);
    const Tensor gradient = rows.defined() ? rows.values() : all.of(mine);
    norms.push_back(gradient.defined() ? global_norm({&gradient, 1}) : 0.0);
  }
  return norms;
}

}  // namespace detail

}  // namespace troupe
