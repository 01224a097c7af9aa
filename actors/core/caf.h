// The only file that depends on the version of CAF (0.17) and on how actors are scheduled. For .cc files only.
//
// Actors run where the message arrives: the sending thread also runs the receiver. If another thread is running the
// receiver already, that thread takes the message. So a chain link -> router -> worker needs no wake-up. The
// simulator's host gives every step to its world instead.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/execution_unit.hpp>
#include <caf/logger.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>
#include <caf/spawn_options.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "actors/core/guarded.h"

namespace troupe::detail {

/// Removes CAF's reference to a system's logger from this thread. CAF leaves one on each thread that makes the system
/// or spawns in it, and the system's destructor waits until all are gone: they must not stay on threads that outlive
/// the system.
inline void forget_system_on_this_thread() { caf::logger::set_current_actor_system(nullptr); }

/// The least time that the actors of an ending node get to handle the messages in their mailboxes.
inline constexpr std::chrono::seconds kActorsEnd{1};

/// A message with the memory that its delivery takes, so that sending it cannot fail.
template <class Message>
class Prepared {
 public:
  /// Throws std::bad_alloc.
  explicit Prepared(Message message)
      : element_(caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, std::move(message))) {}

  /// To be filled in. REQUIRES: it was not sent.
  [[nodiscard]] Message& message() { return element_->content().template get_mutable_as<Message>(0); }

 private:
  friend class ActorHost;
  caf::mailbox_element_ptr element_;
};

/// One node's actors, and how they run. Thread rule: any thread may call any member but stop().
class ActorHost {
 public:
  virtual ~ActorHost() = default;

  [[nodiscard]] virtual caf::actor_system& system() = 0;

  /// Delivers `message` to `actor`, which runs inside send or, if another thread is running it, on that thread. A
  /// message to an ended actor is dropped. Throws std::bad_alloc if there is no memory for the message, which is then
  /// not sent; exceptions of the actor do not reach the sender.
  /// REQUIRES: the caller holds no lock: the receiver may run on this thread, inside send.
  template <class Handle, class Message>
  void send(const Handle& actor, Message&& message) {
    enqueue(caf::actor_cast<caf::strong_actor_ptr>(actor),
            caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, std::forward<Message>(message)));
  }

  /// As above, without a failure. REQUIRES: `message` was not sent.
  template <class Handle, class Message>
  void send_prepared(const Handle& actor, Prepared<Message> message) {
    enqueue(caf::actor_cast<caf::strong_actor_ptr>(actor), std::move(message.element_));
  }

  /// Called with the reason if an actor ends without having been told to.
  using Lost = std::function<void(Error why)>;

  /// Spawns a typed actor that first runs when its first message arrives. Its handlers are guarded (core/guarded.h). An
  /// exception that escapes all the same, from its constructor or from CAF, ends it, and `lost` is called. `what` is a
  /// literal.
  template <class Behavior, class... Args>
  auto spawn(std::string_view what, Lost lost, Behavior behavior, Args&&... args) {
    auto actor = system().template spawn<caf::lazy_init>(behavior, std::forward<Args>(args)...);
    forget_system_on_this_thread();
    watch(caf::actor_cast<caf::abstract_actor*>(actor), what, std::move(lost));
    return actor;
  }

  /// Waits for all actors to end: until `due`, but at least for kActorsEnd, which a busy machine may need although
  /// actors never block. Returns one line on how many still run; empty if none.
  [[nodiscard]] virtual std::vector<std::string> stop(TimePoint due) = 0;

 protected:
  virtual void enqueue(const caf::strong_actor_ptr& actor, caf::mailbox_element_ptr element) = 0;

 private:
  /// REQUIRES: the actor has not run yet.
  static void watch(caf::abstract_actor* actor, std::string_view what, Lost lost);
};

/// Returns the host used in production: the sender's thread runs the receiver.
[[nodiscard]] std::unique_ptr<ActorHost> make_inline_host();

}  // namespace troupe::detail
