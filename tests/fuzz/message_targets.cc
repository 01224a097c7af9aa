// Messages, and the values of users in them.
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "messages/body.h"
#include "messages/codec.h"
#include "messages/values.h"
#include "messages/wire_basic.h"
#include "messages/wire_containers.h"
#include "messages/wire_tensors.h"
#include "messages/wire_vocabulary.h"
#include "tensor/create.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/messages/message_samples.h"

namespace troupe::fuzz {

namespace {

using namespace msg;

bool are_equal(const Frames& a, const Frames& b) {
  return std::ranges::equal(a, b, [](const Frame& x, const Frame& y) { return std::ranges::equal(x.bytes, y.bytes); });
}

/// Frame 0 with the checksum that anybody can compute.
Frames with_checksum(Frames frames) {
  constexpr std::size_t kFixed = 56, kChecksumAt = 48;
  if (frames.empty() || frames[0].bytes.size() < kFixed) return frames;
  Input header = input_of(frames[0].bytes);
  troupe::detail::store_little_endian(std::span(header).subspan(kChecksumAt), std::uint64_t{0});
  const std::uint64_t begin = XXH3_64bits(header.data(), kFixed);
  const std::uint64_t sum = XXH3_64bits_withSeed(header.data() + kFixed, header.size() - kFixed, begin);
  troupe::detail::store_little_endian(std::span(header).subspan(kChecksumAt), sum);
  frames[0] = make_frame(std::move(header));
  return frames;
}

void message(Bytes input) {
  Frames frames = frames_of(input);
  (void)decode_outside(frames);
  frames = with_checksum(std::move(frames));
  const auto outside = decode_outside(frames);
  auto decoded = decode(frames);
  if (!decoded.ok()) return;
  expect(outside.ok() && outside.value().tag == info_of(decoded.value().message).tag(), "a header tells the message");
  const auto again = encode(decoded.value().envelope, decoded.value().message);
  expect(again.ok(), "a message read can be written");
  const auto third = decode(again.value());
  expect(third.ok() && are_equal(encode(third.value().envelope, third.value().message).value(), again.value()),
         "a message written is read as it was");
}

std::vector<Input> message_seeds() {
  std::vector<Input> seeds;
  for (const AnyMessage& sample : testing::every_message()) {
    seeds.push_back(input_of(encode(testing::envelope_for(sample), sample).value()));
  }
  return seeds;
}

Encoded body_of(const AnyMessage& message) {
  OutArchive ar;
  save_body(message, ar);
  return ar.finish();
}

/// The fields of a message: its number (2), then frames, the first with the body.
void body(Bytes input) {
  Reader reader(input);
  const auto tag = static_cast<MessageTag>(reader.u16());
  const Frames frames = frames_of(reader.rest());
  if (find_info(tag) == nullptr || frames.empty()) return;
  const auto load = [tag](Bytes bytes, const Frames& tensors) {
    InArchive ar(bytes, tensors, nullptr, DecodeLimits{}.text_bytes_max);
    return load_body(tag, ar);
  };
  try {
    const Encoded again = body_of(load(frames[0].bytes, {frames.begin() + 1, frames.end()}));
    const Encoded third = body_of(load(again.bytes, again.frames));
    expect(third.bytes == again.bytes && are_equal(third.frames, again.frames), "fields written are read as they were");
  } catch (const DecodeError&) {
  }
}

std::vector<Input> body_seeds() {
  std::vector<Input> seeds;
  for (const AnyMessage& sample : testing::every_message()) {
    const auto tag = static_cast<std::uint16_t>(info_of(sample).tag());
    Encoded encoded = body_of(sample);
    Frames frames{make_frame(std::move(encoded.bytes))};
    frames.insert(frames.end(), encoded.frames.begin(), encoded.frames.end());
    Input seed{static_cast<std::byte>(tag), static_cast<std::byte>(tag >> 8U)};
    const Input rest = input_of(frames);
    seed.insert(seed.end(), rest.begin(), rest.end());
    seeds.push_back(std::move(seed));
  }
  return seeds;
}

struct Plain {
  std::int32_t number = 0;
  std::string text;
  std::vector<double> values;
  Tensor weights;
};

enum class Color : std::uint8_t { red, green };

/// Trees as deep as the sender likes.
struct Tree {
  std::vector<Tree> children;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(children);
  }
};

template <class T>
struct Kind {
  using Value = T;
};

/// What users send: the first byte of an input says which.
using Kinds = std::tuple<
    Kind<std::string>, Kind<std::vector<std::string>>, Kind<std::vector<std::vector<std::int64_t>>>,
    Kind<std::map<std::string, std::vector<float>>>, Kind<std::unordered_map<std::uint16_t, std::optional<bool>>>,
    Kind<std::set<std::string>>, Kind<std::vector<bool>>, Kind<std::deque<std::pair<Color, double>>>,
    Kind<std::variant<std::monostate, std::string, Tensor>>, Kind<std::vector<std::monostate>>,
    Kind<std::array<std::optional<std::string>, 3>>, Kind<std::tuple<bool, Color, std::chrono::milliseconds>>,
    Kind<std::vector<std::unique_ptr<std::string>>>, Kind<Plain>, Kind<Tree>, Kind<Tensor>, Kind<std::vector<Tensor>>,
    Kind<std::map<std::string, Tensor>>, Kind<SparseTensor>, Kind<DeviceMap>, Kind<Shape>>;

Frames frames_of(const Payload& payload) {
  Frames frames{payload.bytes};
  frames.insert(frames.end(), payload.tensors.begin(), payload.tensors.end());
  return frames;
}

template <class T>
void value_of(const Frames& frames) {
  const Payload payload{frames.at(0), {frames.begin() + 1, frames.end()}, {}, {}};
  try {
    const auto [value] = from_payload<T>(payload);
    const Payload again = to_payload(nullptr, value);
    const auto [same] = from_payload<T>(again);
    // Not of unordered containers: their order is no part of the value.
    if constexpr (!std::is_same_v<T, std::unordered_map<std::uint16_t, std::optional<bool>>>) {
      expect(are_equal(frames_of(to_payload(nullptr, same)), frames_of(again)), "a value written is read as it was");
    }
  } catch (const DecodeError&) {
  }
}

template <std::size_t... Is>
void value_of_kind(std::size_t kind, const Frames& frames, std::index_sequence<Is...>) {
  ((kind == Is ? value_of<typename std::tuple_element_t<Is, Kinds>::Value>(frames) : void()), ...);
}

/// A value of a user: its kind (1), then frames, the first with the value's bytes.
void value(Bytes input) {
  Reader reader(input);
  constexpr std::size_t kKinds = std::tuple_size_v<Kinds>;
  const std::size_t kind = reader.u8() % kKinds;
  const Frames frames = fuzz::frames_of(reader.rest());
  if (!frames.empty()) value_of_kind(kind, frames, std::make_index_sequence<kKinds>());
}

template <class T>
void add_value(std::vector<Input>& seeds, const T& value) {
  const auto kind = []<std::size_t... Is>(std::index_sequence<Is...>) {
    std::size_t found = 0;
    ((std::is_same_v<typename std::tuple_element_t<Is, Kinds>::Value, T> ? void(found = Is) : void()), ...);
    return found;
  }(std::make_index_sequence<std::tuple_size_v<Kinds>>());
  Input seed{static_cast<std::byte>(kind)};
  const Input frames = input_of(frames_of(to_payload(nullptr, value)));
  seed.insert(seed.end(), frames.begin(), frames.end());
  seeds.push_back(std::move(seed));
}

std::vector<Input> value_seeds() {
  const Tensor ramp = from_values<float>({0, 1, 2, 3, 4, 5}, {2, 3});
  std::vector<Input> seeds;
  add_value(seeds, std::string("text"));
  add_value(seeds, std::vector<std::string>{"a", "", "bc"});
  add_value(seeds, std::vector<std::vector<std::int64_t>>{{1, 2}, {}, {3}});
  add_value(seeds, std::map<std::string, std::vector<float>>{{"w", {1, 2}}, {"b", {}}});
  add_value(seeds, std::unordered_map<std::uint16_t, std::optional<bool>>{{7, true}, {8, {}}});
  add_value(seeds, std::set<std::string>{"a", "b"});
  add_value(seeds, std::vector<bool>{true, false, true, true, false, true, false, false, true});
  add_value(seeds, std::deque<std::pair<Color, double>>{{Color::green, 0.5}});
  add_value(seeds, std::variant<std::monostate, std::string, Tensor>(std::string("two")));
  add_value(seeds, std::variant<std::monostate, std::string, Tensor>(ramp));
  add_value(seeds, std::vector<std::monostate>(5));
  add_value(seeds, std::array<std::optional<std::string>, 3>{"x", {}, "z"});
  add_value(seeds, std::tuple<bool, Color, std::chrono::milliseconds>(true, Color::red, 20));
  std::vector<std::unique_ptr<std::string>> pointers(2);
  pointers[1] = std::make_unique<std::string>("owned");
  add_value(seeds, pointers);
  add_value(seeds, Plain{3, "p", {1.5}, ramp});
  add_value(seeds, Tree{{Tree{}, Tree{{Tree{}}}}});
  add_value(seeds, ramp);
  add_value(seeds, std::vector<Tensor>{ramp, ramp[0], Tensor()});
  add_value(seeds, std::map<std::string, Tensor>{{"w", ramp}});
  add_value(seeds, SparseTensor(from_values<std::int64_t>({1, 3}, {1, 2}), ramp, {5, 3}));
  add_value(seeds, Shape{2, 3, 4});
  return seeds;
}

}  // namespace

std::vector<Target> message_targets() {
  return {
      {"message", "messages/codec.cc messages/archive.cc messages/tensor_wire.cc messages/envelope.h", message,
       message_seeds},
      {"body", "messages/body.cc messages/archive.cc messages/tensor_wire.cc", body, body_seeds},
      {"value", "messages/archive.cc messages/tensor_wire.cc messages/wire_containers.h messages/wire_vocabulary.h",
       value, value_seeds},
  };
}

}  // namespace troupe::fuzz
