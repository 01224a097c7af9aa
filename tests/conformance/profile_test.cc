// Profiles of calls, functions, kernels, passes and spans over several nodes.
#include "actors/profile/profile.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/profile/profiler.h"
#include "actors/profile/recording.h"
#include "actors/task.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/async_functions.h"
#include "tests/conformance/profile_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/expect_throw.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

using boost::unit_test::fixture;
using boost::unit_test::label;

/// Returns all events of that full name, each "node".
std::vector<std::string> nodes_of(const Profile& profile, const std::string& full_name) {
  std::vector<std::string> nodes;
  for (const ProfileEvent& event : profile.events) {
    if (event.full_name() == full_name) nodes.push_back(event.node);
  }
  return nodes;
}

/// Returns the only event of that full name.
ProfileEvent the_one(const Profile& profile, const std::string& full_name) {
  std::optional<ProfileEvent> found;
  for (const ProfileEvent& event : profile.events) {
    if (event.full_name() != full_name) continue;
    BOOST_TEST(!found, full_name << " is there twice");
    found = event;
  }
  BOOST_REQUIRE_MESSAGE(found, full_name << " is missing from\n" << profile.table(1000));
  return *found;
}

bool is_inside(const ProfileEvent& inner, const ProfileEvent& outer) {
  return inner.begin >= outer.begin && inner.begin + inner.length <= outer.begin + outer.length;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(profiles, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(a_call_of_each_kind_is_one_event_with_its_kind_function_and_nodes,
                     *label("P-01") * label("P-02")) {
  Profiler profiler(trainer);
  const Tensor x = ones({2, 2});
  static_cast<void>(profiler.rpc_sync("p1", &squared, x));
  static_cast<void>(profiler.rpc_async("p2", &squared, x).get());
  const auto kept = profiler.remote("p3", &squared, x);
  static_cast<void>(kept.to_here(profiler));
  const Profile profile = profiler.stop();
  BOOST_TEST(profile.missing.empty());
  BOOST_TEST(profile.lost.empty());
  for (const char* node : {"p1", "p2"}) {
    const std::string call = "rpc#squared(trainer -> " + std::string(node) + ")";
    const ProfileEvent made = the_one(profile, call);
    BOOST_TEST(made.node == "trainer");
    BOOST_TEST((made.kind == EventKind::call));
    const ProfileEvent served = the_one(profile, call + "#remote: squared");
    BOOST_TEST(served.node == node);
    BOOST_TEST((served.kind == EventKind::function));
    const ProfileEvent computed = the_one(profile, call + "#remote: matmul");
    BOOST_TEST(computed.node == node);
    BOOST_TEST((computed.kind == EventKind::kernel));
    BOOST_TEST(is_inside(computed, served));
    BOOST_TEST(served.length.count() > 0);
    BOOST_TEST((made.length >= served.length));
  }
  BOOST_TEST(the_one(profile, "remote#squared(trainer -> p3)#remote: matmul").node == "p3");
}

BOOST_AUTO_TEST_CASE(calls_that_a_call_leads_to_are_named_after_both, *label("P-03")) {
  Profiler profiler(trainer);
  static_cast<void>(profiler.rpc_sync("p1", &squared_by, NodeName("p2"), ones({2, 2})));
  const Profile profile = profiler.stop();
  const std::string outer = "rpc#squared_by(trainer -> p1)";
  const std::string inner = outer + "#rpc#squared(p1 -> p2)";
  BOOST_TEST(the_one(profile, inner).node == "p1");
  BOOST_TEST(the_one(profile, inner + "#remote: squared").node == "p2");
  BOOST_TEST(the_one(profile, inner + "#remote: matmul").node == "p2");
  BOOST_TEST((the_one(profile, outer).length >= the_one(profile, inner).length));
}

BOOST_AUTO_TEST_CASE(calls_in_a_context_that_a_function_opens_are_named_after_the_call_of_it, *label("P-03")) {
  Profiler profiler(trainer);
  static_cast<void>(profiler.rpc_sync("p1", &gradient_by, NodeName("p2"), ones({2, 2})));
  const Profile profile = profiler.stop();
  const std::string inner = "rpc#gradient_by(trainer -> p1)#rpc#squared_variable(p1 -> p2)";
  BOOST_TEST(the_one(profile, inner + "#remote: squared_variable").node == "p2");
}

// The guard acts where its function goes on, and nowhere else.
BOOST_AUTO_TEST_CASE(a_task_may_hold_the_guard_of_its_thread_over_a_wait, *label("P-06")) {
  Profiler profiler(trainer);
  const auto task = [](Scope scope, Tensor x) -> Task<Tensor> {
    const ProfiledThread thread(scope);
    const Tensor y = co_await scope.rpc_async("p1", &squared, x);
    co_return y - 1.0;
  };
  static_cast<void>(task(profiler, ones({2, 2})).start(profiler).get());
  static_cast<void>(ones({2, 2}) - 1.0);
  const Profile profile = profiler.stop();
  BOOST_TEST(nodes_of(profile, "sub") == std::vector<std::string>{"trainer"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shapes_of_inputs_are_recorded_on_request, *label("P-04")) {
  for (const bool inputs : {false, true}) {
    Profiler profiler(trainer, {.nodes = {"trainer", "p1"}, .inputs = inputs});
    static_cast<void>(profiler.rpc_sync("p1", &squared, ones({3, 3})));
    const Profile profile = profiler.stop();
    const std::string computed = the_one(profile, "rpc#squared(trainer -> p1)#remote: matmul").inputs;
    BOOST_TEST(computed == (inputs ? "f32 (3, 3), f32 (3, 3)" : ""));
  }
}

BOOST_AUTO_TEST_CASE(the_trace_of_a_profile_has_the_events_of_all_nodes, *label("P-05")) {
  Profiler profiler(trainer);
  static_cast<void>(profiler.rpc_sync("p1", &squared, ones({2, 2})));
  const Profile profile = profiler.stop();
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "trace.json").string();
  profile.save_trace(path);
  const auto trace = nlohmann::json::parse(std::ifstream(path));
  std::set<std::string> processes;
  std::size_t begun = 0;
  std::size_t ended = 0;
  bool has_kernel = false;
  for (const auto& event : trace.at("traceEvents")) {
    const std::string kind = event.at("ph");
    if (kind == "M") processes.insert(event.at("args").at("name").get<std::string>());
    begun += kind == "b" ? 1 : 0;
    ended += kind == "e" ? 1 : 0;
    has_kernel = has_kernel || (kind == "X" && event.at("name") == "matmul" && event.at("dur") > 0.0);
  }
  BOOST_TEST((processes == std::set<std::string>{"p1", "trainer"}));
  BOOST_TEST(has_kernel);
  BOOST_TEST(begun == 2U);  // the call and its function
  BOOST_TEST(ended == 2U);
  BOOST_CHECK_THROW(profile.save_trace((directory.path() / "none" / "trace.json").string()), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_function_that_returns_later_lasts_until_its_result_is_there, *label("P-06")) {
  Profiler profiler(trainer);
  static_cast<void>(profiler.rpc_sync("p1", &squared_later, NodeName("p2"), ones({2, 2})));
  const Profile profile = profiler.stop();
  const std::string call = "rpc#squared_later(trainer -> p1)";
  const ProfileEvent later = the_one(profile, call + "#remote: squared_later");
  BOOST_TEST(is_inside(the_one(profile, call + "#rpc#squared(p1 -> p2)"), later));
  BOOST_TEST(is_inside(the_one(profile, call + "#remote: add"), later));  // on whatever thread it went on
}

BOOST_AUTO_TEST_CASE(fetches_of_any_values_of_a_node_have_one_name) {
  Profiler profiler(trainer);
  const Tensor x = ones({2, 2});
  for (int i = 0; i < 2; ++i) static_cast<void>(profiler.remote("p1", &squared, x).to_here(profiler));
  static_cast<void>(profiler.remote("p1", &squared, x).cached(profiler));
  const Profile profile = profiler.stop();
  BOOST_TEST(nodes_of(profile, "to_here(trainer -> p1)").size() == 2U);
  BOOST_TEST((the_one(profile, "cached(trainer -> p1)").kind == EventKind::call));
}

BOOST_AUTO_TEST_CASE(what_a_stream_computes_is_part_of_the_requests_of_its_elements) {
  Profiler profiler(trainer);
  {
    Stream<Tensor> products = profiler.rpc_sync("p1", &squares, ones({2, 2}), 3);
    products.ahead(1);
    while (products.next(profiler)) continue;
  }
  const Profile profile = profiler.stop();
  BOOST_TEST(nodes_of(profile, "next(trainer -> p1)").size() == 4U);  // the last says that there are no more
  BOOST_TEST(nodes_of(profile, "next(trainer -> p1)#remote: matmul").size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_span_in_a_function_of_another_node_is_part_of_its_call, *label("P-07")) {
  Profiler profiler(trainer);
  static_cast<void>(profiler.rpc_sync("p1", &squared_in_span, ones({2, 2})));
  const Profile profile = profiler.stop();
  const std::string call = "rpc#squared_in_span(trainer -> p1)#remote: ";
  const ProfileEvent span = the_one(profile, call + "squaring");
  BOOST_TEST(span.node == "p1");
  BOOST_TEST((span.kind == EventKind::span));
  BOOST_TEST(is_inside(the_one(profile, call + "matmul"), span));
}

BOOST_AUTO_TEST_CASE(forward_and_backward_in_a_context_are_recorded_on_every_node, *label("P-08") * label("P-12")) {
  Profiler profiler(trainer);
  {
    const DistContext context(profiler);
    const Variable x(ones({2, 2}), RequiresGrad::yes);
    backward(context, sum(context.rpc_sync("p1", &squared_variable, x)));
  }
  const Profile profile = profiler.stop();
  BOOST_TEST(the_one(profile, "rpc#squared_variable(trainer -> p1)#remote: matmul").node == "p1");
  const ProfileEvent pass = the_one(profile, "backward(trainer)");
  BOOST_TEST((pass.kind == EventKind::pass));
  BOOST_TEST(pass.length.count() > 0);
  std::set<std::string> went_back;
  for (const ProfileEvent& event : profile.events) {
    if (event.kind == EventKind::backward && event.length.count() > 0) went_back.insert(event.node + " " + event.name);
  }
  for (const char* event : {"trainer sum", "trainer recv", "p1 send", "p1 matmul", "p1 recv", "trainer send"})
    BOOST_TEST(went_back.contains(event), event);
}

BOOST_AUTO_TEST_CASE(profilers_may_be_nested_and_what_others_do_is_not_part_of_them, *label("P-09")) {
  Profiler outer(trainer);
  const Tensor x = ones({2, 2});
  static_cast<void>(outer.rpc_sync("p1", &squared, x));
  Profile inside;
  {
    Profiler inner(outer.with({}));
    static_cast<void>(inner.rpc_sync("p2", &squared, x));
    static_cast<void>(trainer.rpc_sync("p3", &squared, x));  // through neither
    inside = inner.stop();
  }
  const Profile outside = outer.stop();
  const auto calls_to = [](const Profile& profile, const std::string& node) {
    return nodes_of(profile, "rpc#squared(trainer -> " + node + ")").size();
  };
  BOOST_TEST(calls_to(inside, "p1") == 0U);
  BOOST_TEST(calls_to(inside, "p2") == 1U);
  BOOST_TEST(calls_to(outside, "p1") == 1U);
  BOOST_TEST(calls_to(outside, "p2") == 1U);
  BOOST_TEST(calls_to(inside, "p3") + calls_to(outside, "p3") == 0U);
}

BOOST_AUTO_TEST_CASE(everything_that_a_node_does_is_recorded_on_request, *label("P-09")) {
  Profiler profiler(trainer, {.nodes = {"p1"}, .everything = true});
  static_cast<void>(trainer.rpc_sync("p1", &squared, ones({2, 2})));
  static_cast<void>(trainer.rpc_sync("p2", &squared_by, NodeName("p1"), ones({2, 2})));
  const Profile profile = profiler.stop();
  const auto squares = std::ranges::count_if(profile.events, [](const ProfileEvent& event) {
    return event.node == "p1" && event.name == "squared" && event.kind == EventKind::function;
  });
  BOOST_TEST(squares == 2);
}

BOOST_AUTO_TEST_CASE(a_span_ends_once_and_with_a_future_if_told_so, *label("P-10")) {
  Profiler profiler(trainer);
  {
    ProfileSpan span(profiler, "twice ended");
    span.end();
    span.end();
  }
  {
    ProfileSpan span(profiler, "until the answer");
    BOOST_TEST(same_bytes(span.end_with(profiler.rpc_async("p1", &squared, ones({1, 1}))).get(), ones({1, 1})));
    span.end();
  }
  {
    const ProfiledThread thread(profiler);
    const ProfileSpan span(profiler, "here");
    static_cast<void>(squared(ones({2, 2})));
  }
  static_cast<void>(squared(ones({2, 2})));  // outside of any
  const Profile profile = profiler.stop();
  static_cast<void>(the_one(profile, "twice ended"));
  BOOST_TEST((the_one(profile, "until the answer").length >= the_one(profile, "rpc#squared(trainer -> p1)").length));
  BOOST_TEST(is_inside(the_one(profile, "matmul"), the_one(profile, "here")));
  BOOST_CHECK_THROW(static_cast<void>(profiler.stop()), std::logic_error);
}

BOOST_AUTO_TEST_CASE(events_beyond_the_limit_are_counted) {
  Profiler profiler(trainer, {.nodes = {"trainer", "p1"}, .events_max = 3});
  for (int i = 0; i < 4; ++i) static_cast<void>(profiler.rpc_sync("p1", &squared, ones({2, 2})));
  const Profile profile = profiler.stop();
  BOOST_TEST(profile.events.size() == 6U);
  BOOST_TEST((profile.lost == std::map<NodeName, std::uint64_t>{{"p1", 5}, {"trainer", 1}}));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_to_record_twice_is_refused) {
  expect_throw<std::invalid_argument>(
      [&] {
        const Profiler twice(trainer, {.nodes = {"p1", "trainer", "p1"}});
      },
      "[Profiler] nodes names p1 twice");
  cluster.expect_settled();
  BOOST_TEST(!trainer.core().recordings().any());
}

// As a function that runs for long does: it knows the recordings from its begin on.
BOOST_AUTO_TEST_CASE(a_recording_that_others_still_hold_ends_with_its_reference) {
  detail::RecordingList held;
  {
    const detail::KeptRecording kept(trainer.state().node, {.trace = 4711, .events_max = 10});
    held = trainer.core().recordings().of(trainer.with({.trace = 4711}).state());
    BOOST_REQUIRE(held.size() == 1U);
    held.front()->add({.name = "before"});
  }
  held.front()->add({.name = "after"});
  BOOST_TEST(held.front()->take(10).empty());
}

BOOST_AUTO_TEST_CASE(a_profiler_leaves_nothing_behind) {
  {
    Profiler dropped(trainer);
    static_cast<void>(dropped.rpc_sync("p1", &squared, ones({2, 2})));
  }
  cluster.expect_settled();
  BOOST_TEST(!trainer.core().recordings().any());
  Profiler of_nobody(trainer, {.nodes = {"p1", "nobody"}});
  const Profile profile = of_nobody.stop();
  BOOST_TEST(profile.missing.size() == 1U);
  BOOST_TEST((profile.missing.at("nobody").code == ErrorCode::not_joined));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
