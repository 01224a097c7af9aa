#include "messages/tensor_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

#include "messages/archive.h"
#include "messages/device_map.h"
#include "tensor/error.h"

namespace troupe {

namespace detail {

namespace {

/// Below this size, splitting or compacting saves nothing.
constexpr std::size_t kWasteBytesMin = 8U << 10U;

/// Fixed part of a descriptor, as in the body.
struct Descriptor {
  std::uint32_t frame = kNoFrame;
  std::uint8_t dtype = 0;  ///< 0 = undefined
  std::uint8_t dims = 0;
  std::uint16_t device = 0;  ///< of the receiver; see wire_number
  std::uint64_t offset = 0;  ///< bytes from the frame's begin to the first element
  std::uint64_t numel = 0;
  std::uint64_t extent = 0;  ///< bytes from the first element to the end of the last
};
static_assert(sizeof(Descriptor) == kTensorBytesMin);

/// Returns the bytes from the first element to the end of the last. REQUIRES: numel > 0.
std::size_t extent_of(const Tensor& tensor) {
  std::int64_t last = 0;
  for (int i = 0; i < tensor.dim(); ++i) last += (tensor.shape()[i] - 1) * tensor.strides()[i];
  return (static_cast<std::size_t>(last) + 1) * size_of(tensor.dtype());
}

std::size_t used_bytes(const Tensor& tensor, std::size_t extent) { return std::min(tensor.nbytes(), extent); }

bool wasteful(std::size_t used, std::size_t range) { return range >= kWasteBytesMin && used < range / 2; }

void write_dims(std::byte* to, const InlineDims& dims) {
  if (!dims.empty()) std::memcpy(to, dims.begin(), static_cast<std::size_t>(dims.size()) * sizeof(std::int64_t));
}

void write_descriptor(std::vector<std::byte>& body, std::size_t position, const Tensor& layout, std::uint32_t frame,
                      std::size_t offset, std::size_t extent, Device target) {
  const Descriptor descriptor{.frame = frame,
                              .dtype = static_cast<std::uint8_t>(layout.dtype()),
                              .dims = static_cast<std::uint8_t>(layout.dim()),
                              .device = wire_number(target),
                              .offset = offset,
                              .numel = static_cast<std::uint64_t>(layout.numel()),
                              .extent = extent};
  std::byte* to = body.data() + position;
  std::memcpy(to, &descriptor, sizeof descriptor);
  to += sizeof descriptor;
  write_dims(to, layout.shape());
  write_dims(to + static_cast<std::size_t>(layout.dim()) * sizeof(std::int64_t), layout.strides());
}

std::uint32_t add_frame(Frames& frames, const FrozenBytes& bytes, Device device) {
  frames.push_back({bytes.bytes(), bytes.owner(), FrameMemory::own, bytes.derived(), device});
  return static_cast<std::uint32_t>(frames.size() - 1);
}

/// Returns whether tensors on `device` may use the frame's memory: it is there, aligned as they are, and large enough
/// to keep its owner. Memory of a GPU in another process is read once, so that it returns soon.
bool may_adopt(const Frame& frame, Device device) {
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kBytesMin = std::size_t{64} << 10U;
  if (frame.device != device || (device.kind == DeviceKind::cuda && frame.memory == FrameMemory::foreign)) return false;
  return frame.owner && frame.bytes.size() >= kBytesMin &&
         reinterpret_cast<std::uintptr_t>(frame.bytes.data()) % kAlignment == 0;
}

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.offset() == b.offset() && a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
}

}  // namespace

std::uint16_t wire_number(Device device) {
  return device.kind == DeviceKind::cpu ? std::uint16_t{0} : static_cast<std::uint16_t>(device.index + 1);
}

Device device_of(std::uint16_t wire_number) {
  constexpr int kLast = std::numeric_limits<std::int16_t>::max();
  if (wire_number > kLast + 1) throw DecodeError(fmt::format("[decode] no device has the number {}", wire_number));
  return wire_number == 0 ? Device::cpu() : Device::cuda(static_cast<std::int16_t>(wire_number - 1));
}

void TensorWriter::add(const Tensor& tensor, std::vector<std::byte>& body) {
  const std::size_t position = body.size();
  if (!tensor.defined()) {
    body.resize(position + kTensorBytesMin);
    const Descriptor undefined;
    std::memcpy(body.data() + position, &undefined, sizeof undefined);
    return;
  }
  const Device target = target_of(tensor.device());
  body.resize(position + kTensorBytesMin + static_cast<std::size_t>(tensor.dim()) * 2 * sizeof(std::int64_t));
  if (tensor.numel() == 0) {
    write_descriptor(body, position, tensor, kNoFrame, 0, 0, target);
    return;
  }
  views_.push_back({.tensor = tensor,
                    .target = target,
                    .block = tensor.storage().freeze(),
                    .begin = static_cast<std::size_t>(tensor.offset()) * size_of(tensor.dtype()),
                    .extent = extent_of(tensor),
                    .position = position});
}

Device TensorWriter::target_of(Device here) const {
  if (const auto target = devices_ ? devices_->target(here) : DeviceMap().target(here)) return *target;
  throw EncodeError(ErrorCode::missing_device_map,
                    fmt::format("[encode] tensor on {}: no device map says where it goes", to_string(here)));
}

void TensorWriter::finish(std::vector<std::byte>& body, Frames& frames) {
  // Storages are numbered in the order of first use: nothing on the wire depends on addresses.
  std::unordered_map<const std::byte*, std::size_t> numbers;
  std::vector<std::vector<View>> storages;
  for (View& view : views_) {
    const auto [at, fresh] = numbers.try_emplace(view.block.bytes().data(), storages.size());
    if (fresh) storages.emplace_back();
    storages[at->second].push_back(std::move(view));
  }
  views_.clear();
  for (std::vector<View>& views : storages) {
    std::stable_sort(views.begin(), views.end(), [](const View& a, const View& b) { return a.begin < b.begin; });
    place_storage(views, body, frames);
  }
}

void TensorWriter::place_storage(Views views, std::vector<std::byte>& body, Frames& frames) {
  std::size_t end = 0;
  std::size_t used = 0;
  for (const View& view : views) {
    end = std::max(end, view.begin + view.extent);
    used += used_bytes(view.tensor, view.extent);
  }
  if (!wasteful(used, end - views.front().begin)) {
    place_together(views, body, frames);
    return;
  }
  for (std::size_t first = 0, next = 0; first < views.size(); first = next) {
    end = views[first].begin;
    while (next < views.size() && views[next].begin <= end) {
      end = std::max(end, views[next].begin + views[next].extent);
      ++next;
    }
    place_together(views.subspan(first, next - first), body, frames);
  }
}

void TensorWriter::place_together(Views views, std::vector<std::byte>& body, Frames& frames) {
  const View& front = views.front();
  std::size_t end = 0;
  std::size_t item_max = 1;
  for (const View& view : views) {
    end = std::max(end, view.begin + view.extent);
    item_max = std::max(item_max, size_of(view.tensor.dtype()));
  }
  const bool all_same = std::all_of(views.begin(), views.end(),
                                    [&front](const View& view) { return same_layout(view.tensor, front.tensor); });
  if (all_same && wasteful(used_bytes(front.tensor, front.extent), end - front.begin)) {
    const Tensor packed = front.tensor.contiguous();
    const std::uint32_t frame = add_frame(frames, packed.freeze(), packed.device());
    for (const View& view : views)
      write_descriptor(body, view.position, packed, frame, 0, packed.nbytes(), view.target);
    return;
  }
  const std::size_t begin = front.begin - front.begin % item_max;
  const std::uint32_t frame = add_frame(frames, front.block.part(begin, end - begin), front.tensor.device());
  for (const View& view : views) {
    write_descriptor(body, view.position, view.tensor, frame, view.begin - begin, view.extent, view.target);
  }
}

const Storage& TensorReader::private_copy(std::size_t index) {
  integers_.resize(frames_.size());
  Storage& copy = integers_[index];
  if (!copy.defined()) {
    const Frame& frame = frames_[index];
    copy = Storage::allocate(frame.bytes.size());
    copy_bytes(copy.mutable_data(), Device::cpu(), frame.bytes.data(), frame.device, frame.bytes.size());
  }
  return copy;
}

bool TensorReader::needs_private_copy(std::size_t index, DType dtype) const {
  return frames_[index].memory == FrameMemory::foreign && !is_floating(dtype);
}

std::span<const std::byte> TensorReader::bytes(std::size_t index, DType dtype) try {
  const Frame& frame = frames_[index];
  if (frame.device == Device::cpu() && !needs_private_copy(index, dtype)) return frame.bytes;
  return {private_copy(index).data(), frame.bytes.size()};
} catch (const DeviceMemoryError&) {  // the bytes are right
  throw;
} catch (const DeviceError& error) {
  throw DecodeError(fmt::format("[decode] tensor from {}: {}", to_string(frames_[index].device), error.what()));
}

void TensorReader::require_booleans(std::size_t index, std::size_t begin, std::size_t size) {
  const std::span<const std::byte> frame = bytes(index, DType::boolean);
  const auto check = [this, frame](std::size_t from, std::size_t to) {
    for (const std::byte byte : frame.subspan(from, to - from)) {
      if (byte > std::byte{1}) fail_not_boolean(std::to_integer<unsigned>(byte));
    }
    booleans_read_ += to - from;
  };
  const std::size_t end = begin + size;
  // Most frames have one tensor: its range is not recorded, and may be read once more for the next one.
  if (!used_[index]) {
    check(begin, end);
    return;
  }
  Place merged{index, begin};
  std::size_t checked = begin;  // up to here
  auto at = booleans_.upper_bound(merged);
  if (at != booleans_.begin()) {
    const auto before = std::prev(at);
    if (before->first.first == index && before->second >= end) return;
    if (before->first.first == index && before->second >= begin) at = before;
  }
  while (at != booleans_.end() && at->first <= Place{index, end}) {
    const auto [place, checked_end] = *at;
    if (place.second > checked) check(checked, place.second);
    merged = std::min(merged, place);
    checked = checked_end;
    at = booleans_.erase(at);
  }
  if (end > checked) check(checked, end);
  booleans_.emplace_hint(at, merged, std::max(end, checked));
}

void TensorReader::count_indices(std::size_t bytes) {
  if (!indices_left_) {
    indices_left_ = kIndexBytesFree;
    for (const Frame& frame : frames_) *indices_left_ += kIndexReadsMax * frame.bytes.size();
  }
  if (bytes > *indices_left_) throw DecodeError("[decode] sparse tensors share their indices too often");
  *indices_left_ -= bytes;
}

const Storage& TensorReader::storage(std::size_t index, Device device, DType dtype) try {
  storages_.resize(frames_.size());
  used_[index] = true;
  if (needs_private_copy(index, dtype) && device.kind == DeviceKind::cpu) return private_copy(index);
  Storage& storage = storages_[index];
  if (storage.defined() && storage.device() != device) {
    throw DecodeError(
        fmt::format("[decode] frame {} for {} and for {}", index, to_string(storage.device()), to_string(device)));
  }
  if (!storage.defined()) {
    const Frame& frame = frames_[index];
    if (may_adopt(frame, device)) return storage = Storage::adopt({frame.owner, frame.bytes, frame.derived}, device);
    storage = Storage::allocate(frame.bytes.size(), device);
    // The bytes that were checked are those that are used.
    const bool checked = needs_private_copy(index, dtype) && dtype == DType::boolean;
    const std::span<const std::byte> bytes = checked ? this->bytes(index, dtype) : frame.bytes;
    copy_bytes(storage.mutable_data(), device, bytes.data(), checked ? Device::cpu() : frame.device, bytes.size());
  }
  return storage;
} catch (const DeviceMemoryError&) {  // the bytes are right
  throw;
} catch (const DeviceError& error) {
  throw DecodeError(fmt::format("[decode] tensor for {}: {}", to_string(device), error.what()));
}

Frames TensorReader::take(std::size_t first, std::size_t count) {
  if (first > frames_.size() || count > frames_.size() - first) {
    throw DecodeError(fmt::format("[decode] frames {} to {}: there are {}", first, first + count, frames_.size()));
  }
  const auto begin = frames_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  for (std::size_t i = first; i < first + count; ++i) {
    if (used_[i]) throw DecodeError(fmt::format("[decode] frame {} is in two payloads", i));
    used_[i] = true;
  }
  return {begin, end};
}

void TensorReader::require_all_used() const {
  const auto unused = std::count(used_.begin(), used_.end(), false);
  if (unused > 0) throw DecodeError(fmt::format("[decode] {} frames that no tensor uses", unused));
}

namespace {

/// Returns the number of elements of `shape`. Throws unless it, the strides and the bytes of a dense copy are possible.
std::uint64_t checked_numel(const Shape& shape, const Strides& strides, DType dtype) {
  auto bytes =
      static_cast<std::int64_t>(size_of(dtype));  // with every empty dimension taken as 1: strides have no other bound
  bool empty = false;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0 || strides[i] < 0) {
      throw DecodeError(fmt::format("[decode] tensor with a negative size or stride: {} strides {}", to_string(shape),
                                    to_string(strides)));
    }
    if (shape[i] == 0) empty = true;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(shape[i], 1), &bytes)) {
      throw DecodeError(fmt::format("[decode] tensor too large: {}", to_string(shape)));
    }
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes) / size_of(dtype);
}

/// Returns the bytes from the first element to the end of the last. REQUIRES: at least one element.
std::uint64_t checked_extent(const Shape& shape, const Strides& strides, DType dtype) {
  std::uint64_t elements = 1;
  bool overflow = false;
  for (int i = 0; i < shape.size(); ++i) {
    std::uint64_t reach = 0;
    overflow |= __builtin_mul_overflow(static_cast<std::uint64_t>(shape[i] - 1), static_cast<std::uint64_t>(strides[i]),
                                       &reach);
    overflow |= __builtin_add_overflow(elements, reach, &elements);
  }
  overflow |= __builtin_mul_overflow(elements, static_cast<std::uint64_t>(size_of(dtype)), &elements);
  if (overflow) {
    throw DecodeError(fmt::format("[decode] tensor too large: {} strides {}", to_string(shape), to_string(strides)));
  }
  return elements;
}

template <class Dims>
Dims take_dims(InArchive& ar, int count) {
  std::array<std::int64_t, kDimsMax> values{};
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::int64_t);
  std::memcpy(values.data(), ar.take(bytes), bytes);
  return Dims(std::span<const std::int64_t>(values.data(), static_cast<std::size_t>(count)));
}

void require_place(const Descriptor& d, DType dtype, std::span<const Frame> frames) {
  if (d.frame >= frames.size()) {
    throw DecodeError(fmt::format("[decode] tensor in frame {}: there are {}", d.frame, frames.size()));
  }
  const std::size_t size = frames[d.frame].bytes.size();
  if (d.offset > size || d.extent > size - d.offset || d.offset % size_of(dtype) != 0) {
    throw DecodeError(fmt::format("[decode] tensor of {} bytes at {} in a frame of {}", d.extent, d.offset, size));
  }
}

Tensor empty_on(Device device, const Shape& shape, DType dtype) try {
  return Tensor::empty(shape, dtype, device);
} catch (const DeviceMemoryError&) {  // the bytes are right
  throw;
} catch (const DeviceError& error) {
  throw DecodeError(fmt::format("[decode] tensor for {}: {}", to_string(device), error.what()));
}

}  // namespace

}  // namespace detail

Tensor InArchive::tensor() {
  const auto d = number<detail::Descriptor>();
  if (d.dims > kDimsMax) throw DecodeError(fmt::format("[decode] tensor of {} dimensions", d.dims));
  if (d.dtype == 0) {
    const bool blank =
        d.device == 0 && d.frame == detail::kNoFrame && d.dims == 0 && d.offset == 0 && d.numel == 0 && d.extent == 0;
    if (!blank) throw DecodeError("[decode] undefined tensor with content");
    return {};
  }
  if (!is_dtype(d.dtype)) throw DecodeError(fmt::format("[decode] no dtype has the number {}", d.dtype));
  const auto dtype = static_cast<DType>(d.dtype);
  const Device device = detail::device_of(d.device);
  const auto shape = detail::take_dims<Shape>(*this, d.dims);
  const auto strides = detail::take_dims<Strides>(*this, d.dims);
  const std::uint64_t numel = detail::checked_numel(shape, strides, dtype);
  const std::uint64_t extent = numel == 0 ? 0 : detail::checked_extent(shape, strides, dtype);
  if (numel != d.numel || extent != d.extent) {
    throw DecodeError(fmt::format("[decode] tensor {} strides {} does not have {} elements in {} bytes",
                                  to_string(shape), to_string(strides), d.numel, d.extent));
  }
  if (numel == 0) {
    if (d.frame != detail::kNoFrame || d.offset != 0) throw DecodeError("[decode] tensor without elements in a frame");
    return detail::empty_on(device, shape, dtype);
  }
  detail::require_place(d, dtype, tensors_.frames());
  if (dtype == DType::boolean) tensors_.require_booleans(d.frame, d.offset, extent);
  const Storage& storage = tensors_.storage(d.frame, device, dtype);
  return Tensor::from_storage(storage, shape, strides, static_cast<std::int64_t>(d.offset / size_of(dtype)), dtype);
}

}  // namespace troupe
