#include "actors/shards/shard_actor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/contexts/variables_of.h"
#include "actors/core/error_not_run.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"
#include "actors/shards/shards.h"
#include "actors/shards/shared_shard.h"
#include "actors/shards/step_options.h"
#include "actors/shards/update_rule.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

/// The pause before a refused action is repeated.
constexpr std::chrono::milliseconds kTryAgainAfter{100};

/// Calls `repeat_later`, which asks for a repetition after a pause. Without memory for that the node ends: the other
/// owners would wait for this one for ever.
template <class RepeatLater>
void after_a_pause(NodeCore& node, const RepeatLater& repeat_later) noexcept {
  try {
    repeat_later();
  } catch (const std::bad_alloc&) {
    node.fail(failure_of_current_exception("a shard"));
  }
}

/// Returns a refusal for want of memory or of room as the owner's word that it has not applied the step: a request is
/// refused for that on its way, too, and then says nothing of the step (StepRun).
Result<msg::ShardStepped> word_of_owner(Result<msg::ShardStepped> stepped) {
  if (stepped || stepped.error().code != ErrorCode::resource_exhausted) return stepped;
  Error refusal = stepped.error();
  refusal.code = ErrorCode::step_not_applied;
  return refusal;
}

/// Runs `job` on the strand; retries after a pause if the pool has no thread for it.
void run_surely(const std::weak_ptr<NodeCore>& node, const std::shared_ptr<Strand>& strand,
                const std::function<void()>& job) {
  strand->run(job, [=](const Error& /*refused*/) {
    const auto core = node.lock();
    if (!core || core->stopped()) return;
    after_a_pause(
        *core, [&] { core->clock().at(core->clock().now() + kTryAgainAfter, [=] { run_surely(node, strand, job); }); });
  });
}

/// Returns the owners that a prepare or load names. Error: protocol_violation unless they are sorted by name, none
/// twice, `node` among them.
Result<std::vector<NodeLife>> owners_of(const std::vector<msg::StepOwner>& named, const NodeCore& node) {
  std::vector<NodeLife> owners;
  bool in_order = true;
  for (const msg::StepOwner& owner : named) {
    in_order &= owners.empty() || owners.back().name < owner.name;
    owners.push_back({owner.name, owner.incarnation});
  }
  if (in_order && std::ranges::find(owners, NodeLife{node.name(), node.incarnation()}) != owners.end()) return owners;
  return node.error(ErrorCode::protocol_violation, node.name(), "step",
                    "the owners of a step are named in order, this one among them");
}

/// Returns the groups that a ShardCreate describes, without their parameters. Errors: those of make_rule; bad_argument.
Result<std::vector<ShardParameters::Group>> groups_of(const msg::ShardCreate& message) {
  std::vector<ShardParameters::Group> groups;
  for (const msg::ShardGroup& group : message.groups) {
    const UpdateRule rule{group.rule, group.options};
    if (const auto made = make_rule(rule); !made) return made.error();
    if (group.places.size() != group.parameters.size())
      return error_not_run(ErrorCode::bad_argument, "[optimizer] a group has not one place for each parameter");
    groups.push_back({[rule] { return make_rule(rule).value(); },
                      {},
                      std::vector<std::size_t>(group.places.begin(), group.places.end())});
  }
  return groups;
}

/// Hands each group its parameters, which follow each other in `all`.
std::vector<ShardParameters::Group> with_parameters(std::vector<ShardParameters::Group> groups,
                                                    const std::vector<Variable>& all) {
  auto next = all.begin();
  for (ShardParameters::Group& group : groups) {
    const auto end = next + static_cast<std::ptrdiff_t>(group.places.size());
    group.parameters.assign(next, end);
    next = end;
  }
  return groups;
}

}  // namespace

class ShardWork {
 public:
  ShardWork(std::weak_ptr<NodeCore> node, NodeLife self, OptimizerId optimizer, std::shared_ptr<SharedShard> shared)
      : node_(std::move(node)),
        optimizer_(std::move(optimizer)),
        shared_(std::move(shared)),
        part_(std::move(self), std::shared_ptr<ShardParameters>(shared_, &shared_->parameters)) {}

  [[nodiscard]] ShardRules& part() { return part_; }
  [[nodiscard]] const std::vector<Variable>& variables() const { return shared_->variables; }

  /// The handle is one more trainer, unless it is gone: what the pool refuses runs after what came later.
  void join() {
    if (!gone_) shared_->clocks.join(optimizer_);
  }

  /// The handle is gone. Its waits end with `why`.
  void leave(const Error& why) {
    gone_ = why;
    end_waits(shared_->clocks.leave(optimizer_), why);
    part_.driver_gone();
  }

  /// Keeps `answer` until the trainer may take a step.
  void wait(const msg::ShardWait& message, const ReturnAddress& answer) {
    if (gone_) return answer.fail(*gone_);
    const TrainerClocks::Ticket ticket = ++shared_->last_ticket;
    shared_->waits.emplace(ticket, answer);
    Error given_up = make_error(ErrorCode::resource_exhausted, "the trainer waits too often for its next step");
    given_up.execution = Execution::never;
    end_waits(shared_->clocks.wait(optimizer_, message.staleness, ticket), given_up);
  }

  /// Keeps `answer` until the rules give the outcome.
  void asked(const NodeLife& by, const msg::ShardQuery& query, const ReturnAddress& answer) {
    askers_[{by, query.step}] = answer;
    part_.asked(by, query.step, query.own);
  }

  /// Executes and sends what the rules decide after an event; what gets no memory, after a pause.
  void go_on() {
    const auto core = node_.lock();
    if (!core) return;
    try {
      carry_out(*core);
    } catch (const std::bad_alloc&) {
      after_a_pause(*core, [&] { core->shards().try_again(optimizer_, {}, kTryAgainAfter); });
    }
  }

  void ask(const StepLedger::Question& question) const {
    const auto core = node_.lock();
    if (!core) return;
    core->request({question.owner.name, "shard/" + optimizer_.text(), "step", std::nullopt,
                   msg::ShardQuery{optimizer_, question.step, question.own}},
                  [node = node_, optimizer = optimizer_, question](Result<msg::AnyMessage> answer) {
                    if (const auto asker = node.lock())
                      asker->shards().answered(optimizer, {question, std::move(answer)});
                  });
  }

 private:
  void carry_out(NodeCore& core) {
    ShardRules::Words& words = part_.go_on();
    for (; !words.answers.empty(); words.answers.pop_front()) {
      const StepLedger::Answer& answer = words.answers.front();
      const auto waiting = askers_.find({answer.asker, answer.step});
      if (waiting == askers_.end()) continue;
      waiting->second.answer(msg::ShardOutcome{answer.step, answer.state, part_.version()});
      askers_.erase(waiting);
    }
    for (; !words.questions.empty(); words.questions.pop_front()) ask(words.questions.front());
    if (words.changed) {
      for (const Variable& parameter : variables()) core.references().changed(parameter, nullptr);
      words.changed = false;
    }
    count_steps();
    if (words.again) core.shards().try_again(optimizer_, {}, kTryAgainAfter);
    if (part_.over()) core.shards().over(optimizer_);
  }

  /// Counts the steps that were applied since the last call, and answers the trainers of any handle that may go on.
  void count_steps() {
    const std::uint64_t steps = part_.steps();
    if (part_.has_driver()) shared_->clocks.took(optimizer_, steps - counted_);
    counted_ = steps;
    for (const TrainerClocks::Ready& ready : shared_->clocks.take_ready()) {
      const auto waiting = shared_->waits.extract(ready.ticket);
      if (!waiting.empty()) waiting.mapped().answer(msg::ShardReady{ready.clock, ready.slowest});
    }
  }

  void end_waits(const std::vector<TrainerClocks::Ticket>& tickets, const Error& why) {
    for (const TrainerClocks::Ticket ticket : tickets) {
      const auto waiting = shared_->waits.extract(ticket);
      if (!waiting.empty()) waiting.mapped().fail(why);
    }
  }

  const std::weak_ptr<NodeCore> node_;
  const OptimizerId optimizer_;
  const std::shared_ptr<SharedShard> shared_;
  ShardRules part_;
  std::uint64_t counted_ = 0;  // steps of part_ that the clocks know
  std::optional<Error> gone_;  // why the handle is gone
  std::map<std::pair<NodeLife, StepId>, ReturnAddress> askers_;
};

void ShardState::begin(NodeCore& node, std::shared_ptr<Strand> strand, OptimizerId optimizer) {
  node_ = &node;
  strand_ = std::move(strand);
  optimizer_ = std::move(optimizer);
}

void ShardState::handle(const Delivery& delivery) {
  delivery.message.visit<ShardWords>([&](const auto& word) { take(delivery, word); });
}

void ShardState::take(const Delivery& delivery, const msg::ShardCreate& create) {
  if (created_) return take_in_turn(delivery, create);
  this->create(delivery, create);
}

void ShardState::take(const Delivery& delivery, const msg::ShardJoin& join) {
  if (created_) return take_in_turn(delivery, join);
  this->join(delivery, join);
}

void ShardState::take(const Delivery& /*delivery*/, const msg::ShardReleased& released) {
  Error gone;
  gone.code = ErrorCode::cancelled;
  gone.message = "the optimizer was released";
  end(own_error(std::move(gone)), released.settled);
}

template <class Message>
void ShardState::take_in_turn(const Delivery& delivery, const Message& message) {
  if (failure_) {
    delivery.answer.fail(*failure_);
  } else if (!work_) {
    parked_.push_back(delivery);
  } else {
    serve(delivery, message);
  }
}

void ShardState::create(const Delivery& delivery, const msg::ShardCreate& message) {
  created_ = true;
  parked_.push_back(delivery);
  auto groups = groups_of(message);
  if (!groups) return found(groups.error());
  groups_ = std::move(groups).value();
  for (const msg::ShardGroup& group : message.groups)
    parameters_.insert(parameters_.end(), group.parameters.begin(), group.parameters.end());
  variables_of(*node_, parameters_, {delivery.from, delivery.incarnation},
               [node = node_->weak_from_this(), optimizer = optimizer_](auto found) {
                 if (const auto core = node.lock()) core->shards().found(optimizer, std::move(found));
               });
}

void ShardState::join(const Delivery& delivery, const msg::ShardJoin& message) {
  created_ = true;
  parked_.push_back(delivery);
  if (auto shared = node_->shards().shared_by(message.of)) {
    begin_work(std::move(shared));
    on_strand([](ShardWork& work) { work.join(); });
  } else {
    Error gone = make_error(
        ErrorCode::ref_revoked,
        fmt::format("optimizer {} has no shard on {}: every handle of it is gone", message.of.text(), node_->name()));
    gone.execution = Execution::never;
    failure_ = own_error(std::move(gone));
  }
  serve_parked();
}

void ShardState::found(Result<std::vector<Variable>> parameters) {
  if (parameters) {
    try {
      auto groups = with_parameters(std::move(groups_), parameters.value());
      begin_work(std::make_shared<SharedShard>(std::move(groups), std::move(parameters).value()));
    } catch (const TensorError& error) {
      failure_ = own_error(not_run(node_->error(ErrorCode::bad_argument, node_->name(), {}, error.what())));
    }
  } else {
    failure_ = own_error(parameters.error());
  }
  serve_parked();
}

void ShardState::begin_work(std::shared_ptr<SharedShard> shared) {
  node_->shards().keep(optimizer_, shared);
  work_ = std::make_shared<ShardWork>(node_->weak_from_this(), NodeLife{node_->name(), node_->incarnation()},
                                      optimizer_, std::move(shared));
}

void ShardState::serve_parked() {
  for (const Delivery& delivery : std::exchange(parked_, {})) handle(delivery);
}

void ShardState::end(const Error& why, std::optional<std::uint64_t> settled) {
  if (!work_) {  // it has taken no step
    stop(why);
    return node_->shards().over(optimizer_);
  }
  on_strand([settled, why](ShardWork& work) {
    if (settled) work.part().settled(*settled);
    work.leave(why);
  });
}

void ShardState::answered(const OwnerAnswered& answer) {
  const NodeLife& owner = answer.question.owner;
  std::optional<msg::StepState> state;
  if (answer.answer) {
    const auto* outcome = answer.answer.value().get_if<msg::ShardOutcome>();
    state = outcome == nullptr ? msg::StepState::unknown : outcome->state;
  } else if (!node_->stopped() && node_->membership().life_of(owner.name) == owner) {
    return node_->shards().try_again(optimizer_, answer.question,
                                     kTryAgainAfter);  // the owner lives, but could not answer
  }
  on_strand([owner, step = answer.question.step, state](ShardWork& work) { work.part().answered(owner, step, state); });
}

void ShardState::try_again(const TryAgain& again) {
  on_strand([question = again.question](ShardWork& work) {
    if (question) work.ask(*question);
  });
}

void ShardState::stop(const Error& why) {
  for (const Delivery& delivery : std::exchange(parked_, {})) delivery.answer.fail(why);
}

void ShardState::fail(Error why) {
  try {
    spdlog::error("[{}] {}: a message to the shard of optimizer {} has failed", node_->name(), why.text(),
                  optimizer_.text());
    if (work_) return;
    why.peer = node_->name();
    why.incarnation = node_->incarnation();
    failure_ = why;
    stop(why);
  } catch (...) {
    node_->fail(std::move(why));
  }
}

void ShardState::serve(const Delivery& delivery, const msg::ShardCreate& /*create*/) const {
  delivery.answer.answer(msg::ShardCreated{optimizer_, node_->incarnation()});
}

void ShardState::serve(const Delivery& delivery, const msg::ShardJoin& /*join*/) const {
  delivery.answer.answer(msg::ShardCreated{optimizer_, node_->incarnation()});
}

void ShardState::serve(const Delivery& delivery, const msg::ShardPrepare& message) {
  const auto owners = owners_of(message.owners, *node_);
  if (!owners) return delivery.answer.fail(owners.error());
  answer_on_strand(delivery.answer, [step = message.step, settled = message.settled, settings = message.settings,
                                     owners = owners.value(),
                                     gradients = node_->contexts().gradients(message.context)](ShardWork& work) {
    work.part().settled(settled);
    return work.part().prepare(step, ShardParameters::GradientStep(gradients.get(), settings), owners);
  });
}

void ShardState::serve(const Delivery& delivery, const msg::ShardCommit& message) {
  answer_on_strand(
      delivery.answer,
      [step = message.step, settled = message.settled](ShardWork& work) {
        work.part().settled(settled);
        return work.part().commit(step);
      },
      when_told(), message.step);
}

void ShardState::serve(const Delivery& /*delivery*/, const msg::ShardAbort& message) {
  on_strand([step = message.step](ShardWork& work) { work.part().abort(step); });
}

void ShardState::serve(const Delivery& delivery, const msg::ShardStep& message) {
  answer_on_strand(
      delivery.answer,
      [id = message.step, settled = message.settled, settings = message.settings,
       gradients = node_->contexts().gradients(message.context)](ShardWork& work) {
        work.part().settled(settled);
        if (work.part().has_applied(id)) return work.part().commit(id);  // also if the context has ended since
        return word_of_owner(work.part().step(id, ShardParameters::GradientStep(gradients.get(), settings)));
      },
      when_told(), message.step);
}

void ShardState::serve(const Delivery& delivery, const msg::ShardLoad& message) {
  const auto owners = owners_of(message.owners, *node_);
  if (!owners) return delivery.answer.fail(owners.error());
  answer_on_strand(delivery.answer,
                   [part = std::make_shared<const msg::ShardLoad>(message), owners = owners.value()](ShardWork& work) {
                     work.part().settled(part->settled);
                     return work.part().load(*part, owners);
                   });
}

void ShardState::serve(const Delivery& delivery, const msg::ShardSave& message) {
  answer_on_strand(delivery.answer, [message](ShardWork& work) {
    const ShardParameters& parameters = work.part().parameters();
    msg::ShardSaved saved{parameters.version(), parameters.open_steps(), {}, {}};
    if (saved.open > 0 || message.version != saved.version) return Result(std::move(saved));
    const std::size_t states = parameters.state_dict_size();
    saved.all = states + (message.values ? parameters.size() : 0);
    NamedTensors part = parameters.state_dict(message.first, msg::kStatesPerMessage);
    if (message.values) {
      const std::size_t first = message.first - std::min(message.first, states);
      std::ranges::move(parameters.values(first, msg::kStatesPerMessage - part.size()), std::back_inserter(part));
    }
    for (auto& [full_name, tensor] : part) {
      saved.names.push_back(std::move(full_name));
      saved.tensors.push_back(std::move(tensor));
    }
    return Result(std::move(saved));
  });
}

void ShardState::serve(const Delivery& delivery, const msg::ShardWait& message) {
  strand_->run(
      [work = work_, message, answer = delivery.answer] {
        work->wait(message, answer);
        work->go_on();
      },
      [answer = delivery.answer](const Error& error) { answer.fail(error); });
}

void ShardState::serve(const Delivery& delivery, const msg::ShardQuery& message) {
  strand_->run(
      [work = work_, by = NodeLife{delivery.from, delivery.incarnation}, message, answer = delivery.answer] {
        work->asked(by, message, answer);
        work->go_on();
      },
      [answer = delivery.answer](const Error& error) { answer.fail(error); });
}

/// Returns a reply that is sent when the holders of copies of the parameters have been notified (RR-10). The owners may
/// be busy.
ShardState::Reply ShardState::when_told() const {
  return [core = node_->shared_from_this(), work = work_](const ReturnAddress& answer, msg::AnyMessage stepped) {
    const auto told =
        std::make_shared<const WhenGone>([answer, stepped = std::move(stepped)] { answer.answer(stepped); });
    for (const Variable& parameter : work->variables()) core->references().changed(parameter, told);
  };
}

void ShardState::on_strand(std::function<void(ShardWork&)> job) {
  if (!work_) return;
  run_surely(node_->weak_from_this(), strand_, [work = work_, job = std::move(job)] {
    job(*work);
    work->go_on();
  });
}

template <class Work>
void ShardState::answer_on_strand(const ReturnAddress& answer, Work work, const Reply& reply,
                                  const std::optional<StepId>& step) {
  const auto fail_as = [answer, self = node_->self()](Error error, Execution execution) {
    if (error.peer.empty()) {
      set_text(error.peer, self.name);
      error.incarnation = self.incarnation;
    }
    error.operation = "step";
    error.execution = execution;
    answer.fail(std::move(error));
  };
  const auto job = [shard = work_, work, answer, reply, step, fail_as] {
    const auto fail = [&](Error error) {
      const bool is_applied = step && shard->part().has_applied(*step);
      fail_as(std::move(error), is_applied ? Execution::maybe : Execution::never);
    };
    try {
      auto result = work(*shard);
      shard->go_on();
      if (!result) return fail(result.error());
      reply(answer, std::move(result).value());
    } catch (const RemoteError& error) {  // the context has ended
      shard->go_on();
      fail(error.error());
    } catch (...) {
      fail(failure_of_current_exception("the step"));
    }
  };
  strand_->run(job, [fail_as](const Error& refused) { fail_as(refused, Execution::never); });
}

Error ShardState::own_error(Error error) const {
  if (error.peer.empty()) error.peer = node_->name();
  error.incarnation = node_->incarnation();
  error.operation = "create optimizer";
  return error;
}

ShardActor::behavior_type shard_actor(ShardActor::stateful_pointer<ShardState> self, NodeCore* node,
                                      std::shared_ptr<Strand> strand, OptimizerId optimizer) {
  ShardState& state = self->state;
  state.begin(*node, std::move(strand), std::move(optimizer));
  const auto failed = [&state, node](Error why, const auto& message) {
    using Message = std::decay_t<decltype(message)>;
    constexpr bool is_word = std::is_same_v<Message, ShardMessage> || std::is_same_v<Message, ParametersFound>;
    is_word ? state.fail(std::move(why)) : node->fail(std::move(why));
  };
  return guarded<ShardActor::behavior_type>(
      "the shard", failed, [&state](const ShardMessage& m) { state.handle(m.delivery); },
      [&state](ParametersFound& m) { state.found(std::move(m.parameters)); },
      [&state](const DriverGone& m) { state.driver_gone(m.why); },
      [&state](const OwnerAnswered& m) { state.answered(m); }, [&state](const TryAgain& m) { state.try_again(m); },
      [self, &state](const StopShard& m) {
        self->quit();
        state.stop(m.why);
      });
}

}  // namespace troupe::detail
