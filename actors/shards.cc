#include "actors/shards.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <unordered_map>
#include <utility>

#include "actors/shard_actor.h"

namespace troupe::detail {

/// Finds shard actors by optimizer. Nothing is sent while the mutex is held: a receiver may run at once.
class Shards::Directory {
 public:
  explicit Directory(NodeCore& node)
      : node_(node), strand_(std::make_shared<Strand>(node.future_home().executor, "optimizer step")) {}

  [[nodiscard]] NodeCore& node() const { return node_; }

  [[nodiscard]] ShardActor find(const OptimizerId& id) const {
    std::lock_guard lock(mutex_);
    const auto at = live_.find(id);
    return at == live_.end() ? ShardActor() : at->second;
  }

  /// Null after `stop`.
  [[nodiscard]] ShardActor find_or_make(const OptimizerId& id) {
    std::lock_guard lock(mutex_);
    if (stopped_) return {};
    ShardActor& actor = live_[id];
    const ActorHost::Lost lost = [this, id](const Error& why) {
      spdlog::error("[{}] {}: the shard of optimizer {} is lost", node_.name(), why.text(), id.text());
      static_cast<void>(end(id));
    };
    if (!actor) actor = node_.host().spawn("the shard", lost, shard_actor, &node_, strand_, id);
    return actor;
  }

  [[nodiscard]] ShardActor end(const OptimizerId& id) {
    std::lock_guard lock(mutex_);
    auto at = live_.extract(id);
    return at.empty() ? ShardActor() : std::move(at.mapped());
  }

  [[nodiscard]] std::vector<ShardActor> end_created_by(const Peer& peer) {
    std::lock_guard lock(mutex_);
    std::vector<ShardActor> ended;
    for (auto at = live_.begin(); at != live_.end();) {
      const auto current = at++;
      if (current->first.creator != peer.name || current->first.incarnation != peer.incarnation.low) continue;
      ended.push_back(std::move(current->second));
      live_.erase(current);
    }
    return ended;
  }

  [[nodiscard]] std::vector<ShardActor> stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    std::vector<ShardActor> ended;
    for (auto& [id, actor] : live_) ended.push_back(std::move(actor));
    live_.clear();
    return ended;
  }

  [[nodiscard]] std::size_t size() const {
    std::lock_guard lock(mutex_);
    return live_.size();
  }

  template <class Message>
  void send(const ShardActor& actor, Message&& message) const {
    if (actor) node_.host().send(actor, std::forward<Message>(message));
  }

 private:
  NodeCore& node_;
  const std::shared_ptr<Strand> strand_;  // the parameter lock: steps of all shards go through it
  mutable std::mutex mutex_;
  std::unordered_map<OptimizerId, ShardActor> live_;
  bool stopped_ = false;
};

Shards::Shards(NodeCore& node) : directory_(std::make_unique<Directory>(node)) {}
Shards::~Shards() = default;

void Shards::handle(Delivery delivery) {
  const auto optimizer = std::visit(
      [](const auto& message) -> std::optional<OptimizerId> {
        if constexpr (requires { message.optimizer; }) return message.optimizer;
        return std::nullopt;
      },
      delivery.message);
  if (!optimizer) return;
  ShardActor actor;
  if (std::holds_alternative<msg::ShardCreate>(delivery.message)) {
    actor = directory_->find_or_make(*optimizer);
  } else if (std::holds_alternative<msg::ShardReleased>(delivery.message)) {
    actor = directory_->end(*optimizer);
  } else {
    actor = directory_->find(*optimizer);
  }
  if (actor) return directory_->send(actor, ShardWordCame{std::move(delivery)});
  if (const auto* query = std::get_if<msg::ShardQuery>(&delivery.message)) {
    return delivery.answer.answer(msg::ShardOutcome{query->step, msg::StepState::unknown, 0});
  }
  const NodeCore& node = directory_->node();
  Error error = node.error(ErrorCode::step_not_applied, node.name(), "step",
                           fmt::format("optimizer {} has no shard on {}", optimizer->text(), node.name()));
  error.execution = Execution::never;
  delivery.answer.fail(std::move(error));
}

void Shards::peer_down(const Peer& peer, const Error& why) {
  for (const ShardActor& actor : directory_->end_created_by(peer)) directory_->send(actor, StopShard{why});
}

void Shards::stop(const Error& why) {
  for (const ShardActor& actor : directory_->stop()) directory_->send(actor, StopShard{why});
}

std::size_t Shards::size() const { return directory_->size(); }

void Shards::found(const OptimizerId& optimizer, Result<std::vector<Variable>> parameters) {
  directory_->send(directory_->find(optimizer), ParametersFound{std::move(parameters)});
}

}  // namespace troupe::detail
