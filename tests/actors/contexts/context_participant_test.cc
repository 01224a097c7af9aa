#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tests/actors/contexts/context_programs.h"
#include "tests/actors/contexts/context_world.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(context_participant)

namespace {

using namespace programs;

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_of_six_shapes_are_those_of_one_node_bit_for_bit_in_any_order_of_messages) {
  for (const ProgramShape& shape : shapes()) {
    BOOST_TEST_CONTEXT(shape.name) {
      const auto expected = gradients_of(shape.program, Placement::single, 1);
      BOOST_TEST(!expected.empty());
      for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
          check_same_bits(gradients_of(shape.program, Placement::apart, seed, 1, seed % 2 == 0), expected);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_random_graphs_are_the_same_bit_for_bit_whether_boundaries_are_known_or_marked) {
  for (std::uint64_t choices = 1; choices <= 150; ++choices) {
    BOOST_TEST_CONTEXT("graph " << choices) {
      const auto expected = gradients_of(random_graph(choices), Placement::single, 1, 1, false);
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        for (const bool tells_routes : {true, false}) {
          check_same_bits(
              gradients_of(random_graph(choices), Placement::apart, seed, 1 + static_cast<int>(seed % 2), tells_routes),
              expected);
        }
      }
      check_same_bits(gradients_of(random_graph(choices), Placement::single, 1), expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_message_that_comes_twice_changes_no_gradient) {
  for (const ProgramShape& shape : shapes()) {
    BOOST_TEST_CONTEXT(shape.name) {
      const auto expected = gradients_of(shape.program, Placement::single, 1);
      for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        check_same_bits(gradients_of(shape.program, Placement::apart, seed, 2, seed % 2 == 0), expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_six_shapes_are_those_of_plain_functions_up_to_the_grouping_of_sums) {
  for (const ProgramShape& shape : shapes()) {
    BOOST_TEST_CONTEXT(shape.name) {
      const auto expected = gradients_of(shape.program, Placement::local, 1);
      const auto got = gradients_of(shape.program, Placement::apart, 1);
      BOOST_REQUIRE_EQUAL(got.size(), expected.size());
      // f32 sums of three or more contributions are grouped differently.
      for (const auto& [label, gradient] : expected) BOOST_TEST(allclose(got.at(label), gradient, 1e-6, 1e-6));
    }
  }
}

// No variable has more than two contributions, so the sums have only one order.
BOOST_AUTO_TEST_CASE(gradients_with_at_most_two_contributions_are_those_of_plain_functions_bit_for_bit) {
  for (const Program& program : {Program(chain), Program(diamond), Program(unused_result), Program(two_roots)}) {
    check_same_bits(gradients_of(program, Placement::apart, 3), gradients_of(program, Placement::local, 1));
  }
}

BOOST_AUTO_TEST_CASE(passes_over_one_context_add_up_and_run_in_the_order_they_were_begun) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ContextWorld world(Placement::apart, seed);
    world.tells_routes = seed % 2 == 0;
    std::vector<std::shared_ptr<ContextWorld::Answer>> answers;
    Variable w;
    world.drive([&](Place& here) {
      const Variable x = world.leaf("trainer", "x", {2});
      w = world.leaf("ps0", "w", {2});
      const Values y =
          world.call(here, "ps0", {x}, [&](Place&, const Values& in) { return Values{sum(mul(in[0], w))}; });
      for (int pass = 0; pass < 3; ++pass) answers.push_back(world.backward(y));
      BOOST_TEST(world.part("trainer").pass_count() == 3U);
      world.settle();
    });
    for (const auto& answer : answers) BOOST_TEST(answer->result->ok());
    BOOST_TEST(world.part("trainer").pass_count() == 0U);
    // The last pass is kept separately until the next one begins; all earlier passes are settled everywhere.
    BOOST_TEST(world.part("ps0").ledger().kept_apart() == 1U);
    BOOST_TEST(world.part("trainer").ledger().kept_apart() == 1U);
  }
  // d sum(x * w) / dw = x, three times.
  ContextWorld world(Placement::apart, 1);
  world.drive([&](Place& here) {
    const Variable x = world.leaf("trainer", "x", {2});
    const Variable w = world.leaf("ps0", "w", {2});
    const Values y = world.call(here, "ps0", {x}, [&](Place&, const Values& in) { return Values{sum(mul(in[0], w))}; });
    for (int pass = 0; pass < 3; ++pass) static_cast<void>(world.backward(y));
    world.settle();
    BOOST_TEST(allclose(world.gradients().at("w"), troupe::add(troupe::add(x.value(), x.value()), x.value())));
  });
}

BOOST_AUTO_TEST_CASE(passes_of_another_root_do_not_pile_up_behind_the_last_pass_of_a_root) {
  constexpr std::uint64_t kPasses = 100;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      ContextWorld world(Placement::apart, seed);
      world.copies = seed % 3 == 0 ? 2 : 1;
      const bool is_of_both = seed % 2 == 0;  // else the trainer has no part in the passes of ps0
      const Variable x = world.leaf("trainer", "x", {5});
      const Variable w = world.leaf("ps0", "w", {5});
      Variable root;
      std::shared_ptr<ContextWorld::Answer> first;
      world.drive([&](Place& here) {
        const Values y = world.call(here, "ps0", {x}, [&](Place&, const Values& in) {
          root = sum(is_of_both ? mul(in[0], w) : mul(w, w));
          return Values{sum(mul(in[0], w))};
        });
        first = world.backward(y);
        world.settle();
      });
      BOOST_TEST(first->result.value().ok());
      std::size_t kept_max = 0;
      std::uint64_t succeeded = 0;
      for (std::uint64_t serial = 1; serial <= kPasses; ++serial) {
        world.part("ps0").begin({"ps0", 7, serial}, {{{root}, {}}, {}}, {}, [&](const Result<Unit>& done) {
          succeeded += done.ok() ? 1 : 0;
          return true;
        });
        world.settle();
        for (const char* node : {"trainer", "ps0"})
          kept_max = std::max(kept_max, world.part(node).ledger().kept_apart());
      }
      BOOST_TEST(succeeded == kPasses);
      BOOST_TEST(kept_max <= 10U);  // the trainer's, 8 that wait for it, and the last one of ps0

      // In the order in which they were done: d sum(x * w) / dw = x and d sum(w * w) / dw = 2 w.
      Tensor of_x = w.value();
      Tensor of_w = x.value();
      for (std::uint64_t pass = 0; pass < kPasses; ++pass) {
        if (is_of_both) of_x = troupe::add(of_x, w.value());
        of_w = troupe::add(of_w, is_of_both ? x.value() : troupe::add(w.value(), w.value()));
      }
      check_same_bits(world.gradients(), {{"x", of_x}, {"w", of_w}});
    }
  }
}

BOOST_AUTO_TEST_CASE(pass_that_others_wait_for_is_taken_back_as_long_as_its_caller_has_not_taken_it) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      ContextWorld world(Placement::apart, seed);
      const Variable x = world.leaf("trainer", "x", {5});
      const Variable w = world.leaf("ps0", "w", {5});
      Variable root;
      world.drive([&](Place& here) {
        const Values y = world.call(here, "ps0", {x}, [&](Place&, const Values& in) {
          root = sum(mul(in[0], w));
          return Values{root};
        });
        world.cancels_at_the_end = true;
        static_cast<void>(world.backward(y));
        // While the trainer's pass is anywhere between its beginning and its end, passes of ps0 come and go.
        for (std::uint64_t serial = 1; serial <= 30; ++serial) {
          world.settle(seed % 7);
          world.part("ps0").begin({"ps0", 7, serial}, {{{root}, {}}, {}}, {}, [](const Result<Unit>&) { return true; });
        }
        world.settle();
      });
      Tensor of_w = x.value();
      for (int pass = 1; pass < 30; ++pass) of_w = troupe::add(of_w, x.value());
      check_same_bits({{"w", world.gradients().at("w")}}, {{"w", of_w}});
    }
  }
}

namespace {

/// An operation whose backward throws.
class Explosive final : public GradFn {
 public:
  explicit Explosive(Edge next) : GradFn("explosive", VertexKind::operation, {std::move(next)}, 1) {}
  std::vector<Tensor> apply(std::vector<Tensor>) const override { throw std::runtime_error("boom"); }
};

Variable explosive(const Variable& x) {
  return Variable::output_of({std::make_shared<const Explosive>(x.gradient_edge()), 0}, x.value());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_pass_that_fails_anywhere_counts_nowhere_and_the_next_one_succeeds,
                     *boost::unit_test::label("B-25")) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      ContextWorld world(Placement::apart, seed);
      world.tells_routes = seed % 2 == 0;
      world.drive([&](Place& here) {
        const Variable x = world.leaf("trainer", "x", {2});
        const Variable w0 = world.leaf("ps0", "w0", {2});
        const Variable w1 = world.leaf("ps1", "w1", {2});
        const Values good =
            world.call(here, "ps0", {x}, [&](Place&, const Values& in) { return Values{sum(mul(in[0], w0))}; });
        const Values bad = world.call(here, "ps1", {x},
                                      [&](Place&, const Values& in) { return Values{sum(explosive(mul(in[0], w1)))}; });
        const auto fails = world.backward({add(good[0], bad[0])});
        world.settle();
        BOOST_REQUIRE(fails->result && !fails->result->ok());
        const Error& error = fails->result->error();
        BOOST_TEST((error.code == ErrorCode::remote_exception));
        BOOST_TEST(error.peer == "ps1");
        BOOST_TEST(error.message == "[backward] explosive: boom");
        BOOST_TEST(world.gradients().empty());

        const auto succeeds = world.backward({good[0]});
        world.settle();
        BOOST_REQUIRE(succeeds->result && succeeds->result->ok());
        BOOST_TEST(same_bytes(world.gradients().at("w0"), x.value()));
        BOOST_TEST(same_bytes(world.gradients().at("x"), w0.value()));
      });
    }
  }
}

namespace {

/// Doubles the gradients of a pass, or refuses them, and notes what it is told.
class Doubling final : public detail::GradientReducer {
 public:
  explicit Doubling(std::function<void()> finishing = {}) : finishing_(std::move(finishing)) {}

  void begin(const PassId&) override { ++begun; }
  void found(const PassId&, const Variable&, const Tensor&, const SparseTensor&) override { ++found_count; }
  void finish(const PassId&, Gradients gradients, Done done) override {
    if (finishing_) finishing_();
    ++finished;
    if (refusal) return done(*refusal);
    Gradients doubled;
    for (const auto& [leaf, gradient] : gradients) doubled.add(leaf, gradient * 2.0);
    done(std::move(doubled));
  }
  void fail(const PassId&, const Error& why) override {
    ++failed;
    cause = why.text();
  }
  void complete(const PassId&) override { ++completed; }

  std::optional<Error> refusal;
  int begun = 0;
  int found_count = 0;
  int finished = 0;
  int failed = 0;
  int completed = 0;
  std::string cause;

 private:
  std::function<void()> finishing_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_reducer_replaces_the_gradients_of_its_node_and_the_root_reduces_last) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      ContextWorld plain(Placement::apart, seed);
      plain.drive([&](Place& here) { static_cast<void>(chain(plain, here)); });
      plain.settle();
      ContextWorld world(Placement::apart, seed);
      world.tells_routes = seed % 2 == 0;
      const auto at_server = std::make_shared<Doubling>();
      const auto at_root = std::make_shared<Doubling>([&] {
        BOOST_TEST(at_server->finished == 1);
        for (const char* name : {"ps0", "ps1"}) BOOST_TEST(!world.part(name).gradients().value().empty());
      });
      std::shared_ptr<ContextWorld::Answer> answer;
      world.drive([&](Place& here) {
        for (int twice = 0; twice < 2; ++twice) world.part("trainer").attach(at_root);
        world.part("ps0").attach(at_server);
        answer = chain(world, here);
      });
      world.settle();
      BOOST_REQUIRE(answer->result && answer->result->ok());
      for (const auto& reducer : {at_root, at_server}) {
        BOOST_TEST(reducer->begun == 1);
        BOOST_TEST(reducer->found_count == 1);
        BOOST_TEST(reducer->finished == 1);
        BOOST_TEST(reducer->failed == 0);
      }
      BOOST_TEST(at_root->completed == 1);
      BOOST_TEST(at_server->completed == 0);
      const auto want = plain.gradients();
      BOOST_TEST(same_bytes(world.gradients().at("x"), want.at("x") * 2.0));
      BOOST_TEST(same_bytes(world.gradients().at("w0"), want.at("w0") * 2.0));
      BOOST_TEST(same_bytes(world.gradients().at("w1"), want.at("w1")));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_reducer_refuses_fails_the_pass_on_all_nodes) {
  for (const std::string at : {"trainer", "ps0"}) {
    ContextWorld world(Placement::apart, 1);
    const auto reducer = std::make_shared<Doubling>();
    reducer->refusal = Error{.code = ErrorCode::peer_down, .message = "a member is gone"};
    std::shared_ptr<ContextWorld::Answer> answer;
    world.drive([&](Place& here) {
      world.part(at).attach(reducer);
      answer = chain(world, here);
    });
    world.settle();
    BOOST_REQUIRE(answer->result && !answer->result->ok());
    BOOST_TEST(answer->result->error().message == "a member is gone");
    BOOST_TEST(reducer->failed == 1);
    BOOST_TEST(reducer->completed == 0);
    BOOST_TEST(world.gradients().empty());
  }
}

BOOST_AUTO_TEST_CASE(a_reducer_learns_of_a_pass_that_failed_elsewhere_and_of_a_context_that_ends) {
  ContextWorld world(Placement::apart, 1);
  const auto reducer = std::make_shared<Doubling>();
  world.drive([&](Place& here) {
    world.part("trainer").attach(reducer);
    const Variable x = world.leaf("trainer", "x", {2});
    const Values bad = world.call(here, "ps0", {x},
                                  [](Place&, const Values& in) { return Values{sum(explosive(mul(in[0], in[0])))}; });
    static_cast<void>(world.backward(bad));
    world.settle();
    BOOST_TEST(reducer->failed == 1);
    BOOST_TEST(reducer->cause.find("[backward] explosive: boom") != std::string::npos);
    static_cast<void>(world.backward({sum(x)}));
  });
  world.part("trainer").release("trainer");
  BOOST_TEST(reducer->begun == 2);
  BOOST_TEST(reducer->failed == 2);
  BOOST_TEST(reducer->finished == 0);
}

BOOST_AUTO_TEST_CASE(a_death_at_any_moment_aborts_the_context_on_all_survivors_with_the_dead_named,
                     *boost::unit_test::label("B-18")) {
  int aborted = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      ContextWorld world(Placement::apart, seed);
      world.tells_routes = seed % 2 == 0;
      std::shared_ptr<ContextWorld::Answer> answer;
      world.drive([&](Place& here) { answer = many_uses(world, here); });
      world.settle(seed % 24);
      world.kill("ps1");
      world.settle();
      BOOST_REQUIRE(answer->result);
      for (const char* name : {"trainer", "ps0"}) {
        // ps0 exchanged nothing with ps1: it learns of the end from the trainer.
        const auto& error = world.part(name).aborted();
        BOOST_REQUIRE(error);
        BOOST_TEST((error->code == ErrorCode::context_aborted));
        BOOST_TEST(error->peer == "ps1");
        BOOST_TEST(world.part(name).pass_count() == 0U);
        BOOST_TEST(!world.part(name).gradients().ok());
      }
      if (answer->result->ok()) continue;
      ++aborted;
      BOOST_TEST((answer->result->error().code == ErrorCode::context_aborted));
      BOOST_TEST(answer->result->error().peer == "ps1");
      BOOST_TEST(!answer->result->error().cause.empty());
    }
  }
  BOOST_TEST(aborted > 100);
}

BOOST_AUTO_TEST_CASE(a_pass_that_is_late_fails_on_all_nodes_and_counts_on_none) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      ContextWorld world(Placement::apart, seed);
      world.tells_routes = seed % 2 == 0;
      std::shared_ptr<ContextWorld::Answer> answer;
      world.drive([&](Place& here) { answer = many_uses(world, here); });
      world.settle(1 + seed % 24);
      world.part("trainer").pass_due(world.last_pass());
      world.settle();
      BOOST_REQUIRE(answer->result);
      if (answer->result->ok()) continue;
      BOOST_TEST((answer->result->error().code == ErrorCode::timeout));
      const std::string text = answer->result->error().message;
      BOOST_TEST(
          (text == "marking was not complete in time" || text.starts_with("not complete in time; unfinished: ")));
      for (const char* name : {"trainer", "ps0", "ps1"}) BOOST_TEST(world.part(name).pass_count() == 0U);
      BOOST_TEST(world.gradients().empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_pass_that_is_late_before_its_turn_comes_leaves_the_one_before_it_alone) {
  ContextWorld world(Placement::apart, 1);
  world.drive([&](Place& here) {
    const auto answer = chain(world, here);
    const auto next = world.backward({sum(world.leaf("trainer", "y", {1}))});
    world.settle(3);
    world.part("trainer").pass_due(world.last_pass());
    BOOST_REQUIRE(next->result);
    BOOST_TEST((next->result->error().code == ErrorCode::timeout));
    BOOST_TEST(next->result->error().message == "the backward pass before this one has not ended in time");
    world.settle();
    BOOST_TEST(answer->result->ok());
  });
}

BOOST_AUTO_TEST_CASE(a_context_that_is_released_in_mid_pass_answers_who_waits, *boost::unit_test::label("B-20")) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ContextWorld world(Placement::apart, seed);
    world.tells_routes = seed % 2 == 0;
    std::shared_ptr<ContextWorld::Answer> answer;
    world.drive([&](Place& here) { answer = diamond(world, here); });
    world.settle(seed % 8);
    world.part("trainer").release("trainer");
    BOOST_REQUIRE(answer->result && !answer->result->ok());
    BOOST_TEST(answer->result->error().message == "context trainer.1 does not exist or was released");
  }
}

BOOST_AUTO_TEST_CASE(a_mark_that_waits_for_its_roots_is_answered_when_the_context_ends) {
  ContextWorld world(Placement::apart, 1);
  const RRefId root = world.keep("ps0", Variable(ones({1}), RequiresGrad::yes));
  const ContextId context = world.part("ps0").id();
  std::vector<msg::BackwardMarked> answers;
  world.part("ps0").mark("trainer", 1, {context, {"trainer", 7, 5}, "trainer", {}, {root}, true, false, {}}, {},
                         [&](msg::BackwardMarked marked) { answers.push_back(std::move(marked)); });
  BOOST_TEST(answers.empty());
  world.part("ps0").release("trainer");
  BOOST_REQUIRE_EQUAL(answers.size(), 1U);
  BOOST_TEST(answers[0].error->message == "context trainer.1 does not exist or was released");
}

BOOST_AUTO_TEST_CASE(a_value_of_another_context_in_the_graph_is_an_error_and_not_a_wrong_gradient) {
  ContextWorld world(Placement::apart, 1);
  world.drive([&](Place&) {
    const auto recv = detail::make_recv({{"trainer", 7, 99}, {"ps0", 7, 1}, "ps0"}, 1);
    const auto answer = world.backward({sum(RecvFn::variable(recv, 0, ones({2})))});
    world.settle();
    BOOST_REQUIRE(answer->result && !answer->result->ok());
    BOOST_TEST(answer->result->error().message ==
               "[backward] the graph reaches a value that was received in context trainer.99, not in trainer.1");
  });
}

namespace {

using Beyond = msg::RouteLegs;

/// Runs chain() with a callee that lies to the trainer, and returns the pass's error.
Error error_of_lie(const std::function<void(Beyond&)>& lie, std::uint64_t seed) {
  ContextWorld world(Placement::apart, seed);
  world.lie = [&](const std::string& to, Beyond& beyond) {
    if (to == "trainer") lie(beyond);
  };
  std::shared_ptr<ContextWorld::Answer> answer;
  world.drive([&](Place& here) { answer = chain(world, here); });
  world.settle();
  BOOST_REQUIRE(answer->result && !answer->result->ok());
  for (const char* name : {"trainer", "ps0", "ps1"}) BOOST_TEST(world.part(name).pass_count() == 0U);
  BOOST_TEST(world.gradients().empty());
  return answer->result->error();
}

}  // namespace

BOOST_AUTO_TEST_CASE(lie_about_what_lies_beyond_a_boundary_fails_the_pass_on_all_nodes_and_leaves_no_gradient) {
  // The boundaries of chain(): trainer.1 to ps0, ps0.2 back, trainer.3 to ps1, ps1.4 back.
  const auto leaves_out = [](Beyond& beyond) {
    std::erase_if(beyond, [](const msg::RouteLeg& leg) { return leg.sender == "trainer" && leg.receiver == "ps0"; });
  };
  const auto invents_at_sender = [](Beyond& beyond) { beyond.push_back({"ps0", 7, "ps1", {99}}); };
  const auto invents_at_receiver = [](Beyond& beyond) { beyond.push_back({"ghost", 7, "ps0", {1}}); };
  const auto invents_at_root = [](Beyond& beyond) {
    for (msg::RouteLeg& leg : beyond) {
      if (leg.sender == "trainer") leg.serials.push_back(99);
    }
  };
  const auto names_another_receiver = [](Beyond& beyond) {
    for (msg::RouteLeg& leg : beyond) leg.receiver = leg.receiver == "ps0" ? "ps1" : leg.receiver;
  };
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (const auto& lie :
         {std::function<void(Beyond&)>(leaves_out), std::function<void(Beyond&)>(invents_at_sender),
          std::function<void(Beyond&)>(invents_at_receiver), std::function<void(Beyond&)>(invents_at_root),
          std::function<void(Beyond&)>(names_another_receiver)}) {
      BOOST_TEST((error_of_lie(lie, seed).code == ErrorCode::protocol_violation));
    }
  }
  BOOST_TEST(error_of_lie(leaves_out, 1).message ==
             "[backward] the graph uses boundary trainer.1, and the route of the pass does not have it");
}

BOOST_AUTO_TEST_CASE(mark_of_a_pass_that_only_its_receiver_can_begin_is_refused, *boost::unit_test::label("attack")) {
  ContextWorld world(Placement::apart, 1);
  detail::ContextParticipant& trainer = world.part("trainer");
  std::optional<Error> refused;
  trainer.mark("ps0", 1, {trainer.id(), {"trainer", 7, 77}, "trainer", {}, {}, true, false, {}}, std::nullopt,
               [&](const msg::BackwardMarked& answer) { refused = answer.error; });
  BOOST_TEST_REQUIRE(refused.has_value());
  BOOST_TEST((refused->code == ErrorCode::protocol_violation));
  BOOST_TEST(trainer.pass_count() == 0U);
  std::shared_ptr<ContextWorld::Answer> answer;
  world.drive([&](Place& here) { answer = chain(world, here); });
  world.settle();
  BOOST_TEST((answer->result && answer->result->ok()));
}

BOOST_AUTO_TEST_CASE(passes_that_a_peer_invents_are_bounded, *boost::unit_test::label("attack")) {
  ContextWorld world(Placement::apart, 1);
  detail::ContextParticipant& trainer = world.part("trainer");
  std::optional<Error> refused;
  const auto invent = [&](std::uint64_t serial) {
    trainer.mark("ps0", serial, {trainer.id(), {"ps0", 7, serial}, "ps0", {}, {}, true, false, {}}, std::nullopt,
                 [&](const msg::BackwardMarked& answer) { refused = answer.error; });
  };
  std::uint64_t serial = 1;
  while (!refused && serial < 10'000) invent(serial++);
  BOOST_TEST_REQUIRE(refused.has_value());
  BOOST_TEST((refused->code == ErrorCode::resource_exhausted));
  BOOST_TEST(trainer.pass_count() == serial - 2);
  BOOST_TEST(refused->message == fmt::format("{} passes run over context {}", serial - 2, trainer.id().text()));
}

BOOST_AUTO_TEST_CASE(gradients_begin_no_pass_beside_too_many, *boost::unit_test::label("attack")) {
  ContextWorld world(Placement::apart, 1);
  std::shared_ptr<ContextWorld::Answer> answer;
  world.drive([&](Place& here) { answer = chain(world, here); });
  world.settle();
  detail::ContextParticipant& server = world.part("ps0");
  const auto send = [&](std::uint64_t serial) {
    const Beyond route{{"ps0", 7, "trainer", {2}}, {"trainer", 7, "ps0", {1}}};
    server.gradients(
        "trainer",
        {server.id(), {"trainer", 7, serial}, {"ps0", 7, 2}, {ones({3, 4})}, msg::BackwardRoute{route, true}});
  };
  for (std::uint64_t serial = 50; server.pass_count() < 1024; ++serial) {
    BOOST_TEST_REQUIRE(serial < 2000U);
    send(serial);
  }
  BOOST_CHECK_EXCEPTION(send(2000), std::logic_error, [&](const std::logic_error& refused) {
    return std::string(refused.what()).find("resource_exhausted: 1024 passes run over context " + server.id().text()) !=
           std::string::npos;
  });
  BOOST_TEST(server.pass_count() == 1024U);
}

BOOST_AUTO_TEST_CASE(gradients_with_a_route_that_does_not_fit_make_no_pass) {
  ContextWorld world(Placement::apart, 1);
  std::shared_ptr<ContextWorld::Answer> answer;
  world.drive([&](Place& here) { answer = chain(world, here); });
  world.settle();
  BOOST_REQUIRE(answer->result && answer->result->ok());
  world.copies = 2;  // refusals are expected
  detail::ContextParticipant& server = world.part("ps0");
  const PassId pass{"trainer", 7, 50};
  const BoundaryId known{"ps0", 7, 2};
  std::vector<std::uint64_t> many(msg::kRouteMax);
  std::iota(many.begin(), many.end(), 1);
  const std::size_t before = server.pass_count();
  const auto send = [&](const NodeName& from, const BoundaryId& boundary, const Beyond& route) {
    server.gradients(from, {server.id(), pass, boundary, {ones({3, 4})}, msg::BackwardRoute{route, true}});
    return server.pass_count() - before;
  };
  const msg::RouteLeg fits{"ps0", 7, "trainer", {2}};
  const msg::RouteLeg rest{"trainer", 7, "ps0", {1}};
  BOOST_TEST(send("trainer", known, {}) == 0U);
  BOOST_TEST(send("trainer", known, {rest}) == 0U);
  BOOST_TEST(send("ps1", known, {fits, rest}) == 0U);
  BOOST_TEST(send("trainer", {"ps1", 7, 5}, {{"ps1", 7, "trainer", {5}}}) == 0U);
  BOOST_TEST(send("trainer", {"ps0", 7, 99}, {{"ps0", 7, "trainer", {2, 99}}, rest}) == 0U);  // never sent
  BOOST_TEST(send("trainer", known, {rest, fits}) == 0U);
  BOOST_TEST(send("trainer", known, {{"ps0", 7, "trainer", {2, 2}}, rest}) == 0U);
  BOOST_TEST(send("trainer", known, {fits, {"trainer", 7, "ps0", many}}) == 0U);
  BOOST_TEST(send("trainer", known, {fits, rest}) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
