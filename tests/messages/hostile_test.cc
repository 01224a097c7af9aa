// Hostile bytes: no input crashes the decoder or makes it allocate more than 64 KiB + 16 x the received bytes.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>

#include "messages/body.h"
#include "messages/values.h"
#include "tensor/create.h"
#include "tests/messages/message_samples.h"
#include "tests/support/counting_new.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(hostile)

namespace {

using namespace msg;

using Bytes = std::vector<std::byte>;

struct Body {
  MessageTag tag;
  Bytes bytes;
  Frames frames;
};

Body body_of(const AnyMessage& message) {
  OutArchive ar;
  save_body(message, ar);
  Encoded encoded = ar.finish();
  return {info_of(message).tag(), std::move(encoded.bytes), std::move(encoded.frames)};
}

std::size_t received_bytes(const Body& body) {
  std::size_t total = body.bytes.size() + 64;
  for (const Frame& frame : body.frames) total += frame.bytes.size() + 16;
  return total;
}

/// Decodes the body as if it had passed the checksum, which an attacker can compute. Returns whether it was accepted.
/// Fails the test if it allocates more than permitted or throws anything but a DecodeError.
bool accepted(const Body& body) {
  const testing::PeakMemory peak;
  bool fine = false;
  std::size_t used = 0;
  try {
    InArchive ar(body.bytes, body.frames, nullptr, DecodeLimits{}.text_bytes_max);
    const AnyMessage message = load_body(body.tag, ar);
    fine = true;
    used = peak.bytes();
  } catch (const DecodeError&) {
    used = peak.bytes();
  }
  if (used > (64U << 10U) + 16 * received_bytes(body)) {
    BOOST_ERROR(find_info(body.tag)->name << ": " << used << " bytes allocated for " << received_bytes(body));
  }
  return fine;
}

/// Runs `check` on the body of every message.
template <class Check>
void for_every_body(Check check) {
  for (const AnyMessage& message : testing::every_message()) {
    BOOST_TEST_CONTEXT(info_of(message).name) { check(body_of(message)); }
  }
}

Frame filled(std::size_t size) { return make_frame(Bytes(size, std::byte{1})); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_body_cut_at_any_byte_is_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S8")) {
  for_every_body([](Body body) {
    BOOST_TEST(accepted(body));
    while (!body.bytes.empty()) {
      body.bytes.pop_back();
      BOOST_TEST(!accepted(body));
    }
  });
}

BOOST_AUTO_TEST_CASE(a_body_with_a_byte_too_many_is_refused) {
  for_every_body([](Body body) {
    body.bytes.push_back(std::byte{0});
    BOOST_TEST(!accepted(body));
  });
}

BOOST_AUTO_TEST_CASE(whole_messages_cut_at_any_byte_of_any_frame_are_refused, *boost::unit_test::label("R-34")) {
  for (const AnyMessage& message : testing::every_message()) {
    const Frames frames = encode(testing::envelope_for(message), message).value();
    for (std::size_t i = 0; i < frames.size(); ++i) {
      for (std::size_t size = 0; size < frames[i].bytes.size(); ++size) {
        Frames cut = frames;
        cut[i].bytes = cut[i].bytes.first(size);
        const Result<Decoded> result = decode(cut);
        BOOST_REQUIRE(!result.ok());
        BOOST_REQUIRE(result.error().code == ErrorCode::decode);
      }
    }
  }
}

// Every length, count, index and descriptor is somewhere in the body. An absurd number written at each position reaches
// all of them.
BOOST_AUTO_TEST_CASE(absurd_numbers_at_any_position_neither_crash_nor_allocate,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S8")) {
  const std::uint64_t absurd[] = {~std::uint64_t{0},
                                  std::uint64_t{1} << 63U,
                                  (std::uint64_t{1} << 61U) + 1,
                                  std::uint64_t{1} << 32U,
                                  1'000'000,
                                  1025,
                                  ~std::uint64_t{0} / 32 + 1,
                                  0};
  for_every_body([&](const Body& good) {
    for (std::size_t at = 0; at + 8 <= good.bytes.size(); ++at) {
      for (const std::uint64_t number : absurd) {
        Body bad = good;
        std::memcpy(bad.bytes.data() + at, &number, sizeof number);
        accepted(bad);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(random_bytes_anywhere_neither_crash_nor_allocate, *boost::unit_test::label("R-34") *
                                                                           boost::unit_test::label("attack") *
                                                                           boost::unit_test::label("S8")) {
  std::mt19937_64 random(20240607);
  for_every_body([&](const Body& good) {
    for (int round = 0; round < 300; ++round) {
      Body bad = good;
      const std::uint64_t changes = 1 + random() % 4;
      for (std::uint64_t i = 0; i < changes; ++i) {
        bad.bytes[random() % bad.bytes.size()] = static_cast<std::byte>(random() & 0xFFU);
      }
      if (random() % 4 == 0) bad.bytes.resize(random() % (bad.bytes.size() + 1));
      accepted(bad);
    }
  });
}

BOOST_AUTO_TEST_CASE(pure_noise_under_every_number_neither_crashes_nor_allocates,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S8")) {
  std::mt19937_64 random(7);
  for_every_body([&](const Body& good) {
    for (int round = 0; round < 50; ++round) {
      Body noise{good.tag, Bytes(random() % 400), {}};
      // Mostly zeros, so that the noise passes the first length.
      for (std::byte& byte : noise.bytes) {
        if (random() % 8 == 0) byte = static_cast<std::byte>(random() & 0xFFU);
      }
      accepted(noise);
    }
  });
}

BOOST_AUTO_TEST_CASE(lists_of_the_smallest_elements_stay_within_the_bound,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S8")) {
  constexpr std::size_t kCount = 20'000;
  const RRefId blank{};
  BOOST_TEST(accepted(body_of(BackwardMarked{{}, {}, std::vector<NodeName>(kCount), {}})));
  BOOST_TEST(accepted(body_of(BackwardMark{{}, {}, "", std::vector<BoundaryId>(kCount), std::vector(kCount, blank)})));
  BOOST_TEST(accepted(body_of(MemberList{1, std::vector<Member>(kCount)})));
  BOOST_TEST(accepted(body_of(BackwardGradients{{}, {}, {}, std::vector<Tensor>(kCount)})));
  BOOST_TEST(accepted(body_of(BackwardGradients{{}, {}, {}, {}, BackwardRoute{RouteLegs(kCount), true}})));
  BOOST_TEST(accepted(body_of(BackwardGradients{{}, {}, {}, std::vector<Tensor>(kCount, scalar(1.0F))})));
  BarrierPassed passed;
  passed.values.resize(kCount);
  BOOST_TEST(accepted(body_of(passed)));
  passed.values.clear();
  passed.missing.resize(kCount);
  BOOST_TEST(accepted(body_of(passed)));
  Reply reply;
  reply.value.refs.resize(kCount);
  BOOST_TEST(accepted(body_of(reply)));
}

BOOST_AUTO_TEST_CASE(many_tensors_of_one_byte_stay_within_the_bound) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 5'000; ++i) tensors.push_back(i % 2 == 0 ? ones({1}, DType::u8) : empty({0}));
  BOOST_TEST(accepted(body_of(BackwardGradients{{}, {}, {}, tensors})));
}

BOOST_AUTO_TEST_CASE(booleans_that_are_views_of_every_other_byte_stay_within_the_bound) {
  const Tensor all = zeros({40'000}, DType::boolean);
  std::vector<Tensor> tensors;
  for (std::int64_t i = 0; i < 40'000; i += 2) tensors.push_back(all.slice(0, i, i + 1));
  const Body body = body_of(BackwardGradients{{}, {}, {}, tensors});
  BOOST_TEST(body.frames.size() == 1U);
  BOOST_TEST(accepted(body));
}

/// Writes `to` over every place in the body that has the bytes of `from`. Returns how many there were.
std::size_t replace_all(Body& body, std::span<const std::uint32_t> from, std::span<const std::uint32_t> to) {
  const std::span<const std::byte> pattern = std::as_bytes(from);
  std::size_t count = 0;
  for (auto at = body.bytes.begin();; ++count) {
    at = std::search(at, body.bytes.end(), pattern.begin(), pattern.end());
    if (at == body.bytes.end()) return count;
    at = std::ranges::copy(std::as_bytes(to), at).out;
  }
}

BOOST_AUTO_TEST_CASE(payloads_that_claim_the_same_frames_are_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S8")) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 5'000; ++i) tensors.push_back(ones({1}, DType::u8));
  BarrierPassed passed;
  for (int i = 0; i < 1'000; ++i) {
    const Payload value = i == 0 ? to_payload(nullptr, tensors) : to_payload(nullptr, 7);
    passed.values.emplace_back("w", Contribution{{}, value});
  }
  Body body = body_of(passed);
  BOOST_TEST(accepted(body));
  // All but the first: the value 7, and no frames from 5,000 on.
  BOOST_TEST(replace_all(body, std::array{7U, 5'000U, 0U}, std::array{7U, 0U, 5'000U}) == 999U);
  BOOST_TEST(!accepted(body));
}

BOOST_AUTO_TEST_CASE(a_boundary_cannot_announce_more_slots_than_there_are_values) {
  Reply reply{to_payload(nullptr, ones({1}))};  // 48 bytes: one tensor
  reply.value.boundary = BoundaryHeader{{}, {}, 1};
  BOOST_TEST(accepted(body_of(reply)));
  reply.value.boundary->slots = 2;
  BOOST_TEST(!accepted(body_of(reply)));
  reply.value.boundary->slots = 0;  // no node makes a boundary for nothing
  BOOST_TEST(!accepted(body_of(reply)));
}

/// Returns the body of a Call whose answer goes by a map of these pairs of devices, as numbers on the wire.
Body call_with_devices(const std::vector<std::array<std::uint16_t, 2>>& pairs) {
  Call call;
  call.site.answer_devices.emplace();
  Body body = body_of(call);
  body.bytes.resize(body.bytes.size() - 8);  // the last field: the empty map's length
  const std::uint64_t count = pairs.size();
  for (const std::span<const std::byte> part : {std::as_bytes(std::span(&count, 1)), std::as_bytes(std::span(pairs))})
    body.bytes.insert(body.bytes.end(), part.begin(), part.end());
  return body;
}

BOOST_AUTO_TEST_CASE(device_maps_with_a_pair_twice_or_too_many_pairs_are_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S8")) {
  BOOST_TEST(accepted(call_with_devices({{1, 2}, {2, 1}})));
  BOOST_TEST(!accepted(call_with_devices({{1, 2}, {1, 2}})));
  BOOST_TEST(!accepted(call_with_devices({{1, 2}, {2, 1}, {1, 2}})));
  BOOST_TEST(!accepted(call_with_devices({{1, 2}, {2, 2}})));
  std::vector<std::array<std::uint16_t, 2>> pairs;
  for (std::uint16_t i = 0; i < 256; ++i) pairs.push_back({i, i});
  BOOST_TEST(accepted(call_with_devices(pairs)));
  pairs.push_back({256, 256});
  BOOST_TEST(!accepted(call_with_devices(pairs)));
  for (std::uint16_t i = 257; i <= 32'768; ++i) pairs.push_back({i, i});
  BOOST_TEST(!accepted(call_with_devices(pairs)));
  pairs.assign(40'000, {1, 2});
  BOOST_TEST(!accepted(call_with_devices(pairs)));
}

BOOST_AUTO_TEST_CASE(frames_that_belong_to_nothing_are_refused) {
  Body body = body_of(Reply{to_payload(nullptr, ones({1}))});
  body.frames.push_back(filled(8));
  BOOST_TEST(!accepted(body));
  body.frames.clear();
  BOOST_TEST(!accepted(body));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
