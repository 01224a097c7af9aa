#include "actors/shard_actor.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "actors/contexts.h"
#include "actors/references.h"
#include "actors/shards.h"
#include "actors/update_rule.h"
#include "actors/variables_of.h"
#include "tensor/error.h"

namespace troupe::detail {

void ShardState::begin(NodeCore& node, std::shared_ptr<Strand> strand, OptimizerId optimizer) {
  node_ = &node;
  strand_ = std::move(strand);
  optimizer_ = std::move(optimizer);
}

bool ShardState::handle(const Delivery& delivery) {
  if (const auto* create = std::get_if<msg::ShardCreate>(&delivery.message); create != nullptr && !created_) {
    this->create(delivery, *create);
    return true;
  }
  if (std::holds_alternative<msg::ShardReleased>(delivery.message)) {
    Error gone;
    gone.code = ErrorCode::cancelled;
    gone.message = "the optimizer was released";
    stop(own_error(std::move(gone)));
    return false;
  }
  if (failure_) {
    delivery.answer.fail(*failure_);
  } else if (!part_) {
    parked_.push_back(delivery);
  } else {
    serve(delivery);
  }
  return true;
}

void ShardState::create(const Delivery& delivery, const msg::ShardCreate& message) {
  created_ = true;
  parked_.push_back(delivery);
  auto rule = make_rule({message.rule, message.options});
  if (!rule) return found(rule.error());
  rule_ = std::move(rule).value();
  parameters_ = message.parameters;
  variables_of(*node_, message.parameters, [node = node_->weak_from_this(), optimizer = optimizer_](auto found) {
    if (const auto core = node.lock()) core->shards().found(optimizer, std::move(found));
  });
}

void ShardState::found(Result<std::vector<Variable>> parameters) {
  if (parameters) {
    try {
      part_ = std::make_shared<ShardPart>(std::move(rule_), std::move(parameters).value());
    } catch (const TensorError& error) {
      failure_ = own_error(node_->error(ErrorCode::bad_argument, node_->name(), {}, error.what()));
    }
  } else {
    failure_ = own_error(parameters.error());
  }
  for (const Delivery& delivery : std::exchange(parked_, {})) std::ignore = handle(delivery);
}

void ShardState::stop(const Error& why) {
  for (const Delivery& delivery : std::exchange(parked_, {})) delivery.answer.fail(why);
}

void ShardState::fail(Error why) {
  try {
    spdlog::error("[{}] {}: the shard of optimizer {} is lost", node_->name(), why.text(), optimizer_.text());
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
    delivery.answer.answer(msg::ShardCreated{optimizer_});
  } else if (const auto* prepare = std::get_if<msg::ShardPrepare>(&delivery.message)) {
    on_strand(delivery.answer, [step = prepare->step, gradients = node_->contexts().gradients(prepare->context)](ShardPart& part) {
      return part.prepare(step, gradients.get());
    });
  } else if (const auto* commit = std::get_if<msg::ShardCommit>(&delivery.message)) {
    on_strand(delivery.answer, [step = commit->step](ShardPart& part) { return part.commit(step); }, when_told());
  } else if (const auto* step = std::get_if<msg::ShardStep>(&delivery.message)) {
    on_strand(delivery.answer, [id = step->step, gradients = node_->contexts().gradients(step->context)](ShardPart& part) {
      return part.step(id, gradients.get());
    }, when_told());
  } else if (const auto* query = std::get_if<msg::ShardQuery>(&delivery.message)) {
    on_strand(delivery.answer, [step = query->step](ShardPart& part) { return Result(part.outcome(step)); });
  } else if (const auto* abort = std::get_if<msg::ShardAbort>(&delivery.message)) {
    on_strand(delivery.answer, [step = abort->step](ShardPart& part) {
      part.abort(step);
      return Result(part.outcome(step));
    });
  }
}

/// Answers when who holds copies of the parameters has been told that they changed (RR-10). Their owners may be at work.
ShardState::Reply ShardState::when_told() const {
  return [core = node_->shared_from_this(), parameters = parameters_](const ReturnAddress& answer, msg::AnyMessage stepped) {
    const auto told = std::make_shared<const WhenGone>([answer, stepped = std::move(stepped)] { answer.answer(stepped); });
    for (const RRefId& parameter : parameters) core->references().changed(parameter, told);
  };
}

/// Answers with the result of `work`.
template <class Work>
void ShardState::on_strand(const ReturnAddress& answer, Work work, const Reply& reply) {
  const auto fail = [answer, self = node_->self()](Error error) {
    if (error.peer.empty()) {
      error.peer = self.name;
      error.incarnation = self.incarnation;
    }
    error.operation = "step";
    error.execution = Execution::never;
    answer.fail(std::move(error));
  };
  const auto job = [part = part_, work, answer, reply, fail] {
    try {
      auto result = work(*part);
      if (!result) return fail(result.error());
      reply(answer, std::move(result).value());
    } catch (const RemoteError& error) {  // the context has ended
      fail(error.error());
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
  return guarded<ShardActor::behavior_type>(
      "the shard", [&state](Error why) { state.fail(std::move(why)); },
      [self, &state](const ShardWordCame& m) {
        if (!state.handle(m.delivery)) self->quit();
      },
      [&state](ParametersFound& m) { state.found(std::move(m.parameters)); },
      [self, &state](const StopShard& m) {
        self->quit();
        state.stop(m.why);
      });
}

}  // namespace troupe::detail
