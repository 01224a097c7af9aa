#include "actors/contexts/contexts.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/calls/scope_state.h"
#include "actors/contexts/context_actor.h"
#include "actors/contexts/ended_contexts.h"
#include "actors/core/actor_directory.h"
#include "actors/core/guarded.h"
#include "actors/core/lives.h"
#include "actors/core/peer_accounts.h"
#include "actors/membership/membership.h"

namespace troupe::detail {
namespace {

thread_local const Contexts::PassHere* pass_of_thread = nullptr;  // used by its scoped guards only

bool is_maker(const NodeLife& life, const ContextId& id) {
  return id.creator == life.name && id.incarnation == life.incarnation.low;
}

}  // namespace

Contexts::PassHere::PassHere(const NodeCore& node, const ContextId& context) noexcept
    : node_(node), context_(context), outer_(std::exchange(pass_of_thread, this)) {}

Contexts::PassHere::~PassHere() { pass_of_thread = outer_; }

/// The context actors of one node, and the notifications after a context's end.
class Contexts::Directory {
 public:
  explicit Directory(NodeCore& node)
      : node_(node),
        actors_(
            node.lives(), [this](const ContextId& id) { return spawn(id); }, EndedContexts(node.name())) {}

  [[nodiscard]] NodeCore& node() const { return node_; }

  ContextId open() {
    const auto id = node_.id_of<ContextId>(next_serial_.fetch_add(1, std::memory_order_relaxed));
    if (!actors_.begin(id)) throw RemoteError(why_not(id).value_or(not_alive(id)));
    return id;
  }

  [[nodiscard]] ContextActor find(const ContextId& id) const { return actors_.find(id); }

  /// Returns the context's actor, made if it never was here; null if it has ended.
  [[nodiscard]] ContextActor enter(const ContextId& id) { return ask_in_doubt(id, actors_.enter(id)); }

  /// As enter, for a message to `peer`, which the context counts for if it is made now.
  [[nodiscard]] ContextActor enter_on_account(const ContextId& id, const NodeName& peer) {
    return ask_in_doubt(id, actors_.enter(id, last_life_of(peer), node_.accounts().contexts, Refusal::never));
  }

  /// As enter, for a message of `peer`. Errors: resource_exhausted if `peer` has brought as many contexts as it may.
  [[nodiscard]] Result<ContextActor> enter_for(const ContextId& id, const NodeName& peer) {
    auto entered = actors_.enter(id, last_life_of(peer), node_.accounts().contexts);
    if (entered.refused) return *entered.refused;
    return ask_in_doubt(id, std::move(entered));
  }

  /// As enter, for a message of `peer` that cannot be refused: it ends something, and may precede the call that it is
  /// about.
  [[nodiscard]] ContextActor enter_to_end(const ContextId& id, const NodeName& peer) {
    auto entered = actors_.enter(id, last_life_of(peer), node_.accounts().contexts, Refusal::never);
    if (entered.is_too_much) node_.give_up(last_life_of(peer), "it aborts more contexts than calls can bring");
    return ask_in_doubt(id, std::move(entered));
  }

  /// Notifies a peer that the context has ended, unless the peer knows.
  void tell_of_end(const ContextId& id, const NodeName& peer) const {
    if (peer != node_.name() && !actors_.stopped()) node_.notify(peer, "", msg::ContextReleased{id});
  }

  /// After a message that makes `peer` a participant: if the actor ended meanwhile, perhaps before that message came to
  /// it, it has not notified `peer`.
  void tell_if_ended(const ContextId& id, const ContextActor& actor, const NodeName& peer) const {
    if (!actors_.has(id, actor)) tell_of_end(id, peer);
  }

  /// Sends the context's actor a message that makes `peer` a participant.
  template <class Message>
  void enter_with(const ContextId& id, const NodeName& peer, Message&& message) {
    const auto present = node_.lives().up(peer);
    const ContextActor actor = enter_on_account(id, peer);
    if (!actor) return tell_of_end(id, peer);
    begin_with(actor, present, std::forward<Message>(message));
    tell_if_ended(id, actor, peer);
    if (const auto was_over = present ? std::nullopt : node_.lives().why_over(peer))
      end_unmet_of({peer, was_over->incarnation}, *was_over);
  }

  /// As above, for a message of `peer`. Returns the error if the message is refused.
  template <class Message>
  std::optional<Error> enter_with_word_of(const NodeName& peer, const ContextId& id, Message&& message) {
    const auto present = node_.lives().up(peer);
    const auto actor = enter_for(id, peer);
    if (!actor) return actor.error();
    if (actor.value()) {
      begin_with(actor.value(), present, std::forward<Message>(message));
      tell_if_ended(id, actor.value(), peer);
      const auto was_over = present ? std::nullopt : node_.lives().why_over(peer);  // its message was queued here
      if (was_over) {
        const NodeLife life{peer, was_over->incarnation};
        send(actor.value(), PeerDown{life, *was_over});
        end_unmet_of(life, *was_over);
      }
    } else {
      tell_of_end(id, peer);
    }
    return std::nullopt;
  }

  /// Returns whether the life that made the context is this node, or is up here.
  [[nodiscard]] bool is_creator_up(const ContextId& id) const {
    if (id.creator == node_.name()) return true;
    const auto creator = node_.lives().up(id.creator);
    return creator && is_maker({creator->name, creator->incarnation}, id);
  }

  /// Removes the context and remembers that it ended. Returns its actor; null if there was none.
  [[nodiscard]] ContextActor end(const ContextId& id) { return actors_.end(id); }

  /// As end, on the word of a node that did not make the context.
  [[nodiscard]] ContextActor end_in_doubt(const ContextId& id) { return actors_.end_in_doubt(id); }

  [[nodiscard]] std::vector<std::pair<ContextId, ContextActor>> end_created_by(const NodeLife& life) {
    return actors_.end_created_by(life);
  }

  /// A peer is gone. Ends the contexts that it brought here and whose creator was never here.
  void end_unmet_of(const NodeLife& peer, const Error& why) {
    for (const auto& [id, actor] : actors_.forget_unmet_of(peer)) end_by_death(id, actor, peer.name, why);
  }

  void end_by_death(const ContextId& id, const ContextActor& actor, const NodeName& peer, const Error& why) const {
    const Error error = ended_by_death(id, peer, why);
    send(actor, AbortContext{error, node_.name()});
    send(actor, StopContext{error});
  }

  [[nodiscard]] std::vector<ContextActor> stop(const Error& why) {
    actors_.refuse(why);
    return actors_.take_all();
  }

  /// Returns the error of a context without an actor; nullopt if it may never have been here.
  [[nodiscard]] std::optional<Error> why_not(const ContextId& id) const {
    if (auto stopped = actors_.stopped()) return stopped;
    if (actors_.has_ended(id)) return not_alive(id);
    return std::nullopt;
  }

  [[nodiscard]] std::vector<ContextActor> all() const { return actors_.all(); }
  /// Returns the actors of contexts with that text(). It lacks the creator's life: there may be several.
  [[nodiscard]] std::vector<ContextActor> all_named(std::string_view text) const {
    return actors_.all_of([&](const ContextId& id) { return id.text() == text; });
  }
  [[nodiscard]] std::size_t size() const { return actors_.size(); }

  [[nodiscard]] std::size_t passes() const { return static_cast<std::size_t>(passes_.load(std::memory_order_relaxed)); }
  void passes_changed(std::int64_t by) { passes_.fetch_add(by, std::memory_order_relaxed); }

  template <class Message>
  void send(const ContextActor& actor, Message&& message) const {
    if (actor) node_.host().send(actor, std::forward<Message>(message));
  }

  /// Sends the context's actor a request, made from the promise of its answer.
  template <class T, class MakeMessage>
  [[nodiscard]] Future<T> ask(const ContextId& id, const ContextActor& actor, MakeMessage make_message) const {
    Promise<T> promise(node_.future_home());
    const Future<T> future = promise.future();
    send(actor,
         make_message(std::make_shared<PromiseGuard<T>>(std::move(promise), why_not(id).value_or(not_alive(id)))));
    return future;
  }

 private:
  using Actors = ActorDirectory<ContextId, ContextActor, EndedContexts>;

  /// Returns the actor that was found or made. If the context may have ended here before, its creator is asked; without
  /// memory for that the node ends: the question is asked once.
  [[nodiscard]] ContextActor ask_in_doubt(const ContextId& id, Actors::Entered entered) const try {
    if (entered.in_doubt) node_.notify(id.creator, "", msg::ContextEntered{id});
    return std::move(entered.actor);
  } catch (const std::bad_alloc&) {
    node_.fail(failure_of_current_exception("a context"));
    return std::move(entered.actor);
  }

  /// Returns the life of the peer that is up, or was last.
  [[nodiscard]] NodeLife last_life_of(const NodeName& peer) const {
    const auto over = node_.lives().why_over(peer);
    return over ? NodeLife{peer, over->incarnation} : node_.membership().life_of(peer);
  }

  /// A peer that goes down meanwhile may have been looked for in the context before the actor knew of it: then the
  /// actor is notified again.
  template <class Message>
  void begin_with(const ContextActor& actor, const std::optional<Peer>& present, Message&& message) const {
    send(actor, std::forward<Message>(message));
    if (!present) return;
    const NodeLife life{present->name, present->incarnation};
    if (const auto why = node_.lives().why_over(life)) send(actor, PeerDown{life, *why});
  }

  [[nodiscard]] ContextActor spawn(const ContextId& id) {
    const ActorHost::Lost lost = [this, id](const Error& why) { this->lost(id, why); };
    return node_.host().spawn("the context", lost, context_actor, &node_, id);
  }

  /// The context's actor has ended without notifying any peer.
  void lost(const ContextId& id, const Error& why) noexcept {
    try {
      spdlog::error("[{}] {}: context {} is lost", node_.name(), why.text(), id.text());
      static_cast<void>(end(id));
      if (id.creator != node_.name()) node_.notify(id.creator, "", msg::ContextAborted{id, ended_by_failure(id, why)});
    } catch (const std::bad_alloc&) {
      node_.fail(copy_of(why));
    }
  }

  NodeCore& node_;
  Actors actors_;
  std::atomic<std::uint64_t> next_serial_{1};  // without gaps, so that tombstones stay few
  std::atomic<std::int64_t> passes_{0};        // over all contexts
};

Contexts::Contexts(NodeCore& node) : directory_(std::make_unique<Directory>(node)) {}
Contexts::~Contexts() = default;

ContextId Contexts::open() { return directory_->open(); }

void Contexts::release(const ContextId& context) {
  directory_->send(directory_->end(context), ReleaseContext{directory_->node().name()});
}

void Contexts::called(const ContextId& context, const NodeName& to) {
  directory_->enter_with(context, to, PeerJoined{to});
}

std::optional<Error> Contexts::joined(const ContextId& context, const NodeName& from) {
  return directory_->enter_with_word_of(from, context, PeerJoined{from});
}

std::optional<Error> Contexts::ended_for(const ScopeState& scope, const NodeName& to) const {
  const NodeCore& node = directory_->node();
  if (!scope.context || !scope.caller.empty() || node.stopped()) return std::nullopt;
  if (!is_maker({node.name(), node.incarnation()}, *scope.context)) return std::nullopt;
  auto error = directory_->why_not(*scope.context);
  if (!error) return error;
  error->peer = to;
  error->execution = Execution::never;
  error->hint = "its DistContext is gone, the scope is a copy: call through a node, or keep the DistContext";
  return error;
}

bool Contexts::has_ended(const ContextId& context) const { return directory_->why_not(context).has_value(); }

void Contexts::record_send(const ContextId& context, const BoundaryId& boundary, std::shared_ptr<const SendFn> send,
                           const NodeName& peer, std::string what) {
  directory_->enter_with(context, peer, SendRecorded{boundary, std::move(send), peer, std::move(what)});
}

void Contexts::received_from(const ContextId& context, const NodeName& peer) {
  if (directory_->find(context)) return;
  std::ignore = joined(context, peer);  // refused: this node has no call of the context to differentiate
}

void Contexts::attach(const ContextId& context, std::shared_ptr<GradientReducer> reducer) {
  directory_->send(directory_->enter(context), ReducerAttached{std::move(reducer)});
}

bool Contexts::is_in_pass(const ContextId& context) const {
  for (const PassHere* pass = pass_of_thread; pass != nullptr; pass = pass->outer_) {
    if (&pass->node_ == &directory_->node() && pass->context_ == context) return true;
  }
  return false;
}

void Contexts::backward(const ContextId& context, PassPlan plan, PassLimits limits, Promise<void> done) {
  const ContextActor actor = directory_->enter(context);
  auto answer =
      std::make_shared<PromiseGuard<void>>(std::move(done), directory_->why_not(context).value_or(not_alive(context)));
  directory_->send(actor, PassAsked{std::move(plan), std::move(limits), std::move(answer)});
}

Future<void> Contexts::alive(const ContextId& context) {
  const ContextActor actor = directory_->find(context);
  if (!actor && !directory_->why_not(context)) {
    const Promise<void> none(directory_->node().future_home());
    none.complete(Unit{});
    return none.future();
  }
  return directory_->ask<void>(
      context, actor, [](std::shared_ptr<PromiseGuard<void>> answer) { return AliveAsked{std::move(answer)}; });
}

Future<Gradients> Contexts::gradients(const ContextId& context) {
  const ContextActor actor = directory_->find(context);
  if (!actor && !directory_->why_not(context)) {
    Promise<Gradients> none(directory_->node().future_home());
    none.complete(Gradients());
    return none.future();
  }
  return directory_->ask<Gradients>(context, actor, [](std::shared_ptr<PromiseGuard<Gradients>> answer) {
    return GradientsAsked{std::move(answer)};
  });
}

Future<Tensor> Contexts::gradient(const ContextId& context, const Variable& leaf) {
  const ContextActor actor = directory_->find(context);
  if (!actor && !directory_->why_not(context)) {
    Promise<Tensor> none(directory_->node().future_home());
    none.complete(Tensor());
    return none.future();
  }
  return directory_->ask<Tensor>(context, actor, [&](std::shared_ptr<PromiseGuard<Tensor>> answer) {
    return GradientAsked{leaf, std::move(answer)};
  });
}

Future<UnusedHere> Contexts::unused(const ContextId& context, const std::optional<PassId>& pass) {
  return directory_->ask<UnusedHere>(context, directory_->find(context),
                                     [&](std::shared_ptr<PromiseGuard<UnusedHere>> answer) {
                                       return UnusedAsked{pass, std::move(answer)};
                                     });
}

void Contexts::handle(const NodeLife& from, const msg::ContextReleased& released) {
  const ContextId& id = released.context;
  // A peer that has forgotten one of this node's contexts ends it for all: only the creator releases it.
  if (id.creator == directory_->node().name())
    return directory_->send(directory_->find(id), AbortContext{not_alive(id), from.name});
  // What is remembered of ended contexts is their serials: a guess must not end the context whose serial it has.
  directory_->send(is_maker(from, id) ? directory_->end(id) : directory_->end_in_doubt(id), ReleaseContext{from.name});
}

void Contexts::handle(const NodeLife& from, const msg::ContextAborted& aborted) {
  const ContextId& id = aborted.context;
  // A creator that lives will release the context: until then this node must know that it was aborted (CX-4).
  const bool creator_died = aborted.error.peer == id.creator && !directory_->is_creator_up(id);
  const ContextActor actor = creator_died ? directory_->end_in_doubt(id) : directory_->enter_to_end(id, from.name);
  if (!actor && !creator_died) directory_->tell_of_end(id, from.name);
  directory_->send(actor, AbortContext{aborted.error, from.name});
  if (actor && !creator_died) directory_->tell_if_ended(id, actor, from.name);
  if (creator_died) directory_->send(actor, StopContext{aborted.error});
}

void Contexts::handle(const NodeLife& from, const msg::ContextEntered& entered) {
  std::ignore = joined(entered.context, from.name);
}

void Contexts::mark(const ContextId& context, Delivery delivery) {
  const auto entered = directory_->enter_for(context, delivery.from);
  if (!entered) return delivery.answer.fail(entered.error());
  if (!entered.value()) return delivery.answer.fail(directory_->why_not(context).value_or(not_alive(context)));
  directory_->send(entered.value(), ContextMessage{std::move(delivery)});
}

void Contexts::hand_on(const ContextId& context, Delivery delivery) {
  directory_->send(directory_->find(context), ContextMessage{std::move(delivery)});
}

bool Contexts::word_lost(std::string_view actor, const NodeLife& from, const Error& why) {
  const std::string contexts = directory_->node().name() + "/context/";
  if (!actor.starts_with(contexts)) return false;
  actor.remove_prefix(contexts.size());
  for (const ContextActor& each : directory_->all_named(actor)) directory_->send(each, WordLost{from, why});
  return true;
}

void Contexts::peer_down(const Peer& peer, const Error& why) {
  const NodeLife life{peer.name, peer.incarnation};
  for (const auto& [id, actor] : directory_->end_created_by(life)) directory_->end_by_death(id, actor, peer.name, why);
  directory_->end_unmet_of(life, why);
  for (const ContextActor& actor : directory_->all()) directory_->send(actor, PeerDown{life, why});
}

void Contexts::stop(const Error& why) {
  for (const ContextActor& actor : directory_->stop(why)) directory_->send(actor, StopContext{why});
}

void Contexts::list(const Query<OpenContext>::ReplySlot& slot) const {
  for (const ContextActor& actor : directory_->all()) directory_->send(actor, DescribeContext{slot});
}

std::size_t Contexts::passes() const { return directory_->passes(); }

void Contexts::passes_changed(std::int64_t by) { directory_->passes_changed(by); }

std::size_t Contexts::size() const { return directory_->size(); }

void Contexts::tell(const ContextId& context, ContextNews news) {
  directory_->send(directory_->find(context), std::move(news));
}

}  // namespace troupe::detail
