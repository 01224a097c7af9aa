#include "actors/shards/optimizer_driver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

#include "actors/calls/scope_state.h"
#include "actors/contexts/contexts.h"
#include "actors/core/error_not_run.h"
#include "actors/core/guarded.h"
#include "actors/scope.h"
#include "actors/shards/begun_step.h"
#include "actors/shards/prepared_load.h"
#include "actors/shards/state_names.h"
#include "actors/shards/update_rule.h"
#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

/// The pause before a state is read again that steps changed meanwhile.
constexpr std::chrono::milliseconds kReadAgainAfter{2};

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
[[noreturn]] void fail_unapplied(const Error& cause, const std::string& operation = "step") {
  if (cause.code == ErrorCode::context_aborted) throw RemoteError(cause);
  Error error = step_error(ErrorCode::step_not_applied, Execution::never, cause, "no parameter was changed");
  error.operation = operation;
  throw RemoteError(std::move(error));
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

std::string names_of(const std::map<NodeName, Error>& owners) {
  std::vector<NodeName> names;
  for (const auto& [owner, error] : owners) names.push_back(owner);
  return fmt::format("{}", fmt::join(names, ", "));
}

template <class Answers>
const Error* first_error(const Answers& answers) {
  const auto failed = std::ranges::find_if(answers, [](const auto& answer) { return !answer.message.ok(); });
  return failed == answers.end() ? nullptr : &failed->message.error();
}

/// Returns the message M in the answer of `owner`. Throws RemoteError.
template <class M>
M expect(const NodeCore& node, const NodeName& owner, Result<msg::AnyMessage> answer, const std::string& operation) {
  if (!answer) throw RemoteError(answer.error());
  if (auto* message = answer.value().get_if<M>()) return std::move(*message);
  throw RemoteError(node.error(ErrorCode::protocol_violation, owner, operation, "the answer is another message"));
}

/// Clears a flag at the end of a scope; null: none.
class Cleared {
 public:
  explicit Cleared(std::atomic<bool>* flag) : flag_(flag) {}
  Cleared(const Cleared&) = delete;
  Cleared& operator=(const Cleared&) = delete;
  ~Cleared() {
    if (flag_ != nullptr) *flag_ = false;
  }

 private:
  std::atomic<bool>* const flag_;
};

/// Waits on the node's clock.
void pause(NodeCore& node) {
  const Promise<void> over(node.future_home());
  const Future<void> waited = over.future();
  node.clock().at(node.clock().now() + kReadAgainAfter, [over] { over.complete(Unit{}); });
  waited.state().wait();
}

}  // namespace

OptimizerDriver::OptimizerDriver(const std::shared_ptr<NodeCore>& node, std::vector<DistParameterGroup> groups,
                                 const Stepping& stepping)
    : node_(node), id_(node->next_id<OptimizerId>()), stepping_(stepping), groups_(std::move(groups)) {
  if (stepping_.staleness > 0 && stepping_.mode != StepMode::bounded_staleness) {
    throw std::invalid_argument(fmt::format("[DistOptimizer] staleness {} in a mode without one", stepping_.staleness));
  }
  if (groups_.empty()) throw std::invalid_argument("[DistOptimizer] there are no parameters");
  std::set<NodeName> owners;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].parameters.empty()) {
      throw std::invalid_argument(groups_.size() == 1 ? "[DistOptimizer] there are no parameters"
                                                      : fmt::format("[DistOptimizer] group {} has no parameters", g));
    }
    for (const RRef<Variable>& parameter : groups_[g].parameters) owners.insert(parameter.owner());
  }
  for (const NodeName& owner : owners) owners_.push_back({owner, {}});
}

OptimizerDriver::~OptimizerDriver() {
  const auto core = node_.lock();
  if (!core) return;
  try {
    for (const NodeLife& owner : owners_) core->notify(owner.name, actor(), msg::ShardReleased{id_, settled()});
  } catch (const std::bad_alloc&) {  // its shards would stay for ever
    core->fail(failure_of_current_exception("an optimizer"));
  }
}

msg::ShardCreate OptimizerDriver::creation(const NodeName& owner) const {
  msg::ShardCreate create{id_, {}};
  for (const DistParameterGroup& group : groups_) {
    UpdateRule rule = rule_of(group.options);
    msg::ShardGroup part{std::move(rule.name), std::move(rule.options), {}, {}};
    for (std::size_t place = 0; place < group.parameters.size(); ++place) {
      if (group.parameters[place].owner() != owner) continue;
      part.parameters.push_back(group.parameters[place].id());
      part.places.push_back(place);
    }
    create.groups.push_back(std::move(part));
  }
  return create;
}

void OptimizerDriver::create(NodeCore& core, Due due) {
  begin(core, due, "create optimizer", [this](const NodeName& owner) { return creation(owner); });
}

void OptimizerDriver::join(NodeCore& core, Due due, const SharedOptimizerParts& shared) {
  begin(core, due, "join optimizer", [&](const NodeName&) { return msg::ShardJoin{id_, shared.of}; });
  for (std::size_t g = 0; g < std::min(shared.rates.size(), groups_.size()); ++g) {
    const auto& [lr, momentum] = shared.rates[g];
    set_lr(g, lr);
    if (momentum) set_momentum(g, *momentum);
  }
}

void OptimizerDriver::begin(NodeCore& core, Due due, const std::string& operation, const MakeMessage& make_message) {
  auto answers = ask_all(core, due, operation, make_message);
  if (const Error* error = first_error(answers)) throw RemoteError(*error);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Answer& answer = answers[i];
    owners_[i].incarnation =
        expect<msg::ShardCreated>(core, answer.owner, std::move(answer.message), operation).incarnation;
  }
  const std::lock_guard lock(mutex_);
  for (const DistParameterGroup& group : groups_) rules_.push_back(optim::make_rule(group.options));
  momentums_.resize(groups_.size());
}

SharedOptimizerParts OptimizerDriver::shared() const {
  const auto core = node_.lock();
  if (!core || core->stopped()) {
    Error error = make_error(ErrorCode::shutting_down, "the optimizer's node has stopped");
    error.operation = "share optimizer";
    throw RemoteError(std::move(error));
  }
  ScopeState state;
  state.node = core;
  const Scope scope(std::make_shared<ScopeState>(std::move(state)));
  SharedOptimizerParts parts{
      id_, stepping_, groups_, {}, RRef<OptimizerAnchor>(scope, OptimizerAnchor(shared_from_this()))};
  for (const msg::StepRate& rate : rates()) parts.rates.emplace_back(rate.lr, rate.momentum);
  return parts;
}

Future<msg::AnyMessage> OptimizerDriver::ask(NodeCore& core, Due due, const NodeName& owner,
                                             const std::string& operation, msg::AnyMessage message) const {
  const Promise<msg::AnyMessage> promise(core.future_home());
  core.request({owner, actor(), operation, due, std::move(message)},
               [promise](Result<msg::AnyMessage> answer) { promise.complete(std::move(answer)); });
  return promise.future();
}

std::vector<OptimizerDriver::Answer> OptimizerDriver::ask_all(NodeCore& core, Due due, const std::string& operation,
                                                              const MakeMessage& make_message) const {
  std::vector<Future<msg::AnyMessage>> futures;
  for (const NodeLife& owner : owners_)
    futures.push_back(ask(core, due, owner.name, operation, make_message(owner.name)));
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    futures[i].state().wait();
    answers.push_back({owners_[i].name, futures[i].state().result()});
  }
  return answers;
}

std::vector<msg::StepOwner> OptimizerDriver::all_owners() const {
  std::vector<msg::StepOwner> all;
  for (const NodeLife& owner : owners_) all.push_back({owner.name, owner.incarnation});
  return all;
}

StepId OptimizerDriver::begin_step(NodeCore& core) {
  if (core.stopped()) {
    throw RemoteError(
        not_run(core.error(ErrorCode::shutting_down, core.name(), "step", "the optimizer's node has stopped")));
  }
  const std::lock_guard lock(mutex_);
  if (lost_) fail_unapplied(*lost_);
  if (unresolved_.size() >= kUnresolvedStepsMax) {
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

void OptimizerDriver::end_step(const StepId& step) {
  const std::lock_guard lock(mutex_);
  unresolved_.erase(step.serial);
}

void OptimizerDriver::lost(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = why;
}

std::uint64_t OptimizerDriver::settled() const {
  const std::lock_guard lock(mutex_);
  return unresolved_.empty() ? last_ + 1 : *unresolved_.begin();
}

bool OptimizerDriver::has_unresolved() const {
  const std::lock_guard lock(mutex_);
  if (lost_) {
    Error why = *lost_;
    why.operation = "save state";
    throw RemoteError(std::move(why));
  }
  return !unresolved_.empty();
}

void OptimizerDriver::step(NodeCore& core, Due due, const ContextId& context, const msg::StepSettings& settings) {
  const bool bounded = stepping_.mode == StepMode::bounded_staleness;
  if (bounded && stepping_now_.exchange(true)) {
    throw std::logic_error(
        "[DistOptimizer] a step of this handle is under way: with bounded staleness a trainer takes one at a time");
  }
  const Cleared over(bounded ? &stepping_now_ : nullptr);
  if (bounded) wait_for_turn(core, due);
  BegunStep step(shared_from_this(), core);
  // An owner that has forgotten a context which was aborted finds no gradients in it: this node may know more (CX-10).
  const auto require_alive = [&] { core.contexts().alive(context).get(); };
  // A single owner takes the step or does not: a second phase gains nothing.
  if (stepping_.mode == StepMode::atomic && owners_.size() > 1) {
    const auto owners = all_owners();
    prepare(core, due, "step",
            [&](const NodeName&) { return msg::ShardPrepare{id_, step.id(), context, owners, settled(), settings}; });
    require_alive();
    commit(core, due, step);
  } else {
    require_alive();
    carry_out(core, due, step, StepRun::Refusal::is_final, [this, id = step.id(), context, settings] {
      return msg::ShardStep{id_, id, context, settled(), settings};
    });
  }
}

void OptimizerDriver::wait_for_turn(NodeCore& core, Due due) {
  // One owner counts the steps of all trainers: each of them steps on every owner.
  const Future<msg::AnyMessage> answer =
      ask(core, due, owners_.front().name, "step", msg::ShardWait{id_, stepping_.staleness});
  answer.state().wait();
  if (!answer.state().result()) fail_unapplied(answer.state().result().error());
}

void OptimizerDriver::prepare(NodeCore& core, Due due, const std::string& operation, const MakeMessage& make_message) {
  const auto prepared = ask_all(core, due, operation, make_message);
  if (const Error* error = first_error(prepared)) fail_unapplied(*error, operation);
}

void OptimizerDriver::abort(const StepId& step) noexcept {
  end_step(step);
  try {
    const auto core = node_.lock();
    if (!core) return;
    for (const NodeLife& owner : owners_) core->notify(owner.name, actor(), msg::ShardAbort{id_, step});
  } catch (const std::bad_alloc&) {
    // The owners learn it with the next step or the release: it is settled (SH-7).
  }
}

void OptimizerDriver::commit(NodeCore& core, Due due, BegunStep& step) {
  carry_out(core, due, step, StepRun::Refusal::is_repeated, [this, id = step.id()] {
    return msg::ShardCommit{id_, id, settled()};
  });
}

void OptimizerDriver::carry_out(NodeCore& core, Due due, BegunStep& begun, StepRun::Refusal refusal,
                                std::function<msg::AnyMessage()> make_message) {
  const StepId step = begun.id();
  const auto run = std::make_shared<StepRun>(StepRun::Parts{
      core.shared_from_this(), actor(), owners_,
      [self = shared_from_this(), make_message = std::move(make_message)] { return make_message(); }, refusal,
      [self = shared_from_this(), step, refusal](const StepOutcome& all) {
        const bool others_may_ask = refusal == StepRun::Refusal::is_repeated && !all.lost.empty();
        others_may_ask ? self->lost(all.lost.begin()->second) : self->end_step(step);
      }});
  begun.decided();
  run->begin();
  const Future<StepOutcome> outcome = run->outcome();
  if (due && !outcome.get_for(*due - core.clock().now())) {
    const auto open = reasons(run->open(), core);
    if (!open.empty()) fail_unknown(step, *run, open);
  }
  const StepOutcome& all = (outcome.state().wait(), outcome.state().result().value());
  if (!all.lost.empty()) fail_unknown(step, *run, all.lost);
  if (all.not_applied.empty()) return;
  if (all.applied.empty()) fail_unapplied(all.not_applied.begin()->second);
  fail_unknown(step, *run, {});
}

void OptimizerDriver::fail_unknown(const StepId& step, const StepRun& run, const std::map<NodeName, Error>& silent) {
  const StepOutcome so_far = run.so_far();
  std::vector<std::string> parts;
  if (!silent.empty()) parts.push_back("not known from " + names_of(silent));
  if (!so_far.not_applied.empty()) parts.push_back("failed on " + names_of(so_far.not_applied));
  if (!so_far.applied.empty()) parts.emplace_back("applied everywhere else");
  const Error& cause = (silent.empty() ? so_far.not_applied : silent).begin()->second;
  {
    const std::lock_guard lock(mutex_);
    unknown_.emplace_back(step, run.outcome());
    if (unknown_.size() > kUnknownStepsMax) unknown_.pop_front();
  }
  throw StepUnknown(
      step_error(ErrorCode::step_unknown, Execution::maybe, cause, fmt::format("{}", fmt::join(parts, ", "))), step);
}

Future<StepOutcome> OptimizerDriver::outcome(const StepId& step) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(unknown_, step, &std::pair<StepId, Future<StepOutcome>>::first);
  if (found != unknown_.end()) return found->second;
  const auto core = node_.lock();
  const Promise<StepOutcome> none(core ? core->future_home() : FutureHome{});
  Error error =
      error_not_run(ErrorCode::bad_argument, fmt::format("step {} did not end with step_unknown lately", step.text()));
  error.operation = "step";
  none.complete(std::move(error));
  return none.future();
}

namespace {

/// Returns the rule of a group. Throws IndexError.
optim::Optimizer& rule_at(const std::vector<std::unique_ptr<optim::Optimizer>>& rules, std::size_t group) {
  if (group < rules.size()) return *rules[group];
  throw IndexError(fmt::format("[optimizer] no group {} of {}", group, rules.size()));
}

}  // namespace

std::vector<msg::StepRate> OptimizerDriver::rates() const {
  const std::lock_guard lock(mutex_);
  std::vector<msg::StepRate> rates;
  for (std::size_t g = 0; g < rules_.size(); ++g) rates.push_back({rules_[g]->lr(), momentums_[g]});
  return rates;
}

double OptimizerDriver::lr(std::size_t group) const {
  const std::lock_guard lock(mutex_);
  return rule_at(rules_, group).lr();
}

void OptimizerDriver::set_lr(std::size_t group, double lr) {
  const std::lock_guard lock(mutex_);
  rule_at(rules_, group).set_lr(lr);
}

double OptimizerDriver::momentum(std::size_t group) const {
  const std::lock_guard lock(mutex_);
  return rule_at(rules_, group).momentum();
}

void OptimizerDriver::set_momentum(std::size_t group, double momentum) {
  const std::lock_guard lock(mutex_);
  rule_at(rules_, group).set_momentum(momentum);
  momentums_[group] = momentum;
}

void wait_between_steps(NodeCore& core, OptimizerDriver::Due due, const std::function<bool()>& is_ready) {
  for (int attempts = 1; !is_ready(); ++attempts) {
    if (core.stopped())
      throw RemoteError(core.error(ErrorCode::shutting_down, core.name(), "save state", "the node has stopped"));
    if (due && core.clock().now() >= *due) {
      throw RemoteError(core.error(ErrorCode::timeout, core.name(), "save state",
                                   fmt::format("steps were under way at each of {} attempts", attempts)));
    }
    pause(core);
  }
}

NamedTensors OptimizerDriver::state_dict(NodeCore& core, Due due, StateContent content) {
  std::optional<NamedTensors> state;
  wait_between_steps(core, due, [&] {
    state = try_state(core, due, content);
    return state.has_value();
  });
  return *std::move(state);
}

std::optional<NamedTensors> OptimizerDriver::try_state(NodeCore& core, Due due, StateContent content) {
  const std::string operation = "save state";
  std::map<NodeName, std::uint64_t> versions;
  const auto none_is_open = [&](std::vector<Answer> answers, std::vector<msg::ShardSaved>& parts) {
    bool none = true;
    for (Answer& answer : answers) {
      parts.push_back(expect<msg::ShardSaved>(core, answer.owner, std::move(answer.message), operation));
      none &= parts.back().open == 0;
    }
    return none;
  };
  // All owners have these versions at the moment between the two rounds, if they still have them in the second one.
  std::vector<msg::ShardSaved> first;
  if (!none_is_open(ask_all(core, due, operation,
                            [this](const NodeName&) {
                              return msg::ShardSave{id_, {}, false};
                            }),
                    first)) {
    return std::nullopt;
  }
  if (has_unresolved()) return std::nullopt;
  for (std::size_t i = 0; i < owners_.size(); ++i) versions[owners_[i].name] = first[i].version;
  std::vector<msg::ShardSaved> second;
  const bool values = content == StateContent::rules_and_values;
  auto answers = ask_all(core, due, operation, [&](const NodeName& owner) {
    return msg::ShardSave{id_, versions.at(owner), values};
  });
  if (!none_is_open(std::move(answers), second)) return std::nullopt;
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (second[i].version != first[i].version) return std::nullopt;
    auto all = with_rest(core, due, owners_[i].name, std::move(second[i]), values);
    if (!all) return std::nullopt;
    second[i] = *std::move(all);
  }
  return merged(std::move(second));
}

std::optional<msg::ShardSaved> OptimizerDriver::with_rest(NodeCore& core, Due due, const NodeName& owner,
                                                          msg::ShardSaved saved, bool values) const {
  const std::string operation = "save state";
  const auto fail = [&](const char* why) {
    throw RemoteError(core.error(ErrorCode::protocol_violation, owner, operation, why));
  };
  if (saved.names.size() != saved.tensors.size()) fail("the state has not one name for each tensor");
  while (saved.names.size() < saved.all) {
    const Future<msg::AnyMessage> answer =
        ask(core, due, owner, operation, msg::ShardSave{id_, saved.version, values, saved.names.size()});
    answer.state().wait();
    auto next = expect<msg::ShardSaved>(core, owner, answer.state().result(), operation);
    if (next.open > 0 || next.version != saved.version) return std::nullopt;
    if (next.names.size() != next.tensors.size() || next.names.empty() || next.all != saved.all)
      fail("the parts of the state do not fit together");
    std::ranges::move(next.names, std::back_inserter(saved.names));
    std::ranges::move(next.tensors, std::back_inserter(saved.tensors));
  }
  return saved;
}

NamedTensors OptimizerDriver::merged(std::vector<msg::ShardSaved> parts) const {
  struct Entry {
    StateName name;
    std::string full;
    Tensor tensor;
  };
  std::vector<Entry> entries;
  std::set<std::string> options;
  for (msg::ShardSaved& part : parts) {
    for (std::size_t i = 0; i < part.names.size(); ++i) {
      auto name = parse_state_name(part.names[i]);
      if (!name || name->group >= groups_.size()) continue;
      if (!name->place && !options.insert(part.names[i]).second) continue;  // every owner has them
      entries.push_back({*std::move(name), std::move(part.names[i]), std::move(part.tensors[i])});
    }
  }
  // As a LocalOptimizer: group by group, options first, then the parameters in their order. Each is of one owner.
  std::ranges::stable_sort(entries, {},
                           [](const Entry& entry) { return std::pair(entry.name.group, entry.name.place); });
  const std::vector<msg::StepRate> now = rates();
  NamedTensors all;
  for (Entry& entry : entries) {
    const bool is_rate = !entry.name.place && entry.name.rest.ends_with(".lr");
    if (is_rate) entry.tensor = full({}, now[entry.name.group].lr, DType::f64);
    all.emplace_back(std::move(entry.full), std::move(entry.tensor));
  }
  return all;
}

std::map<NodeName, NamedTensors> OptimizerDriver::by_owner(const NamedTensors& state) const {
  std::map<NodeName, NamedTensors> parts;
  for (const NodeLife& owner : owners_) parts[owner.name];
  std::vector<std::string> unexpected;
  for (const auto& [full, tensor] : state) {
    const auto name = parse_state_name(full);
    const bool is_known =
        name && name->group < groups_.size() && (!name->place || *name->place < groups_[name->group].parameters.size());
    if (!is_known) {
      unexpected.push_back(full);
      continue;
    }
    const auto add = [&, &full = full, &tensor = tensor](const NodeName& owner) {
      parts.at(owner).emplace_back(full, tensor);
    };
    if (name->place) {
      add(groups_[name->group].parameters[*name->place].owner());
    } else {
      for (const NodeLife& owner : owners_) add(owner.name);
    }
  }
  if (!unexpected.empty())
    throw ValueError(fmt::format("[load_state_dict] unexpected: {}", fmt::join(unexpected, ", ")));
  return parts;
}

void OptimizerDriver::load_state_dict(NodeCore& core, Due due, const NamedTensors& state) {
  PreparedLoad prepared = prepare_load(core, due, state);
  prepared.take_rates();
  prepared.commit(core, due);
}

void OptimizerDriver::send_state(NodeCore& core, Due due, const StepId& step,
                                 const std::map<NodeName, NamedTensors>& states) {
  const std::string operation = "load state";
  const auto owners = all_owners();
  std::map<NodeName, std::size_t> sent;
  /// Returns the next part for an owner.
  const auto next_part = [&](const NodeName& owner) {
    const NamedTensors& state = states.at(owner);
    std::size_t& next = sent[owner];
    msg::ShardLoad part{id_, step, owners, settled(), {}, {}, next, false};
    for (; next < state.size() && part.names.size() < msg::kStatesPerMessage; ++next) {
      part.names.push_back(state[next].first);
      part.tensors.push_back(state[next].second);
    }
    part.is_last = next == state.size();
    return part;
  };
  for (const auto& [owner, state] : states) {
    while (state.size() - sent[owner] > msg::kStatesPerMessage) {
      const Future<msg::AnyMessage> kept = ask(core, due, owner, operation, next_part(owner));
      kept.state().wait();
      if (!kept.state().result()) fail_unapplied(kept.state().result().error(), operation);
    }
  }
  prepare(core, due, operation, next_part);
}

PreparedLoad OptimizerDriver::prepare_load(NodeCore& core, Due due, const NamedTensors& state) {
  const std::map<NodeName, NamedTensors> states = by_owner(state);
  BegunStep step(shared_from_this(), core);
  send_state(core, due, step.id(), states);
  PreparedLoad prepared(std::move(step));
  // The owners have checked the state: every group has its rate.
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::string rate = fmt::format("{}{}.lr", group_prefix(g), rules_[g]->name());
    const auto saved = std::ranges::find(state, rate, &NamedTensors::value_type::first);
    prepared.other_rates_.push_back(saved == state.end() ? std::nullopt : std::optional(saved->second.item<double>()));
  }
  return prepared;
}

}  // namespace troupe::detail
