// Streams that the nodes of conformance tests serve, and functions that throw registered exceptions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "actors/function_registry.h"
#include "actors/stream.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

/// Streams 0, 1, ... `end` - 1.
Stream<std::int64_t> count_to(std::int64_t end);

/// Streams tensors of `bytes` bytes, filled with their number.
Stream<Tensor> tensors(std::int64_t count, std::int64_t bytes);

/// As count_to, and adds 1 to `made` before each number.
Stream<std::int64_t> count_and_tell(Scope& scope, const RRef<Counter>& made, std::int64_t end);

/// Streams two numbers, then throws.
Stream<std::int64_t> fail_after_two(const std::string& text);

/// Streams one number, then another after `ms`.
Stream<std::int64_t> slow_second(std::int32_t ms);

/// Begins wait_until_stopped on `other`, streams 1, then waits for it.
Stream<std::int64_t> one_then_wait(Scope& scope, const NodeName& other);

/// Streams one number, then throws what decoding throws.
Stream<std::int64_t> one_then_unreadable();

/// Streams the numbers of count_to on `other`, each doubled.
Stream<std::int64_t> doubled_from(Scope& scope, const NodeName& other, std::int64_t end);

/// Returns the stream of count_to on `other`.
Stream<std::int64_t> stream_of(Scope& scope, const NodeName& other, std::int64_t end);

/// Returns the sum of the rest of a stream that another function began to read.
std::int64_t sum_of_stream(Scope& scope, const Stream<std::int64_t>& numbers);

/// Streams, `count` times, whether the counter has changed while that element was made.
Stream<bool> changed_meanwhile(const Counter& counter, std::int64_t count);

/// An exception with fields.
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
/// Calls lookup on `other` and does not catch.
std::int64_t lookup_on(Scope& scope, const NodeName& other, const std::string& table, std::int64_t row);
/// Calls lookup on `other`. Returns the row that the exception names.
std::int64_t missing_on(Scope& scope, const NodeName& other, const std::string& table, std::int64_t row);
std::int64_t throw_only_here();

SparseTensor echo_sparse(const SparseTensor& x);
/// A function whose first parameter is a const reference to a value.
std::int64_t digits(Scope& scope, const std::int64_t& value, std::int64_t base);
std::int64_t doubled(const std::int64_t& value);

[[nodiscard]] FunctionRegistry with_stream_functions(const FunctionRegistry& functions);

}  // namespace troupe::testing
