#include "messages/codec.h"

#include <boost/test/unit_test.hpp>

#include "messages/values.h"
#include "tensor/create.h"
#include "tests/messages/message_samples.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(codec)

namespace {

using namespace msg;

constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kReservedAt = 12;

Frames encoded(const AnyMessage& message) { return encode(testing::envelope_for(message), message).value(); }

/// Returns the frames with the byte at `position` of frame `index` changed, in a copy of that frame.
Frames flipped(Frames frames, std::size_t index, std::size_t position) {
  std::vector<std::byte> bytes(frames[index].bytes.begin(), frames[index].bytes.end());
  bytes[position] ^= std::byte{0x10};
  frames[index] = make_frame(std::move(bytes));
  return frames;
}

Reply reply_with(const Tensor& tensor) { return {to_payload(nullptr, tensor)}; }

}  // namespace

BOOST_AUTO_TEST_CASE(every_message_survives_with_its_envelope, *boost::unit_test::label("R-35")) {
  const std::vector<AnyMessage> all = testing::every_message();
  BOOST_REQUIRE(all.size() == Messages::kCount);
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST_CONTEXT(info_of(all[i]).name) {
      BOOST_TEST(all[i].index() == i);
      const Envelope envelope = testing::envelope_for(all[i]);
      const Frames frames = encode(envelope, all[i]).value();
      const Decoded received = decode(frames).value();
      BOOST_TEST((received.envelope == envelope));
      BOOST_TEST(received.message.index() == i);
      // Encoding it again returns the same bytes: no field was lost.
      BOOST_TEST(testing::to_hex(encode(envelope, received.message).value()) == testing::to_hex(frames));
    }
  }
}

BOOST_AUTO_TEST_CASE(copies_and_moves_of_every_message_keep_its_type_and_fields) {
  for (const AnyMessage& message : testing::every_message()) {
    BOOST_TEST_CONTEXT(info_of(message).name) {
      const std::string hex = testing::to_hex(encoded(message));
      AnyMessage copy = message;
      BOOST_TEST(testing::to_hex(encoded(copy)) == hex);
      AnyMessage moved = std::move(copy);
      BOOST_TEST(testing::to_hex(encoded(moved)) == hex);
      BOOST_TEST(copy.index() == Messages::kCount);  // moved from: none
      AnyMessage other = ShardWait{};
      other = message;
      BOOST_TEST(testing::to_hex(encoded(other)) == hex);
      const AnyMessage& same = other;
      other = same;
      BOOST_TEST(testing::to_hex(encoded(other)) == hex);
      other = std::move(moved);
      BOOST_TEST(testing::to_hex(encoded(other)) == hex);
    }
  }
}

BOOST_AUTO_TEST_CASE(message_that_is_none_is_copied_and_replaced) {
  AnyMessage message;
  BOOST_TEST(AnyMessage(message).index() == Messages::kCount);
  BOOST_TEST(!message.holds<Call>());
  BOOST_CHECK_EXCEPTION(static_cast<void>(message.get<Reply>()), std::logic_error, [](const std::logic_error& error) {
    return std::string(error.what()) == "[message] Reply was expected, this is none";
  });
  message.emplace<ShardWait>();
  BOOST_TEST(message.holds<ShardWait>());
  message.emplace<Failure>().error.message = "full";
  BOOST_TEST(message.get<Failure>().error.message == "full");
  message = AnyMessage();
  BOOST_TEST(!message.holds<Failure>());
  message = Failure{};
  message.reset();
  BOOST_TEST(message.index() == Messages::kCount);
}

BOOST_AUTO_TEST_CASE(visit_takes_the_messages_of_a_list_and_no_others) {
  using Few = MessageList<ShutdownCounted, ShardReady>;
  struct Taker {
    void operator()(ShutdownCounted& counted) { taken = counted.round; }
    void operator()(const ShardReady& ready) { taken = ready.clock; }
    std::uint64_t taken = 0;
  };
  for (const AnyMessage& message : testing::every_message()) {
    Taker taker;
    AnyMessage(message).visit<Few>(taker);
    const bool is_one = message.holds<ShutdownCounted>() || message.holds<ShardReady>();
    BOOST_TEST((taker.taken != 0) == is_one, info_of(message).name);
    std::string_view name;
    message.visit([&name]<class M>(const M&) { name = M::kInfo.name; });
    BOOST_TEST(name == info_of(message).name);
  }
}

BOOST_AUTO_TEST_CASE(message_is_taken_only_as_what_it_is) {
  const AnyMessage message = Failure{};
  BOOST_TEST(message.holds<Failure>());
  BOOST_TEST(message.get_if<Reply>() == nullptr);
  BOOST_CHECK_EXCEPTION(static_cast<void>(message.get<Reply>()), std::logic_error, [](const std::logic_error& error) {
    return std::string_view(error.what()) == "[message] Reply was expected, this is Failure";
  });
  int visits = 0;
  message.visit([&visits]<class M>(const M&) {
    ++visits;
    BOOST_TEST(M::kInfo.name == "Failure");
  });
  BOOST_TEST(visits == 1);
}

BOOST_AUTO_TEST_CASE(numbers_of_messages_are_stable_and_found) {
  BOOST_TEST(find_info(MessageTag{0x0101})->name == "Call");
  BOOST_TEST(find_info(MessageTag{0x0203})->name == "RRefForked");
  BOOST_TEST(find_info(MessageTag{0x0304})->name == "BackwardGradients");
  BOOST_TEST(find_info(MessageTag{0x0408})->name == "ShardStepped");
  BOOST_TEST(find_info(MessageTag{0x0503})->name == "MemberJoined");
  BOOST_TEST(find_info(MessageTag{0x0600}) == nullptr);
}

BOOST_AUTO_TEST_CASE(the_outside_is_read_without_the_body) {
  const AnyMessage message = reply_with(ones({2}));
  Frames frames = encoded(message);
  frames[1] = make_frame(std::vector<std::byte>(frames[1].bytes.size()));
  const Outside outside = decode_outside(frames).value();
  BOOST_TEST((outside.envelope == testing::envelope_for(message)));
  BOOST_TEST((outside.tag == Reply::kInfo.tag()));
}

BOOST_AUTO_TEST_CASE(an_envelope_keeps_extreme_values) {
  const Envelope envelope{
      .from = "", .to = std::string(65'535, 'a'), .request = {~std::uint64_t{0}}, .in_reply_to = {1}};
  const Frames frames = encode(envelope, ShutdownCount{1}).value();
  BOOST_TEST((decode(frames).value().envelope == envelope));
}

BOOST_AUTO_TEST_CASE(tensors_of_messages_are_sent_without_a_copy_and_received_with_one) {
  Tensor gradient = from_values<float>({1, 2, 3});
  const Frames frames = encode({}, BackwardGradients{{}, {}, {}, {gradient, Tensor(), gradient}}).value();
  BOOST_REQUIRE(frames.size() == 3U);
  BOOST_TEST(frames[2].bytes.data() == gradient.bytes());
  gradient.fill(0);
  const Decoded decoded = decode(frames).value();
  const auto& received = decoded.message.get<BackwardGradients>().gradients;
  BOOST_TEST(same_bytes(received.at(0), from_values<float>({1, 2, 3})));
  BOOST_TEST(!received.at(1).defined());
  BOOST_TEST(received.at(0).storage().same_as(received.at(2).storage()));
  BOOST_TEST(received.at(0).bytes() != frames[2].bytes.data());
}

BOOST_AUTO_TEST_CASE(a_payload_keeps_the_received_frames_until_its_values_are_decoded,
                     *boost::unit_test::label("R-32")) {
  auto owner = std::make_shared<const std::vector<std::byte>>(8, std::byte{1});
  const std::weak_ptr<const void> alive = owner;
  Frames frames = encode({}, reply_with(from_values<std::uint8_t>({1, 1, 1, 1, 1, 1, 1, 1}))).value();
  frames[2] = {std::span<const std::byte>(*owner), owner};
  owner.reset();
  Decoded decoded = decode(frames).value();
  frames.clear();
  BOOST_TEST(!alive.expired());
  const auto [tensor] = from_payload<Tensor>(decoded.message.get<Reply>().value);
  decoded.message = CallCancelled{};
  BOOST_TEST(alive.expired());
  BOOST_TEST(tensor.data<std::uint8_t>()[7] == 1);
}

BOOST_AUTO_TEST_CASE(a_changed_byte_in_the_header_is_noticed) {
  const Frames frames = encoded(reply_with(ones({4})));
  for (std::size_t position = 0; position < frames[0].bytes.size(); ++position) {
    const Result<Decoded> result = decode(flipped(frames, 0, position));
    BOOST_REQUIRE(!result.ok());
    const bool version = position == kVersionAt || position == kVersionAt + 1;
    BOOST_TEST(name_of(result.error().code) == (version ? "version_mismatch" : "decode"));
  }
  BOOST_TEST(decode(flipped(frames, 0, 20)).error().message == "[decode] checksum of the header differs");
}

BOOST_AUTO_TEST_CASE(header_alone_says_whose_message_it_is_and_how_large) {
  const AnyMessage message = reply_with(ones({4}));
  const Frames frames = encoded(message);
  const Outside outside = decode_header(frames[0]).value();
  BOOST_TEST((outside.envelope == testing::envelope_for(message)));
  BOOST_TEST((outside.tag == Reply::kInfo.tag()));
  BOOST_TEST(outside.bytes == frames[1].bytes.size() + 16);
  BOOST_TEST(decode_header(flipped(frames, 0, 30)[0]).error().message == "[decode] checksum of the header differs");
}

BOOST_AUTO_TEST_CASE(another_protocol_version_is_told_from_garbage) {
  const Frames frames = encoded(ShutdownCount{1});
  const Error error = decode(flipped(frames, 0, kVersionAt)).error();
  BOOST_TEST(name_of(error.code) == "version_mismatch");
  BOOST_TEST(error.message == "message of protocol version 22, ours is 6");
  BOOST_TEST(decode(flipped(frames, 0, 0)).error().message == "[decode] magic number 0x50555244");
  BOOST_TEST(decode(flipped(frames, 0, kReservedAt)).error().message ==
             "[decode] reserved bits of the header are not zero");
}

BOOST_AUTO_TEST_CASE(frames_that_are_missing_or_too_many_are_refused) {
  const Frames frames = encoded(reply_with(ones({4})));
  BOOST_TEST(decode({}).error().message == "[decode] message of 0 frames");
  BOOST_TEST(decode(std::span(frames).first(1)).error().message == "[decode] message of 1 frames");
  BOOST_TEST(decode(std::span(frames).first(2)).error().message == "[decode] 1 tensor frames announced, 0 received");
  Frames more = frames;
  more.push_back(frames[2]);
  BOOST_TEST(decode(more).error().message == "[decode] 1 tensor frames announced, 2 received");
}

BOOST_AUTO_TEST_CASE(what_exceeds_a_limit_is_neither_sent_nor_accepted) {
  const auto check = [](const AnyMessage& message, const DecodeLimits& limits, std::string_view out,
                        std::string_view in) {
    const Result<Frames> refused = encode({}, message, limits);
    BOOST_TEST(name_of(refused.error().code) == "too_large");
    BOOST_TEST(refused.error().message == out);
    BOOST_TEST(decode(encode({}, message).value(), limits).error().message == in);
  };
  check(BarrierEntered{{}, "epoch", {}, {}, false, {}, {}}, {.text_bytes_max = 4},
        "[encode] text of 5 bytes: at most 4 travel", "[decode] text of 5 bytes: at most 4 allowed");
  check(ShutdownCount{1}, {.body_bytes_max = 7}, "[encode] bytes in a message without its tensors: 8, at most 7",
        "[decode] body of 8 bytes, at most 7");
  check(reply_with(ones({4})), {.frames_max = 0}, "[encode] tensors in a message: 1, at most 0",
        "[decode] 1 tensor frames");
  check(reply_with(ones({4})), {.frame_bytes_max = 15}, "[encode] bytes in a tensor: 16, at most 15",
        "[decode] frame of 16 bytes, at most 15");
  const Envelope long_name{.from = std::string(70'000, 'a')};
  BOOST_TEST(encode(long_name, ShutdownCount{1}).error().message ==
             "[encode] bytes in a node name: 70000, at most 65535");
}

BOOST_AUTO_TEST_CASE(a_text_of_a_user_may_exceed_what_a_name_may) {
  const std::string text(200'000, 'x');
  const Frames frames = encode({}, Reply{to_payload(nullptr, text)}).value();
  const Decoded decoded = decode(frames).value();
  BOOST_TEST((std::get<0>(from_payload<std::string>(decoded.message.get<Reply>().value)) == text));
}

BOOST_AUTO_TEST_CASE(a_failure_with_a_huge_text_still_arrives) {
  Error error;
  error.message = std::string(1'000'000, 'x');
  const Frames frames = encode({}, Failure{error}).value();
  const Decoded decoded = decode(frames).value();
  BOOST_TEST(decoded.message.get<Failure>().error.message.ends_with("xx [938560 more bytes]"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
