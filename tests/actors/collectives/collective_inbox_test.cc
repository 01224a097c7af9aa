#include "actors/collectives/collective_inbox.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "tests/support/counting_new.h"

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(collective_inbox)

constexpr std::uint64_t kSlot = 7;
const std::string kSum = "all_reduce sum of f32 (2)";

/// The parts at member "a", and the outcomes for their senders: "1 taken", "2 dropped".
struct AtA {
  std::optional<Error> came(std::size_t from, PartPlace place, const std::string& text) {
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return parts.came(from, std::move(place), make_frame(std::move(bytes)), [this, text](const Error* why) {
      heard.push_back(text + (why == nullptr ? " taken" : " dropped"));
    });
  }
  void tell() {
    for (const auto& answer : parts.taken()) answer(nullptr);
  }
  std::string take(const CollectiveInbox::Wanted& wanted) {
    const auto frame = parts.take(wanted);
    if (!frame) return "nothing";
    return {reinterpret_cast<const char*>(frame->bytes.data()), frame->bytes.size()};
  }

  CollectiveInbox parts{{"a", "b", "c"}, 0};
  std::vector<std::string> heard;
};

BOOST_FIXTURE_TEST_CASE(part_is_taken_when_it_is_wanted_and_not_before, AtA) {
  BOOST_TEST(!parts.begin(kSum));
  BOOST_TEST(!came(1, {1, kSum, kSlot, 0}, "x"));
  tell();
  BOOST_TEST(heard.empty());
  const auto wanted = parts.want(1, kSlot);
  tell();
  BOOST_TEST(heard == std::vector<std::string>{"x taken"}, boost::test_tools::per_element());
  BOOST_TEST(take(wanted) == "x");
  BOOST_TEST(take(wanted) == "nothing");
  const auto next = parts.want(1, kSlot);
  BOOST_TEST(!came(1, {1, kSum, kSlot, 1}, "y"));
  tell();
  BOOST_TEST(heard.back() == "y taken");
  BOOST_TEST(take(next) == "y");
  BOOST_TEST(!parts.end());
}

BOOST_FIXTURE_TEST_CASE(parts_of_one_slot_keep_their_order_also_if_they_overtake_each_other, AtA) {
  BOOST_TEST(!parts.begin(kSum));
  const auto first = parts.want(1, kSlot);
  const auto second = parts.want(1, kSlot);
  BOOST_TEST(!came(1, {1, kSum, kSlot, 1}, "y"));
  BOOST_TEST(take(first) == "nothing");
  BOOST_TEST(!came(1, {1, kSum, kSlot, 0}, "x"));
  BOOST_TEST(take(first) == "x");
  BOOST_TEST(take(second) == "y");
}

BOOST_FIXTURE_TEST_CASE(members_and_slots_do_not_mix, AtA) {
  BOOST_TEST(!parts.begin(kSum));
  const auto from_b = parts.want(1, kSlot);
  const auto from_c = parts.want(2, kSlot);
  const auto other_slot = parts.want(1, kSlot + 1);
  BOOST_TEST(!came(2, {1, kSum, kSlot, 0}, "c"));
  BOOST_TEST(!came(1, {1, kSum, kSlot + 1, 0}, "slot"));
  BOOST_TEST(take(from_b) == "nothing");
  BOOST_TEST(take(from_c) == "c");
  BOOST_TEST(take(other_slot) == "slot");
}

BOOST_FIXTURE_TEST_CASE(places_of_what_is_sent_count_by_member_and_slot_anew_in_each_operation, AtA) {
  BOOST_TEST(!parts.begin(kSum));
  BOOST_TEST(parts.next_place(1, kSlot).index == 0U);
  BOOST_TEST(parts.next_place(1, kSlot).index == 1U);
  BOOST_TEST(parts.next_place(2, kSlot).index == 0U);
  BOOST_TEST(parts.next_place(1, kSlot + 1).index == 0U);
  BOOST_TEST(!parts.end());
  BOOST_TEST(!parts.begin("barrier"));
  const PartPlace place = parts.next_place(1, kSlot);
  BOOST_TEST(place.index == 0U);
  BOOST_TEST(place.operation == 2U);
  BOOST_TEST(place.what == "barrier");
}

BOOST_FIXTURE_TEST_CASE(part_of_an_operation_that_is_to_come_waits_for_it, AtA) {
  BOOST_TEST(!came(1, {2, kSum, kSlot, 0}, "second"));
  BOOST_TEST(!came(1, {1, kSum, kSlot, 0}, "first"));
  for (const std::string expected : {"first", "second"}) {
    BOOST_TEST(!parts.begin(kSum));
    const auto wanted = parts.want(1, kSlot);
    BOOST_TEST(take(wanted) == expected);
    BOOST_TEST(!parts.end());
  }
  tell();
  BOOST_TEST(heard == (std::vector<std::string>{"first taken", "second taken"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(members_in_different_operations_notice_it_whoever_is_first, AtA) {
  BOOST_TEST(!parts.begin(kSum));
  const auto late = came(1, {1, "barrier", kSlot, 0}, "x");
  BOOST_TEST_REQUIRE(late.has_value());
  BOOST_TEST((late->code == ErrorCode::bad_argument));
  BOOST_TEST(late->peer == "b");
  BOOST_TEST(late->message == "operation 1 is barrier for b, all_reduce sum of f32 (2) for a");
  BOOST_TEST((late->execution == Execution::never));
  BOOST_TEST(!parts.end());
  BOOST_TEST(!came(2, {2, "barrier", kSlot, 0}, "y"));
  const auto early = parts.begin(kSum);
  BOOST_TEST_REQUIRE(early.has_value());
  BOOST_TEST(early->message == "operation 2 is barrier for c, all_reduce sum of f32 (2) for a");
}

BOOST_FIXTURE_TEST_CASE(part_for_an_operation_that_is_over_here_is_an_error, AtA) {
  BOOST_TEST(!parts.begin("all_reduce sum of f32 (0)"));
  BOOST_TEST(!parts.end());
  const auto error = came(1, {1, kSum, kSlot, 0}, "x");
  BOOST_TEST_REQUIRE(error.has_value());
  BOOST_TEST(error->message == "operation 1 is all_reduce sum of f32 (2) for b, all_reduce sum of f32 (0) for a");
}

BOOST_FIXTURE_TEST_CASE(member_that_has_no_part_for_this_one_tells_it_what_it_is_in_before_and_after, AtA) {
  BOOST_TEST(!parts.told(1, {1, kSum, 0, 0}));  // early
  BOOST_TEST(!parts.begin(kSum));
  BOOST_TEST(!parts.end());
  BOOST_TEST(!parts.begin("barrier"));
  BOOST_TEST(!parts.told(1, {2, "barrier", 0, 0}));  // in time
  BOOST_TEST(!parts.end());
  for (const char* what : {"broadcast", "barrier"}) {
    BOOST_TEST(!parts.begin(what));
    BOOST_TEST(!parts.end());
  }
  const auto late = parts.told(1, {3, "barrier", 0, 0});  // two operations later
  BOOST_TEST_REQUIRE(late.has_value());
  BOOST_TEST(late->message == "operation 3 is barrier for b, broadcast for a");
  BOOST_TEST(!parts.told(1, {5, kSum, 0, 0}));
  const auto early = parts.begin("barrier");
  BOOST_TEST_REQUIRE(early.has_value());
  BOOST_TEST(early->peer == "b");
}

BOOST_FIXTURE_TEST_CASE(only_the_member_after_this_one_tells_what_it_is_in, AtA) {
  const auto error = parts.told(2, {1, kSum, 0, 0});
  BOOST_TEST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::protocol_violation));
  BOOST_TEST(error->peer == "c");
  BOOST_TEST(!parts.begin("barrier"));  // what c said was not kept
}

BOOST_FIXTURE_TEST_CASE(member_may_be_ahead_by_so_many_operations_and_no_more, AtA) {
  constexpr std::uint64_t kMax = CollectiveInbox::kAheadMax;
  for (std::uint64_t operation = 1; operation <= kMax; ++operation) BOOST_TEST(!parts.told(1, {operation, kSum, 0, 0}));
  const auto error = parts.told(1, {kMax + 1, kSum, 0, 0});
  BOOST_TEST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::resource_exhausted));
  BOOST_TEST(error->message.starts_with("b is in operation 1025, too far ahead of a in 0: "), error->message);
  BOOST_TEST(!parts.begin(kSum));
  BOOST_TEST(!parts.end());
  BOOST_TEST(!parts.told(1, {kMax + 1, kSum, 0, 0}));
}

BOOST_FIXTURE_TEST_CASE(descriptions_of_a_member_that_is_ahead_have_so_many_bytes_and_no_more, AtA) {
  const std::string half(CollectiveInbox::kAheadBytesMax / 2, 'x');
  BOOST_TEST(!parts.told(1, {1, half, 0, 0}));
  BOOST_TEST(!parts.told(1, {1, half, 0, 0}));  // the same once more takes no room
  BOOST_TEST(!parts.told(1, {2, half, 0, 0}));
  BOOST_TEST(parts.told(1, {3, "x", 0, 0}).has_value());
  BOOST_TEST(!parts.begin(half));
  BOOST_TEST(!parts.end());
  BOOST_TEST(!parts.told(1, {3, half, 0, 0}));
  BOOST_TEST(parts.drop().empty());
  for (const std::uint64_t operation : {4U, 5U}) BOOST_TEST(!parts.told(1, {operation, half, 0, 0}));
}

BOOST_FIXTURE_TEST_CASE(so_many_parts_of_a_member_wait_and_no_more, AtA) {
  BOOST_TEST(!parts.begin(kSum));
  for (std::uint64_t index = 0; index < CollectiveInbox::kUntakenMax; ++index) {
    const std::uint64_t operation = 1 + index % 2;  // of this operation, and of the next one
    BOOST_TEST_REQUIRE(!came(1, {operation, kSum, kSlot, index / 2}, "x"));
  }
  const auto error = came(1, {1, kSum, kSlot, CollectiveInbox::kUntakenMax}, "y");
  BOOST_TEST_REQUIRE(error.has_value());
  BOOST_TEST((error->code == ErrorCode::resource_exhausted));
  BOOST_TEST(error->peer == "b");
  BOOST_TEST(!came(2, {1, kSum, kSlot, 0}, "of another member"));
  const auto wanted = parts.want(1, kSlot);
  BOOST_TEST(take(wanted) == "x");
  BOOST_TEST(!came(1, {1, kSum, kSlot, CollectiveInbox::kUntakenMax}, "y"));
}

// An answer that is destroyed fails its request, which would enter the collective again under the caller's lock.
BOOST_AUTO_TEST_CASE(part_that_comes_twice_is_refused_and_no_answer_is_destroyed, *boost::unit_test::label("attack")) {
  CollectiveInbox parts({"a", "b", "c"}, 0);
  const auto unanswered = std::make_shared<int>();  // held by the answers, too
  const auto came = [&](std::size_t from, std::uint64_t operation) {
    return parts.came(from, {operation, kSum, kSlot, 0}, {}, [unanswered](const Error*) {});
  };
  const auto expect_refusal = [&](std::uint64_t operation, const std::string& text) {
    const auto error = came(1, operation);
    BOOST_TEST_REQUIRE(error.has_value());
    BOOST_TEST((error->code == ErrorCode::protocol_violation));
    BOOST_TEST(error->peer == "b");
    BOOST_TEST((error->execution == Execution::never));
    BOOST_TEST(error->message == text);
  };
  for (const std::uint64_t operation : {1U, 2U}) BOOST_TEST(!came(1, operation));
  BOOST_TEST(!came(2, 1));
  expect_refusal(1, "b has sent part 0 of slot 7 of operation 1 to a twice: each place has one part");
  BOOST_TEST(unanswered.use_count() == 4);
  BOOST_TEST(!parts.begin(kSum));
  BOOST_TEST(unanswered.use_count() == 4);
  expect_refusal(1, "b has sent part 0 of slot 7 of operation 1 to a twice: each place has one part");
  expect_refusal(2, "b has sent part 0 of slot 7 of operation 2 to a twice: each place has one part");
  BOOST_TEST(unanswered.use_count() == 4);
  static_cast<void>(parts.want(1, kSlot));
  BOOST_TEST(parts.taken().size() == 1U);
  expect_refusal(1, "b has sent part 0 of slot 7 of operation 1 to a twice: each place has one part");
  BOOST_TEST(parts.drop().size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(part_that_nobody_wanted_is_an_error_at_the_end_of_the_operation, AtA) {
  BOOST_TEST(!parts.begin(kSum));
  BOOST_TEST(!came(1, {1, kSum, kSlot, 0}, "x"));
  const auto error = parts.end();
  BOOST_TEST_REQUIRE(error.has_value());
  BOOST_TEST(error->peer == "b");
}

BOOST_FIXTURE_TEST_CASE(absence_of_a_member_is_a_loss_only_to_who_waits_for_it, AtA) {
  Error gone;
  gone.peer = "b";
  BOOST_TEST(!parts.begin(kSum));
  const auto from_b = parts.want(1, kSlot);
  const auto from_c = parts.want(2, kSlot);
  BOOST_TEST((parts.awaited() == std::set<std::size_t>{1, 2}));
  BOOST_TEST(!came(1, {1, kSum, kSlot, 0}, "x"));
  parts.left(1, gone);
  BOOST_TEST((parts.awaited() == std::set<std::size_t>{2}));
  BOOST_TEST(parts.lost() == nullptr);
  BOOST_TEST(take(from_b) == "x");
  static_cast<void>(parts.want(1, kSlot));
  BOOST_TEST_REQUIRE(parts.lost() != nullptr);
  BOOST_TEST(parts.lost()->peer == "b");
  BOOST_TEST(parts.absence(2) == nullptr);
  BOOST_TEST(take(from_c) == "nothing");
}

BOOST_FIXTURE_TEST_CASE(dropped_parts_are_answered_once, AtA) {
  BOOST_TEST(!parts.begin(kSum));
  static_cast<void>(parts.want(1, kSlot));
  BOOST_TEST(!came(1, {1, kSum, kSlot, 0}, "wanted"));
  BOOST_TEST(!came(2, {1, kSum, kSlot, 0}, "unwanted"));
  BOOST_TEST(!came(2, {2, kSum, kSlot, 0}, "early"));
  tell();
  const Error why;
  for (const auto& answer : parts.drop()) answer(&why);
  BOOST_TEST(parts.drop().empty());
  BOOST_TEST(heard == (std::vector<std::string>{"wanted taken", "unwanted dropped", "early dropped"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(answers_are_kept_when_there_is_no_memory) {
  std::size_t refusals = 0;
  for (bool is_refused = true; is_refused; refusals += is_refused ? 1 : 0) {
    CollectiveInbox parts({"a", "b", "c"}, 0);
    const auto unanswered = std::make_shared<int>();
    for (const std::uint64_t index : {0U, 1U})
      BOOST_TEST(!parts.came(1, {1, kSum, kSlot, index}, {}, [unanswered](const Error*) {}));
    BOOST_TEST(!parts.came(1, {2, kSum, kSlot, 0}, {}, [unanswered](const Error*) {}));
    {
      const testing::RefusedAllocation refused(refusals + 1);
      try {
        static_cast<void>(parts.begin(kSum));
        static_cast<void>(parts.want(1, kSlot));
      } catch (const std::bad_alloc&) {
      }
      is_refused = refused.happened();
    }
    const auto taken = parts.taken();
    const auto dropped = parts.drop();
    BOOST_TEST(taken.size() + dropped.size() == 3U, "refused allocation " << refusals + 1);
    BOOST_TEST(unanswered.use_count() == 4, "refused allocation " << refusals + 1);
  }
  BOOST_TEST(refusals > 5U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
