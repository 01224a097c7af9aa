#include "node/links/shared_memory/leases.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(leases)

using detail::Block;
using detail::LeaseId;
using detail::LeasePage;
using detail::LeaseTable;
using detail::SegmentPool;

/// Both sides of one page.
struct Page {
  std::shared_ptr<SegmentPool> pool = std::make_shared<SegmentPool>(std::size_t{256} << 20);
  std::shared_ptr<LeaseTable> table = LeaseTable::make().value();
  std::shared_ptr<const LeasePage> page =
      LeasePage::map(detail::FileDescriptor(::fcntl(table->descriptor(), F_DUPFD_CLOEXEC, 0))).value();

  LeaseId in_message(std::shared_ptr<Block> block) const {
    const LeaseId lease = table->open(std::move(block)).value();
    table->told(lease);
    return lease;
  }
  LeaseId told(std::shared_ptr<Block> block) const {
    const LeaseId lease = in_message(std::move(block));
    table->message_ended(lease);
    return lease;
  }
  [[nodiscard]] bool is_idle() const { return pool->counts().idle_bytes == pool->counts().bytes; }
};

BOOST_AUTO_TEST_CASE(a_block_is_held_until_its_lease_is_given_back) {
  const Page both;
  const LeaseId lease = both.told(both.pool->take(100'000));
  both.table->collect();
  BOOST_TEST(!both.is_idle());
  BOOST_TEST(both.table->find(lease) != nullptr);
  both.page->give_back(lease);
  both.table->collect();
  BOOST_TEST(both.is_idle());
  BOOST_TEST(both.table->find(lease) == nullptr);
  BOOST_TEST(both.table->size() == 0U);
}

BOOST_AUTO_TEST_CASE(two_leases_of_one_block_are_given_back_one_by_one) {
  const Page both;
  auto block = both.pool->take(100'000);
  const LeaseId first = both.told(block);
  const LeaseId second = both.told(block);
  block.reset();
  both.page->give_back(second);
  both.table->collect();
  BOOST_TEST(!both.is_idle());
  both.page->give_back(first);
  both.table->collect();
  BOOST_TEST(both.is_idle());
}

BOOST_AUTO_TEST_CASE(a_lease_that_the_peer_was_not_told_of_ends_with_its_message_one_that_it_was_told_of_does_not) {
  const Page both;
  const LeaseId untold = both.table->open(both.pool->take(100'000)).value();
  both.table->message_ended(untold);
  BOOST_TEST(both.is_idle());
  const LeaseId told = both.told(both.pool->take(100'000));
  BOOST_TEST((told.slot == untold.slot && told.generation > untold.generation));
  both.table->message_ended(told);
  both.table->message_ended(untold);
  BOOST_TEST(!both.is_idle());
}

BOOST_AUTO_TEST_CASE(a_late_word_of_an_earlier_lease_ends_nothing) {
  const Page both;
  const LeaseId first = both.told(both.pool->take(100'000));
  both.page->give_back(first);
  both.table->collect();
  const LeaseId second = both.told(both.pool->take(100'000));
  BOOST_TEST_REQUIRE(second.slot == first.slot);
  both.page->give_back(first);
  both.table->collect();
  BOOST_TEST(both.table->find(second) != nullptr);
  BOOST_TEST(both.page->was_given_back(first));
  BOOST_TEST(!both.page->was_given_back(second));
  both.page->give_back(second);
  both.page->give_back(first);  // once more: it does not undo the other's end
  BOOST_TEST(both.page->was_given_back(first));
  both.table->collect();
  BOOST_TEST(both.is_idle());
}

BOOST_AUTO_TEST_CASE(a_lease_that_was_given_back_is_held_again_when_its_message_comes_again) {
  const Page both;
  const LeaseId lease = both.in_message(both.pool->take(100'000));
  both.page->give_back(lease);
  both.table->collect();
  BOOST_TEST(both.table->find(lease) != nullptr);
  BOOST_TEST(both.page->hold(lease));
  BOOST_TEST(!both.page->was_given_back(lease));
  both.table->message_ended(lease);
  both.table->collect();
  BOOST_TEST(!both.is_idle());
  both.page->give_back(lease);
  both.table->collect();
  BOOST_TEST(both.is_idle());
}

BOOST_AUTO_TEST_CASE(a_lease_is_not_held_again_once_a_later_one_of_its_slot_was_given_back) {
  const Page both;
  const LeaseId first = both.told(both.pool->take(100'000));
  both.page->give_back(first);
  both.table->collect();
  const LeaseId second = both.told(both.pool->take(100'000));
  BOOST_TEST_REQUIRE(second.slot == first.slot);
  BOOST_TEST(both.page->hold(first));  // it cannot know: that harms nobody
  both.page->give_back(first);
  both.page->give_back(second);
  BOOST_TEST(!both.page->hold(first));
  BOOST_TEST(both.page->was_given_back(second));
  BOOST_TEST(!both.page->hold({.slot = first.slot, .generation = 0}));
}

BOOST_AUTO_TEST_CASE(beyond_the_most_leases_there_is_none_until_one_ends) {
  const Page both;
  const auto block = both.pool->take(100'000);
  std::vector<LeaseId> all;
  for (std::size_t i = 0; i < detail::kLeasesMax; ++i) all.push_back(both.told(block));
  BOOST_TEST(!both.table->open(block).has_value());
  both.page->give_back(all[17]);
  both.table->collect();
  BOOST_TEST(both.table->open(block).has_value());
}

BOOST_AUTO_TEST_CASE(a_peer_that_holds_few_leases_takes_little_memory) {
  const Page both;
  const auto block = both.pool->take(100'000);
  const PeakMemory peak;
  const std::shared_ptr<LeaseTable> table = LeaseTable::make().value();
  for (int i = 0; i < 10; ++i) (void)table->open(block).value();
  const std::size_t bytes = peak.bytes();
  BOOST_TEST(bytes < 10'000U);
}

BOOST_AUTO_TEST_CASE(no_end_of_a_lease_needs_memory) {
  const Page both;
  const auto block = both.pool->take(100'000);
  std::vector<LeaseId> untold;
  std::vector<LeaseId> told;
  for (int i = 0; i < 1'000; ++i) untold.push_back(both.table->open(block).value());
  for (int i = 0; i < 1'000; ++i) told.push_back(both.told(block));
  for (int i = 0; i < 1'000; ++i) (void)both.told(block);
  bool needed_some = false;
  {
    const RefusedAllocation all_refused(1, 0, 1'000'000);
    for (const LeaseId lease : untold) both.table->message_ended(lease);
    for (const LeaseId lease : told) both.page->give_back(lease);
    both.table->collect();
    both.table->end_all();
    needed_some = all_refused.happened();
  }
  BOOST_TEST(!needed_some);
}

BOOST_AUTO_TEST_CASE(a_lease_that_there_is_no_memory_for_changes_nothing) {
  const Page both;
  const auto block = both.pool->take(100'000);
  std::size_t refusals = 0;
  for (std::size_t n = 1;; ++n) {
    const RefusedAllocation refused(n);
    try {
      (void)both.table->open(block).value();
      BOOST_TEST_REQUIRE(!refused.happened());
      break;
    } catch (const std::bad_alloc&) {
      BOOST_TEST(both.table->size() == 0U);
      ++refusals;
    }
  }
  BOOST_TEST(refusals > 0U);
  BOOST_TEST(both.table->size() == 1U);
}

BOOST_AUTO_TEST_CASE(leases_of_an_ended_process_end_together) {
  const Page both;
  for (int i = 0; i < 10; ++i) (void)both.told(both.pool->take(100'000));
  both.table->end_all();
  BOOST_TEST(both.is_idle());
  BOOST_TEST(both.table->size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_lease_is_given_back_with_its_last_handle) {
  const Page both;
  const auto block = both.pool->take(100'000);
  const LeaseId id = both.told(block);
  const auto memory = detail::map_segment(
      detail::FileDescriptor(::fcntl(both.pool->segment(block->segment()).descriptor, F_DUPFD_CLOEXEC, 0)),
      both.pool->segment(block->segment()).bytes, detail::Writers::owner);
  auto lease = std::make_shared<const detail::Lease>(id, both.page, memory.value());
  auto copy = lease;
  lease.reset();
  BOOST_TEST(!both.page->was_given_back(id));
  copy.reset();
  BOOST_TEST(both.page->was_given_back(id));
}

BOOST_AUTO_TEST_CASE(a_page_is_left_when_its_reader_and_the_last_lease_have_let_it_go) {
  Page both;
  const LeaseId id = both.told(both.pool->take(100'000));
  std::optional<detail::Lease> lease(std::in_place, id, both.page, nullptr);
  both.page = nullptr;
  BOOST_TEST(!both.table->was_left());
  lease.reset();
  BOOST_TEST(both.table->was_left());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
