// The JSON header of a .safetensors file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace troupe::detail {

/// The header's entry of one tensor. `begin` and `end` count bytes from the first byte after the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// Parses the JSON `text`, which begins at byte 8 of the file. `where` is the prefix of error texts:
/// "[safetensors] model.safetensors". Entries keep the order of the text; their `begin` and `end` are not checked.
/// Throws FileError for text outside the format: `... at byte 25: not a dtype: "F8_E5M2"`. The byte is where parsing
/// stopped, directly after the invalid word or number.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(const std::string& where, std::string_view text);

/// Sorts `entries` as files have them, those with wide elements first, then by name, and sets their places. Returns the
/// number of bytes of all. REQUIRES: nbytes_of() each has a value.
[[nodiscard]] std::uint64_t lay_out(std::vector<SafetensorsEntry>& entries);

/// Returns the JSON for `header`, padded with spaces to a multiple of 8.
/// Throws ValueError `[safetensors] not a name: ...` for text that is not UTF-8.
[[nodiscard]] std::string format_safetensors_header(const SafetensorsHeader& header);

}  // namespace troupe::detail
