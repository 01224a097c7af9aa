// The bytes of raw calls: one message by hand, sizes beyond memory, and malformed bytes.
#include "node/port/port_wire.h"

#include <sys/mman.h>
#include <boost/test/unit_test.hpp>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/recording_sink.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(port_wire)

namespace {

using port::Message;
using testing::frame_of;
using testing::text_of;

constexpr std::size_t kGiB = std::size_t{1} << 30;

Port::Part part_of(const std::string& text) {
  auto owner = std::make_shared<const std::string>(text);
  return {owner->data(), owner->size(), owner};
}

std::string text_of(const Port::Part& part) { return {static_cast<const char*>(part.data), part.size}; }

Message message(Port::Parts parts) { return {Message::Kind::call, {9}, 7, port::to_body(parts)}; }

std::string refused(Frames frames) {
  const auto decoded = port::decode(std::move(frames));
  BOOST_REQUIRE(!decoded.ok());
  BOOST_TEST((decoded.error().code == ErrorCode::decode));
  return decoded.error().message;
}

/// Addresses without memory: they must not be read or written.
class HugeSpan {
 public:
  explicit HugeSpan(std::size_t size)
      : size_(size), begin_(::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    BOOST_REQUIRE(begin_ != MAP_FAILED);
  }
  ~HugeSpan() { ::munmap(begin_, size_); }
  HugeSpan(const HugeSpan&) = delete;
  HugeSpan& operator=(const HugeSpan&) = delete;
  [[nodiscard]] Port::Part part(std::size_t size) const { return {begin_, size, std::make_shared<int>()}; }

 private:
  const std::size_t size_;
  void* const begin_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(header_has_the_bytes_that_the_wire_document_shows) {
  const Frames frames = port::encode(message({part_of("ab"), {}}));
  BOOST_REQUIRE_EQUAL(frames.size(), 2U);  // header and "ab"; an empty part has no frame
  const std::string expected(
      "TRPP\x01\x01\0\0"    // magic, version 1, kind: call
      "\x09\0\0\0\0\0\0\0"  // request 9
      "\x07\0\0\0\0\0\0\0"  // tag 7
      "\x02\0\0\0\0\0\0\0",
      32);  // 2 parts
  const std::string sizes("\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
  BOOST_TEST(text_of(frames[0]).substr(0, 32) == expected);
  BOOST_TEST(text_of(frames[0]).substr(40) == sizes);
  // XXH3-64(sizes, seed = XXH3-64(the 32 bytes before))
  BOOST_TEST(text_of(frames[0]).substr(32, 8) == "\x03\x94\x30\x1f\x04\xe6\x2c\xc4");
  BOOST_TEST(text_of(frames[1]) == "ab");
}

BOOST_AUTO_TEST_CASE(parts_travel_in_the_memory_and_with_the_owners_that_they_came_in) {
  const Port::Part sent = part_of(std::string(1000, 'x'));
  auto decoded = port::decode(port::encode(message({sent, {}, part_of("y")})));
  BOOST_REQUIRE(decoded.ok());
  BOOST_TEST((decoded.value().kind == Message::Kind::call));
  BOOST_TEST(decoded.value().request.value == 9U);
  BOOST_TEST(decoded.value().tag == 7U);
  const Port::Parts parts = port::to_parts(decoded.value().body);
  BOOST_REQUIRE_EQUAL(parts.size(), 3U);
  BOOST_TEST(parts[0].data == sent.data);
  BOOST_TEST((parts[0].owner == sent.owner));
  BOOST_TEST(parts[1].size == 0U);
  BOOST_TEST(text_of(parts[2]) == "y");
}

BOOST_AUTO_TEST_CASE(part_of_5_gib_and_a_byte_travels_in_6_frames_and_is_whole_again_without_a_copy_where_it_lies) {
  const HugeSpan memory(6 * kGiB);
  const Port::Part huge = memory.part(5 * kGiB + 1);
  auto decoded = port::decode(port::encode(message({part_of("small"), huge, part_of("last")})));
  BOOST_REQUIRE(decoded.ok());
  const Frames& frames = decoded.value().body.frames;
  BOOST_REQUIRE_EQUAL(frames.size(), 8U);
  for (std::size_t i = 1; i <= 5; ++i) BOOST_TEST(frames[i].bytes.size() == kGiB);
  BOOST_TEST(frames[6].bytes.size() == 1U);
  const Port::Parts parts = port::to_parts(decoded.value().body);
  BOOST_REQUIRE_EQUAL(parts.size(), 3U);
  BOOST_TEST(parts[1].data == huge.data);
  BOOST_TEST(parts[1].size == 5 * kGiB + 1);
  BOOST_TEST(text_of(parts[2]) == "last");
}

BOOST_AUTO_TEST_CASE(part_whose_frames_lie_apart_is_copied_into_one) {
  const port::Body body{{9, 2}, {frame_of("abcd"), frame_of("efgh"), frame_of("i"), frame_of("jk")}};
  const Port::Parts parts = port::to_parts(body, 4);
  BOOST_REQUIRE_EQUAL(parts.size(), 2U);
  BOOST_TEST(text_of(parts[0]) == "abcdefghi");
  BOOST_TEST(text_of(parts[1]) == "jk");
}

BOOST_AUTO_TEST_CASE(more_parts_than_a_message_holds_are_a_length_error) {
  BOOST_TEST(port::to_body(Port::Parts(port::kFramesMax)).sizes.size() == port::kFramesMax);
  BOOST_CHECK_EXCEPTION(port::to_body(Port::Parts(port::kFramesMax + 1)), std::length_error, [](const auto& error) {
    return std::string(error.what()) == "[port] 65001 parts: more than 65000 in one message";
  });
  // 2^64 - 1 bytes would be 2^34 frames of a GiB: refused before any frame is made.
  BOOST_CHECK_THROW(port::to_body({{nullptr, std::numeric_limits<std::size_t>::max(), nullptr}}), std::length_error);
}

BOOST_AUTO_TEST_CASE(sizes_that_the_frames_do_not_have_are_refused_whatever_their_sum) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::vector<std::uint64_t>& sizes :
       {std::vector<std::uint64_t>{1}, {3}, {2, 1}, {most}, {most, 3}, {most - 1, 4}, {}}) {
    Message lie = message({part_of("ab")});
    lie.body.sizes = sizes;
    BOOST_TEST(refused(port::encode(std::move(lie))) == "frames that do not fit the sizes of their parts");
  }
}

BOOST_AUTO_TEST_CASE(parts_in_memory_of_another_process_are_refused_unread, *boost::unit_test::label("attack")) {
  for (const FrameMemory memory : {FrameMemory::foreign, FrameMemory::missing}) {
    for (const Device device : {Device::cpu(), Device::cuda(0)}) {
      Frames frames = port::encode(message({part_of("ab"), part_of("cd")}));
      frames.back().memory = memory;
      frames.back().device = device;
      BOOST_TEST(refused(std::move(frames)) == "raw message in memory of another process");
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_header_are_refused) {
  const Frames good = port::encode(message({part_of("ab")}));
  const std::string header = text_of(good[0]);
  const auto changed = [&](std::size_t at, char byte) {
    std::string bytes = header;
    bytes[at] = byte;
    return refused({frame_of(bytes), good[1]});
  };
  BOOST_TEST(refused({}) == "raw message of no frames");
  for (std::size_t size = 0; size < 40; ++size) {
    BOOST_TEST(refused({frame_of(header.substr(0, size)), good[1]}) ==
               "raw header of " + std::to_string(size) + " bytes");
  }
  BOOST_TEST(refused({frame_of(header.substr(0, 47)), good[1]}) == "raw header of 47 bytes announces 1 parts");
  BOOST_TEST(changed(0, 'X') == "raw header without its magic number");
  BOOST_TEST(changed(4, 2) == "raw message of version 2, expected 1");
  BOOST_TEST(changed(5, 4) == "raw message of unknown kind 4");
  BOOST_TEST(changed(6, 1) == "raw header with reserved bytes set");
  BOOST_TEST(changed(31, '\x20') == "raw header of 48 bytes announces 2305843009213693953 parts");  // 2^61 + 1
  for (const std::size_t at : {8U, 16U, 32U, 40U}) {
    BOOST_TEST(changed(at, 'X') == "raw header with a wrong checksum");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
