#include "actors/sessions/answer_backlog.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe::detail {
namespace {

using boost::unit_test::label;

const NodeLife kSlow{"slow", {1, 1}};
const NodeLife kQuick{"other", {2, 2}};

Parcel small_answer(std::size_t bytes) { return {std::vector<Piece>(1), bytes}; }
Parcel large_answer(std::size_t bytes) { return {std::vector<Piece>(2), bytes}; }

/// Calls that report their name when they begin.
struct Calls {
  [[nodiscard]] bool keep(const NodeLife& peer, const std::string& name,
                          AnswerBacklog::Answers answers = AnswerBacklog::Answers::any) {
    AnswerBacklog::Begin begin = [this, name] { begun.push_back(name); };
    return backlog.keep(peer, answers, begin);
  }
  void taken(const NodeLife& peer, const Parcel& answer) {
    AnswerTotals totals;
    totals.add(answer);
    for (const auto& begin : backlog.taken(peer, totals)) begin();
  }
  void taken(const NodeLife& peer, std::size_t bytes) { taken(peer, small_answer(bytes)); }
  AnswerBacklog backlog{100};
  std::vector<std::string> begun;
};
using Names = std::vector<std::string>;

BOOST_FIXTURE_TEST_SUITE(answer_backlog, Calls)

BOOST_AUTO_TEST_CASE(calls_of_a_peer_that_takes_its_answers_begin_at_once) {
  BOOST_TEST(!keep(kSlow, "1"));
  backlog.sent(kSlow, small_answer(100));
  BOOST_TEST(!keep(kSlow, "2"));
}

BOOST_AUTO_TEST_CASE(calls_of_a_peer_that_does_not_wait_and_nobody_elses, *label("fault-F06")) {
  backlog.sent(kSlow, small_answer(101));
  BOOST_TEST(keep(kSlow, "1"));
  BOOST_TEST(keep(kSlow, "2"));
  BOOST_TEST(!keep(kQuick, "3"));
  taken(kSlow, 0);
  BOOST_TEST(begun.empty());
}

BOOST_AUTO_TEST_CASE(they_begin_one_by_one_as_answers_are_taken_and_all_once_none_waits) {
  backlog.sent(kSlow, small_answer(150));
  for (const char* name : {"1", "2", "3", "4"}) BOOST_TEST(keep(kSlow, name));
  taken(kSlow, 50);
  BOOST_TEST((begun == Names{"1"}));
  BOOST_TEST(keep(kSlow, "5"));  // behind the others, although there is room
  taken(kSlow, 10);
  BOOST_TEST((begun == Names{"1", "2"}));
  taken(kSlow, 90);
  BOOST_TEST((begun == Names{"1", "2", "3", "4", "5"}));
  BOOST_TEST(!keep(kSlow, "6"));
}

BOOST_AUTO_TEST_CASE(one_large_answer_may_wait_beside_small_ones) {
  backlog.sent(kSlow, large_answer(500));
  backlog.sent(kSlow, small_answer(100));
  BOOST_TEST(!keep(kSlow, "1"));
  backlog.sent(kSlow, large_answer(300));
  BOOST_TEST(keep(kSlow, "2"));
  taken(kSlow, large_answer(500));
  BOOST_TEST((begun == Names{"2"}));
  backlog.sent(kSlow, small_answer(1));
  BOOST_TEST(keep(kSlow, "3"));
}

BOOST_AUTO_TEST_CASE(calls_with_small_answers_wait_for_small_answers_only) {
  for (int i = 0; i < 3; ++i) backlog.sent(kSlow, large_answer(500));
  BOOST_TEST(keep(kSlow, "any"));
  BOOST_TEST(!keep(kSlow, "1", AnswerBacklog::Answers::small));
  backlog.sent(kSlow, small_answer(101));
  BOOST_TEST(keep(kSlow, "2", AnswerBacklog::Answers::small));
  taken(kSlow, small_answer(101));
  BOOST_TEST((begun == Names{"2"}));
  for (int i = 0; i < 3; ++i) taken(kSlow, large_answer(500));
  BOOST_TEST((begun == Names{"2", "any"}));
}

BOOST_AUTO_TEST_CASE(calls_with_small_answers_wait_for_many_large_ones) {
  for (int i = 0; i < 1024; ++i) backlog.sent(kSlow, large_answer(1));
  BOOST_TEST(!keep(kSlow, "1", AnswerBacklog::Answers::small));
  backlog.sent(kSlow, large_answer(1));
  BOOST_TEST(keep(kSlow, "2", AnswerBacklog::Answers::small));
}

BOOST_AUTO_TEST_CASE(bytes_are_listed_by_peer_until_they_are_taken) {
  backlog.sent(kSlow, small_answer(70));
  backlog.sent(kSlow, small_answer(5));
  backlog.sent(kQuick, small_answer(1));
  BOOST_TEST(backlog.bytes().at(kSlow) == 75U);
  taken(kSlow, 70);
  taken(kQuick, 1);
  BOOST_TEST(backlog.bytes().at(kSlow) == 5U);
  BOOST_TEST(!backlog.bytes().contains(kQuick));
}

BOOST_AUTO_TEST_CASE(end_of_a_life_ends_what_waited_for_it) {
  backlog.sent(kSlow, small_answer(101));
  BOOST_TEST(keep(kSlow, "1"));
  BOOST_TEST(backlog.gone(kSlow).size() == 1U);
  BOOST_TEST(backlog.gone(kSlow).empty());
  BOOST_TEST(!keep(kSlow, "2"));
}

BOOST_AUTO_TEST_CASE(end_of_the_node_ends_all_that_waited) {
  for (const NodeLife& peer : {kSlow, kQuick}) {
    backlog.sent(peer, small_answer(101));
    BOOST_TEST(keep(peer, "1"));
  }
  BOOST_TEST(backlog.stop().size() == 2U);
  BOOST_TEST(!keep(kSlow, "2"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
