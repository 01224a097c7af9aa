// Properties of records: what one end writes the other reads, in order; anything else is no record.
#include "node/links/streams/record.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "node/keys/word_lines.h"
#include "tests/support/recording_sink.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(record)

using namespace detail;
using testing::frame_of;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kHeadBytes = std::tuple_size_v<RecordHead>;
constexpr std::size_t kTagBytes = std::tuple_size_v<RecordTag>;

/// A key of the bytes first, first + 1, ...
StreamKey key_from(int first) {
  auto bytes = std::make_shared<LockedBytes>(StreamKey::kBytes);
  for (std::byte& byte : bytes->bytes()) byte = static_cast<std::byte>(first++);
  return StreamKey(std::move(bytes));
}

StreamKey some_key() { return key_from(0); }

/// The ciphers that encrypt and that this processor has.
std::vector<Cipher> encrypting() {
  if ((encrypting_ciphers() & only(Cipher::aes256_gcm)) != 0) return {Cipher::aes256_gcm, Cipher::chacha20_poly1305};
  BOOST_TEST_MESSAGE("AES is not tested: this processor has none");
  return {Cipher::chacha20_poly1305};
}

std::vector<Cipher> ciphers() {
  std::vector<Cipher> all = encrypting();
  all.push_back(Cipher::none);
  return all;
}

std::string name_of(Cipher cipher) {
  switch (cipher) {
    case Cipher::none: return "none";
    case Cipher::aes256_gcm: return "AES";
    case Cipher::chacha20_poly1305: return "ChaCha20";
  }
  return "?";
}

/// Returns the bytes of `parts` one after the other, as they travel.
Bytes joined(const Frames& parts) {
  Bytes bytes;
  for (const Frame& part : parts) bytes.insert(bytes.end(), part.bytes.begin(), part.bytes.end());
  return bytes;
}

Frames packet_of(std::initializer_list<std::string_view> texts) {
  Frames packet;
  for (const std::string_view text : texts) packet.push_back(frame_of(text));
  return packet;
}

Frame random_frame(std::size_t size, std::mt19937_64& random) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return make_frame(std::move(bytes));
}

bool same(const Frames& a, const Frames& b) {
  return std::ranges::equal(a, b, [](const Frame& x, const Frame& y) { return std::ranges::equal(x.bytes, y.bytes); });
}

/// Both ends of a stream.
struct Ends {
  explicit Ends(Cipher cipher) : writer(some_key(), cipher), reader(some_key(), cipher) {}

  [[nodiscard]] Bytes write(const Frames& packet) { return joined(record_of(packet, writer)); }

  RecordCipher writer;
  RecordCipher reader;
};

RecordHead head_in(std::span<const std::byte> bytes) {
  RecordHead head{};
  std::ranges::copy_n(bytes.begin(), kHeadBytes, head.begin());
  return head;
}

/// Takes one record from the front of `stream`. nullopt if it is refused; then the rest of `stream` means nothing.
std::optional<Frames> read(RecordCipher& cipher, std::span<const std::byte>& stream) {
  BOOST_REQUIRE(stream.size() >= kHeadBytes);
  const RecordHead head = head_in(stream);
  const auto size = content_bytes(head);
  if (!size) return std::nullopt;
  stream = stream.subspan(kHeadBytes);
  BOOST_REQUIRE(stream.size() >= *size + cipher.tag_bytes());
  Bytes content(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(*size));
  stream = stream.subspan(*size);
  if (cipher.cipher() != Cipher::none) {
    if (!cipher.open(head, content, stream.first<kTagBytes>())) return std::nullopt;
    stream = stream.subspan(kTagBytes);
  }
  auto frames = frames_of(make_frame(std::move(content)));
  BOOST_TEST(frames.has_value());  // the writers of these tests write no others
  return frames;
}

/// Returns whether `bytes` are one record that `reader` takes next, and no more.
bool is_taken(RecordCipher& reader, const Bytes& bytes) {
  std::span<const std::byte> stream{bytes};
  return read(reader, stream).has_value() && stream.empty();
}

Bytes content_of(const std::vector<std::uint32_t>& fields, std::size_t more = 0) {
  Bytes content(4 * fields.size() + more, std::byte{'x'});
  for (std::size_t i = 0; i < fields.size(); ++i) store_little_endian(std::span{content}.subspan(4 * i), fields[i]);
  return content;
}

bool has_frames(Bytes content) { return frames_of(make_frame(std::move(content))).has_value(); }

BOOST_AUTO_TEST_CASE(packets_arrive_as_they_were_written) {
  std::mt19937_64 random(1);
  std::vector<Frames> packets{packet_of({"one"}),
                              packet_of({"several", "frames", "of text"}),
                              packet_of({""}),
                              packet_of({"", "", ""}),
                              packet_of({"", "some", ""}),
                              {random_frame(std::size_t{1} << 20, random)}};
  Frames many;
  for (std::size_t i = 0; i < 1000; ++i) many.push_back(random_frame(i % 7, random));
  packets.push_back(std::move(many));
  for (const Cipher cipher : ciphers()) {
    Ends ends(cipher);
    Bytes written;
    for (const Frames& packet : packets) {
      const Bytes bytes = ends.write(packet);
      written.insert(written.end(), bytes.begin(), bytes.end());
    }
    std::span<const std::byte> stream{written};
    for (std::size_t i = 0; i < packets.size(); ++i) {
      BOOST_TEST_CONTEXT("packet " << i << " with " << name_of(cipher)) {
        const auto packet = read(ends.reader, stream);
        BOOST_REQUIRE(packet.has_value());
        BOOST_TEST(same(*packet, packets[i]));
      }
    }
    BOOST_TEST(stream.empty());
  }
}

BOOST_AUTO_TEST_CASE(largest_packet_arrives) {
  const Frames packet{make_frame(Bytes(kRecordContentMax - 8, std::byte{7}))};
  for (const Cipher cipher : ciphers()) {
    Ends ends(cipher);
    const Bytes bytes = ends.write(packet);
    BOOST_TEST(bytes.size() == kHeadBytes + kRecordContentMax + ends.writer.tag_bytes());
    std::span<const std::byte> stream{bytes};
    const auto arrived = read(ends.reader, stream);
    BOOST_REQUIRE(arrived.has_value());
    BOOST_TEST(same(*arrived, packet));
  }
}

BOOST_AUTO_TEST_CASE(records_that_are_encrypted_are_counted) {
  for (const Cipher cipher : encrypting()) {
    Ends ends(cipher);
    for (std::uint64_t count = 0; count < 3; ++count) {
      BOOST_TEST(ends.writer.records() == count);
      BOOST_TEST(ends.reader.records() == count);
      BOOST_TEST(is_taken(ends.reader, ends.write(packet_of({"text"}))));
    }
  }
}

/// A record of the packet "hello", "", "actors" with the key 00 01 ... 1f.
struct KnownRecord {
  Cipher cipher;
  std::uint64_t number;
  std::string_view hex;
};

// Computed by AESGCM and ChaCha20Poly1305 of Python's package cryptography (OpenSSL), with the nonce
// bytes(4) + struct.pack("<Q", number) and the first 8 bytes as authenticated data.
constexpr std::array kKnownRecords{
    KnownRecord{
        Cipher::aes256_gcm, 0,
        "1b000000000000000dbcb5deb02c83bd08a8a9351e2c9199ba263a3f47e0035befecc065ea6a171649537ff92c0f17dbab1f66"},
    KnownRecord{
        Cipher::aes256_gcm, 1,
        "1b00000000000000e69775307bc11e085e9d4f76eb53b2f6011851e3f96d5915396c833c23a29e58f469ab5cc9790ef6564849"},
    KnownRecord{
        Cipher::aes256_gcm, 256,
        "1b000000000000004f91c5e4d9747652236db982a7a594dbf2d2a269377db39325b9b760e44512ed17a6ea3da5f6ae74cbd817"},
    KnownRecord{
        Cipher::chacha20_poly1305, 0,
        "1b000000000000001bb84231a8e6a6d113615c61a9434e2790d49f998ecc3828838a8fd1737bd1793e3b07f9b2baace0d48d92"},
    KnownRecord{
        Cipher::chacha20_poly1305, 1,
        "1b000000000000009c57f35fb02aaf1829b6ae5c54959987ad188762280a03d9ac16c616a1d4cb81918c452b91b7c4a6ecce53"},
    KnownRecord{
        Cipher::chacha20_poly1305, 256,
        "1b00000000000000ff81f979f08a2a1f8fb02e9eb223c59eed2f568f8db728cc914b38b7681d4077e6841cc9daea3de82e748b"}};

BOOST_AUTO_TEST_CASE(records_are_as_another_program_computes_them) {
  const Frames packet = packet_of({"hello", "", "actors"});
  for (const Cipher cipher : encrypting()) {
    RecordCipher writer(some_key(), cipher);
    for (std::uint64_t number = 0; number <= 256; ++number) {
      const Bytes bytes = joined(record_of(packet, writer));
      for (const KnownRecord& known : kKnownRecords) {
        if (known.cipher != cipher || known.number != number) continue;
        BOOST_TEST_CONTEXT("record " << number << " with " << name_of(cipher)) {
          BOOST_TEST(hex_of(bytes) == known.hex);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(record_without_a_cipher_is_its_head_table_and_bytes) {
  RecordCipher writer(some_key(), Cipher::none);
  BOOST_TEST(writer.tag_bytes() == 0U);
  // 3 * 4 + 2 + 0 bytes; 2 frames, of 2 and 0 bytes; "no"
  BOOST_TEST(hex_of(joined(record_of(packet_of({"no", ""}), writer))) ==
             "0e000000"
             "00000000"
             "02000000"
             "02000000"
             "00000000"
             "6e6f");
}

BOOST_AUTO_TEST_CASE(record_with_any_bit_flipped_is_refused, *boost::unit_test::label("attack")) {
  for (const Cipher cipher : encrypting()) {
    Ends ends(cipher);
    const Bytes good = ends.write(packet_of({"a", "bc"}));
    for (std::size_t bit = 0; bit <= 8 * good.size(); ++bit) {  // the last one flips none
      Bytes bytes = good;
      if (bit < 8 * good.size()) bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      const std::span<std::byte> all{bytes};
      const std::span<std::byte> content = all.subspan(kHeadBytes, all.size() - kHeadBytes - kTagBytes);
      RecordCipher reader(some_key(), cipher);
      BOOST_TEST_CONTEXT("bit " << bit << " with " << name_of(cipher)) {
        BOOST_TEST(reader.open(head_in(bytes), content, all.last<kTagBytes>()) == (bit == 8 * good.size()));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(record_that_comes_twice_is_refused, *boost::unit_test::label("attack")) {
  for (const Cipher cipher : encrypting()) {
    Ends ends(cipher);
    const Bytes first = ends.write(packet_of({"text"}));
    BOOST_TEST(is_taken(ends.reader, first));
    BOOST_TEST(!is_taken(ends.reader, first));
  }
}

BOOST_AUTO_TEST_CASE(record_after_one_that_is_left_out_is_refused, *boost::unit_test::label("attack")) {
  for (const Cipher cipher : encrypting()) {
    Ends ends(cipher);
    (void)ends.write(packet_of({"text"}));
    BOOST_TEST(!is_taken(ends.reader, ends.write(packet_of({"text"}))));
  }
}

BOOST_AUTO_TEST_CASE(record_before_its_turn_is_refused, *boost::unit_test::label("attack")) {
  for (const Cipher cipher : encrypting()) {
    Ends ends(cipher);
    const Bytes first = ends.write(packet_of({"text"}));
    const Bytes second = ends.write(packet_of({"text"}));
    const Bytes third = ends.write(packet_of({"text"}));
    BOOST_TEST(is_taken(ends.reader, first));
    BOOST_TEST(!is_taken(ends.reader, third));
    BOOST_TEST(!is_taken(ends.reader, second));  // the stream has ended
  }
}

BOOST_AUTO_TEST_CASE(truncated_record_is_refused, *boost::unit_test::label("attack")) {
  for (const Cipher cipher : encrypting()) {
    Ends ends(cipher);
    const Bytes first = ends.write(packet_of({"text", "more"}));
    const Bytes second = ends.write(packet_of({"text", "more"}));
    for (std::size_t left = kHeadBytes; left < first.size(); ++left) {
      BOOST_TEST_CONTEXT(left << " bytes with " << name_of(cipher)) {
        Bytes bytes(first.data(), first.data() + left);  // then bytes of the next record are taken for the rest
        bytes.insert(bytes.end(), second.begin(), second.end());
        std::span<const std::byte> stream{bytes};
        RecordCipher reader(some_key(), cipher);
        BOOST_TEST(!read(reader, stream).has_value());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(record_whose_content_is_cut_is_refused, *boost::unit_test::label("attack")) {
  for (const Cipher cipher : encrypting()) {
    Ends ends(cipher);
    const Bytes good = ends.write(packet_of({"text", "more"}));
    const std::size_t content = good.size() - kHeadBytes - kTagBytes;
    for (std::size_t left = 4; left < content; ++left) {
      BOOST_TEST_CONTEXT(left << " bytes of content with " << name_of(cipher)) {
        Bytes bytes(good.data(), good.data() + kHeadBytes + left);  // the head says so, and the tag follows
        store_little_endian(std::span{bytes}, static_cast<std::uint32_t>(left));
        bytes.insert(bytes.end(), good.end() - kTagBytes, good.end());
        RecordCipher reader(some_key(), cipher);
        BOOST_TEST(!is_taken(reader, bytes));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(record_of_another_stream_or_cipher_is_refused, *boost::unit_test::label("attack")) {
  for (const Cipher cipher : encrypting()) {
    Ends ends(cipher);
    const Bytes good = ends.write(packet_of({"text"}));
    RecordCipher other(key_from(1), cipher);
    BOOST_TEST(!is_taken(other, good));
    RecordCipher unlike(some_key(), cipher == Cipher::aes256_gcm ? Cipher::chacha20_poly1305 : encrypting().front());
    BOOST_TEST((unlike.cipher() == cipher || !is_taken(unlike, good)));
    BOOST_TEST(is_taken(ends.reader, good));
  }
}

static_assert(!std::is_copy_constructible_v<RecordCipher>);  // two copies would use a number twice

BOOST_AUTO_TEST_CASE(cipher_that_is_moved_goes_on_with_the_next_number) {
  for (const Cipher cipher : encrypting()) {
    Ends ends(cipher);
    BOOST_TEST(is_taken(ends.reader, ends.write(packet_of({"text"}))));
    RecordCipher writer = std::move(ends.writer);
    RecordCipher reader = std::move(ends.reader);
    BOOST_TEST(is_taken(reader, joined(record_of(packet_of({"text"}), writer))));
    BOOST_TEST(writer.records() == 2U);
  }
}

BOOST_AUTO_TEST_CASE(record_that_is_sent_back_is_refused, *boost::unit_test::label("attack")) {
  const StreamSecret here = StreamSecret::random();
  const StreamSecret there = StreamSecret::random();
  const StreamTerms out{.opener = {"here", {1, 2}},
                        .acceptor = {"there", {3, 4}},
                        .opener_share = here.share(),
                        .acceptor_share = there.share()};
  const StreamTerms back{.opener = out.acceptor,
                         .acceptor = out.opener,
                         .opener_share = out.acceptor_share,
                         .acceptor_share = out.opener_share};
  for (const Cipher cipher : encrypting()) {
    RecordCipher writer(here.agree(there.share(), out).value(), cipher);
    RecordCipher far_reader(there.agree(here.share(), out).value(), cipher);
    RecordCipher own_reader(here.agree(there.share(), back).value(),
                            cipher);  // of a stream with the same id and shares
    const Bytes bytes = joined(record_of(packet_of({"text"}), writer));
    BOOST_TEST(!is_taken(own_reader, bytes));
    BOOST_TEST(!is_taken(writer, bytes));
    BOOST_TEST(is_taken(far_reader, bytes));
  }
}

BOOST_AUTO_TEST_CASE(records_of_equal_packets_differ, *boost::unit_test::label("attack")) {
  for (const Cipher cipher : encrypting()) {
    RecordCipher writer(some_key(), cipher);
    std::set<std::string> starts;
    std::set<std::string> tags;
    for (int i = 0; i < 300; ++i) {  // more than a byte counts
      const Bytes bytes = joined(record_of(packet_of({"always the same"}), writer));
      const std::span<const std::byte> record(bytes);
      BOOST_TEST(starts.insert(hex_of(record.subspan(kHeadBytes, 16))).second);
      BOOST_TEST(tags.insert(hex_of(record.last(kTagBytes))).second);
    }
  }
}

BOOST_AUTO_TEST_CASE(encrypted_record_does_not_show_its_packet, *boost::unit_test::label("attack")) {
  constexpr std::string_view kMarker = "a marker that is easy to find";
  for (const Cipher cipher : ciphers()) {
    RecordCipher writer(some_key(), cipher);
    const Bytes bytes = joined(record_of(packet_of({"before", kMarker, "after"}), writer));
    const bool shows = testing::text_of(make_frame(bytes)).find(kMarker) != std::string::npos;
    BOOST_TEST_CONTEXT(name_of(cipher)) { BOOST_TEST(shows == (cipher == Cipher::none)); }
  }
}

BOOST_AUTO_TEST_CASE(packet_is_as_it_was_after_its_record_was_made) {
  for (const Cipher cipher : ciphers()) {
    RecordCipher writer(some_key(), cipher);
    const Frames packet = packet_of({"one", "two"});
    (void)record_of(packet, writer);
    BOOST_TEST(same(packet, packet_of({"one", "two"})));
  }
}

BOOST_AUTO_TEST_CASE(frames_are_not_copied_without_a_cipher) {
  RecordCipher writer(some_key(), Cipher::none);
  const Frames packet = packet_of({"one", "", "three"});
  const Frames parts = record_of(packet, writer);
  BOOST_REQUIRE(parts.size() == 1 + packet.size());
  BOOST_TEST(parts[0].bytes.size() == kHeadBytes + 4 * (1 + packet.size()));
  for (std::size_t i = 0; i < packet.size(); ++i) {
    BOOST_TEST(parts[1 + i].bytes.data() == packet[i].bytes.data());
    BOOST_TEST(parts[1 + i].bytes.size() == packet[i].bytes.size());
    BOOST_TEST(parts[1 + i].owner == packet[i].owner);
  }
}

BOOST_AUTO_TEST_CASE(encrypted_record_is_one_part) {
  for (const Cipher cipher : encrypting()) {
    RecordCipher writer(some_key(), cipher);
    BOOST_TEST(writer.tag_bytes() == 16U);
    const Frames parts = record_of(packet_of({"one", "two"}), writer);
    BOOST_REQUIRE(parts.size() == 1U);
    BOOST_TEST(parts[0].bytes.size() == 8 + (4 * 3 + 6) + 16U);  // head, table and 2 frames, tag
  }
}

RecordHead head_with(std::uint32_t content, std::uint32_t zero = 0) {
  RecordHead head{};
  store_little_endian(std::span<std::byte>{head}, content);
  store_little_endian(std::span<std::byte>{head}.subspan(4), zero);
  return head;
}

BOOST_AUTO_TEST_CASE(head_of_no_record_is_refused, *boost::unit_test::label("attack")) {
  constexpr auto kMax = static_cast<std::uint32_t>(kRecordContentMax);
  for (const std::uint32_t size : {4U, 5U, 0x1234U, kMax})
    BOOST_TEST(content_bytes(head_with(size)).value_or(0) == size);
  for (const std::uint32_t size : {0U, 1U, 2U, 3U, kMax + 1, 2 * kMax, 0x80000000U, 0xFFFFFFFFU})
    BOOST_TEST(!content_bytes(head_with(size)).has_value(), size);
  for (std::size_t at = 4; at < kHeadBytes; ++at) {
    RecordHead head = head_with(20);
    head[at] = std::byte{0x80};
    BOOST_TEST(!content_bytes(head).has_value(), at);
  }
}

BOOST_AUTO_TEST_CASE(packets_fit_up_to_the_largest_content) {
  // 4 for the number of frames, 4 for each size
  const auto fits = [](std::size_t bytes, std::size_t frames = 1) {
    Frames packet(frames);
    packet[0] = make_frame(Bytes(bytes));
    return fits_record(packet);
  };
  BOOST_TEST(fits(kRecordContentMax - 8));
  BOOST_TEST(!fits(kRecordContentMax - 7));
  BOOST_TEST(fits(kRecordContentMax - 12, 2));
  BOOST_TEST(!fits(kRecordContentMax - 11, 2));
  BOOST_TEST(fits(0, kRecordFramesMax));
  BOOST_TEST(!fits(0, kRecordFramesMax + 1));
}

BOOST_AUTO_TEST_CASE(packet_that_has_no_frames_or_is_not_in_memory_here_fits_no_record) {
  BOOST_TEST(!fits_record({}));
  Frames packet{make_frame(Bytes(8))};
  BOOST_TEST(fits_record(packet));
  packet[0].memory = FrameMemory::leased;
  BOOST_TEST(!fits_record(packet));
  packet[0].memory = FrameMemory::own;
  packet[0].device = Device::cuda(0);
  BOOST_TEST(!fits_record(packet));
}

BOOST_AUTO_TEST_CASE(content_of_more_frames_than_a_packet_has_is_refused, *boost::unit_test::label("attack")) {
  for (const std::size_t more : {0, 1}) {
    std::vector<std::uint32_t> fields(1 + kRecordFramesMax + more);  // the number of frames, and the size of each
    fields[0] = static_cast<std::uint32_t>(kRecordFramesMax + more);
    BOOST_TEST(frames_of(make_frame(content_of(fields))).has_value() == (more == 0));
  }
}

BOOST_AUTO_TEST_CASE(frames_of_a_content_share_its_memory) {
  const Frame content = make_frame(content_of({2, 3, 2}, 5));
  const auto frames = frames_of(content);
  BOOST_REQUIRE(frames.has_value());
  BOOST_REQUIRE(frames->size() == 2U);
  BOOST_TEST((*frames)[0].bytes.data() == content.bytes.data() + 12);
  BOOST_TEST((*frames)[0].bytes.size() == 3U);
  BOOST_TEST((*frames)[1].bytes.data() == content.bytes.data() + 15);
  BOOST_TEST((*frames)[1].bytes.size() == 2U);
  for (const Frame& frame : *frames) BOOST_TEST(frame.owner == content.owner);
}

BOOST_AUTO_TEST_CASE(content_that_describes_other_bytes_is_refused, *boost::unit_test::label("attack")) {
  BOOST_TEST(has_frames(content_of({2, 3, 2}, 5)));
  BOOST_TEST(!has_frames(content_of({2, 3, 2}, 4)));  // too few bytes
  BOOST_TEST(!has_frames(content_of({2, 3, 2}, 6)));  // too many
  BOOST_TEST(!has_frames(content_of({2, 5, 1}, 5)));
  BOOST_TEST(!has_frames(content_of({1, 3, 2}, 5)));
  BOOST_TEST(!has_frames(content_of({2, 3, 0xFFFFFFFF}, 5)));
  BOOST_TEST(!has_frames(content_of({2, 0xFFFFFFFF, 6}, 5)));           // their sum is 5 in 32 bits
  BOOST_TEST(!has_frames(content_of({2, 0x80000003, 0x80000002}, 5)));  // so is theirs
  BOOST_TEST(!has_frames(content_of({3, 0, 5}, 3)));                    // the third size is not whole
}

BOOST_AUTO_TEST_CASE(content_with_a_count_that_does_not_fit_is_refused, *boost::unit_test::label("attack")) {
  for (std::size_t size = 0; size < 4; ++size) BOOST_TEST(!has_frames(Bytes(size)), size);
  for (const std::size_t more : {0U, 4U, 400U}) {
    BOOST_TEST(!has_frames(content_of({0}, more)));
    for (const std::uint32_t count : {0xFFFFFFFFU, 0x80000000U, 0x40000000U, 0x40000001U, 101U})
      BOOST_TEST(!has_frames(content_of({count}, more)), count);
  }
  BOOST_TEST(has_frames(content_of({1, 0})));
  BOOST_TEST(!has_frames(content_of({2, 0})));
}

/// Changes some bytes of `content`, its size or one of its fields.
void corrupt(Bytes& content, std::mt19937_64& random) {
  const auto some_place = [&](std::size_t size) { return static_cast<std::ptrdiff_t>(random() % size); };
  const std::uint64_t kind = random() % 4;
  if (kind == 0 && !content.empty()) {
    content[static_cast<std::size_t>(some_place(content.size()))] = static_cast<std::byte>(random());
  } else if (kind == 1) {
    content.resize(random() % (content.size() + 1));
  } else if (kind == 2) {
    content.insert(content.begin() + some_place(content.size() + 1), 1 + random() % 9,
                   static_cast<std::byte>(random()));
  } else if (content.size() >= 4) {
    constexpr std::array<std::uint32_t, 6> kFields{0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF};
    const std::size_t field = random() % std::min<std::size_t>(content.size() / 4, 8);
    store_little_endian(std::span{content}.subspan(4 * field), kFields[random() % kFields.size()]);
  }
}

/// Returns whether `frames` are what follows the table in `content`, one after the other, to its end.
bool tile(const Frames& frames, const Frame& content) {
  std::span<const std::byte> rest = content.bytes;
  const std::size_t table = 4 * (1 + frames.size());
  if (table > rest.size()) return false;
  rest = rest.subspan(table);
  for (const Frame& frame : frames) {
    if (frame.bytes.size() > rest.size() || frame.bytes.data() != rest.data()) return false;
    if (frame.owner != content.owner) return false;
    rest = rest.subspan(frame.bytes.size());
  }
  return rest.empty();
}

BOOST_AUTO_TEST_CASE(corrupt_contents_have_no_frames_but_their_own_bytes, *boost::unit_test::label("attack")) {
  std::size_t taken = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    Frames packet;
    for (std::size_t i = 0, count = 1 + random() % 6; i < count; ++i)
      packet.push_back(random_frame(random() % 40, random));
    RecordCipher writer(some_key(), Cipher::none);
    Bytes content = joined(record_of(packet, writer));
    content.erase(content.begin(), content.begin() + kHeadBytes);
    for (std::size_t i = 0, count = 1 + random() % 3; i < count; ++i) corrupt(content, random);
    const Frame frame = make_frame(std::move(content));
    const auto frames = frames_of(frame);
    BOOST_TEST_CONTEXT("seed " << seed) { BOOST_TEST((!frames || (!frames->empty() && tile(*frames, frame)))); }
    if (frames) ++taken;
  }
  BOOST_TEST(taken > 10U);  // those whose table is whole: 1 of 10 or so
  BOOST_TEST(taken < 200U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
