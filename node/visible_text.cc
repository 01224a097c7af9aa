#include "node/visible_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace troupe::detail {

std::string visible_text(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // a control character of two bytes in UTF-8
      shown += fmt::format("\\x{:02x}", next);
      ++i;
    } else if ((byte < ' ' && byte != '\t' && byte != '\n') || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string visible_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return visible_text(line);
}

}  // namespace troupe::detail
