// The functions of a node by what calls them, their types erased. A FunctionRegistry fills it.
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

/// Told once: a function's result, or why there is none.
using ValueHandler = std::function<void(Result<ValueBox>)>;

/// The result of a function that returned a Future or a Task: tells its handler on the pool, when it is there. Keeps the
/// arguments alive until then.
using LaterValue = std::function<void(ValueHandler)>;

/// One function under its name, with all types erased.
struct RegisteredFunction {
  std::string name;
  FunctionKey key;          ///< hash of the name: what travels
  CallableKey local_key;    ///< finds it in this process
  Fingerprint fingerprint;  ///< of the wire parameters and the result
  bool is_member = false;
  bool changes_object = false;  ///< a member function that is not const
  const std::type_info* object = nullptr;  ///< of the values on which it may run: a member function's class, or its first parameter
  /// Decodes the arguments, runs the function in the scope of `place`, returns its result. `object` is the value it runs
  /// on, or null. Throws what the function throws, DecodeError on bytes that do not fit.
  std::function<std::variant<ValueBox, LaterValue>(const TaskPlace& place, PayloadReader& arguments, void* object)> run;
};

/// The key under which a name travels: 64 bits of a fixed hash.
[[nodiscard]] FunctionKey function_key(std::string_view name);

/// Thread rule: filled by one thread; then any thread may look up.
class FunctionTable {
 public:
  /// Fills in the key. Throws std::invalid_argument on an empty name, a name that is there, or a callable under another name.
  void add(RegisteredFunction function);
  /// Throws std::invalid_argument on a name or a type that is there.
  void add(const RegisteredException& type);

  /// Functions that are not here are looked up in `common`, which outlives this table.
  void fall_back_on(const FunctionTable& common) { common_ = &common; }

  /// Null if there is none.
  [[nodiscard]] const RegisteredFunction* find(const CallableKey& callable) const;
  [[nodiscard]] const RegisteredFunction* find(FunctionKey key) const;

  /// As find; what is returned outlives the table.
  [[nodiscard]] std::shared_ptr<const RegisteredFunction> find_shared(FunctionKey key) const;

  /// Of the functions that were added, in alphabetical order.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Outlives the table.
  [[nodiscard]] std::shared_ptr<const ExceptionTypes> exceptions() const { return exceptions_; }

 private:
  using Shared = std::shared_ptr<const RegisteredFunction>;
  std::map<CallableKey, Shared> by_callable_;
  std::map<FunctionKey, Shared> by_key_;
  std::shared_ptr<const ExceptionTypes> exceptions_ = std::make_shared<const ExceptionTypes>();
  const FunctionTable* common_ = nullptr;
};

}  // namespace troupe::detail
