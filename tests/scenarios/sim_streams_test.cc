// Streams over a time that no test could wait for: what their functions call, and what their readers request.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/dist_autograd.h"
#include "actors/stream.h"
#include "actors/wait_all_scope.h"
#include "autograd/ops.h"
#include "node/sim/world.h"
#include "tensor/create.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_streams)

namespace {

using namespace std::chrono_literals;

const std::vector<NodeName> kNames{"a", "b", "c"};

std::int64_t next_of(std::int64_t x) { return x + 1; }

std::int64_t wait_for(Scope& scope, std::int64_t seconds) {
  detail::WaitPoint never;
  static_cast<void>(never.wait(scope.state().node->clock().now() + std::chrono::seconds(seconds)));
  return seconds;
}

/// One number each second.
Stream<std::int64_t> slow_numbers(Scope& scope, std::int64_t end) {
  for (std::int64_t i = 0; i < end; ++i) {
    static_cast<void>(wait_for(scope, 1));
    co_yield i;
  }
}

/// Each number is made by a call that takes a second.
Stream<std::int64_t> numbers_by_calls(Scope& scope, NodeName other, std::int64_t end) {
  for (std::int64_t i = 0; i < end; ++i) {
    static_cast<void>(scope.rpc_sync(other, &wait_for, 1));
    co_yield i;
  }
}

/// Its number is made by a call that takes longer than calls do without a deadline of their own.
Stream<std::int64_t> number_by_a_long_call(Scope& scope, NodeName other) {
  co_yield scope.rpc_sync(other, &wait_for, 90);
}

/// Is no coroutine itself.
Stream<std::int64_t> numbers_after_a_call(Scope& scope, const NodeName& other, std::int64_t end) {
  static_cast<void>(scope.rpc_sync(other, &wait_for, 50));
  return slow_numbers(scope, end);
}

/// Numbers up to `many` at once, and then one after a minute.
Stream<std::int64_t> many_numbers(Scope& scope, std::int64_t many) {
  for (std::int64_t i = 0; i < many; ++i) co_yield i;
  static_cast<void>(wait_for(scope, 60));
  co_yield many;
}

/// A stream in an answer of 8 MiB: more than leaves before the peer acknowledges any of it.
struct Loaded {
  Stream<std::int64_t> numbers;
  Tensor load;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(numbers, load);
  }
};

/// The value of `w` times 1, 2, ... `end`.
Stream<Variable> multiples(Scope& scope, RRef<Variable> w, std::int64_t end) {
  const Variable here = *w.local_value(scope);
  for (std::int64_t i = 1; i <= end; ++i) {
    const Variable factor(full(here.value().shape(), static_cast<double>(i)));
    co_yield mul(here, factor);
  }
}

/// As multiples, each after 10 s.
Stream<Variable> slow_multiples(Scope& scope, RRef<Variable> w, std::int64_t end) {
  const Variable here = *w.local_value(scope);
  for (std::int64_t i = 1; i <= end; ++i) {
    static_cast<void>(wait_for(scope, 10));
    co_yield mul(here, Variable(full(here.value().shape(), static_cast<double>(i))));
  }
}

Variable parameter(double value) { return {full({2}, value), RequiresGrad::yes}; }

/// Returns the numbers that this node reads.
std::vector<std::int64_t> read_all(Scope& scope, const Stream<std::int64_t>& numbers) {
  std::vector<std::int64_t> read;
  for (const std::int64_t number : numbers.read(scope)) read.push_back(number);
  return read;
}

/// A value that reads a stream, one number in each call.
class Reader {
 public:
  explicit Reader(Stream<std::int64_t> numbers) : numbers_(std::move(numbers)) {}
  std::int64_t read(Scope& scope) { return numbers_.next(scope).value_or(-1); }

 private:
  Stream<std::int64_t> numbers_;
};

Reader reader_of(Scope& scope, const NodeName& from, std::int64_t end) {
  return Reader(scope.rpc_sync(from, &slow_numbers, end));
}

/// A value with a stream.
class Source {
 public:
  Stream<std::int64_t> numbers() {
    for (std::int64_t i = 0;; ++i) co_yield i;
  }
  Stream<std::int64_t> slow_numbers(Scope& scope) {
    for (std::int64_t i = 0;; ++i) {
      static_cast<void>(wait_for(scope, 1));
      co_yield i;
    }
  }
  std::int64_t sum_of(Scope& scope, const RRef<Stream<std::int64_t>>& kept, std::int64_t count) {
    Stream<std::int64_t> numbers = *kept.local_value(scope);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += numbers.next(scope).value();
    return sum;
  }
};

/// A value that has made a stream, and gives it to whoever asks.
class Keeper {
 public:
  explicit Keeper(std::int64_t end) : end_(end), numbers_(up_to(end)) {}
  [[nodiscard]] std::int64_t end() const { return end_; }
  [[nodiscard]] Loaded give() const { return {numbers_, zeros({2 << 20})}; }

 private:
  static Stream<std::int64_t> up_to(std::int64_t end) {
    for (std::int64_t i = 0; i < end; ++i) co_yield i;
  }
  std::int64_t end_;
  Stream<std::int64_t> numbers_;
};

std::int64_t hold(Scope& scope, const RRef<Source>& source, std::int64_t seconds) {
  const auto held = source.local_value(scope);
  return wait_for(scope, seconds);
}

FunctionRegistry functions() {
  return {{"next_of", &next_of},
          {"wait_for", &wait_for},
          {"slow_numbers", &slow_numbers},
          {"numbers_by_calls", &numbers_by_calls},
          {"number_by_a_long_call", &number_by_a_long_call},
          {"numbers_after_a_call", &numbers_after_a_call},
          {"many_numbers", &many_numbers},
          {"multiples", &multiples},
          {"slow_multiples", &slow_multiples},
          {"parameter", &parameter},
          {"read_all", &read_all},
          {"reader_of", &reader_of},
          {"Reader::read", &Reader::read},
          {"source", constructor<Source>},
          {"Source::numbers", &Source::numbers},
          {"Source::slow_numbers", &Source::slow_numbers},
          {"Source::sum_of", &Source::sum_of},
          {"keeper", constructor<Keeper, std::int64_t>},
          {"Keeper::end", &Keeper::end},
          {"Keeper::give", &Keeper::give},
          {"hold", &hold}};
}

/// Returns how many numbers came in order, from `first` on.
std::int64_t count_of(const Stream<std::int64_t>& numbers, const Scope& scope, std::int64_t first = 0) {
  std::int64_t next = first;
  for (const std::int64_t number : numbers.read(scope)) next += number == next ? 1 : 0;
  return next - first;
}

}  // namespace

BOOST_AUTO_TEST_CASE(calls_of_a_stream_may_each_take_as_long_as_the_call_that_started_it) {
  sim::World world({}, kNames, functions());
  const Future<std::int64_t> count = world.on("a", [](Node& node) {
    const Scope quick = node.with({.deadline = 5s});
    return count_of(quick.rpc_sync("b", &numbers_by_calls, "c", 20), quick);
  });
  BOOST_TEST(count.get() == 20);
}

BOOST_AUTO_TEST_CASE(calls_of_a_stream_have_no_limit_if_the_call_that_started_it_has_none) {
  sim::World world({}, kNames, functions());
  const Future<std::int64_t> number = world.on("a", [](Node& node) {
    const Scope patient = node.with({.deadline = Deadline::while_peer_lives()});
    return patient.rpc_sync("b", &number_by_a_long_call, "c").next(patient).value();
  });
  BOOST_TEST(number.get() == 90);
}

BOOST_AUTO_TEST_CASE(stream_of_a_value_is_read_in_calls_that_end_before_its_next_elements) {
  sim::World world({}, kNames, functions());
  const Future<std::int64_t> sum = world.on("a", [](Node& node) {
    const Scope quick = node.with({.deadline = 5s});
    const auto reader = quick.remote("b", &reader_of, "c", 20);
    std::int64_t read = 0;
    for (int i = 0; i < 20; ++i) read += reader.rpc_sync(quick, &Reader::read);
    return read;
  });
  BOOST_TEST(sum.get() == 190);  // 0 + 1 + ... + 19
}

BOOST_AUTO_TEST_CASE(node_that_dies_takes_a_dropped_stream_along_that_waits_for_its_turn) {
  sim::World world({}, kNames, functions());
  const Future<void> done = world.on("a", [&world](Node& node) {
    const RRef<Source> source = node.remote("b", constructor<Source>);
    Stream<std::int64_t> numbers = source.rpc_sync(node, &Source::numbers);
    BOOST_TEST(numbers.next(node).value() == 0);
    const Future<std::int64_t> held = node.rpc_async("b", &hold, source, 40);
    static_cast<void>(node.rpc_sync("c", &wait_for, 1));
    numbers = {};
    static_cast<void>(node.rpc_sync("c", &wait_for, 1));
    world.kill("b");
    BOOST_TEST((error_of([&] { return held.get(); }).code == ErrorCode::peer_down));
  });
  done.get();
  BOOST_TEST(world.counts().actors_left == 0U);
}

// Each function, and each stream that one of them reads, needs the turn that the other has.
BOOST_AUTO_TEST_CASE(functions_on_two_values_read_streams_on_each_other_and_on_their_own) {
  sim::World world({}, kNames, functions());
  const Future<void> done = world.on("a", [](Node& node) {
    const Scope patient = node.with({.deadline = 600s});
    const RRef<Source> one = node.remote("b", constructor<Source>);
    const RRef<Source> other = node.remote("b", constructor<Source>);
    std::vector<Future<std::int64_t>> sums;
    for (const RRef<Source>& reader : {one, other}) {
      for (const RRef<Source>& source : {one, other}) {
        const auto kept = source.remote(patient, &Source::slow_numbers);
        sums.push_back(reader.rpc_async(patient, &Source::sum_of, kept, 20));
      }
    }
    for (const Future<std::int64_t>& sum : sums) BOOST_TEST(sum.get() == 190);  // 0 + 1 + ... + 19
  });
  done.get();
}

// It stops while its element waits for others, or is being made.
BOOST_AUTO_TEST_CASE(reader_that_stops_leaves_the_rest_of_the_stream_to_another_node) {
  for (int seconds = 0; seconds < 12; ++seconds) {
    BOOST_TEST_CONTEXT("after " << seconds << " s") {
      sim::World world({}, kNames, functions());
      const Future<std::vector<std::int64_t>> read = world.on("a", [seconds](Node& node) {
        Stream<std::int64_t> numbers = node.rpc_sync("b", &numbers_by_calls, "c", 20);
        const auto others = node.with({.deadline = 60s}).rpc_async("c", &read_all, numbers);
        numbers.ahead(1);
        const Scope patient = node.with({.deadline = std::chrono::milliseconds(1000 * seconds + 500)});
        std::vector<std::int64_t> own;
        try {
          own.push_back(numbers.next(patient).value());
        } catch (const RemoteError& late) {
          BOOST_TEST((late.code() == ErrorCode::timeout));
        }
        numbers = {};
        std::ranges::copy(others.get(), std::back_inserter(own));
        return own;
      });
      const std::vector<std::int64_t> all = read.get();
      const std::set<std::int64_t> different(all.begin(), all.end());
      BOOST_TEST(different.size() == all.size());  // nothing is read twice
      BOOST_TEST(all.size() >= 19U);               // of 20: one may have been made in vain
      BOOST_TEST((*different.begin() >= 0 && *different.rbegin() == 19));
    }
  }
}

// What is requested ahead is no call of the program: wait_all does not wait for it, and the scope's end does not end
// it.
BOOST_AUTO_TEST_CASE(stream_that_is_read_in_a_wait_all_scope_goes_on_after_it) {
  sim::World world({}, kNames, functions());
  const Future<std::int64_t> count = world.on("a", [&world](Node& node) {
    Stream<std::int64_t> numbers = node.rpc_sync("b", &slow_numbers, 20);
    {
      WaitAllScope calls(node);
      BOOST_TEST(numbers.next(calls).value() == 0);
      const auto read = world.now();
      calls.wait_all();
      BOOST_TEST((world.now() == read));
    }
    return 1 + count_of(numbers, node, 1);
  });
  BOOST_TEST(count.get() == 20);
}

BOOST_AUTO_TEST_CASE(function_that_returns_a_stream_later_ends_with_its_call) {
  sim::World world({}, kNames, functions());
  const Future<void> gave_up = world.on("a", [&world](Node& node) {
    const Future<Stream<std::int64_t>> numbers = node.rpc_async("b", &numbers_after_a_call, "c", 1);
    static_cast<void>(node.rpc_sync("b", &wait_for, 1));
    BOOST_TEST(world.node("b").counts().served_calls == 1U);
    numbers.cancel();
  });
  gave_up.get();
  world.run_for(1s);
  BOOST_TEST(world.node("b").counts().served_calls == 0U);
}

BOOST_AUTO_TEST_CASE(stream_that_is_dropped_half_read_is_no_failure) {
  sim::World world({}, kNames, functions());
  const auto warns_after_one = [&world](bool kills) {
    const Future<void> done = world.on("a", [&world, kills](Node& node) {
      Stream<std::int64_t> numbers = node.rpc_sync("b", &numbers_by_calls, "c", 20);
      BOOST_TEST(numbers.next(node).value() == 0);
      if (kills) world.kill("c");
      if (kills) static_cast<void>(error_of([&] { return numbers.next(node); }));
    });
    done.get();
    world.run_for(500ms);  // what the function calls takes a second
    return world.trace_text(100000).find("next for a failed") != std::string::npos;
  };
  BOOST_TEST(!warns_after_one(false));
  BOOST_TEST(world.node("b").counts().served_calls == 0U);
  BOOST_TEST(warns_after_one(true));  // a failure is in the log
}

// A peer may have 1,024 calls that have not begun; more hold up all others.
BOOST_AUTO_TEST_CASE(calls_to_a_node_go_on_while_its_stream_makes_no_element) {
  sim::World world({}, kNames, functions());
  const Future<std::int64_t> answer = world.on("a", [](Node& node) {
    constexpr std::int64_t kMany = 1100;
    Stream<std::int64_t> numbers = node.rpc_sync("b", &many_numbers, kMany);
    numbers.ahead(std::numeric_limits<std::size_t>::max());
    for (std::int64_t read = 0; read < kMany; ++read) static_cast<void>(numbers.next(node));
    const Scope quick = node.with({.deadline = 5s});
    const Error late = error_of([&] { return numbers.next(quick); });
    return late.code == ErrorCode::timeout ? quick.rpc_sync("b", &next_of, 41) : 0;
  });
  BOOST_TEST(answer.get() == 42);
}

BOOST_AUTO_TEST_CASE(each_element_has_its_gradient_in_the_context_in_which_it_is_read) {
  sim::World world({}, kNames, functions());
  const Future<void> done = world.on("a", [](Node& node) {
    const RRef<Variable> w = node.remote("b", &parameter, 3.0);
    Stream<Variable> products = node.rpc_sync("b", &multiples, w, 5);
    for (int step = 1; step <= 5; ++step) {
      const DistContext ctx(node);
      const Variable product = products.next(ctx).value();
      BOOST_TEST(same_bytes(product.value(), full({2}, 3.0 * step)));
      backward(ctx, sum(mul(product, product)));
      BOOST_TEST(same_bytes(ctx.grad(w), full({2}, 6.0 * step * step)));  // d(step^2 w^2)/dw
    }
    const DistContext ctx(node);
    BOOST_TEST(!products.next(ctx));
  });
  done.get();
}

BOOST_AUTO_TEST_CASE(elements_with_gradients_are_read_where_they_were_requested) {
  sim::World world({}, kNames, functions());
  const Future<void> done = world.on("a", [](Node& node) {
    const RRef<Variable> w = node.remote("b", &parameter, 3.0);
    Stream<Variable> products = node.rpc_sync("b", &multiples, w, 12);
    const DistContext ctx(node);
    BOOST_TEST(same_bytes(products.next(node).value().value(), full({2}, 3.0)));
    const Error error = error_of([&] { return products.next(ctx); });
    BOOST_TEST((error.code == ErrorCode::bad_argument));
    BOOST_TEST(error.message == "7 elements were requested outside a context, and are read in context " +
                                    ctx.id().text() + ": no gradient would come back");
    products.ahead(1);
    for (int i = 2; i <= 8; ++i) BOOST_TEST(same_bytes(products.next(node).value().value(), full({2}, 3.0 * i)));
    backward(ctx, sum(products.next(ctx).value()));
    BOOST_TEST(same_bytes(ctx.grad(w), full({2}, 9.0)));
    BOOST_TEST(same_bytes(products.next(node).value().value(), full({2}, 30.0)));
  });
  done.get();
}

BOOST_AUTO_TEST_CASE(elements_requested_in_a_context_that_has_ended_are_read_without_their_gradients) {
  sim::World world({}, kNames, functions());
  const Future<void> done = world.on("a", [](Node& node) {
    const RRef<Variable> w = node.remote("b", &parameter, 3.0);
    Stream<Variable> products = node.rpc_sync("b", &slow_multiples, w, 3);
    {
      const DistContext late(node);
      const Error error = error_of([&] { return products.next(late.with({.deadline = 5s})); });
      BOOST_TEST((error.code == ErrorCode::timeout));
      const DistContext beside(node);
      BOOST_TEST((error_of([&] { return products.next(beside); }).code == ErrorCode::bad_argument));
    }
    const DistContext ctx(node);
    const Variable first = products.next(ctx).value();
    BOOST_TEST(same_bytes(first.value(), full({2}, 3.0)));
    const Variable second = products.next(ctx).value();
    backward(ctx, sum(mul(first, second)));
    BOOST_TEST(same_bytes(ctx.grad(w), full({2}, 6.0)));  // d(3 * 2w)/dw
  });
  done.get();
}

BOOST_AUTO_TEST_CASE(an_element_of_a_context_that_has_ended_is_read_in_another_before_what_was_requested_outside) {
  sim::World world({}, kNames, functions());
  const Future<void> done = world.on("a", [](Node& node) {
    const RRef<Variable> w = node.remote("b", &parameter, 3.0);
    Stream<Variable> products = node.rpc_sync("b", &slow_multiples, w, 3);
    const auto read_for_a_second = [&](const Scope& scope) {
      return error_of([&] { return products.next(scope.with({.deadline = 1s})); }).code;
    };
    BOOST_TEST((read_for_a_second(DistContext(node)) == ErrorCode::timeout));
    BOOST_TEST((read_for_a_second(node) == ErrorCode::timeout));
    const DistContext ctx(node);
    BOOST_TEST(same_bytes(products.next(ctx).value().value(), full({2}, 3.0)));
    const Error error = error_of([&] { return products.next(ctx); });
    BOOST_TEST((error.code == ErrorCode::bad_argument));
    BOOST_TEST(error.message.starts_with("7 elements were requested outside a context"));
  });
  done.get();
}

// What was requested ahead outside a context turns out to be no element.
BOOST_AUTO_TEST_CASE(end_of_a_stream_with_gradients_is_read_in_any_context) {
  sim::World world({}, kNames, functions());
  const Future<void> done = world.on("a", [](Node& node) {
    const RRef<Variable> w = node.remote("b", &parameter, 3.0);
    Stream<Variable> products = node.rpc_sync("b", &multiples, w, 2);
    BOOST_TEST(products.next(node).has_value());
    BOOST_TEST(products.next(node).has_value());
    const DistContext ctx(node);
    BOOST_TEST(!products.next(ctx));
  });
  done.get();
}

BOOST_AUTO_TEST_CASE(elements_without_gradients_are_read_in_any_context) {
  sim::World world({}, kNames, functions());
  const Future<std::int64_t> count = world.on("a", [](Node& node) {
    Stream<std::int64_t> numbers = node.rpc_sync("b", &many_numbers, 30);
    std::int64_t next = 0;
    for (int step = 0; step < 10; ++step) {
      const DistContext ctx(node);
      next += numbers.next(ctx) == next ? 1 : 0;
      next += numbers.next(node) == next ? 1 : 0;
    }
    return next;
  });
  BOOST_TEST(count.get() == 20);
}

BOOST_AUTO_TEST_CASE(a_stream_in_an_answer_that_is_taken_back_half_sent_is_sent_again) {
  sim::World world({}, kNames, functions());
  const Future<void> done = world.on("a", [&](Node& node) {
    const RRef<Keeper> keeper = node.remote("b", constructor<Keeper, std::int64_t>, 5);
    BOOST_TEST(keeper.rpc_sync(node, &Keeper::end) == 5);
    world.cut("b", "a");
    const Scope hurried = node.with({.deadline = Deadline(2s)});
    BOOST_TEST((error_of([&] { return keeper.rpc_sync(hurried, &Keeper::give); }).code == ErrorCode::timeout));
    world.heal("b", "a");
    const Loaded given = keeper.rpc_sync(node, &Keeper::give);
    BOOST_TEST(count_of(given.numbers, node) == 5);
  });
  done.get();
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
