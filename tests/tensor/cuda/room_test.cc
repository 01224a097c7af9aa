// Requests of a GPU whose memory is kept by its pool. This needs no GPU.
#include "tensor/cuda/room.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>

namespace troupe {

BOOST_AUTO_TEST_SUITE(cuda_room)

namespace {

enum class Status : std::uint8_t { success, full, broken };

/// Its pool gives back the bytes that it keeps only when it is asked to.
struct FakeGpu {
  int free;
  int kept;
  int made_room = 0;
  int requests = 0;

  Status request(int bytes) {
    ++requests;
    if (bytes < 0) return Status::broken;
    if (bytes > free) return Status::full;
    free -= bytes;
    return Status::success;
  }
  /// Requests `bytes` with room.
  Status ask(int bytes) {
    const cuda::Room room{.make =
                              [this] {
                                ++made_room;
                                free += kept;
                                kept = 0;
                              },
                          .is_lacking = [this] { return free == 0; }};
    return cuda::with_room(
        room, [&] { return request(bytes); }, [](Status status) { return status == Status::full; });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(request_without_memory_gets_what_the_pool_keeps) {
  FakeGpu gpu{.free = 2, .kept = 8};
  BOOST_TEST((gpu.ask(7) == Status::success));
  BOOST_TEST(gpu.free == 3);  // 2 + 8 - 7
  BOOST_TEST(gpu.made_room == 1);
}

BOOST_AUTO_TEST_CASE(request_for_more_than_there_is_fails_at_its_second_try) {
  FakeGpu gpu{.free = 2, .kept = 3};
  BOOST_TEST((gpu.ask(7) == Status::full));
  BOOST_TEST(gpu.requests == 2);
  BOOST_TEST(gpu.made_room == 1);
}

BOOST_AUTO_TEST_CASE(pool_keeps_its_memory_while_requests_find_some_and_when_they_fail_otherwise) {
  FakeGpu gpu{.free = 2, .kept = 8};
  BOOST_TEST((gpu.ask(2) == Status::success));
  BOOST_TEST((gpu.ask(-1) == Status::broken));
  BOOST_TEST(gpu.requests == 2);
  BOOST_TEST(gpu.made_room == 0);
  BOOST_TEST(gpu.kept == 8);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
