#include "actors/sessions/assembly.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "messages/frame.h"

namespace troupe {
Result<Assembly> Assembly::begin(std::span<const Frame> first, const AssemblyLimits& limits) {
  if (first.size() != 2) {
    return make_error(ErrorCode::protocol_violation,
                      fmt::format("the first piece of a message has {} frames, not 2", first.size()));
  }
  const std::span<const std::byte> table = first[0].bytes;
  const std::size_t count = table.size() / sizeof(std::uint64_t);
  if (table.size() % sizeof(std::uint64_t) != 0 || count < 2 || count > limits.frames_max) {
    return make_error(ErrorCode::protocol_violation,
                      fmt::format("a table of {} bytes for the frames of a message", table.size()));
  }
  Assembly assembly;
  assembly.header_ = first[1];
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = detail::load_little_endian<std::uint64_t>(table.subspan(i * sizeof(std::uint64_t)));
    if (i == 0) {
      if (size == first[1].bytes.size()) continue;
      return make_error(ErrorCode::protocol_violation,
                        fmt::format("frame 0 has {} bytes and announces {}", first[1].bytes.size(), size));
    }
    if (size > limits.bytes_max - assembly.bytes_) {
      return make_error(ErrorCode::too_large, fmt::format("a message of more than {} bytes", limits.bytes_max));
    }
    assembly.sizes_.push_back(size);
    assembly.bytes_ += size;
  }
  assembly.missing_ = assembly.bytes_;
  assembly.frames_.resize(assembly.sizes_.size());
  return assembly;
}

bool Assembly::allocate(std::size_t index) {
  if (frames_[index].defined() || sizes_[index] == 0) return true;
  try {
    frames_[index] = Storage::allocate(sizes_[index]);
    return true;
  } catch (const std::exception&) {  // out of memory, also in the form of the tensor allocator's own exception
    return false;
  }
}

Result<Unit> Assembly::reserve() {
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (allocate(i)) continue;
    std::ranges::fill(frames_, Storage{});
    to_ = nullptr;
    return make_error(ErrorCode::resource_exhausted, fmt::format("no memory for a message of {} bytes", bytes_));
  }
  return Unit{};
}

Result<Unit> Assembly::append(std::span<const Frame> piece) {
  for (const Frame& frame : piece) {
    if (frame.bytes.size() > missing_) {
      return make_error(ErrorCode::protocol_violation,
                        fmt::format("{} bytes for a message of which {} are missing", frame.bytes.size(), missing_));
    }
    for (std::span<const std::byte> rest = frame.bytes; !rest.empty();) {
      while (filled_ == sizes_[current_]) {
        ++current_;
        filled_ = 0;
        to_ = nullptr;
      }
      if (!allocate(current_)) {
        return make_error(ErrorCode::resource_exhausted, fmt::format("no memory for a message of {} bytes", bytes_));
      }
      if (to_ == nullptr) to_ = frames_[current_].mutable_data();
      const std::size_t bytes = std::min<std::uint64_t>(rest.size(), sizes_[current_] - filled_);
      std::memcpy(to_ + filled_, rest.data(), bytes);
      filled_ += bytes;
      missing_ -= bytes;
      rest = rest.subspan(bytes);
    }
  }
  return Unit{};
}

Frames Assembly::take() {
  Frames message{std::move(header_)};
  message.reserve(1 + frames_.size());
  for (Storage& storage : frames_) {
    const FrozenBytes bytes = storage.defined() ? std::exchange(storage, {}).freeze() : FrozenBytes{};
    message.push_back({bytes.bytes(), bytes.owner()});
  }
  return message;
}

}  // namespace troupe
