// Exceptions that arrive with their own type: both sides register the type, and its fields travel. If these hold a
// tensor or a reference, or more than 60 KiB, it arrives as a RemoteError with its text; the hint says why.
//
//   struct NoSuchRow : std::runtime_error {
//     explicit NoSuchRow(std::int64_t r = 0) : runtime_error("no such row"), row(r) {}
//     std::int64_t row;
//     template <class Archive> void serialize(Archive& archive) { archive(row); }
//   };
//   const FunctionRegistry functions{{"lookup", &lookup}, exception<NoSuchRow>("no_such_row")};
//   try {
//     scope.rpc_sync("ps0", &lookup, 7);
//   } catch (const NoSuchRow& error) {
//     report(error.row);
//   }
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>

#include "messages/archive.h"
#include "messages/error.h"
#include "messages/schema.h"

namespace troupe {

/// The origin of an exception from another node: the second base class of what `Future::get` throws for a registered
/// type.
class RemoteOrigin {
 public:
  virtual ~RemoteOrigin() = default;
  [[nodiscard]] virtual const Error& error() const noexcept = 0;
};

/// Returns the Error with which `exception` arrived from another node; null if this node threw it, or its type is
/// final.
[[nodiscard]] const Error* remote_error_of(const std::exception& exception) noexcept;

namespace detail {

/// An exception of another node: its fields, and the text that it had there.
template <class E>
class Arrived final : public E, public RemoteOrigin {
 public:
  Arrived(E fields, Error error) : E(std::move(fields)), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const noexcept override { return error_; }
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  Error error_;
};

/// One exception type, type-erased, and its name.
struct RegisteredException {
  std::string name;
  Fingerprint fingerprint;  ///< of the fields
  std::type_index type;     ///< the type that a function throws
  std::type_index arrived;  ///< the type that Future::get throws
  std::function<void(OutArchive&, const std::exception&)> save;
  std::function<std::exception_ptr(InArchive&, const Error&)> load;
};

template <class E>
[[nodiscard]] RegisteredException registered_exception(std::string name) {
  static_assert(std::derived_from<E, std::exception>, "an exception type that travels is derived from std::exception");
  static_assert(
      std::is_default_constructible_v<E> && Travels<E>,
      "an exception type that travels has a default constructor and a serialize, an empty one if it has no fields");
  const auto arrived = [] {
    if constexpr (std::is_final_v<E>) return std::type_index(typeid(E));
    else return std::type_index(typeid(Arrived<E>));
  };
  return {std::move(name),
          fingerprint_of<E>(),
          std::type_index(typeid(E)),
          arrived(),
          [](OutArchive& archive, const std::exception& exception) { archive(dynamic_cast<const E&>(exception)); },
          [](InArchive& archive, const Error& error) {
            E exception;
            archive(exception);
            archive.finish();
            if constexpr (std::is_final_v<E>) return std::make_exception_ptr(std::move(exception));
            else return std::make_exception_ptr(Arrived<E>(std::move(exception), error));
          }};
}

}  // namespace detail
}  // namespace troupe
