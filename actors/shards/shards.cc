#include "actors/shards/shards.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "actors/calls/serve.h"
#include "actors/core/actor_directory.h"
#include "actors/core/lives.h"
#include "actors/core/peer_accounts.h"
#include "actors/shards/ended_shards.h"
#include "actors/shards/shard_actor.h"
#include "actors/shards/shared_shard.h"

namespace troupe::detail {

class Shards::Directory {
 public:
  explicit Directory(NodeCore& node)
      : node_(node),
        strand_(std::make_shared<Strand>(node.future_home().executor, "optimizer step")),
        actors_(
            node.lives(), [this](const OptimizerId& id) { return spawn(id); }, EndedShards(node.name())) {}

  [[nodiscard]] NodeCore& node() const { return node_; }
  using Actors = ActorDirectory<OptimizerId, ShardActor, EndedShards>;
  [[nodiscard]] Actors& actors() { return actors_; }

  template <class Message>
  void send(const ShardActor& actor, Message&& message) const {
    if (actor) node_.host().send(actor, std::forward<Message>(message));
  }

  void keep(const OptimizerId& optimizer, const std::shared_ptr<SharedShard>& shared) {
    const std::lock_guard lock(mutex_);
    shared_[optimizer] = shared;
  }

  [[nodiscard]] std::shared_ptr<SharedShard> shared_by(const OptimizerId& optimizer) const {
    const std::lock_guard lock(mutex_);
    const auto found = shared_.find(optimizer);
    return found == shared_.end() ? nullptr : found->second.lock();
  }

  /// Runs `job` on the strand. It is left out if the pool has no thread for it, or if the shard has ended.
  void on_parameters(const OptimizerId& optimizer, std::function<void(ShardParameters&)> job) const {
    auto shared = shared_by(optimizer);
    if (!shared) return;
    strand_->run([shared = std::move(shared), job = std::move(job)] { job(shared->parameters); }, [](const Error&) {});
  }

  /// Ends the shard's entries. Returns its actor.
  [[nodiscard]] ShardActor end(const OptimizerId& optimizer) {
    {
      const std::lock_guard lock(mutex_);
      shared_.erase(optimizer);
    }
    return actors_.remove(optimizer);
  }

  [[nodiscard]] Error no_shard(const OptimizerId& optimizer, const char* operation) const {
    Error error = node_.error(ErrorCode::step_not_applied, node_.name(), operation,
                              fmt::format("optimizer {} has no shard on {}", optimizer.text(), node_.name()));
    error.execution = Execution::never;
    return error;
  }
  void no_shard(const OptimizerId& optimizer, const Delivery& delivery) const {
    delivery.answer.fail(no_shard(optimizer, "step"));
  }

  [[nodiscard]] Future<void> read(const OptimizerId& optimizer,
                                  std::function<void(const ShardParameters&)> read) const {
    const Promise<void> done(node_.future_home());
    if (auto shared = shared_by(optimizer)) {
      strand_->run(
          [shared = std::move(shared), read = std::move(read), done] {
            read(shared->parameters);
            done.complete(Unit{});
          },
          [done](const Error& error) { done.complete(error); });
    } else {
      done.complete(no_shard(optimizer, "save state"));
    }
    return done.future();
  }

 private:
  [[nodiscard]] ShardActor spawn(const OptimizerId& id) {
    const ActorHost::Lost lost = [this, id](const Error& why) {
      spdlog::error("[{}] {}: the shard of optimizer {} is lost", node_.name(), why.text(), id.text());
      static_cast<void>(end(id));
    };
    return node_.host().spawn("the shard", lost, shard_actor, &node_, strand_, id);
  }

  NodeCore& node_;
  const std::shared_ptr<Strand> strand_;  // the parameter lock: steps of all shards go through it
  Actors actors_;
  mutable std::mutex mutex_;
  std::map<OptimizerId, std::weak_ptr<SharedShard>> shared_;  // guarded by mutex_; of each shard
};

Shards::Shards(NodeCore& node) : directory_(std::make_unique<Directory>(node)) {}
Shards::~Shards() = default;

void Shards::create(const OptimizerId& optimizer, Delivery delivery) {
  if (refuse_without(ValueRight::owns, directory_->node(), delivery, "optimizer")) return;
  const NodeLife maker{delivery.from, delivery.incarnation};
  auto entered = directory_->actors().enter(optimizer, maker, directory_->node().accounts().shards);
  if (entered.refused) return delivery.answer.fail(*std::move(entered.refused));
  if (!entered.actor) return directory_->no_shard(optimizer, delivery);
  directory_->send(entered.actor, ShardMessage{std::move(delivery)});
}

void Shards::join(const OptimizerId& optimizer, Delivery delivery) { create(optimizer, std::move(delivery)); }

void Shards::query(const OptimizerId& optimizer, const StepId& step, Delivery delivery) {
  const ShardActor actor = directory_->actors().find(optimizer);
  if (actor) return directory_->send(actor, ShardMessage{std::move(delivery)});
  delivery.answer.answer(msg::ShardOutcome{step, msg::StepState::unknown, 0});
}

void Shards::hand_on(const OptimizerId& optimizer, Delivery delivery) {
  const bool reads = delivery.message.holds<msg::ShardSave>();
  if (reads && refuse_without(ValueRight::reads, directory_->node(), delivery, "save state")) return;
  const ShardActor actor = directory_->actors().find(optimizer);
  if (actor) return directory_->send(actor, ShardMessage{std::move(delivery)});
  // It may have overtaken the message that makes the shard.
  if (delivery.message.holds<msg::ShardReleased>()) directory_->actors().end(optimizer);
  directory_->no_shard(optimizer, delivery);
}

void Shards::peer_down(const Peer& peer, const Error& why) {
  const NodeLife life{peer.name, peer.incarnation};
  directory_->actors().creator_gone(life);
  for (const ShardActor& actor : directory_->actors().created_by(life)) directory_->send(actor, DriverGone{why});
}

void Shards::stop(const Error& why) {
  directory_->actors().refuse(why);
  for (const ShardActor& actor : directory_->actors().take_all()) directory_->send(actor, StopShard{why});
}

std::size_t Shards::size() const { return directory_->actors().size(); }

void Shards::keep(const OptimizerId& optimizer, const std::shared_ptr<SharedShard>& shared) {
  directory_->keep(optimizer, shared);
}

std::shared_ptr<SharedShard> Shards::shared_by(const OptimizerId& optimizer) const {
  return directory_->shared_by(optimizer);
}

void Shards::prepare_early(const OptimizerId& optimizer, const ContextId& context, const msg::StepSettings& settings,
                           const Variable& leaf, const Tensor& gradient) {
  directory_->on_parameters(
      optimizer, [=](ShardParameters& parameters) { parameters.prepare_early(context, settings, leaf, gradient); });
}

void Shards::drop_early(const OptimizerId& optimizer, const ContextId& context) {
  directory_->on_parameters(optimizer, [=](ShardParameters& parameters) { parameters.drop_early(context); });
}

Future<void> Shards::read(const OptimizerId& optimizer, std::function<void(const ShardParameters&)> read) const {
  return directory_->read(optimizer, std::move(read));
}

void Shards::found(const OptimizerId& optimizer, Result<std::vector<Variable>> parameters) {
  directory_->send(directory_->actors().find(optimizer), ParametersFound{std::move(parameters)});
}

void Shards::answered(const OptimizerId& optimizer, OwnerAnswered answer) {
  directory_->send(directory_->actors().find(optimizer), std::move(answer));
}

void Shards::try_again(const OptimizerId& optimizer, std::optional<StepLedger::Question> question, Duration pause) {
  NodeCore& node = directory_->node();
  node.clock().at(node.clock().now() + pause,
                  [weak = node.weak_from_this(), optimizer, question = std::move(question)] {
                    const auto core = weak.lock();
                    if (!core) return;
                    Directory& directory = *core->shards().directory_;
                    directory.send(directory.actors().find(optimizer), TryAgain{question});
                  });
}

void Shards::over(const OptimizerId& optimizer) { directory_->send(directory_->end(optimizer), StopShard{}); }

}  // namespace troupe::detail
