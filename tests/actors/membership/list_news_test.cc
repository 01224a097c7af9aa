// Whom a node asks for a newer signed list (MB-10), and whom it does not believe again (MB-11).
#include "actors/membership/list_news.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

#include "messages/ids.h"

namespace troupe::detail {
namespace {

const NodeLife kA{"a", {1, 1}};
const NodeLife kB{"b", {1, 2}};
const NodeLife kC{"c", {1, 3}};

/// Returns the name of the peer that is asked by a node with list 5; "" if none is.
std::string asked(ListNews& news, std::uint64_t own = 5) {
  const auto peer = news.next(own);
  return peer ? peer->name : "";
}

BOOST_AUTO_TEST_SUITE(list_news)

BOOST_AUTO_TEST_CASE(who_says_the_most_is_asked) {
  ListNews news;
  BOOST_TEST(asked(news) == "");
  news.says(kA, 6);
  news.says(kB, 8);
  news.says(kC, 7);
  BOOST_TEST(asked(news) == "b");
}

BOOST_AUTO_TEST_CASE(who_knows_no_more_than_this_node_is_not_asked) {
  ListNews news;
  news.says(kA, 5);
  news.says(kB, 4);
  BOOST_TEST(asked(news) == "");
  BOOST_TEST(asked(news, 3) == "");  // what was known here once is known
  news.says(kB, 4);
  BOOST_TEST(asked(news, 3) == "b");
}

BOOST_AUTO_TEST_CASE(one_is_asked_at_a_time) {
  ListNews news;
  news.says(kA, 7);
  news.says(kB, 6);
  BOOST_TEST(asked(news) == "a");
  BOOST_TEST(asked(news) == "");
  news.says(kC, 9);
  BOOST_TEST(asked(news) == "");
  news.answered(7);
  BOOST_TEST(asked(news, 7) == "c");
  news.answered(9);
  BOOST_TEST(asked(news, 9) == "");
}

BOOST_AUTO_TEST_CASE(whose_claim_proves_false_is_not_believed_again_in_this_life) {
  for (const bool sends_an_older_list : {false, true}) {
    ListNews news;
    news.says(kA, 100);
    news.says(kB, 6);
    BOOST_TEST(asked(news) == "a");
    news.answered(sends_an_older_list ? std::optional<std::uint64_t>(99) : std::nullopt);
    BOOST_TEST(asked(news) == "b");
    news.answered(6);
    news.says(kA, 101);
    BOOST_TEST(asked(news, 6) == "");
    news.says({"a", {1, 9}}, 101);
    BOOST_TEST(asked(news, 6) == "a");
  }
}

BOOST_AUTO_TEST_CASE(a_life_that_ended_may_say_it_again_when_it_is_back) {
  ListNews news;
  news.says(kA, 100);
  BOOST_TEST(asked(news) == "a");
  news.answered(std::nullopt);
  news.gone(kA);  // a cut wire, perhaps
  news.says(kA, 101);
  BOOST_TEST(asked(news) == "a");
}

BOOST_AUTO_TEST_CASE(who_does_not_answer_is_asked_again_after_all_others) {
  ListNews news;
  news.says(kA, 100);
  news.says(kB, 6);
  BOOST_TEST(asked(news) == "a");
  news.says(kA, 102);
  news.unanswered();
  BOOST_TEST(asked(news) == "b");
  news.unanswered();
  BOOST_TEST(asked(news) == "a");
  news.unanswered();
  BOOST_TEST(asked(news) == "b");
  news.answered(6);
  BOOST_TEST(asked(news, 6) == "a");
}

BOOST_AUTO_TEST_CASE(claims_of_who_is_gone_are_forgotten_and_a_late_answer_harms_nobody) {
  ListNews news;
  news.says(kA, 7);
  news.says(kB, 6);
  news.gone(kB);
  BOOST_TEST(asked(news) == "a");
  news.gone(kA);
  BOOST_TEST(asked(news) == "");  // its answer, an error, is still to come
  news.answered(std::nullopt);
  news.says(kA, 7);  // the same life again
  BOOST_TEST(asked(news) == "a");
  news.gone(kA);
  news.unanswered();
  BOOST_TEST(asked(news) == "");
}

BOOST_AUTO_TEST_CASE(what_a_member_says_while_it_is_asked_does_not_make_its_answer_a_lie) {
  ListNews news;
  news.says(kA, 6);
  BOOST_TEST(asked(news) == "a");
  news.says(kA, 7);
  news.answered(6);
  BOOST_TEST(asked(news, 6) == "a");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
