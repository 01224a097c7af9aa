#include "node/links/streams/stream_control.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/keys/word_lines.h"
#include "tests/support/recording_sink.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(stream_control)

using namespace detail;
using testing::frame_of;

constexpr std::size_t kHeadBytes = 64;

StreamId numbered_id() {
  StreamId id{};
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = static_cast<std::byte>(0xA0 + i);
  return id;
}

KeyShare numbered_share() {
  KeyShare share{};
  for (std::size_t i = 0; i < share.size(); ++i) share[i] = static_cast<std::byte>(0xC0 + i);
  return share;
}

StreamControl some_open() {
  return {.kind = StreamControl::Kind::open,
          .id = numbered_id(),
          .share = numbered_share(),
          .ciphers = static_cast<CipherSet>(only(Cipher::aes256_gcm) | only(Cipher::chacha20_poly1305))};
}

StreamControl some_accept() {
  return {.kind = StreamControl::Kind::accept,
          .id = numbered_id(),
          .share = numbered_share(),
          .ciphers = only(Cipher::chacha20_poly1305),
          .port = 0x1234};
}

StreamControl some_refuse(std::string reason = "no stream of mine") {
  return {.kind = StreamControl::Kind::refuse, .id = numbered_id(), .reason = std::move(reason)};
}

std::vector<std::byte> bytes_of(const StreamControl& control) {
  const Frame frame = encode(control);
  return {frame.bytes.begin(), frame.bytes.end()};
}

bool is_taken(std::vector<std::byte> bytes) { return decode_stream_control(make_frame(std::move(bytes))).has_value(); }

bool is_taken(const StreamControl& control) { return decode_stream_control(encode(control)).has_value(); }

bool is_taken_with(std::vector<std::byte> bytes, std::size_t at, unsigned value) {
  bytes.at(at) = static_cast<std::byte>(value);
  return is_taken(std::move(bytes));
}

BOOST_AUTO_TEST_CASE(what_one_end_says_the_other_reads) {
  for (const StreamControl& said : {some_open(), some_accept(), some_refuse(), some_refuse("")}) {
    const Frame frame = encode(said);
    BOOST_TEST(frame.bytes.size() == kHeadBytes + said.reason.size());
    BOOST_TEST(is_stream_control({frame}));
    const auto read = decode_stream_control(frame);
    BOOST_REQUIRE(read.has_value());
    BOOST_CHECK(*read == said);
  }
}

BOOST_AUTO_TEST_CASE(bytes_are_those_of_the_table_in_the_header) {
  const std::string id = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";
  const std::string share = "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf";
  const std::string zero(16, '0');
  // "TRPO", kind, 1 << 1 | 1 << 2, no port
  BOOST_TEST(hex_of(encode(some_open()).bytes) ==
             "5452504f"
             "01"
             "06"
             "0000" +
                 id + share + zero);
  // "TRPO", kind, 1 << 2, 0x1234
  BOOST_TEST(hex_of(encode(some_accept()).bytes) ==
             "5452504f"
             "02"
             "04"
             "3412" +
                 id + share + zero);
  // "TRPO", kind, nothing, no share, "no"
  BOOST_TEST(hex_of(encode(some_refuse("no")).bytes) ==
             "5452504f"
             "03"
             "00"
             "0000" +
                 id + std::string(64, '0') + zero + "6e6f");
}

BOOST_AUTO_TEST_CASE(control_of_another_size_is_refused, *boost::unit_test::label("attack")) {
  for (const StreamControl& said : {some_open(), some_accept(), some_refuse("")}) {
    std::vector<std::byte> bytes = bytes_of(said);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      BOOST_TEST(!is_taken(std::vector<std::byte>(bytes.data(), bytes.data() + size)), size);
    bytes.push_back(std::byte{0});
    BOOST_TEST(!is_taken(bytes));
  }
  std::vector<std::byte> longest = bytes_of(some_refuse(std::string(StreamControl::kReasonMax, 'x')));
  BOOST_TEST(is_taken(longest));
  longest.push_back(std::byte{'x'});
  BOOST_TEST(!is_taken(longest));
}

BOOST_AUTO_TEST_CASE(open_and_accept_with_a_reason_are_refused, *boost::unit_test::label("attack")) {
  for (const StreamControl& said : {some_open(), some_accept()}) {
    std::vector<std::byte> bytes = bytes_of(said);
    bytes.push_back(std::byte{'x'});
    BOOST_TEST(!is_taken(bytes));
  }
}

BOOST_AUTO_TEST_CASE(control_with_another_magic_or_kind_is_refused, *boost::unit_test::label("attack")) {
  for (const StreamControl& said : {some_open(), some_accept(), some_refuse()}) {
    const std::vector<std::byte> bytes = bytes_of(said);
    for (std::size_t at = 0; at < 4; ++at)
      BOOST_TEST(!is_taken_with(bytes, at, std::to_integer<unsigned>(bytes[at]) ^ 0x20U), at);
    for (const unsigned kind : {0U, 4U, 0x81U, 0xFFU}) BOOST_TEST(!is_taken_with(bytes, 4, kind), kind);
  }
}

BOOST_AUTO_TEST_CASE(control_of_one_kind_is_none_of_another, *boost::unit_test::label("attack")) {
  BOOST_TEST(!is_taken_with(bytes_of(some_open()), 4, 2));    // two ciphers, no port
  BOOST_TEST(!is_taken_with(bytes_of(some_open()), 4, 3));    // ciphers and a share
  BOOST_TEST(!is_taken_with(bytes_of(some_accept()), 4, 1));  // a port
  BOOST_TEST(!is_taken_with(bytes_of(some_accept()), 4, 3));
  BOOST_TEST(!is_taken_with(bytes_of(some_refuse()), 4, 1));  // a reason
  BOOST_TEST(!is_taken_with(bytes_of(some_refuse()), 4, 2));
}

BOOST_AUTO_TEST_CASE(reserved_bytes_must_be_zero, *boost::unit_test::label("attack")) {
  for (const StreamControl& said : {some_open(), some_accept(), some_refuse()}) {
    for (std::size_t at = 56; at < kHeadBytes; ++at) BOOST_TEST(!is_taken_with(bytes_of(said), at, 0x80), at);
  }
}

/// Returns `control` after `change`.
StreamControl changed(StreamControl control, const std::function<void(StreamControl&)>& change) {
  change(control);
  return control;
}

BOOST_AUTO_TEST_CASE(open_without_ciphers_or_with_a_port_is_refused, *boost::unit_test::label("attack")) {
  BOOST_TEST(!is_taken(changed(some_open(), [](StreamControl& open) { open.ciphers = 0; })));
  BOOST_TEST(!is_taken(changed(some_open(), [](StreamControl& open) { open.port = 1; })));
  BOOST_TEST(!is_taken(changed(some_open(), [](StreamControl& open) { open.port = 0x100; })));
}

BOOST_AUTO_TEST_CASE(accept_without_a_port_or_with_other_than_one_cipher_is_refused,
                     *boost::unit_test::label("attack")) {
  BOOST_TEST(!is_taken(changed(some_accept(), [](StreamControl& accept) { accept.port = 0; })));
  for (const unsigned ciphers : {0U, 3U, 5U, 6U, 7U, 0xFFU}) {
    BOOST_TEST_CONTEXT("ciphers " << ciphers) {
      const auto choose = [&](StreamControl& accept) { accept.ciphers = static_cast<CipherSet>(ciphers); };
      BOOST_TEST(!is_taken(changed(some_accept(), choose)));
    }
  }
  const auto choose_none = [](StreamControl& accept) { accept.ciphers = only(Cipher::none); };
  BOOST_TEST(is_taken(changed(some_accept(), choose_none)));  // the opener judges whether it offered that
}

BOOST_AUTO_TEST_CASE(refuse_with_a_share_ciphers_or_a_port_is_refused, *boost::unit_test::label("attack")) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{13}, std::size_t{31}}) {
    const auto set = [at](StreamControl& refuse) { refuse.share[at] = std::byte{1}; };
    BOOST_TEST(!is_taken(changed(some_refuse(), set)), at);
  }
  BOOST_TEST(!is_taken(changed(some_refuse(), [](StreamControl& refuse) { refuse.ciphers = 1; })));
  BOOST_TEST(!is_taken(changed(some_refuse(), [](StreamControl& refuse) { refuse.port = 1; })));
}

BOOST_AUTO_TEST_CASE(reason_with_what_is_not_printable_is_refused, *boost::unit_test::label("attack")) {
  const std::vector<std::byte> bytes = bytes_of(some_refuse());
  for (unsigned character = 0; character < 256; ++character) {
    const bool printable = character >= 0x20 && character < 0x7F;
    BOOST_TEST_CONTEXT("character " << character) {
      BOOST_TEST(is_taken_with(bytes, kHeadBytes, character) == printable);
      BOOST_TEST(is_taken_with(bytes, bytes.size() - 1, character) == printable);
    }
  }
}

BOOST_AUTO_TEST_CASE(long_reason_is_cut) {
  const std::string reason = std::string(StreamControl::kReasonMax - 1, 'x') + "yz";
  const auto read = decode_stream_control(encode(some_refuse(reason)));
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(read->reason == reason.substr(0, reason.size() - 1));
  BOOST_TEST(read->reason.size() == 200U);
}

BOOST_AUTO_TEST_CASE(what_is_not_printable_in_a_reason_is_replaced) {
  const auto read = decode_stream_control(encode(some_refuse("no\nport\x1b[2J\x7f\xc3\xa9~ ")));
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(read->reason == "no?port?[2J???~ ");
}

BOOST_AUTO_TEST_CASE(other_packets_are_no_stream_control) {
  const Frame control = encode(some_open());
  BOOST_TEST(is_stream_control({control}));
  BOOST_TEST(!is_stream_control({}));
  BOOST_TEST(!is_stream_control({control, control}));
  BOOST_TEST(!is_stream_control({control, frame_of("")}));
  BOOST_TEST(!is_stream_control({frame_of(""), control}));
  BOOST_TEST(!is_stream_control({frame_of("")}));
  BOOST_TEST(!is_stream_control({frame_of("TRPO")}));
  BOOST_TEST(!is_stream_control({frame_of("TRPO" + std::string(kHeadBytes - 5, '\0'))}));
  BOOST_TEST(is_stream_control({frame_of("TRPO" + std::string(kHeadBytes - 4, '\0'))}));  // and malformed
  BOOST_TEST(!is_stream_control({frame_of("TRPB" + std::string(kHeadBytes - 4, '\0'))}));
  BOOST_TEST(!is_stream_control({frame_of(std::string(kHeadBytes, 'x'))}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
