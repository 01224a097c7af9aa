// Runs a function that a peer requested. For the worker and the owners of values only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/calls/function_table.h"
#include "actors/calls/listed_grants.h"
#include "actors/calls/payload_io.h"
#include "actors/calls/scope_state.h"
#include "actors/calls/value_box.h"
#include "actors/core/node_core.h"
#include "messages/rpc.h"

namespace troupe::detail {

class TaskTurn;

/// A call whose function is known and whose arguments have arrived but are not decoded.
struct ServedCall {
  std::shared_ptr<NodeCore> node;
  std::string operation;                               ///< "rpc project", for errors
  std::shared_ptr<const RegisteredFunction> function;  ///< null if the request only fetches a value
  std::shared_ptr<PayloadReader> arguments;            ///< null if the request only fetches a value
  std::shared_ptr<const ScopeState> scope;
  NodeName caller;
  ReturnAddress answer;
  std::shared_ptr<ServedCalls::Serving> serving;  ///< null if the request only fetches a value
  std::shared_ptr<CallCredit> credit;             ///< its part of its caller's grant until it starts; null: none

  /// The call starts, or never will: its caller may send another one.
  void begin() const {
    if (credit) credit->begin();
  }
};

/// The function that a caller requests, as the message describes it.
struct WantedFunction {
  FunctionKey key;
  std::string name;
  Fingerprint fingerprint;
};

/// Returns the names of the runtime's functions that any member may call: they work only with values, contexts and
/// optimizers whose ids their caller was given. Its member functions need no grant either; those that give something
/// else than copies are among them.
[[nodiscard]] std::vector<std::string_view> functions_without_grants();

/// Fails the request if the list of members withholds `right` from its sender, and reports the refusal. Returns whether
/// it did. `operation`: for the error.
[[nodiscard]] bool refuse_without(ValueRight right, NodeCore& node, const Delivery& delivery,
                                  std::string_view operation);

/// How long the result of a call may be needed.
enum class Lasting : std::uint8_t {
  while_caller_waits,  ///< the answer carries it
  as_value,            ///< it stays on this node, for the holders of references
};

/// Takes charge of what the arguments carry, looks up the function, compares the fingerprint and makes the scope, whose
/// stop_token stops when the result is no longer needed. A refused call releases what it carries. Runs on the receiving
/// thread; runs no user code. Errors: no_such_function; bad_argument; resource_exhausted if the caller has brought as
/// many contexts as it may; `already_refused`, the caller's reason to refuse the call, if set.
[[nodiscard]] Result<ServedCall> open_call(NodeCore& node, const Delivery& delivery, const WantedFunction& wanted,
                                           msg::Payload arguments, const msg::CallSite& site, Lasting lasting,
                                           std::optional<Error> already_refused = {});

/// The object on which a member function runs, and the turn on it.
struct TargetObject {
  void* object = nullptr;
  std::shared_ptr<TaskTurn> turn;
};

/// Decodes the arguments and runs the function, a member function on `target`. On a pool thread. Calls `done` once, on
/// a pool thread: this one, or a later one if the function returned a Future or a Task. An exception of the function
/// becomes the Error and is logged.
void run_function(const std::shared_ptr<const ServedCall>& call, TargetObject target, ValueHandler done);

/// Returns the scope in which a peer's request is served. Its stop token never stops.
[[nodiscard]] std::shared_ptr<ScopeState> served_scope(NodeCore& node, const Delivery& delivery,
                                                       const msg::CallSite& site);

/// Returns why the call need not be served: its caller has cancelled it or is down, or its deadline has passed.
/// Otherwise nullopt.
[[nodiscard]] std::optional<Error> unwanted(const ServedCall& call);

/// Runs user code in the call's scope. On a pool thread. Returns its exception as an Error, which is also logged: one
/// thrown before the call's function began says that the function never ran.
[[nodiscard]] std::optional<Error> run_for(const ServedCall& call, const std::function<void()>& job);

/// Returns `text`, which may come from user code, as a line of the log shows it: beyond 4 KiB it is cut and says so.
[[nodiscard]] std::string for_log(std::string_view text);

/// Runs `encode`, which writes values for the caller, in the call's scope. On a pool thread: encoding runs user code.
/// Returns the error if the values cannot travel.
[[nodiscard]] std::optional<Error> encode_for(const ServedCall& call, const std::function<void()>& encode);

/// Encodes `value` for the caller and answers. On a pool thread, as encode_for.
void answer_with_value(const ServedCall& call, const ValueBox& value);

}  // namespace troupe::detail
