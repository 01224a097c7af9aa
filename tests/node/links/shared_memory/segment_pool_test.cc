#include "node/links/shared_memory/segment_pool.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(segment_pool)

using detail::Block;
using detail::SegmentPool;

constexpr std::size_t kMib = std::size_t{1} << 20;

BOOST_AUTO_TEST_CASE(a_block_wastes_at_most_a_quarter_of_its_size) {
  for (std::size_t bytes = 70'000; bytes < 500 * kMib; bytes += bytes / 7) {
    const std::size_t size = SegmentPool::block_size(bytes);
    BOOST_TEST(size >= bytes);
    BOOST_TEST(size % 4096 == 0U);
    BOOST_TEST(size - bytes <= bytes / 4 + 4096);
  }
  BOOST_TEST(SegmentPool::block_size(1) == 64U << 10);
}

BOOST_AUTO_TEST_CASE(blocks_in_use_do_not_overlap_and_are_found_by_their_bytes) {
  const auto pool = std::make_shared<SegmentPool>(64 * kMib);
  std::vector<std::shared_ptr<Block>> blocks;
  for (std::size_t i = 0; i < 40; ++i) {
    blocks.push_back(pool->take(300'000));
    BOOST_REQUIRE(blocks.back());
    std::memset(blocks.back()->bytes().data(), static_cast<int>(i), blocks.back()->bytes().size());
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto bytes = blocks[i]->bytes();
    BOOST_TEST(std::to_integer<std::size_t>(bytes.front()) == i);
    BOOST_TEST(std::to_integer<std::size_t>(bytes.back()) == i);
    BOOST_TEST(pool->find(bytes) == blocks[i]);
    BOOST_TEST(pool->find(bytes.subspan(100, 1000)) == blocks[i]);
  }
  const std::vector<std::byte> elsewhere(100);
  BOOST_TEST(pool->find(elsewhere) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_block_is_taken_again_only_after_its_last_handle) {
  const auto pool = std::make_shared<SegmentPool>(64 * kMib);
  auto block = pool->take(5 * kMib);
  const std::byte* const place = block->bytes().data();
  const auto other_handle = block;
  block.reset();
  BOOST_TEST(pool->take(5 * kMib)->bytes().data() != place);
  BOOST_TEST(pool->find(other_handle->bytes()) == other_handle);
  BOOST_TEST(pool->counts().segments == 2U);
}

BOOST_AUTO_TEST_CASE(memory_of_ended_blocks_is_used_again) {
  const auto pool = std::make_shared<SegmentPool>(64 * kMib);
  for (int i = 0; i < 100; ++i) BOOST_REQUIRE(pool->take(4 * kMib));
  BOOST_TEST(pool->counts().segments == 1U);
  BOOST_TEST(pool->counts().idle_bytes == pool->counts().bytes);
}

BOOST_AUTO_TEST_CASE(beyond_the_limit_there_is_no_block_until_one_ends) {
  const auto pool = std::make_shared<SegmentPool>(32 * kMib);
  BOOST_TEST(pool->take(33 * kMib) == nullptr);
  auto large = pool->take(24 * kMib);
  BOOST_REQUIRE(large);
  BOOST_TEST(pool->take(16 * kMib) == nullptr);
  large.reset();
  BOOST_TEST(pool->take(16 * kMib) != nullptr);  // the idle segment had to end
  BOOST_TEST(pool->counts().bytes <= 32 * kMib);
}

BOOST_AUTO_TEST_CASE(segments_without_blocks_in_use_end_after_a_while_and_are_named_once) {
  const auto pool = std::make_shared<SegmentPool>(256 * kMib);
  std::vector<std::shared_ptr<Block>> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(pool->take(20 * kMib));
  const std::uint32_t kept = blocks.front()->segment();
  const auto before = std::chrono::steady_clock::now();
  blocks.resize(1);
  pool->trim(before);
  BOOST_TEST(pool->take_ended().empty());
  pool->trim(TimePoint::max());
  const auto ended = pool->take_ended();
  BOOST_TEST(ended.size() == 3U);
  for (const std::uint32_t segment : ended) BOOST_TEST(segment != kept);
  BOOST_TEST(pool->take_ended().empty());
  BOOST_TEST(pool->counts().segments == 1U);
  BOOST_TEST(pool->counts().idle_bytes == 0U);
}

BOOST_AUTO_TEST_CASE(a_block_for_which_memory_was_refused_leaves_nothing) {
  std::size_t refused = 0;
  for (bool happened = true; happened;) {
    const auto pool = std::make_shared<SegmentPool>(16 * kMib);
    {
      const RefusedAllocation allocation(refused + 1);
      try {
        static_cast<void>(pool->take(9 * kMib));
        static_cast<void>(pool->take(16 * kMib));  // the idle segment has to end
      } catch (const std::bad_alloc&) {
      }
      happened = allocation.happened();
    }
    refused += happened;
    BOOST_TEST(pool->counts().idle_bytes == pool->counts().bytes, "refused: " << refused);
    const auto block = pool->take(16 * kMib);
    BOOST_TEST_REQUIRE(block != nullptr, "refused: " << refused);
    BOOST_TEST(pool->find(block->bytes()) == block);
    BOOST_TEST(pool->counts().segments == 1U);
  }
  BOOST_TEST(refused > 10U);
}

BOOST_AUTO_TEST_CASE(blocks_outlive_their_pool) {
  auto pool = std::make_shared<SegmentPool>(64 * kMib);
  const auto block = pool->take(kMib);
  pool.reset();
  std::memset(block->bytes().data(), 1, block->bytes().size());
  BOOST_TEST((block->bytes().back() == std::byte{1}));
}

BOOST_AUTO_TEST_CASE(another_process_maps_a_segment_for_reading_only_and_of_its_true_size) {
  const auto segment = detail::make_segment(8192, detail::Writers::owner);
  BOOST_REQUIRE(segment.ok());
  segment.value().memory->bytes()[5000] = std::byte{7};
  const auto mapped = detail::map_segment(segment.value().file, 8192, detail::Writers::owner);
  BOOST_REQUIRE(mapped.ok());
  BOOST_TEST((mapped.value()->bytes()[5000] == std::byte{7}));
  segment.value().memory->bytes()[5000] = std::byte{8};
  BOOST_TEST((mapped.value()->bytes()[5000] == std::byte{8}));
  BOOST_TEST(!detail::map_segment(segment.value().file, 8192, detail::Writers::all).ok());
  const auto wrong_size = detail::map_segment(segment.value().file, 4096, detail::Writers::owner);
  BOOST_TEST((wrong_size.error().code == ErrorCode::protocol_violation));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
