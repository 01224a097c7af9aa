#include "tests/conformance/stream_functions.h"

#include "tensor/create.h"

namespace troupe::testing {

Stream<std::int64_t> count_to(std::int64_t end) {
  for (std::int64_t i = 0; i < end; ++i) co_yield i;
}

Stream<Tensor> tensors(std::int64_t count, std::int64_t bytes) {
  const Shape shape{bytes};  // GCC 12 rejects a braced list inside co_yield
  for (std::int64_t i = 0; i < count; ++i) co_yield full(shape, static_cast<double>(i), DType::u8);
}

Stream<std::int64_t> count_and_tell(Scope& scope, const RRef<Counter>& made, std::int64_t end) {
  for (std::int64_t i = 0; i < end; ++i) {
    made.rpc_sync(scope, &Counter::add, 1);
    co_yield i;
  }
}

Stream<std::int64_t> fail_after_two(const std::string& text) {
  co_yield 1;
  co_yield 2;
  throw std::domain_error(text);
}

Stream<std::int64_t> slow_second(std::int32_t ms) {
  co_yield 1;
  static_cast<void>(compute_for(ms));
  co_yield 2;
}

Stream<std::int64_t> one_then_wait(Scope& scope, const NodeName& other) {
  const Future<bool> stopped = scope.rpc_async(other, &wait_until_stopped);
  co_yield 1;
  co_yield stopped.get() ? 2 : 3;
}

Stream<std::int64_t> one_then_unreadable() {
  co_yield 1;
  throw DecodeError("the file has no second row");
}

Stream<std::int64_t> doubled_from(Scope& scope, const NodeName& other, std::int64_t end) {
  for (const std::int64_t i : scope.rpc_sync(other, &count_to, end).read(scope)) co_yield 2 * i;
}

Stream<std::int64_t> stream_of(Scope& scope, const NodeName& other, std::int64_t end) {
  return scope.rpc_sync(other, &count_to, end);
}

std::int64_t sum_of_stream(Scope& scope, const Stream<std::int64_t>& numbers) {
  std::int64_t sum = 0;
  for (const std::int64_t i : numbers.read(scope)) sum += i;
  return sum;
}

Stream<bool> changed_meanwhile(const Counter& counter, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t before = counter.value();
    static_cast<void>(compute_for(2));
    co_yield counter.value() != before;
  }
}

std::int64_t lookup(const std::string& table, std::int64_t row) { throw NoSuchRow(table, row); }

Task<std::int64_t> lookup_later(std::string table, std::int64_t row) {
  throw NoSuchRow(table, row);
  co_return 0;
}

std::int64_t lookup_on(Scope& scope, const NodeName& other, const std::string& table, std::int64_t row) {
  return scope.rpc_sync(other, &lookup, table, row);
}

std::int64_t missing_on(Scope& scope, const NodeName& other, const std::string& table, std::int64_t row) {
  try {
    return scope.rpc_sync(other, &lookup, table, row);
  } catch (const NoSuchRow& missing) {
    return missing.row;
  }
}

std::int64_t throw_only_here() { throw OnlyHere(); }

SparseTensor echo_sparse(const SparseTensor& x) { return x; }

std::int64_t digits(Scope& scope, const std::int64_t& value, std::int64_t base) {
  static_cast<void>(scope.caller());
  std::int64_t count = 0;
  for (std::int64_t rest = value; rest > 0; rest /= base) ++count;
  return count;
}

std::int64_t doubled(const std::int64_t& value) { return 2 * value; }

FunctionRegistry with_stream_functions(const FunctionRegistry& functions) {
  return functions.with({{"count_to", &count_to},
                         {"tensors", &tensors},
                         {"count_and_tell", &count_and_tell},
                         {"fail_after_two", &fail_after_two},
                         {"slow_second", &slow_second},
                         {"one_then_wait", &one_then_wait},
                         {"one_then_unreadable", &one_then_unreadable},
                         {"doubled_from", &doubled_from},
                         {"stream_of", &stream_of},
                         {"sum_of_stream", &sum_of_stream},
                         {"changed_meanwhile", &changed_meanwhile},
                         {"lookup", &lookup},
                         {"lookup_later", &lookup_later},
                         {"lookup_on", &lookup_on},
                         {"missing_on", &missing_on},
                         {"throw_only_here", &throw_only_here},
                         {"echo_sparse", &echo_sparse},
                         {"digits", &digits},
                         {"doubled", &doubled},
                         exception<NoSuchRow>("no_such_row")});
}

}  // namespace troupe::testing
