#include "tensor/cpu/allocator.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tensor/create.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(allocator)

namespace {

/// A precondition.
boost::test_tools::assertion_result has_huge_pages(boost::unit_test::test_unit_id /*unit*/) {
  boost::test_tools::assertion_result result = std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled");
  result.message() << "this kernel has no transparent huge pages";
  return result;
}

/// Returns what the kernel says of the memory at `address`: "rd wr mr mw me ac sd hg ", "hg" where it was asked for
/// huge pages.
std::string flags_of_memory(const std::byte* address) {
  std::ifstream areas("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(areas, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &begin, &end) == 2) {
      const auto wanted = reinterpret_cast<std::uintptr_t>(address);
      found = begin <= wanted && wanted < end;
    } else if (found && line.starts_with("VmFlags: ")) {
      return line.substr(9);
    }
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(blocks_are_aligned_to_64_bytes_and_hold_what_was_asked_for) {
  CachingAllocator allocator;
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65},
                           std::size_t{1000}, std::size_t{1025}, std::size_t{5000}, std::size_t{1} << 20U}) {
    std::byte* const block = allocator.allocate(size);
    BOOST_CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
    std::memset(block, 0xAB, size);
    allocator.deallocate(block, size);
  }
}

BOOST_AUTO_TEST_CASE(sizes_round_up_to_classes) {
  BOOST_CHECK_EQUAL(CachingAllocator::rounded(0), 64U);
  BOOST_CHECK_EQUAL(CachingAllocator::rounded(65), 128U);
  BOOST_CHECK_EQUAL(CachingAllocator::rounded(1024), 1024U);
  BOOST_CHECK_EQUAL(CachingAllocator::rounded(1025), 1280U);  // 1024 + 1024 / 4
  BOOST_CHECK_EQUAL(CachingAllocator::rounded(2048), 2048U);
  BOOST_CHECK_EQUAL(CachingAllocator::rounded(2049), 2560U);  // 2048 + 2048 / 4
  BOOST_CHECK_EQUAL(CachingAllocator::rounded(3600), 4096U);
}

BOOST_AUTO_TEST_CASE(a_freed_block_serves_the_next_request_of_its_class) {
  CachingAllocator allocator;
  std::byte* const first = allocator.allocate(1100);
  allocator.deallocate(first, 1100);
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_cached, 1280U);
  std::byte* const second = allocator.allocate(1280);
  BOOST_CHECK(second == first);
  BOOST_CHECK_EQUAL(allocator.statistics().system_calls, 1U);
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_live, 1280U);
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_cached, 0U);
  allocator.deallocate(second, 1280);
}

BOOST_AUTO_TEST_CASE(no_more_than_the_limit_is_kept) {
  CachingAllocator allocator(4096);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(allocator.allocate(2048));
  for (std::byte* block : blocks) allocator.deallocate(block, 2048);
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_cached, 4096U);
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_live, 0U);
  allocator.release_cached();
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_cached, 0U);
}

BOOST_AUTO_TEST_CASE(large_blocks_of_many_sizes_share_a_segment) {
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  CachingAllocator allocator;
  std::byte* const first = allocator.allocate(10 * kMiB);
  allocator.deallocate(first, 10 * kMiB);
  std::byte* const second = allocator.allocate(3 * kMiB);
  std::byte* const third = allocator.allocate(7 * kMiB);
  BOOST_CHECK(second == first);
  BOOST_CHECK(third == first + 3 * kMiB);
  BOOST_CHECK_EQUAL(allocator.statistics().system_calls, 1U);
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_live, 10 * kMiB);
  std::memset(third, 1, 7 * kMiB);
  allocator.deallocate(second, 3 * kMiB);
  allocator.deallocate(third, 7 * kMiB);
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_live, 0U);
  allocator.release_cached();
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_cached, 0U);
}

BOOST_AUTO_TEST_CASE(huge_pages_hold_all_of_a_segment_but_its_end, *boost::unit_test::precondition(has_huge_pages)) {
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  for (const std::size_t size : {kMiB, 50 * kMiB + 1}) {  // a part of a shared segment; a segment of its own
    CachingAllocator allocator;
    std::byte* const block = allocator.allocate(size);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(block) % (2 * kMiB) == 0U);
    BOOST_TEST(flags_of_memory(block).find(" hg") != std::string::npos);
    BOOST_TEST(flags_of_memory(block + size - 1).find(" hg") != std::string::npos);
    allocator.deallocate(block, size);
  }
}

BOOST_AUTO_TEST_CASE(segments_beyond_the_limit_go_back) {
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  CachingAllocator allocator(100 * kMiB);
  std::byte* const small = allocator.allocate(2 * kMiB);  // keeps its segment in use
  std::byte* const large = allocator.allocate(200 * kMiB);
  allocator.deallocate(large, 200 * kMiB);
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_cached, 62 * kMiB);
  allocator.deallocate(small, 2 * kMiB);
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_cached, 64 * kMiB);
}

BOOST_AUTO_TEST_CASE(blocks_that_nobody_needs_go_back_after_a_while) {
  using std::chrono::seconds;
  constexpr std::size_t kMiB = std::size_t{1} << 20U;
  constexpr std::chrono::steady_clock::time_point kBegin;
  CachingAllocator allocator;
  std::byte* const idle = allocator.allocate(200 * kMiB);
  std::byte* const often = allocator.allocate(2 * kMiB);
  std::vector<std::byte*> small;
  for (int i = 0; i < 3; ++i) small.push_back(allocator.allocate(2048));
  allocator.deallocate(idle, 200 * kMiB);
  allocator.deallocate(often, 2 * kMiB);
  for (std::byte* block : small) allocator.deallocate(block, 2048);
  const std::size_t all = 264 * kMiB + 3 * 2048;
  BOOST_TEST(allocator.statistics().bytes_cached == all);

  allocator.release_unused(kBegin, seconds(5));
  allocator.release_unused(kBegin + seconds(4), seconds(5));
  BOOST_TEST(allocator.statistics().bytes_cached == all);
  allocator.release_unused(kBegin + seconds(5), seconds(5));  // memory that was new then is watched from now on
  BOOST_TEST(allocator.statistics().bytes_cached == all);
  allocator.deallocate(allocator.allocate(2 * kMiB), 2 * kMiB);
  allocator.deallocate(allocator.allocate(2048), 2048);
  allocator.release_unused(kBegin + seconds(9), seconds(5));
  BOOST_TEST(allocator.statistics().bytes_cached == all);
  allocator.release_unused(kBegin + seconds(10), seconds(5));
  BOOST_TEST(allocator.statistics().bytes_cached == 64 * kMiB + 2048);
  allocator.release_unused(kBegin + seconds(15), seconds(5));
  BOOST_TEST(allocator.statistics().bytes_cached == 0U);
}

BOOST_AUTO_TEST_CASE(blocks_that_went_back_for_want_of_memory_do_not_go_again_with_those_that_nobody_needs) {
  using std::chrono::seconds;
  constexpr std::chrono::steady_clock::time_point kBegin;
  CachingAllocator allocator;
  const auto keep_blocks = [&](int count) {
    std::vector<std::byte*> blocks;
    for (int i = 0; i < count; ++i) blocks.push_back(allocator.allocate(2048));
    for (std::byte* block : blocks) allocator.deallocate(block, 2048);
  };
  keep_blocks(3);
  allocator.release_unused(kBegin, seconds(5));
  allocator.release_unused(kBegin + seconds(5), seconds(5));
  allocator.release_cached();
  keep_blocks(1);
  BOOST_TEST(allocator.statistics().bytes_cached == 2048U);
  allocator.release_unused(kBegin + seconds(10), seconds(5));
  BOOST_TEST(allocator.statistics().bytes_cached == 2048U);
  allocator.release_unused(kBegin + seconds(15), seconds(5));
  BOOST_TEST(allocator.statistics().bytes_cached == 0U);
}

BOOST_AUTO_TEST_CASE(impossible_sizes_throw_bad_alloc) {
  CachingAllocator allocator;
  BOOST_CHECK_THROW((void)allocator.allocate(~std::size_t{0}), std::bad_alloc);
  BOOST_CHECK_THROW((void)allocator.allocate(std::size_t{1} << 60U), std::bad_alloc);
}

BOOST_AUTO_TEST_CASE(threads_may_allocate_and_free_each_others_blocks) {
  CachingAllocator allocator;
  std::vector<std::byte*> blocks(400);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t * 100; i < (t + 1) * 100; ++i) {
          allocator.deallocate(allocator.allocate(i * 10), i * 10);
          blocks[i] = allocator.allocate(i * 10);
          std::memset(blocks[i], static_cast<int>(i % 251), i * 10);
        }
      });
    }
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = 0; j < i * 10; ++j) wrong += blocks[i][j] != std::byte(i % 251);
  }
  BOOST_CHECK_EQUAL(wrong, 0U);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < blocks.size(); i += 4) allocator.deallocate(blocks[i], i * 10);
      });
    }
  }
  BOOST_CHECK_EQUAL(allocator.statistics().bytes_live, 0U);
}

BOOST_AUTO_TEST_CASE(tensors_come_from_the_allocator_of_the_process) {
  const std::size_t before = cpu_allocator().statistics().bytes_live;
  const Tensor x = zeros({1000});  // 4000 bytes, class 4096
  BOOST_CHECK_EQUAL(cpu_allocator().statistics().bytes_live, before + 4096);
  BOOST_CHECK_EQUAL(reinterpret_cast<std::uintptr_t>(x.bytes()) % 64, 0U);
}

BOOST_AUTO_TEST_SUITE_END()
