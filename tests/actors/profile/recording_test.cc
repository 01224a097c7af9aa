// What one node records, and what it leaves out.
#include "actors/profile/recording.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actors/calls/scope_state.h"
#include "tests/support/counting_new.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(recording)

namespace {

using detail::NodeRecording;
using detail::RecordedEvent;
using detail::ScopeState;

ScopeState scope_of(std::uint64_t trace, std::optional<ContextId> context = {}) {
  ScopeState scope;
  scope.trace = trace;
  scope.context = std::move(context);
  return scope;
}

RecordedEvent span(std::string name) { return {.kind = EventKind::span, .name = std::move(name)}; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_recording_has_its_own_calls_and_the_passes_of_their_contexts) {
  NodeRecording recording({.trace = 7, .events_max = 10});
  const ContextId context{"a", 1, 1};
  BOOST_TEST(!recording.wants(context));
  BOOST_TEST(!recording.wants(scope_of(0, context)));
  BOOST_TEST(!recording.wants(scope_of(8, context)));
  BOOST_TEST(!recording.wants(context));
  BOOST_TEST(recording.wants(scope_of(7, context)));
  BOOST_TEST(recording.wants(context));
  NodeRecording everything({.trace = 7, .everything = true, .events_max = 10});
  BOOST_TEST(everything.wants(scope_of(0)));
  BOOST_TEST(everything.wants(context));
  NodeRecording of_none({.trace = 0, .events_max = 10});
  BOOST_TEST(!of_none.wants(scope_of(0)));
}

BOOST_AUTO_TEST_CASE(events_are_taken_in_parts_and_counted_beyond_the_limit) {
  NodeRecording recording({.trace = 7, .events_max = 3});
  for (const char* name : {"1", "2", "3", "4"}) recording.add(span(name));
  std::thread([&] { recording.add(span("5")); }).join();
  const auto first = recording.take(2);
  BOOST_REQUIRE(first.size() == 2U);
  BOOST_TEST(first[1].name == "2");
  BOOST_TEST(recording.take(2).size() == 1U);
  BOOST_TEST(recording.take(2).empty());
  BOOST_TEST(recording.end() == 2U);
}

BOOST_AUTO_TEST_CASE(what_ends_after_the_recording_is_neither_kept_nor_counted) {
  NodeRecording recording({.trace = 7, .events_max = 2});
  recording.add(span("1"));
  BOOST_TEST(recording.end() == 0U);
  for (const char* name : {"2", "3", "4"}) recording.add(span(name));
  recording.lose();
  BOOST_TEST(recording.take(10).size() == 1U);
  BOOST_TEST(recording.end() == 0U);
}

BOOST_AUTO_TEST_CASE(a_recording_that_is_forgotten_has_no_events_and_gets_none) {
  NodeRecording recording({.trace = 7, .events_max = 10});
  for (const char* name : {"1", "2"}) recording.add(span(name));
  BOOST_TEST(recording.take(1).size() == 1U);
  BOOST_TEST(!recording.has_ended());
  recording.forget();
  BOOST_TEST(recording.has_ended());
  recording.add(span("3"));
  recording.lose();
  BOOST_TEST(recording.take(10).empty());
  BOOST_TEST(recording.end() == 0U);
}

BOOST_AUTO_TEST_CASE(a_recording_whose_events_were_taken_keeps_no_memory_of_them) {
  NodeRecording recording({.trace = 7, .events_max = 1U << 14U});
  const PeakMemory peak;
  for (int i = 0; i < 1 << 14; ++i) recording.add(span("short"));
  while (!recording.take(1U << 14U).empty()) continue;
  const std::size_t before = peak.bytes();  // of some copies of the events, so it is more than one
  const std::vector<char> other(before);
  BOOST_TEST(peak.bytes() < before + (std::size_t{1} << 14U) * sizeof(RecordedEvent) / 2);
}

// A name is that of a span or of an operation of a user. What is longer, no profiler believes.
BOOST_AUTO_TEST_CASE(names_are_cut) {
  NodeRecording recording({.trace = 7, .events_max = 1});
  recording.add(span(std::string(300, 'x')));
  BOOST_TEST(recording.take(1).at(0).name == std::string(256, 'x'));
}

// A peer chooses names, paths and the number of events.
BOOST_AUTO_TEST_CASE(events_are_bounded_in_bytes_and_read_in_answers_of_some_megabytes) {
  NodeRecording recording({.trace = 7, .events_max = std::numeric_limits<std::uint64_t>::max()});
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  const std::size_t fit = NodeRecording::kBytesMax / kBytes;
  for (std::size_t i = 0; i < fit + 10; ++i) {
    RecordedEvent large = span("large");
    large.path.resize(kBytes / sizeof(std::uint32_t));
    recording.add(std::move(large));
  }
  const std::uint64_t lost = recording.end();
  BOOST_TEST(lost >= 10U);
  BOOST_TEST(lost <= 12U);
  std::size_t taken = 0;
  for (auto some = recording.take(fit); !some.empty(); some = recording.take(fit)) {
    BOOST_TEST(some.size() <= 5U);
    taken += some.size();
  }
  BOOST_TEST(taken + lost == fit + 10);
}

BOOST_AUTO_TEST_CASE(a_context_beyond_those_that_a_recording_remembers_is_counted) {
  NodeRecording recording({.trace = 7, .events_max = 10});
  for (std::uint64_t serial = 1; serial <= 10'000; ++serial)
    static_cast<void>(recording.wants(scope_of(7, ContextId{"a", 1, serial})));
  BOOST_TEST(recording.wants(ContextId{"a", 1, 10'000}));
  BOOST_TEST(recording.wants(scope_of(7, ContextId{"a", 1, 10'001})));
  BOOST_TEST(!recording.wants(ContextId{"a", 1, 10'001}));
  BOOST_TEST(recording.end() == 1U);
}

BOOST_AUTO_TEST_CASE(threads_are_numbered) {
  NodeRecording recording({.trace = 7, .events_max = 10});
  recording.add(span("here"));
  std::thread([&] { recording.add(span("there")); }).join();
  recording.add(span("here"));
  const auto events = recording.take(10);
  BOOST_TEST(events.at(0).thread == 0U);
  BOOST_TEST(events.at(1).thread == 1U);
  BOOST_TEST(events.at(2).thread == 0U);
}

BOOST_AUTO_TEST_CASE(an_event_without_memory_is_counted) {
  for (std::size_t n = 1;; ++n) {
    NodeRecording recording({.trace = 7, .events_max = 10});
    RecordedEvent event = span("a name that is longer than what a string has room for");
    bool happened = false;
    {
      const RefusedAllocation refused(n);
      recording.add(std::move(event));
      happened = refused.happened();
    }
    BOOST_TEST((happened || n > 2), "something is allocated");
    BOOST_TEST(recording.take(10).size() == (happened ? 0U : 1U));
    BOOST_TEST(recording.end() == (happened ? 1U : 0U));
    if (!happened) break;
  }
}

BOOST_AUTO_TEST_CASE(a_node_knows_whether_anybody_records) {
  detail::Recordings recordings;
  BOOST_TEST(!recordings.any());
  const auto one = std::make_shared<NodeRecording>(detail::RecordingOptions{.trace = 7, .events_max = 10});
  const auto all =
      std::make_shared<NodeRecording>(detail::RecordingOptions{.trace = 8, .everything = true, .events_max = 10});
  recordings.add(one);
  recordings.add(all);
  BOOST_TEST(recordings.of(scope_of(7)).size() == 2U);
  BOOST_TEST(recordings.of(scope_of(9)).size() == 1U);
  recordings.remove(*all);
  BOOST_TEST(recordings.of(scope_of(9)).empty());
  recordings.lose();
  BOOST_TEST(one->end() == 1U);
  recordings.remove(*one);
  BOOST_TEST(!recordings.any());
  for (int i = 0; i < 16; ++i) recordings.add(std::make_shared<NodeRecording>(detail::RecordingOptions{}));
  expect_throw<std::runtime_error>([&] { recordings.add(one); },
                                   "[Profiler] 16 profiles are being recorded on this node");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
