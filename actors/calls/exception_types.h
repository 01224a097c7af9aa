// The exception types that a node knows by name.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeindex>

#include "actors/exceptions.h"
#include "messages/error.h"

namespace troupe::detail {

/// The exception types of a registry. Immutable once the registry is made.
class ExceptionTypes {
 public:
  /// The most bytes of fields that travel.
  static constexpr std::size_t kFieldBytesMax = 60U << 10U;

  /// Throws std::invalid_argument on an empty name, a name given twice, or one type under two names.
  void add(RegisteredException type);

  /// Writes the fields of `exception` into `error` if its type is registered, or a hint if they cannot travel.
  void describe(const std::exception& exception, Error& error) const;

  /// Throws the exception that `error` describes. Returns if its type is not registered here or has other fields.
  void raise(const Error& error) const;

 private:
  std::map<std::string, std::shared_ptr<const RegisteredException>, std::less<>> by_name_;
  std::map<std::type_index, std::shared_ptr<const RegisteredException>> by_type_;
};

/// Throws the exception that `error` describes: of a type in `types` (may be null), or RemoteError.
[[noreturn]] void throw_error(const ExceptionTypes* types, const Error& error);

}  // namespace troupe::detail
