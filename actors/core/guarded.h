// What an actor does when one of its handlers throws. CAF ends an actor that lets an exception escape, whatever its
// exception handler returns, and reports it to no one. So no exception escapes.
#pragma once

#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "messages/error.h"

namespace troupe::detail {

/// Returns the Error for the exception being handled: resource_exhausted if memory, threads or descriptors ran out,
/// internal otherwise. `what` names the part that failed: "the router". Never throws, also without memory.
[[nodiscard]] Error failure_of_current_exception(std::string_view what) noexcept;

/// Returns what() of an exception, which may be of a user's type; "" if that is null.
[[nodiscard]] const char* text_of(const std::exception& exception) noexcept;

/// The message type of a handler's parameter, `const M&` or `M&`.
template <class Handler>
struct MessageOf : MessageOf<decltype(&Handler::operator())> {};
template <class Handler, class Message>
struct MessageOf<void (Handler::*)(Message) const> {
  using type = Message;
};

/// A handler that lets no exception escape: it calls `failed` with the Error, and with the message if `failed` takes
/// both. `failed` fails the work that depends on the handler; a request in the message is then answered with the Error.
/// An exception of `failed` or of that answer ends the process.
template <class Failed, class Handler>
class Guarded {
 public:
  using Message = typename MessageOf<Handler>::type;

  Guarded(std::string_view what, Failed failed, Handler handler)
      : what_(what), failed_(std::move(failed)), handler_(std::move(handler)) {}

  void operator()(Message message) const {
    try {
      handler_(message);
    } catch (...) {
      tell(failure_of_current_exception(what_), message);
    }
  }

 private:
  void tell(Error why, Message message) const noexcept {
    if constexpr (std::is_invocable_v<const Failed&, const Error&, Message>) {
      failed_(copy_of(why), message);
    } else {
      failed_(copy_of(why));
    }
    if constexpr (requires { message.delivery.answer.fail(why); }) message.delivery.answer.fail(std::move(why));
  }

  std::string_view what_;
  Failed failed_;
  Handler handler_;
};

/// All handlers of one actor, each guarded. `what` is a literal that names the part that failed: "the router".
template <class Behavior, class Failed, class... Handlers>
[[nodiscard]] Behavior guarded(std::string_view what, const Failed& failed, Handlers... handlers) {
  return Behavior{Guarded<Failed, Handlers>(what, failed, std::move(handlers))...};
}

}  // namespace troupe::detail
