#include "tensor/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/io/extent.h"
#include "tensor/io/mapped_file.h"
#include "tensor/io/new_file.h"
#include "tensor/io/safetensors_header.h"

namespace troupe {
namespace {

using detail::SafetensorsEntry;
using detail::SafetensorsHeader;

static_assert(std::endian::native == std::endian::little, "elements are used as they lie in the file");

constexpr std::size_t kLengthSize = sizeof(std::uint64_t);  ///< of the header length at the start of the file, in bytes

[[noreturn]] void fail_at(const std::string& where, std::uint64_t at, const std::string& what) {
  throw FileError(fmt::format("{}: at byte {}: {}", where, at, what));
}

/// Returns the header's JSON.
std::string_view header_text(const std::string& where, std::span<const std::byte> file) {
  if (file.size() < kLengthSize) fail_at(where, file.size(), "the file ends in the length of the header");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthSize);
  const std::size_t left = file.size() - kLengthSize;
  if (length > left) fail_at(where, 0, fmt::format("header of {} bytes, {} are left", length, left));
  return {reinterpret_cast<const char*>(file.data()) + kLengthSize, static_cast<std::size_t>(length)};
}

/// Refuses sizes that differ from those of the shapes, and tensors that overlap or leave gaps in the bytes after the
/// header. `begin` is the offset of these bytes in the file.
void check_places(const std::string& where, std::span<const SafetensorsEntry> by_place, std::uint64_t begin,
                  std::uint64_t size) {
  std::uint64_t filled = 0;
  std::string_view last;
  for (const SafetensorsEntry& entry : by_place) {
    const auto fail = [&](const std::string& what) {
      fail_at(where, begin + std::min(entry.begin, size), fmt::format("tensor \"{}\" {}", entry.name, what));
    };
    if (entry.end < entry.begin) fail(fmt::format("ends at {}, before it begins", entry.end));
    if (entry.end > size) fail(fmt::format("ends at {} of {}", entry.end, size));
    const std::optional<std::uint64_t> nbytes = detail::nbytes_of(entry.shape, entry.dtype);
    if (nbytes != entry.end - entry.begin) {
      fail(
          fmt::format("has {} bytes for {} {}", entry.end - entry.begin, name_of(entry.dtype), to_string(entry.shape)));
    }
    if (entry.begin < filled) fail(fmt::format("overlaps \"{}\"", last));
    if (entry.begin > filled) fail(fmt::format("leaves a gap of {} bytes before it", entry.begin - filled));
    filled = entry.end;
    last = entry.name;
  }
  if (filled != size) fail_at(where, begin + filled, fmt::format("{} bytes belong to no tensor", size - filled));
}

}  // namespace

Safetensors read_safetensors(const FilePath& path) {
  return detail::parse_safetensors(fmt::format("[safetensors] {}", path.text()),
                                   detail::map_file("safetensors", path.text()));
}

Safetensors detail::parse_safetensors(const std::string& where, const FrozenBytes& mapped) {
  const std::string_view text = header_text(where, mapped.bytes());
  SafetensorsHeader header = detail::parse_safetensors_header(where, text);
  std::ranges::stable_sort(header.entries, {}, [](const SafetensorsEntry& e) { return std::pair(e.begin, e.end); });
  const std::uint64_t begin = kLengthSize + text.size();
  check_places(where, header.entries, begin, mapped.bytes().size() - begin);

  Safetensors result{{}, std::move(header.metadata)};
  for (const SafetensorsEntry& entry : header.entries) {
    const FrozenBytes bytes = mapped.part(begin + entry.begin, entry.end - entry.begin);
    if (entry.dtype == DType::boolean) {
      if (const auto wrong = detail::first_not_boolean(bytes.bytes())) {
        fail_at(where, begin + entry.begin + *wrong, "a boolean that is neither 0 nor 1");
      }
    }
    result.tensors.emplace_back(entry.name, Tensor::from_storage(detail::storage_of(bytes, entry.dtype), entry.shape,
                                                                 contiguous_strides(entry.shape), 0, entry.dtype));
  }
  return result;
}

void write_safetensors(const FilePath& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header{{}, metadata};
  std::map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, x] : tensors) {
    x.require_defined("safetensors");
    if (!detail::nbytes_of(x.shape(), x.dtype()))
      throw ValueError(fmt::format("[safetensors] {} {} is too large", name, to_string(x.shape())));
    header.entries.push_back({name, x.dtype(), x.shape(), 0, x.nbytes()});
    by_name.emplace(name, &x);
  }
  static_cast<void>(detail::lay_out(header.entries));
  const std::string text = detail::format_safetensors_header(header);
  const std::uint64_t length = text.size();

  detail::NewFile out("safetensors", path.text());
  out.write(std::as_bytes(std::span(&length, 1)));
  out.write(std::as_bytes(std::span(text)));
  for (const SafetensorsEntry& entry : header.entries) {
    const Tensor x = by_name.at(entry.name)->to(Device::cpu()).contiguous();
    out.write({x.bytes(), x.nbytes()});
  }
  out.commit();
}

void write_safetensors(const FilePath& path, const NamedTensors& tensors) { write_safetensors(path, tensors, {}); }

}  // namespace troupe
