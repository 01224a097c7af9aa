#include <array>
#include <deque>
#include <map>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(graph_task)

namespace {

/// Whether the oldest or the newest pending message is delivered first.
enum class Delivery : std::uint8_t { oldest_first, newest_first };

/// Nodes that send each other variables, with the protocol of a distributed pass done by hand: mark until no new
/// boundary is reached, then feed, run and deliver until all tasks have finished.
class World {
 public:
  explicit World(std::size_t node_count) : node_count_(node_count) {}

  /// Returns the variables that a peer receives when node `from` sends `sent`.
  std::vector<Variable> pass(std::size_t from, const std::vector<Variable>& sent) {
    auto recv = RecvFn::make(static_cast<std::uint32_t>(sent.size()));
    routes_[recv.get()] = {from, SendFn::make(sent)};
    std::vector<Variable> received;
    for (const Variable& variable : sent) {
      received.push_back(RecvFn::variable(recv, static_cast<std::uint32_t>(received.size()), variable.value()));
    }
    return received;
  }
  Variable pass(std::size_t from, const Variable& sent) { return pass(from, std::vector<Variable>{sent}).front(); }

  /// Returns the gradients on each node. If `one_node`, all nodes share one task.
  std::vector<Gradients> backward(std::size_t root_node, const Variable& root, Delivery delivery,
                                  bool one_node = false) {
    std::vector<GraphTask> tasks(one_node ? 1 : node_count_);
    auto task_of = [&](std::size_t node) -> GraphTask& { return tasks[one_node ? 0 : node]; };
    auto reached = task_of(root_node).mark(root);
    while (!reached.empty()) {
      const Route& route = routes_.at(reached.back().get());
      reached.pop_back();
      for (auto& recv : task_of(route.node).mark(route.send)) reached.push_back(recv);
    }
    Mail mail;
    task_of(root_node).feed(root, initial_gradient(root));
    for (GraphTask& task : tasks) task.run(mail);
    while (!mail.items.empty()) {
      auto [recv, gradients] = mail.take(delivery);
      const Route& route = routes_.at(recv.get());
      task_of(route.node).feed(*route.send, std::move(gradients));
      task_of(route.node).run(mail);
    }
    std::vector<Gradients> found;
    for (GraphTask& task : tasks) {
      BOOST_CHECK(task.finished());
      found.push_back(task.take_gradients());
    }
    return found;
  }

 private:
  struct Route {
    std::size_t node;
    std::shared_ptr<const SendFn> send;
  };
  struct Mail final : GradientSink {
    using Item = std::pair<std::shared_ptr<const RecvFn>, std::vector<Tensor>>;
    void deliver(const std::shared_ptr<const RecvFn>& recv, std::vector<Tensor> gradients) override {
      items.emplace_back(recv, std::move(gradients));
    }
    Item take(Delivery delivery) {
      if (delivery == Delivery::newest_first) std::swap(items.front(), items.back());
      Item item = std::move(items.front());
      items.pop_front();
      return item;
    }
    std::deque<Item> items;
  };

  std::size_t node_count_;
  std::map<const RecvFn*, Route> routes_;
};

constexpr std::array kDeliveries{Delivery::oldest_first, Delivery::newest_first};

/// For tests in which no gradient leaves the node.
struct Nowhere final : GradientSink {
  void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override { BOOST_ERROR("delivered"); }
};

/// Keeps the last delivery.
struct Keep final : GradientSink {
  void deliver(const std::shared_ptr<const RecvFn>& recv, std::vector<Tensor> gradients) override {
    last_recv = recv;
    last = std::move(gradients);
    ++count;
  }
  std::shared_ptr<const RecvFn> last_recv;
  std::vector<Tensor> last;
  int count = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_diamond_over_two_nodes_has_the_gradient_of_the_local_one) {
  for (const Delivery delivery : kDeliveries) {
    World world(2);
    const Variable x = leaf(3.0);
    const Variable there = world.pass(0, x);
    const Variable back = world.pass(1, there * there);
    const auto gradients = world.backward(0, back + x * 5.0, delivery);
    expect(gradients[0].of(x), 11.0);  // 2 * 3 + 5
    BOOST_CHECK(gradients[1].empty());
  }
}

BOOST_AUTO_TEST_CASE(leaves_of_both_nodes_get_gradients_when_the_graph_returns_to_a_node_twice) {
  for (const Delivery delivery : kDeliveries) {
    World world(2);
    const Variable x = leaf(2.0);
    const Variable w = leaf(5.0);
    const Variable h = world.pass(0, x) * w;  // on node 1: w x
    const Variable g = world.pass(1, h) * x;  // on node 0: w x^2
    const Variable y = world.pass(0, g) * w;  // on node 1: w^2 x^2
    const auto gradients = world.backward(1, y, delivery);
    expect(gradients[0].of(x), 100.0);  // 2 w^2 x
    expect(gradients[1].of(w), 40.0);   // 2 w x^2
  }
}

BOOST_AUTO_TEST_CASE(a_sent_variable_whose_result_is_unused_takes_no_part_and_nothing_waits_for_it,
                     *boost::unit_test::label("B-09")) {
  World world(2);
  const Variable x = leaf(2.0);
  const Variable used = world.pass(1, world.pass(0, x) * 3.0);
  const Variable unused = world.pass(1, exp(world.pass(0, x)));
  const auto gradients = world.backward(0, used * 2.0, Delivery::oldest_first);
  expect(gradients[0].of(x), 6.0);
}

BOOST_AUTO_TEST_CASE(of_several_variables_in_one_message_the_unused_ones_get_no_gradient,
                     *boost::unit_test::label("B-08")) {
  World world(2);
  const Variable a = leaf(2.0);
  const Variable b = leaf(7.0);
  const std::vector<Variable> there = world.pass(0, {a, b, a});
  const auto gradients = world.backward(1, there[0] * there[2], Delivery::oldest_first);
  expect(gradients[0].of(a), 4.0);
  BOOST_CHECK(!gradients[0].of(b).defined());
}

BOOST_AUTO_TEST_CASE(placement_and_order_of_delivery_do_not_change_a_single_bit) {
  const std::array<float, 4> factors{0.1F, 3.7e6F, -1.3e-3F, -2.9e6F};
  std::vector<Tensor> found;
  for (const bool one_node : {true, false}) {
    for (const Delivery delivery : kDeliveries) {
      World world(3);
      const Variable x(from_values<float>({1.1F, -2.3F, 0.7F}), RequiresGrad::yes);
      Variable total = x * 0.3;
      for (std::size_t i = 0; i < factors.size(); ++i) {
        const std::size_t peer = 1 + i % 2;
        const Variable there = world.pass(0, x);
        total = total + world.pass(peer, tanh(there * factors[i]) * there + there);
      }
      found.push_back(world.backward(0, sum(total * total), delivery, one_node)[0].of(x));
    }
  }
  for (const Tensor& gradient : found) BOOST_CHECK(same_bytes(gradient, found.front()));
}

BOOST_AUTO_TEST_CASE(a_pass_marked_with_undefined_gradients_finishes_without_running_operations) {
  const Variable x = leaf(2.0);
  const auto recv = RecvFn::make(1);
  const std::array<Variable, 2> sent{RecvFn::variable(recv, 0, x.value()) * 2.0, x * x};
  const auto send = SendFn::make(sent);
  GraphTask task;
  BOOST_CHECK_EQUAL(task.mark(send).size(), 1U);
  task.feed(*send, {Tensor(), Tensor()});
  Keep sink;
  task.run(sink);
  BOOST_CHECK(task.finished());
  BOOST_CHECK(sink.last_recv == recv);
  BOOST_REQUIRE_EQUAL(sink.last.size(), 1U);
  BOOST_CHECK(!sink.last[0].defined());
  BOOST_CHECK(task.take_gradients().empty());
}

BOOST_AUTO_TEST_CASE(marking_adds_only_what_is_new_and_counts_a_boundary_once) {
  const auto recv = RecvFn::make(2);
  const Variable a = RecvFn::variable(recv, 0, scalar(1.0));
  const Variable b = RecvFn::variable(recv, 1, scalar(2.0));
  const Variable root = a * 3.0;
  const std::array<Variable, 1> sent{b * 5.0};
  const auto send = SendFn::make(sent);
  GraphTask task;
  BOOST_CHECK_EQUAL(task.mark(root).size(), 1U);
  BOOST_CHECK_EQUAL(task.vertex_count(), 2U);
  BOOST_CHECK(task.mark(send).empty());  // recv was reached before
  BOOST_CHECK(task.mark(send).empty());
  BOOST_CHECK_EQUAL(task.vertex_count(), 4U);

  Keep sink;
  task.feed(root, scalar(1.0));
  task.run(sink);
  BOOST_CHECK_EQUAL(sink.count, 0);  // held until the other slot's contribution has arrived
  BOOST_CHECK(!task.finished());
  task.feed(*send, {scalar(1.0)});
  task.run(sink);
  BOOST_CHECK(task.finished());
  BOOST_CHECK_EQUAL(sink.count, 1);
  expect(sink.last[0], 3.0);
  expect(sink.last[1], 5.0);
}

BOOST_AUTO_TEST_CASE(roots_are_summed_in_the_order_of_their_marks_however_they_are_fed) {
  // (1e8 - 1e8) + 1, in f32
  const Variable x(scalar(1.0F), RequiresGrad::yes);
  const Variable y = x * 1.0;
  const Variable z = y * 1.0;
  GraphTask task;
  for (const Variable& root : {y, y, z}) task.mark(root);
  Nowhere sink;
  task.feed(z, scalar(1.0F));
  task.run(sink);
  task.feed(y, scalar(1e8F));
  task.run(sink);
  task.feed(y, scalar(-1e8F));
  task.run(sink);
  BOOST_CHECK_EQUAL(task.take_gradients().of(x).item<float>(), 1.0F);
}

BOOST_AUTO_TEST_CASE(a_received_variable_can_be_a_root_itself) {
  World world(2);
  const Variable x = leaf(4.0);
  const auto gradients = world.backward(1, world.pass(0, x), Delivery::oldest_first);
  expect(gradients[0].of(x), 1.0);
}

BOOST_AUTO_TEST_CASE(gradients_that_nobody_waits_for_or_that_do_not_fit_are_refused) {
  const Variable x = leaf({1.0, 2.0});
  const std::array<Variable, 1> sent{x * 2.0};
  const auto send = SendFn::make(sent);
  const Tensor fits = ones({2}, DType::f64);
  GraphTask task;
  expect_throw<TensorError>([&] { task.feed(*send, {fits}); },
                            "[backward] gradients came for a SendFn that waits for none");
  expect_throw<TensorError>([&] { task.feed(x, fits); }, "[backward] a gradient came for a root that waits for none");
  expect_throw<TensorError>([&] { task.mark(x.detach()); }, "[backward] the root requires no gradient");
  task.mark(send);
  expect_throw<TensorError>(
      [&] {
        task.feed(*send, {fits, fits});
      },
      "[backward] 2 gradients came for 1 sent variables");
  expect_throw<TensorError>([&] { task.feed(*send, {ones({3}, DType::f64)}); },
                            "[backward] the gradient of sent variable 0 does not fit: f64 (3) instead of f64 (2)");
  task.feed(*send, {fits});
  expect_throw<TensorError>([&] { task.feed(*send, {fits}); },
                            "[backward] gradients came for a SendFn that waits for none");
}

BOOST_AUTO_TEST_CASE(nothing_is_marked_after_the_pass_began_to_run) {
  const Variable x = leaf(1.0);
  const std::array<Variable, 1> sent{x * 2.0};
  GraphTask task;
  task.mark(x);
  task.feed(x, scalar(1.0));
  Nowhere sink;
  task.run(sink);
  expect_throw<std::logic_error>([&] { task.mark(x); }, "[backward] a root was marked after the pass began to run");
  expect_throw<std::logic_error>([&] { task.mark(SendFn::make(sent)); },
                                 "[backward] a SendFn was marked after the pass began to run");
}

BOOST_AUTO_TEST_CASE(a_failed_pass_stays_failed) {
  const Variable x = leaf(2.0);
  const Variable y = x * x;
  x.value().fill(3.0);
  GraphTask task;
  task.mark(y);
  task.feed(y, scalar(1.0));
  Nowhere sink;
  BOOST_CHECK_THROW(task.run(sink), BackwardError);
  BOOST_CHECK_THROW(task.run(sink), BackwardError);
  BOOST_CHECK(!task.finished());
}

BOOST_AUTO_TEST_CASE(a_pass_for_which_a_device_has_no_memory_says_so_each_time, *boost::unit_test::label("fault-F20")) {
  const Variable x = leaf(2.0);
  const Variable y = x * x;
  y.register_hook([](const Tensor&) { throw DeviceMemoryError("[allocate] 4096 bytes on cuda:0: out of memory"); });
  GraphTask task;
  task.mark(y);
  task.feed(y, scalar(1.0));
  Nowhere sink;
  for (int i = 0; i < 2; ++i) {
    expect_throw<DeviceMemoryError>([&] { task.run(sink); },
                                    "[backward] hook on mul: [allocate] 4096 bytes on cuda:0: out of memory");
  }
}

BOOST_AUTO_TEST_CASE(a_local_pass_refuses_a_graph_that_leaves_the_node) {
  const Variable received = RecvFn::variable(RecvFn::make(1), 0, scalar(2.0));
  expect_throw<std::logic_error>(
      [&] { (void)backward(received * 2.0); },
      "[backward] the graph reaches a value received from another node: differentiate it in a DistContext");
}

BOOST_AUTO_TEST_CASE(boundaries_refuse_what_carries_no_gradient) {
  const std::array<Variable, 2> mixed{leaf(1.0), scalar(1.0)};
  expect_throw<TensorError>([&] { (void)SendFn::make(mixed); }, "[SendFn] variable 1 requires no gradient");
  expect_throw<TensorError>([] { (void)SendFn::make({}); }, "[SendFn] no variables were sent");
  expect_throw<TensorError>([] { (void)RecvFn::make(0); }, "[RecvFn] no variables were received");
  expect_throw<TensorError>([] { (void)RecvFn::variable(RecvFn::make(1), 1, scalar(1.0)); }, "[RecvFn] slot 1 of 1");
  expect_throw<DTypeError>([] { (void)RecvFn::variable(RecvFn::make(1), 0, arange(2)); },
                           "[RecvFn] only floating point values have gradients: i64");
}

BOOST_AUTO_TEST_CASE(a_boundary_keeps_its_makers_tag_and_creation_mark) {
  std::atomic<std::uint64_t> serials{4};
  const CallPathGuard guard(std::make_shared<const CallPath>(std::vector<std::uint32_t>{0, 2}), serials);
  const std::array<Variable, 1> sent{leaf(1.0)};
  const auto tag = std::make_shared<const int>(17);
  const auto send = SendFn::make(sent, tag);
  BOOST_CHECK(send->tag() == tag);
  BOOST_CHECK_EQUAL(send->mark().path().text(), "0.2");
  BOOST_CHECK_EQUAL(send->mark().serial, 5U);  // the leaf took serial 4
  BOOST_CHECK(RecvFn::make(1, tag)->tag() == tag);
}

BOOST_AUTO_TEST_CASE(task_kept_to_inputs_delivers_at_every_boundary_and_awaits_the_feed_of_every_send) {
  const Variable x = leaf(2.0);
  const Variable w = leaf(3.0);
  const auto recv = RecvFn::make(1);
  const Variable received = RecvFn::variable(recv, 0, leaf(5.0).value());
  const auto through = SendFn::make(std::vector{received * w});
  const auto aside = SendFn::make(std::vector{x * 7.0});
  const Variable root = x * 11.0;
  GraphTask task;
  BOOST_CHECK_EQUAL(task.mark(through).size(), 1U);
  task.mark(aside);
  task.mark(root);
  task.keep_only({});
  BOOST_CHECK(!task.awaits(root));
  Keep sink;
  task.feed(*through, {scalar(1.0)});
  task.run(sink);
  BOOST_CHECK_EQUAL(sink.count, 1);
  expect(sink.last[0], 3.0);
  BOOST_CHECK(!task.finished());
  task.feed(*aside, {scalar(1.0)});
  task.run(sink);
  BOOST_CHECK(task.finished());
  BOOST_CHECK(task.take_gradients().empty());
}

BOOST_AUTO_TEST_CASE(task_keeps_the_gradient_of_a_received_variable_that_is_an_input_and_passes_it_on) {
  const Variable w = leaf(3.0);
  const auto recv = RecvFn::make(2);
  const Variable unused = RecvFn::variable(recv, 0, scalar(4.0));
  const Variable received = RecvFn::variable(recv, 1, scalar(5.0));
  const Variable root = received * w;
  GraphTask task;
  task.mark(root);
  task.keep_only(std::vector{received, unused});
  Keep sink;
  task.feed(root, initial_gradient(root));
  task.run(sink);
  BOOST_CHECK(task.finished());
  BOOST_CHECK_EQUAL(sink.count, 1);
  const Gradients found = task.take_gradients();
  expect(found.of(received), 3.0);
  BOOST_CHECK_EQUAL(found.size(), 1U);
}

BOOST_AUTO_TEST_CASE(task_that_remembers_its_operations_releases_those_that_ran_when_it_is_told_to) {
  const Variable x = leaf(2.0);
  const Variable w = leaf(3.0);
  const Variable beside = w * w;
  const Variable h = x * beside;
  const Variable root = h * h;
  GraphTask task;
  task.remember_operations();
  task.mark(root);
  task.keep_only(std::vector{x});
  Nowhere sink;
  task.feed(root, initial_gradient(root));
  task.run(sink);
  for (const Variable& each : {root, h, beside}) BOOST_CHECK(!each.gradient_edge().fn->released());
  task.release_operations();
  for (const Variable& each : {root, h}) BOOST_CHECK(each.gradient_edge().fn->released());
  for (const Variable& each : {beside, x}) BOOST_CHECK(!each.gradient_edge().fn->released());
}

BOOST_AUTO_TEST_SUITE_END()
