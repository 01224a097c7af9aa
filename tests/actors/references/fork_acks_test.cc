#include "actors/references/fork_acks.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::detail {

BOOST_AUTO_TEST_SUITE(fork_acks)

BOOST_AUTO_TEST_CASE(what_all_holders_add_is_sent_once_by_the_last) {
  std::vector<std::vector<msg::RRefFork>> sent;
  auto first =
      std::make_shared<ForkAcks>(2, [&](std::vector<msg::RRefFork> forks) { sent.push_back(std::move(forks)); });
  auto second = first;
  first->add({"m", 1, 5}, {"p2", 2, 30});
  first.reset();
  BOOST_TEST(sent.empty());
  second->add({"m", 1, 6}, {"p2", 2, 31});
  second.reset();
  BOOST_TEST_REQUIRE(sent.size() == 1U);
  BOOST_TEST_REQUIRE(sent[0].size() == 2U);
  BOOST_TEST((sent[0][0].rref == RRefId{"m", 1, 5}));
  BOOST_TEST((sent[0][1].fork == ForkId{"p2", 2, 31}));
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_for_nothing) {
  bool is_sent = false;
  std::make_shared<ForkAcks>(1, [&](const std::vector<msg::RRefFork>&) { is_sent = true; }).reset();
  BOOST_TEST(!is_sent);
}

BOOST_AUTO_TEST_CASE(no_message_has_more_than_peers_accept) {
  std::vector<std::size_t> sent;
  const std::size_t count = 2 * msg::kForkAcksMax + 1;
  {
    ForkAcks acks(count, [&](const std::vector<msg::RRefFork>& forks) { sent.push_back(forks.size()); });
    for (std::uint64_t i = 0; i < count; ++i) acks.add({"m", 1, i}, {"p2", 2, i});
  }
  BOOST_TEST(sent == (std::vector<std::size_t>{msg::kForkAcksMax, msg::kForkAcksMax, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
