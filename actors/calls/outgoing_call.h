// One call or fetch of the program under way: all that happens when its answer comes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "actors/calls/open_calls.h"
#include "actors/calls/scope_state.h"
#include "messages/payload.h"

namespace troupe::detail {

class PayloadReader;
class RRefHandle;
struct Request;

/// Told exactly once, on the receiving thread: the result, not decoded yet, or why there is none. The result is null where
/// the call makes a value that stays with its owner.
using ReplyHandler = std::function<void(Result<std::shared_ptr<PayloadReader>>)>;

/// Who makes a call fills this in, then calls `send` or `fail`, once. Thread rule: one thread at a time.
class OutgoingCall : public std::enable_shared_from_this<OutgoingCall> {
 public:
  OutgoingCall(std::shared_ptr<const ScopeState> scope, ReplyHandler done) : scope_(std::move(scope)), done_(std::move(done)) {}

  /// The scope's WaitAllScope, if it has one, waits for this call.
  void count_as_open();

  /// The request is given up once one of these stops.
  std::vector<std::stop_token> cancelled_by;

  /// References that the call uses. They are held until its end, so that the owner keeps their values. If one of them has
  /// failed by then, the call fails with that reason: an owner that is gone, or has forgotten the value, cannot tell it.
  std::vector<std::shared_ptr<RRefHandle>> uses;

  /// References in the arguments. They are taken back if the message never leaves.
  std::vector<msg::RRefHandout> handed_out;

  /// "\"f\" at main.cc:12" of a call that cuts a graph: a backward pass that reaches its result says so. Else empty.
  std::string cuts_graph_at;

  /// The call makes a value: its answer has no payload.
  bool makes_value = false;

  /// The request is repeated as the scope says, if it is a plain call.
  void send(Request request);

  /// Ends the call before anything was sent.
  void fail(Error error);

 private:
  friend struct CallAnswer;
  void end(Result<std::shared_ptr<PayloadReader>> reply);

  const std::shared_ptr<const ScopeState> scope_;
  std::optional<OpenCall> open_;
  NodeName to_;                   // set by `send`, as `operation_`
  std::string operation_;
  ReplyHandler done_;
};

}  // namespace troupe::detail
