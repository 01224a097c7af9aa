// The one place that knows which CAF this is (0.17) and how its actors are scheduled here. For .cc files only.
//
// Actors run where the message arrives: the thread that sends also runs the receiver, unless another thread is running
// it already, which then takes the message. A chain link -> router -> worker costs no wake-up. The simulator's host
// gives every step to its world instead.
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

/// CAF leaves a reference to a system's logger on each thread that makes the system or spawns in it, and the system's
/// destructor waits for ever until all are gone: it must not stay on threads that outlive the system.
inline void forget_system_on_this_thread() { caf::logger::set_current_actor_system(nullptr); }

/// One node's actors and who runs them. Any thread may call any member but stop().
class ActorHost {
 public:
  virtual ~ActorHost() = default;

  [[nodiscard]] virtual caf::actor_system& system() = 0;

  /// Hands `message` to `actor`; it runs now, on this thread, or soon on the one that is running it. A message to an
  /// actor that has ended is dropped. Throws std::bad_alloc if there is no memory for it: then nothing was sent. What the
  /// actor does with it throws nothing here.
  template <class Handle, class Message>
  void send(const Handle& actor, Message&& message) {
    enqueue(caf::actor_cast<caf::strong_actor_ptr>(actor),
            caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, std::forward<Message>(message)));
  }

  /// Told why an actor ended that nobody had ended.
  using Lost = std::function<void(Error why)>;

  /// Spawns a typed actor that first runs when its first message arrives. Its handlers are guarded (core/guarded.h); what
  /// escapes all the same, from its beginning or from CAF, ends it, and `lost` is told. `what` is a literal.
  template <class Behavior, class... Args>
  auto spawn(std::string_view what, Lost lost, Behavior behavior, Args&&... args) {
    auto actor = system().template spawn<caf::lazy_init>(behavior, std::forward<Args>(args)...);
    forget_system_on_this_thread();
    watch(caf::actor_cast<caf::abstract_actor*>(actor), what, std::move(lost));
    return actor;
  }

  /// Waits until `due` for all actors to end; says how many still run.
  [[nodiscard]] virtual std::vector<std::string> stop(TimePoint due) = 0;

 protected:
  virtual void enqueue(const caf::strong_actor_ptr& actor, caf::mailbox_element_ptr element) = 0;

 private:
  /// Requires that the actor has not run yet.
  static void watch(caf::abstract_actor* actor, std::string_view what, Lost lost);
};

/// The host that production uses: the sender's thread runs the receiver.
[[nodiscard]] std::unique_ptr<ActorHost> make_inline_host();

}  // namespace troupe::detail
