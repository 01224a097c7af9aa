// What the nodes of conformance tests serve as streams, and functions that throw registered exceptions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "actors/function_registry.h"
#include "actors/stream.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

/// 0, 1, ... `end` - 1
Stream<std::int64_t> count_to(std::int64_t end);

/// Tensors of `bytes` bytes, filled with their number.
Stream<Tensor> tensors(std::int64_t count, std::int64_t bytes);

/// Counts, and adds 1 to `made` before each number.
Stream<std::int64_t> count_and_tell(Scope& scope, const RRef<Counter>& made, std::int64_t end);

/// Two numbers, then throws.
Stream<std::int64_t> fail_after_two(const std::string& text);

/// One number, then one after `ms`.
Stream<std::int64_t> slow_second(std::int32_t ms);

/// The numbers of count_to on `other`, each doubled.
Stream<std::int64_t> doubled_from(Scope& scope, const NodeName& other, std::int64_t end);

/// Passes a stream of its own on.
Stream<std::int64_t> stream_of(Scope& scope, const NodeName& other, std::int64_t end);

/// What is left of a stream that somebody else began, added up.
std::int64_t sum_of_stream(Scope& scope, const Stream<std::int64_t>& numbers);

/// Thrown with fields.
struct NoSuchRow : std::runtime_error {
  NoSuchRow() : NoSuchRow({}, 0) {}
  NoSuchRow(std::string t, std::int64_t r)
      : runtime_error("no row " + std::to_string(r) + " in " + t), table(std::move(t)), row(r) {}
  std::string table;
  std::int64_t row;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(table, row);
  }
};
/// Registered on the trainer only.
struct OnlyHere : std::logic_error {
  OnlyHere() : logic_error("only here") {}
};

std::int64_t lookup(const std::string& table, std::int64_t row);
Task<std::int64_t> lookup_later(std::string table, std::int64_t row);
/// lookup on `other`; does not catch.
std::int64_t lookup_on(Scope& scope, const NodeName& other, const std::string& table, std::int64_t row);
/// lookup on `other`; returns the row that the exception names.
std::int64_t missing_on(Scope& scope, const NodeName& other, const std::string& table, std::int64_t row);
std::int64_t throw_only_here();

SparseTensor echo_sparse(const SparseTensor& x);
/// A function whose first parameter is a value of a reference.
std::int64_t digits(Scope& scope, const std::int64_t& value, std::int64_t base);
std::int64_t doubled(const std::int64_t& value);

[[nodiscard]] FunctionRegistry with_stream_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
