// Values with names: the parts of publish, node_local and find that do not depend on the value's type.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/calls/value_box.h"
#include "actors/core/type_name.h"
#include "actors/future.h"
#include "actors/scope.h"
#include "actors/source_location.h"
#include "messages/schema.h"

namespace troupe::detail {

class RRefHandle;

/// Returns the text by which nodes compare the type of a named value: its wire structure, or the name of a class that
/// does not travel.
template <class T>
[[nodiscard]] std::string identity_of() {
  if constexpr (Travels<T>) return schema_of<T>();
  else return type_name(typeid(T));
}

/// The type of a named value: what nodes compare, and what its references say.
struct NamedType {
  std::string identity;
  std::string wire_name;
};

/// Throws RemoteError{bad_argument}.
[[nodiscard]] std::shared_ptr<RRefHandle> publish(const ScopeState& scope, const std::string& name,
                                                  const NamedType& type, ValueBox value, const SourceLocation& site);

/// Returns the value, which `make` makes if there is none. Throws what `make` throws, and RemoteError: bad_argument,
/// timeout, cancelled.
[[nodiscard]] std::shared_ptr<RRefHandle> node_local(const ScopeState& scope, const std::string& name,
                                                     const NamedType& type, const SourceLocation& site,
                                                     const std::function<ValueBox()>& make);

[[nodiscard]] bool unpublish(const ScopeState& scope, const std::string& name);

/// Every node serves this: a reference to its value of that name and identity, once it is published.
[[nodiscard]] Future<RRef<Unit>> find_published(Scope& scope, const std::string& name, const std::string& identity);

}  // namespace troupe::detail
