// Streams: elements in order, no further ahead than the reader allows, and nothing left when the reader stops.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/stream_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::fixture;

std::vector<std::int64_t> all_of(const Stream<std::int64_t>& stream, const Scope& scope) {
  std::vector<std::int64_t> numbers;
  for (const std::int64_t number : stream.read(scope)) numbers.push_back(number);
  return numbers;
}

std::vector<std::int64_t> numbers_to(std::int64_t end) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(end));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

BOOST_FIXTURE_TEST_SUITE(streams, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(elements_come_in_order_from_another_node_and_from_oneself) {
  for (const char* node : {"p1", "trainer"}) {
    for (const std::int64_t end : {0, 1, 7, 8, 9, 100}) {
      BOOST_TEST(all_of(trainer.rpc_sync(node, &count_to, end), trainer) == numbers_to(end),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_comes_after_the_end) {
  Stream<std::int64_t> two = trainer.rpc_sync("p1", &count_to, 2);
  BOOST_TEST(two.next(trainer).value() == 0);
  BOOST_TEST(two.next(trainer).value() == 1);
  for (int i = 0; i < 3; ++i) BOOST_TEST(!two.next(trainer));
  BOOST_TEST(!Stream<std::int64_t>().next(trainer));
}

BOOST_AUTO_TEST_CASE(function_runs_no_further_ahead_than_the_reader_allows) {
  const RRef<Counter> made(trainer, Counter(0));
  Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &count_and_tell, made, 1000);
  numbers.ahead(3);
  for (std::int64_t read = 1; read <= 20; ++read) {
    BOOST_TEST(numbers.next(trainer).value() == read - 1);
    const std::int64_t ahead = made.rpc_sync(trainer, &Counter::value) - read;
    BOOST_TEST(ahead >= 0);
    BOOST_TEST(ahead <= 2);
  }
}

BOOST_AUTO_TEST_CASE(stream_that_is_dropped_half_read_leaves_nothing) {
  {
    Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &count_to, 1'000'000);
    BOOST_TEST(numbers.next(trainer).value() == 0);
  }
  { const Stream<std::int64_t> unread = trainer.rpc_sync("p1", &count_to, 1'000'000); }
  static_cast<void>(trainer.rpc_async("p1", &count_to, 5));  // the result is not taken
  cluster.expect_settled();
}

BOOST_AUTO_TEST_CASE(reader_that_allows_any_number_ahead_requests_few_at_first) {
  const RRef<Counter> made(trainer, Counter(0));
  Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &count_and_tell, made, 1'000'000);
  numbers.ahead(std::numeric_limits<std::size_t>::max());
  for (std::int64_t read = 1; read <= 20; ++read) {
    BOOST_TEST(numbers.next(trainer).value() == read - 1);
    BOOST_TEST(made.rpc_sync(trainer, &Counter::value) <= 8 + 2 * read);  // 8, and one more with each that was read
  }
}

BOOST_AUTO_TEST_CASE(calls_of_a_stream_are_cancelled_when_it_is_dropped) {
  for (const std::size_t ahead : {1U, 8U}) {  // the function stands after its first element, or waits for its second
    Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &one_then_wait, "p2");
    BOOST_TEST(numbers.ahead(ahead).next(trainer).value() == 1);
    cluster.await("p2", [](const Counts& counts) { return counts.served_calls == 1; });
    numbers = {};
    cluster.expect_settled();
  }
}

BOOST_AUTO_TEST_CASE(error_of_decoding_that_the_function_throws_is_its_own) {
  Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &one_then_unreadable);
  BOOST_TEST(numbers.next(trainer).value() == 1);
  const Error error = error_of([&] { return numbers.next(trainer); });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.execution == Execution::yes);
}

BOOST_AUTO_TEST_CASE(what_the_function_throws_comes_after_what_it_made) {
  Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &fail_after_two, "enough");
  BOOST_TEST(numbers.next(trainer).value() == 1);
  BOOST_TEST(numbers.next(trainer).value() == 2);
  const Error error = error_of([&] { return numbers.next(trainer); });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.message == "enough");
  BOOST_TEST(error.exception_type == "std::domain_error");
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(!numbers.next(trainer));
}

BOOST_AUTO_TEST_CASE(element_that_is_late_times_out_and_still_comes) {
  Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &slow_second, 300);
  BOOST_TEST(numbers.next(trainer).value() == 1);
  const Error error = error_of([&] { return numbers.next(trainer.with({.deadline = 20ms})); });
  BOOST_TEST(error.code == ErrorCode::timeout);
  BOOST_TEST(error.operation.starts_with("next of stream p1."));
  BOOST_TEST(numbers.next(trainer).value() == 2);
  BOOST_TEST(!numbers.next(trainer));
}

BOOST_AUTO_TEST_CASE(stream_reads_a_stream_of_another_node) {
  std::vector<std::int64_t> expected = numbers_to(20);
  for (std::int64_t& number : expected) number *= 2;
  BOOST_TEST(all_of(trainer.rpc_sync("p1", &doubled_from, "p2", 20), trainer) == expected,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(stream_travels_on_to_a_third_node) {
  BOOST_TEST(all_of(trainer.rpc_sync("p1", &stream_of, "p2", 30), trainer) == numbers_to(30),
             boost::test_tools::per_element());
  const Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &count_to, 10);
  BOOST_TEST(trainer.rpc_sync("p2", &sum_of_stream, numbers) == 45);
}

BOOST_AUTO_TEST_CASE(stream_that_is_being_read_does_not_travel, *boost::unit_test::label("fault-F34")) {
  Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &count_to, 10);
  BOOST_TEST(numbers.next(trainer).value() == 0);
  const Error error = error_of([&] { return trainer.rpc_sync("p2", &sum_of_stream, numbers); });
  BOOST_TEST(error.code == ErrorCode::not_serializable);
  BOOST_TEST(error.execution == Execution::never);
  BOOST_TEST(error.message == "[encode] the stream is being read");
}

BOOST_AUTO_TEST_CASE(stream_of_a_reference_is_fetched_once) {
  const RRef<Stream<std::int64_t>> kept = trainer.remote("p1", &count_to, 4);
  BOOST_TEST(all_of(kept.to_here(trainer), trainer) == numbers_to(4), boost::test_tools::per_element());
  BOOST_TEST(error_of([&] { return kept.to_here(trainer); }).message == "[encode] the stream was sent before");
}

BOOST_AUTO_TEST_CASE(stream_on_a_value_and_functions_that_change_it_take_turns) {
  std::vector<Future<void>> changes;
  Stream<bool> elements;
  {
    const RRef<Counter> counter = trainer.remote("p1", constructor<Counter, std::int64_t>, 0);
    elements = counter.rpc_sync(trainer, &changed_meanwhile, 40);
    for (int i = 0; i < 60; ++i) changes.push_back(counter.rpc_async(trainer, &Counter::compute_for, 1));
  }
  std::int64_t count = 0;
  for (const bool changed : elements.read(trainer)) {
    BOOST_TEST(!changed);
    ++count;
  }
  BOOST_TEST(count == 40);
  for (const auto& change : changes) change.get();
  elements = {};
  cluster.expect_settled();
}

BOOST_AUTO_TEST_CASE(tensors_come_with_their_bytes) {
  double expected = 0;
  for (const Tensor& tensor : trainer.rpc_sync("p1", &tensors, 5, 100'000).read(trainer)) {
    BOOST_TEST(tensor.numel() == 100'000);
    BOOST_TEST(same_bytes(tensor, full({100'000}, expected++, DType::u8)));
  }
  BOOST_TEST(expected == 5);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(reader_of_a_stream_whose_node_dies_is_told) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  Stream<std::int64_t> numbers = trainer.rpc_sync("p1", &slow_second, 5000);
  BOOST_TEST(numbers.next(trainer).value() == 1);
  cluster.kill("p1");
  BOOST_TEST(error_of([&] { return numbers.next(trainer); }).code == ErrorCode::owner_died);
  BOOST_TEST(!numbers.next(trainer));
}

}  // namespace
}  // namespace troupe::testing
