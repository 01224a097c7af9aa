#include "node/gloo_collective.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "actors/core/node_core.h"
#include "node/local_cluster.h"
#include "node/sim/world.h"
#include "tensor/create.h"
#include "tests/support/hold.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(gloo_collectives)

using namespace std::chrono_literals;
using boost::unit_test::label;
using Names = std::vector<NodeName>;

/// Meets the other members and sums with them, on behalf of its caller.
void wait_for_others(Scope& scope, const Names& members) {
  const auto collective = gloo_collective(scope, Group(members));
  collective->barrier(scope);
  static_cast<void>(collective->all_reduce(scope, ones({2})));
}

double sum_in(Scope& scope, const Names& members, double own) {
  return gloo_collective(scope, Group(members))->all_reduce(scope, full({1}, own)).item();
}

FunctionRegistry functions() {
  return {{"wait_for_others", &wait_for_others}, {"sum_in", &sum_in}, {"hold", &testing::hold}};
}

Names first_names(std::size_t count) {
  const Names all{"a", "b", "c", "d", "e"};
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// Nodes in this process, with one program thread per node.
struct Members {
  explicit Members(std::size_t count, PoolOptions pool = {})
      : names(first_names(count)), cluster(names, functions(), {.pool = pool}) {}

  /// Runs `program` on every member with a collective of all members. Returns the results by rank.
  template <class Program>
  auto run(Program program) {
    return start(std::move(program))();
  }

  /// As above in two steps: returns when the programs run. The returned function waits for them.
  template <class Program>
  auto start(Program program) {
    using R = std::invoke_result_t<Program, Collective&, Scope&>;
    auto running = std::make_shared<std::vector<std::future<R>>>();
    for (const NodeName& name : names) {
      running->push_back(std::async(std::launch::async, [this, name, program] {
        Scope scope = cluster.node(name).with({.deadline = 20s});
        const auto collective = gloo_collective(scope, Group(names));
        return program(*collective, scope);
      }));
    }
    return [running] {
      std::vector<R> results;
      for (auto& result : *running) results.push_back(result.get());
      return results;
    };
  }

  const Names names;
  LocalCluster cluster;
};

/// Returns the Error of `call`, or nothing if it throws none.
template <class Call>
std::optional<Error> error_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (const RemoteError& error) {
    return error.error();
  }
  return std::nullopt;
}

/// Returns the input of member `rank` at index `i`.
std::int64_t brought(std::size_t rank, std::int64_t i) { return static_cast<std::int64_t>(rank) + 1 + i % 3; }

template <class T>
Tensor tensor_of(std::size_t rank, const Shape& shape) {
  Tensor tensor = Tensor::empty(shape, dtype_of<T>);
  std::int64_t i = 0;
  for (T& element : tensor.mutable_data<T>()) element = static_cast<T>(brought(rank, i++));
  return tensor;
}

/// Returns the result of all `size` members at index `i`, computed sequentially.
template <class T>
T expected(ReduceOp op, std::size_t size, std::int64_t i) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T(expected<float>(op, size, i));
  T total = static_cast<T>(brought(0, i));
  for (std::size_t rank = 1; rank < size; ++rank) {
    const T next = static_cast<T>(brought(rank, i));
    if (op == ReduceOp::sum || op == ReduceOp::mean) total = static_cast<T>(total + next);
    if (op == ReduceOp::prod) total = static_cast<T>(total * next);
    if (op == ReduceOp::min) total = std::min(total, next);
    if (op == ReduceOp::max) total = std::max(total, next);
  }
  return op == ReduceOp::mean ? static_cast<T>(total / static_cast<T>(size)) : total;
}

template <class T>
bool is_expected(const Tensor& tensor, ReduceOp op, std::size_t size) {
  std::int64_t i = 0;
  for (const T element : tensor.data<T>()) {
    if (element != expected<T>(op, size, i++)) return false;  // sums and products of small integers are exact
  }
  return true;
}

/// Returns the names of the reductions whose result differs from the sequential one.
template <class T>
std::string wrong_reductions(Collective& collective, const Scope& scope) {
  std::string wrong;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::min, ReduceOp::max, ReduceOp::prod}) {
    if (op == ReduceOp::mean && !is_floating(dtype_of<T>)) continue;
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 5}, Shape{1000}, Shape{0, 4}}) {
      const Tensor own = tensor_of<T>(collective.rank(), shape);
      const Tensor all = collective.all_reduce(scope, own, op);
      const Tensor one = collective.reduce(scope, collective.names().back(), own, op);
      const bool root = collective.rank() + 1 == collective.size();
      const bool right = all.shape() == shape && is_expected<T>(all, op, collective.size()) && one.defined() == root &&
                         (!root || (one.shape() == shape && is_expected<T>(one, op, collective.size())));
      if (!right || !same_bytes(own, tensor_of<T>(collective.rank(), shape))) {
        wrong += std::string(name_of(dtype_of<T>)) + " " + std::string(name_of(op)) + " " + to_string(shape) + "; ";
      }
    }
  }
  return wrong;
}

BOOST_AUTO_TEST_CASE(reductions_of_every_dtype_are_those_of_plain_arithmetic_and_arguments_stay) {
  for (const std::size_t size : {1U, 2U, 3U, 5U}) {
    Members members(size);
    const auto wrong = members.run([](Collective& collective, Scope& scope) {
      return wrong_reductions<float>(collective, scope) + wrong_reductions<double>(collective, scope) +
             wrong_reductions<std::int32_t>(collective, scope) + wrong_reductions<std::int64_t>(collective, scope) +
             wrong_reductions<std::uint8_t>(collective, scope) + wrong_reductions<std::int8_t>(collective, scope) +
             wrong_reductions<std::int16_t>(collective, scope) + wrong_reductions<Half>(collective, scope) +
             wrong_reductions<BFloat16>(collective, scope);
    });
    for (const std::string& text : wrong) BOOST_TEST(text == "", size << " members: " << text);
  }
}

BOOST_AUTO_TEST_CASE(the_smallest_and_the_largest_of_something_that_is_no_number_is_none) {
  Members members(3);
  const auto counts = members.run([](Collective& collective, Scope& scope) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::string kept;
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
      const Tensor own = full({7}, collective.rank() == 1 ? nan : 1.0);
      const Tensor all = collective.all_reduce(scope, own, op);
      for (const float element : all.data<float>()) kept += std::isnan(element) ? 'n' : '-';
    }
    return kept;
  });
  for (const std::string& kept : counts) BOOST_TEST(kept == "nnnnnnnnnnnnnn");
}

BOOST_AUTO_TEST_CASE(tensor_of_many_segments_is_reduced) {
  Members members(3);
  const auto right = members.run([](Collective& collective, Scope& scope) {
    const Tensor sum = collective.all_reduce(scope, tensor_of<float>(collective.rank(), {2'000'003}));
    return is_expected<float>(sum, ReduceOp::sum, 3);
  });
  for (const bool is_right : right) BOOST_TEST(is_right);
}

BOOST_AUTO_TEST_CASE(tensor_of_any_layout_is_reduced_to_a_contiguous_one) {
  Members members(2);
  const auto results = members.run([](Collective& collective, Scope& scope) {
    return collective.all_reduce(scope, arange(6).reshape({2, 3}).transpose());
  });
  for (const Tensor& result : results) {
    BOOST_TEST(result.is_contiguous());
    BOOST_TEST(same_bytes(result, from_values<std::int64_t>({0, 6, 2, 8, 4, 10}, {3, 2})));  // twice 0 3, 1 4, 2 5
  }
}

BOOST_AUTO_TEST_CASE(value_of_one_member_is_broadcast_to_all) {
  for (const std::size_t size : {1U, 2U, 3U, 5U}) {
    Members members(size);
    const auto results = members.run([](Collective& collective, Scope& scope) {
      return collective.broadcast(scope, collective.names().back(), tensor_of<std::int64_t>(collective.rank(), {3, 5}));
    });
    for (const Tensor& result : results) BOOST_TEST(same_bytes(result, tensor_of<std::int64_t>(size - 1, {3, 5})));
  }
}

BOOST_AUTO_TEST_CASE(values_of_all_members_are_gathered_by_rank) {
  for (const std::size_t size : {1U, 2U, 3U, 5U}) {
    Members members(size);
    const auto results = members.run([](Collective& collective, Scope& scope) {
      return collective.all_gather(scope,
                                   tensor_of<std::uint8_t>(collective.rank(), {3}).to(DType::boolean).expand({2, 3}));
    });
    for (const auto& gathered : results) {
      BOOST_TEST_REQUIRE(gathered.size() == size);
      for (std::size_t rank = 0; rank < size; ++rank)
        BOOST_TEST(same_bytes(gathered[rank], ones({2, 3}).to(DType::boolean)));
    }
    const auto ranks = members.run([](Collective& collective, Scope& scope) {
      return collective.all_gather(scope, tensor_of<float>(collective.rank(), {}));
    });
    for (const auto& gathered : ranks) {
      for (std::size_t rank = 0; rank < size; ++rank)
        BOOST_TEST(gathered[rank].item() == static_cast<double>(rank + 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(nobody_passes_the_barrier_before_all_are_there) {
  Members members(5);
  std::atomic<std::size_t> arrived{0};
  const auto seen = members.run([&](Collective& collective, Scope& scope) {
    std::size_t least = 5;
    for (std::size_t round = 1; round <= 20; ++round) {
      ++arrived;
      collective.barrier(scope);
      least = std::min(least, arrived.load() - 5 * (round - 1));  // at least 5 of this round
    }
    return least;
  });
  for (const std::size_t least : seen) BOOST_TEST(least == 5U);
}

BOOST_AUTO_TEST_CASE(operations_that_nobody_waits_for_keep_their_place_in_the_order) {
  Members members(3);
  const auto sums = members.run([](Collective& collective, Scope& scope) {
    std::vector<Future<Tensor>> futures;
    for (int i = 0; i < 10; ++i) futures.push_back(collective.all_reduce_async(scope, full({1}, i)));
    std::vector<double> values{collective.all_reduce(scope, full({1}, 10)).item()};
    for (const auto& future : futures) values.push_back(future.get().item());
    return values;
  });
  for (const auto& values : sums) {
    BOOST_TEST(values == (std::vector<double>{30, 0, 3, 6, 9, 12, 15, 18, 21, 24, 27}),
               boost::test_tools::per_element());
  }
}

// The first member calls all of them before another member calls one: no call waits for the others.
BOOST_AUTO_TEST_CASE(every_operation_can_run_on_the_pool) {
  Members members(3);
  std::promise<void> first_has_called;
  const std::shared_future<void> called = first_has_called.get_future().share();
  const auto all = members.run([&, called](Collective& collective, Scope& scope) {
    const auto rank = static_cast<double>(collective.rank());
    if (rank > 0 && called.wait_for(10s) != std::future_status::ready)
      throw std::runtime_error("a call of the first member waits for the others");
    const Future<Tensor> total = collective.all_reduce_async(scope, full({2}, rank));
    const Future<Tensor> sum = collective.reduce_async(scope, "b", full({2}, rank));
    const Future<Tensor> sent = collective.broadcast_async(scope, "c", full({2}, rank));
    const Future<std::vector<Tensor>> gathered = collective.all_gather_async(scope, full({2}, rank));
    if (rank == 0) first_has_called.set_value();
    const Tensor here = sum.get();
    std::vector<double> values{total.get().select(0, 1).item(), here.defined() ? here.select(0, 1).item() : -1.0,
                               sent.get().select(0, 1).item()};
    for (const Tensor& one : gathered.get()) values.push_back(one.select(0, 1).item());
    return values;
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<double> want{3, i == 1 ? 3.0 : -1.0, 2, 0, 1, 2};
    BOOST_TEST(all[i] == want, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(collectives_of_the_same_and_of_other_members_do_not_mix) {
  Members members(3);
  const auto sums = members.run([&](Collective& first, Scope& scope) {
    const auto second = gloo_collective(scope, Group(members.names));
    auto aside = std::async(std::launch::async, [&] {
      double sum = 0;
      for (int i = 0; i < 50; ++i) sum += second->all_reduce(scope, full({1}, 100)).item();
      return sum;
    });
    double sum = 0;
    for (int i = 0; i < 50; ++i) sum += first.all_reduce(scope, full({1}, 1)).item();
    double pair = 0;
    if (scope.node_name() != "b")
      pair = gloo_collective(scope, Group(Names{"c", "a"}))->all_reduce(scope, full({1}, 7)).item();
    return std::vector<double>{sum, aside.get(), pair};
  });
  BOOST_TEST(sums[0] == (std::vector<double>{150, 15000, 14}), boost::test_tools::per_element());
  BOOST_TEST(sums[1] == (std::vector<double>{150, 15000, 0}), boost::test_tools::per_element());
  BOOST_TEST(sums[2] == sums[0], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(collective_that_is_formed_before_any_call_works_and_calls_work_beside_it, *label("I-10")) {
  Members members(3);
  const auto results = members.run([&](Collective& collective, Scope& scope) {
    std::vector<double> sums;
    for (int round = 0; round < 5; ++round) {
      sums.push_back(collective.all_reduce(scope, full({1}, round)).item());
      // Two nodes form a collective of their own, in functions that they serve.
      if (collective.rank() == 0) {
        const auto parts = Group(Names{"b", "c"}).call_all(scope, &sum_in, Names{"b", "c"}, 2.0).values;
        sums.push_back(parts.at("b"));
        sums.push_back(parts.at("c"));
      }
    }
    return sums;
  });
  BOOST_TEST(results[0] == (std::vector<double>{0, 4, 4, 3, 4, 4, 6, 4, 4, 9, 4, 4, 12, 4, 4}),
             boost::test_tools::per_element());
  for (const std::size_t rank : {1U, 2U}) {
    BOOST_TEST(results[rank] == (std::vector<double>{0, 3, 6, 9, 12}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(collective_needs_no_thread_of_a_pool_that_is_taken, *label("I-27")) {
  Members members(2, {.threads = 1});
  std::vector<Future<void>> held;
  held.push_back(members.cluster.node("a").rpc_async("b", &testing::hold));
  held.push_back(members.cluster.node("b").rpc_async("a", &testing::hold));
  const auto sums =
      members.run([](Collective& collective, Scope& scope) { return collective.all_reduce(scope, ones({1})).item(); });
  BOOST_TEST(sums == (std::vector<double>{2, 2}), boost::test_tools::per_element());
  for (const Future<void>& call : held) BOOST_TEST(call.cancel());  // it was in progress all the time
}

BOOST_AUTO_TEST_CASE(collectives_work_in_simulated_worlds) {
  sim::World world({.seed = 7, .link = {.drop = 0.05, .duplicate = 0.05, .reorder = 0.2, .delay_mean = 2ms}},
                   first_names(3), functions());
  std::vector<Future<double>> sums;
  for (const NodeName& name : first_names(3)) {
    sums.push_back(world.on(name, [](Node& node) {
      const auto collective = gloo_collective(node, Group(first_names(3)));
      return collective->all_reduce(node, tensor_of<double>(collective->rank(), {10})).select(0, 1).item();
    }));
  }
  for (const auto& sum : sums) BOOST_TEST(sum.get() == 9.0);  // 2 + 3 + 4
}

/// Runs `program`, whose operation must fail on every member. Returns the errors by rank.
template <class Program>
std::vector<Error> errors_of(Members& members, Program program) {
  std::vector<Error> errors;
  for (const auto& error : members.run([&](Collective& collective, Scope& scope) {
         return error_of([&] { return program(collective, scope), 0; });
       })) {
    BOOST_TEST_REQUIRE(error.has_value());
    errors.push_back(*error);
  }
  return errors;
}

BOOST_AUTO_TEST_CASE(members_that_differ_in_shape_fail_at_once_and_all_name_both_shapes) {
  Members members(3);
  const auto errors = errors_of(members, [](Collective& collective, const Scope& scope) {
    static_cast<void>(collective.all_reduce(scope, ones(collective.rank() == 2 ? Shape{3} : Shape{2})));
  });
  for (const Error& error : errors) {
    BOOST_TEST((error.code == ErrorCode::bad_argument), error.text());
    BOOST_TEST(error.operation == "all_reduce");
    BOOST_TEST(error.message.find("all_reduce sum of f32 (2) for ") != std::string::npos, error.message);
    BOOST_TEST(error.message.find("all_reduce sum of f32 (3) for c") != std::string::npos, error.message);
  }
}

BOOST_AUTO_TEST_CASE(members_that_differ_in_dtype_operation_or_emptiness_fail_at_once) {
  const std::vector<std::function<void(Collective&, const Scope&)>> of_one{
      [](Collective& c, const Scope& scope) { static_cast<void>(c.all_reduce(scope, ones({2}, DType::f64))); },
      [](Collective& c, const Scope& scope) { static_cast<void>(c.all_reduce(scope, ones({2}), ReduceOp::max)); },
      [](Collective& c, const Scope& scope) { static_cast<void>(c.broadcast(scope, "a", ones({2}))); },
      [](Collective& c, const Scope& scope) { c.barrier(scope); },
      [](Collective& c, const Scope& scope) { static_cast<void>(c.all_reduce(scope, ones({2}, DType::boolean))); },
  };
  for (const auto& different : of_one) {
    Members members(2);
    const auto errors = errors_of(members, [&](Collective& collective, const Scope& scope) {
      if (collective.rank() == 1) different(collective, scope);
      static_cast<void>(collective.all_reduce(scope, ones({2})));
    });
    for (const Error& error : errors) BOOST_TEST((error.code == ErrorCode::bad_argument), error.text());
  }
  Members members(2);
  const auto errors = errors_of(members, [&](Collective& collective, const Scope& scope) {
    if (collective.rank() == 1) static_cast<void>(collective.all_reduce(scope, ones({0})));
    static_cast<void>(collective.all_reduce(scope, ones({2})));
  });
  for (const Error& error : errors) BOOST_TEST((error.code == ErrorCode::bad_argument), error.text());
}

BOOST_AUTO_TEST_CASE(group_whose_members_name_it_in_another_order_is_refused) {
  LocalCluster cluster({"a", "b"}, functions());
  auto other = std::async(std::launch::async, [&] {
    return error_of([&] { return gloo_collective(cluster.node("b"), Group(Names{"b", "a"})); });
  });
  for (const auto& error : {error_of([&] {
                              return gloo_collective(cluster.node("a"), Group(Names{"a", "b"}));
                            }),
                            other.get()}) {
    BOOST_TEST_REQUIRE(error.has_value());
    BOOST_TEST((error->code == ErrorCode::bad_argument));
  }
}

using Operation = std::function<Tensor(Collective&, const Scope&)>;

/// Performs `operation`, which has no room for its result, one after it, and a sum elsewhere. Returns both errors.
std::vector<Error> errors_without_room(Collective& collective, const Scope& scope, const Operation& operation) {
  std::vector<Error> errors;
  for (const Operation& one : {operation, Operation([](auto& c, auto& s) { return c.all_reduce(s, ones({1})); })}) {
    if (const auto error = error_of([&] { return one(collective, scope); })) errors.push_back(*error);
  }
  const double sum = gloo_collective(scope, Group(collective.names()))->all_reduce(scope, ones({1})).item();
  return sum == 2.0 ? errors : std::vector<Error>();
}

BOOST_AUTO_TEST_CASE(operation_whose_result_has_no_room_fails_on_every_member_and_another_collective_works) {
  const Tensor large = zeros({1}, DType::u8).expand({(std::int64_t{1} << 62) + 1});
  const Tensor half = zeros({1}, DType::u8).expand({(std::int64_t{1} << 61) + 1});
  const std::vector<Operation> operations{[&](auto& c, auto& s) { return c.all_gather(s, half).at(0); },
                                          [&](auto& c, auto& s) { return c.all_gather_async(s, half).get().at(0); },
                                          [&](auto& c, auto& s) { return c.broadcast(s, "b", large); },
                                          [&](auto& c, auto& s) { return c.broadcast_async(s, "b", large).get(); },
                                          [&](auto& c, auto& s) { return c.all_reduce_async(s, large).get(); }};
  for (const Operation& operation : operations) {
    Members members(2);
    for (const auto& of_member : members.run([&](auto& c, auto& s) { return errors_without_room(c, s, operation); })) {
      BOOST_TEST_REQUIRE(of_member.size() == 2U);
      BOOST_TEST((of_member[0].code == ErrorCode::resource_exhausted), of_member[0].text());
      BOOST_TEST(of_member[0].message == "out of memory");
      BOOST_TEST(of_member[1].cause == of_member[0].text());
    }
  }
}

BOOST_AUTO_TEST_CASE(death_of_a_member_ends_the_operations_of_the_others_with_its_name) {
  Members members(5);
  std::promise<void> formed;
  std::atomic<int> count{0};
  const auto finish = members.start([&](Collective& collective, Scope& scope) {
    if (++count == 5) formed.set_value();
    if (collective.rank() == 2) return std::optional<Error>();
    return error_of([&] { return collective.all_reduce(scope, ones({1000})); });
  });
  formed.get_future().wait();
  members.cluster.kill("c");
  const auto errors = finish();
  for (const std::size_t rank : {0U, 1U, 3U, 4U}) {
    BOOST_TEST_REQUIRE(errors[rank].has_value());
    BOOST_TEST(errors[rank]->peer == "c", errors[rank]->text());
  }
}

BOOST_AUTO_TEST_CASE(operation_that_takes_too_long_names_itself_and_whom_it_waited_for_and_breaks_the_collective) {
  Members members(2);
  std::promise<void> timed_out;
  const std::shared_future<void> is_over = timed_out.get_future().share();
  const auto errors = members.run([&](Collective& collective, Scope& scope) {
    if (collective.rank() == 1) {
      is_over.wait();
      return error_of([&] { return collective.all_reduce(scope, ones({1})); });
    }
    const auto error = error_of([&] { return collective.all_reduce(scope.with({.deadline = 50ms}), ones({1})); });
    timed_out.set_value();
    const auto later = error_of([&] { return collective.all_reduce(scope, ones({1})); });
    return error && later && later->cause == error->text() ? error : std::nullopt;
  });
  BOOST_TEST_REQUIRE((errors[0] && errors[1]));
  BOOST_TEST((errors[0]->code == ErrorCode::timeout));
  BOOST_TEST(errors[0]->operation == "all_reduce");
  const std::string words = "timed out in all_reduce after ";
  BOOST_TEST_REQUIRE(errors[0]->message.starts_with(words), errors[0]->message);
  BOOST_TEST(std::stod(errors[0]->message.substr(words.size())) >= 0.05);
  BOOST_TEST(errors[0]->message.ends_with("waiting for b"), errors[0]->message);
  BOOST_TEST((errors[1]->code == ErrorCode::timeout));
  BOOST_TEST(errors[1]->message == errors[0]->message);
}

BOOST_AUTO_TEST_CASE(formation_that_takes_too_long_names_who_did_not_come) {
  LocalCluster cluster({"a", "b"}, functions());
  const auto error = error_of([&] {
    return gloo_collective(cluster.node("a").with({.deadline = 50ms}), Group(Names{"a", "b"}));
  });
  BOOST_TEST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::timeout));
  BOOST_TEST(error->message.ends_with("b did not come"), error->message);
}

BOOST_AUTO_TEST_CASE(caller_that_gives_up_ends_the_operation_of_every_member) {
  LocalCluster cluster({"a", "b", "c"}, functions());
  const auto served = cluster.node("c").rpc_async("a", &wait_for_others, Names{"a", "b"});
  const auto collective = gloo_collective(cluster.node("b"), Group(Names{"a", "b"}));
  collective->barrier(cluster.node("b"));
  BOOST_TEST(served.cancel());
  const auto limit = std::chrono::steady_clock::now() + 10s;
  while (cluster.node("a").counts().served_calls > 0 && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
  const auto error =
      error_of([&] { return collective->all_reduce(cluster.node("b").with({.deadline = 10s}), ones({2})); });
  BOOST_TEST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::cancelled), error->text());
  BOOST_TEST(error->peer == "a");
  BOOST_TEST(error->text().find("a gave it up") != std::string::npos, error->text());
}

BOOST_AUTO_TEST_CASE(member_that_leaves_fails_who_needs_it_and_disturbs_nobody_else) {
  Members members(3);
  const auto errors = members.run([](Collective& collective, Scope& scope) {
    for (int i = 0; i < 20; ++i) {  // the members finish in any order
      const auto aside = gloo_collective(scope, Group(collective.names()));
      static_cast<void>(aside->all_reduce(scope, ones({100})));
    }
    if (collective.rank() == 0) return std::optional<Error>();
    return error_of([&] { return collective.all_reduce(scope, ones({1})); });
  });
  for (const std::size_t rank : {1U, 2U}) {
    BOOST_TEST_REQUIRE(errors[rank].has_value());
    BOOST_TEST((errors[rank]->code == ErrorCode::cancelled));
    BOOST_TEST(errors[rank]->message == "a has left the collective", errors[rank]->text());
  }
}

BOOST_AUTO_TEST_CASE(shutdown_of_its_node_ends_an_operation_here_and_there) {
  Members members(2);
  std::promise<void> formed;
  const auto finish = members.start([&](Collective& collective, Scope& scope) {
    if (collective.rank() == 0) {
      formed.set_value();
      return error_of([&] { return collective.all_reduce(scope, ones({1})); });
    }
    formed.get_future().wait();
    members.cluster.node("b").stop();
    return error_of([&] { return collective.all_reduce(scope, ones({1})); });
  });
  const auto errors = finish();
  BOOST_TEST_REQUIRE((errors[0] && errors[1]));
  BOOST_TEST(errors[0]->peer == "b", errors[0]->text());
  BOOST_TEST((errors[1]->code == ErrorCode::shutting_down), errors[1]->text());
}

BOOST_AUTO_TEST_CASE(collective_may_go_while_an_operation_that_nobody_waits_for_is_open) {
  Members members(2);
  const auto errors = members.run([](Collective& collective, Scope& scope) {
    std::optional<Future<Tensor>> open;
    if (collective.rank() == 0) {
      const auto aside = gloo_collective(scope, Group(collective.names()));
      open = aside->all_reduce_async(scope, ones({1}));
    } else {
      static_cast<void>(gloo_collective(scope, Group(collective.names())));
    }
    collective.barrier(scope);
    return error_of([&] { return open ? open->get().item() : 0; });
  });
  BOOST_TEST_REQUIRE(errors[0].has_value());
  BOOST_TEST((errors[0]->code == ErrorCode::cancelled), errors[0]->text());
}

BOOST_AUTO_TEST_CASE(who_is_no_member_forms_nothing_and_receives_nothing) {
  LocalCluster cluster({"a", "b"}, functions());
  BOOST_CHECK_THROW(static_cast<void>(gloo_collective(cluster.node("a"), Group(Names{"b"}))), std::invalid_argument);
  const auto alone = gloo_collective(cluster.node("a"), Group(Names{"a"}));
  BOOST_CHECK_THROW(static_cast<void>(alone->reduce(cluster.node("a"), "b", ones({1}))), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(alone->broadcast(cluster.node("a"), "b", ones({1}))), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(alone->reduce_async(cluster.node("a"), "b", ones({1}))), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(alone->broadcast_async(cluster.node("a"), "b", ones({1}))),
                    std::invalid_argument);
  BOOST_TEST(alone->broadcast_async(cluster.node("a"), "a", ones({1})).get().item() == 1.0);  // no turn was lost
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
