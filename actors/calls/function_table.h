// The functions of a node, type-erased, by name and by callable. A FunctionRegistry fills the table.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "actors/callable.h"
#include "actors/calls/exception_types.h"
#include "actors/calls/registered_function.h"
#include "messages/ids.h"

namespace troupe::detail {

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
