// Runs a function that a peer asked for: what the worker, the owners of values and nobody else does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/calls/function_table.h"
#include "actors/calls/payload_io.h"
#include "actors/calls/scope_state.h"
#include "actors/calls/value_box.h"
#include "actors/core/node_core.h"
#include "messages/rpc.h"

namespace troupe::detail {

class TaskTurn;

/// A call whose function is known and whose arguments have arrived, not yet decoded.
struct ServedCall {
  std::shared_ptr<NodeCore> node;
  std::string operation;                               ///< "rpc project", for errors
  std::shared_ptr<const RegisteredFunction> function;  ///< null where a value is only sent
  std::shared_ptr<PayloadReader> arguments;            ///< null likewise
  std::shared_ptr<const ScopeState> scope;
  NodeName caller;
  ReturnAddress answer;
  std::shared_ptr<ServedCalls::Serving> serving;  ///< null where a value is only sent
  std::shared_ptr<CallCredit> credit;             ///< what it holds of its caller's grant until it begins; null: nothing

  /// It begins, or never will: its caller may send another call.
  void begin() const {
    if (credit) credit->begin();
  }
};

/// What the caller says about the function it wants.
struct WantedFunction {
  FunctionKey key;
  std::string name;
  Fingerprint fingerprint;
};

/// How long somebody may want what a call makes.
enum class Lasting : std::uint8_t {
  while_caller_waits,  ///< the answer carries it
  as_value,            ///< it stays here, for whoever holds a reference
};

/// Takes charge of what the arguments carry, looks the function up, compares the fingerprint, makes the scope, whose
/// stop_token says when nobody wants the result any more. What a refused call carries is released.
/// On the receiving thread; runs no user code. Errors: no_such_function, bad_argument; resource_exhausted if its caller has
/// brought as many contexts as it may; `refused`, if there is one.
[[nodiscard]] Result<ServedCall> open_call(NodeCore& node, const Delivery& delivery, const WantedFunction& wanted,
                                           msg::Payload arguments, const msg::CallSite& site, Lasting lasting,
                                           std::optional<Error> refused = {});

/// What a member function runs on: the object, and the turn on it.
struct TargetObject {
  void* object = nullptr;
  std::shared_ptr<TaskTurn> turn;
};

/// Decodes the arguments and runs the function, on `target` if it is a member function. On a pool thread. Tells `done`
/// the result, once, on a pool thread: this one, or a later one if the function returned a Future or a Task. What the
/// function threw is the Error, and in the log.
void run_function(const std::shared_ptr<const ServedCall>& call, TargetObject target, ValueHandler done);

/// The scope in which a request of a peer is served. It does not stop.
[[nodiscard]] std::shared_ptr<ScopeState> served_scope(NodeCore& node, const Delivery& delivery, const msg::CallSite& site);

/// Why the call need not be served: its caller has cancelled it or is gone, or its time has passed.
[[nodiscard]] std::optional<Error> unwanted(const ServedCall& call);

/// Runs user code in the call's scope. On a pool thread. Returns what it threw, which is also in the log.
[[nodiscard]] std::optional<Error> run_for(const ServedCall& call, const std::function<void()>& job);

/// Runs `encode`, which writes values for the caller, in the call's scope. On a pool thread: encoding runs user code.
/// Returns why they cannot travel, if so.
[[nodiscard]] std::optional<Error> encode_for(const ServedCall& call, const std::function<void()>& encode);

/// Encodes `value` for the caller and answers. On a pool thread, as encode_for.
void answer_with_value(const ServedCall& call, const ValueBox& value);

}  // namespace troupe::detail
