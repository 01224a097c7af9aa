#include "actors/shards/shard_actor.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <type_traits>
#include <utility>

#include "actors/contexts/contexts.h"
#include "actors/contexts/variables_of.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"
#include "actors/shards/shards.h"
#include "actors/shards/update_rule.h"
#include "tensor/error.h"

namespace troupe::detail {
namespace {

/// The pause before a refused action is repeated.
constexpr std::chrono::milliseconds kPause{100};

/// Runs `job` on the strand; retries after a pause if the pool has no thread for it.
void run_surely(const std::weak_ptr<NodeCore>& node, const std::shared_ptr<Strand>& strand,
                const std::function<void()>& job) {
  strand->run(job, [=](const Error& /*refused*/) {
    const auto core = node.lock();
    if (!core || core->stopped()) return;
    core->clock().at(core->clock().now() + kPause, [=] { run_surely(node, strand, job); });
  });
}

/// Returns the owners that a prepare names, if valid: sorted by name, none twice, `self` among them.
std::optional<std::vector<NodeLife>> owners_of(const msg::ShardPrepare& message, const NodeLife& self) {
  std::vector<NodeLife> owners;
  for (const msg::StepOwner& owner : message.owners) {
    if (!owners.empty() && owners.back().name >= owner.name) return std::nullopt;
    owners.push_back({owner.name, owner.incarnation});
  }
  if (std::ranges::find(owners, self) == owners.end()) return std::nullopt;
  return owners;
}

}  // namespace

class ShardWork {
 public:
  ShardWork(std::weak_ptr<NodeCore> node, OptimizerId optimizer, std::vector<RRefId> parameters, ShardRules part)
      : node_(std::move(node)),
        optimizer_(std::move(optimizer)),
        parameters_(std::move(parameters)),
        part_(std::move(part)) {}

  [[nodiscard]] ShardRules& part() { return part_; }

  /// Keeps `answer` until the rules give the outcome.
  void asked(const NodeLife& by, const msg::ShardQuery& query, const ReturnAddress& answer) {
    askers_[{by, query.step}] = answer;
    part_.asked(by, query.step, query.own);
  }

  /// Executes and sends what the rules decide after an event.
  void go_on() {
    const auto core = node_.lock();
    if (!core) return;
    ShardRules::Words words = part_.go_on();
    for (const auto& [asker, outcome] : words.answers) {
      const auto waiting = askers_.extract({asker, outcome.step});
      if (!waiting.empty()) waiting.mapped().answer(outcome);
    }
    for (const StepLedger::Question& question : words.questions) ask(question);
    if (words.changed) {
      const auto nobody_waits = std::make_shared<const WhenGone>([] {});
      for (const RRefId& parameter : parameters_) core->references().changed(parameter, nobody_waits);
    }
    if (words.again) core->shards().try_again(optimizer_, {}, kPause);
    if (part_.over()) core->shards().over(optimizer_);
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
  const std::weak_ptr<NodeCore> node_;
  const OptimizerId optimizer_;
  const std::vector<RRefId> parameters_;
  ShardRules part_;
  std::map<std::pair<NodeLife, StepId>, ReturnAddress> askers_;
};

void ShardState::begin(NodeCore& node, std::shared_ptr<Strand> strand, OptimizerId optimizer) {
  node_ = &node;
  strand_ = std::move(strand);
  optimizer_ = std::move(optimizer);
}

void ShardState::handle(const Delivery& delivery) {
  if (const auto* create = std::get_if<msg::ShardCreate>(&delivery.message); create != nullptr && !created_) {
    this->create(delivery, *create);
  } else if (const auto* released = std::get_if<msg::ShardReleased>(&delivery.message)) {
    Error gone;
    gone.code = ErrorCode::cancelled;
    gone.message = "the optimizer was released";
    end(own_error(std::move(gone)), released->settled);
  } else if (failure_) {
    delivery.answer.fail(*failure_);
  } else if (!work_) {
    parked_.push_back(delivery);
  } else {
    serve(delivery);
  }
}

void ShardState::create(const Delivery& delivery, const msg::ShardCreate& message) {
  created_ = true;
  parked_.push_back(delivery);
  auto rule = make_rule({message.rule, message.options});
  if (!rule) return found(rule.error());
  rule_ = std::move(rule).value();
  parameters_ = message.parameters;
  variables_of(*node_, message.parameters, {delivery.from, delivery.incarnation},
               [node = node_->weak_from_this(), optimizer = optimizer_](auto found) {
                 if (const auto core = node.lock()) core->shards().found(optimizer, std::move(found));
               });
}

void ShardState::found(Result<std::vector<Variable>> parameters) {
  if (parameters) {
    try {
      ShardRules part({node_->name(), node_->incarnation()}, std::move(rule_), std::move(parameters).value());
      work_ = std::make_shared<ShardWork>(node_->weak_from_this(), optimizer_, parameters_, std::move(part));
    } catch (const TensorError& error) {
      failure_ = own_error(node_->error(ErrorCode::bad_argument, node_->name(), {}, error.what()));
    }
  } else {
    failure_ = own_error(parameters.error());
  }
  for (const Delivery& delivery : std::exchange(parked_, {})) handle(delivery);
}

void ShardState::end(const Error& why, std::optional<std::uint64_t> settled) {
  if (!work_) {  // it has taken no step
    stop(why);
    return node_->shards().over(optimizer_);
  }
  on_strand([settled](ShardWork& work) {
    if (settled) work.part().settled(*settled);
    work.part().driver_gone();
  });
}

void ShardState::answered(const OwnerAnswered& answer) {
  const NodeLife& owner = answer.question.owner;
  std::optional<msg::StepState> state;
  if (answer.answer) {
    const auto* outcome = std::get_if<msg::ShardOutcome>(&answer.answer.value());
    state = outcome == nullptr ? msg::StepState::unknown : outcome->state;
  } else if (!node_->stopped() && node_->membership().life_of(owner.name) == owner) {
    return node_->shards().try_again(optimizer_, answer.question, kPause);  // the owner lives, but could not answer
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

void ShardState::serve(const Delivery& delivery) {
  if (std::holds_alternative<msg::ShardCreate>(delivery.message)) {
    delivery.answer.answer(msg::ShardCreated{optimizer_, node_->incarnation()});
  } else if (const auto* prepare = std::get_if<msg::ShardPrepare>(&delivery.message)) {
    this->prepare(delivery, *prepare);
  } else if (const auto* commit = std::get_if<msg::ShardCommit>(&delivery.message)) {
    answer_on_strand(
        delivery.answer,
        [step = commit->step, settled = commit->settled](ShardWork& work) {
          work.part().settled(settled);
          return work.part().commit(step);
        },
        when_told());
  } else if (const auto* step = std::get_if<msg::ShardStep>(&delivery.message)) {
    answer_on_strand(
        delivery.answer,
        [id = step->step, settled = step->settled, settings = step->settings,
         gradients = node_->contexts().gradients(step->context)](ShardWork& work) {
          work.part().settled(settled);
          return work.part().step(id, gradients.get(), settings);
        },
        when_told());
  } else if (const auto* query = std::get_if<msg::ShardQuery>(&delivery.message)) {
    strand_->run(
        [work = work_, by = NodeLife{delivery.from, delivery.incarnation}, query = *query, answer = delivery.answer] {
          work->asked(by, query, answer);
          work->go_on();
        },
        [answer = delivery.answer](const Error& error) { answer.fail(error); });
  } else if (const auto* abort = std::get_if<msg::ShardAbort>(&delivery.message)) {
    on_strand([step = abort->step](ShardWork& work) { work.part().abort(step); });
  }
}

void ShardState::prepare(const Delivery& delivery, const msg::ShardPrepare& message) {
  auto owners = owners_of(message, {node_->name(), node_->incarnation()});
  if (!owners) {
    return delivery.answer.fail(node_->error(ErrorCode::protocol_violation, node_->name(), "step",
                                             "the owners of a step are named in order, this one among them"));
  }
  answer_on_strand(delivery.answer, [step = message.step, settled = message.settled, settings = message.settings,
                                     owners = std::move(*owners),
                                     gradients = node_->contexts().gradients(message.context)](ShardWork& work) {
    work.part().settled(settled);
    return work.part().prepare(step, gradients.get(), owners, settings);
  });
}

/// Returns a reply that is sent when the holders of copies of the parameters have been notified (RR-10). The owners may
/// be busy.
ShardState::Reply ShardState::when_told() const {
  return [core = node_->shared_from_this(), parameters = parameters_](const ReturnAddress& answer,
                                                                      msg::AnyMessage stepped) {
    const auto told =
        std::make_shared<const WhenGone>([answer, stepped = std::move(stepped)] { answer.answer(stepped); });
    for (const RRefId& parameter : parameters) core->references().changed(parameter, told);
  };
}

void ShardState::on_strand(std::function<void(ShardWork&)> job) {
  if (!work_) return;
  run_surely(node_->weak_from_this(), strand_, [work = work_, job = std::move(job)] {
    job(*work);
    work->go_on();
  });
}

/// Answers with the result of `work`.
template <class Work>
void ShardState::answer_on_strand(const ReturnAddress& answer, Work work, const Reply& reply) {
  const auto fail = [answer, self = node_->self()](Error error) {
    if (error.peer.empty()) {
      error.peer = self.name;
      error.incarnation = self.incarnation;
    }
    error.operation = "step";
    error.execution = Execution::never;
    answer.fail(std::move(error));
  };
  const auto job = [shard = work_, work, answer, reply, fail] {
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
  strand_->run(job, fail);
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
