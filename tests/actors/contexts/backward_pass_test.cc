// Passes with inputs, passes that release their graph, and passes that are given up, in every order of messages.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "tensor/create.h"
#include "tests/actors/contexts/context_programs.h"
#include "tests/actors/contexts/context_world.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(backward_pass)

namespace {

using namespace programs;

}  // namespace

BOOST_AUTO_TEST_CASE(pass_to_one_input_finds_its_gradient_bit_for_bit_and_no_other_on_any_node) {
  for (const ProgramShape& shape : shapes()) {
    for (const auto& [label, gradient] : gradients_of(shape.program, Placement::single, 1)) {
      for (const Placement placement : {Placement::apart, Placement::single}) {
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
          BOOST_TEST_CONTEXT(shape.name << ", " << label << ", seed " << seed) {
            ContextWorld world(placement, seed);
            world.only_inputs = {label};
            std::shared_ptr<ContextWorld::Answer> answer;
            world.drive([&](Place& here) { answer = shape.program(world, here); });
            world.settle();
            BOOST_REQUIRE(answer->result && answer->result->ok());
            check_same_bits(world.gradients(), {{label, gradient}});
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(marks_that_do_not_belong_to_their_pass_are_refused_and_leave_nothing) {
  ContextWorld world(Placement::apart, 1);
  const ContextId context = world.part("ps0").id();
  const RRefId value = world.keep("ps0", Variable(ones({1}), RequiresGrad::yes));
  std::vector<msg::BackwardMarked> answers;
  const auto mark = [&](const NodeName& from, std::uint64_t request, const msg::BackwardMark& message) {
    world.part("ps0").mark(from, request, message, {},
                           [&](const msg::BackwardMarked& marked) { answers.push_back(marked); });
  };
  const PassId pass{"trainer", 7, 5};
  mark("ps1", 1, {context, pass, "trainer", {}, {}, true, true, {value}});  // only the root names inputs
  BOOST_REQUIRE_EQUAL(answers.size(), 1U);
  BOOST_TEST(answers[0].error->message == "the mark of ps1 does not belong to pass trainer.5");
  BOOST_TEST(world.part("ps0").pass_count() == 0U);
  mark("trainer", 1, {context, pass, "trainer", {}, {}, true, true, {value}});
  mark("ps1", 2, {context, pass, "trainer", {}, {}, true, false, {}});
  BOOST_REQUIRE_EQUAL(answers.size(), 2U);
  BOOST_TEST(answers[1].error->message == "the mark of ps1 does not belong to pass trainer.5");
  world.settle();
  BOOST_REQUIRE_EQUAL(answers.size(), 3U);
  BOOST_TEST(!answers[2].error.has_value());
}

BOOST_AUTO_TEST_CASE(pass_that_releases_its_graph_has_the_same_gradients_and_later_ones_are_refused_on_every_node) {
  for (const ProgramShape& shape : shapes()) {
    const auto expected = gradients_of(shape.program, Placement::single, 1);
    for (const int copies : {1, 2}) {
      for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        BOOST_TEST_CONTEXT(shape.name << ", seed " << seed) {
          ContextWorld world(Placement::apart, seed);
          world.tells_routes = seed % 2 == 0;
          world.copies = copies;
          world.graph = Graph::release;
          world.drive([&](Place& here) {
            const auto answer = shape.program(world, here);
            world.settle();
            BOOST_REQUIRE(answer->result && answer->result->ok());
            check_same_bits(world.gradients(), expected);
            const auto again = world.backward_again();
            world.settle();
            BOOST_REQUIRE(again->result && !again->result->ok());
            const std::string& text = again->result->error().message;
            BOOST_TEST(text.ends_with(": an earlier backward pass released its graph"), text);
            check_same_bits(world.gradients(), expected);
          });
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(graph_is_released_on_all_nodes_when_the_pass_has_ended_and_on_none_before) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      ContextWorld world(Placement::apart, seed);
      world.tells_routes = seed % 2 == 0;
      world.graph = Graph::release;
      world.drive([&](Place& here) {
        const Variable x = world.leaf("trainer", "x", {2});
        std::vector<Variable> made;
        const auto work = [&](Place&, const Values& in) {
          made.push_back(tanh(in[0]));
          return Values{made.back()};
        };
        const Values y = world.call(here, "ps1", world.call(here, "ps0", {x}, work), work);
        made.push_back(sum(y[0]));
        const auto answer = world.backward({made.back()});
        const auto released = [&] {
          return std::ranges::count_if(made, [](const Variable& each) { return each.gradient_edge().fn->released(); });
        };
        while (!answer->result) {
          const bool runs = world.part("ps0").gradients().value().empty() && world.gradients().empty();
          if (runs) BOOST_TEST(released() == 0);
          world.settle(1);
        }
        BOOST_TEST(released() == 3);
        world.settle();
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(pass_that_fails_releases_nothing_and_one_that_is_late_while_it_releases_has_succeeded) {
  int succeeded = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      ContextWorld world(Placement::apart, seed);
      world.tells_routes = seed % 2 == 0;
      world.graph = Graph::release;
      world.drive([&](Place& here) {
        const auto answer = many_uses(world, here);
        world.settle(1 + seed % 90);
        if (answer->result) return;
        world.part("trainer").pass_due(world.last_pass());
        BOOST_REQUIRE(answer->result);
        world.settle();
        if (answer->result->ok()) {
          ++succeeded;
          return check_same_bits(world.gradients(), gradients_of(many_uses, Placement::single, 1));
        }
        BOOST_TEST(world.gradients().empty());
        const auto again = world.backward_again();
        world.settle();
        BOOST_REQUIRE(again->result && again->result->ok());
        check_same_bits(world.gradients(), gradients_of(many_uses, Placement::single, 1));
      });
    }
  }
  BOOST_TEST(succeeded > 5);
}

BOOST_AUTO_TEST_CASE(word_to_release_a_graph_is_refused_from_others_than_the_root_and_before_the_pass_is_complete) {
  ContextWorld world(Placement::apart, 1);
  const ContextId context = world.part("ps0").id();
  const RRefId root = world.keep("ps0", sum(Variable(ones({1}), RequiresGrad::yes)));
  std::vector<std::string> answers;
  const auto release = [&](const NodeName& from, const PassId& pass) {
    world.part("ps0").release_graph(from, {context, pass}, [&](const Result<msg::BackwardReleased>& answer) {
      answers.push_back(answer ? "released" : answer.error().message);
    });
  };
  const PassId pass{"trainer", 7, 5};
  release("trainer", pass);  // it may have ended here
  world.part("ps0").mark("trainer", 1, {context, pass, "trainer", {}, {root}, false, false, {}}, {}, [](auto) {});
  release("ps1", pass);
  release("trainer", pass);
  world.settle();
  world.part("ps0").stop(Error{.code = ErrorCode::shutting_down, .message = "stopped"});
  release("trainer", pass);
  const std::string early = "told to release the graph of a pass that is not complete";
  BOOST_TEST(answers == (std::vector<std::string>{"released", "ps1 did not begin pass trainer.5", early, "stopped"}),
             boost::test_tools::per_element());
}

namespace {

/// Changes no gradients, and counts how passes end.
class Ends final : public detail::GradientReducer {
 public:
  void begin(const PassId&) override {}
  void found(const PassId&, const Variable&, const Tensor&, const SparseTensor&) override {}
  void finish(const PassId&, Gradients gradients, Done done) override { done(std::move(gradients)); }
  void fail(const PassId&, const Error&) override { ++failed; }
  void complete(const PassId&) override { ++completed; }

  int failed = 0;
  int completed = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(cancelled_pass_counts_nowhere_at_whatever_moment_also_when_it_is_complete) {
  int cancelled = 0;
  for (const Graph graph : {Graph::keep, Graph::release}) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      BOOST_TEST_CONTEXT("seed " << seed) {
        ContextWorld world(Placement::apart, seed);
        world.tells_routes = seed % 2 == 0;
        world.graph = graph;
        world.cancels_at_the_end = true;
        const auto reducer = std::make_shared<Ends>();
        world.part("trainer").attach(reducer);
        world.drive([&](Place& here) {
          const auto answer = many_uses(world, here);
          world.settle(seed % 90);
          if (!answer->result) world.part("trainer").pass_cancelled(world.last_pass());
          BOOST_REQUIRE(answer->result);
          if (!answer->result->ok()) {
            ++cancelled;
            BOOST_TEST((answer->result->error().code == ErrorCode::cancelled));
          }
          const bool was_complete = answer->result->ok();
          world.settle();
          for (const char* name : {"trainer", "ps0", "ps1"}) BOOST_TEST(world.part(name).pass_count() == 0U);
          BOOST_TEST(world.gradients().empty());
          BOOST_TEST(reducer->failed == 1);
          BOOST_TEST(reducer->completed == 0);
          if (was_complete && graph == Graph::release) return;
          world.cancels_at_the_end = false;
          const auto again = world.backward_again();
          world.settle();
          BOOST_REQUIRE(again->result && again->result->ok());
          BOOST_TEST(reducer->completed == 1);
          check_same_bits(world.gradients(), gradients_of(many_uses, Placement::single, 1));
        });
      }
    }
  }
  BOOST_TEST(cancelled > 100);
}

BOOST_AUTO_TEST_CASE(reducers_learn_of_success_when_their_node_does_and_of_failure_when_the_context_ends_before) {
  ContextWorld world(Placement::apart, 1);
  const auto at_root = std::make_shared<Ends>();
  const auto at_server = std::make_shared<Ends>();
  world.part("trainer").attach(at_root);
  world.part("ps0").attach(at_server);
  world.drive([&](Place& here) {
    static_cast<void>(many_uses(world, here));
    world.settle();
    static_cast<void>(world.backward_again());
    world.settle();
  });
  BOOST_TEST(at_root->completed == 2);
  BOOST_TEST(at_server->completed == 1);  // the root has told of the first when it began the second
  world.part("ps0").release("trainer");
  BOOST_TEST(at_server->completed == 1);
  BOOST_TEST(at_server->failed == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
