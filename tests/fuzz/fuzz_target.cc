#include "tests/fuzz/fuzz_target.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "tests/support/counting_new.h"

namespace troupe::fuzz {

namespace {

constexpr std::uint8_t kAligned = 0x80;

/// Memory aligned as that of tensors.
class AlignedBytes {
 public:
  explicit AlignedBytes(Bytes bytes) : size_(bytes.size()) {
    if (size_ > 0) std::memcpy(begin_ = ::operator new(size_, kAlignment), bytes.data(), size_);
  }
  ~AlignedBytes() { ::operator delete(begin_, kAlignment); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;
  [[nodiscard]] Bytes bytes() const { return {static_cast<const std::byte*>(begin_), size_}; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  std::size_t size_;
  void* begin_ = nullptr;
};

Frame frame_of(Bytes bytes, bool aligned) {
  if (!aligned) return make_frame({bytes.begin(), bytes.end()});
  auto owner = std::make_shared<const AlignedBytes>(bytes);
  const Bytes in_memory = owner->bytes();
  return {.bytes = in_memory, .owner = std::move(owner)};
}

}  // namespace

std::vector<Target> all_targets() {
  std::vector<Target> all;
  for (const auto& of_source : {link_targets, session_targets, message_targets, host_targets, file_targets}) {
    std::ranges::copy(of_source(), std::back_inserter(all));
  }
  return all;
}

Target find_target(std::string_view name) {
  std::string names;
  for (const Target& target : all_targets()) {
    if (target.name == name) return target;
    names += fmt::format("{}{}", names.empty() ? "" : " ", target.name);
  }
  throw std::invalid_argument(fmt::format("no such decoder: \"{}\" (there are: {})", name, names));
}

void run(const Target& target, Bytes input) {
  const testing::PeakMemory peak;
  target.decode(input);
  if (const std::size_t used = peak.bytes(); used > memory_max(input.size())) {
    throw Broken(fmt::format("{} bytes allocated for {}, at most {}", used, input.size(), memory_max(input.size())));
  }
}

Bytes Reader::bytes(std::size_t count) {
  const Bytes taken = rest_.first(std::min(count, rest_.size()));
  rest_ = rest_.subspan(taken.size());
  return taken;
}

Bytes Reader::rest() { return bytes(rest_.size()); }

std::uint8_t Reader::u8() {
  const Bytes taken = bytes(1);
  return taken.empty() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(taken[0]);
}

std::uint16_t Reader::u16() {
  const unsigned low = u8();
  return static_cast<std::uint16_t>(low | unsigned{u8()} << 8U);
}

std::uint64_t Reader::u64() {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{u8()} << (8 * i);
  return value;
}

std::uint64_t Reader::number() {
  const unsigned bits = u8() % 64U;
  const unsigned shift = bits > 16 ? bits - 16 : 0;
  const std::uint64_t value = u16();
  return bits < 16 ? value & ((std::uint64_t{1} << bits) - 1) : value << shift;
}

Frames frames_of(Bytes input) {
  Reader reader(input);
  const unsigned first = reader.u8();
  const std::size_t count = first & (kAligned - 1U);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < count && !reader.at_end(); ++i) sizes.push_back(reader.u16());
  Frames frames;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    frames.push_back(frame_of(i + 1 == sizes.size() ? reader.rest() : reader.bytes(sizes[i]), (first & kAligned) != 0));
  }
  return frames;
}

Input input_of(const Frames& frames) {
  Input input{static_cast<std::byte>(frames.size() | kAligned)};
  for (const Frame& frame : frames) {
    input.push_back(static_cast<std::byte>(frame.bytes.size()));
    input.push_back(static_cast<std::byte>(frame.bytes.size() >> 8U));
  }
  for (const Frame& frame : frames) input.insert(input.end(), frame.bytes.begin(), frame.bytes.end());
  return input;
}

Input input_of(std::string_view text) { return input_of(std::as_bytes(std::span(text))); }

std::string_view text_of(Bytes input) { return {reinterpret_cast<const char*>(input.data()), input.size()}; }

}  // namespace troupe::fuzz
