// A registered function, type-erased.
#pragma once

#include <functional>
#include <string>
#include <typeinfo>
#include <variant>

#include "actors/callable.h"
#include "actors/calls/value_box.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::detail {

class PayloadReader;
struct TaskPlace;

/// Called once, with a function's result or the Error.
using ValueHandler = std::function<void(Result<ValueBox>)>;

/// The result of a function that returned a Future or a Task. Calls its handler on the pool when the result exists;
/// keeps the arguments alive until then.
using LaterValue = std::function<void(ValueHandler)>;

/// One registered function, type-erased.
struct RegisteredFunction {
  using Run =
      std::function<std::variant<ValueBox, LaterValue>(const TaskPlace& place, PayloadReader& arguments, void* object)>;

  std::string name;
  FunctionKey key;          ///< hash of the name; travels
  CallableKey local_key;    ///< identifies it within this process
  Fingerprint fingerprint;  ///< of the wire parameters and the result
  bool is_member = false;
  bool changes_object = false;             ///< true for a member function that is not const
  bool answers_small = false;              ///< its result is none, or has a few bytes whatever its value
  const std::type_info* object = nullptr;  ///< of the values it runs on: its class, or first parameter
  /// Decodes the arguments, runs the function in the scope of `place` and returns its result. `object`: the value on
  /// which it runs, or null. Tells `arguments` when the function begins. Throws the function's exceptions; before it
  /// began those of the arguments' types, and DecodeError on bytes that do not fit.
  Run run;
};

}  // namespace troupe::detail
