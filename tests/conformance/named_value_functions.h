// Functions that give the values of their node names.
#pragma once

#include <cstdint>
#include <string>

#include "actors/rref.h"
#include "actors/scope.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

/// A value that neither travels nor moves.
class Fixed {
 public:
  explicit Fixed(std::int64_t value) : value_(value) {}
  Fixed(const Fixed&) = delete;
  Fixed& operator=(const Fixed&) = delete;
  std::int64_t add(std::int64_t x) { return value_ += x; }

 private:
  std::int64_t value_;
};

/// Publishes a Counter on its node.
void publish_counter(Scope& scope, const std::string& name, std::int64_t start);
bool unpublish_here(Scope& scope, const std::string& name);

/// Returns the node's Fixed of that name; the first call makes it with `start`, and counts at `made`. A negative
/// `start` makes nothing and throws "no value of START".
RRef<Fixed> fixed_here(Scope& scope, const std::string& name, std::int64_t start, const RRef<Counter>& made);

/// Makes a value whose making needs the value.
void make_in_a_circle(Scope& scope);

[[nodiscard]] FunctionRegistry with_named_value_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
