// One call or fetch of the program, and all that its answer ends.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "actors/calls/open_calls.h"
#include "actors/calls/payload_io.h"
#include "actors/calls/scope_state.h"
#include "actors/profile/events.h"
#include "messages/payload.h"

namespace troupe::detail {

class RRefHandle;
struct Request;

/// Called exactly once, on the receiving thread, with the undecoded result or the Error. The result is null if the call
/// makes a value that stays with its owner.
using ReplyHandler = std::function<void(Result<std::shared_ptr<PayloadReader>>)>;

/// The hint of a use of a value of this node that was not over in time.
inline constexpr const char* kHintOfTurn =
    "uses of a value take turns: does this program hold it with local_value meanwhile?";

/// The maker of a call sets the fields, then calls `send` or `fail`, once. A call that gets no memory to be sent or to
/// be answered ends with resource_exhausted when it is destroyed. Thread rule: one thread at a time.
class OutgoingCall : public std::enable_shared_from_this<OutgoingCall> {
 public:
  [[nodiscard]] static std::shared_ptr<OutgoingCall> make(std::shared_ptr<const ScopeState> scope, ReplyHandler done);
  OutgoingCall(const OutgoingCall&) = delete;
  OutgoingCall& operator=(const OutgoingCall&) = delete;
  virtual ~OutgoingCall();

  /// Counts the call in the scope's WaitAllScope, if there is one.
  void count_as_open();

  /// The first of these that stops cancels the request.
  std::vector<std::stop_token> cancelled_by;

  /// References that the call uses, held until its end so that the owner keeps their values. If one has failed by then,
  /// the call fails with that reference's error: an owner that is gone, or has forgotten the value, cannot report it.
  std::vector<std::shared_ptr<RRefHandle>> uses;

  /// References in the arguments. They are taken back if the message is never sent.
  HandedOut handed_out;

  /// Set for a call that cuts a graph: "\"f\" at main.cc:12", for the error of a backward pass that reaches its result.
  std::string cuts_graph_at;

  /// True if the call makes a value: its answer then has no payload.
  bool makes_value = false;

  /// True if the answer may be read after the context of the call has ended: then it is cut from the graph.
  bool may_outlast_context = false;

  /// The operation that an error of the call names, for one that the runtime makes: "find \"net\""; empty: its own.
  std::string reported_as;

  /// Sends `request`. A plain call is repeated as the scope's policy says.
  void send(Request request);

  /// Ends the call with `error` before anything is sent.
  void fail(Error error);

 private:
  class AnsweredCall;  // what `make` makes: it receives the router's answer

  OutgoingCall(std::shared_ptr<const ScopeState> scope, ReplyHandler done);
  void end(Result<std::shared_ptr<PayloadReader>> reply);
  void take_back_handed_out() noexcept;
  [[nodiscard]] Error explained(const Error& error) const;

  const std::shared_ptr<const ScopeState> scope_;
  std::optional<OpenCall> open_;
  NodeName to_;  // set by `send`, as is `operation_`
  std::string operation_;
  OpenEvent event_;    // from `send` to the answer
  ReplyHandler done_;  // null once called
  bool was_sent_ = false;
};

}  // namespace troupe::detail
