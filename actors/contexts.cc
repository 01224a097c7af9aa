#include "actors/contexts.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/context_actor.h"
#include "actors/ended_contexts.h"

namespace troupe::detail {

/// Finds context actors by id. Nothing is sent while the mutex is held: a receiver may run at once.
class Contexts::Directory {
 public:
  explicit Directory(NodeCore& node) : node_(node) {}

  [[nodiscard]] NodeCore& node() const { return node_; }

  ContextId open() {
    std::lock_guard lock(mutex_);
    if (stopped_) throw RemoteError(*stopped_);
    const ContextId id{node_.name(), node_.incarnation().low, next_serial_++};
    live_.emplace(id, spawn(id));
    return id;
  }

  [[nodiscard]] ContextActor find(const ContextId& id) const {
    std::lock_guard lock(mutex_);
    const auto at = live_.find(id);
    return at == live_.end() ? ContextActor() : at->second;
  }

  /// The context's actor, made if it never was here; null if it has ended.
  [[nodiscard]] ContextActor enter(const ContextId& id) {
    std::lock_guard lock(mutex_);
    if (const auto at = live_.find(id); at != live_.end()) return at->second;
    if (stopped_ || has_ended(id)) return {};
    return live_.emplace(id, spawn(id)).first->second;
  }

  /// The same for what concerns `peer`: a peer that does not know yet that the context has ended is told.
  [[nodiscard]] ContextActor enter(const ContextId& id, const NodeName& peer) {
    ContextActor actor = enter(id);
    if (!actor && peer != node_.name() && !stopped()) node_.notify(peer, "", msg::ContextReleased{id});
    return actor;
  }

  /// Forgets the context and remembers that it ended; null if it was not alive here.
  [[nodiscard]] ContextActor end(const ContextId& id) {
    std::lock_guard lock(mutex_);
    if (id.creator != node_.name()) ended_.add(id);
    const auto at = live_.find(id);
    if (at == live_.end()) return {};
    ContextActor actor = std::move(at->second);
    live_.erase(at);
    return actor;
  }

  struct OnDeath {
    std::vector<std::pair<ContextId, ContextActor>> orphans;  ///< whose creator it was
    std::vector<ContextActor> others;
  };
  [[nodiscard]] OnDeath on_death(const Peer& peer) {
    OnDeath result;
    std::lock_guard lock(mutex_);
    ended_.drop_creator(peer.name, peer.incarnation.low);
    for (auto at = live_.begin(); at != live_.end();) {
      const ContextId& id = at->first;
      if (id.creator == peer.name && id.incarnation == peer.incarnation.low) {
        result.orphans.emplace_back(id, std::move(at->second));
        at = live_.erase(at);
      } else {
        result.others.push_back(at->second);
        ++at;
      }
    }
    return result;
  }

  [[nodiscard]] std::vector<ContextActor> stop(const Error& why) {
    std::lock_guard lock(mutex_);
    if (!stopped_) stopped_ = why;
    std::vector<ContextActor> actors;
    for (auto& [id, actor] : live_) actors.push_back(std::move(actor));
    live_.clear();
    return actors;
  }

  [[nodiscard]] bool stopped() const {
    std::lock_guard lock(mutex_);
    return stopped_.has_value();
  }

  /// Why nothing can be asked of a context that is not alive here; nothing if it may never have been here.
  [[nodiscard]] std::optional<Error> why_not(const ContextId& id) const {
    std::lock_guard lock(mutex_);
    if (stopped_) return stopped_;
    if (has_ended(id)) return not_alive(id);
    return std::nullopt;
  }

  [[nodiscard]] std::vector<ContextActor> all() const {
    std::lock_guard lock(mutex_);
    std::vector<ContextActor> actors;
    for (const auto& [id, actor] : live_) actors.push_back(actor);
    return actors;
  }

  [[nodiscard]] std::size_t size() const {
    std::lock_guard lock(mutex_);
    return live_.size();
  }

  [[nodiscard]] std::size_t passes() const { return static_cast<std::size_t>(passes_.load(std::memory_order_relaxed)); }
  void passes_changed(std::int64_t by) { passes_.fetch_add(by, std::memory_order_relaxed); }

  template <class Message>
  void send(const ContextActor& actor, Message&& message) const {
    if (actor) node_.host().send(actor, std::forward<Message>(message));
  }

  /// Asks the context's actor with a message made from the answer's place.
  template <class T, class MakeMessage>
  [[nodiscard]] Future<T> ask(const ContextId& id, const ContextActor& actor, MakeMessage make_message) const {
    Promise<T> promise(node_.future_home());
    const Future<T> future = promise.future();
    send(actor, make_message(std::make_shared<Asked<T>>(std::move(promise), why_not(id).value_or(not_alive(id)))));
    return future;
  }

 private:
  [[nodiscard]] bool has_ended(const ContextId& id) const { return id.creator == node_.name() || ended_.contains(id); }
  [[nodiscard]] ContextActor spawn(const ContextId& id) {
    const ActorHost::Lost lost = [this, id](const Error& why) { this->lost(id, why); };
    return node_.host().spawn("the context", lost, context_actor, &node_, id);
  }

  /// The context's actor has ended without having told anybody.
  void lost(const ContextId& id, const Error& why) {
    spdlog::error("[{}] {}: context {} is lost", node_.name(), why.text(), id.text());
    static_cast<void>(end(id));
    if (id.creator != node_.name()) node_.notify(id.creator, "", msg::ContextAborted{id, why});
  }

  NodeCore& node_;
  mutable std::mutex mutex_;
  std::unordered_map<ContextId, ContextActor> live_;
  EndedContexts ended_;            // of other creators; our own that are not live have ended
  std::uint64_t next_serial_ = 1;  // without gaps, so that tombstones stay few
  std::optional<Error> stopped_;
  std::atomic<std::int64_t> passes_{0};  // over all contexts
};

Contexts::Contexts(NodeCore& node) : directory_(std::make_unique<Directory>(node)) {}
Contexts::~Contexts() = default;

ContextId Contexts::open() { return directory_->open(); }

void Contexts::release(const ContextId& context) {
  directory_->send(directory_->end(context), ReleaseContext{directory_->node().name()});
}

void Contexts::called(const ContextId& context, const NodeName& to) {
  directory_->send(directory_->enter(context, to), PeerJoined{to});
}

void Contexts::joined(const ContextId& context, const NodeName& from) {
  directory_->send(directory_->enter(context, from), PeerJoined{from});
}

void Contexts::record_send(const ContextId& context, const BoundaryId& boundary, std::shared_ptr<const SendFn> send,
                           const NodeName& peer) {
  directory_->send(directory_->enter(context, peer), SendRecorded{boundary, std::move(send), peer});
}

void Contexts::record_recv(const ContextId& context, const BoundaryId&, const std::shared_ptr<const RecvFn>&,
                           const NodeName& peer) {
  directory_->send(directory_->enter(context, peer), PeerJoined{peer});
}

Future<void> Contexts::backward(const ContextId& context, PassRoots roots, std::optional<TimePoint> due) {
  const auto pass = directory_->node().next_id<PassId>();
  return directory_->ask<void>(context, directory_->enter(context), [&](std::shared_ptr<Asked<void>> answer) {
    return PassAsked{pass, std::move(roots), due, std::move(answer)};
  });
}

Future<Gradients> Contexts::gradients(const ContextId& context) {
  const ContextActor actor = directory_->find(context);
  if (!actor && !directory_->why_not(context)) {
    Promise<Gradients> none(directory_->node().future_home());
    none.complete(Gradients());
    return none.future();
  }
  return directory_->ask<Gradients>(
      context, actor, [](std::shared_ptr<Asked<Gradients>> answer) { return GradientsAsked{std::move(answer)}; });
}

Future<Tensor> Contexts::gradient(const ContextId& context, const Variable& leaf) {
  const ContextActor actor = directory_->find(context);
  if (!actor && !directory_->why_not(context)) {
    Promise<Tensor> none(directory_->node().future_home());
    none.complete(Tensor());
    return none.future();
  }
  return directory_->ask<Tensor>(
      context, actor, [&](std::shared_ptr<Asked<Tensor>> answer) { return GradientAsked{leaf, std::move(answer)}; });
}

void Contexts::handle(Delivery delivery) {
  const NodeName from = delivery.from;
  if (const auto* released = std::get_if<msg::ContextReleased>(&delivery.message)) {
    const ContextId id = released->context;
    // A peer that has forgotten a context of ours ends it for everybody; its creator alone releases it.
    if (id.creator == directory_->node().name()) return directory_->send(directory_->find(id), AbortContext{not_alive(id), from});
    return directory_->send(directory_->end(id), ReleaseContext{from});
  }
  if (const auto* aborted = std::get_if<msg::ContextAborted>(&delivery.message)) {
    const ContextId id = aborted->context;
    const bool creator_died = aborted->error.peer == id.creator && id.creator != directory_->node().name();
    const ContextActor actor = creator_died ? directory_->end(id) : directory_->enter(id, from);
    directory_->send(actor, AbortContext{aborted->error, from});
    if (creator_died) directory_->send(actor, StopContext{aborted->error});
    return;
  }
  if (const auto* mark = std::get_if<msg::BackwardMark>(&delivery.message)) {
    const ContextActor actor = directory_->enter(mark->context);
    if (!actor) return delivery.answer.fail(directory_->why_not(mark->context).value_or(not_alive(mark->context)));
    return directory_->send(actor, WordCame{std::move(delivery)});
  }
  const auto context = std::visit(
      [](const auto& message) -> std::optional<ContextId> {
        if constexpr (requires { message.pass; message.context; }) return message.context;
        return std::nullopt;
      },
      delivery.message);
  if (context) directory_->send(directory_->find(*context), WordCame{std::move(delivery)});
}

void Contexts::peer_down(const Peer& peer, const Error& why) {
  const Directory::OnDeath death = directory_->on_death(peer);
  for (const auto& [id, actor] : death.orphans) {
    const Error error = ended_by_death(id, peer.name, why);
    directory_->send(actor, AbortContext{error, directory_->node().name()});
    directory_->send(actor, StopContext{error});
  }
  for (const ContextActor& actor : death.others) directory_->send(actor, PeerGone{peer.name, why});
}

void Contexts::stop(const Error& why) {
  for (const ContextActor& actor : directory_->stop(why)) directory_->send(actor, StopContext{why});
}

void Contexts::list(const Survey<OpenContext>::Form& form) const {
  for (const ContextActor& actor : directory_->all()) directory_->send(actor, DescribeContext{form});
}

std::size_t Contexts::passes() const { return directory_->passes(); }

void Contexts::passes_changed(std::int64_t by) { directory_->passes_changed(by); }

std::size_t Contexts::size() const { return directory_->size(); }

void Contexts::tell(const ContextId& context, ContextNews news) { directory_->send(directory_->find(context), std::move(news)); }

}  // namespace troupe::detail
