// The functions of a node, type-erased, by name and by callable. A FunctionRegistry fills the table.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <variant>
#include <vector>

#include "actors/callable.h"
#include "actors/calls/value_box.h"
#include "actors/exceptions.h"
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

/// Returns the key of a name on the wire: 64 bits of a fixed hash.
[[nodiscard]] FunctionKey function_key(std::string_view name);

/// Thread rule: one thread fills it; then any thread may look up.
class FunctionTable {
 public:
  FunctionTable();

  /// Adds `function` and sets its key. Throws std::invalid_argument on an empty or existing name, or a callable that
  /// has another name.
  void add(RegisteredFunction function);
  /// Throws std::invalid_argument on an existing name or type.
  void add(const RegisteredException& type);

  /// Functions that this table lacks are looked up in `common`. REQUIRES: `common` outlives this table.
  void fall_back_on(const FunctionTable& common) { common_ = &common; }

  /// Returns the function; null if there is none.
  [[nodiscard]] const RegisteredFunction* find(const CallableKey& callable) const;
  [[nodiscard]] const RegisteredFunction* find(FunctionKey key) const;

  /// As find; the result may outlive the table.
  [[nodiscard]] std::shared_ptr<const RegisteredFunction> find_shared(FunctionKey key) const;

  /// Returns the names of the added functions, in alphabetical order.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Returns the exception types; they may outlive the table.
  [[nodiscard]] std::shared_ptr<const ExceptionTypes> exceptions() const { return exceptions_; }

 private:
  using Shared = std::shared_ptr<const RegisteredFunction>;
  std::map<CallableKey, Shared> by_callable_;
  std::map<FunctionKey, Shared> by_key_;
  std::shared_ptr<const ExceptionTypes> exceptions_;  // never null
  const FunctionTable* common_ = nullptr;
};

}  // namespace troupe::detail
