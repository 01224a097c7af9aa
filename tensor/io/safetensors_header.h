// The JSON in front of a .safetensors file.
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

/// What the header says about one tensor. Places count from the first byte after the header.
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

/// Reads the JSON `text`, which begins at byte 8 of the file that `where` names: "[safetensors] model.safetensors".
/// Entries come in its order; nothing is known about their places yet.
/// Throws FileError for text that does not follow the format: `... at byte 25: not a dtype: "F8_E5M2"`. The place is
/// where reading stopped, just behind the wrong word or number.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(const std::string& where, std::string_view text);

/// Returns the JSON for `header`, padded with spaces to a multiple of 8.
/// Throws ValueError `[safetensors] not a name: ...` for text that is not UTF-8.
[[nodiscard]] std::string format_safetensors_header(const SafetensorsHeader& header);

}  // namespace troupe::detail
