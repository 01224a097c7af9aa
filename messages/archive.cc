#include "messages/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace detail {

void fail_not_boolean(unsigned value) { throw DecodeError(fmt::format("[decode] not a boolean: {}", value)); }

void fail_nesting_out() {
  throw EncodeError(ErrorCode::not_serializable, fmt::format("[encode] nested deeper than {}", kNestingMax));
}

void fail_nesting_in() { throw DecodeError(fmt::format("[decode] nested deeper than {}", kNestingMax)); }

void fail_duplicate_key() { throw DecodeError("[decode] a key appears twice"); }

void fail_bucket() {
  throw DecodeError(fmt::format("[decode] more than {} keys whose hashes fall into one bucket", kBucketMax));
}

void sort_elements(std::vector<const void*>& elements, bool (*less)(const void* a, const void* b)) {
  std::ranges::stable_sort(elements, less);
}

void fail_alternative(std::uint64_t index, std::uint64_t count) {
  throw DecodeError(fmt::format("[decode] alternative {} of {}", index, count));
}

}  // namespace detail

/// Enough for a call with small arguments.
constexpr std::size_t kBytesAtFirst = 256;

OutArchive::OutArchive(ArchiveHook* hook, std::size_t text_bytes_max, std::shared_ptr<const DeviceMap> devices)
    : OutputArchive(this), tensors_(std::move(devices)), hook_(hook), text_bytes_max_(text_bytes_max) {}

OutArchive::~OutArchive() = default;

void save(OutArchive& ar, const std::string& value) { ar(value); }

void load(InArchive& ar, std::string& value) { ar(value); }

void OutArchive::write(const void* data, std::size_t size) {
  if (bytes_.capacity() == 0) bytes_.reserve(std::max(size, kBytesAtFirst));
  const auto* begin = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), begin, begin + size);
}

void OutArchive::text(std::string_view text) {
  if (text.size() > text_bytes_max_) {
    throw EncodeError(ErrorCode::too_large,
                      fmt::format("[encode] text of {} bytes: at most {} travel", text.size(), text_bytes_max_));
  }
  length(text.size());
  write(text.data(), text.size());
}

std::uint32_t OutArchive::frames(const Frames& frames) {
  const auto first = static_cast<std::uint32_t>(frames_.size());
  frames_.insert(frames_.end(), frames.begin(), frames.end());
  return first;
}

Encoded OutArchive::finish() {
  tensors_.finish(bytes_, frames_);
  return {std::move(bytes_), std::move(frames_)};
}

void OutArchive::fail_empty() {
  throw EncodeError(ErrorCode::not_serializable,
                    fmt::format("[encode] more than {} elements that take no bytes", kEmptyMax));
}

InArchive::InArchive(std::span<const std::byte> bytes, std::span<const Frame> frames, ArchiveHook* hook,
                     std::size_t text_bytes_max, std::shared_ptr<const void> owner)
    : InputArchive(this),
      bytes_(bytes),
      tensors_(frames),
      hook_(hook),
      text_bytes_max_(text_bytes_max),
      owner_(std::move(owner)) {}

InArchive::InArchive(const msg::Payload& payload, ArchiveHook* hook)
    : InArchive(payload.bytes.bytes, payload.tensors, hook) {}

InArchive::~InArchive() = default;

std::uint64_t InArchive::length(std::size_t element_bytes) {
  const auto count = number<std::uint64_t>();
  if (count > remaining() / element_bytes) {
    throw DecodeError(
        fmt::format("[decode] {} elements of {} bytes: {} bytes remain", count, element_bytes, remaining()));
  }
  return count;
}

std::uint64_t InArchive::length() {
  const auto count = number<std::uint64_t>();
  if (count > kEmptyMax && count - kEmptyMax > remaining()) {
    throw DecodeError(fmt::format("[decode] {} elements: {} bytes remain", count, remaining()));
  }
  return count;
}

std::string_view InArchive::text() {
  const std::uint64_t size = length(1);
  if (size > text_bytes_max_) {
    throw DecodeError(fmt::format("[decode] text of {} bytes: at most {} allowed", size, text_bytes_max_));
  }
  return {reinterpret_cast<const char*>(take(size)), size};
}

Frame InArchive::shared(std::uint64_t size) {
  const std::byte* from = take(size);
  if (owner_) return {{from, size}, owner_};
  return make_frame({from, from + size});
}

void InArchive::finish() const {
  if (remaining() > 0) throw DecodeError(fmt::format("[decode] {} bytes left over", remaining()));
  tensors_.require_all_used();
}

void InArchive::fail_short(std::uint64_t size) const {
  throw DecodeError(fmt::format("[decode] needs {} bytes: {} remain", size, remaining()));
}

void InArchive::fail_empty() {
  throw DecodeError(fmt::format("[decode] more than {} elements that take no bytes", kEmptyMax));
}

void WireFormat<Shape>::save(OutArchive& ar, const Shape& shape) {
  ar(std::vector<std::int64_t>(shape.begin(), shape.end()));
}

void WireFormat<Shape>::load(InArchive& ar, Shape& shape) {
  std::vector<std::int64_t> sizes;
  ar(sizes);
  if (sizes.size() > static_cast<std::size_t>(kDimsMax) ||
      std::any_of(sizes.begin(), sizes.end(), [](auto size) { return size < 0; })) {
    throw DecodeError(fmt::format("[decode] a shape of {} dimensions, of {} at most, or with a negative one",
                                  sizes.size(), kDimsMax));
  }
  shape = Shape(sizes);
}

void WireFormat<msg::Payload>::save(OutArchive& ar, const msg::Payload& value) {
  ar.length(value.bytes.bytes.size());
  ar.write(value.bytes.bytes.data(), value.bytes.bytes.size());
  ar(ar.frames(value.tensors), static_cast<std::uint32_t>(value.tensors.size()), value.refs, value.boundary);
}

void WireFormat<msg::Payload>::load(InArchive& ar, msg::Payload& value) {
  value.bytes = ar.shared(ar.length(1));
  const auto first = ar.number<std::uint32_t>();
  const auto count = ar.number<std::uint32_t>();
  value.tensors = ar.tensors().take(first, count);
  ar(value.refs, value.boundary);
  // Every slot is a variable among the values, with a tensor's descriptor: the bytes bound the number of slots.
  const std::size_t slots_max = value.bytes.bytes.size() / detail::kTensorBytesMin;
  if (value.boundary && (value.boundary->slots == 0 || value.boundary->slots > slots_max)) {
    throw DecodeError(fmt::format("[decode] boundary of {} slots in {} bytes of values", value.boundary->slots,
                                  value.bytes.bytes.size()));
  }
}

}  // namespace troupe
